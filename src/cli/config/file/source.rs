//! Finding and reading the file, and the position of everything in it.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::custody::{self, Holds};
use crate::cli::config::Error;
use crate::cli::config::Origin;

/// A configuration is a few screens of text.
const SIZE_MAX: u64 = 256 * 1024;

/// Returns the file to read, or the places where it was looked for.
///
/// A file named by flag or environment is read whether it is there or not, so that a mistyped name is an error.
pub(in crate::cli::config) fn locate(
    flag: Option<&Path>,
    environment: &BTreeMap<String, String>,
    directory: &Path,
) -> Result<PathBuf, Vec<PathBuf>> {
    let set = |name| environment.get(name).filter(|value| !value.is_empty());
    let named = flag
        .map(Path::to_owned)
        .or_else(|| set("DISBURSE_CONFIG").map(PathBuf::from));
    if let Some(path) = named {
        return Ok(path);
    }
    let home = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(set("HOME")?).join(".config")));
    let mut places = vec![directory.join("disburse.toml")];
    places.extend(home.map(|home| home.join("disburse").join("disburse.toml")));
    match places.iter().find(|path| path.exists()) {
        Some(path) => Ok(path.clone()),
        None => Err(places),
    }
}

/// Reads the whole file as text. Where money can move, nobody else may have written it.
pub(in crate::cli::config) fn read(path: &Path, is_rehearsal: bool) -> Result<String, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let refused = |problem: String| Error::NotText {
        path: path.to_owned(),
        problem,
    };
    let (file, metadata) = custody::open(path).map_err(failed)?;
    // A pipe would block, a directory has no text.
    if !metadata.is_file() {
        return Err(refused("is not a regular file".to_owned()));
    }
    if !is_rehearsal {
        custody::check(Holds::Configuration, path, &metadata)?;
    }
    let mut bytes = Vec::new();
    file.take(SIZE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(refused(format!("is larger than {SIZE_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(valid);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        refused(format!("line {line}, byte {valid}: is not UTF-8"))
    })
}

/// A text of configuration with the lines it has.
pub(in crate::cli::config) struct Source<'a> {
    /// The file's name; `None` for the text built into the program.
    file: Option<Arc<str>>,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Wraps the text of `path`, or the built-in text.
    pub(in crate::cli::config) fn new(path: Option<&Path>, text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file: path.map(|path| path.display().to_string().into()),
            text,
            line_starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    /// Returns the text.
    pub(in crate::cli::config) fn text(&self) -> &'a str {
        self.text
    }

    /// Says why it cannot be read.
    pub(in crate::cli::config) fn misread(&self, error: &toml::de::Error) -> Error {
        Error::Syntax {
            place: self.origin(&error.span().unwrap_or(0..0)),
            // The parser's own display would print the line, whatever it holds.
            problem: error.message().to_owned(),
        }
    }

    /// Returns where a span begins.
    pub(in crate::cli::config) fn origin(&self, span: &Range<usize>) -> Origin {
        let Some(file) = &self.file else {
            return Origin::Sandbox;
        };
        let at = span.start.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= at);
        let before = self.text.get(self.line_starts[line - 1]..at);
        Origin::File {
            file: file.clone(),
            line,
            column: 1 + before.map_or(0, |text| text.chars().count()),
        }
    }
}
