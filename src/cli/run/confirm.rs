//! The question before money moves.

use std::io::{BufRead, IsTerminal, Write};

use tokio_util::sync::CancellationToken;

use super::super::config::Settings;
use super::super::{Error, output};
use crate::domain::{BatchName, Tally};
use crate::journal::Standing;
use crate::lifecycle::State;

/// Asks before money moves; without anyone to ask, `--yes` is the answer.
pub(super) async fn confirm(
    settings: &Settings,
    batch: &BatchName,
    standing: &Standing,
    yes: bool,
    drain: &CancellationToken,
) -> Result<(), Error> {
    let gateway = settings.gateway()?;
    let mut open = Tally::default();
    for state in [State::Ready, State::Posting, State::InDoubt] {
        open.add_all(&standing.of(state));
    }
    if yes || open.count == 0 {
        return Ok(());
    }
    let what = format!(
        "{} of batch {batch}, {}, through {}",
        output::counted(open.count, "payment"),
        output::amounts(&open.amounts),
        gateway.base_url
    );
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !terminal {
        return Err(
            Error::refused(format!("this would post {what}; nothing was sent"))
                .hint("say --yes to do it without being asked"),
        );
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
