//! A command of the operator's that takes a text as its input, never by way of a shell.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::decrypt::{OURS, Outcome, Running, last_lines};
use crate::cli::terminal::output;

/// Gives a command a text, and waits until it has ended well.
///
/// # Errors
/// Says in one line why it has not. What it did until then is done.
pub(in crate::cli) fn hand_over(
    words: &[String],
    text: String,
    within: Duration,
) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let shown = output::name(program);
    let failed = |why: String| format!("{shown}: {why}");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // What it starts ends with it: nothing of an attempt goes on beside the next one.
        .process_group(0);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with(OURS) {
            command.env_remove(variable);
        }
    }
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let mut input = child.stdin.take();
    // A thread of its own: a command that reads nothing must not hold anything up.
    std::thread::spawn(move || {
        if let Some(input) = &mut input {
            let _ = input.write_all(text.as_bytes());
        }
    });
    let outcome = Running::of_group(child).and_then(|running| running.wait(within));
    match outcome.map_err(|error| failed(error.to_string()))? {
        Outcome::Ended(status, ..) if status.success() => Ok(()),
        Outcome::Ended(status, _, told) => {
            let told = last_lines(&told);
            let separator = if told.is_empty() { "" } else { ": " };
            Err(failed(format!("ended with {status}{separator}{told}")))
        }
        Outcome::TooLate => Err(failed(format!(
            "took more than {} s, and was ended",
            within.as_secs()
        ))),
        Outcome::TooLarge => Err(failed("wrote more than it should".to_owned())),
    }
}
