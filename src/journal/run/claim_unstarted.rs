//! Payments of which nothing is known yet, claimed together.

use super::expected;
use crate::domain::{BatchId, LaneId, Money, Payment, PaymentId, Timestamp};
use crate::journal::codec::events::CLAIMED_TOGETHER;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::limits::sift::sift;
use crate::journal::limits::waiting::{self, Limited};
use crate::journal::payments::first_claims::ClaimRange;
use crate::journal::payments::unstarted::begin_lives;
use crate::journal::payments::unstarted::begun_between;
use crate::journal::payments::unstarted::fresh_from;
use crate::journal::payments::watched::{Watched, watched};
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::check_fresh;
use crate::journal::verify::one_payment::{told, told_of};
use crate::journal::{Claim, DebtElsewhere, Error, Halt, Heard, Transition};
use crate::ledger::confirmation::Bound;
use crate::ledger::departure::{Departure, Facts, departure, is_looked_at_last};
use crate::ledger::fresh::{Look, next_look};
use crate::ledger::generations::Order;
use crate::ledger::intact::Mismatch;
use crate::ledger::schedule;
use crate::lifecycle::{Event, PaymentState, Policy, State, Step, StepContext, step};
use crate::store::tables::{instruction, lane, life};
use crate::store::{Read, Reads, Scan, Test, Writes};
use std::ops::ControlFlow;
use std::sync::Arc;

/// So often more fresh payments are looked at in one transaction, where those before wait for their time.
const ROUNDS: usize = 64;

/// Records the intent to post up to `share` fresh payments of a lane. Those that wait for the time that their rows name join the
/// queue of what is due later.
pub(in crate::journal) fn claim_fresh(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    confirmed: Bound,
    share: usize,
    now: Timestamp,
    policy: &Policy,
    claims: &mut Vec<Claim>,
) -> Result<Option<Halt>, Error> {
    let wanted = claims.len() + share;
    for _ in 0..ROUNDS {
        let share = wanted - claims.len();
        match claim_some(c, of_lane, confirmed, share, now, policy, claims)? {
            Err(halt) => return Ok(Some(halt)),
            Ok(0) => break,
            Ok(_) if claims.len() >= wanted => break,
            Ok(_) => {}
        }
    }
    Ok(None)
}

/// Looks at up to `share` fresh payments of a lane; returns how many of them wait for their time.
fn claim_some(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    confirmed: Bound,
    share: usize,
    now: Timestamp,
    policy: &Policy,
    claims: &mut Vec<Claim>,
) -> Result<Result<usize, Halt>, Error> {
    let Some(from) = fresh_from(c, batch_id, lane)? else {
        return Ok(Ok(0));
    };
    let up_to = confirmed.instruction.get();
    let (found, is_cut) = match read(c, (batch_id, lane), (from, up_to), share)? {
        Ok(found) => found,
        Err(altered) => return Ok(Err(Halt::Altered(altered))),
    };
    let (looked_at, last) = (found.len(), found.last().map(|(seq, _)| seq.get()));
    let (found, waiting) = schedule::part(found, |(_, row)| row.instruction.not_before(), now);
    let sifted = sift(c, (batch_id, lane), found, |(seq, row)| (*seq, &**row), now)?;
    let found = sifted.leaving;
    // What waits is judged when its time comes: what was confirmed is counted once for each payment.
    let seqs: Vec<PaymentId> = found.iter().map(|(seq, _)| *seq).collect();
    let held = match may_leave(c, (batch_id, lane), &found, &seqs)? {
        Ok(held) => held,
        Err(halt) => return Ok(Err(halt)),
    };
    let look = Look {
        from,
        up_to,
        last,
        is_cut,
        full_from: sifted.full_from,
    };
    if let Some(next) = next_look(look, || newest(c))? {
        let own = Scan::of(&lane::TABLE).at(&batch_id).at(&lane);
        c.set(&own, lane::fresh_from, &next)?;
    }
    for (at, rows) in waiting {
        let later = PaymentState {
            due_at: Some(at),
            ..PaymentState::NEW
        };
        let seqs: Vec<PaymentId> = rows.iter().map(|(seq, _)| *seq).collect();
        begin_lives(c, (batch_id, lane), &seqs, &later)?;
    }
    wait_for_limits(c, (batch_id, lane), &sifted.limited)?;
    // Behind what waits until less is under way, nothing is looked at.
    let waiting = match sifted.full_from {
        Some(_) => 0,
        None => looked_at - found.len(),
    };
    if !found.is_empty() {
        begin(c, (batch_id, lane), found, &held, now, policy, claims)?;
    }
    Ok(Ok(waiting))
}

/// Returns the greatest number of an instruction; 0: there is none.
fn newest(c: &dyn Read) -> Result<i64, Error> {
    let all = Scan::of(&instruction::TABLE).descending();
    Ok(c.value(&all, instruction::seq)?.unwrap_or(0))
}

/// Begins the lives of payments that a limit keeps from leaving.
fn wait_for_limits(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    limited: &[Limited],
) -> Result<(), Error> {
    for row in limited {
        let later = PaymentState {
            due_at: Some(row.until),
            ..PaymentState::NEW
        };
        begin_lives(c, of_lane, &[row.seq], &later)?;
    }
    waiting::note(c, of_lane, limited)
}

/// Records the intent to post fresh payments of a lane.
fn begin(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    found: Numbered,
    held: &Watched,
    now: Timestamp,
    policy: &Policy,
    claims: &mut Vec<Claim>,
) -> Result<(), Error> {
    let of_lane = (batch_id, lane);
    planted_instead!(journal::begun_without_intent(
        c, of_lane, &found, &held.seqs, now, claims
    ));
    let seqs: Vec<PaymentId> = found.iter().map(|(seq, _)| *seq).collect();
    let moment = StepContext { now, jitter: 0 };
    let Step { life, .. } = step(&PaymentState::NEW, Event::Claimed, moment, policy);
    begin_lives(c, of_lane, &seqs, &life)?;
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (CLAIMED_TOGETHER, None, None),
        detail: Some(&ClaimRange::of(lane, &seqs).to_text()),
        policy: Some(policy),
        ..Evidence::default()
    })?;
    for (seq, payment) in found {
        remember_claimed(c, of_lane, seq, &payment, life)?;
        let is_watched = held.seqs.binary_search(&seq).is_ok();
        claims.push(Claim {
            seq,
            lane,
            payment,
            support_document: None,
            looked_at_last: is_looked_at_last(&PaymentState::NEW, false, is_watched),
            leave_by: None,
        });
    }
    Ok(())
}

/// Compares fresh payments with the chain, what was confirmed, and what was paid elsewhere since. Returns those that are looked
/// at once more before they leave, or why nothing may leave.
fn may_leave(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    found: &[(PaymentId, Arc<Payment>)],
    seqs: &[PaymentId],
) -> Result<Result<Watched, Halt>, Error> {
    if found.is_empty() {
        return Ok(Ok(Watched::default()));
    }
    expected::expect_leaving(c, seqs)?;
    // The chain and the failed rows are looked at for all of them together; what is found of any keeps the batch.
    let mut altered = check_fresh(c, (batch_id, lane), seqs)?;
    let mut held = Watched::default();
    if altered.is_none() {
        held = watched(c, seqs)?;
        altered = held.altered.take();
    }
    let mut facts = Fresh {
        c,
        batch_id,
        altered,
        debt: held.paid.take(),
        next: None,
    };
    for (seq, payment) in found {
        facts.next = Some((*seq, payment.instruction.money));
        match departure(&mut facts)? {
            Departure::Leaves => {}
            Departure::Altered(what) => return Ok(Err(Halt::Altered(what))),
            Departure::PaidElsewhere(debt) => return Ok(Err(Halt::PaidElsewhere(debt))),
            Departure::Stays(_) | Departure::IsAskedAgain => {
                return Err(corrupt("an answer about a payment that was never posted"));
            }
        }
    }
    Ok(Ok(held))
}

/// What is known of fresh payments at their claim, one after the other.
struct Fresh<'a> {
    c: &'a WriteSession,
    batch_id: BatchId,
    altered: Option<String>,
    debt: Option<DebtElsewhere>,
    next: Option<(PaymentId, Money)>,
}

impl Facts for Fresh<'_> {
    type Altered = String;
    type Debt = DebtElsewhere;
    type Error = Error;

    fn altered(&mut self) -> Result<Option<String>, Error> {
        Ok(self.altered.take())
    }

    // Nothing is known of it: it replaces nothing, and was never asked about.
    fn order(&mut self) -> Result<Order, Error> {
        Ok(Order::Leave)
    }

    fn rests_on_stale(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    fn paid_elsewhere(&mut self) -> Result<Option<DebtElsewhere>, Error> {
        Ok(self.debt.take())
    }

    fn was_shown(&mut self) -> Result<Result<(), String>, Error> {
        match self.next {
            Some((seq, money)) if !self.c.allows(self.batch_id, money) => {
                told(self.c, seq, Mismatch::Beyond).map(Err)
            }
            _ => Ok(Ok(())),
        }
    }
}

/// Keeps in memory where a payment stands that was claimed for the first time.
fn remember_claimed(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    seq: PaymentId,
    payment: &Payment,
    life: PaymentState,
) -> Result<(), Error> {
    let subject = Subject {
        batch_id,
        has_generations: false,
        // Nothing was known of it.
        callbacks: Some(0),
        moved: Transition {
            seq,
            lane,
            from: State::Ready,
            life,
            money: payment.instruction.money,
            heard: Heard::Nothing,
        },
    };
    c.remember(&subject);
    c.remember_payment(seq, payment);
    c.moved(&subject, State::Ready)
}

/// Payments with the journal's numbers of them.
type Numbered = Vec<(PaymentId, Arc<Payment>)>;

/// Reads up to `share` fresh payments of a lane in their order; says, too, whether there may be more. What does not fit the chain is
/// returned in words.
///
/// Where several runs claim, each takes the rest of a block that it has compared with the chain, where that is half of what it may:
/// otherwise all of them would compare the next one.
fn read(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    (mut from, up_to): (i64, i64),
    share: usize,
) -> Result<Result<(Numbered, bool), String>, Error> {
    let (mut found, first) = (Vec::with_capacity(share), from);
    let enough = match c.is_shared() {
        true => share.div_ceil(2),
        false => share,
    };
    while found.len() < enough && from <= up_to {
        match take_compared(c, of_lane, (from, up_to), share, &mut found)? {
            Ok(Some(next)) => from = next,
            Ok(None) => {
                read_rest(c, of_lane, (from, up_to), share, &mut found)?;
                break;
            }
            Err(altered) => return Ok(Err(altered)),
        }
    }
    let is_cut = found.len() >= enough;
    let behind = match found.last() {
        Some((last, _)) if is_cut => last.get() + 1,
        _ => from,
    };
    c.intact(of_lane.0, |intact| {
        intact.note_claim(of_lane.1, (first, behind));
    });
    Ok(Ok((found, is_cut)))
}

/// Takes fresh payments of a lane out of the block that number `from` is in, as they were compared with the chain; returns the
/// number behind the block, or `None` where that yields nothing.
fn take_compared(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    (from, up_to): (i64, i64),
    share: usize,
    found: &mut Numbered,
) -> Result<Result<Option<i64>, String>, Error> {
    c.intact(batch_id, |intact| {
        intact.refresh(c, batch_id)?;
        let block = match intact.compare(c, batch_id, PaymentId::new(from))? {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(Ok(None)),
            Err((span, mismatch)) => return told_of(c, span, mismatch).map(Err),
        };
        let last = block.span.1.min(up_to);
        let begun = begun_between(c, (from, last))?;
        let before = found.len();
        let first = block.payments.partition_point(|(seq, ..)| seq.get() < from);
        let fresh = block.payments[first..]
            .iter()
            .take_while(|(seq, ..)| seq.get() <= last)
            .filter(|(seq, of, payment)| {
                *of == lane
                    && payment.instruction.document.is_none()
                    && begun.binary_search(seq).is_err()
            })
            .take(share - before);
        found.extend(fresh.map(|(seq, _, payment)| (*seq, Arc::clone(payment))));
        Ok(Ok((found.len() > before).then_some(last + 1)))
    })
}

/// Reads on where no block helps.
fn read_rest(
    c: &dyn Read,
    (batch_id, lane): (BatchId, LaneId),
    (from, up_to): (i64, i64),
    share: usize,
    found: &mut Numbered,
) -> Result<(), Error> {
    let of_lane = Scan::of(&instruction::TABLE)
        .from(&from)
        .up_to(&up_to)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::service_id, Test::is(&lane))
        .only(instruction::amount, Test::Present)
        .only(instruction::document, Test::Absent);
    let instructions = Instructions::of(c);
    c.each_row(&of_lane, &[instruction::seq], |row| {
        let seq: PaymentId = row.get(0)?;
        // A row is read only once it is known to be fresh: most of a block may have been claimed.
        if !c.any(&Scan::of(&life::TABLE).at(&seq))? {
            found.push((seq, Arc::new(instructions.payment(seq)?)));
        }
        Ok::<_, Error>(match found.len() < share {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })
}
