//! Withdrawals of payments that an earlier journal may have posted. The rule is in [`crate::ledger::withdrawal`].

use rusqlite::params;

use crate::domain::{PaymentId, ResponseDetails};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::WITHDRAWAL_ORDERED;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::payments::apply::apply;
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::subject::Subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::ledger::withdrawal::{is_due, may_be_ordered};
use crate::lifecycle::{Event, Policy, StepContext};

/// The payments `life l` of which [`may_be_ordered`] holds, and of which it was not ordered (?2) before.
pub(in crate::journal::sqlite) const WITHDRAWABLE: &str =
    "l.state = 2 and l.attempts = 0 and l.known = 0 and not exists (
    select 1 from evidence e indexed by evidence_by_payment where e.seq = l.seq and e.event = ?2)";

fn is_ordered(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    c.flush()?;
    Ok(c.prepare_cached(
        "select exists (select 1 from evidence indexed by evidence_by_payment where seq = ?1 and event = ?2)",
    )?
    .query_row(params![seq, WITHDRAWAL_ORDERED], |row| row.get(0))?)
}

/// Takes the order to withdraw a payment that may have been posted; returns whether it is one.
pub(in crate::journal::sqlite) fn order(
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
pub(in crate::journal::sqlite) fn carry_out(
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
    apply(
        c,
        &mut ready,
        Event::Withdrawn,
        &said,
        None,
        moment,
        &policy,
    )?;
    c.moved(&ready, from)?;
    moved.moved.life = ready.moved.life;
    Ok(true)
}
