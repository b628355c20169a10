//! A mistake of the program itself: what is told of it holds no data of people, neither on the screen nor in its report.
//!
//! A panic's text may have been made with a value in it (a phone number, a name, an amount), and so is told only where it is a
//! literal. Where it happened, and through which functions, is enough to find the mistake.

use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::version::COMMIT;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::Location;

/// Reports that lie in one folder, at most: the first ones tell most.
const KEPT_MAX: usize = 10;
/// Reports of one process.
const OWN_MAX: u32 = 3;
/// Size of a report.
const SIZE_MAX: usize = 64 * 1024;
/// Names in a folder that are counted.
const NAMES_MAX: usize = 10_000;
/// Stands between the name of the journal and the time.
pub(super) const MARK: &str = ".crash-";

/// What a report is named after where the journal is no file.
pub(super) const ON_A_SERVER: &str = "disburse";

/// The journal that the report is put beside.
static JOURNAL: OnceLock<PathBuf> = OnceLock::new();
static TOLD: AtomicU32 = AtomicU32::new(0);

/// Runs the program; after a mistake of its own it ends as after any error that nobody expects.
pub fn guarded(program: impl FnOnce() -> ExitCode) -> ExitCode {
    set_hook(Box::new(tell));
    catch_unwind(AssertUnwindSafe(program)).unwrap_or(ExitCode::FAILURE)
}

/// Says beside which journal a report is to lie; of one on a server, in this folder.
pub(super) fn beside(journal: &Location) {
    let _ = JOURNAL.set(journal.file().unwrap_or(Path::new(ON_A_SERVER)).to_owned());
}

fn tell(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    // A document that the reader of PDFs cannot digest is refused with a message of its own.
    if thread.name() == Some("pdf") {
        return;
    }
    let place = info.location().map_or_else(
        || "an unknown place".to_owned(),
        |at| format!("{}:{}:{}", at.file(), at.line(), at.column()),
    );
    let number = TOLD.fetch_add(1, Ordering::SeqCst);
    output::complain(
        "error",
        &format!(
            "a mistake of the program itself, at {place}: {}",
            message(info)
        ),
    );
    if number >= OWN_MAX {
        return;
    }
    let text = report(
        &place,
        thread.name(),
        &message(info),
        &Backtrace::force_capture(),
    );
    match write(&text, number) {
        Ok(path) => output::complain(
            "hint",
            &format!(
                "{} says where it happened, and has no personal data: send it to the people who maintain disburse. You \
                can run the same command again: the gateway is asked about what was under way, and nothing is posted \
                blindly",
                output::name(&path.display().to_string())
            ),
        ),
        Err(error) => output::complain(
            "hint",
            &format!(
                "no report of it was written: {error}. You can run the same command again: the gateway is asked about \
                what was under way, and nothing is posted blindly"
            ),
        ),
    }
}

/// Returns what may be told of the text: a literal has no value in it.
fn message(info: &PanicHookInfo<'_>) -> String {
    match info.payload().downcast_ref::<&'static str>() {
        Some(literal) => (*literal).to_owned(),
        None => "its text has values in it, and is not shown".to_owned(),
    }
}

fn report(place: &str, thread: Option<&str>, message: &str, trace: &Backtrace) -> String {
    let mut text = format!(
        "disburse {}, commit {COMMIT}, SQLite {}\nsystem: {} {}\nat: {}\nplace: {place}\nthread: {}\ntext: {message}\n\n{trace}\n",
        env!("CARGO_PKG_VERSION"),
        rusqlite::version(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        Timestamp::now(),
        thread.unwrap_or("without a name"),
    );
    let end = (0..=SIZE_MAX.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text
}

fn write(text: &str, number: u32) -> io::Result<PathBuf> {
    let journal = JOURNAL
        .get()
        .map_or(Path::new("disburse.db"), PathBuf::as_path);
    let folder = match journal.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let name = journal
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    write_in(&folder, &name, text, number).or_else(|error| match state_folder() {
        Some(folder) => write_in(&folder, &name, text, number),
        None => Err(error),
    })
}

/// Where programs of this user keep what is theirs, where that is there.
fn state_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")))?;
    folder.is_dir().then_some(folder)
}

fn write_in(folder: &Path, journal: &str, text: &str, number: u32) -> io::Result<PathBuf> {
    let begin = format!("{journal}{MARK}");
    let there = std::fs::read_dir(folder)?
        .take(NAMES_MAX)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
        .count();
    if there >= KEPT_MAX {
        return Err(io::Error::other(format!(
            "{there} of them exist already ({begin}*): remove those that were read"
        )));
    }
    let name = format!(
        "{begin}{}-{}-{number}.txt",
        Timestamp::now().as_millis(),
        std::process::id()
    );
    let path = folder.join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn reports_are_for_their_owner_and_there_are_no_more_than_ten() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..KEPT_MAX {
            std::fs::write(folder.path().join(format!("other.db{MARK}{number}")), "x").unwrap();
        }
        let path = write_in(folder.path(), "j.db", "text", 0).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        for number in 1..KEPT_MAX {
            std::fs::write(folder.path().join(format!("j.db{MARK}{number}")), "x").unwrap();
        }
        let error = write_in(folder.path(), "j.db", "text", 0)
            .unwrap_err()
            .to_string();
        assert!(error.contains("10 of them"), "{error}");
    }

    #[test]
    fn a_report_is_bounded_and_whole_text() {
        let text = report(
            "src/x.rs:1:2",
            Some("journal"),
            &"ü".repeat(SIZE_MAX),
            &Backtrace::disabled(),
        );
        assert!(text.len() <= SIZE_MAX);
        assert!(
            text.contains("place: src/x.rs:1:2\nthread: journal\n"),
            "{}",
            &text[..300]
        );
    }
}
