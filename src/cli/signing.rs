//! Signing with `ssh-keygen`: keys in files, in an agent and on hardware work alike, and no private key is ever read here.

use std::ffi::OsString;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::Error;
use crate::cli::terminal::output;
use crate::ledger::approval::ssh::{ARMOUR_MAX, NAMESPACE, PublicKey};

/// A public key file is never longer.
const PUBLIC_MAX: u64 = 64 * 1024;

/// A key to sign with.
pub(in crate::cli) struct SigningKey {
    path: PathBuf,
    pub(in crate::cli) public: PublicKey,
}

impl SigningKey {
    /// Finds the public half of a key: the file itself, or the one beside it whose name ends with `.pub`.
    pub(in crate::cli) fn open(path: &Path) -> Result<Self, Error> {
        let mut beside = OsString::from(path);
        beside.push(".pub");
        let shown = output::name(&path.display().to_string());
        if let Some(text) = public_text(path)?
            && let Ok(public) = PublicKey::of_line(&text)
        {
            return Ok(Self {
                path: path.to_owned(),
                public,
            });
        }
        let beside = PathBuf::from(beside);
        let text = public_text(&beside)?.ok_or_else(|| {
            Error::refused(format!(
                "key {shown}: there is no public key in it, and no {shown}.pub beside it"
            ))
            .hint(format!(
                "write it, from the key: ssh-keygen -y -f {shown} > {shown}.pub"
            ))
        })?;
        let public = PublicKey::of_line(&text)
            .map_err(|error| Error::refused(format!("key {shown}.pub: {error}")))?;
        Ok(Self {
            path: path.to_owned(),
            public,
        })
    }

    /// Signs a text; `elsewhere`: how it is signed on another machine.
    pub(in crate::cli) fn sign(&self, text: &str, elsewhere: &str) -> Result<String, Error> {
        let mut command = Command::new("ssh-keygen");
        command
            .args(["-Y", "sign", "-q", "-n", NAMESPACE, "-f"])
            .arg(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("DISBURSE_") {
                command.env_remove(variable);
            }
        }
        let failed = |why: String| Error::refused(format!("not signed: {why}")).hint(elsewhere);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                failed("ssh-keygen is not there; it comes with OpenSSH".to_owned())
            }
            _ => failed(format!("ssh-keygen cannot be started: {error}")),
        })?;
        // The text is shorter than what a pipe holds.
        if let Some(mut input) = child.stdin.take() {
            // It may have ended before it read; then its status says so.
            let _ = input.write_all(text.as_bytes());
        }
        let mut armour = String::new();
        if let Some(output) = child.stdout.take() {
            output
                .take(ARMOUR_MAX as u64 + 1)
                .read_to_string(&mut armour)
                .map_err(|error| failed(format!("ssh-keygen: {error}")))?;
        }
        let status = child
            .wait()
            .map_err(|error| failed(format!("ssh-keygen: {error}")))?;
        match status.success() {
            true => Ok(armour),
            false => Err(failed(format!(
                "ssh-keygen ended with {status}; it says above why"
            ))),
        }
    }
}

/// Returns the text of a file, if it is there and short enough to be a public key.
fn public_text(path: &Path) -> Result<Option<String>, Error> {
    read_short(path, PUBLIC_MAX, "key")
}

/// Reads a short text from a file; `None`: it is not there.
pub(in crate::cli) fn read_short(
    path: &Path,
    most: u64,
    what: &str,
) -> Result<Option<String>, Error> {
    let shown = output::name(&path.display().to_string());
    let refused = |why: String| Error::refused(format!("{what} {shown}: {why}"));
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(error.to_string())),
    };
    if !metadata.is_file() {
        return Err(refused("this is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(refused(format!("it is longer than {most} bytes")));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| refused("it is not UTF-8".to_owned()))
}

/// Reads a short text from a file that has to be there.
pub(in crate::cli) fn given(path: &Path, most: u64, what: &str) -> Result<String, Error> {
    read_short(path, most, what)?.ok_or_else(|| {
        let shown = output::name(&path.display().to_string());
        Error::refused(format!("{what} {shown}: there is no such file"))
    })
}
