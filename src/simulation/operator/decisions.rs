//! What an operator decides, in the way of `disburse resolve`: the gateway is asked before a payment is called failed, and
//! the rule says whether the decision may stand.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{BatchName, PayerTransactionId, Pulse};
use crate::gateway::{Gateway, Inquiry};
use crate::journal::{Answered, Decision, Error, Finding, Journal, Lane, Transition};
use crate::ledger::HeldFor;
use crate::ledger::decisions::{Asked, Refusal, is_asked_first};
use crate::lifecycle::{Policy, State, StepContext};
use crate::simulation::disk::rows;
use crate::simulation::hurry::hurried;
use crate::simulation::judge::oracle::Generation;
use crate::simulation::life::policy;
use crate::simulation::scene::Scene;

/// After so long the operator may say that an open payment failed, although the gateway has it.
const GIVE_UP_AFTER_S: u64 = 300;

/// So often an operator waits until a payment may be decided.
const WAITS_MAX: u32 = 3;

/// What became of an order that a payment failed.
#[derive(Debug)]
pub(in crate::simulation) enum Order {
    Decided,
    Refused(Refusal),
    /// The lifecycle does not allow it, or the journal failed.
    NotAllowed(Error),
}

/// The truth about a payment, as far as a person can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    Paid,
    /// It was not executed, and will not be.
    Failed,
    /// Somebody else's payment has its identifier.
    Taken,
    Open,
}

impl Scene {
    /// The waits of an operator who loses patience sooner than a run, sometimes with another configuration.
    fn patience(&self) -> Policy {
        let longest = Duration::from_secs(GIVE_UP_AFTER_S);
        let of_runs = policy(true, self.settle_on);
        Policy {
            give_up_after: longest,
            delivered_give_up_after: longest,
            ..match self.hurries(2) {
                true => hurried(&of_runs),
                false => Policy::clone(&of_runs),
            }
        }
    }

    pub(in crate::simulation) fn moment(&self) -> StepContext {
        StepContext {
            now: self.world.lock().wall_now(),
            jitter: 0,
        }
    }

    /// What became of a payment in truth. Whatever ended is not executed later, unless the gateway breaks its word.
    fn truth(&self, id: PayerTransactionId) -> Truth {
        let shape = self.world.lock();
        match shape.ledger.get(&id) {
            Some(account) if account.executions > 0 => Truth::Paid,
            Some(account) if account.taken => Truth::Taken,
            Some(account) if account.end.is_some() => Truth::Failed,
            _ => Truth::Open,
        }
    }

    /// Decides one payment: by the truth, or by a mistake.
    pub(in crate::simulation) async fn decide_one(&self, journal: &Journal) -> String {
        let (lies, number) = {
            let mut shape = self.world.lock();
            // Where the gateway itself denies what it has, only the person's word is left.
            let is_honest = shape.faults.query_lie == 0 && shape.faults.hidden == 0;
            (
                is_honest && shape.chance(|f| f.false_word),
                shape.rng.usize(..),
            )
        };
        let mut open: Vec<_> = self.generations().into_iter().filter(is_open).collect();
        if !lies {
            open.retain(|generation| self.truth(generation.id) != Truth::Open);
        }
        if open.is_empty() {
            return "nothing to decide".into();
        }
        let id = open[number % open.len()].id;
        let truth = self.truth(id);
        if truth == Truth::Paid && !lies {
            let paid = self.call_paid(journal, id, false).await;
            return format!("{id} is decided, paid: {}", paid.is_ok());
        }
        // A second word is given by whoever knows.
        let although = !lies && number.is_multiple_of(2);
        let order = self.call_failed(journal, id, although).await;
        format!("{id} is to be failed, in truth {truth:?}: {order:?}")
    }

    /// Orders that a payment failed.
    async fn call_failed(
        &self,
        journal: &Journal,
        id: PayerTransactionId,
        although: bool,
    ) -> Order {
        match self.ask_and_decide(journal, id, although).await {
            Ok(Ok(())) => Order::Decided,
            Ok(Err(refusal)) => Order::Refused(refusal),
            Err(error) => Order::NotAllowed(error),
        }
    }

    /// The same with a second word, and again when the time has come that the refusal names.
    pub(in crate::simulation) async fn call_failed_in_time(
        &self,
        journal: &Journal,
        id: PayerTransactionId,
    ) -> Order {
        for _ in 0..WAITS_MAX {
            let order = self.call_failed(journal, id, true).await;
            self.world
                .lock()
                .note(|| format!("{id} is to be failed: {order:?}"));
            let Order::Refused(Refusal::TooEarly(_, from) | Refusal::TooEarlyForNotFound(from)) =
                order
            else {
                return order;
            };
            // The refusal names a time of the journal's clock.
            let wait = from.since(self.world.lock().real_now()) + Duration::from_millis(1);
            self.waited.set(self.waited.get() + wait);
            tokio::time::sleep(wait).await;
        }
        Order::Refused(Refusal::LearnedMeanwhile)
    }

    async fn ask_and_decide(
        &self,
        journal: &Journal,
        id: PayerTransactionId,
        although: bool,
    ) -> Result<Result<(), Refusal>, Error> {
        let looked = journal.look(self.batch_of(id), id.as_str().into()).await?;
        let policy = self.patience();
        let (mut seen, mut heard) = (looked.seen, None);
        if is_asked_first(&looked.life) || looked.is_open {
            let user = self.account_of(&self.batch_of(id));
            let now = self.moment().now;
            let batch = self.batch_of(id);
            self.confirm_payer(journal, &batch, user).await?;
            journal.pin(batch, Self::home(user), now).await?;
            let inquiry = Inquiry {
                id: looked.id,
                gateway_transaction_id: None,
                country: None,
            };
            let line = self.line(
                (usize::MAX, user),
                1,
                &CancellationToken::new(),
                Default::default(),
                &Arc::new(Pulse::steady()),
            );
            let Some(outcome) = line.query(&[inquiry]).await.outcomes.pop() else {
                return Ok(Err(Refusal::LearnedMeanwhile));
            };
            let event = outcome.event;
            let finding = Finding {
                seq: looked.seq,
                event,
                said: outcome.said,
                asked: None,
            };
            let answered = journal
                .hear(looked.seen, finding, self.moment(), policy.clone())
                .await?;
            let Answered { moved, learned, .. } = answered;
            if moved.life.state == State::Failed && !looked.is_open {
                return Ok(Ok(()));
            }
            if learned {
                return Ok(Err(Refusal::LearnedMeanwhile));
            }
            heard = Some(answered.heard);
            seen = answered.seen;
            // The person reads what the gateway said, and thinks it over.
            let pause = self.world.lock().rng.u64(0..5_000);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let asked = Asked {
            heard,
            learned: false,
            said_paid: false,
            shown_paid: false,
            although,
        };
        let did = Result::is_ok;
        let decided = self.ordered(journal, although, did, async |journal| {
            let (moment, policy) = (self.moment(), policy.clone());
            journal
                .decide_failed(looked.seq, seen, asked, decision(false), moment, policy)
                .await
        });
        Ok(decided.await?.map(|_| ()))
    }

    /// Orders that a payment is paid.
    async fn call_paid(
        &self,
        journal: &Journal,
        id: PayerTransactionId,
        all: bool,
    ) -> Result<Transition, Error> {
        let decided = self.ordered(
            journal,
            all,
            |_| true,
            async |journal| {
                let (batch, name) = (self.batch_of(id), id.as_str().into());
                journal
                    .decide(batch, name, decision(true), self.moment())
                    .await
            },
        );
        decided.await
    }

    /// Opens a lane.
    pub(in crate::simulation) async fn resume(
        &self,
        journal: &Journal,
        (batch, service): (&BatchName, &str),
        all: bool,
    ) -> Result<Option<Lane>, Error> {
        let resumed = self.ordered(journal, all, Option::is_some, async |journal| {
            let now = self.moment().now;
            journal
                .resume_lane(batch.clone(), service.into(), now)
                .await
        });
        resumed.await
    }

    /// Decides what only a person can, by the truth.
    pub(in crate::simulation) async fn decide(&self) {
        if !self.world.lock().is_quiet() {
            return;
        }
        let journal = self.open(None, &CancellationToken::new());
        self.open_lanes(&journal).await;
        self.withdraw_stuck(&journal).await;
        for generation in self.generations() {
            let (id, truth) = (generation.id, self.truth(generation.id));
            // Its retry waits until the gateway says of it what it never says: at most it left once, and was not found.
            if truth == Truth::Taken && generation.replaced {
                self.cancel_retry_of(&journal, &generation).await;
            }
            // What the gateway took back, and cannot be asked about or never says again.
            let taken_back = generation.state == State::Failed
                && generation.replaced
                && truth != Truth::Taken
                && self.is_open_failure(&journal, id).await;
            // Somebody has said that the gateway took it, and the gateway does not have it: that never changes.
            let denied = matches!(generation.state, State::Acknowledged | State::Delivered)
                && matches!(truth, Truth::Failed | Truth::Open);
            // Posted before the batch was moved, it is looked for in vain: the gateway does not say what that proves.
            let is_lost = generation.state == State::InDoubt
                && matches!(truth, Truth::Failed | Truth::Open)
                && self.disk.look(|c| rows::was_moved(c, &generation.batch));
            let is_asked = taken_back
                || denied
                || is_lost
                || generation.state == State::Conflict
                || truth == Truth::Taken && !generation.state.is_finished();
            if !is_asked {
                continue;
            }
            let mut paid = truth == Truth::Paid;
            if !paid {
                let order = self.call_failed_in_time(&journal, id).await;
                match order {
                    // What somebody else has paid counts as paid where the gateway does not say whose it is.
                    Order::Refused(Refusal::IsPaid) if truth == Truth::Taken => paid = true,
                    // Later.
                    Order::Decided | Order::Refused(_) => {}
                    // By what the gateway has just said nothing is left to decide.
                    Order::NotAllowed(_)
                        if taken_back && !self.is_open_failure(&journal, id).await => {}
                    Order::NotAllowed(error) => self.cannot_decide(id, &error),
                }
            }
            if paid {
                let decided = self.call_paid(&journal, id, true).await;
                if let Err(error) = decided
                    && !self.is_paid(id)
                {
                    self.cannot_decide(id, &error);
                }
            }
        }
    }

    /// Opens the lanes that were held because too much of what was heard was not ours: no run does. Those that wait for float
    /// a run opens.
    async fn open_lanes(&self, journal: &Journal) {
        for batch in self.batches() {
            let standing = journal.standing(batch.clone()).await;
            let held = standing.map(|standing| standing.held).unwrap_or_default();
            for lane in held
                .into_iter()
                .filter(|lane| lane.held_for != HeldFor::Float)
            {
                let service = lane.service.as_str();
                let opened = self.resume(journal, (&batch, service), true).await;
                let said = format!("lane {} is opened: {}", lane.service, opened.is_ok());
                self.world.lock().note(|| said);
            }
        }
    }

    /// Whether it has been learned meanwhile.
    fn is_paid(&self, id: PayerTransactionId) -> bool {
        let mut generations = self.generations().into_iter();
        generations.any(|generation| generation.id == id && generation.state == State::Paid)
    }

    async fn is_open_failure(&self, journal: &Journal, id: PayerTransactionId) -> bool {
        let looked = journal.look(self.batch_of(id), id.as_str().into()).await;
        looked.is_ok_and(|looked| looked.is_open)
    }

    async fn cancel_retry_of(&self, journal: &Journal, replaced: &Generation) {
        let is_ready = |generation: &Generation| {
            generation.line == replaced.line
                && generation.batch == replaced.batch
                && generation.state == State::Ready
        };
        if let Some(retry) = self.generations().into_iter().find(is_ready) {
            let did = |count: &u64| *count > 0;
            let cancelled = self.ordered(journal, true, did, async |journal| {
                let name = Some(retry.id.as_str().into());
                journal
                    .cancel(self.batch_of(retry.id), name, self.moment())
                    .await
            });
            let cancelled = cancelled.await;
            let said = format!("the retry {} is cancelled: {}", retry.id, cancelled.is_ok());
            self.world.lock().note(|| said);
            // It was posted once, and not found since: the gateway is asked, and a person calls it failed.
            if cancelled.is_err() {
                self.call_failed_in_time(journal, retry.id).await;
            }
        }
    }

    fn cannot_decide(&self, id: PayerTransactionId, error: &Error) {
        let text = format!("10: {id} could not be decided: {error}");
        self.world.lock().violation(text);
    }
}

fn is_open(generation: &Generation) -> bool {
    !matches!(
        generation.state,
        State::Paid | State::Failed | State::Cancelled | State::Ready | State::Posting
    )
}

fn decision(paid: bool) -> Decision {
    Decision {
        paid,
        reason: "seen".into(),
        evidence: "statement".into(),
    }
}
