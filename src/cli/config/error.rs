//! What can be wrong with the configuration, and what to do about it.

use std::path::PathBuf;

use super::Origin;
use super::keys::Key;
use crate::cli::config::value::kind::{named, quoted};
use crate::cli::config::value::suggest;

/// Why the configuration is refused. [`Error::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("configuration file {} {}", quoted(&path.display().to_string()), unread(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no configuration at all.
    #[error("{}: {problem}", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// What it is.
        problem: String,
    },
    /// The file is not TOML.
    #[error("{}: {problem}", place.place())]
    Syntax {
        /// Where.
        place: Origin,
        /// What the parser says.
        problem: String,
    },
    /// A name that nothing knows.
    #[error("{}: unknown {what} {}", place.place(), quoted(name))]
    Unknown {
        /// Where.
        place: Origin,
        /// What kind of name: key, column.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// A value that does not fit its key.
    #[error("{}: {key}: expected {expected}, found {found}", place.place())]
    Value {
        /// Where.
        place: Origin,
        /// The key.
        key: String,
        /// What would fit.
        expected: String,
        /// What is there; secrets are hidden.
        found: String,
    },
    /// What notices are signed with is missing, or is not a secret.
    #[error("{problem}")]
    NoticeSecret {
        /// What is wrong, and where.
        problem: String,
    },
    /// A table lacks an entry.
    #[error("{}: {table}: {entry} is missing", place.place())]
    Incomplete {
        /// Where.
        place: Origin,
        /// The table.
        table: String,
        /// The entry.
        entry: &'static str,
    },
    /// Two values contradict one another.
    #[error("{}: {problem}", place.place())]
    Contradiction {
        /// Where.
        place: Origin,
        /// What does not go together.
        problem: String,
    },
    /// A password written into the file or given by a flag.
    #[error("{}: a password is not accepted here", place.place())]
    PasswordInTheOpen {
        /// Where.
        place: Origin,
    },
    /// The password file is not usable.
    #[error("password file {}: {problem}", path.display())]
    PasswordFile {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A key file of the dialect is not usable.
    #[error("key file {}: {problem}", quoted(&path.display().to_string()))]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A list of recipients is not usable.
    #[error("{}{}: {problem}", path.display(), line.map_or_else(String::new, |line| format!(":{line}")))]
    List {
        /// The key that names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// The line.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// The file of allowed signers is not usable.
    #[error("allowed signers {}{}: {what}", path.display(), at(*line))]
    Signers {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0: the file as a whole.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The password file is not there.
    #[error("Password file {} does not exist. Create it with mode 0600", quoted(&path.display().to_string()))]
    NoPasswordFile {
        /// The file.
        path: PathBuf,
    },
    /// A file that others may have written.
    #[error("{}: {problem}, so somebody else may have written what it says", path.display())]
    Custody {
        /// The file.
        path: PathBuf,
        /// Who may write to it.
        problem: String,
        /// What takes that away.
        command: String,
    },
    /// A profile that is not in the file.
    #[error("{}: unknown profile {}", place.place(), quoted(name))]
    UnknownProfile {
        /// Where the name was given.
        place: Origin,
        /// The name.
        name: String,
        /// The nearest name, and the file's profiles.
        hint: String,
    },
    /// Several profiles and no choice.
    #[error("{}: no profile chosen", file.display())]
    NoProfile {
        /// The file.
        file: PathBuf,
        /// The file's profiles.
        known: Vec<String>,
    },
    /// Keys that are needed and not set.
    #[error("{}: not set: {}", whose(profile, file), names(keys))]
    Missing {
        /// The profile.
        profile: String,
        /// The keys.
        keys: Vec<&'static Key>,
        /// The file, or where it was looked for.
        file: Result<PathBuf, Vec<PathBuf>>,
    },
}

fn at(line: usize) -> String {
    match line {
        0 => String::new(),
        line => format!(":{line}"),
    }
}

fn unread(source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read by this user".to_owned(),
        _ => format!("cannot be read: {source}"),
    }
}

fn whose(profile: &str, file: &Result<PathBuf, Vec<PathBuf>>) -> String {
    match file {
        Ok(_) => format!("profile {}", quoted(profile)),
        Err(_) => "no configuration".to_owned(),
    }
}

fn names(keys: &[&'static Key]) -> String {
    let names: Vec<_> = keys.iter().map(|key| key.name).collect();
    names.join(", ")
}

fn paths(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(" and ")
}

impl Error {
    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { hint, .. } | Self::UnknownProfile { hint, .. } => Some(hint.clone()),
            Self::PasswordInTheOpen { .. } => Some(
                "passwords in configuration files and command lines leak into backups, \
                 repositories and process lists; set DISBURSE_PASSWORD, or password_file to a \
                 file of mode 0600"
                    .to_owned(),
            ),
            Self::NoProfile { file, known } => Some(format!(
                "use --profile NAME, DISBURSE_PROFILE or default_profile; {}",
                suggest::profiles(known, file)
            )),
            Self::Missing {
                profile,
                keys,
                file,
            } => Some(missing(profile, keys, file)),
            Self::NoPasswordFile { .. } => {
                Some("its first line is the password; or set DISBURSE_PASSWORD".to_owned())
            }
            Self::KeyFile { .. } => Some(
                "the dialect names it (disburse dialect show says where): create it with mode 0600, and put the key of \
                the gateway's operators into it"
                    .to_owned(),
            ),
            Self::NoticeSecret { .. } => Some(
                "the receiver of the notices gives it to you; set DISBURSE_NOTICES_SECRET, or name a file of mode 0600 \
                that has it in notices.secret_file"
                    .to_owned(),
            ),
            Self::Custody { command, .. } => {
                Some(format!("read what it says; if that is right: {command}"))
            }
            Self::Value { place, key, .. } => match place {
                Origin::Environment(name) => {
                    Some(format!("correct or unset {name}, which sets {key}"))
                }
                _ => None,
            },
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Some(
                "--config or DISBURSE_CONFIG names it; check the name, or write the file (samples/disburse.toml shows every key)"
                    .to_owned(),
            ),
            Self::Read { .. } => Some(
                "--config or DISBURSE_CONFIG names it; it must be a file that this user may read".to_owned(),
            ),
            Self::List { key, .. } => Some(format!(
                "{key} names this list: on each line one phone number or account, or sha256: and a digest; # begins a \
                remark. Nothing was sent"
            )),
            Self::Signers { .. } => Some(
                "approval.allowed_signers names it; its format is ALLOWED SIGNERS in `man ssh-keygen`: on each line who signs, options if there \
                 are any, and the public key. Nothing is loaded, approved or sent until it is right"
                    .to_owned(),
            ),
            Self::NotText { .. }
            | Self::Syntax { .. }
            | Self::Incomplete { .. }
            | Self::Contradiction { .. }
            | Self::PasswordFile { .. } => None,
        }
    }
}

fn missing(profile: &str, keys: &[&'static Key], file: &Result<PathBuf, Vec<PathBuf>>) -> String {
    let variables: Vec<_> = keys.iter().map(|key| key.env).collect();
    let variables = variables.join(", ");
    let in_file: Vec<_> = keys
        .iter()
        .map(|key| {
            if key.secret {
                "password_file"
            } else {
                key.name
            }
        })
        .collect();
    let in_file = in_file.join(", ");
    match file {
        Ok(path) => format!(
            "add {in_file} to [profiles.{}] in {}, or set {variables}",
            named(profile),
            path.display()
        ),
        Err(looked) => format!(
            "no configuration file was found, looked for {}; write one (samples/disburse.toml \
             shows every key), name one with --config, or set {variables}; --sandbox needs none",
            paths(looked)
        ),
    }
}
