//! Callbacks: stored once, applied once, and never at the cost of one that counts. The rules are in [`crate::ledger::callbacks`] and
//! [`crate::ledger::evidence`].

use super::agreed::judged;
use super::apply::{Source, write};
use super::generations;
use super::inquiries::is_taken_back;
use super::paid_again::paid_again;
use crate::domain::{PaymentId, ResponseDetails};
use crate::journal::codec::catalog::{batch_of, find};
use crate::journal::codec::detail::detail_of;
use crate::journal::codec::events::{NOTED_CALLBACK, OTHER_CALLBACK, event_numbers};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::body_digest::BodyDigest;
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::salt::Sealed;
use crate::journal::session::expected::stored_callbacks;
use crate::journal::session::members::Member;
use crate::journal::session::payments::payment;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, IncomingCallback, ReadBy, Received};
use crate::ledger::callbacks::{
    self, Admission, Call, Earlier, Heard, Reading, admission, admission_early,
};
use crate::ledger::evidence::{NewEvidence, Words, apply};
use crate::ledger::failure::has_ended_unpaid;
use crate::lifecycle::{Policy, State, StepContext};
use crate::store::tables::{batch, life};
use crate::store::{Reads, Scan, shape};

/// The number of what a callback said.
const CALLBACK: i64 = 8;

shape! {
    /// A row of evidence, as a callback is compared with it.
    struct Kind of evidence { event: i64, class: Option<i64>, code: Option<i32>, digest: Option<BodyDigest>, salt: Option<Vec<u8>> }
}

/// Returns what is kept of a payment's callbacks, beside this one.
fn heard(c: &WriteSession, seq: PaymentId, note: &IncomingCallback) -> Result<Heard, Error> {
    let (_, class, code) = note.event.map_or((0, None, None), event_numbers);
    let earlier = |(event, was_class, was_code), digest: Option<BodyDigest>, sealed| {
        let is_words = match event {
            CALLBACK => true,
            NOTED_CALLBACK | OTHER_CALLBACK => false,
            _ => return None,
        };
        let is_alike = (was_class, was_code) == (class, code);
        let is_of = |digest: BodyDigest| digest.is_of(&note.digest, sealed);
        Some(Earlier {
            is_words,
            is_alike,
            // Of somebody who was forgotten it cannot be told: what says the same is taken for the same.
            is_same: digest.is_some_and(|digest| is_of(digest).unwrap_or(is_alike)),
        })
    };
    let mut heard = Heard::default();
    c.each(&stored_callbacks(&seq), |row: Kind| {
        let kind = (row.event, row.class, row.code);
        let sealed = Sealed::of_bytes(row.salt.as_deref())?;
        earlier(kind, row.digest, sealed)
            .into_iter()
            .for_each(|one| heard.count(one));
        Ok::<_, Error>(())
    })?;
    for (kind, digest, salt) in c.waiting_digests(seq) {
        let sealed = salt.map_or(Sealed::Plain, Sealed::Salted);
        earlier(kind, Some(digest), sealed)
            .into_iter()
            .for_each(|one| heard.count(one));
    }
    Ok(heard)
}

/// Stores a callback and applies it.
pub(in crate::journal) fn callback(
    c: &WriteSession,
    note: &IncomingCallback,
    moment: StepContext,
    policy: &Policy,
    by: Option<&ReadBy>,
) -> Result<Received, Error> {
    let seq = match c.recent_by(note.id) {
        Some(seq) => seq,
        None => match find(c, note.id)? {
            Some(seq) => seq,
            None => return Ok(Received::Unknown),
        },
    };
    let misread = by.map(|by| misread(c, seq, by)).transpose()?.flatten();
    let unread = misread.map(|why| unread(note, why));
    let note = unread.as_ref().unwrap_or(note);
    let known = c.recent(seq);
    let heard = match known.and_then(|known| known.callbacks) {
        Some(0) => Heard::default(),
        _ => heard(c, seq, note)?,
    };
    // Nearly every repeat is of what was paid, or is under way: there it casts no doubt, and nothing else is looked at.
    if heard.is_repeat && !known.is_some_and(|known| has_ended_unpaid(known.moved.life.state)) {
        let state = state(c, seq)?;
        if !state.is_some_and(has_ended_unpaid) {
            return Ok(Received::Repeat);
        }
    }
    match payment(c, seq)? {
        Some(subject) => hear(c, subject, note, heard, moment, policy),
        None => hear_early(c, seq, note, heard, moment),
    }
}

/// Stores a callback about a payment, if it is kept, and applies it.
fn hear(
    c: &WriteSession,
    mut subject: Subject,
    note: &IncomingCallback,
    heard: Heard,
    moment: StepContext,
    policy: &Policy,
) -> Result<Received, Error> {
    let mut judgement = judged(c, &subject, &note.said)?;
    if judgement.differs.is_none() {
        judgement.differs = paid_again(c, &subject, note)?;
    }
    let call = Call {
        event: note.event,
        is_other: judgement.differs.is_some(),
    };
    let life = subject.moved.life;
    let is_first_doubt = call.casts_doubt(&life) && !was_doubted(c, &subject)?;
    match admission(call, &life, heard, is_first_doubt, moment, policy) {
        Admission::Repeat => return Ok(Received::Repeat),
        Admission::TooMany => return Ok(Received::TooMany),
        Admission::Kept => {}
    }
    subject.callbacks = Some(heard.with_this());
    // It is acknowledged, so that it is never said again: an older journal must be known as older by it.
    c.mark(subject.batch_id);
    let from = subject.moved.from;
    let evidence = NewEvidence {
        event: note.event,
        said: &note.said,
        judgement: &judgement,
    };
    let source = Source {
        said: &note.said,
        digest: Some(&note.digest),
        body: note.body.as_deref(),
    };
    let change = apply(&life, evidence, moment, policy);
    write(c, &mut subject, &change, source, moment, policy)?;
    c.moved(&subject, from)?;
    // One that was not applied counts as well: whoever called may know more of an earlier payment than its "failed".
    generations::settle(c, &mut subject, moment, Some(policy))?;
    Ok(Received::Stored(Some(subject.moved)))
}

shape! {
    /// Where a batch was posted, and how its replies are read.
    struct ReadAs of batch { gateway: Option<String>, reading: Option<String> }
}

/// Returns why a listener does not know what a callback about this payment says.
fn misread(c: &WriteSession, seq: PaymentId, by: &ReadBy) -> Result<Option<&'static str>, Error> {
    let one = match c.recent(seq) {
        Some(known) => known.batch_id,
        None => batch_of(c, seq)?,
    };
    let of_batch: ReadAs = c
        .first(&Scan::of(&batch::TABLE).at(&one))?
        .ok_or_else(|| corrupt(format!("batch {one} is missing")))?;
    let batch = Reading {
        gateway: of_batch.gateway.as_deref(),
        dialect: of_batch.reading.as_deref(),
    };
    let listener = Reading {
        gateway: by.gateway.as_deref(),
        dialect: Some(&by.reading),
    };
    Ok(callbacks::misread(batch, listener))
}

/// A callback of which is known that it came, and nothing else.
fn unread(note: &IncomingCallback, why: &str) -> IncomingCallback {
    tracing::warn!(why, "a callback is kept unread, and the gateway is asked");
    IncomingCallback {
        id: note.id,
        event: None,
        said: ResponseDetails {
            anomaly: Some(why.to_owned()),
            ..ResponseDetails::default()
        },
        digest: note.digest,
        body: note.body.clone(),
    }
}

/// Returns where a payment stands; `None` when its life has not begun.
fn state(c: &WriteSession, seq: PaymentId) -> Result<Option<State>, Error> {
    Ok(c.value(&Scan::of(&life::TABLE).at(&seq), life::state)?)
}

/// Returns whether something on record makes the end of an unpaid payment doubtful already.
fn was_doubted(c: &WriteSession, subject: &Subject) -> Result<bool, Error> {
    c.flush()?;
    let (seq, life) = (subject.moved.seq, subject.moved.life);
    is_taken_back(c, &Member { seq, life })
}

/// Keeps a callback about a row without an amount.
fn hear_early(
    c: &WriteSession,
    seq: PaymentId,
    note: &IncomingCallback,
    heard: Heard,
    moment: StepContext,
) -> Result<Received, Error> {
    match admission_early(note.event, heard) {
        Admission::Repeat => return Ok(Received::Repeat),
        Admission::TooMany => return Ok(Received::TooMany),
        Admission::Kept => {}
    }
    c.append(&Evidence {
        batch_id: batch_of(c, seq)?,
        seq,
        at: moment.now,
        kind: (NOTED_CALLBACK, None, None),
        anomaly: Some("the row has no amount"),
        digest: Some(&note.digest),
        is_of_body: !c.is_shared(),
        detail: detail_of(&note.said, note.body.as_deref()).as_deref(),
        words: Words::of(&note.said),
        policy: None,
    })?;
    Ok(Received::Stored(None))
}
