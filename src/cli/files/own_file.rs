//! A file that a command writes as a whole: an earlier one of its own is replaced, and no other file is.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read as _, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::cli::Error;
use crate::cli::terminal::output;

/// Where in a file it says what it is.
const HEAD_BYTES: u64 = 1024;

/// The file while it is written.
pub(in crate::cli) type Staged = BufWriter<NamedTempFile>;

/// Says that a file cannot be written.
pub(in crate::cli) fn unwritable(file: &Path, flag: &str, error: &std::io::Error) -> Error {
    let name = output::name(&file.display().to_string());
    Error::refused(format!("{name}: cannot be written: {error}"))
        .hint(format!("name another place with {flag}"))
}

/// Writes a file beside its place, and puts it there when it is whole. `is_own` looks at the beginning of the one that is there.
pub(in crate::cli) fn write(
    file: &Path,
    flag: &str,
    (what, is_own): (&str, impl Fn(&[u8]) -> bool),
    fill: impl FnOnce(Staged) -> Result<Staged, Error>,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| unwritable(file, flag, &error);
    refuse_another(file, flag, what, is_own)?;
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let staged = NamedTempFile::new_in(folder).map_err(failed)?;
    let mut buffer = fill(BufWriter::new(staged))?;
    buffer.flush().map_err(failed)?;
    let staged = buffer
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    staged.as_file().sync_all().map_err(failed)?;
    staged.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

fn refuse_another(
    file: &Path,
    flag: &str,
    what: &str,
    is_own: impl Fn(&[u8]) -> bool,
) -> Result<(), Error> {
    if file == Path::new("-") {
        return Err(Error::refused(format!(
            "{flag} -: expected the name of a file"
        )));
    }
    let mut head = Vec::new();
    let read = match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)),
    };
    match read {
        Ok(_) if is_own(&head) => Ok(()),
        _ => Err(Error::refused(format!(
            "{}: is there already, and is no {what}; it is not overwritten",
            output::name(&file.display().to_string())
        ))
        .hint(format!("name another place with {flag}"))),
    }
}
