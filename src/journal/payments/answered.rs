//! Whether the gateway has answered a post: what its answer means may be read otherwise later.

use std::ops::ControlFlow;

use crate::domain::{BatchId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::events::is_answer_to_a_post;
use crate::lifecycle::State;
use crate::store::tables::{evidence, life};
use crate::store::{Read, Reads, Scan, Test};

/// Returns whether the gateway has answered a post of a payment, if only that it let nobody in.
pub(in crate::journal) fn was_answered(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let of_payment = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let mut answered = false;
    c.each_row(&of_payment, &[evidence::event], |row| {
        answered = is_answer_to_a_post(row.get(0)?);
        Ok::<_, Error>(match answered {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(answered)
}

/// Returns whether a payment of a batch is still to be posted, or was cancelled, after the gateway has answered a post of it: that it was not
/// executed is what the answer was read to mean.
pub(in crate::journal) fn is_any_unexecuted_by_an_answer(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<bool, Error> {
    let posted = Scan::of(&life::TABLE)
        .only(life::batch_id, Test::is(&batch_id))
        .only(life::state, Test::among(&[State::Ready, State::Cancelled]))
        .only(life::attempts, Test::at_least(&1_i64));
    let mut found = false;
    c.each_row(&posted, &[life::seq], |row| {
        found = was_answered(c, row.get(0)?)?;
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
