//! Decisions that rest on what was seen before: by the gateway's answer, and by what was shown to a person.

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::Journal;
use super::anew::Anew;
use super::chain::Chained;
use super::evidence::{record, subject};
use super::names::rows_named;
use super::operator::{RETRIABLE, acted_on, cancel, order, refuse_without_amount, retry};
use super::row::{LIFE_COLUMNS, currency_of, identifier_of, life_of};
use super::run::known_batch;
use super::turns::Manner;
use super::unretried::why_not;
use crate::domain::{Amount, BatchName, Money, Tally, Timestamp};
use crate::journal::{Answered, Decision, Error, Finding, Looked, Moved, RepeatPlan, Seen};
use crate::ledger::decisions::{Asked, ByCode, Heard, Refusal, is_within, may_fail};
use crate::ledger::names::PaymentName;
use crate::lifecycle::{Event, Moment, Policy, proven};

impl Journal {
    /// Returns what is known of the payment that a person names, the newest of its generations.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`], [`Error::TwoPayments`]; [`Error::NotAllowed`] of a row without an amount.
    pub async fn look(&self, batch: BatchName, name: PaymentName) -> Result<Looked, Error> {
        self.ask(Manner::Alone, move |c| look(c, &batch, &name))
            .await
    }

    /// Records what the gateway answered about a payment that an operator is about to decide.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn hear(
        &self,
        seen: Seen,
        finding: Finding,
        moment: Moment,
        policy: Policy,
    ) -> Result<Answered, Error> {
        self.ask(Manner::Alone, move |c| {
            let learned = seen_of(c, finding.seq)? != seen;
            let seq = finding.seq;
            let moved = record(c, &[finding], moment, &policy)?.remove(0);
            Ok(Answered {
                moved,
                learned,
                seen: seen_of(c, seq)?,
            })
        })
        .await
    }

    /// Records an operator's decision that a payment failed, if what is known by now allows it.
    ///
    /// `asked.learned` is found out here: whether more is known than was seen.
    ///
    /// # Errors
    /// [`Error::NotAllowed`].
    pub async fn decide_failed(
        &self,
        seq: i64,
        seen: Seen,
        asked: Asked,
        decision: Decision,
        moment: Moment,
        policy: Policy,
    ) -> Result<Result<Moved, Refusal>, Error> {
        self.ask(Manner::Alone, move |c| {
            decide_failed(c, seq, seen, asked, &decision, moment, &policy)
        })
        .await
    }

    /// Returns what [`Self::retry_shown`] would order, by the codes of the failures; `repeats` leaves out those whose rows
    /// other loads have by now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn to_retry(
        &self,
        batch: BatchName,
        code: Option<i32>,
        repeats: Option<(RepeatPlan, Timestamp)>,
    ) -> Result<ByCode, Error> {
        self.ask(Manner::Alone, move |c| {
            to_retry(c, &batch, code, repeats.as_ref())
        })
        .await
    }

    /// Makes a new generation of proven failures, if they are no more than what was shown; returns how many.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::MoreThanShown`].
    pub async fn retry_shown(
        &self,
        batch: BatchName,
        code: Option<i32>,
        shown: ByCode,
        repeats: Option<RepeatPlan>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let repeats = repeats.map(|plan| (plan, now));
        self.ask(Manner::Alone, move |c| {
            let found = to_retry(c, &batch, code, repeats.as_ref())?;
            refuse_more(&batch, &shown, &found)?;
            retry(c, &batch, code, repeats.as_ref(), now)
        })
        .await
    }

    /// Returns what withdrawing the whole batch would withdraw; rows without an amount count, and add nothing.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn to_cancel(&self, batch: BatchName) -> Result<Tally, Error> {
        self.ask(Manner::Alone, move |c| to_cancel(c, &batch)).await
    }

    /// Withdraws what was never posted, if it is no more than what was shown; returns how many.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::MoreThanShown`].
    pub async fn cancel_shown(
        &self,
        batch: BatchName,
        shown: Tally,
        moment: Moment,
    ) -> Result<u64, Error> {
        self.ask(Manner::Alone, move |c| {
            let found = to_cancel(c, &batch)?;
            refuse_more(&batch, &vec![(None, shown)], &vec![(None, found)])?;
            cancel(c, &batch, None, moment)
        })
        .await
    }
}

fn refuse_more(batch: &BatchName, shown: &ByCode, found: &ByCode) -> Result<(), Error> {
    match is_within(shown, found) {
        true => Ok(()),
        false => Err(Error::MoreThanShown {
            batch: batch.clone(),
        }),
    }
}

fn look(c: &Chained, batch: &BatchName, name: &PaymentName) -> Result<Looked, Error> {
    let seq = rows_named(c, (batch, known_batch(c, batch)?), name)?[0];
    refuse_without_amount(c, seq)?;
    let seen = seen_of(c, seq)?;
    let mut statement = c.prepare_cached(
        "select i.identifier, i.amount, i.currency, l.gateway_transaction_id, b.gateway
         from instruction i left join life l on l.seq = i.seq join batch b on b.batch_id = i.batch_id where i.seq = ?1",
    )?;
    let (identifier, minor, currency, gateway_transaction_id, gateway): (
        String,
        i64,
        String,
        Option<String>,
        Option<String>,
    ) = statement.query_row([seq], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
        ))
    })?;
    Ok(Looked {
        seq,
        id: identifier_of(&identifier)?,
        money: Money {
            amount: Amount::from_minor(minor)
                .ok_or_else(|| super::row::corrupt("an amount of zero"))?,
            currency: currency_of(&currency)?,
        },
        gateway_transaction_id,
        gateway,
        life: seen.life,
        seen,
    })
}

/// Returns what is known of a payment: silence is not knowledge.
fn seen_of(c: &Chained, seq: i64) -> Result<Seen, Error> {
    c.flush()?;
    let mut statement = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS} from instruction i left join life l on l.seq = i.seq where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| super::row::corrupt(format!("payment {seq} is missing")))?;
    let life = life_of(row, 0)?;
    let evidence = c
        .prepare_cached(
            "select coalesce(max(evidence_id), 0) from evidence indexed by evidence_by_payment where seq = ?1 and event <> 7",
        )?
        .query_row([seq], |row| row.get(0))?;
    Ok(Seen {
        evidence,
        life: proven(life),
    })
}

fn decide_failed(
    c: &Chained,
    seq: i64,
    seen: Seen,
    asked: Asked,
    decision: &Decision,
    moment: Moment,
    policy: &Policy,
) -> Result<Result<Moved, Refusal>, Error> {
    let learned = seen_of(c, seq)? != seen;
    let life = subject(c, seq)?.moved.life;
    let asked = Asked { learned, ..asked };
    if let Err(refusal) = may_fail(&life, asked, moment.now, policy) {
        return Ok(Err(refusal));
    }
    let mut detail = json!({"reason": decision.reason, "evidence": decision.evidence});
    if let Some(heard) = asked.heard {
        detail["gateway_said"] = heard.name().into();
        if !matches!(heard, Heard::Failed | Heard::NotFound) && asked.although {
            detail["although_accepted"] = Value::Bool(true);
        }
    }
    let moved = order(
        c,
        seq,
        Event::DecidedFailed,
        Some(&detail.to_string()),
        moment,
    )?;
    acted_on(c, seq, "resolve", moment)?;
    Ok(Ok(moved))
}

fn to_retry(
    c: &Connection,
    batch: &BatchName,
    code: Option<i32>,
    repeats: Option<&(RepeatPlan, Timestamp)>,
) -> Result<ByCode, Error> {
    let batch_id = known_batch(c, batch)?;
    let anew = Anew::begin(c, batch_id, repeats)?;
    let mut statement = c.prepare(&format!(
        "select l.code, i.currency, 1, i.amount, l.seq from life l cross join instruction i using (seq)
         where {RETRIABLE} order by l.code nulls last, l.seq"
    ))?;
    let mut rows = statement.query(params![batch_id, code])?;
    let mut found: ByCode = Vec::new();
    while let Some(row) = rows.next()? {
        if why_not(c, anew.as_ref(), row.get(4)?)?.is_some() {
            continue;
        }
        let code: Option<i32> = row.get(0)?;
        if found.last().is_none_or(|(last, _)| *last != code) {
            found.push((code, Tally::default()));
        }
        if let Some((_, tally)) = found.last_mut() {
            add_sum(tally, row, 1)?;
        }
    }
    Ok(found)
}

fn to_cancel(c: &Connection, batch: &BatchName) -> Result<Tally, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut statement = c.prepare(
        "select i.currency, count(*), coalesce(sum(i.amount), 0) from instruction i left join life l on l.seq = i.seq
         where i.batch_id = ?1 and (l.seq is null or l.state = 0 and (l.exposures = 0 or l.attempts = 0)) group by i.currency",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut tally = Tally::default();
    while let Some(row) = rows.next()? {
        add_sum(&mut tally, row, 0)?;
    }
    Ok(tally)
}

/// Adds a sum whose currency, count and amount stand from the column `at` on.
fn add_sum(tally: &mut Tally, row: &rusqlite::Row<'_>, at: usize) -> Result<(), Error> {
    let currency = currency_of(&row.get::<_, String>(at)?)?;
    let count = row.get::<_, i64>(at + 1)?.unsigned_abs();
    tally.add_many(count, currency, i128::from(row.get::<_, i64>(at + 2)?));
    Ok(())
}
