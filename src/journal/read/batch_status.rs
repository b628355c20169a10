//! What a batch comes to.

use super::reader::service_codes;
use crate::domain::{BatchId, BatchName, Currency, LaneId, Tally};
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::values::{UNPRICED, corrupt, state_number, state_of};
use crate::journal::load::aside::count_set_aside;
use crate::journal::payments::generations::{paid_twice, undecided};
use crate::journal::payments::inquiries::tell_waiting;
use crate::journal::preflight::unpriced::unpriced;
use crate::journal::repeats::linked::loaded_anew;
use crate::journal::run::dates::dates;
use crate::journal::run::destination::place;
use crate::journal::run::lanes::held_lanes;
use crate::journal::{Error, Standing, StandingRow};
use crate::store::tables::{batch, named_otherwise, tally};
use crate::store::{Read, Reads, Scan, Test, shape};

shape! {
    /// To which gateway a batch is tied.
    struct Tied of batch { gateway: Option<String>, account: Option<String> }
}
shape! {
    /// Rows of a lane that stand at one state, or have no amount yet, and what they come to.
    pub(super) struct Tallied of tally { batch_id: BatchId, service_id: LaneId, currency: Currency, state: i64, count: i64, amount: i64 }
}

/// Returns counts and amounts of a batch per state.
pub(in crate::journal) fn standing(c: &dyn Read, batch: &BatchName) -> Result<Standing, Error> {
    let batch_id = known_batch(c, batch)?;
    let tied: Option<Tied> = c.first(&Scan::of(&batch::TABLE).at(&batch_id))?;
    let Tied { gateway, account } =
        tied.ok_or_else(|| corrupt(format!("batch {batch_id} is missing")))?;
    let mut standing = Standing {
        dates: dates(c, batch_id)?,
        gateway,
        account,
        destination: place(c, batch_id)?,
        evidence: crate::journal::evidence::chain::head(c, batch_id)?,
        purpose: crate::journal::codec::catalog::purpose(c, batch_id)?,
        ..Standing::default()
    };
    standing.rows = rows(c, batch_id)?;
    count_set_aside(c, batch_id, &mut standing)?;
    standing.held = held_lanes(c, batch_id)?;
    standing.unpriced = unpriced(c, batch_id)?;
    standing.named_otherwise = c.count(&Scan::of(&named_otherwise::TABLE).at(&batch_id))?;
    (standing.paid_twice, standing.paid_twice_count) = paid_twice(c, batch_id)?;
    (standing.undecided, standing.undecided_count) = undecided(c, batch_id)?;
    standing.loaded_anew = loaded_anew(c, batch_id)?;
    tell_waiting(c, batch_id, &mut standing)?;
    Ok(standing)
}

/// Returns counts and amounts by service, currency and state.
fn rows(c: &dyn Read, batch_id: BatchId) -> Result<Vec<StandingRow>, Error> {
    let codes = service_codes(c)?;
    let mut found = Vec::new();
    let counted = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .only(tally::state, Test::is_not(&UNPRICED))
        .only(tally::count, Test::at_least(&1_i64));
    c.each(&counted, |row: Tallied| {
        let Some(service) = codes.get(&row.service_id) else {
            return Ok(());
        };
        let mut tally = Tally::default();
        tally.add_many(row.count.unsigned_abs(), row.currency, row.amount.into());
        found.push(StandingRow {
            service: service.clone(),
            state: state_of(row.state)?,
            currency: row.currency,
            tally,
        });
        Ok::<_, Error>(())
    })?;
    let place = |row: &StandingRow| (row.currency.code(), state_number(row.state));
    found.sort_by(|a, b| (&a.service, place(a)).cmp(&(&b.service, place(b))));
    Ok(found)
}
