//! Supporting documents in the file system (section 2.5).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::pdf::{self, NotPdf};

/// Why a file cannot be a supporting document. Displays as one clause: what was expected, what was found.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// There is no such file.
    #[error("expected a PDF document (section 2.5), found no such file")]
    Absent,
    /// A folder, a pipe or a device.
    #[error("expected a PDF document (section 2.5), found no regular file")]
    Irregular,
    /// It cannot be read.
    #[error("expected a PDF document (section 2.5), which cannot be read: {0}")]
    Read(io::Error),
    /// It is too large.
    #[error("expected at most {max} bytes (document_bytes_max), found {found}")]
    TooLarge {
        /// The limit.
        max: u64,
        /// The size, or more.
        found: u64,
    },
    /// It is no PDF that the file service takes.
    #[error("expected a PDF document that opens without a password (section 2.5), found {0}")]
    Pdf(#[from] NotPdf),
}

/// Reads a supporting document whole and checks it: a regular file of at most `bytes_max` bytes, and a sound PDF.
///
/// # Errors
/// Says what was expected and what was found; the path is the caller's to name.
pub fn read_document(path: &Path, bytes_max: u64) -> Result<Vec<u8>, DocumentError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => DocumentError::Absent,
        _ => DocumentError::Read(error),
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    // Before it is opened: a pipe would wait for a writer.
    if !metadata.is_file() {
        return Err(DocumentError::Irregular);
    }
    let large = |found| DocumentError::TooLarge {
        max: bytes_max,
        found,
    };
    if metadata.len() > bytes_max {
        return Err(large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    File::open(path)
        .and_then(|file| {
            file.take(bytes_max.saturating_add(1))
                .read_to_end(&mut bytes)
        })
        .map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(large(bytes.len() as u64));
    }
    pdf::check(&bytes)?;
    Ok(bytes)
}
