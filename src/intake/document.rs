//! Supporting documents in the file system (section 2.5).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use super::pdf::{self, NotPdf};

/// Why a file cannot be a supporting document. Displays as one clause: what was expected, what was found.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The path is absolute, or leads out of the folder.
    #[error("expected a file in the folder of the batch file, found a path that leads out of it")]
    Outside,
    /// A link leads out of the folder.
    #[error(
        "expected a file in the folder of the batch file, found a link that leads out of it; copy the document there"
    )]
    LinkedOut,
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

/// Returns the path of a document that a row names. It lies in the folder of the batch file: whoever writes that file must not
/// choose among all the files that this user may read.
///
/// # Errors
/// [`DocumentError::Outside`], [`DocumentError::LinkedOut`], [`DocumentError::Absent`].
pub fn document_path(folder: &Path, written: &str) -> Result<PathBuf, DocumentError> {
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(written).components().all(inside) {
        return Err(DocumentError::Outside);
    }
    let folder = folder.canonicalize().map_err(failed)?;
    let path = folder.join(written).canonicalize().map_err(failed)?;
    match path.starts_with(&folder) {
        true => Ok(path),
        false => Err(DocumentError::LinkedOut),
    }
}

fn failed(error: io::Error) -> DocumentError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => DocumentError::Absent,
        _ => DocumentError::Read(error),
    }
}

/// Checks the document that a row names; returns SHA-256 of its bytes.
///
/// # Errors
/// As [`document_path`] and [`read_document`].
pub(super) fn check_document(
    folder: &Path,
    written: &str,
    bytes_max: u64,
) -> Result<[u8; 32], DocumentError> {
    let bytes = read_document(&document_path(folder, written)?, bytes_max)?;
    Ok(Sha256::digest(&bytes).into())
}

/// Reads a supporting document whole and checks it: a regular file of at most `bytes_max` bytes, and a sound PDF.
///
/// # Errors
/// Says what was expected and what was found; the path is the caller's to name.
pub fn read_document(path: &Path, bytes_max: u64) -> Result<Vec<u8>, DocumentError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_lies_in_the_folder_of_the_batch_file() {
        let place = tempfile::tempdir().unwrap();
        let (folder, secret) = (place.path().join("pay"), place.path().join("secret.pdf"));
        std::fs::create_dir_all(folder.join("documents")).unwrap();
        std::fs::write(&secret, "x").unwrap();
        std::fs::write(folder.join("documents/a.pdf"), "x").unwrap();
        let link =
            |to: &Path, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        link(&secret, "out.pdf");
        link(place.path(), "up");
        link(&folder.join("documents"), "here");
        for (written, expected) in [
            ("documents/a.pdf", "inside"),
            ("./documents/a.pdf", "inside"),
            ("here/a.pdf", "inside"),
            ("documents/../documents/a.pdf", "outside"),
            ("../secret.pdf", "outside"),
            (secret.to_str().unwrap(), "outside"),
            ("out.pdf", "linked out"),
            ("up/secret.pdf", "linked out"),
            ("documents/b.pdf", "absent"),
        ] {
            let found = match document_path(&folder, written) {
                Ok(_) => "inside",
                Err(DocumentError::Outside) => "outside",
                Err(DocumentError::LinkedOut) => "linked out",
                Err(DocumentError::Absent) => "absent",
                Err(error) => panic!("{error}"),
            };
            assert_eq!(found, expected, "{written}");
        }
    }
}
