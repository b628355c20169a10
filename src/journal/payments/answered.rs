//! Whether the gateway has answered a post: what its answer means may be read otherwise later.

use std::ops::ControlFlow;

use crate::domain::{BatchId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::events::{is_not_let_in, is_reply};
use crate::lifecycle::State;
use crate::store::tables::{evidence, life};
use crate::store::{Read, Reads, Scan, Test};

/// How replies are read otherwise than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum ReadBy {
    /// By another dialect, which also tells who is let in.
    OtherDialect,
    /// By other meanings of codes.
    OtherCodes,
}

/// Returns whether the gateway has answered a post of a payment by something that is read otherwise.
pub(in crate::journal) fn was_answered(
    c: &dyn Read,
    seq: PaymentId,
    by: ReadBy,
) -> Result<bool, Error> {
    let of_payment = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let mut answered = false;
    c.each_row(&of_payment, &[evidence::event], |row| {
        let event: i64 = row.get(0)?;
        answered = is_reply(event) || by == ReadBy::OtherDialect && is_not_let_in(event);
        Ok::<_, Error>(match answered {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(answered)
}

/// Returns whether a payment of a batch is unpaid because of what the gateway has answered to its post: by another dialect, it may have been
/// executed.
pub(in crate::journal) fn is_any_unexecuted_by_an_answer(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<bool, Error> {
    let unpaid = [State::Ready, State::Failed, State::Cancelled];
    let posted = Scan::of(&life::TABLE)
        .only(life::batch_id, Test::is(&batch_id))
        .only(life::state, Test::among(&unpaid))
        .only(life::attempts, Test::at_least(&1_i64));
    let mut found = false;
    c.each_row(&posted, &[life::seq], |row| {
        found = was_answered(c, row.get(0)?, ReadBy::OtherDialect)?;
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
