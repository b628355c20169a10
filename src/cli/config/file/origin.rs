//! Where a value comes from.

use std::fmt;
use std::sync::Arc;

/// The source of one value; the first of these that sets a key wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag,
    /// An environment variable.
    Environment(&'static str),
    /// The configuration file.
    File {
        /// The file, as it was named.
        file: Arc<str>,
        /// 1-based.
        line: usize,
        /// 1-based, in characters.
        column: usize,
    },
    /// The built-in profile of `--sandbox`.
    Sandbox,
    /// The key's default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File { file, line, .. } => write!(f, "{file}:{line}"),
            Self::Sandbox => f.write_str("sandbox"),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Origin {
    /// Returns the exact place, as an error begins with it: `disburse.toml:12:8`.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Flag => "command line".to_owned(),
            Self::File { file, line, column } => format!("{file}:{line}:{column}"),
            Self::Environment(_) | Self::Sandbox | Self::Default => self.to_string(),
        }
    }
}
