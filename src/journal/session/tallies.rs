//! What moved between states in a transaction.

use std::collections::BTreeMap;

use super::subject::Subject;
use crate::domain::{BatchId, LaneId};
use crate::journal::Error;
use crate::journal::codec::values::add_to_tally;
use crate::lifecycle::State;
use crate::store::Write;

/// Where a row is counted, and its minor units there.
pub(in crate::journal) type Counted = (State, i64);

/// Sums what moved between states, so that the tally is written once per group.
#[derive(Default)]
pub(in crate::journal) struct Tallies(BTreeMap<(BatchId, LaneId, &'static str, State), (i64, i64)>);

impl Tallies {
    /// The row of a payment was counted at `from`, and is counted at `to` now.
    pub(in crate::journal) fn moved(&mut self, subject: &Subject, from: Counted, to: Counted) {
        if from == to {
            return;
        }
        // A corrected row has another amount, in the same lane and currency.
        let currency = subject.moved.money.currency.code();
        for ((state, minor), sign) in [(from, -1), (to, 1)] {
            let key = (subject.batch_id, subject.moved.lane, currency, state);
            let sum = self.0.entry(key).or_default();
            sum.0 += sign;
            sum.1 += sign * minor;
        }
    }

    pub(in crate::journal) fn write(self, c: &dyn Write) -> Result<(), Error> {
        for ((batch_id, lane, currency, state), (count, amount)) in
            planted!(journal::tallies(self.0))
        {
            add_to_tally(c, batch_id, lane, currency, state, count, amount)?;
        }
        Ok(())
    }
}
