//! What an archive says of itself: figures of its batch, how far its evidence reached, and the digest of each member.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::commands::status;
use crate::cli::terminal::output;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{self, Reader};
use crate::ledger::Purpose;

/// What the first member says.
const FORMAT: &str = "disburse archive";
/// The version that is written here, and the newest that is read.
const VERSION: u64 = 1;
/// A manifest is no longer: it is held in memory.
pub(in crate::cli) const BYTES_MAX: u64 = 4 << 20;

/// What no journal tells: the archive itself, and its files, whose digests are held against them.
const NOT_OF_A_JOURNAL: [&str; 5] = ["format", "version", "made_at", "made_by", "members"];

/// What an archive says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Manifest {
    pub format: String,
    pub version: u64,
    pub made_at: String,
    /// The program and its version.
    pub made_by: String,
    pub batch: String,
    pub originator: String,
    /// `gateway`, `rehearsal` or `unknown`.
    pub purpose: String,
    pub first_load: String,
    pub newest_evidence: String,
    /// The name of the journal that it comes from.
    pub journal: String,
    pub evidence: Reach,
    /// Rows of the batch, and what they come to, as `status --json` has it.
    pub count: u64,
    pub amounts: Value,
    pub states: Value,
    /// Instructions: earlier generations and rows without an amount included.
    pub instructions: u64,
    pub members: Vec<Member>,
}

/// How far evidence reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Reach {
    pub rows: u64,
    pub head: String,
}

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Member {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Manifest {
    /// Makes that of a batch out of the journal that goes into the archive; its members are added when they are packed.
    ///
    /// # Errors
    /// Faults of the journal.
    pub(in crate::cli) fn of(
        reader: &Reader,
        batch: &BatchName,
        now: Timestamp,
    ) -> Result<Self, journal::Error> {
        let snapshot = reader.snapshot(batch)?;
        let (standing, record) = (snapshot.standing()?, snapshot.record()?);
        drop(snapshot);
        let figures = reader.archived_figures(batch)?;
        let told = status::to_json(batch, &standing);
        Ok(Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            made_at: now.to_string(),
            made_by: format!("disburse {}", env!("CARGO_PKG_VERSION")),
            batch: batch.to_string(),
            originator: record.originator.to_string(),
            purpose: match standing.purpose {
                Purpose::Gateway => "gateway",
                Purpose::Rehearsal => "rehearsal",
                Purpose::Unknown => "unknown",
            }
            .to_owned(),
            first_load: record.created_at.to_string(),
            newest_evidence: figures.newest.to_string(),
            journal: data_encoding::HEXLOWER.encode(&figures.journal),
            evidence: Reach {
                rows: standing.evidence.length,
                head: standing.evidence.hex(),
            },
            count: told["count"].as_u64().unwrap_or_default(),
            amounts: told["amounts"].clone(),
            states: told["states"].clone(),
            instructions: figures.instructions,
            members: Vec::new(),
        })
    }

    /// Returns it as it stands in the archive.
    pub(in crate::cli) fn to_bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text.into_bytes()
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::cli) fn read(bytes: &[u8]) -> Result<Self, String> {
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        if value["format"] != FORMAT {
            return Err("it does not belong to an archive of disburse".to_owned());
        }
        match value["version"].as_u64() {
            Some(1..=VERSION) => {}
            Some(newer) => {
                return Err(format!(
                    "it is of version {newer}, and this program knows {VERSION}: use the newer disburse for it"
                ));
            }
            None => return Err("it has no version".to_owned()),
        }
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// Returns what of this is not what a journal tells, in words; `is`: made of that journal.
    pub(in crate::cli) fn differs(&self, is: &Self) -> Option<String> {
        let [said, is] = [self, is].map(|one| serde_json::to_value(one).unwrap_or_default());
        let mut differences = Vec::new();
        for (key, value) in is.as_object().into_iter().flatten() {
            if NOT_OF_A_JOURNAL.contains(&key.as_str()) || said[key] == *value {
                continue;
            }
            let what = match key.as_str() {
                "evidence" => "evidence that reaches".to_owned(),
                other => other.replace('_', " "),
            };
            differences.push(format!(
                "it says {what} {}, but its journal has {}",
                shown(&said[key]),
                shown(value)
            ));
        }
        (!differences.is_empty()).then(|| differences.join("; "))
    }
}

fn shown(value: &Value) -> String {
    output::name(&match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_manifest_is_refused_with_the_reason() {
        for (text, expected) in [
            ("", "it is not JSON"),
            ("[]", "does not belong to an archive"),
            (
                r#"{"format": "other", "version": 1}"#,
                "does not belong to an archive",
            ),
            (r#"{"format": "disburse archive"}"#, "it has no version"),
            (
                r#"{"format": "disburse archive", "version": 0}"#,
                "it is of version 0",
            ),
            (
                r#"{"format": "disburse archive", "version": 2}"#,
                "use the newer disburse",
            ),
            (
                r#"{"format": "disburse archive", "version": 1}"#,
                "missing field",
            ),
        ] {
            let found = Manifest::read(text.as_bytes()).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
