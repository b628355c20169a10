//! Encrypted files: a command of the operator's has the file as its input, and what it writes stays in memory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::cli::Error;
use crate::cli::config::FileSettings;
use crate::cli::terminal::output;

/// Names of encrypted files end so.
pub(in crate::cli) const ENDINGS: [&str; 4] = ["age", "pgp", "gpg", "asc"];
/// Bytes of a plain file, at most: it is held in memory.
pub(in crate::cli) const PLAIN_BYTES_MAX: u64 = 256 << 20;
/// Bytes of what a command says of its failure, at most, that are shown: the last ones say why.
const TOLD_BYTES: usize = 1_000;
/// Variables of ours, which hold a password among them, are no business of the command's.
pub(in crate::cli) const OURS: &str = "DISBURSE_";

/// Returns whether a name says that its file is encrypted.
pub(in crate::cli) fn is_encrypted(name: &Path) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// Decrypts a file, which is read from its beginning, into memory.
///
/// `kind` is the name that says how it is encrypted: `name` is what the person has named, which may be an archive around it.
pub(in crate::cli) fn decrypt(
    (name, kind): (&str, &Path),
    file: File,
    settings: &FileSettings,
) -> Result<Arc<[u8]>, Error> {
    let Some([program, arguments @ ..]) = settings.decrypt.as_deref() else {
        return Err(Error::refused(format!(
            "{name}: is encrypted, as its name says, and no command decrypts it"
        ))
        .hint(format!(
            "in disburse.toml, [files] decrypt = {} names one: it gets the file as its standard input, and writes the plain one to its standard output",
            usual_command(kind)
        )));
    };
    let shown = output::name(program);
    let refused = |what: String| Error::refused(format!("{name}: not decrypted: {what}"));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::from(file))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    without_ours(&mut command);
    let child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => refused(format!("the program {shown} is not there"))
            .hint("[files] decrypt names it: install it, or write its whole path there"),
        _ => refused(format!("the program {shown} cannot be started: {error}"))
            .hint("[files] decrypt names it"),
    })?;
    let outcome = Running::of(child).and_then(|running| running.wait(settings.decrypt_within));
    let done = outcome.map_err(|error| refused(format!("{shown}: {error}")))?;
    let hint = format!(
        "run it by itself, and see what it says: {} < {}; [files] in disburse.toml names the command",
        typed(program, arguments),
        output::quoted(name)
    );
    let why = match done {
        Outcome::TooLate => format!(
            "{shown} took more than {} s, and was ended",
            settings.decrypt_within.as_secs()
        ),
        Outcome::TooLarge => format!(
            "the plain file has more than {PLAIN_BYTES_MAX} bytes, and is held in memory: split the batch into several files"
        ),
        Outcome::Ended(status, _, told) if !status.success() => {
            let told = last_lines(&told);
            let separator = if told.is_empty() { "" } else { ": " };
            format!("{shown} ended with {status}{separator}{told}")
        }
        Outcome::Ended(_, plain, _) if plain.is_empty() => format!("{shown} wrote nothing"),
        Outcome::Ended(_, plain, _) => return Ok(plain.into()),
    };
    Err(refused(why).hint(hint))
}

/// Runs a command that has a file as its input, from where that stands, and writes to another one.
///
/// # Errors
/// Why it did not end well, in words: what it has written then is worth nothing.
pub(in crate::cli) fn through(
    words: &[String],
    (input, output): (File, File),
    within: Duration,
) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("no command is named".to_owned());
    };
    let shown = output::name(program);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::piped());
    without_ours(&mut command);
    let child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("the program {shown} is not there"),
        _ => format!("the program {shown} cannot be started: {error}"),
    })?;
    let outcome = Running::of(child).and_then(|running| running.wait(within));
    match outcome.map_err(|error| format!("{shown}: {error}"))? {
        Outcome::Ended(status, ..) if status.success() => Ok(()),
        Outcome::Ended(status, _, told) => {
            let told = last_lines(&told);
            let separator = if told.is_empty() { "" } else { ": " };
            Err(format!("{shown} ended with {status}{separator}{told}"))
        }
        Outcome::TooLate | Outcome::TooLarge => Err(format!(
            "{shown} took more than {} s, and was ended",
            within.as_secs()
        )),
    }
}

/// Keeps our variables, which may hold a password, from a command.
fn without_ours(command: &mut Command) {
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with(OURS) {
            command.env_remove(variable);
        }
    }
}

/// Returns the command that most use for files whose names end so.
pub(in crate::cli) fn usual_command(name: &Path) -> &'static str {
    let ending = name.extension().and_then(|ending| ending.to_str());
    match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("age")) {
        true => r#"["age", "-d", "-i", "KEY_FILE"]"#,
        false => r#"["gpg", "--decrypt", "--batch"]"#,
    }
}

/// The command as a person types it.
fn typed(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let words: Vec<_> = words.map(output::quoted).collect();
    words.join(" ")
}

/// What became of a command.
pub(in crate::cli) enum Outcome {
    /// It has ended, and has written this; the other is what it has told.
    Ended(ExitStatus, Vec<u8>, Vec<u8>),
    TooLate,
    TooLarge,
}

/// A command that runs.
pub(in crate::cli) struct Running {
    child: Child,
    leads_group: bool,
    plain: Receiver<std::io::Result<Vec<u8>>>,
    told: Receiver<Vec<u8>>,
    ended: Receiver<()>,
}

impl Running {
    pub(in crate::cli) fn of(child: Child) -> std::io::Result<Self> {
        Self::begin(child, false)
    }

    /// The same of a command that leads a group of its own: whatever it has started ends with it.
    pub(in crate::cli) fn of_group(child: Child) -> std::io::Result<Self> {
        Self::begin(child, true)
    }

    fn begin(mut child: Child, leads_group: bool) -> std::io::Result<Self> {
        let (plain_sender, plain) = channel();
        let (told_sender, told) = channel();
        let (ended_sender, ended) = channel();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let begin = || {
            thread::Builder::new().spawn(move || {
                let mut bytes = Vec::new();
                let read = stdout.map_or(Ok(0), |pipe| {
                    pipe.take(PLAIN_BYTES_MAX + 1).read_to_end(&mut bytes)
                });
                let _ = plain_sender.send(read.map(|_| bytes));
            })?;
            thread::Builder::new().spawn(move || {
                let _ = told_sender.send(stderr.map_or_else(Vec::new, end_of));
            })?;
            let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            thread::Builder::new().spawn(move || {
                // It is left to be waited for, so that its number stays its own until then.
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                if let Some(process) = process {
                    let waited = || waitid(WaitId::Pid(process), options).err();
                    while waited() == Some(rustix::io::Errno::INTR) {}
                    end_group(process, leads_group);
                }
                let _ = ended_sender.send(());
            })
        };
        if let Err(error) = begin() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(Self {
            child,
            leads_group,
            plain,
            told,
            ended,
        })
    }

    /// Waits until it has ended and all that it has written is read, and ends it when that takes too long.
    pub(in crate::cli) fn wait(mut self, within: Duration) -> std::io::Result<Outcome> {
        let outcome = self.written(within);
        if !matches!(outcome, Ok(Written::All(..))) {
            // Those that it has started may hold its pipes: the threads that read them are not waited for.
            let _ = self.child.kill();
            if let Some(process) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                end_group(process, self.leads_group);
            }
        }
        let status = self.child.wait()?;
        Ok(match outcome? {
            Written::All(plain, told) => Outcome::Ended(status, plain, told),
            Written::TooMuch => Outcome::TooLarge,
            Written::NotInTime => Outcome::TooLate,
        })
    }

    fn written(&self, within: Duration) -> std::io::Result<Written> {
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now());
        let Ok(plain) = self.plain.recv_timeout(left()) else {
            return Ok(Written::NotInTime);
        };
        let plain = plain?;
        if plain.len() as u64 > PLAIN_BYTES_MAX {
            return Ok(Written::TooMuch);
        }
        let told = self.told.recv_timeout(left());
        Ok(match (told, self.ended.recv_timeout(left())) {
            (Ok(told), Ok(())) => Written::All(plain, told),
            _ => Written::NotInTime,
        })
    }
}

/// Ends what a command has started and left behind; it was not waited for itself yet, so that the number is its own.
fn end_group(leader: Pid, leads_group: bool) {
    if leads_group {
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
}

/// What a command has written.
enum Written {
    /// All of it, and it has ended.
    All(Vec<u8>, Vec<u8>),
    TooMuch,
    NotInTime,
}

/// Reads all, and keeps the end of it.
fn end_of(mut pipe: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut piece = [0; 4 << 10];
    loop {
        match pipe.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) | Ok(0) => return kept,
            Ok(read) => {
                kept.extend_from_slice(&piece[..read]);
                let beyond = kept.len().saturating_sub(TOLD_BYTES);
                kept.drain(..beyond);
            }
        }
    }
}

/// Returns what a command has told, on one line.
pub(in crate::cli) fn last_lines(told: &[u8]) -> String {
    let text = String::from_utf8_lossy(told);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    output::name(&lines.join(" / "))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn decrypted(command: &[&str], within_ms: u64) -> Result<Vec<u8>, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"cipher\n").unwrap();
        file.rewind().unwrap();
        let settings = FileSettings {
            decrypt: Some(command.iter().map(|word| (*word).to_owned()).collect()),
            decrypt_within: Duration::from_millis(within_ms),
        };
        decrypt(("june.csv.age", Path::new("june.csv.age")), file, &settings)
            .map(|plain| plain.to_vec())
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn what_the_command_writes_is_the_file() {
        assert_eq!(decrypted(&["cat"], 60_000).unwrap(), b"cipher\n");
        // No shell reads its words.
        assert_eq!(
            decrypted(&["echo", "$HOME;", "a b"], 60_000).unwrap(),
            b"$HOME; a b\n"
        );
    }

    #[test]
    fn what_is_not_decrypted_whole_is_not_read() {
        for (case, command, within_ms, expected) in [
            (
                "it fails, and has written something",
                &["sh", "-c", "cat; echo no identity matched >&2; exit 3"][..],
                60_000,
                "ended with exit status: 3: no identity matched",
            ),
            (
                "it is killed",
                &["sh", "-c", "cat; kill -9 $$"],
                60_000,
                "ended with signal: 9",
            ),
            ("it writes nothing", &["true"], 60_000, "wrote nothing"),
            (
                "it is not there",
                &["no-such-program-here"],
                60_000,
                "is not there",
            ),
            (
                "it waits for ever",
                &["sh", "-c", "exec tail -f /dev/null"],
                100,
                "took more than 0 s",
            ),
            (
                "it leaves another one that holds its output",
                &["sh", "-c", "sleep 5 & cat"],
                100,
                "took more than 0 s",
            ),
            (
                "it writes for ever",
                &["cat", "/dev/zero"],
                60_000,
                "more than 268435456 bytes",
            ),
        ] {
            let found = decrypted(command, within_ms).expect_err(case);
            assert!(
                found.starts_with("june.csv.age: not decrypted: "),
                "{case}: {found}"
            );
            assert!(found.contains(expected), "{case}: {found}");
        }
        let told = decrypted(&["sh", "-c", "seq 1 100000 >&2; exit 1"], 60_000).unwrap_err();
        assert!(told.ends_with("/ 100000") && told.len() < 3_000, "{told}");
    }

    #[test]
    fn only_names_of_encrypted_files_are_decrypted() {
        for (name, expected) in [
            ("june.csv.age", true),
            ("june.csv.PGP", true),
            ("june.gpg", true),
            ("june.csv.asc", true),
            ("june.csv", false),
            ("age", false),
            ("june.age.csv", false),
        ] {
            assert_eq!(is_encrypted(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn the_hint_names_the_program_that_the_ending_speaks_of() {
        let settings = FileSettings {
            decrypt: None,
            ..FileSettings::default()
        };
        for (ending, program) in [
            ("age", "[\"age\", \"-d\""),
            ("AGE", "[\"age\", \"-d\""),
            ("gpg", "[\"gpg\", \"--decrypt\""),
            ("pgp", "[\"gpg\", \"--decrypt\""),
            ("asc", "[\"gpg\", \"--decrypt\""),
        ] {
            let name = format!("june.csv.{ending}");
            let file = tempfile::tempfile().unwrap();
            let error = decrypt((&name, Path::new(&name)), file, &settings).unwrap_err();
            let hint = error.first_hint().unwrap();
            assert!(hint.contains(program), "{hint}");
        }
    }
}
