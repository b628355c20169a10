//! What moved between states in a transaction, as it is stored.

use super::subject::Subject;
use crate::domain::{BatchId, LaneId};
use crate::journal::Error;
use crate::journal::codec::values::add_to_tally;
use crate::ledger::tallies::Tallies;
use crate::lifecycle::State;
use crate::store::Write;

/// Where a row is counted, and its minor units there.
pub(in crate::journal) type Counted = (State, i64);

/// What moved between batches, lanes, currencies and states.
pub(super) type Moves = Tallies<(BatchId, LaneId, &'static str, State)>;

/// Notes that the row of a payment was counted at `from`, and is counted at `to` now: a corrected row has another amount, in the same lane
/// and currency.
pub(super) fn move_row(moves: &mut Moves, subject: &Subject, from: Counted, to: Counted) {
    let currency = subject.moved.money.currency.code();
    let at = |(state, minor)| {
        let place = (subject.batch_id, subject.moved.lane, currency, state);
        (place, minor)
    };
    moves.moved(at(from), at(to));
}

pub(super) fn write(moves: Moves, c: &dyn Write) -> Result<(), Error> {
    for ((batch_id, lane, currency, state), (count, amount)) in
        planted!(journal::tallies(moves.into_sums()))
    {
        add_to_tally(c, batch_id, lane, currency, state, count, amount)?;
    }
    Ok(())
}
