//! A file that a command writes as a whole: an earlier one of ours that nobody has touched since is replaced, and no other file is.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::cli::Error;
use crate::cli::terminal::output;
use crate::report::{is_free, place};

/// The file while it is written.
pub(in crate::cli) type Staged = BufWriter<NamedTempFile>;

/// Says that a file cannot be written.
pub(in crate::cli) fn unwritable(file: &Path, flag: &str, error: &std::io::Error) -> Error {
    let name = output::name(&file.display().to_string());
    Error::refused(format!("{name}: cannot be written: {error}"))
        .hint(format!("name another place with {flag}"))
}

/// Writes a file beside its place, and puts it there when it is whole.
pub(in crate::cli) fn write(
    file: &Path,
    flag: &str,
    fill: impl FnOnce(Staged) -> Result<Staged, Error>,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| unwritable(file, flag, &error);
    if file == Path::new("-") {
        return Err(Error::refused(format!(
            "{flag} -: expected the name of a file"
        )));
    }
    if !is_free(file).map_err(failed)? {
        return Err(taken(file, flag));
    }
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
    match place(staged, file, None).map_err(failed)? {
        Ok(()) => Ok(()),
        // Somebody has written there meanwhile.
        Err(_) => Err(taken(file, flag)),
    }
}

fn taken(file: &Path, flag: &str) -> Error {
    let name = output::name(&file.display().to_string());
    Error::refused(format!(
        "{name}: exists already, and was not written there by disburse, or was changed or copied since; it is not overwritten"
    ))
    .hint(format!("name another place with {flag}, or move that file away"))
}
