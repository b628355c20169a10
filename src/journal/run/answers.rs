//! What "not found" is worth where several runs ask.
//!
//! It counts twice, so that two runs that ask at the same time must not make two of one. Who asks puts the question off, to a time of
//! its own: whatever is recorded meanwhile, and whoever asks next, gives it another one. What was not found counts while it stands.

use std::borrow::Cow;

use super::quarantine;
use crate::domain::{PaymentId, ResponseDetails, Timestamp};
use crate::journal::payments::posted_elsewhere::is_read_anew;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Finding};
use crate::lifecycle::{Class, CodeMeaning, Event, Policy, State};
use crate::store::tables::{inquiry, life};
use crate::store::{Reads, Scan};

/// Returns what was heard, as it counts.
pub(in crate::journal) fn as_it_counts<'f>(
    c: &WriteSession,
    finding: &'f Finding,
    now: Timestamp,
    policy: &Policy,
) -> Result<Cow<'f, Finding>, Error> {
    if !is_not_found(finding.event) {
        return Ok(Cow::Borrowed(finding));
    }
    if confirms_too_early(c, finding.seq, now, policy)? {
        let why = "not found, so soon after its post that it does not prove it";
        return Ok(Cow::Owned(as_none(finding, why)));
    }
    if !c.is_shared() {
        return Ok(Cow::Borrowed(finding));
    }
    Ok(match finding.asked {
        Some(until) if !stands(c, finding.seq, until)? => Cow::Owned(unanswered(finding)),
        // What a person asked is looked at by whoever records it.
        Some(_) | None => Cow::Borrowed(finding),
    })
}

/// Returns whether "not found" would confirm a failure, which was read in another way then, before the gateway must show the post.
fn confirms_too_early(
    c: &WriteSession,
    seq: PaymentId,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    let subject = subject(c, seq)?;
    let life = &subject.moved.life;
    if life.state != State::Failed || !is_read_anew(c, subject.batch_id, seq)? {
        return Ok(false);
    }
    let policy = quarantine::no_shorter(c, (subject.batch_id, seq), policy)?;
    Ok(now < policy.quarantine_ends(life))
}

/// Takes an answer for none: something else was recorded since it was asked for.
pub(in crate::journal) fn unanswered(finding: &Finding) -> Finding {
    let why = "not found, and something else was heard since it was asked";
    planted!(journal::unanswered(as_none(finding, why), finding))
}

/// Takes an answer for none.
fn as_none(finding: &Finding, why: &str) -> Finding {
    Finding {
        event: Event::NoAnswer,
        said: ResponseDetails {
            cause: why.into(),
            ..ResponseDetails::default()
        },
        ..*finding
    }
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
