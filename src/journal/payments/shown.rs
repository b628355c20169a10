//! What statements have shown of payments whose outcome is open, and of those that prove unpaid here after it.
//!
//! Two words disagree then, as they do where the gateway's comes first: a person weighs them, and nobody is paid again meanwhile.

use super::event::write_event;
use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::codec::events::{MONEY_CAME_BACK, MONEY_LEFT, SHOWN_PAID};
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::reconciliation::stands_unpaid;
use crate::lifecycle::{Event, Policy, StepContext, step};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// What was shown of a payment.
    struct Word of evidence { event: i64, detail: Option<String> }
}

/// What says anything of it, and what a person may have weighed since.
const WORDS: [i64; 3] = [SHOWN_PAID, MONEY_LEFT, MONEY_CAME_BACK];

/// Returns what statements have shown of a payment last: one that does not show it says nothing.
fn last_word(c: &WriteSession, seq: PaymentId) -> Result<Option<Word>, Error> {
    c.flush()?;
    let words = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::among(&WORDS))
        .descending()
        .limit(1);
    Ok(c.first(&words)?)
}

/// Puts on record what a statement shows of a payment whose outcome is open; returns whether that is new.
pub(in crate::journal) fn note_open(
    c: &WriteSession,
    subject: &Subject,
    is_out: bool,
    detail: &str,
    moment: StepContext,
) -> Result<bool, Error> {
    if subject.moved.life.state.is_finished() {
        return Ok(false);
    }
    let seq = subject.moved.seq;
    let has_left = last_word(c, seq)?.is_some_and(|word| word.event == MONEY_LEFT);
    if has_left == is_out {
        return Ok(false);
    }
    let kind = if is_out { MONEY_LEFT } else { MONEY_CAME_BACK };
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq,
        at: moment.now,
        kind: (kind, None, None),
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

/// Returns whether a statement has shown that the money of a payment left, and none since that it came back.
pub(in crate::journal) fn is_shown_paid(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    Ok(last_word(c, seq)?.is_some_and(|word| word.event != MONEY_CAME_BACK))
}
