//! The password: from the environment, or from a file that nobody else can read.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::OFlags;
use secrecy::SecretString;

use super::{Error, Origin};

/// Where the password is. Debug output shows no password.
#[derive(Clone, Debug)]
pub(super) enum Password {
    /// Known already.
    Given(SecretString),
    /// In the first line of a file, read when it is needed: most commands need none.
    InFile(PathBuf),
}

/// Passwords are shorter; anything longer is some other file.
const LENGTH_MAX: usize = 1_024;

impl Password {
    /// Returns the password.
    pub(super) fn reveal(&self) -> Result<SecretString, Error> {
        match self {
            Self::Given(password) => Ok(password.clone()),
            Self::InFile(path) => first_line(path),
        }
    }
}

/// Chooses between the password itself and the file: the one from the stronger source, the password on a tie.
pub(super) fn choose(
    given: Option<(SecretString, Origin)>,
    file: Option<(PathBuf, Origin)>,
) -> Option<(Password, Origin)> {
    match (given, file) {
        (_, Some((path, Origin::Flag))) => Some((Password::InFile(path), Origin::Flag)),
        (Some((password, origin)), _) => Some((Password::Given(password), origin)),
        (None, Some((path, origin))) => Some((Password::InFile(path), origin)),
        (None, None) => None,
    }
}

fn first_line(path: &Path) -> Result<SecretString, Error> {
    let refused = |problem: String| Error::PasswordFile {
        path: path.to_owned(),
        problem,
    };
    let failed = |error: std::io::Error| refused(error.to_string());
    // Opening a pipe would wait for its writer.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)
        .map_err(failed)?;
    // The opened file is asked, not the path: the path may change in between.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file".to_owned()));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        // A run reads it more than once.
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            tracing::warn!(
                "{}: others may read this password (mode {mode:04o}); chmod 600 it",
                path.display()
            );
        });
    }
    let mut text = String::new();
    file.take(LENGTH_MAX as u64 + 2)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let line = text.split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line.len() {
        0 => Err(refused("its first line is empty".to_owned())),
        length if length > LENGTH_MAX => {
            let problem = format!("its first line is longer than {LENGTH_MAX} bytes");
            Err(refused(problem))
        }
        _ => Ok(SecretString::from(line)),
    }
}
