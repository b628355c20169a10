//! What is wrong with a file as a whole.

use std::fmt::Write as _;
use std::io;

use super::text::{quoted, shown};

/// How many unknown columns one error names.
const UNKNOWN_SHOWN_MAX: usize = 8;

/// Why a file cannot be read, or not further.
///
/// Each displays as one clause that follows the file's name (and [`Error::line`], where there is one).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source failed.
    #[error("cannot be read: {0}")]
    Read(io::Error),
    /// The source is a directory.
    #[error("is a directory, not a file")]
    Directory,
    /// Not one character.
    #[error("is empty")]
    Empty,
    /// A header, or an empty array, and nothing to pay.
    #[error("{0}")]
    NoRows(&'static str),
    /// Another kind of file, recognised by its first bytes.
    #[error("is {what}, not CSV or JSON")]
    Foreign {
        /// The kind, with its article.
        what: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A workbook that cannot be read, or not without asking.
    #[error("{what}")]
    Workbook {
        /// What is wrong with it.
        what: String,
        /// What to do about it.
        remedy: &'static str,
        /// The cell, as `Sheet1!C7`.
        at: Option<String>,
    },
    /// A packed file that is not unpacked.
    #[error("{what}")]
    Packed {
        /// What is wrong with it.
        what: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The file is not of the format that was named.
    #[error("is not {expected}: it begins with {found:?}")]
    OtherFormat {
        /// The format that was named.
        expected: &'static str,
        /// The first character.
        found: char,
    },
    /// A byte that UTF-8 does not allow here.
    #[error(
        "is not UTF-8: byte {byte_of_line} of the line is 0x{byte:02X} (byte {offset} of the file)"
    )]
    NotUtf8 {
        /// The line, 1-based.
        line: u64,
        /// The position in the line, 1-based.
        byte_of_line: u64,
        /// The position in the file, 1-based.
        offset: u64,
        /// The byte.
        byte: u8,
    },
    /// It was to be read as Windows-1252, and is UTF-8.
    #[error("is UTF-8, not Windows-1252")]
    IsUtf8,
    /// It is not of the encoding that was named.
    #[error("is not {0}")]
    NotEncoded(&'static str),
    /// The file is not as its layout says.
    #[error("{what}")]
    Layout {
        /// What is not.
        what: String,
        /// What to do about it.
        remedy: String,
        /// The line concerned, where there is one.
        line: Option<u64>,
    },
    /// The UTF-16 text has half a character.
    #[error("is not valid UTF-16 near this line")]
    NotUtf16 {
        /// The line, 1-based.
        line: u64,
    },
    /// The header is longer than a row may be.
    #[error("has a header of more than {max} bytes in a row or a name")]
    HeaderTooLong {
        /// The limit that it breaks.
        max: usize,
    },
    /// Columns that are not of the contract, with the nearest that is.
    #[error("has {}", unknown_columns(.0))]
    UnknownColumns(Vec<(String, Option<String>)>),
    /// The same column twice.
    #[error(
        "has the column {name} twice, as columns {first} and {second}{}",
        written_as(name, written)
    )]
    DoubledColumn {
        /// The contract name.
        name: String,
        /// How the file writes the two.
        written: [String; 2],
        /// The position of the first, 1-based.
        first: usize,
        /// The position of the second, 1-based.
        second: usize,
    },
    /// An `extra.` column whose name cannot be sent.
    #[error("has the column {}: {reason}", shown(.name))]
    ExtraColumn {
        /// The name in the header.
        name: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// Columns that every row needs.
    #[error("has no column {}", .0.join(", and no column "))]
    MissingColumns(Vec<&'static str>),
    /// `[columns]` maps a header to something that is no column.
    #[error("cannot be read: [columns] maps {header:?} to {target:?}, which is no column")]
    Mapping {
        /// The header.
        header: String,
        /// What it is mapped to.
        target: String,
        /// The nearest column.
        nearest: Option<String>,
    },
    /// A quote that is still open at the end of the file.
    #[error("has a quote that is opened in this line and never closed")]
    OpenQuote {
        /// The line the quote opens in.
        line: u64,
    },
    /// A quoted cell that seems to have swallowed rows.
    #[error(
        "has a quoted cell that begins in this line and ends in line {closed}: {reason}, so rows may hide in it"
    )]
    Swallowed {
        /// The line the quote opens in.
        line: u64,
        /// The line it closes in.
        closed: u64,
        /// What is wrong about the end.
        reason: &'static str,
    },
    /// A message that is read element by element cannot be read, or does not add up.
    #[error("{what}")]
    Message {
        /// What is wrong with it.
        what: String,
        /// What to do about it.
        remedy: String,
        /// The line and the character of the line, 1-based.
        at: Option<(u64, u64)>,
    },
    /// The JSON around the rows is broken.
    #[error("is not valid JSON: {message}")]
    Json {
        /// The line, 1-based.
        line: u64,
        /// What was expected, what was found.
        message: String,
    },
}

/// Says how two headers are written that are the same column, where they are not written as it is called.
fn written_as(name: &str, written: &[String; 2]) -> String {
    match written.iter().all(|written| written == name) {
        true => String::new(),
        false => {
            let [first, second] = written.each_ref().map(|written| quoted(written));
            format!(": {first} and {second}")
        }
    }
}

fn unknown_columns(columns: &[(String, Option<String>)]) -> String {
    let mut text = String::from(if columns.len() == 1 {
        "an unknown column "
    } else {
        "unknown columns "
    });
    for (index, (name, nearest)) in columns.iter().take(UNKNOWN_SHOWN_MAX).enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(&quoted(name));
        if let Some(nearest) = nearest {
            let _ = write!(text, " (did you mean {nearest:?}?)");
        }
    }
    if let Some(more @ 1..) = columns.len().checked_sub(UNKNOWN_SHOWN_MAX) {
        let _ = write!(text, " and {more} more");
    }
    text
}

impl Error {
    /// Returns the line concerned, 1-based.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::NotUtf8 { line, .. }
            | Self::NotUtf16 { line }
            | Self::OpenQuote { line }
            | Self::Swallowed { line, .. }
            | Self::Json { line, .. } => Some(*line),
            Self::Layout { line, .. } => *line,
            Self::Message { at, .. } => at.map(|(line, _)| line),
            _ => None,
        }
    }

    /// Returns where it is: the line, or the cell of a sheet.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Workbook { at, .. } => at.clone(),
            Self::Message { at, .. } => at.map(|(line, column)| format!("{line}:{column}")),
            other => other.line().map(|line| line.to_string()),
        }
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Read(_) | Self::MissingColumns(_) | Self::Json { .. } => return self.long_hint(),
            Self::Mapping { nearest, .. } => {
                return nearest.as_ref().map(|n| format!("did you mean {n:?}?"));
            }
            Self::Directory => "name one file",
            Self::Empty => "export it again; a batch has a header and at least one row",
            Self::NoRows(_) => "there is nothing to pay; check the export",
            Self::Foreign { remedy, .. }
            | Self::Workbook { remedy, .. }
            | Self::Packed { remedy, .. } => remedy,
            Self::OtherFormat { .. } => {
                "name the format with --format csv, json, jsonl or pain.001"
            }
            Self::NotUtf8 { .. } => {
                "save it again as \"CSV UTF-8\"; or, if it comes from an older Windows program, add --encoding \
                windows-1252"
            }
            Self::IsUtf8 => {
                "leave out --encoding, or correct the encoding that the file declares: read as Windows-1252, letters \
                such as é would become wrong ones"
            }
            Self::NotEncoded(_) => {
                "name its encoding with --encoding or in its layout: utf-8, utf-16, windows-1252 or iso-8859-1"
            }
            Self::Layout { remedy, .. } | Self::Message { remedy, .. } => remedy,
            Self::NotUtf16 { .. } => "save it again as \"CSV UTF-8\"",
            Self::HeaderTooLong { .. } => "the first line must hold the names of the columns",
            Self::UnknownColumns(_) => {
                "rename it, or map it in [columns]; further members of extraData are named extra.NAME"
            }
            Self::DoubledColumn { .. } => "keep one of them",
            Self::ExtraColumn { .. } => "remove or rename it",
            Self::OpenQuote { .. } | Self::Swallowed { .. } => {
                "close the quote in that line; a quote inside a quoted cell is written twice"
            }
        };
        Some(text.to_owned())
    }

    /// Returns whether the file is one of another program, as far as its columns tell: a layout is to be found for it.
    #[must_use]
    pub fn is_first_contact(&self) -> bool {
        match self {
            Self::UnknownColumns(_) => true,
            Self::MissingColumns(names) => names.contains(&"amount") || names.contains(&"msisdn"),
            _ => false,
        }
    }

    fn long_hint(&self) -> Option<String> {
        match self {
            Self::MissingColumns(names) => {
                let has_default: Vec<_> = names
                    .iter()
                    .filter(|name| name.ends_with("_code"))
                    .copied()
                    .collect();
                Some(if has_default.is_empty() {
                    "every row needs it; the first line must hold the names of the columns".to_owned()
                } else {
                    format!("add it, or give {} a default in the profile", has_default.join(" and "))
                })
            }
            Self::Json { .. } => Some(
                "write an array of objects, or one object per line; nothing after this line could be read".to_owned(),
            ),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::IsADirectory {
            Self::Directory
        } else {
            Self::Read(error)
        }
    }
}
