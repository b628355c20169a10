//! At the end of a run: the heads of the chains are signed, and handed to a place that this machine cannot rewrite.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli::Error;
use crate::cli::files::decrypt::{Outcome, Running, last_lines};
use crate::cli::session::Session;
use crate::cli::signing::SigningKey;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::Reader;
use crate::ledger::heads;

/// So long the command may take.
const WITHIN: Duration = Duration::from_secs(60);

/// Hands the heads over, where that is configured. What the run did stands whatever becomes of it: it is told.
pub(super) fn hand_over(session: &Session) {
    if let Err(error) = try_to(session) {
        output::complain(
            "warning",
            "the heads of the evidence were not handed over: until they are, nobody elsewhere can show that the journal is as this run left it",
        );
        error.print();
    }
}

fn try_to(session: &Session) -> Result<(), Error> {
    let settings = session.settings(false, Vec::new())?;
    let Some(evidence) = &settings.evidence else {
        return Ok(());
    };
    let (journal, heads) = Reader::open(session.journal_path())?.heads()?;
    let text = heads::to_text(&journal, Timestamp::now(), &heads);
    let signature = SigningKey::open(&evidence.key_file)?.sign(&text, "say which key signs the heads with evidence.key_file; ssh-keygen has to be able to use it without a person")?;
    let Some((program, arguments)) = evidence.command.split_first() else {
        return Ok(());
    };
    let shown = output::name(program);
    let failed = |why: String| {
        Error::refused(format!("{shown}: {why}")).hint(
            "[evidence] command in disburse.toml names it; it gets the heads as its standard input",
        )
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let mut input = child.stdin.take();
    // A thread of its own: a command that reads nothing must not hold up the end of a run.
    std::thread::spawn(move || {
        if let Some(input) = &mut input {
            let _ = input.write_all(format!("{text}{signature}").as_bytes());
        }
    });
    let outcome = Running::of(child).and_then(|running| running.wait(WITHIN));
    match outcome.map_err(|error| failed(error.to_string()))? {
        Outcome::Ended(status, ..) if status.success() => Ok(()),
        Outcome::Ended(status, _, told) => {
            let told = last_lines(&told);
            let separator = if told.is_empty() { "" } else { ": " };
            Err(failed(format!("ended with {status}{separator}{told}")))
        }
        Outcome::TooLate => Err(failed(format!(
            "took more than {} s, and was ended",
            WITHIN.as_secs()
        ))),
        Outcome::TooLarge => Err(failed("wrote more than it should".to_owned())),
    }
}
