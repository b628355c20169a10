//! Who may change what the program trusts: the configuration says where payments go, the password lets them be made.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::fs::OFlags;

use crate::cli::config::Error;

/// The target of warnings that no option hides; [`crate::cli::log`] lets it through.
pub(in crate::cli) const TARGET: &str = "disburse::custody";

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::config) enum Holds {
    Configuration,
    Password,
    Key,
}

/// What the system says of a file; of a link, of its target.
#[derive(Clone, Copy, Debug)]
struct Seen {
    mode: u32,
    owner: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Fine,
    /// It is used, and a person is told.
    GroupWrites,
    OthersRead,
    /// It is refused.
    EverybodyWrites,
    Foreign,
}

const ROOT: u32 = 0;

/// Judges a file for the user `own`.
// A password that others can read is used all the same: orchestrators mount secrets with mode 0644, and say who gets there
// otherwise. What others may write is somebody else's word.
fn judge(holds: Holds, seen: Seen, own: u32) -> Judgement {
    if seen.owner != ROOT && seen.owner != own {
        Judgement::Foreign
    } else if seen.mode & 0o002 != 0 {
        Judgement::EverybodyWrites
    } else if seen.mode & 0o020 != 0 {
        Judgement::GroupWrites
    } else if holds != Holds::Configuration && seen.mode & 0o044 != 0 {
        Judgement::OthersRead
    } else {
        Judgement::Fine
    }
}

/// Opens a file without waiting for anybody, and returns what it is.
pub(in crate::cli::config) fn open(path: &Path) -> std::io::Result<(File, Metadata)> {
    // Opening a pipe would wait for its writer.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)?;
    // The opened file is asked, not the path: the path may change in between.
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Refuses a file that others may have written, and tells once what is unusual about one that is used.
pub(in crate::cli::config) fn check(
    holds: Holds,
    path: &Path,
    metadata: &Metadata,
) -> Result<(), Error> {
    let seen = Seen {
        mode: metadata.mode() & 0o7777,
        owner: metadata.uid(),
    };
    let own = rustix::process::geteuid().as_raw();
    let judgement = judge(holds, seen, own);
    match judgement {
        Judgement::Fine => {}
        Judgement::GroupWrites | Judgement::OthersRead => warn(holds, judgement, path, seen),
        Judgement::EverybodyWrites => {
            return Err(Error::Custody {
                path: path.to_owned(),
                problem: format!("everybody may write to it (mode {:04o})", seen.mode),
                command: format!("{} {}", mended(holds), word(path)),
            });
        }
        Judgement::Foreign => {
            return Err(Error::Custody {
                path: path.to_owned(),
                problem: format!(
                    "it belongs to user {}, who is neither root nor the user of this program ({own})",
                    seen.owner
                ),
                command: taken_over(seen.owner, own, path),
            });
        }
    }
    Ok(())
}

/// Says what is to be done about the file of another user. Root most often reads one that is that user's by right.
fn taken_over(owner: u32, own: u32, path: &Path) -> String {
    let chown = format!("sudo chown {own} {}", word(path));
    match own {
        ROOT => format!(
            "run the command as that user, as in: sudo -u '#{owner}' disburse ...; only if the file is meant for root: {chown}"
        ),
        _ => chown,
    }
}

fn mended(holds: Holds) -> &'static str {
    match holds {
        Holds::Configuration => "chmod go-w",
        Holds::Password | Holds::Key => "chmod 600",
    }
}

fn warn(holds: Holds, judgement: Judgement, path: &Path, seen: Seen) {
    // A command reads both more than once.
    static TOLD: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);
    let shown = path.display().to_string();
    if !TOLD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(shown.clone())
    {
        return;
    }
    let (what, mode) = (mended(holds), seen.mode);
    let (may, this) = match (judgement, holds) {
        (Judgement::GroupWrites, Holds::Configuration) => {
            ("its group may write", "this configuration")
        }
        (Judgement::GroupWrites, Holds::Password) => ("its group may write", "this password"),
        (Judgement::GroupWrites, Holds::Key) => ("its group may write", "this key"),
        (_, Holds::Key) => ("others may read", "this key"),
        _ => ("others may read", "this password"),
    };
    tracing::warn!(
        target: TARGET,
        "{shown}: {may} {this} (mode {mode:04o}); {what} it"
    );
}

/// Returns a path as one word of a shell, and never as an option.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let text = match text.starts_with('-') {
        true => format!("./{text}"),
        false => text,
    };
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_may_write_is_refused_and_what_they_may_read_is_told() {
        use Holds::{Configuration, Password};
        use Judgement::{EverybodyWrites, Fine, Foreign, GroupWrites, OthersRead};
        const OWN: u32 = 1_000;
        for (mode, owner, configuration, password) in [
            (0o600, OWN, Fine, Fine),
            (0o400, OWN, Fine, Fine),
            (0o600, ROOT, Fine, Fine),
            (0o601, OWN, Fine, Fine),
            (0o644, OWN, Fine, OthersRead),
            (0o640, ROOT, Fine, OthersRead),
            (0o444, ROOT, Fine, OthersRead),
            (0o604, OWN, Fine, OthersRead),
            (0o664, OWN, GroupWrites, GroupWrites),
            (0o620, ROOT, GroupWrites, GroupWrites),
            (0o602, OWN, EverybodyWrites, EverybodyWrites),
            (0o666, ROOT, EverybodyWrites, EverybodyWrites),
            (0o777, OWN, EverybodyWrites, EverybodyWrites),
            (0o600, 1_001, Foreign, Foreign),
            (0o444, 65_534, Foreign, Foreign),
            (0o666, 1_001, Foreign, Foreign),
        ] {
            let seen = Seen { mode, owner };
            assert_eq!(
                judge(Configuration, seen, OWN),
                configuration,
                "{mode:04o} {owner}"
            );
            assert_eq!(judge(Password, seen, OWN), password, "{mode:04o} {owner}");
        }
    }

    #[test]
    fn a_path_in_a_command_is_one_word() {
        for (path, expected) in [
            ("/etc/disburse/password", "/etc/disburse/password"),
            ("-rf", "./-rf"),
            ("my file", "'my file'"),
            ("a';b", r"'a'\'';b'"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }
}
