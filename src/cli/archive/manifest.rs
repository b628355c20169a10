//! What an archive says of itself: figures of its batch, how far its evidence reached, and the digest of each member.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::commands::status;
use crate::domain::{BatchName, Originator, Timestamp};
use crate::journal::{CopiedBatch, Standing};
use crate::ledger::Purpose;

/// What the first member says.
const FORMAT: &str = "disburse archive";
/// The version that is written here, and the newest that is read.
const VERSION: u64 = 1;
/// A manifest is no longer: it is held in memory.
pub(in crate::cli) const BYTES_MAX: u64 = 4 << 20;

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
    /// Makes that of a batch; its members are added when they are packed.
    pub(in crate::cli) fn of(
        (batch, originator): (&BatchName, &Originator),
        standing: &Standing,
        copied: &CopiedBatch,
        [first_load, newest, now]: [Timestamp; 3],
    ) -> Self {
        let told = status::to_json(batch, standing);
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            made_at: now.to_string(),
            made_by: format!("disburse {}", env!("CARGO_PKG_VERSION")),
            batch: batch.to_string(),
            originator: originator.to_string(),
            purpose: match standing.purpose {
                Purpose::Gateway => "gateway",
                Purpose::Rehearsal => "rehearsal",
                Purpose::Unknown => "unknown",
            }
            .to_owned(),
            first_load: first_load.to_string(),
            newest_evidence: newest.to_string(),
            journal: data_encoding::HEXLOWER.encode(&copied.journal),
            evidence: Reach {
                rows: copied.head.length,
                head: copied.head.hex(),
            },
            count: told["count"].as_u64().unwrap_or_default(),
            amounts: told["amounts"].clone(),
            states: told["states"].clone(),
            instructions: copied.instructions,
            members: Vec::new(),
        }
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
            return Err("it is not that of an archive of disburse".to_owned());
        }
        match value["version"].as_u64() {
            Some(1..=VERSION) => {}
            Some(newer) => {
                return Err(format!(
                    "it is of version {newer}, and this program knows {VERSION}: use the newer disburse for it"
                ));
            }
            None => return Err("it names no version".to_owned()),
        }
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// Returns what of a batch is not what this says, in words.
    pub(in crate::cli) fn differs(&self, batch: &BatchName, standing: &Standing) -> Option<String> {
        let told = status::to_json(batch, standing);
        let differs = |what: &str, said: &dyn std::fmt::Display, is: &dyn std::fmt::Display| {
            Some(format!("it says {what} {said}, and its journal has {is}"))
        };
        let (rows, head) = (standing.evidence.length, standing.evidence.hex());
        if self.batch != batch.as_str() {
            return differs("batch", &self.batch, batch);
        }
        if self.evidence.rows != rows {
            return differs("rows of evidence", &self.evidence.rows, &rows);
        }
        if self.evidence.head != head {
            return differs("head", &self.evidence.head, &head);
        }
        for (what, said, is) in [
            ("amounts", &self.amounts, &told["amounts"]),
            ("states", &self.states, &told["states"]),
            ("count", &Value::from(self.count), &told["count"]),
        ] {
            if said != is {
                return differs(what, said, is);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_manifest_is_refused_with_the_reason() {
        for (text, expected) in [
            ("", "it is not JSON"),
            ("[]", "not that of an archive"),
            (
                r#"{"format": "other", "version": 1}"#,
                "not that of an archive",
            ),
            (r#"{"format": "disburse archive"}"#, "it names no version"),
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
