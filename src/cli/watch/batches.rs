//! The list of batches.

use super::reading::{Pages, is_rehearsal, shown};
use crate::cli::Error;
use crate::cli::commands::status_all::{Known, notes, waits};
use crate::cli::terminal::output;
use crate::cli::words::behind;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Reader, Standing};
use crate::lifecycle::State;
use crate::watch::{Batches, Phase, Summary};

/// Batches that are listed.
const LISTED_MAX: usize = 100;

pub(super) fn view(pages: &Pages) -> Result<Batches, Error> {
    let session = &pages.session;
    let reader = pages.reader()?;
    let names = reader.batches()?;
    // Where nothing but rehearsals was loaded, times are told as those pages tell them.
    let newest = names.last().map(|name| reader.snapshot(name)).transpose()?;
    let newest = newest.map(|newest| newest.standing()).transpose()?;
    let zone = session.zone(newest.is_some_and(|newest| is_rehearsal(newest.purpose)));
    let countdown = behind::countdown(&reader, &zone)?;
    let missing = behind::missing_text(&reader.batches_lost()?);
    let known = [false, true].map(|rehearsal| Known::of(session, rehearsal));
    let mut batches = Vec::new();
    for name in names.iter().rev().take(LISTED_MAX) {
        let standing = reader.snapshot(name)?.standing()?;
        let known = &known[usize::from(is_rehearsal(standing.purpose))];
        batches.push(summary(&reader, name, &standing, known)?);
    }
    let at = session.location()?;
    let journal = match at.file() {
        Some(path) => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy(),
        None => at.to_string().into(),
    };
    Ok(Batches {
        at: zone.format_named(Timestamp::now()),
        journal: output::name(&journal),
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
        notes: notes((&reader.snapshot(name)?, standing), &waits, &known.zone)?,
    })
}

/// Returns in which colour a batch is shown. `waits`: a person has to do something before it goes on.
pub(super) fn phase(standing: &Standing, waits: bool) -> Phase {
    let count = |state| standing.of(state).count;
    match standing.is_finished() {
        _ if standing.paid_twice_count > 0 => Phase::Bad,
        true if count(State::Failed) + count(State::Conflict) > 0 => Phase::Bad,
        true if standing.rejected.count > 0 => Phase::Waits,
        // As somebody has ordered: neither good nor bad.
        true if count(State::Cancelled) > 0 => Phase::Open,
        true => Phase::Good,
        false if waits => Phase::Waits,
        false => Phase::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, ServiceCode, Tally};
    use crate::journal::StandingRow;

    #[test]
    fn a_batch_has_the_colour_of_what_it_needs() {
        let currency = Currency::from_code("KES").unwrap();
        let tally = |count| {
            let mut tally = Tally::default();
            tally.add_many(count, currency, 100);
            tally
        };
        for (states, rejected, twice, waits, expected) in [
            (&[State::Paid][..], 0, 0, false, Phase::Good),
            (&[State::Paid, State::Failed], 0, 0, false, Phase::Bad),
            (&[State::Paid, State::Conflict], 0, 0, false, Phase::Bad),
            (&[State::Paid, State::Cancelled], 0, 0, false, Phase::Open),
            (&[State::Paid], 1, 0, false, Phase::Waits),
            (&[State::Paid], 0, 1, false, Phase::Bad),
            (&[State::Paid, State::Ready], 0, 1, false, Phase::Bad),
            (&[State::Paid, State::Ready], 0, 0, true, Phase::Waits),
            (&[State::Failed, State::InDoubt], 1, 0, false, Phase::Open),
        ] {
            let row = |state: &State| StandingRow {
                service: ServiceCode::parse("B2C").unwrap(),
                state: *state,
                currency,
                tally: tally(1),
            };
            let standing = Standing {
                rows: states.iter().map(row).collect(),
                rejected: tally(rejected),
                paid_twice_count: twice,
                ..Standing::default()
            };
            assert_eq!(
                phase(&standing, waits),
                expected,
                "{states:?} {rejected} {twice} {waits}"
            );
        }
    }
}
