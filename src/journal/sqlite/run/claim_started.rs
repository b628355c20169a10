//! Payments whose life has begun, claimed one by one: what was posted before, or waited for its document or its bill.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::params;

use crate::domain::{BatchId, LaneId, Payment, PaymentId, Timestamp};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::codec::values::{
    LIFE_COLUMNS, PAYMENT_COLUMNS, PAYMENT_WIDTH, life_of, payment_of,
};
use crate::journal::sqlite::limits::sift::sift;
use crate::journal::sqlite::limits::waiting;
use crate::journal::sqlite::payments::apply::claim_one;
use crate::journal::sqlite::payments::ask_stale;
use crate::journal::sqlite::payments::generations;
use crate::journal::sqlite::payments::watched::{Watched, watched};
use crate::journal::sqlite::preflight::documents::DOCUMENT_IS_THERE;
use crate::journal::sqlite::session::subject::Subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::verify::checks::{check_generations, check_touched};
use crate::journal::sqlite::verify::intact::told;
use crate::journal::{Claim, DebtElsewhere, Error, Halt, Heard, Transition};
use crate::ledger::confirmation::Bound;
use crate::ledger::departure::{Departure, Facts, departure};
use crate::ledger::generations::Order;
use crate::ledger::intact::Mismatch;
use crate::ledger::schedule;
use crate::lifecycle::{PaymentState, Policy, State, StepContext};

/// The bill that told the amount of instruction `i`.
const PRICED_BY: &str = "(select b.bill_id from bill b where b.seq = i.seq and b.outcome = 0)";

/// Holds for an instruction `i` that a confirmation up to instruction ?5 and bill ?6 covers.
pub(in crate::journal::sqlite) fn covered() -> String {
    format!("(i.seq <= ?5 and (i.as_due = 0 or coalesce({PRICED_BY}, 0) <= ?6))")
}

/// Payments of lane ?2 that may be posted by ?3, the oldest first, and what of their documents is to be named.
pub(in crate::journal::sqlite) fn due_in_lane() -> String {
    let covered = covered();
    format!(
        "select {PAYMENT_COLUMNS}, {LIFE_COLUMNS}, seq, (select u.reference from upload u where u.seq = l.seq),
             iif(i.as_due = 1, {PRICED_BY}, null)
         from life l indexed by post_queue cross join instruction i using (seq) join service s on s.service_id = i.service_id
         where l.batch_id = ?1 and l.service_id = ?2 and l.state = 0 and l.due_at <= ?3 and {DOCUMENT_IS_THERE} and {covered}
         order by l.due_at, seq limit ?4"
    )
}

/// Records the intent to post up to `share` payments of a lane whose life has begun.
pub(in crate::journal::sqlite) fn claim_lane(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    confirmed: Bound,
    share: usize,
    now: Timestamp,
    policy: &Policy,
    claims: &mut Vec<Claim>,
) -> Result<Option<Halt>, Error> {
    // The index is read to the end before the claims below change it.
    let due = read_due(c, of_lane, confirmed, share, now)?;
    let mut leaving = Vec::with_capacity(due.len());
    for due in due {
        match judge_due(c, of_lane, due, now, policy)? {
            Ok(one) => leaving.extend(one),
            Err(halt) => return Ok(Some(halt)),
        }
    }
    for one in leaving {
        claims.extend(claim_due(c, of_lane.1, one, now, policy)?);
    }
    Ok(None)
}

/// A payment that is due to be posted, as it was read.
struct DuePayment {
    seq: PaymentId,
    payment: Payment,
    life: PaymentState,
    support_document: Option<String>,
}

/// Reads up to `share` payments of a lane that are due, and confirmed.
fn read_due(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    confirmed: Bound,
    share: usize,
    now: Timestamp,
) -> Result<Vec<DuePayment>, Error> {
    let sql = due_in_lane();
    #[cfg(test)]
    let sql = if crate::seeded_bugs::SeededBug::DocumentForgotten.is_active() {
        sql.replace(DOCUMENT_IS_THERE, "true")
    } else {
        sql
    };
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        batch_id,
        lane,
        now.as_millis(),
        i64::try_from(share).unwrap_or(i64::MAX),
        confirmed.instruction,
        confirmed.bill,
    ])?;
    let mut found = Vec::with_capacity(share);
    while let Some(row) = rows.next()? {
        let due = DuePayment {
            seq: row.get(PAYMENT_WIDTH + 10)?,
            payment: payment_of(row, 0)?,
            life: life_of(row, PAYMENT_WIDTH)?,
            support_document: row.get(PAYMENT_WIDTH + 11)?,
        };
        if confirmed.covers(due.seq.get(), row.get(PAYMENT_WIDTH + 12)?) {
            found.push(due);
        }
    }
    drop(rows);
    let not_before = |due: &DuePayment| due.payment.instruction.not_before();
    let (found, waiting) = schedule::part(found, not_before, now);
    put_off(c, waiting)?;
    let sifted = sift(
        c,
        (batch_id, lane),
        found,
        |due| (due.seq, &due.payment),
        now,
    )?;
    waiting::note(c, (batch_id, lane), &sifted.limited)?;
    for row in sifted.limited {
        put_off_until(c, row.seq, row.until)?;
    }
    Ok(sifted.leaving)
}

/// Puts payments off until the time that their rows name.
fn put_off(c: &WriteSession, waiting: BTreeMap<Timestamp, Vec<DuePayment>>) -> Result<(), Error> {
    for (at, rows) in waiting {
        for row in rows {
            put_off_until(c, row.seq, at)?;
        }
    }
    Ok(())
}

fn put_off_until(c: &WriteSession, seq: PaymentId, at: Timestamp) -> Result<(), Error> {
    c.prepare_cached("update life set due_at = ?2 where seq = ?1")?
        .execute(params![seq, at.as_millis()])?;
    c.change_recent(seq, |subject| {
        subject.moved.life.due_at = Some(at);
    });
    Ok(())
}

/// A payment that may leave.
struct Leaving {
    subject: Subject,
    payment: Payment,
    support_document: Option<String>,
    is_watched: bool,
}

/// Judges whether a payment whose life has begun may leave. `None`: something is to be heard first, or it has been withdrawn; a
/// halt: nothing of the batch may leave.
fn judge_due(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    due: DuePayment,
    now: Timestamp,
    policy: &Policy,
) -> Result<Result<Option<Leaving>, Halt>, Error> {
    let (batch_id, lane) = of_lane;
    let mut facts = AtClaim {
        c,
        subject: Subject {
            batch_id,
            has_generations: due.payment.generation > 0,
            callbacks: None,
            moved: Transition {
                seq: due.seq,
                lane,
                from: State::Ready,
                life: due.life,
                money: due.payment.instruction.money,
                heard: Heard::Nothing,
            },
        },
        due: &due,
        held: Watched::default(),
        now,
        policy,
    };
    match departure(&mut facts)? {
        Departure::Leaves => {}
        Departure::Stays(_) | Departure::IsAskedAgain => return Ok(Ok(None)),
        Departure::Altered(what) => return Ok(Err(Halt::Altered(what))),
        Departure::PaidElsewhere(debt) => return Ok(Err(Halt::PaidElsewhere(debt))),
    }
    let (subject, is_watched) = (facts.subject, !facts.held.seqs.is_empty());
    // Nobody who was forgotten has a payment that may leave. Should one be ready all the same, it would pay nobody knows whom.
    if due.payment.instruction.msisdn.is_forgotten() {
        let seq = due.seq;
        return Err(corrupt(format!(
            "payment {seq} is to leave, and its person was forgotten"
        )));
    }
    Ok(Ok(Some(Leaving {
        subject,
        payment: due.payment,
        support_document: due.support_document,
        is_watched,
    })))
}

/// What is known of a payment whose life has begun, at its claim.
struct AtClaim<'a> {
    c: &'a WriteSession,
    subject: Subject,
    due: &'a DuePayment,
    held: Watched,
    now: Timestamp,
    policy: &'a Policy,
}

impl Facts for AtClaim<'_> {
    type Altered = String;
    type Debt = DebtElsewhere;
    type Error = Error;

    fn altered(&mut self) -> Result<Option<String>, Error> {
        let of_lane = (self.subject.batch_id, self.subject.moved.lane);
        let (c, due) = (self.c, self.due);
        let document = due.support_document.is_some();
        let mut altered = check_touched(c, of_lane, due.seq, &due.payment, &due.life, document)?;
        if altered.is_none() && due.payment.generation > 0 {
            altered = check_generations(c, of_lane, due.seq)?;
        }
        if altered.is_none() {
            self.held = watched(c, &[due.seq])?;
            altered = self.held.altered.take();
        }
        Ok(altered)
    }

    fn order(&mut self) -> Result<Order, Error> {
        let moment = StepContext {
            now: self.now,
            jitter: 0,
        };
        generations::settle(self.c, &mut self.subject, moment, Some(self.policy))
    }

    fn rests_on_stale(&mut self) -> Result<bool, Error> {
        ask_stale::ask_again(self.c, self.due.seq, &self.due.life, self.now, self.policy)
    }

    fn paid_elsewhere(&mut self) -> Result<Option<DebtElsewhere>, Error> {
        Ok(self.held.paid.take())
    }

    fn was_shown(&mut self) -> Result<Result<(), String>, Error> {
        let money = self.due.payment.instruction.money;
        if self.due.life.attempts > 0 || self.c.allows(self.subject.batch_id, money) {
            return Ok(Ok(()));
        }
        told(self.c, self.due.seq, Mismatch::Beyond).map(Err)
    }
}

/// Records the intent to post a payment that may leave.
fn claim_due(
    c: &WriteSession,
    lane: LaneId,
    Leaving {
        mut subject,
        payment,
        support_document,
        is_watched,
    }: Leaving,
    now: Timestamp,
    policy: &Policy,
) -> Result<Option<Claim>, Error> {
    let Transition { seq, life, .. } = subject.moved;
    #[cfg(test)]
    let payment = crate::journal::sqlite::writer::seeded_bugs::mistaken(payment, &life);
    #[cfg(test)]
    let support_document = support_document.map(|reference| {
        let other =
            life.attempts > 0 && crate::seeded_bugs::SeededBug::OtherDocumentOnRepost.is_active();
        reference + if other { "-2" } else { "" }
    });
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::ClaimWithoutIntent.is_active() {
        c.prepare_cached("update life set due_at = ?2 where seq = ?1")?
            .execute(params![seq, now.as_millis() + 500])?;
        return Ok(Some(Claim {
            seq,
            lane,
            payment: Arc::new(payment),
            support_document: None,
            looked_at_last: false,
            leave_by: None,
        }));
    }
    if c.limiter(subject.batch_id, |_| ()).is_some() {
        waiting::leaves(c, subject.batch_id, seq)?;
    }
    if !claim_one(c, &mut subject, StepContext { now, jitter: 0 }, policy)? {
        return Ok(None);
    }
    c.moved(&subject, State::Ready)?;
    Ok(Some(Claim {
        seq,
        lane,
        payment: Arc::new(payment),
        support_document,
        looked_at_last: life.is_exposed() || subject.has_generations || is_watched,
        leave_by: None,
    }))
}
