//! The password: from the environment, or from a file that nobody else can change.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretSlice, SecretString};

use crate::cli::config::Error;
use crate::cli::config::Origin;
use crate::cli::config::file::custody::{self, Holds};

/// Where the password is. Debug output shows no password.
#[derive(Clone, Debug)]
pub(in crate::cli::config) enum Password {
    /// Known already.
    Given(SecretString),
    /// In the first line of a file, read when it is needed: most commands need none.
    InFile(PathBuf),
}

/// Passwords are shorter; anything longer is some other file.
const LENGTH_MAX: usize = 1_024;

impl Password {
    /// Returns the password.
    pub(in crate::cli::config) fn reveal(&self) -> Result<SecretString, Error> {
        match self {
            Self::Given(password) => Ok(password.clone()),
            Self::InFile(path) => first_line(path),
        }
    }

    /// Looks whether the password can be had, without reading it.
    pub(in crate::cli::config) fn look(&self) -> Result<(), Error> {
        let Self::InFile(path) = self else {
            return Ok(());
        };
        match std::fs::metadata(path) {
            Ok(metadata) => custody::check(Holds::Password, path, &metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(absent(path)),
            // Whoever loads a file need not be the one who may pay.
            Err(_) => Ok(()),
        }
    }
}

/// Chooses between the password itself and the file: the one from the stronger source, the password on a tie.
pub(in crate::cli::config) fn choose(
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

fn absent(path: &Path) -> Error {
    Error::NoPasswordFile {
        path: path.to_owned(),
    }
}

/// The longest key, in bytes: an RSA key of 4096 bits in PEM has 3,300.
const KEY_MAX: usize = 16 * 1024;

/// Reads a key file whole, without the line break at its end.
///
/// # Errors
/// It cannot be read, or others may have written it.
pub(in crate::cli) fn read_key(path: &Path) -> Result<SecretSlice<u8>, Error> {
    let refused = |problem: String| Error::KeyFile {
        path: path.to_owned(),
        problem,
    };
    let failed = |error: std::io::Error| refused(error.to_string());
    let (file, metadata) = custody::open(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file".to_owned()));
    }
    custody::check(Holds::Key, path, &metadata)?;
    let mut bytes = Vec::new();
    file.take(KEY_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() > KEY_MAX {
        return Err(refused(format!("is longer than {KEY_MAX} bytes")));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    if bytes.trim_ascii().is_empty() {
        return Err(refused("is empty".to_owned()));
    }
    let key: SecretSlice<u8> = bytes.into();
    crate::gateway::stay(key.expose_secret());
    Ok(key)
}

fn first_line(path: &Path) -> Result<SecretString, Error> {
    let refused = |problem: String| Error::PasswordFile {
        path: path.to_owned(),
        problem,
    };
    let failed = |error: std::io::Error| refused(error.to_string());
    let (file, metadata) = custody::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => absent(path),
        _ => failed(error),
    })?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file".to_owned()));
    }
    custody::check(Holds::Password, path, &metadata)?;
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
