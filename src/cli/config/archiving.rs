//! What `[archive]` says.

use std::time::Duration;

/// What a command may take, where nothing is said: archives are larger than batch files.
const WITHIN: Duration = Duration::from_secs(600);

/// How archives are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveSettings {
    /// A program and its arguments, which has the plain archive as its input and writes what `age` reads.
    pub encrypt: Option<Vec<String>>,
    /// How long it may take.
    pub encrypt_within: Duration,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        Self {
            encrypt: None,
            encrypt_within: WITHIN,
        }
    }
}
