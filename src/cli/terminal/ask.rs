//! The question before an order is carried out, before money moves, and before a recovery ends.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use secrecy::SecretString;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::Error;

/// What has to be typed.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum Typed<'a> {
    /// `y` or `yes`.
    Yes,
    /// These words: what is asked is not answered by habit.
    Words(&'static str),
    /// This text, to the letter.
    Text(&'a str),
}

/// A person is being asked.
static ASKING: AtomicBool = AtomicBool::new(false);

/// Returns whether a person is being asked: a signal is an answer then.
pub(in crate::cli) fn is_asking() -> bool {
    ASKING.load(Ordering::SeqCst)
}

/// Returns whether there is a person to ask.
pub(in crate::cli) fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the person at the terminal. `nothing`: what is so when the answer is no, such as "nothing was changed".
///
/// # Errors
/// Any other answer than the one that is expected, Ctrl-C and the end of the input included.
pub(in crate::cli) async fn ask(
    question: &str,
    typed: Typed<'_>,
    nothing: &str,
) -> Result<(), Error> {
    let question = match typed {
        Typed::Yes => format!("{question} [y/N] "),
        Typed::Words(words) => format!("{question}\nType {words:?} to go on: "),
        Typed::Text(text) => {
            format!("{question}\nIf it was posted from there, type {text:?} to go on: ")
        }
    };
    let answer = heard(&question).await?;
    let answer = answer.trim();
    let agreed = match typed {
        Typed::Yes => answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"),
        Typed::Words(words) => answer.eq_ignore_ascii_case(words),
        Typed::Text(text) => answer == text,
    };
    match agreed {
        true => Ok(()),
        false => Err(Error::refused(format!("not confirmed; {nothing}"))),
    }
}

/// Asks the person at the terminal, and returns what was typed: nothing after Ctrl-C, and at the end of the input.
///
/// # Errors
/// The terminal cannot be read.
pub(in crate::cli) async fn heard(question: &str) -> Result<String, Error> {
    let unavailable = |error| Error::unexpected(format!("signals cannot be heard: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unavailable)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(unavailable)?;
    ASKING.store(true, Ordering::SeqCst);
    #[allow(clippy::print_stderr, reason = "a question at the terminal")]
    {
        eprint!("{question}");
    }
    let _ = std::io::stderr().flush();
    // A thread of its own: the runtime would wait for one of its own until somebody presses Enter.
    let (told, heard) = oneshot::channel();
    std::thread::spawn(move || {
        let mut answer = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut answer);
        // What is no text is an answer all the same, and none that anybody expects.
        let _ = told.send(read.map(|_| String::from_utf8_lossy(&answer).into_owned()));
    });
    let answer = tokio::select! {
        answer = heard => answer.map_err(Error::unexpected)?.map_err(Error::unexpected)?,
        _ = interrupt.recv() => String::new(),
        _ = terminate.recv() => String::new(),
    };
    ASKING.store(false, Ordering::SeqCst);
    if !answer.ends_with('\n') {
        // The next sentence begins a line of its own.
        crate::cli::terminal::output::note("");
    }
    Ok(answer)
}

/// Asks for something that is not shown while it is typed. Nothing after Ctrl-C, and at the end of the input.
///
/// # Errors
/// The terminal cannot be read, or goes on to show what is typed.
pub(in crate::cli) async fn unseen(question: &str) -> Result<SecretString, Error> {
    let shown = Unseen::begin().map_err(|error| {
        Error::unexpected(format!(
            "the terminal cannot be told not to show it: {error}"
        ))
    })?;
    let answer = heard(question).await;
    drop(shown);
    // The line break that was typed was not shown either.
    crate::cli::terminal::output::note("");
    answer.map(SecretString::from)
}

/// A terminal that does not show what is typed, until this is dropped.
struct Unseen(Termios);

impl Unseen {
    fn begin() -> rustix::io::Result<Self> {
        let before = termios::tcgetattr(std::io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// Asks the person at the terminal whether this is to be done. Without anybody to ask, `--yes` is the answer.
///
/// `what` completes "this would ...".
pub(in crate::cli) async fn confirmed(yes: bool, what: &str) -> Result<(), Error> {
    confirmed_or(yes, what, "nothing was changed").await
}

/// As [`confirmed`]. `nothing`: what is so when the answer is no.
pub(in crate::cli) async fn confirmed_or(
    yes: bool,
    what: &str,
    nothing: &str,
) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    if !is_attended() {
        return Err(Error::refused(format!("this would {what}; {nothing}"))
            .hint("add --yes to do it without a question"));
    }
    crate::cli::terminal::output::note(&format!("This would {what}."));
    ask("Do it?", Typed::Yes, nothing).await
}
