//! What is really next with a batch: one step, as a person types it.

use super::approvals;
use crate::cli::Error;
use crate::cli::session::{Commands, Session};
use crate::domain::BatchName;
use crate::journal::{self, Approvals, Reader, Standing};
use crate::ledger::Purpose;
use crate::ledger::approval::rule::Rule;

/// Returns where a batch stands with its signatures, by the rule of its loads, and by the one of now where that can be read.
pub(in crate::cli) fn signatures(
    session: &Session,
    reader: &Reader,
    (batch, purpose): (&BatchName, Purpose),
) -> Result<Approvals, journal::Error> {
    reader
        .snapshot(batch)?
        .approvals(rule_of_now(session, purpose))
}

/// Returns the rule of the configuration; none where that cannot be read: that of the loads holds all the same.
pub(in crate::cli) fn rule_of_now(session: &Session, purpose: Purpose) -> Option<Rule> {
    let settings = |rehearsal| session.settings(rehearsal, Vec::new());
    // Of a configuration without a gateway the rule holds all the same.
    let settings = settings(purpose == Purpose::Rehearsal).or_else(|_| settings(true));
    settings.ok()?.approval().ok()?
}

/// Says what a batch waits for that is to be posted, and the one step that is next.
pub(in crate::cli) fn next_text(session: &Session, batch: &BatchName) -> Result<String, Error> {
    Ok(match next_step(session, batch)? {
        (Some(why), next) => format!("{why}\nnext: {next}"),
        (None, next) => format!("next: {next}"),
    })
}

/// Returns what a batch waits for that needs signatures, and the one step that is next.
pub(in crate::cli) fn next_step(
    session: &Session,
    batch: &BatchName,
) -> Result<(Option<String>, String), Error> {
    let reader = Reader::open(session.location()?)?;
    let standing = reader.snapshot(batch)?.standing()?;
    let purpose = standing.purpose;
    let found = signatures(session, &reader, (batch, purpose))?;
    let commands = Commands { batch, purpose };
    Ok(match approvals::next(commands, &found, standing.unpriced) {
        Some((why, next)) => (Some(why), next),
        None => (None, run(commands, &standing)),
    })
}

/// Returns the run that is next, where nobody has to sign before.
pub(in crate::cli) fn run(commands: Commands<'_>, standing: &Standing) -> String {
    match standing.unpriced {
        0 => commands.run(),
        _ => format!(
            "{} --pay-due, which asks for the bills and pays what is due",
            commands.run()
        ),
    }
}
