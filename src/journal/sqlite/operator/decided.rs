//! Decisions that rest on what was seen before: by the gateway's answer, and by what was shown to a person.

use rusqlite::params;
use serde_json::{Value, json};

use super::names::rows_named;
use super::orders::{cancel_all, order, refuse_without_amount};
use super::recorded::{acted_on, stood};
use super::retry::retry;
use super::to_retry::to_retry;
use super::withdrawal::WITHDRAWABLE;
use crate::domain::{Amount, BatchName, Money, PaymentId, Tally, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::WITHDRAWAL_ORDERED;
use crate::journal::sqlite::codec::values::{
    LIFE_COLUMNS, country_of, currency_of, identifier_of, life_of,
};
use crate::journal::sqlite::payments::agreed::judged;
use crate::journal::sqlite::payments::inquiries::is_open_to_decision;
use crate::journal::sqlite::payments::record::record;
use crate::journal::sqlite::recovery::noticed::noticed_at;
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{
    Answered, Cancelled, Decided, Decision, Error, Failures, Finding, Looked, RepeatPlan, Seen,
    ToCancel, Transition,
};
use crate::ledger::decisions::{
    About, Asked, ByCode, Heard, Refusal, as_missed, is_within, may_fail,
};
use crate::ledger::names::PaymentName;
use crate::lifecycle::{Event, Policy, State, StepContext, proven};

impl Journal {
    /// Returns what is known of the payment that a person names, the newest of its generations.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`], [`Error::TwoPayments`]; [`Error::NotAllowed`] of a row without an amount.
    pub async fn look(&self, batch: BatchName, name: PaymentName) -> Result<Looked, Error> {
        self.ask(CommitMode::Alone, move |c| look(c, &batch, &name))
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
        moment: StepContext,
        policy: Policy,
    ) -> Result<Answered, Error> {
        self.ask(CommitMode::Alone, move |c| {
            let learned = seen_of(c, finding.seq)? != seen;
            let (seq, event) = (finding.seq, finding.event);
            let before = subject(c, seq)?;
            let judgement = judged(c, &before, &finding.said)?;
            let about = About {
                other: judgement.differs.is_some(),
                recognised: judgement.is_ours,
                taken: before.moved.life.taken,
            };
            let moved = record(c, &[finding], moment, &policy)?.remove(0);
            Ok(Answered {
                moved,
                heard: Heard::of(event, about),
                other: about.other,
                learned,
                seen: seen_of(c, seq)?,
            })
        })
        .await
    }

    /// Records an operator's decision that a payment was paid, if nothing was learned of it since it was seen.
    ///
    /// # Errors
    /// [`Error::NotAllowed`].
    pub async fn decide_paid(
        &self,
        seq: PaymentId,
        seen: Seen,
        decision: Decision,
        moment: StepContext,
    ) -> Result<Result<Transition, Refusal>, Error> {
        self.ask(CommitMode::Alone, move |c| {
            if seen_of(c, seq)? != seen {
                return Ok(Err(Refusal::LearnedMeanwhile));
            }
            Ok(Ok(record_paid(c, seq, &decision, moment)?))
        })
        .await
    }

    /// Records several decisions, all or none. What is refused is told with its payment.
    ///
    /// # Errors
    /// [`Error::NotAllowed`]; nothing is recorded then.
    pub async fn decide_many(
        &self,
        decided: Vec<Decided>,
        moment: StepContext,
        policy: Policy,
    ) -> Result<Result<Vec<Transition>, (PaymentId, Refusal)>, Error> {
        self.ask(CommitMode::Alone, move |c| {
            decide_many(c, &decided, moment, &policy)
        })
        .await
    }

    /// Says whether [`Self::decide_failed`] would record the decision.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn may_fail(
        &self,
        seq: PaymentId,
        seen: Seen,
        asked: Asked,
        now: Timestamp,
        policy: Policy,
    ) -> Result<Result<(), Refusal>, Error> {
        self.ask(CommitMode::Alone, move |c| {
            judge_failed(c, seq, seen, asked, now, &policy)
        })
        .await
    }

    /// Records an operator's decision that a payment failed, if what is known by now allows it.
    ///
    /// `asked.learned` and `asked.said_paid` are found out here: whether more is known than was seen, and what was said before.
    ///
    /// # Errors
    /// [`Error::NotAllowed`].
    pub async fn decide_failed(
        &self,
        seq: PaymentId,
        seen: Seen,
        asked: Asked,
        decision: Decision,
        moment: StepContext,
        policy: Policy,
    ) -> Result<Result<Transition, Refusal>, Error> {
        self.ask(CommitMode::Alone, move |c| {
            decide_failed(c, seq, seen, asked, &decision, moment, &policy)
        })
        .await
    }

    /// Makes a new generation of proven failures, if they are no more than what was shown; returns how many.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::MoreThanShown`], and those of [`Self::to_retry`].
    pub async fn retry_shown(
        &self,
        batch: BatchName,
        which: impl Into<Failures>,
        shown: ByCode,
        repeats: Option<RepeatPlan>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let (which, repeats) = (which.into(), repeats.map(|plan| (plan, now)));
        self.ask(CommitMode::Alone, move |c| {
            let found = to_retry(c, &batch, &which, repeats.as_ref())?;
            refuse_more(&batch, &shown, &found.by_code)?;
            retry(c, &batch, &which, repeats.as_ref(), now)
        })
        .await
    }

    /// Returns what withdrawing the whole batch would withdraw; rows without an amount count, and add nothing.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn to_cancel(&self, batch: BatchName) -> Result<ToCancel, Error> {
        self.ask(CommitMode::Alone, move |c| to_cancel(c, &batch))
            .await
    }

    /// Withdraws what was never posted, if it is no more than what was shown. Of what an earlier journal may have posted it orders
    /// that it be withdrawn once the gateway does not know it.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::MoreThanShown`].
    pub async fn cancel_shown(
        &self,
        batch: BatchName,
        shown: Tally,
        reason: Option<String>,
        moment: StepContext,
    ) -> Result<Cancelled, Error> {
        self.ask(CommitMode::Alone, move |c| {
            let found = to_cancel(c, &batch)?.tally;
            refuse_more(&batch, &vec![(None, shown)], &vec![(None, found)])?;
            cancel_all(c, &batch, reason.as_deref(), moment)
        })
        .await
    }
}

/// Carries out several decisions, each as a single one is. All are judged before the first is carried out.
fn decide_many(
    c: &WriteSession,
    decided: &[Decided],
    moment: StepContext,
    policy: &Policy,
) -> Result<Result<Vec<Transition>, (PaymentId, Refusal)>, Error> {
    for one in decided {
        let judged = match one.decision.paid {
            true if seen_of(c, one.seq)? != one.seen => Err(Refusal::LearnedMeanwhile),
            true => Ok(()),
            false => judge_failed(c, one.seq, one.seen, one.asked, moment.now, policy)?,
        };
        if let Err(refusal) = judged {
            return Ok(Err((one.seq, refusal)));
        }
    }
    let mut moves = Vec::with_capacity(decided.len());
    for one in decided {
        if one.decision.paid {
            moves.push(record_paid(c, one.seq, &one.decision, moment)?);
            continue;
        }
        let (seq, seen, asked) = (one.seq, one.seen, one.asked);
        match decide_failed(c, seq, seen, asked, &one.decision, moment, policy)? {
            Ok(moved) => moves.push(moved),
            // Two decisions about one row: nothing of it stands.
            Err(_) => {
                return Err(crate::journal::sqlite::codec::values::corrupt(
                    "a decision that was judged otherwise just now",
                ));
            }
        }
    }
    Ok(Ok(moves))
}

fn record_paid(
    c: &WriteSession,
    seq: PaymentId,
    decision: &Decision,
    moment: StepContext,
) -> Result<Transition, Error> {
    let detail = json!({"reason": decision.reason, "evidence": decision.evidence});
    let moved = order(
        c,
        seq,
        Event::DecidedPaid,
        Some(&detail.to_string()),
        moment,
    )?;
    acted_on(c, seq, ("resolve", "paid"), (None, stood(&moved)), moment)?;
    Ok(moved)
}

pub(in crate::journal::sqlite) fn refuse_more(
    batch: &BatchName,
    shown: &ByCode,
    found: &ByCode,
) -> Result<(), Error> {
    match is_within(shown, found) {
        true => Ok(()),
        false => Err(Error::MoreThanShown {
            batch: batch.clone(),
        }),
    }
}

fn look(c: &WriteSession, batch: &BatchName, name: &PaymentName) -> Result<Looked, Error> {
    let seq = rows_named(c, (batch, known_batch(c, batch)?), name)?[0];
    refuse_without_amount(c, seq)?;
    let seen = seen_of(c, seq)?;
    let mut statement = c.prepare_cached(
        "select i.identifier, i.amount, i.currency, l.gateway_transaction_id, b.gateway, i.country
         from instruction i left join life l on l.seq = i.seq join batch b on b.batch_id = i.batch_id where i.seq = ?1",
    )?;
    let (identifier, minor, currency, gateway_transaction_id, gateway, country): (
        String,
        i64,
        String,
        Option<String>,
        Option<String>,
        String,
    ) = statement.query_row([seq], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
        ))
    })?;
    Ok(Looked {
        seq,
        id: identifier_of(&identifier)?,
        money: Money {
            amount: Amount::from_minor(minor).ok_or_else(|| {
                crate::journal::sqlite::codec::values::corrupt("an amount of zero")
            })?,
            currency: currency_of(&currency)?,
        },
        gateway_transaction_id,
        country: country_of(&country)?,
        gateway,
        life: seen.life,
        seen,
        is_open: is_open_to_decision(c, seq)?,
    })
}

/// Returns what is known of a payment: silence is not knowledge.
fn seen_of(c: &WriteSession, seq: PaymentId) -> Result<Seen, Error> {
    c.flush()?;
    let mut statement = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS} from instruction i left join life l on l.seq = i.seq where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows.next()?.ok_or_else(|| {
        crate::journal::sqlite::codec::values::corrupt(format!("payment {seq} is missing"))
    })?;
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

fn judge_failed(
    c: &WriteSession,
    seq: PaymentId,
    seen: Seen,
    asked: Asked,
    now: Timestamp,
    policy: &Policy,
) -> Result<Result<(), Refusal>, Error> {
    // Nobody asked, as nothing was open to a decision then.
    let unasked = asked.heard.is_none() && is_open_to_decision(c, seq)?;
    let learned = asked.learned || unasked || seen_of(c, seq)? != seen;
    let mut life = subject(c, seq)?.moved.life;
    // What was called failed is known: that it is not found any more says nothing.
    life.known |= life.state == State::Failed;
    let asked = Asked {
        learned,
        said_paid: was_said_to_be_paid(c, seq)?,
        ..asked
    };
    let life = as_missed(&life, noticed_at(c, seq)?);
    Ok(may_fail(&life, asked, now, policy))
}

/// Returns whether a reply, an answer or a genuine callback has called a payment paid.
fn was_said_to_be_paid(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    c.flush()?;
    let sql = "select exists (select 1 from evidence indexed by evidence_by_payment
         where seq = ?1 and event in (5, 6, 8, 70, 71, 72) and class = 0)";
    Ok(c.prepare_cached(sql)?.query_row([seq], |row| row.get(0))?)
}

fn decide_failed(
    c: &WriteSession,
    seq: PaymentId,
    seen: Seen,
    asked: Asked,
    decision: &Decision,
    moment: StepContext,
    policy: &Policy,
) -> Result<Result<Transition, Refusal>, Error> {
    if let Err(refusal) = judge_failed(c, seq, seen, asked, moment.now, policy)? {
        return Ok(Err(refusal));
    }
    let mut detail = json!({"reason": decision.reason, "evidence": decision.evidence});
    if let Some(heard) = asked.heard {
        detail["gateway_said"] = heard.name().into();
        if asked.although {
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
    let told = match asked.although {
        true => format!("although it may have been accepted, {}", stood(&moved)),
        false => stood(&moved),
    };
    acted_on(c, seq, ("resolve", "failed"), (None, told), moment)?;
    Ok(Ok(moved))
}

fn to_cancel(c: &WriteSession, batch: &BatchName) -> Result<ToCancel, Error> {
    let batch_id = known_batch(c, batch)?;
    c.flush()?;
    let mut statement = c.prepare(&format!(
        "select i.currency, count(*), coalesce(sum(i.amount), 0), count(*) filter (where i.generation > 0), count(*) filter (where l.state = 2)
         from instruction i left join life l on l.seq = i.seq
         where i.batch_id = ?1 and (l.seq is null or l.state = 0 and (l.exposures = 0 or l.attempts = 0) or {WITHDRAWABLE})
         group by i.currency",
    ))?;
    let mut rows = statement.query(params![batch_id, WITHDRAWAL_ORDERED])?;
    let mut found = ToCancel::default();
    while let Some(row) = rows.next()? {
        add_sum(&mut found.tally, row, 0)?;
        found.retries += row.get::<_, i64>(3)?.unsigned_abs();
        found.presumed += row.get::<_, i64>(4)?.unsigned_abs();
    }
    let (posted_once, example): (i64, Option<String>) = c
        .prepare_cached(
            "select count(*), min(i.identifier) from life l join instruction i on i.seq = l.seq
             where l.batch_id = ?1 and l.state = 0 and l.exposures > 0 and l.attempts > 0",
        )?
        .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.posted_once = posted_once.unsigned_abs();
    found.posted_once_example = example.map(|id| identifier_of(&id)).transpose()?;
    Ok(found)
}

/// Adds a sum whose currency, count and amount stand from the column `at` on.
fn add_sum(tally: &mut Tally, row: &rusqlite::Row<'_>, at: usize) -> Result<(), Error> {
    let currency = currency_of(&row.get::<_, String>(at)?)?;
    let count = row.get::<_, i64>(at + 1)?.unsigned_abs();
    tally.add_many(count, currency, i128::from(row.get::<_, i64>(at + 2)?));
    Ok(())
}
