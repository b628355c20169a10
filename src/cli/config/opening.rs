//! What `[files]` says: how files are opened before they are read.

use std::time::Duration;

/// What a command may take, where nothing is said.
const WITHIN: Duration = Duration::from_secs(120);

/// How files are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSettings {
    /// A program and its arguments, which has an encrypted file as its input and writes the plain one.
    pub decrypt: Option<Vec<String>>,
    /// How long it may take.
    pub decrypt_within: Duration,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            decrypt: None,
            decrypt_within: WITHIN,
        }
    }
}
