//! What statements have shown of payments whose outcome is open, and of those that prove unpaid here after it.
//!
//! Two words disagree then, as they do where the gateway's comes first: a person weighs them, and nobody is paid again meanwhile.

use super::event::write_event;
use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::codec::events::{MONEY_LEFT, SHOWN_PAID};
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::reconciliation::stands_unpaid;
use crate::lifecycle::{Event, Policy, State, StepContext, step};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// What was shown of a payment.
    struct Word of evidence { event: i64, detail: Option<String> }
}

/// Returns what a statement has shown of a payment last. None takes it back: whether all that left has come back, a person weighs.
fn last_word(c: &WriteSession, seq: PaymentId) -> Result<Option<Word>, Error> {
    c.flush()?;
    let words = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::among(&[SHOWN_PAID, MONEY_LEFT]))
        .descending()
        .limit(1);
    Ok(c.first(&words)?)
}

/// Puts on record that the money of a payment has left by a statement, where its outcome is open or was never told alike; returns whether
/// that is new.
pub(in crate::journal) fn note_open(
    c: &WriteSession,
    subject: &Subject,
    detail: &str,
    moment: StepContext,
) -> Result<bool, Error> {
    let (state, seq) = (subject.moved.life.state, subject.moved.seq);
    let takes_it = !state.is_finished() || state == State::Conflict;
    if !takes_it || last_word(c, seq)?.is_some() {
        return Ok(false);
    }
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq,
        at: moment.now,
        kind: (MONEY_LEFT, None, None),
        detail: Some(detail),
        ..Evidence::default()
    })?;
    Ok(true)
}

/// Brings into conflict what has just failed, or is to be posted again or to be withdrawn as the gateway does not know it, where a
/// statement showed before that its money left.
pub(in crate::journal) fn hold_unpaid(
    c: &WriteSession,
    subject: &mut Subject,
    moment: StepContext,
) -> Result<(), Error> {
    if !stands_unpaid(subject.moved.life.state) {
        return Ok(());
    }
    let Some(word) = last_word(c, subject.moved.seq)?.filter(|word| word.event == MONEY_LEFT)
    else {
        return Ok(());
    };
    // The statement's word alone counts: no wait of the policy enters into it.
    let life = step(
        &subject.moved.life,
        Event::ShownPaid,
        moment,
        &Policy::default(),
    )
    .life;
    let detail = word.detail.as_deref();
    write_event(c, subject, life, Event::ShownPaid, detail, moment.now)
}

/// Returns whether a statement has shown that the money of a payment left.
pub(in crate::journal) fn is_shown_paid(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    Ok(last_word(c, seq)?.is_some())
}
