//! Withdrawals of payments that an earlier journal may have posted. The rule is in [`crate::ledger::withdrawal`].

use super::on_record;
use super::pages::Standing;
use crate::domain::{PaymentId, ResponseDetails};
use crate::journal::Error;
use crate::journal::codec::events::WITHDRAWAL_ORDERED;
use crate::journal::evidence::chain::Evidence;
use crate::journal::payments::apply::apply;
use crate::journal::session::payments::subject;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::withdrawal::{is_due, may_be_ordered, may_be_withdrawn};
use crate::lifecycle::{Event, Policy, State, StepContext};
use crate::store::Read;

/// Returns whether a payment was never sent, or that is what its evidence says: it can be withdrawn at once.
pub(in crate::journal) fn is_unsent(life: &Standing) -> bool {
    life.state == State::Ready && (life.exposures == 0 || life.attempts == 0)
}

/// Returns whether [`may_be_ordered`] holds for a payment, and it was not ordered before.
pub(in crate::journal) fn is_withdrawable(c: &dyn Read, life: &Standing) -> Result<bool, Error> {
    let is_known = life.known != 0;
    Ok(may_be_withdrawn(life.state, life.attempts, is_known)
        && !on_record::has(c, life.seq, WITHDRAWAL_ORDERED)?)
}

fn is_ordered(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    c.flush()?;
    on_record::has(c, seq, WITHDRAWAL_ORDERED)
}

/// Takes the order to withdraw a payment that may have been posted; returns whether it is one.
pub(in crate::journal) fn order(
    c: &WriteSession,
    seq: PaymentId,
    moment: StepContext,
) -> Result<bool, Error> {
    let subject = subject(c, seq)?;
    if !may_be_ordered(&subject.moved.life) {
        return Ok(false);
    }
    if !is_ordered(c, seq)? {
        c.mark(subject.batch_id);
        c.append(&Evidence {
            batch_id: subject.batch_id,
            seq,
            at: moment.now,
            kind: (WITHDRAWAL_ORDERED, None, None),
            ..Evidence::default()
        })?;
    }
    Ok(true)
}

/// Withdraws a payment that is ready now, if that was ordered; returns whether it did.
pub(in crate::journal) fn carry_out(
    c: &WriteSession,
    moved: &mut Subject,
    moment: StepContext,
) -> Result<bool, Error> {
    if !is_due(&moved.moved.life) || !is_ordered(c, moved.moved.seq)? {
        return Ok(false);
    }
    let mut ready = subject(c, moved.moved.seq)?;
    let from = ready.moved.from;
    let said = ResponseDetails::default();
    // It rests on the state alone: no wait of the policy enters into it.
    let policy = Policy::default();
    apply(c, &mut ready, Event::Withdrawn, &said, moment, &policy)?;
    c.moved(&ready, from)?;
    moved.moved.life = ready.moved.life;
    Ok(true)
}
