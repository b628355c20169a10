//! What "not found" is worth where several runs ask.
//!
//! It counts twice, so that two runs that ask at the same time must not make two of one. Who asks puts the question off, to a time of
//! its own: whatever is recorded meanwhile, and whoever asks next, gives it another one. What was not found counts while it stands.

use std::borrow::Cow;

use crate::domain::{PaymentId, ResponseDetails, Timestamp};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Finding, Question};
use crate::lifecycle::{Class, CodeMeaning, Event};
use crate::store::tables::{inquiry, life};
use crate::store::{Reads, Scan};

/// Remembers until when questions are put off that a run is about to ask.
pub(in crate::journal) fn put_off(c: &WriteSession, questions: &[Question], until: Timestamp) {
    if c.is_shared() {
        let asked = questions.iter().map(|question| (question.seq, until));
        c.asked().borrow_mut().extend(asked);
    }
}

/// Returns what was heard, as it counts.
pub(in crate::journal) fn as_it_counts<'f>(
    c: &WriteSession,
    finding: &'f Finding,
) -> Result<Cow<'f, Finding>, Error> {
    if !c.is_shared() || !is_not_found(finding.event) {
        return Ok(Cow::Borrowed(finding));
    }
    let own = c.asked().borrow_mut().remove(&finding.seq);
    let stands = match own {
        Some(until) => stands(c, finding.seq, until)?,
        // Nobody who runs the batch has asked.
        None => true,
    };
    Ok(match stands {
        true => Cow::Borrowed(finding),
        false => Cow::Owned(unanswered(finding)),
    })
}

/// Takes an answer for none: something else was recorded since it was asked for.
pub(in crate::journal) fn unanswered(finding: &Finding) -> Finding {
    let nothing = Finding {
        event: Event::NoAnswer,
        said: ResponseDetails {
            cause: "not found, and something else was heard since it was asked".into(),
            ..ResponseDetails::default()
        },
        ..*finding
    };
    planted!(journal::unanswered(nothing, finding))
}

/// Returns whether an answer says that the gateway does not have the payment.
pub(in crate::journal) fn is_not_found(event: Event) -> bool {
    let not_found = |meaning: CodeMeaning| meaning.class == Class::NotFound;
    matches!(event, Event::Answer(meaning) if not_found(meaning))
}

/// Returns whether the question about a payment is put off to this very time still.
fn stands(c: &WriteSession, seq: PaymentId, until: Timestamp) -> Result<bool, Error> {
    let due = [
        c.value(&Scan::of(&life::TABLE).at(&seq), life::due_at)?,
        c.value(&Scan::of(&inquiry::TABLE).at(&seq), inquiry::due_at)?,
    ];
    Ok(due.contains(&Some(until.as_millis())))
}
