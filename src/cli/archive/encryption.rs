//! Encrypting an archive by the program `age`, or a command that writes what `age` reads.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use crate::cli::Error;
use crate::cli::config::ArchiveSettings;
use crate::cli::files::decrypt;
use crate::cli::terminal::output;

/// The first line of a file that `age` has encrypted.
const FIRST: &[u8] = b"age-encryption.org/v1\n";
/// The end of its head, before the content.
const LAST: &[u8] = b"\n--- ";
/// Its head is no longer: some hundred bytes for each recipient.
const HEAD_MAX: u64 = 1 << 20;
/// Recipients of one command, at most.
const RECIPIENTS_MAX: usize = 20;
/// A recipient is no longer: that of a hardware key has a hundred characters.
const RECIPIENT_MAX: usize = 2_000;

/// The command that archives are encrypted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Encryption {
    words: Vec<String>,
    within: Duration,
}

impl Encryption {
    /// Returns what flags and configuration ask for; `None`: archives stay plain.
    ///
    /// # Errors
    /// A recipient that is none; a program that is not there.
    pub(in crate::cli) fn of(
        to: &[String],
        settings: &ArchiveSettings,
    ) -> Result<Option<Self>, Error> {
        let words = match (to, &settings.encrypt) {
            ([], None) => return Ok(None),
            ([], Some(words)) => words.clone(),
            (recipients, _) => age(recipients)?,
        };
        let program = words.first().map_or("", String::as_str);
        if !is_there(program) {
            let place = match to {
                [] => "[archive] encrypt in disburse.toml names it",
                _ => "--to encrypts with it",
            };
            return Err(Error::refused(format!(
                "the program {} is not there; nothing was written",
                output::name(program)
            ))
            .hint(format!(
                "install it (the package `age` of most systems); {place}"
            )));
        }
        Ok(Some(Self {
            words,
            within: settings.encrypt_within,
        }))
    }

    /// Encrypts nothing, to see that it can be done: a key that is none is found before a large archive is made.
    ///
    /// # Errors
    /// As [`Self::encrypt`].
    pub(in crate::cli) fn try_out(&self) -> Result<(), Error> {
        let empty = || {
            tempfile::tempfile().map_err(|error| {
                Error::refused(format!("there is no place for a temporary file: {error}"))
                    .hint("make room where temporary files go (TMPDIR); nothing was written")
            })
        };
        self.encrypt(&empty()?, &mut empty()?)
    }

    /// Encrypts a whole file into another one, which is empty.
    ///
    /// # Errors
    /// Why it is not encrypted; what was written is worth nothing then.
    pub(in crate::cli) fn encrypt(&self, plain: &File, out: &mut File) -> Result<(), Error> {
        let program = self.words.first().map_or("", String::as_str);
        let refused = |what: String| {
            Error::refused(format!("not encrypted: {what}; no archive was written"))
                .hint("run it by itself, and see what it says: the command reads standard input and writes standard \
                    output")
        };
        let failed = |error: std::io::Error| refused(error.to_string());
        let mut input = plain.try_clone().map_err(failed)?;
        input.seek(SeekFrom::Start(0)).map_err(failed)?;
        let length = input.metadata().map_err(failed)?.len();
        let output = out.try_clone().map_err(failed)?;
        decrypt::through(&self.words, (input, output), self.within).map_err(refused)?;
        out.sync_all().map_err(failed)?;
        match is_encrypted(out, length).map_err(failed)? {
            true => Ok(()),
            false => Err(refused(format!(
                "what {} wrote is not in the form of age",
                output::name(program)
            ))),
        }
    }
}

/// Returns the command for recipients.
fn age(recipients: &[String]) -> Result<Vec<String>, Error> {
    if recipients.len() > RECIPIENTS_MAX {
        return Err(Error::refused(format!(
            "--to: more than {RECIPIENTS_MAX} recipients"
        )));
    }
    let mut words = vec!["age".to_owned()];
    for recipient in recipients {
        let is_one = recipient.strip_prefix("age1").is_some_and(|rest| {
            !rest.is_empty()
                && rest.len() <= RECIPIENT_MAX
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
        if !is_one {
            return Err(Error::refused(format!(
                "--to {}: expected a public key of age, which begins with age1",
                output::name(&recipient.chars().take(80).collect::<String>())
            ))
            .hint("age-keygen -o KEY_FILE makes a key, and prints its public half; the key file itself stays with whoever reads archives"));
        }
        words.extend(["-r".to_owned(), recipient.clone()]);
    }
    Ok(words)
}

/// Returns whether a program can be started: nothing is written when it cannot.
fn is_there(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let can_start = |path: &Path| {
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return can_start(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    !program.is_empty()
        && std::env::split_paths(&path).any(|folder| can_start(&folder.join(program)))
}

/// Returns whether a file has the head of what `age` encrypts, and the content behind it.
fn is_encrypted(file: &mut File, plain: u64) -> std::io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    file.by_ref().take(HEAD_MAX).read_to_end(&mut head)?;
    let end = head
        .windows(LAST.len())
        .position(|window| window == LAST)
        .filter(|_| head.starts_with(FIRST));
    let body = end.and_then(|end| {
        let line = head[end + LAST.len()..]
            .iter()
            .position(|byte| *byte == b'\n')?;
        length.checked_sub((end + LAST.len() + line + 1) as u64)
    });
    Ok(body == Some(body_of(plain)))
}

/// Returns how long the body is that `age` makes of so many bytes: a nonce, then parts of 64 KiB, each with its seal.
fn body_of(plain: u64) -> u64 {
    const NONCE: u64 = 16;
    const PART: u64 = 64 * 1024;
    const SEAL: u64 = 16;
    NONCE + plain + SEAL * plain.div_ceil(PART).max(1)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn by(command: &[&str]) -> Result<Vec<u8>, String> {
        let mut plain = tempfile::tempfile().unwrap();
        plain.write_all(b"plain content\n").unwrap();
        let mut out = tempfile::tempfile().unwrap();
        let settings = ArchiveSettings {
            encrypt: Some(command.iter().map(|word| (*word).to_owned()).collect()),
            encrypt_within: Duration::from_secs(30),
        };
        let encryption = Encryption::of(&[], &settings)
            .map_err(|error| error.message().to_owned())?
            .unwrap();
        encryption
            .encrypt(&plain, &mut out)
            .map_err(|error| error.message().to_owned())?;
        let mut written = Vec::new();
        out.seek(SeekFrom::Start(0)).unwrap();
        out.read_to_end(&mut written).unwrap();
        Ok(written)
    }

    #[test]
    fn only_what_is_encrypted_whole_counts() {
        let head = r"printf 'age-encryption.org/v1\n-> X25519 made-up\nmade-up\n--- mac\n'";
        let good = format!("{head}; tr a-z n-za-m; printf 0123456789abcdef0123456789abcdef");
        let written = by(&["sh", "-c", &good]).unwrap();
        assert!(
            written.starts_with(FIRST) && written.ends_with(b"0123456789abcdef0123456789abcdef")
        );
        for (case, script, expected) in [
            (
                "it passes the plain file on",
                "cat",
                "not in the form of age",
            ),
            (
                "it writes nothing",
                "cat > /dev/null",
                "not in the form of age",
            ),
            (
                "it writes a head alone",
                &*format!("{head}; cat > /dev/null"),
                "not in the form of age",
            ),
            (
                "it fails at the end",
                &*format!("{good}; exit 3"),
                "exit status: 3",
            ),
        ] {
            let found = by(&["sh", "-c", script]).expect_err(case);
            assert!(found.contains(expected), "{case}: {found}");
        }
        let found = by(&["no-such-program-here"]).unwrap_err();
        assert!(
            found.contains("is not there; nothing was written"),
            "{found}"
        );
    }

    #[test]
    fn a_recipient_is_a_public_key_of_age() {
        let words = age(&["age1qqq".to_owned(), "age1zz0".to_owned()]).unwrap();
        assert_eq!(words, ["age", "-r", "age1qqq", "-r", "age1zz0"]);
        for wrong in [
            "",
            "age1",
            "AGE-SECRET-KEY-1QQ",
            "age1QQQ",
            "age1qq qq",
            "-i",
            "age1qq\n",
        ] {
            let error = age(&[wrong.to_owned()]).unwrap_err();
            assert!(error.message().contains("expected a public key"), "{wrong}");
        }
        age(&vec!["age1qqq".to_owned(); 21]).unwrap_err();
    }
}
