//! How a statement is to be read.

use super::layout::Layout;

/// The format of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows under headers.
    Csv,
    /// SWIFT MT940.
    Mt940,
    /// ISO 20022 camt.053 and camt.054.
    Camt,
}

impl Format {
    /// Finds it by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "mt940" => Some(Self::Mt940),
            "camt" => Some(Self::Camt),
            _ => None,
        }
    }

    /// Tells it by how a file begins.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Self {
        let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
        let text = text.trim_ascii_start();
        if text.starts_with(b"<") {
            Self::Camt
        } else if [&b"{1:"[..], b":20:", b":25:"]
            .iter()
            .any(|tag| text.starts_with(tag))
        {
            Self::Mt940
        } else {
            Self::Csv
        }
    }
}

/// How a statement is to be read.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Its format; `None`: as the file begins.
    pub format: Option<Format>,
    /// The account that it must be of.
    pub account: Option<String>,
    /// Where things stand in a CSV.
    pub layout: Layout,
}
