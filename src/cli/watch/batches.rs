//! The list of batches.

use super::reading::{Pages, is_rehearsal, shown};
use crate::cli::Error;
use crate::cli::commands::recover;
use crate::cli::commands::status_all::{Known, notes, waits};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Reader, Standing};
use crate::lifecycle::State;
use crate::watch::{Batches, Phase, Summary};

/// Batches that are listed.
const LISTED_MAX: usize = 100;

pub(super) fn view(pages: &Pages) -> Result<Batches, Error> {
    let session = &pages.session;
    let reader = pages.reader()?;
    let countdown = recover::countdown(&reader)?;
    let missing = recover::missing_text(&reader.batches_lost()?);
    let known = [false, true].map(|rehearsal| Known::of(session, rehearsal));
    let names = reader.batches()?;
    let mut batches = Vec::new();
    for name in names.iter().rev().take(LISTED_MAX) {
        let standing = reader.snapshot(name)?.standing()?;
        let known = &known[usize::from(is_rehearsal(standing.purpose))];
        batches.push(summary(&reader, name, &standing, known)?);
    }
    let path = session.journal_path();
    let journal = path.file_name().unwrap_or(path.as_os_str());
    Ok(Batches {
        at: session.zone(false).format_named(Timestamp::now()),
        journal: output::name(&journal.to_string_lossy()),
        warnings: shown(countdown.into_iter().chain(missing)),
        more: names.len() - batches.len(),
        batches,
    })
}

fn summary(
    reader: &Reader,
    name: &BatchName,
    standing: &Standing,
    known: &Known,
) -> Result<Summary, Error> {
    let total = standing.total();
    let paid = standing.of(State::Paid);
    let is_finished = standing.is_finished();
    let waits = waits(reader, name, standing, known)?;
    Ok(Summary {
        name: name.to_string(),
        phase: phase(standing, !waits.is_empty()),
        state: if is_finished { "finished" } else { "open" }.to_owned(),
        paid: output::grouped(&paid.count.to_string()),
        count: output::grouped(&total.count.to_string()),
        amount: output::amounts(&total.amounts),
        notes: notes(standing, &waits),
    })
}

/// Returns in which colour a batch is shown. `waits`: a person has to do something before it goes on.
pub(super) fn phase(standing: &Standing, waits: bool) -> Phase {
    let count = |state| standing.of(state).count;
    match standing.is_finished() {
        _ if standing.paid_twice_count > 0 => Phase::Bad,
        true if count(State::Failed) + count(State::Conflict) > 0 => Phase::Bad,
        true if standing.rejected.count > 0 => Phase::Waits,
        true => Phase::Good,
        false if waits => Phase::Waits,
        false => Phase::Open,
    }
}
