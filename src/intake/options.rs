//! What the operator says about a file.

use std::path::Path;
use std::sync::Arc;

use super::encoding::Encoding;
use super::layout::Layout;
use super::sheet::SheetOptions;

/// How the rows of a file are written down.
///
/// An array and JSON lines are told apart by the first byte, so that either name reads both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values; semicolon, tab and vertical bar are detected.
    Csv,
    /// A JSON array of objects.
    Json,
    /// One JSON object per line.
    JsonLines,
    /// Credit transfers of ISO 20022, in XML.
    Pain001,
}

impl Format {
    /// Tells the format by the extension of a file's name; `None` when the extension says nothing.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::from_name(path.extension()?.to_str()?)
    }

    /// Tells the format by its name: `csv`, `tsv`, `txt`, `json`, `jsonl`, `ndjson`, `xml` or `pain.001`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" | "tsv" | "txt" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "xml" | "pain.001" | "pain001" => Some(Self::Pain001),
            _ => None,
        }
    }
}

/// What the operator says about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; by the first byte when absent.
    pub format: Option<Format>,
    /// The encoding.
    pub encoding: Encoding,
    /// What its columns are, where they are not ours.
    pub layout: Option<Arc<Layout>>,
    /// Which sheet of a workbook is read, and how.
    pub sheet: SheetOptions,
}
