//! Where the password of a journal in PostgreSQL comes from: never from its address.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};

use super::host::Host;

/// The most bytes of a file with passwords.
const FILE_MAX: u64 = 1 << 20;

/// What an address takes from around it. Whoever starts the program reads the environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The user of this process, where an address names none.
    pub user: Option<String>,
    /// `PGPASSWORD`.
    pub pgpassword: Option<SecretString>,
    /// `PGPASSFILE`, or `.pgpass` in the home folder.
    pub pgpassfile: Option<PathBuf>,
    /// A file that holds the password alone, as the configuration names it: it comes before the others.
    pub journal_password_file: Option<PathBuf>,
}

impl Environment {
    pub(super) fn password_source(&self) -> PasswordSource {
        match (
            &self.journal_password_file,
            &self.pgpassword,
            &self.pgpassfile,
        ) {
            (Some(path), _, _) => PasswordSource::File(path.clone()),
            (None, Some(password), _) => PasswordSource::Given(password.clone()),
            (None, None, Some(path)) => PasswordSource::Pgpass(path.clone()),
            (None, None, None) => PasswordSource::None,
        }
    }
}

/// Where the password comes from.
#[derive(Clone, Debug)]
pub(super) enum PasswordSource {
    None,
    Given(SecretString),
    File(PathBuf),
    Pgpass(PathBuf),
}

/// Why a file with a password was not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PasswordError {
    /// It cannot be read.
    #[error("the password of the journal: {} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// Others may read it too.
    #[error("the password of the journal: others may read {}: chmod 600 {}", path.display(), path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is no text, or too long for one.
    #[error("the password of the journal: {} is no file with a password", path.display())]
    NoPassword {
        /// The file.
        path: PathBuf,
    },
}

/// For whom a password is looked up.
pub(super) struct Wanted<'a> {
    pub(super) host: &'a Host,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

impl fmt::Display for PasswordSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("there is none"),
            Self::Given(_) => f.write_str("it came from PGPASSWORD"),
            Self::File(path) | Self::Pgpass(path) => write!(f, "it came from {}", path.display()),
        }
    }
}

impl PasswordSource {
    /// Returns the password for a server, if there is one.
    pub(super) fn password(
        &self,
        wanted: &Wanted<'_>,
    ) -> Result<Option<SecretString>, PasswordError> {
        match self {
            Self::None => Ok(None),
            Self::Given(password) => Ok(Some(password.clone())),
            Self::File(path) => {
                let text = read(path)?;
                let line = text.lines().next().unwrap_or_default();
                match line.is_empty() {
                    true => Err(PasswordError::NoPassword { path: path.clone() }),
                    false => Ok(Some(line.into())),
                }
            }
            // As libpq has it: a file that is not there is none.
            Self::Pgpass(path) if !path.exists() => Ok(None),
            Self::Pgpass(path) => {
                let text = read(path)?;
                let found = text.lines().find_map(|line| password_of(line, wanted));
                Ok(found)
            }
        }
    }
}

/// Reads a file that nobody else may read.
fn read(path: &Path) -> Result<Zeroizing<String>, PasswordError> {
    let unreadable = |error: io::Error| PasswordError::Unreadable {
        path: path.to_owned(),
        cause: error.to_string(),
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let told = file.metadata().map_err(unreadable)?;
    if !told.is_file() || told.len() > FILE_MAX {
        return Err(PasswordError::NoPassword {
            path: path.to_owned(),
        });
    }
    if told.permissions().mode() & 0o077 != 0 {
        return Err(PasswordError::Open {
            path: path.to_owned(),
        });
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Reads a line `host:port:database:user:password`; a star stands for anything, a backslash keeps what follows it.
fn password_of(line: &str, wanted: &Wanted<'_>) -> Option<SecretString> {
    if line.starts_with('#') {
        return None;
    }
    let port = wanted.host.port.to_string();
    let is_default_socket = wanted.host.is_socket();
    let mut rest = line;
    let fields = [&wanted.host.name, &port, wanted.database, wanted.user];
    for (at, field) in fields.into_iter().enumerate() {
        let (written, behind) = cut(rest)?;
        let is_meant = *written == *"*"
            || *written == *field
            || at == 0 && is_default_socket && *written == *"localhost";
        if !is_meant {
            return None;
        }
        rest = behind;
    }
    let (password, _) = cut(rest).unwrap_or_else(|| (plain(rest), ""));
    Some(password.as_str().into())
}

/// Takes what stands before the next colon.
fn cut(line: &str) -> Option<(Zeroizing<String>, &str)> {
    let mut is_kept = false;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b':' if !is_kept => return Some((plain(&line[..at]), &line[at + 1..])),
            b'\\' => is_kept = !is_kept,
            _ => is_kept = false,
        }
    }
    None
}

fn plain(text: &str) -> Zeroizing<String> {
    let mut plain = Zeroizing::new(String::with_capacity(text.len()));
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        });
    }
    plain
}

/// Returns the characters of a password, for whoever sends it.
pub(super) fn bytes_of(password: &SecretString) -> &[u8] {
    password.expose_secret().as_bytes()
}
