//! Evidence in, states out: the only place where a payment's life changes.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use super::NEVER;
use super::chain::{Chained, Evidence, Words};
use super::fresh::begin_life;
use super::row::{
    LIFE_COLUMNS, NOTED_CALLBACK, add_to_tally, assert_changed, corrupt, currency_of, due_number,
    event_numbers, life_of, millis, save_life, state_number,
};
use crate::domain::{Amount, Money, PayerTransactionId, Said};
use crate::journal::{CallbackNote, Error, Finding, Moved, Received};
use crate::lifecycle::{Anomaly, Class, Event, Life, Moment, Policy, State, Step, step};

/// Callbacks of one payment that are kept; an honest gateway sends a handful.
const CALLBACKS_MAX: i64 = 64;

/// A payment in the middle of a transaction.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Subject {
    pub(super) batch_id: i64,
    pub(super) replaced: bool,
    /// How many callbacks about it are stored, where that is known.
    pub(super) callbacks: Option<i64>,
    pub(super) moved: Moved,
}

/// Reads where a payment stands; a life that has not begun begins.
pub(super) fn subject(c: &Chained, seq: i64) -> Result<Subject, Error> {
    payment(c, seq)?.ok_or_else(|| corrupt("a payment without an amount"))
}

/// The same of a row that may have no amount, and is no payment then: `None`.
fn payment(c: &Chained, seq: i64) -> Result<Option<Subject>, Error> {
    if let Some(mut known) = c.recent(seq) {
        known.moved.from = known.moved.life.state;
        return Ok(Some(known));
    }
    let mut statement = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS}, i.batch_id, i.service_id, i.amount, i.currency, l.replaced_by is not null, l.seq is null
         from instruction i left join life l on l.seq = i.seq where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
    let life = life_of(row, 0)?;
    let currency = currency_of(
        row.get_ref(13)?
            .as_str()
            .map_err(|_| corrupt("a currency"))?,
    )?;
    let Some(minor) = row.get(12)? else {
        return Ok(None);
    };
    let amount = Amount::from_minor(minor).ok_or_else(|| corrupt("an amount of zero"))?;
    let (batch_id, lane) = (row.get(10)?, row.get(11)?);
    if row.get(15)? {
        begin_life(c, batch_id, lane, seq)?;
    }
    Ok(Some(Subject {
        batch_id,
        replaced: row.get(14)?,
        callbacks: None,
        moved: Moved {
            seq,
            lane,
            from: life.state,
            life,
            money: Money { amount, currency },
        },
    }))
}

/// Sums what moved between states, so that the tally is written once per group.
#[derive(Default)]
pub(super) struct Tallies(BTreeMap<(i64, i64, &'static str, State), (i64, i64)>);

impl Tallies {
    pub(super) fn moved(&mut self, subject: &Subject, from: State) {
        let to = subject.moved.life.state;
        // A replaced failure is out of the count: the retry stands for its line.
        if from == to || subject.replaced {
            return;
        }
        let money = subject.moved.money;
        for (state, sign) in [(from, -1), (to, 1)] {
            let key = (
                subject.batch_id,
                subject.moved.lane,
                money.currency.code(),
                state,
            );
            let sum = self.0.entry(key).or_default();
            sum.0 += sign;
            sum.1 += sign * money.amount.minor();
        }
    }

    pub(super) fn write(self, c: &Connection) -> Result<(), Error> {
        for ((batch_id, lane, currency, state), (count, amount)) in self.0 {
            #[cfg(test)]
            if state == State::Failed && crate::canary::Canary::TallyForgotten.sings() {
                continue;
            }
            add_to_tally(c, batch_id, lane, currency, state, count, amount)?;
        }
        Ok(())
    }
}

/// Applies one event to a payment that was read before, and appends the evidence.
pub(super) fn apply(
    c: &Chained,
    subject: &mut Subject,
    event: Event,
    said: &Said,
    digest: Option<&[u8; 32]>,
    moment: Moment,
    policy: &Policy,
) -> Result<Option<Anomaly>, Error> {
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
    if subject.replaced && life.state == State::Conflict && before.state != State::Conflict {
        hold_retry(c, subject.moved.seq)?;
    }
    subject.moved.life = life;
    c.remember(subject);
    let note = anomaly
        .map(|anomaly| anomaly.to_string())
        .or_else(|| said.anomaly.clone());
    #[cfg(test)]
    if event == Event::Lost && crate::canary::Canary::EvidenceForgotten.sings() {
        return Ok(anomaly);
    }
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        at: moment.now,
        kind: event_numbers(event),
        anomaly: note.as_deref(),
        digest,
        detail: detail_of(said).as_deref(),
        words,
        policy: Some(policy),
    })?;
    Ok(anomaly)
}

/// Returns whether the run remembers when the payment is to be asked about, which has just been acknowledged to it.
fn waits_aside(c: &Chained, subject: &Subject, event: Event, life: &Life) -> bool {
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

/// Keeps a retry that was not posted yet from being posted: what it replaces may have been paid.
fn hold_retry(c: &Chained, seq: i64) -> Result<(), Error> {
    set_retry_due(c, seq, NEVER)
}

/// Lets a retry be posted after all: what it replaces is decided to have failed.
pub(super) fn release_retry(c: &Chained, seq: i64) -> Result<(), Error> {
    set_retry_due(c, seq, 0)
}

// Of all generations at most the newest is ready.
fn set_retry_due(c: &Chained, seq: i64, due_at: i64) -> Result<(), Error> {
    c.forget_recent();
    c.prepare_cached(
        "with recursive later (seq) as (
             select replaced_by from life where seq = ?1 and replaced_by is not null
             union all select l.replaced_by from life l join later using (seq) where l.replaced_by is not null)
         update life set due_at = ?2 where seq in later and state = 0",
    )?
    .execute(params![seq, due_at])?;
    Ok(())
}

/// Stores where a payment stands, and what was said of it.
fn save_told(
    c: &Chained,
    seq: i64,
    life: &Life,
    queued: bool,
    words: Words<'_>,
    Meaning {
        ended,
        late,
        delivered,
    }: Meaning,
    moment: Moment,
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
            life.known,
            life.not_found,
            millis(life.quarantine_from),
            life.queries,
            due_number(life),
            words.gateway_transaction_id,
            words.receipt_number,
            words.receiver_narration,
            phrase_id,
            ended,
            moment.now.as_millis(),
            late,
            delivered,
            queued,
        ])?;
    assert_changed(seq, changed)
}

/// What is kept of a reply beside the gateway's words, as JSON.
fn detail_of(said: &Said) -> Option<String> {
    let detail = Detail {
        cause: Some(said.cause.as_str()).filter(|cause| !cause.is_empty()),
        http_status: said.http_status.filter(|status| *status != 200),
    };
    (detail != Detail::default())
        .then(|| serde_json::to_string(&detail).expect("texts and a number have a JSON form"))
}

#[derive(Default, PartialEq, Serialize)]
struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
}

/// Records findings, in order.
pub(super) fn record(
    c: &Chained,
    findings: &[Finding],
    moment: Moment,
    policy: &Policy,
) -> Result<Vec<Moved>, Error> {
    let mut moves = Vec::with_capacity(findings.len());
    for (index, finding) in findings.iter().enumerate() {
        // Spread over the group: payments that were lost together are not asked about together.
        let jitter = moment
            .jitter
            .wrapping_add(u8::try_from(index * 37 % 251).unwrap_or(0));
        let mut subject = subject(c, finding.seq)?;
        let from = subject.moved.from;
        apply(
            c,
            &mut subject,
            finding.event,
            &finding.said,
            None,
            Moment { jitter, ..moment },
            policy,
        )?;
        c.moved(&subject, from);
        moves.push(subject.moved);
    }
    Ok(moves)
}

/// The callbacks of payment ?1 that are stored, and those of them with digest ?2.
// The index is named: statistics of a journal that was only just loaded say that there is next to no evidence, and that
// reading all of it is as good.
pub(super) const STORED_CALLBACKS: &str = "select count(*), count(*) filter (where digest = ?2) from evidence indexed by evidence_by_payment
     where seq = ?1 and event in (8, ?3) and digest is not null";

/// Stores a callback and applies it.
pub(super) fn callback(
    c: &Chained,
    note: &CallbackNote,
    moment: Moment,
    policy: &Policy,
) -> Result<Received, Error> {
    let seq = match c.recent_by(note.id) {
        Some(seq) => seq,
        None => match find(c, note.id)? {
            Some(seq) => seq,
            None => return Ok(Received::Unknown),
        },
    };
    let known = c.recent(seq);
    let callbacks = match known.and_then(|known| known.callbacks) {
        Some(0) => 0,
        _ => {
            let (stored, same): (i64, i64) = c
                .prepare_cached(STORED_CALLBACKS)?
                .query_row(params![seq, &note.digest[..], NOTED_CALLBACK], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            let (waiting, same_waiting) = c.waiting_callbacks(seq, &note.digest);
            if same + same_waiting > 0 {
                return Ok(Received::Repeat);
            }
            stored + waiting
        }
    };
    if callbacks >= CALLBACKS_MAX {
        return Ok(Received::TooMany);
    }
    let Some(mut subject) = payment(c, seq)? else {
        // It was never posted from here: another journal may have done so. Once the row has its amount, it is asked about first.
        return note_callback(c, seq, note, "the row has no amount", moment);
    };
    subject.callbacks = Some(callbacks + 1);
    c.remember(&subject);
    let other_amount = note.amount.as_deref().filter(|text| {
        let money = subject.moved.money;
        Amount::parse(text, money.currency) != Ok(money.amount)
    });
    let event = match (note.event, other_amount) {
        (Some(event), None) => event,
        (_, other_amount) => {
            let why = match other_amount {
                Some(_) => "the callback names another amount",
                None => note
                    .said
                    .anomaly
                    .as_deref()
                    .unwrap_or("not a callback about this payment"),
            };
            return note_callback(c, seq, note, why, moment);
        }
    };
    let from = subject.moved.from;
    apply(
        c,
        &mut subject,
        event,
        &note.said,
        Some(&note.digest),
        moment,
        policy,
    )?;
    c.moved(&subject, from);
    Ok(Received::Stored(Some(subject.moved)))
}

/// Keeps a callback that is not applied.
fn note_callback(
    c: &Chained,
    seq: i64,
    note: &CallbackNote,
    why: &str,
    moment: Moment,
) -> Result<Received, Error> {
    c.append(&Evidence {
        batch_id: batch_of(c, seq)?,
        seq,
        at: moment.now,
        kind: (NOTED_CALLBACK, None, None),
        anomaly: Some(why),
        digest: Some(&note.digest),
        detail: detail_of(&note.said).as_deref(),
        words: Words::of(&note.said),
        policy: None,
    })?;
    Ok(Received::Stored(None))
}

/// Returns the batch of a row.
pub(super) fn batch_of(c: &Connection, seq: i64) -> Result<i64, Error> {
    Ok(
        c.prepare_cached("select batch_id from instruction where seq = ?1")?
            .query_row([seq], |row| row.get(0))?,
    )
}

/// Returns whether any batch has this identifier.
pub(super) fn knows(c: &Connection, id: PayerTransactionId) -> Result<bool, Error> {
    Ok(find(c, id)?.is_some())
}

/// Looks up a payment by its identifier.
pub(super) fn find(c: &Connection, id: PayerTransactionId) -> Result<Option<i64>, Error> {
    Ok(
        c.prepare_cached("select seq from identifier where identifier = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?,
    )
}

/// Moves a ready payment to `posting`, with its evidence.
pub(super) fn claim_one(
    c: &Chained,
    subject: &mut Subject,
    moment: Moment,
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
