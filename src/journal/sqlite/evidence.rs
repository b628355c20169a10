//! Evidence in, states out: the only place where a payment's life changes.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use super::agreed::{apply_other, judged};
use super::chain::{Evidence, Words};
use super::fresh::begin_life;
use super::generations;
use super::held::open_all;
use super::inquiries;
use super::row::NEVER;
use super::row::{
    LIFE_COLUMNS, add_to_tally, assert_changed, corrupt, currency_of, due_number, event_numbers,
    known_number, life_of, millis, save_life, state_number,
};
use super::session::Chained;
use super::taken::{conclude_other, conclude_taken, recognise};
use crate::domain::{Amount, Money, PayerTransactionId, Said};
use crate::journal::{Error, Finding, Heard, Moved};
use crate::ledger::HeldFor;
use crate::ledger::withdrawal::is_due;
use crate::lifecycle::{Anomaly, Class, Event, Life, Moment, Policy, State, Step, step};

/// A payment in the middle of a transaction.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Subject {
    pub(super) batch_id: i64,
    /// Its row has other generations: it is a retry, or has one.
    pub(super) has_generations: bool,
    /// How many callbacks about it are stored, where that is known.
    pub(super) callbacks: Option<i64>,
    pub(super) moved: Moved,
}

/// Reads where a payment stands; a life that has not begun begins.
pub(super) fn subject(c: &Chained, seq: i64) -> Result<Subject, Error> {
    payment(c, seq)?.ok_or_else(|| corrupt("a payment without an amount"))
}

/// The same of a row that may have no amount, and is no payment then: `None`.
pub(super) fn payment(c: &Chained, seq: i64) -> Result<Option<Subject>, Error> {
    if let Some(mut known) = c.recent(seq) {
        known.moved.from = known.moved.life.state;
        return Ok(Some(known));
    }
    let mut statement = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS}, i.batch_id, i.service_id, i.amount, i.currency, l.replaced_by is not null or i.generation > 0, l.seq is null
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
        has_generations: row.get(14)?,
        callbacks: None,
        moved: Moved {
            seq,
            lane,
            from: life.state,
            life,
            money: Money { amount, currency },
            heard: Heard::Nothing,
        },
    }))
}

/// Where a row is counted, and its minor units there.
pub(super) type Counted = (State, i64);

/// Sums what moved between states, so that the tally is written once per group.
#[derive(Default)]
pub(super) struct Tallies(BTreeMap<(i64, i64, &'static str, State), (i64, i64)>);

impl Tallies {
    /// The row of a payment was counted at `from`, and is counted at `to` now.
    pub(super) fn moved(&mut self, subject: &Subject, from: Counted, to: Counted) {
        if from == to {
            return;
        }
        // A corrected row has another amount, in the same lane and currency.
        let currency = subject.moved.money.currency.code();
        for ((state, minor), sign) in [(from, -1), (to, 1)] {
            let key = (subject.batch_id, subject.moved.lane, currency, state);
            let sum = self.0.entry(key).or_default();
            sum.0 += sign;
            sum.1 += sign * minor;
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
    let has_words = matches!(
        event,
        Event::Reply(_) | Event::Answer(_) | Event::Callback(_)
    );
    // A callback was held against its instruction before.
    if matches!(event, Event::Reply(_) | Event::Answer(_)) {
        let judgement = judged(c, subject, said)?;
        if let Some(differs) = judgement.differs {
            apply_other(c, subject, event, said, &differs, moment, policy)?;
            return conclude_other(c, subject, event, moment, policy);
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
    }
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
        subject.moved.heard = Heard::Ours;
    }
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
    if life.taken {
        if !before.taken {
            subject.moved.heard = Heard::Taken;
        }
        conclude_taken(c, subject, moment, policy)?;
    }
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
            known_number(life),
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
pub(super) fn detail_of(said: &Said) -> Option<String> {
    detail_with(said, None)
}

/// The same, with a body that could not be read.
pub(super) fn detail_with(said: &Said, body: Option<&str>) -> Option<String> {
    let detail = Detail {
        cause: Some(said.cause.as_str()).filter(|cause| !cause.is_empty()),
        http_status: said.http_status.filter(|status| *status != 200),
        body,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
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
        c.moved(&subject, from)?;
        if subject.has_generations || from.is_finished() || is_due(&subject.moved.life) {
            generations::settle(c, &mut subject, moment, Some(policy))?;
            if matches!(finding.event, Event::Answer(_) | Event::NoAnswer) {
                inquiries::put_off(c, finding.seq, moment, policy)?;
            }
        }
        moves.push(subject.moved);
    }
    Ok(moves)
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
