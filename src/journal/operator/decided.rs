//! Decisions that rest on what was seen before: by the gateway's answer, and by what was shown to a person.

use serde_json::{Value, json};

use super::names::rows_named;
use super::orders::{cancel_all, order, refuse_without_amount};
use super::pages::Standing;
use super::recorded::{acted_on, stood};
use super::retry::retry;
use super::to_retry::to_retry;
use super::withdrawal::{is_unsent, is_withdrawable};
use crate::domain::{
    Amount, BatchId, BatchName, Country, Currency, EvidenceId, Money, PayerTransactionId,
    PaymentId, Tally, Timestamp,
};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch, of_batch};
use crate::journal::codec::events::{OTHER_ANSWER, OTHER_CALLBACK, OTHER_REPLY};
use crate::journal::codec::values::corrupt;
use crate::journal::payments::agreed::judged;
use crate::journal::payments::inquiries::{is_open_to_decision, needs_a_new_word};
use crate::journal::payments::posted_elsewhere::worth;
use crate::journal::payments::record::record;
use crate::journal::payments::shown::is_shown_paid;
use crate::journal::recovery::noticed::noticed_at;
use crate::journal::run::answers::{is_not_found, unanswered};
use crate::journal::run::quarantine;
use crate::journal::session::expected::in_turn;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{
    Answered, Cancelled, Decided, Decision, Error, Failures, Finding, Looked, RepeatPlan, Seen,
    ToCancel, Transition,
};
use crate::ledger::decisions::{
    About, Asked, ByCode, Heard, Refusal, as_missed, is_within, may_fail,
};
use crate::ledger::names::PaymentName;
use crate::lifecycle::{Event, PaymentState, Policy, State, StepContext, proven};
use crate::store::tables::{batch, evidence, instruction, life};
use crate::store::{Read, Reads, Scan, Test, shape};

impl Journal {
    /// Returns what is known of the payment that a person names, the newest of its generations.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`], [`Error::TwoPayments`]; [`Error::NotAllowed`] of a row without an amount.
    pub async fn look(&self, batch: BatchName, name: PaymentName) -> Result<Looked, Error> {
        self.ask_again(CommitMode::Alone, move |c| look(c, &batch, &name))
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
        self.ask(move |c| {
            let moment = c.moment(moment)?;
            let learned = seen_of(c, finding.seq)? != seen;
            let seq = finding.seq;
            let before = subject(c, seq)?;
            let (event, said) = worth(c, &before, finding.event, &finding.said)?;
            let said = said.into_owned();
            let finding = Finding {
                event,
                said,
                ..finding
            };
            let judgement = judged(c, &before, &finding.said)?;
            let about = About {
                other: judgement.differs.is_some(),
                recognised: judgement.is_ours,
                taken: before.moved.life.taken,
            };
            let finding = match learned && c.is_shared() && is_not_found(event) {
                // Whoever else asks may have heard the same.
                true => unanswered(&finding),
                false => finding,
            };
            // Whoever decides may have another configuration than the runs: two answers alone would let one of them post again.
            let policy = quarantine::no_shorter(c, (before.batch_id, seq), &policy)?;
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
        self.ask_again(CommitMode::Alone, move |c| {
            if seen_of(c, seq)? != seen {
                return Ok(Err(Refusal::LearnedMeanwhile));
            }
            Ok(Ok(record_paid(c, seq, &decision, c.moment(moment)?)?))
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
        self.ask_again(CommitMode::Alone, move |c| {
            decide_many(c, &decided, c.moment(moment)?, &policy)
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
        self.ask_again(CommitMode::Alone, move |c| {
            judge_failed(c, seq, seen, asked, c.time(now)?, &policy)
        })
        .await
    }

    /// Records an operator's decision that a payment failed, if what is known by now allows it.
    ///
    /// `asked.learned`, `asked.said_paid` and `asked.shown_paid` are found out here: whether more is known than was seen, and what was said before.
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
        self.ask_again(CommitMode::Alone, move |c| {
            let moment = c.moment(moment)?;
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
        let which = which.into();
        self.ask(move |c| {
            let now = c.time(now)?;
            let repeats = repeats.map(|plan| (plan, now));
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
        self.ask_again(CommitMode::Alone, move |c| to_cancel(c, &batch))
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
        self.ask(move |c| {
            let found = to_cancel(c, &batch)?.tally;
            refuse_more(&batch, &vec![(None, shown)], &vec![(None, found)])?;
            cancel_all(c, &batch, reason.as_deref(), c.moment(moment)?)
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
                return Err(corrupt("two decisions about one row that disagree"));
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

pub(in crate::journal) fn refuse_more(
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

shape! {
    /// What is shown of a payment that is decided.
    struct Paid of instruction {
        batch_id: BatchId, identifier: PayerTransactionId, amount: Amount, currency: Currency, country: Country,
    }
}

fn missing(seq: PaymentId) -> Error {
    corrupt(format!("payment {seq} is missing"))
}

fn look(c: &WriteSession, batch: &BatchName, name: &PaymentName) -> Result<Looked, Error> {
    let seq = rows_named(c, (batch, known_batch(c, batch)?), name)?[0];
    refuse_without_amount(c, seq)?;
    let seen = seen_of(c, seq)?;
    let paid: Option<Paid> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    let paid = paid.ok_or_else(|| missing(seq))?;
    let own = Scan::of(&life::TABLE).at(&seq);
    let gateway_transaction_id: Option<Option<String>> =
        c.value(&own, life::gateway_transaction_id)?;
    let has_failed = seen.life.state == State::Failed;
    Ok(Looked {
        seq,
        id: paid.identifier,
        money: Money {
            amount: paid.amount,
            currency: paid.currency,
        },
        gateway_transaction_id: gateway_transaction_id.flatten(),
        country: paid.country,
        gateway: of_batch(c, paid.batch_id, batch::gateway)?,
        life: seen.life,
        seen,
        is_open: is_open_to_decision(c, seq)?,
        sent_elsewhere: has_failed && needs_a_new_word(c, seq)?,
    })
}

/// Kinds of evidence: a question that nobody answered, and whatever the gateway said.
const NO_ANSWER: i64 = 7;
const SAID: [i64; 6] = [5, 6, 8, OTHER_REPLY, OTHER_ANSWER, OTHER_CALLBACK];
/// The class of a payment that is paid.
const PAID: i64 = 0;

/// Returns what is known of a payment: silence is not knowledge.
fn seen_of(c: &WriteSession, seq: PaymentId) -> Result<Seen, Error> {
    c.flush()?;
    if !c.any(&Scan::of(&instruction::TABLE).at(&seq))? {
        return Err(missing(seq));
    }
    let life: Option<PaymentState> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
    let told = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is_not(&NO_ANSWER))
        .descending();
    Ok(Seen {
        evidence: c
            .value(&told, evidence::evidence_id)?
            .unwrap_or(EvidenceId::NONE),
        life: proven(life.unwrap_or(PaymentState::NEW)),
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
    let subject = subject(c, seq)?;
    let mut life = subject.moved.life;
    // What was called failed is known: that it is not found any more says nothing.
    life.known |= life.state == State::Failed;
    let asked = Asked {
        learned,
        said_paid: was_said_to_be_paid(c, seq)?,
        shown_paid: is_shown_paid(c, seq)?,
        ..asked
    };
    let life = as_missed(&life, noticed_at(c, seq)?);
    let policy = &quarantine::no_shorter(c, (subject.batch_id, seq), policy)?;
    Ok(may_fail(&life, asked, now, policy))
}

/// Returns whether a reply, an answer or a genuine callback has called a payment paid.
fn was_said_to_be_paid(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    c.flush()?;
    let said = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::among(&SAID))
        .only(evidence::class, Test::is(&PAID));
    Ok(c.any(&said)?)
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

shape! {
    /// What a row adds to what an order to cancel comes to.
    struct Counted of instruction { seq: PaymentId, currency: Currency, amount: Option<i64>, generation: u32 }
}

/// Rows that are counted at a time.
const AT_ONCE: usize = 4096;

fn to_cancel(c: &WriteSession, batch: &BatchName) -> Result<ToCancel, Error> {
    let batch_id = known_batch(c, batch)?;
    c.flush()?;
    let mut found = ToCancel::default();
    let mut after = PaymentId::NONE;
    loop {
        let rows = Scan::of(&instruction::TABLE)
            .after(&after)
            .only(instruction::batch_id, Test::is(&batch_id))
            .limit(AT_ONCE);
        let rows: Vec<Counted> = c.list(&rows)?;
        let Some((first, last)) = rows.first().zip(rows.last()) else {
            break;
        };
        after = last.seq;
        // Side by side: a row has no life, or one of the same number.
        let lives = Scan::of(&life::TABLE)
            .from(&first.seq)
            .up_to(&last.seq)
            .only(life::batch_id, Test::is(&batch_id));
        let lives: Vec<Standing> = c.list(&lives)?;
        let mut lives = lives.iter().peekable();
        let seqs: Vec<PaymentId> = rows.iter().map(|row| row.seq).collect();
        for (row, turn) in rows.iter().zip(in_turn(&**c, &seqs)) {
            turn?;
            while lives.next_if(|life| life.seq < row.seq).is_some() {}
            count_row(
                c,
                row,
                lives.next_if(|life| life.seq == row.seq),
                &mut found,
            )?;
        }
    }
    let posted_once = Scan::by(&life::post_queue)
        .at(&batch_id)
        .only(life::exposures, Test::at_least(&1_i64))
        .only(life::attempts, Test::at_least(&1_i64));
    c.each(&posted_once, |life: Standing| {
        let id = id_of(c, life.seq)?;
        found.posted_once += 1;
        let example = found.posted_once_example.get_or_insert(id);
        if id.as_str() < example.as_str() {
            *example = id;
        }
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

/// Counts a row, if an order to cancel the whole batch is about it.
fn count_row(
    c: &dyn Read,
    row: &Counted,
    life: Option<&Standing>,
    found: &mut ToCancel,
) -> Result<(), Error> {
    let is_meant = match life {
        None => true,
        Some(life) => is_unsent(life) || is_withdrawable(c, life)?,
    };
    if is_meant {
        let minor = i128::from(row.amount.unwrap_or(0));
        found.tally.add_many(1, row.currency, minor);
        found.retries += u64::from(row.generation > 0);
        found.presumed += u64::from(life.is_some_and(|life| life.state == State::InDoubt));
    }
    Ok(())
}
