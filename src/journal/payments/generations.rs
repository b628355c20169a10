//! The generations of a row: which of them counts, and what the newest may do. The rules are in [`crate::ledger::generations`] and
//! [`crate::ledger::settling`].
//!
//! Rows without a retry come here never: each question begins with whether there is one.

use std::ops::ControlFlow;

use super::apply::apply;
use super::inquiries::{ask, doubt, forget, words};
use super::stale;
use super::watched::{Watched, watched};
use crate::domain::{BatchId, PaymentId, ResponseDetails, Timestamp};
use crate::journal::codec::catalog::{id_of, of_payment};
use crate::journal::codec::values::NEVER;
use crate::journal::operator::withdrawal;
use crate::journal::recovery::until_done;
use crate::journal::repeats::linked::paid_beside;
use crate::journal::session::expected::in_turn;
use crate::journal::session::members::{Member, named, of_row, split, states};
use crate::journal::session::payments::subject;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::is_as_recorded;
use crate::journal::{
    Clearance, DebtElsewhere, Error, PAID_TWICE_SHOWN, Transition, Undecided, WAITING_SHOWN,
};
use crate::ledger::departure::{Departure, Facts, departure};
use crate::ledger::generations::{self, Order, PaidTwice, Twice};
use crate::ledger::settling::{Newest, Questions, settling, settling_alone};
use crate::lifecycle::{Event, PaymentState, Policy, State, StepContext};
use crate::store::tables::{inquiry, instruction, life};
use crate::store::{Read, Reads, Scan, Test, Writes};

/// Returns the rows of a batch that were paid more than once, in it or beside another load, those that are named first and how many they are.
pub(in crate::journal) fn paid_twice(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<(Vec<PaidTwice>, u64), Error> {
    // One that was replaced, and is paid or in conflict; the row may have another one.
    let replaced = Scan::by(&life::replaced)
        .at(&batch_id)
        .only(life::state, Test::among(&[State::Paid, State::Conflict]));
    let (mut rows, mut count) = (Vec::new(), 0);
    c.each_row(&replaced, &[life::seq], |replaced| {
        let seq: PaymentId = replaced.get(0)?;
        let row = of_row(c, seq)?;
        let paid = |member: &&Member| matches!(member.life.state, State::Paid | State::Conflict);
        // Each row once, by the first one of it.
        let is_first = row.iter().find(paid).is_some_and(|first| first.seq == seq);
        let twice = generations::paid_twice(&states(&row)).filter(|_| is_first);
        if let Some(twice) = twice {
            count += 1;
            if rows.len() < PAID_TWICE_SHOWN {
                let members: Vec<&Member> = row.iter().filter(paid).collect();
                rows.push(named(c, &members, matches!(twice, Twice::Paid(_)))?);
            }
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    count += paid_beside(c, batch_id, &mut rows)?;
    Ok((rows, count))
}

/// Returns the payments that are paid or in conflict, and beside which a retry of their row has left, those that are named first and how
/// many they are. Where both may have been paid, [`paid_twice`] tells of them; where the retry has not left, it waits and says for what.
pub(in crate::journal) fn undecided(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<(Vec<Undecided>, u64), Error> {
    let replaced = Scan::by(&life::replaced)
        .at(&batch_id)
        .only(life::state, Test::among(&[State::Paid, State::Conflict]));
    let (mut first, mut count) = (Vec::new(), 0);
    c.each_row(&replaced, &[life::seq, life::state], |replaced| {
        let (seq, state): (PaymentId, State) = (replaced.get(0)?, replaced.get(1)?);
        let row = of_row(c, seq)?;
        let (newest, _) = split(&row)?;
        if generations::may_be_twice(state, &states(&row)) {
            count += 1;
            if first.len() < WAITING_SHOWN {
                first.push(Undecided {
                    id: id_of(c, seq)?,
                    state,
                    newest: id_of(c, newest.seq)?,
                    newest_state: newest.life.state,
                });
            }
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok((first, count))
}

/// Holds the newest generation of a payment's row to the rule, after one of them has moved; returns what it may do.
///
/// What an operator orders knows no policy: whether somebody must be asked first is judged at the claim then.
pub(in crate::journal) fn settle(
    c: &WriteSession,
    moved: &mut Subject,
    moment: StepContext,
    policy: Option<&Policy>,
) -> Result<Order, Error> {
    let is_withdrawn = withdrawal::carry_out(c, moved, moment)?;
    if is_withdrawn && !moved.has_generations {
        return Ok(Order::Nothing);
    }
    if !moved.has_generations {
        return settle_alone(c, moved, moment, policy);
    }
    let row = of_row(c, moved.moved.seq)?;
    let (newest, earlier) = split(&row)?;
    let order = judge(c, &row, moment, policy)?;
    let (becomes, questions) = settling(order, newest.life.state, policy.is_some());
    let life = match becomes {
        Newest::Ends(paid) => Some(supersede(c, newest.seq, earlier[paid].seq, moment)?),
        Newest::IsHeld => Some(hold(c, newest, true)?),
        Newest::IsFree => Some(hold(c, newest, false)?),
        Newest::Stays => None,
    };
    if let Some(life) = life.filter(|_| newest.seq == moved.moved.seq) {
        moved.moved.life = life;
    }
    match (questions, policy) {
        (Questions::AskEarlier, Some(policy)) => ask(c, moved.batch_id, &row, moment, policy)?,
        (Questions::AskInDoubt, _) => doubt(c, moved.batch_id, &row, moment, policy)?,
        (Questions::AskEarlier | Questions::Forget, _) => forget(c, earlier)?,
        (Questions::Leave, _) => {}
    }
    Ok(order)
}

/// The same of a payment without a retry.
fn settle_alone(
    c: &WriteSession,
    moved: &mut Subject,
    moment: StepContext,
    policy: Option<&Policy>,
) -> Result<Order, Error> {
    let Transition {
        seq, from, life, ..
    } = moved.moved;
    let member = Member { seq, life };
    match settling_alone(from, &life) {
        Questions::AskInDoubt => doubt(c, moved.batch_id, &[member], moment, policy)?,
        Questions::Forget => forget(c, &[member])?,
        Questions::AskEarlier | Questions::Leave => {}
    }
    if life.state == State::Ready && until_done::waits(c, seq)? {
        moved.moved.life = hold(c, &member, true)?;
        return Ok(Order::UntilDone);
    }
    Ok(Order::Leave)
}

/// Returns what the newest generation may do.
fn judge(
    c: &WriteSession,
    row: &[Member],
    moment: StepContext,
    policy: Option<&Policy>,
) -> Result<Order, Error> {
    planted_instead!(journal::retry_leaves());
    let (newest, earlier) = split(row)?;
    // Evidence of this transaction counts.
    if !earlier.is_empty() {
        c.flush()?;
    }
    let words = words(c, row, policy.map(|policy| (moment, policy)))?;
    let can_ask = policy.is_none_or(|policy| policy.status_query);
    Ok(match generations::order(&words, &newest.life, can_ask) {
        Order::Leave if until_done::waits(c, newest.seq)? => Order::UntilDone,
        order => order,
    })
}

/// Keeps the newest generation from being claimed, or lets it be claimed again.
fn hold(c: &WriteSession, newest: &Member, held: bool) -> Result<PaymentState, Error> {
    // One that waits for its turn after a loss keeps its time.
    let ready = Scan::of(&life::TABLE)
        .at(&newest.seq)
        .only(life::state, Test::is(&State::Ready));
    let (from, to) = match held {
        true => (Test::is_not(&NEVER), NEVER),
        false => (Test::is(&NEVER), 0),
    };
    c.set(&ready.only(life::due_at, from), life::due_at, &to)?;
    let mut life = newest.life;
    if held {
        life.due_at = None;
        c.change_recent(newest.seq, |subject| subject.moved.life.due_at = None);
    }
    Ok(life)
}

/// Ends the newest generation: an earlier one is paid.
fn supersede(
    c: &WriteSession,
    seq: PaymentId,
    paid: PaymentId,
    moment: StepContext,
) -> Result<PaymentState, Error> {
    let paid: String = of_payment(c, paid, instruction::identifier)?;
    let said = ResponseDetails {
        cause: format!("{paid}, an earlier payment of the same row, is paid"),
        ..ResponseDetails::default()
    };
    let mut newest = subject(c, seq)?;
    let from = newest.moved.from;
    // Whoever edited it to be ready would have it ended as never posted: it stays for the run to refuse.
    if !is_as_recorded(c, &newest)? {
        return Ok(newest.moved.life);
    }
    // It rests on the state alone: no wait of the policy enters into it.
    let policy = Policy::default();
    apply(c, &mut newest, Event::Superseded, &said, moment, &policy)?;
    c.moved(&newest, from)?;
    Ok(newest.moved.life)
}

/// Holds every row of a batch to the rule whose newest generation is open: an earlier release may have left it half way.
pub(in crate::journal) fn settle_all(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let inquiries = Scan::by(&inquiry::inquiry_queue).at(&batch_id);
    let alone = inquiries.clone().only(inquiry::alone, Test::is(&true));
    let mut listed: Vec<PaymentId> = c.values(&alone, inquiry::seq)?;
    listed.sort_unstable();
    c.remove(&inquiries)?;
    let mut open = open_retries(c, batch_id)?;
    open.extend(listed);
    for seq in in_turn(&**c, &open) {
        let mut newest = subject(c, seq?)?;
        settle(c, &mut newest, StepContext { now, jitter: 0 }, Some(policy))?;
    }
    Ok(())
}

/// Returns the newest generations of rows of a batch with a retry that have not ended, in their order.
fn open_retries(c: &dyn Read, batch_id: BatchId) -> Result<Vec<PaymentId>, Error> {
    let mut open = Vec::new();
    let replaced = Scan::by(&life::replaced).at(&batch_id);
    c.each_row(&replaced, &[life::replaced_by], |row| {
        let later: PaymentId = row.get(0)?;
        // By the numbers of their states: those that have ended come last.
        let open_one = Scan::of(&life::TABLE)
            .at(&later)
            .only(life::replaced_by, Test::Absent)
            .only(life::state, Test::at_most(&State::Delivered));
        if c.any(&open_one)? {
            open.push(later);
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    open.sort_unstable();
    Ok(open)
}

/// Says of a claim, just before it leaves, whether it still may.
pub(in crate::journal) fn clearance(
    c: &WriteSession,
    seq: PaymentId,
    now: Timestamp,
    policy: &Policy,
) -> Result<Clearance, Error> {
    let own: Option<PaymentState> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
    let Some(life) = own.filter(|life| life.state == State::Posting) else {
        return Ok(Clearance::Settled);
    };
    let instruction = Scan::of(&instruction::TABLE).at(&seq);
    let Some(generation) = c.value::<i64>(&instruction, instruction::generation)? else {
        return Ok(Clearance::Settled);
    };
    planted_instead!(journal::claim_leaves());
    let mut facts = AtDeparture {
        c,
        seq,
        life,
        is_retry: generation > 0,
        held: Watched::default(),
        now,
        policy,
    };
    Ok(match departure(&mut facts)? {
        Departure::Leaves => Clearance::Leaves,
        _ => Clearance::Withheld,
    })
}

/// What is known of a payment just before it leaves, its claim being on record.
struct AtDeparture<'a> {
    c: &'a WriteSession,
    seq: PaymentId,
    life: PaymentState,
    is_retry: bool,
    held: Watched,
    now: Timestamp,
    policy: &'a Policy,
}

impl Facts for AtDeparture<'_> {
    type Altered = String;
    type Debt = DebtElsewhere;
    type Error = Error;

    // Instruction and evidence were compared at the claim a moment ago.
    fn altered(&mut self) -> Result<Option<String>, Error> {
        self.held = watched(self.c, &[self.seq])?;
        Ok(self.held.altered.take())
    }

    fn order(&mut self) -> Result<Order, Error> {
        let moment = StepContext {
            now: self.now,
            jitter: 0,
        };
        match self.is_retry {
            true => judge(
                self.c,
                &of_row(self.c, self.seq)?,
                moment,
                Some(self.policy),
            ),
            false if until_done::waits(self.c, self.seq)? => Ok(Order::UntilDone),
            false => Ok(Order::Leave),
        }
    }

    fn rests_on_stale(&mut self) -> Result<bool, Error> {
        stale::rests_on_stale(self.c, self.seq, &self.life, self.now, self.policy)
    }

    fn paid_elsewhere(&mut self) -> Result<Option<DebtElsewhere>, Error> {
        Ok(self.held.paid.take())
    }

    // What was shown was counted at the claim.
    fn was_shown(&mut self) -> Result<Result<(), String>, Error> {
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::schema::open;
    use crate::seeded_bugs::SeededBug;

    /// A row whose first generation stands at `first`; its retry is claimed.
    fn claimed_over(first: State) -> WriteSession {
        let c = open::in_memory().unwrap();
        c.execute_batch(&format!(
            "insert into service (service_id, code) values (1, 'B2C');
             insert into instruction (seq, batch_id, load_id, line, identifier, generation, received_at, service_id, msisdn,
                 amount, currency, country)
             values (1, 1, 1, 2, '0123456789ABCDEFGHJKMNPQR1', 0, 0, 1, '254700000001', 100, 'KES', 'KE'),
                 (2, 1, 1, 2, '0123456789ABCDEFGHJKMNPQR2', 1, 0, 1, '254700000001', 100, 'KES', 'KE');
             insert into life (seq, batch_id, service_id, state, code, attempts, posted_at, due_at, replaced_by)
             values (1, 1, 1, {}, 110, 1, 1, {NEVER}, 2), (2, 1, 1, 1, null, 1, 2, {NEVER}, null);",
            crate::journal::codec::values::state_number(first)
        ))
        .unwrap();
        WriteSession::new(c)
    }

    fn clear(c: &WriteSession) -> Clearance {
        clearance(
            c,
            PaymentId::new(2),
            Timestamp::from_millis(3),
            &Policy::default(),
        )
        .unwrap()
    }

    #[test]
    fn a_claimed_retry_is_held_against_what_it_replaces_once_more() {
        let table = [
            (State::Failed, Clearance::Leaves),
            (State::Conflict, Clearance::Withheld),
            (State::Paid, Clearance::Withheld),
        ];
        for (first, expected) in table {
            assert_eq!(clear(&claimed_over(first)), expected, "{first:?}");
        }
        let c = claimed_over(State::Failed);
        let (retry, state, due_at) = (PaymentId::new(2), State::Acknowledged, 9_i64);
        let own = Scan::of(&life::TABLE).at(&retry);
        c.set(&own, life::due_at, &due_at).unwrap();
        c.set(&own, life::state, &state).unwrap();
        assert_eq!(clear(&c), Clearance::Settled);
        let _awake = SeededBug::RetryJudgedOnce.wake();
        assert_eq!(clear(&claimed_over(State::Paid)), Clearance::Leaves);
    }
}
