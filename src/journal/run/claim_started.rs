//! Payments whose life has begun, claimed one by one: what was posted before, or waited for its document or its bill.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::posting_terms::PostingTerms;
use crate::domain::{BatchId, LaneId, Payment, PaymentId, Timestamp};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::lives::with;
use crate::journal::codec::values::corrupt;
use crate::journal::limits::sift::sift;
use crate::journal::limits::waiting;
use crate::journal::payments::apply::claim_one;
use crate::journal::payments::ask_stale;
use crate::journal::payments::generations;
use crate::journal::payments::watched::{Watched, watched};
use crate::journal::session::expected::in_turn;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::{check_generations, check_touched};
use crate::journal::verify::one_payment::told;
use crate::journal::{Claim, DebtElsewhere, Error, Halt, Heard, Transition};
use crate::ledger::confirmation::{Bound, was_counted};
use crate::ledger::departure::{Departure, Facts, departure, is_looked_at_last};
use crate::ledger::generations::Order;
use crate::ledger::intact::Mismatch;
use crate::ledger::schedule;
use crate::lifecycle::{PaymentState, Policy, State, StepContext};
use crate::store::tables::{life, upload};
use crate::store::{Column, Reads, Scan, Shape, Writes};

/// Records the intent to post up to `share` payments of a lane whose life has begun.
pub(in crate::journal) fn claim_lane(
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
    let seqs: Vec<PaymentId> = due.iter().map(|due| due.seq).collect();
    for (due, turn) in due.into_iter().zip(in_turn(&**c, &seqs)) {
        turn?;
        match judge_due(c, of_lane, due, now, policy)? {
            Ok(one) => leaving.extend(one),
            Err(halt) => return Ok(Some(halt)),
        }
    }
    let seqs: Vec<PaymentId> = leaving.iter().map(Leaving::seq).collect();
    for (one, turn) in leaving.into_iter().zip(in_turn(&**c, &seqs)) {
        turn?;
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

/// Payments of a lane whose life has begun, and that are due by a time.
pub(super) fn due_by<'s>((batch_id, lane): &'s (BatchId, LaneId), now: &'s Timestamp) -> Scan<'s> {
    Scan::by(&life::post_queue).at(batch_id).at(lane).up_to(now)
}

/// Reads up to `share` payments of a lane that are due, and confirmed.
fn read_due(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    confirmed: Bound,
    share: usize,
    now: Timestamp,
) -> Result<Vec<DuePayment>, Error> {
    /// What is read of a life, and its number behind it.
    const COLUMNS: [Column; PaymentState::COLUMNS.len() + 1] = with(life::seq);
    let of_lane = (batch_id, lane);
    if share == 0 {
        return Ok(Vec::new());
    }
    let by_now = due_by(&of_lane, &now);
    let (mut found, mut page) = (Vec::with_capacity(share), Vec::new());
    c.each_row(&by_now, &COLUMNS, |row| {
        page.push((
            row.get(PaymentState::COLUMNS.len())?,
            PaymentState::read(row)?,
        ));
        if found.len() + page.len() >= share {
            take_those_that_may(c, std::mem::take(&mut page), confirmed, &mut found)?;
        }
        Ok::<_, Error>(match found.len() < share {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    take_those_that_may(c, page, confirmed, &mut found)?;
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

/// Takes those of these payments that may be posted as far as their documents and their confirmation go.
fn take_those_that_may(
    c: &WriteSession,
    page: Vec<(PaymentId, PaymentState)>,
    confirmed: Bound,
    found: &mut Vec<DuePayment>,
) -> Result<(), Error> {
    let instructions = Instructions::of(c);
    let seqs: Vec<PaymentId> = page.iter().map(|(seq, _)| *seq).collect();
    for ((seq, life), turn) in page.into_iter().zip(in_turn(&**c, &seqs)) {
        turn?;
        if may_be_posted(c, seq, confirmed)? {
            let uploaded = Scan::of(&upload::TABLE).at(&seq);
            found.push(DuePayment {
                seq,
                payment: instructions.payment(seq)?,
                life,
                support_document: c.value(&uploaded, upload::reference)?,
            });
        }
    }
    Ok(())
}

/// Returns whether a payment of the queue may be posted as far as its document and its confirmation go.
fn may_be_posted(c: &WriteSession, seq: PaymentId, confirmed: Bound) -> Result<bool, Error> {
    let Some(terms) = PostingTerms::of(c, seq)? else {
        return Ok(false);
    };
    Ok(terms.are_covered(c, confirmed)?
        && planted!(journal::document_is_there(terms.document_is_there(c)?)))
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
    c.set(&Scan::of(&life::TABLE).at(&seq), life::due_at, &at)?;
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

impl Leaving {
    fn seq(&self) -> PaymentId {
        self.subject.moved.seq
    }
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
            "payment {seq} is due to be posted, but its person was forgotten"
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
        if was_counted(&self.due.life) || self.c.allows(self.subject.batch_id, money) {
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
    planted_instead!(journal::claimed_without_intent(
        c,
        lane,
        (seq, &payment),
        now
    ));
    if c.limiter(subject.batch_id, |_| ()).is_some() {
        waiting::leaves(c, subject.batch_id, seq)?;
    }
    if !claim_one(c, &mut subject, StepContext { now, jitter: 0 }, policy)? {
        return Ok(None);
    }
    c.moved(&subject, State::Ready)?;
    let claim = Claim {
        seq,
        lane,
        payment: Arc::new(payment),
        support_document,
        looked_at_last: is_looked_at_last(&life, subject.has_generations, is_watched),
        leave_by: None,
    };
    Ok(Some(planted!(journal::claim(claim, &life))))
}
