//! Evidence in, states out: the only place where a payment's life changes.

use std::borrow::Cow;

use rusqlite::params;

use super::agreed::{apply_other, judged, noted};
use super::taken::{conclude_other, conclude_taken, recognise};
use crate::domain::{PaymentId, ResponseDetails, Timestamp};
use crate::journal::sqlite::codec::detail::detail_of;
use crate::journal::sqlite::codec::events::event_numbers;
use crate::journal::sqlite::codec::lives::save_life;
use crate::journal::sqlite::codec::values::NEVER;
use crate::journal::sqlite::codec::values::{
    assert_changed, due_number, known_number, millis, state_number,
};
use crate::journal::sqlite::evidence::chain::{Evidence, Words};
use crate::journal::sqlite::run::lanes::open_all;
use crate::journal::sqlite::session::subject::Subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, Heard};
use crate::ledger::HeldFor;
use crate::ledger::told_identifier::worth_keeping;
use crate::lifecycle::{
    Anomaly, Class, Event, PaymentState, Policy, State, Step, StepContext, step,
};

/// Applies one event to a payment that was read before, and appends the evidence.
pub(in crate::journal::sqlite) fn apply(
    c: &WriteSession,
    subject: &mut Subject,
    event: Event,
    said: &ResponseDetails,
    digest: Option<&[u8; 32]>,
    moment: StepContext,
    policy: &Policy,
) -> Result<Option<Anomaly>, Error> {
    let has_words = matches!(
        event,
        Event::Reply(_) | Event::Answer(_) | Event::Callback(_)
    );
    let mut heard = Heard::Unnamed;
    let mut told = Cow::Borrowed(said);
    // A callback was held against its instruction before.
    if matches!(event, Event::Reply(_) | Event::Answer(_)) {
        let judgement = judged(c, subject, said)?;
        if let Some(differs) = judgement.differs {
            apply_other(c, subject, event, said, &differs, moment, policy)?;
            return conclude_other(c, subject, event, moment, policy);
        }
        if judgement.agrees {
            heard = Heard::Ours;
        }
        if judgement.is_ours {
            // It names what is ours: whatever the posts were stopped for has an end.
            let why = match subject.moved.life.taken {
                true => HeldFor::Taken,
                false => HeldFor::Misread,
            };
            open_all(c, subject.batch_id, why)?;
        }
        recognise(c, subject, judgement.is_ours, moment, policy)?;
        told = noted(said, &judgement);
    }
    let said = told.as_ref();
    let before = subject.moved.life;
    let Step { life, anomaly } = step(&before, event, moment, policy);
    let meaning = Meaning {
        ended: life.state != before.state && life.state.is_finished(),
        late: life.state == before.state && before.state.is_finished(),
        delivered: matches!(
            event,
            Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict)
                if verdict.class == Class::Delivered
        ),
    };
    let words = Words::of(said);
    let queued = !waits_aside(c, subject, event, &life);
    if meaning.ended || words.are_some() {
        save_told(c, subject.moved.seq, &life, queued, words, meaning, moment)?;
    } else if life != before {
        save_life(c, subject.moved.seq, &life, queued)?;
    }
    subject.moved.life = life;
    if has_words {
        subject.moved.heard = heard;
    }
    c.remember(subject);
    #[cfg(test)]
    if event == Event::Lost && crate::seeded_bugs::SeededBug::EvidenceForgotten.is_active() {
        return Ok(anomaly);
    }
    append(
        c,
        subject,
        event,
        said,
        (anomaly, digest),
        moment.now,
        policy,
    )?;
    if life.taken {
        if !before.taken {
            subject.moved.heard = Heard::Taken;
        }
        conclude_taken(c, subject, moment, policy)?;
    }
    Ok(anomaly)
}

/// Appends the evidence of an event, with what was said.
fn append(
    c: &WriteSession,
    subject: &Subject,
    event: Event,
    said: &ResponseDetails,
    (anomaly, digest): (Option<Anomaly>, Option<&[u8; 32]>),
    at: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let notes = anomaly.map(|anomaly| anomaly.to_string()).into_iter();
    let notes: Vec<String> = notes.chain(said.anomaly.clone()).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        at,
        kind: event_numbers(event),
        anomaly: note.as_deref(),
        digest,
        detail: detail_of(said).as_deref(),
        words: Words::of(said),
        policy: Some(policy),
    })
}

/// Returns whether the run remembers when the payment is to be asked about, which has just been acknowledged to it.
fn waits_aside(c: &WriteSession, subject: &Subject, event: Event, life: &PaymentState) -> bool {
    match life.due_at {
        Some(due_at) if life.state == State::Acknowledged && matches!(event, Event::Reply(_)) => c
            .waits(subject.batch_id, |waits| {
                waits.remember(subject.moved.seq, due_at)
            })
            .is_some(),
        _ => false,
    }
}

/// What the gateway's words mean for the payment.
#[derive(Clone, Copy)]
struct Meaning {
    /// They ended it.
    ended: bool,
    /// It had ended before: they fill gaps, and replace nothing.
    // A reply of "pending" that its own callback overtook would else describe a payment that is paid.
    late: bool,
    /// They tell of a delivery to the bank: their receipt is the application id.
    delivered: bool,
}

/// Stores where a payment stands, and what was said of it.
fn save_told(
    c: &WriteSession,
    seq: PaymentId,
    life: &PaymentState,
    queued: bool,
    words: Words<'_>,
    Meaning {
        ended,
        late,
        delivered,
    }: Meaning,
    moment: StepContext,
) -> Result<(), Error> {
    let phrase_id = words.description.map(|text| c.phrase(text)).transpose()?;
    let changed = c
        .prepare_cached(
            "update or fail life set state = ?2, code = ?3, attempts = ?4, posted_at = ?5, exposures = ?6, known = ?7,
                 not_found = ?8, quarantine_from = ?9, queries = ?10, due_at = ?11,
                 gateway_transaction_id = iif(?18, coalesce(gateway_transaction_id, ?12), coalesce(?12, gateway_transaction_id)),
                 receipt_number = iif(?18, coalesce(receipt_number, ?13), coalesce(?13, receipt_number)),
                 receiver_narration = iif(?18, coalesce(receiver_narration, ?14), coalesce(?14, receiver_narration)),
                 phrase_id = iif(?18, coalesce(phrase_id, ?15), coalesce(?15, phrase_id)),
                 settled_at = iif(?16, ?17, settled_at),
                 application_id = iif(?19, coalesce(application_id, ?13), application_id),
                 queued = ?20
             where seq = ?1",
        )?
        .execute(params![
            seq,
            state_number(life.state),
            life.code,
            life.attempts,
            millis(life.posted_at),
            life.exposures,
            known_number(life),
            life.not_found,
            millis(life.quarantine_from),
            life.queries,
            due_number(life),
            worth_keeping(words.gateway_transaction_id),
            words.receipt_number,
            words.receiver_narration,
            phrase_id,
            ended,
            moment.now.as_millis(),
            late,
            delivered,
            queued,
        ])?;
    assert_changed(seq, changed as u64)
}

/// Moves a ready payment to `posting`, with its evidence.
pub(in crate::journal::sqlite) fn claim_one(
    c: &WriteSession,
    subject: &mut Subject,
    moment: StepContext,
    policy: &Policy,
) -> Result<bool, Error> {
    let Step { life, anomaly } = step(&subject.moved.life, Event::Claimed, moment, policy);
    if anomaly.is_some() {
        return Ok(false);
    }
    c.prepare_cached(
        "update or fail life set state = 1, attempts = ?2, posted_at = ?3, quarantine_from = ?4, not_found = ?5, queries = ?6,
             due_at = ?7 where seq = ?1 and state = 0",
    )?
    .execute(params![
        subject.moved.seq,
        life.attempts,
        millis(life.posted_at),
        millis(life.quarantine_from),
        life.not_found,
        life.queries,
        NEVER,
    ])?;
    subject.moved.life = life;
    c.remember(subject);
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        at: moment.now,
        kind: event_numbers(Event::Claimed),
        policy: Some(policy),
        ..Evidence::default()
    })?;
    Ok(true)
}
