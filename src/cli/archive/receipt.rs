//! What is kept beside an archive: its digests and figures, and nothing of people. An encrypted archive is known again by it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::manifest::{Manifest, Reach};
use crate::cli::Error;
use crate::cli::signing::read_short;

/// A receipt is no longer.
const BYTES_MAX: u64 = 1 << 20;

/// What is kept beside an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Receipt {
    /// The name of the archive's file.
    pub archive: String,
    pub bytes: u64,
    pub sha256: String,
    /// Of the ZIP before it was encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_sha256: Option<String>,
    pub made_at: String,
    pub batch: String,
    pub evidence: Reach,
    pub count: u64,
    pub amounts: serde_json::Value,
}

impl Receipt {
    pub(in crate::cli) fn of(
        archive: &str,
        (sha256, bytes): (String, u64),
        plain_sha256: Option<String>,
        manifest: &Manifest,
    ) -> Self {
        Self {
            archive: archive.to_owned(),
            bytes,
            sha256,
            plain_sha256,
            made_at: manifest.made_at.clone(),
            batch: manifest.batch.clone(),
            evidence: manifest.evidence.clone(),
            count: manifest.count,
            amounts: manifest.amounts.clone(),
        }
    }

    /// Writes it beside its archive, which gets its name after this: without an archive it says nothing, and is replaced.
    pub(in crate::cli) fn put(&self, archive: &Path, scratch: &Path) -> std::io::Result<()> {
        let mut file = NamedTempFile::new_in(scratch)?;
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(beside(archive)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Reads that of an archive; `None`: there is none, or it is not one.
    pub(in crate::cli) fn read(archive: &Path) -> Result<Option<Self>, Error> {
        let text = read_short(&beside(archive), BYTES_MAX, "receipt")?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

/// Returns where the receipt of an archive is.
pub(in crate::cli) fn beside(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".json");
    name.into()
}
