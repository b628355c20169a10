//! What evidence makes of a payment, written: the only place where its life changes. The rule is [`crate::ledger::evidence::apply`].

use super::agreed::{judged, note_other};
use super::posted_elsewhere::worth;
use super::shown::hold_unpaid;
use crate::domain::{ResponseDetails, Timestamp};
use crate::journal::Error;
use crate::journal::codec::detail::detail_of;
use crate::journal::codec::events::{event_numbers, kind_numbers};
use crate::journal::codec::lives::SavedLife;
use crate::journal::codec::values::{NEVER, assert_changed};
use crate::journal::evidence::chain::Evidence;
use crate::journal::run::lanes::open_all;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::Judgement;
use crate::ledger::evidence::{self, Change, Heard, Kind, NewEvidence, Row, Told, Words};
use crate::ledger::reconciliation::stands_unpaid;
use crate::lifecycle::{Event, Policy, State, Step, StepContext, step};
use crate::store::tables::life;
use crate::store::{Column, Field, Reads, Scan, Shape, Test, Value, Write, Writes, shape};

/// What was heard, as it is kept.
#[derive(Clone, Copy)]
pub(in crate::journal) struct Source<'a> {
    pub(in crate::journal) said: &'a ResponseDetails,
    /// Of the body of a callback.
    pub(in crate::journal) digest: Option<&'a [u8; 32]>,
    /// The body of a callback, where it is not applied.
    pub(in crate::journal) body: Option<&'a str>,
}

/// Applies what happened to a payment that was read before, or what was heard of a post or a question.
pub(in crate::journal) fn apply(
    c: &WriteSession,
    subject: &mut Subject,
    event: Event,
    said: &ResponseDetails,
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let (event, said) = worth(c, subject, event, said)?;
    let said = &*said;
    let judgement = match event {
        Event::Reply(_) | Event::Answer(_) => judged(c, subject, said)?,
        _ => Judgement::default(),
    };
    let evidence = NewEvidence {
        event: Some(event),
        said,
        judgement: &judgement,
    };
    let source = Source {
        said,
        digest: None,
        body: None,
    };
    let change = evidence::apply(&subject.moved.life, evidence, moment, policy);
    write(c, subject, &change, source, moment, policy)
}

/// Writes what evidence makes of a payment.
pub(in crate::journal) fn write(
    c: &WriteSession,
    subject: &mut Subject,
    change: &Change<'_>,
    source: Source<'_>,
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    if let Some(why) = change.opens {
        open_all(c, subject.batch_id, why)?;
    }
    let stood_unpaid = stands_unpaid(subject.moved.life.state);
    let is_aside = waits_aside(c, subject, change);
    if change.is_written {
        save(c, subject, change, !is_aside, moment.now)?;
    }
    subject.moved.life = change.life;
    if change.heard != Heard::Nothing {
        subject.moved.heard = change.heard;
    }
    c.remember(subject);
    if let Some(words) = change.named_otherwise() {
        note_other(c, subject, words)?;
    }
    for row in change.rows.iter().flatten() {
        append(c, subject, row, source, moment.now, policy)?;
    }
    match stood_unpaid {
        true => Ok(()),
        false => hold_unpaid(c, subject, moment),
    }
}

/// Appends a row of evidence.
fn append(
    c: &WriteSession,
    subject: &Subject,
    row: &Row,
    source: Source<'_>,
    at: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let own = Evidence {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        at,
        kind: kind_numbers(row.kind),
        anomaly: row.note.as_deref(),
        policy: row.kind.rests_on_policy().then_some(policy),
        ..Evidence::default()
    };
    if !row.has_words {
        return c.append(&own);
    }
    let is_applied = matches!(row.kind, Kind::Event(_));
    let detail = detail_of(source.said, source.body.filter(|_| !is_applied));
    c.append(&Evidence {
        digest: source.digest,
        // Programs of an earlier release that share a journal on a server know the whole digest alone.
        is_of_body: !c.is_shared(),
        detail: detail.as_deref(),
        words: Words::of(source.said),
        ..own
    })
}

/// Returns whether the run remembers when the payment is to be asked about.
fn waits_aside(c: &WriteSession, subject: &Subject, change: &Change<'_>) -> bool {
    let due_at = change.life.due_at.filter(|_| change.waits_aside);
    due_at.is_some_and(|due_at| {
        let seq = subject.moved.seq;
        c.waits(subject.batch_id, |waits| waits.remember(seq, due_at))
            .is_some()
    })
}

/// Stores where a payment stands, and what was said of it.
fn save(
    c: &WriteSession,
    subject: &Subject,
    change: &Change<'_>,
    queued: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let saved = SavedLife {
        life: change.life,
        queued,
    };
    let own = Scan::of(&life::TABLE).at(&subject.moved.seq);
    let mut columns = SavedLife::COLUMNS.to_vec();
    let mut values = saved.values();
    if let Some(told) = &change.told {
        keep_told(c, &own, told, &mut columns, &mut values)?;
    }
    if change.ends {
        columns.push(life::settled_at);
        values.push(now.to_value());
    }
    let changed = c.change_rows(&own, &columns, &values)?;
    assert_changed(subject.moved.seq, changed)
}

/// Adds the columns that keep words of a payment.
fn keep_told<'t>(
    c: &WriteSession,
    own: &Scan<'_>,
    told: &'t Told<'_>,
    columns: &mut Vec<Column>,
    values: &mut Vec<Value<'t>>,
) -> Result<(), Error> {
    let words = &told.words;
    let phrase_id = words.description.map(|text| c.phrase(text)).transpose()?;
    let phrase_id = phrase_id.map_or(Value::Null, |id| Value::Integer(id.get()));
    let (receipt, narration) = (&words.receipt_number, &words.receiver_narration);
    let id = words.gateway_transaction_id.to_value();
    let fills = told.fill_gaps;
    let said = [
        (life::gateway_transaction_id, id, fills),
        (life::receipt_number, receipt.to_value(), fills),
        (life::receiver_narration, narration.to_value(), fills),
        (life::phrase_id, phrase_id, fills),
        (life::application_id, told.application_id.to_value(), true),
    ];
    for (column, value, fills_gap) in said {
        let is_empty = || c.any(&own.clone().only(column, Test::Absent));
        if value != Value::Null && (!fills_gap || is_empty()?) {
            columns.push(column);
            values.push(value);
        }
    }
    Ok(())
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
