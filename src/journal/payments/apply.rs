//! Evidence in, states out: the only place where a payment's life changes.

use std::borrow::Cow;

use super::agreed::{apply_other, judged, noted};
use super::taken::{conclude_other, conclude_taken, recognise};
use crate::domain::{PaymentId, ResponseDetails, Timestamp};
use crate::journal::codec::detail::detail_of;
use crate::journal::codec::events::event_numbers;
use crate::journal::codec::lives::{SavedLife, save_life};
use crate::journal::codec::values::{NEVER, assert_changed};
use crate::journal::evidence::chain::{Evidence, Words};
use crate::journal::run::lanes::open_all;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Heard};
use crate::ledger::HeldFor;
use crate::ledger::told_identifier::worth_keeping;
use crate::lifecycle::{
    Anomaly, Class, Event, PaymentState, Policy, State, Step, StepContext, step,
};
use crate::store::tables::life;
use crate::store::{Field, Reads, Scan, Shape, Test, Value, Write, Writes, shape};

/// Applies one event to a payment that was read before, and appends the evidence.
pub(in crate::journal) fn apply(
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
    planted_instead!(journal::without_evidence(event, anomaly));
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
    stands: &PaymentState,
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
    let own = Scan::of(&life::TABLE).at(&seq);
    let is_empty = |column| c.any(&own.clone().only(column, Test::Absent));
    let saved = SavedLife {
        life: *stands,
        queued,
    };
    let gateway_transaction_id = worth_keeping(words.gateway_transaction_id);
    let mut columns = SavedLife::COLUMNS.to_vec();
    let mut values = saved.values();
    let said = [
        (
            life::gateway_transaction_id,
            gateway_transaction_id.to_value(),
        ),
        (life::receipt_number, words.receipt_number.to_value()),
        (
            life::receiver_narration,
            words.receiver_narration.to_value(),
        ),
        (life::phrase_id, phrase_id.to_value()),
    ];
    for (column, value) in said {
        if value != Value::Null && (!late || is_empty(column)?) {
            columns.push(column);
            values.push(value);
        }
    }
    if delivered && words.receipt_number.is_some() && is_empty(life::application_id)? {
        columns.push(life::application_id);
        values.push(words.receipt_number.to_value());
    }
    if ended {
        columns.push(life::settled_at);
        values.push(moment.now.to_value());
    }
    let changed = c.change_rows(&own, &columns, &values)?;
    assert_changed(seq, changed)
}

shape! {
    /// A payment whose intent to be posted is recorded.
    struct Claimed of life {
        state: State, attempts: u32, posted_at: Option<Timestamp>, quarantine_from: Option<Timestamp>, not_found: u8, queries: u32,
        due_at: i64,
    }
}

/// Moves a ready payment to `posting`, with its evidence.
pub(in crate::journal) fn claim_one(
    c: &WriteSession,
    subject: &mut Subject,
    moment: StepContext,
    policy: &Policy,
) -> Result<bool, Error> {
    let Step {
        life: stands,
        anomaly,
    } = step(&subject.moved.life, Event::Claimed, moment, policy);
    if anomaly.is_some() {
        return Ok(false);
    }
    let own = Scan::of(&life::TABLE)
        .at(&subject.moved.seq)
        .only(life::state, Test::is(&State::Ready));
    let claimed = Claimed {
        state: State::Posting,
        attempts: stands.attempts,
        posted_at: stands.posted_at,
        quarantine_from: stands.quarantine_from,
        not_found: stands.not_found,
        queries: stands.queries,
        due_at: NEVER,
    };
    c.change(&own, &claimed)?;
    subject.moved.life = stands;
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
