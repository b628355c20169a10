//! The question before money moves.

use std::io::{BufRead, IsTerminal, Write};

use tokio_util::sync::CancellationToken;

use super::super::config::Settings;
use super::super::{Error, output};
use crate::domain::{BatchName, Tally};
use crate::journal::Standing;
use crate::lifecycle::State;

/// Says what a run would post; `None` when there is nothing to ask about, or `--yes` has answered.
fn what(
    settings: &Settings,
    batch: &BatchName,
    standing: &Standing,
    yes: bool,
) -> Result<Option<String>, Error> {
    let gateway = settings.gateway()?;
    let mut open = Tally::default();
    for state in [State::Ready, State::Posting, State::InDoubt] {
        open.add_all(&standing.of(state));
    }
    if yes || open.count == 0 {
        return Ok(None);
    }
    Ok(Some(format!(
        "{} of batch {batch}, {}, through {}",
        output::counted(open.count, "payment"),
        output::amounts(&open.amounts),
        gateway.base_url
    )))
}

fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn nobody_to_ask(what: &str) -> Error {
    Error::refused(format!("this would post {what}; nothing was sent"))
        .hint("say --yes to do it without being asked")
}

/// Refuses a run that nobody can confirm, before anything is begun. While amounts are open, the totals are not known.
pub(super) fn refuse_unattended(
    settings: &Settings,
    batch: &BatchName,
    standing: &Standing,
    yes: bool,
) -> Result<(), Error> {
    match what(settings, batch, standing, yes)? {
        Some(what) if standing.unpriced == 0 && !is_attended() => Err(nobody_to_ask(&what)),
        _ => Ok(()),
    }
}

/// Asks before money moves; without anyone to ask, `--yes` is the answer.
pub(super) async fn confirm(
    settings: &Settings,
    batch: &BatchName,
    standing: &Standing,
    yes: bool,
    drain: &CancellationToken,
) -> Result<(), Error> {
    let Some(what) = what(settings, batch, standing, yes)? else {
        return Ok(());
    };
    if !is_attended() {
        return Err(nobody_to_ask(&what));
    }
    #[allow(clippy::print_stderr, reason = "a question at the terminal")]
    {
        eprint!("Post {what}? [y/N] ");
    }
    let _ = std::io::stderr().flush();
    let reading = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut answer)
            .map(|_| answer)
    });
    let answer = tokio::select! {
        read = reading => read.map_err(Error::unexpected)?.map_err(Error::unexpected)?,
        // Ctrl-C answers, too.
        () = drain.cancelled() => String::new(),
    };
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::refused("not confirmed; nothing was sent")),
    }
}
