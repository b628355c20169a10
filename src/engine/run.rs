//! The shell around the core: performs its effects, feeds the results back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::acquire::acquire;
use super::core::Health;
use super::exchange::{self, Exchange};
use super::findings::{Findings, GROUP_MAX, Next};
use super::lease;
use super::message::Message;
use super::pace::{Pace, Pacing};
use super::repeats::{Repeats, Wait};
use super::rest::{self, Departures};
use super::senders::{Line, WorkerPool};
use super::standstill::{self, Standstill};
use super::{Core, Effect, Ending, EngineInput, Plan, Progress, Run, Summary};
use crate::domain::{LaneId, PaymentId, ResponseDetails, ServiceCode, Timestamp};
use crate::gateway::{Gateway, OperationError, StopReason};
use crate::journal::{Clearance, Error, Finding, Halt, Question, RunToken, Transition};
use crate::ledger::HeldFor;
use crate::ledger::calendar::clock_was_set;
use crate::ledger::slots::Paced;
use crate::ledger::standstill::is_timely;
use crate::lifecycle::{Event, State, StepContext};

/// Outcomes that wait to be recorded; beyond this no further post leaves.
const BACKLOG_MAX: usize = 4096;
/// How often the journal is looked at for what other processes wrote.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Runs a batch until it ends, or until it can do no more.
///
/// # Errors
/// A fault of the journal stops the dispatch; what is under way is waited for, and nothing is guessed.
pub async fn run<G: Gateway>(plan: Plan<G>, run: Run) -> Result<Summary, Error> {
    let (acquired, asked, now) = acquire(&plan).await?;
    // From now on no other run can claim: only what it sent until now is to be kept away from.
    let (posts_from, asks_from) = match plan.pacing {
        Pacing::Local => rest::departs_from(&acquired, &plan.clock),
        // Nobody else is granted the slots of a run that was cut off.
        Pacing::Granted => (now, now),
    };
    let departures = Departures::begin();
    if acquired.abandoned > 0 {
        tracing::warn!(
            "{} were under way when the last run stopped; asking the gateway about them first",
            match acquired.abandoned {
                1 => "1 payment".to_owned(),
                many => format!("{many} payments"),
            }
        );
    }
    let standing = plan.journal.standing(plan.batch.clone()).await?;
    let (messages, inbox) = mpsc::channel(BACKLOG_MAX);
    let _beating = standstill::beat(&plan.pulse, asked);
    let shell = Driver {
        core: Core::new(plan.limits.clone(), &standing, now),
        pace: Pace::new(plan.pacing, &plan.limits, plan.clock),
        repeats: Repeats::default(),
        standstill: Standstill::default(),
        posts_from,
        asks_from,
        departures,
        token: acquired.token,
        tasks: TaskTracker::new(),
        line: Arc::new(Line {
            gateway: Arc::clone(&plan.gateway),
            addresses: plan.addresses.clone(),
            pulse: Arc::clone(&plan.pulse),
            clock: plan.clock,
        }),
        senders: WorkerPool::default(),
        messages,
        findings: Findings::default(),
        fault: None,
        halted: None,
        progress: Progress::default(),
        jitter: fastrand::u8(..),
        plan,
    };
    shell.serve(run, inbox, acquired.abandoned).await
}

struct Driver<G> {
    plan: Plan<G>,
    core: Core,
    pace: Pace,
    repeats: Repeats,
    standstill: Standstill,
    posts_from: Timestamp,
    asks_from: Timestamp,
    departures: Departures,
    token: RunToken,
    tasks: TaskTracker,
    line: Arc<Line<G>>,
    senders: WorkerPool,
    messages: mpsc::Sender<Message>,
    findings: Findings,
    fault: Option<Error>,
    halted: Option<Halt>,
    progress: Progress,
    jitter: u8,
}

/// Returns whether a payment had ended and moved all the same, or had failed and is spoken of: a retry of its row, or another row
/// of its debt, may have been looked at before.
fn reopens(moved: &Transition) -> bool {
    moved.from == State::Failed || moved.from.is_finished() && moved.from != moved.life.state
}

impl<G: Gateway> Driver<G> {
    async fn serve(
        mut self,
        mut run: Run,
        mut inbox: mpsc::Receiver<Message>,
        abandoned: u64,
    ) -> Result<Summary, Error> {
        let mut looked = Instant::now();
        let mut shown = Instant::now() - PROGRESS_EVERY;
        let mut callbacks_open = true;
        loop {
            let now = self.plan.clock.now();
            // Heard before anything leaves: a callback may settle a payment that waits to be posted.
            while let Ok(moved) = run.callbacks.try_recv() {
                self.hear(moved, now);
            }
            if self.core.keeps_time() && clock_was_set(now, self.plan.clock.of_machine()) {
                self.core.tell(EngineInput::ClockSet, now);
            }
            self.perform(now);
            let mut wake = self.dispatch(now);
            // What has just left makes room for the next block.
            self.perform(now);
            if let Some(at) = self.record() {
                wake = wake.min(at);
            }
            if shown.elapsed() >= PROGRESS_EVERY {
                shown = Instant::now();
                self.show(now, &run.progress);
            }
            if self.is_over() {
                break;
            }
            // A look that is under way makes itself heard; until then there is no time to wake for.
            let looks = self.fault.is_none() && !self.core.is_looking();
            if looks {
                wake = wake.min(looked + LOOK_EVERY);
            }
            // In this order: the operator's word first, then what is known, then the time.
            tokio::select! {
                biased;
                () = run.drain.cancelled(), if !self.core.is_ending() => {
                    self.core.tell(EngineInput::Drain, self.plan.clock.now());
                }
                Some(message) = inbox.recv() => {
                    self.take(message);
                    // What has gathered meanwhile is taken in one go.
                    while let Ok(message) = inbox.try_recv() {
                        self.take(message);
                    }
                }
                moved = run.callbacks.recv(), if callbacks_open => match moved {
                    Some(moved) => self.hear(moved, self.plan.clock.now()),
                    None => callbacks_open = false,
                },
                () = tokio::time::sleep_until(wake) => {}
            }
            if self.fault.is_none() && looked.elapsed() >= LOOK_EVERY && self.core.start_look() {
                looked = Instant::now();
                self.look();
            }
        }
        // Whoever still has something to say must not wait for somebody to listen.
        drop(inbox);
        self.senders = WorkerPool::default();
        self.tasks.close();
        self.tasks.wait().await;
        self.show(self.plan.clock.now(), &run.progress);
        self.conclude(abandoned).await
    }

    /// Holds what the run has ended for, notes when the last post left, and sums up.
    async fn conclude(self, abandoned: u64) -> Result<Summary, Error> {
        let held_for = match self.core.ended() {
            Some(Ending::Misread(_)) => Some(HeldFor::Misread),
            Some(Ending::Taken(_)) => Some(HeldFor::Taken),
            _ => None,
        };
        if let (Some(why), None) = (held_for, &self.fault) {
            let now = self.plan.clock.now();
            self.plan.journal.hold_all(self.token, why, now).await?;
        }
        if self.fault.is_none() {
            if self.plan.pacing == Pacing::Local {
                let (clock, journal) = (&self.plan.clock, &self.plan.journal);
                self.departures.note(clock, journal, self.token).await;
            }
            self.leave().await?;
        }
        let batch = self.plan.batch.clone();
        let halted = self.halted.map(|halt| match halt {
            Halt::Altered(what) => Error::Altered { batch, what },
            Halt::PaidElsewhere(found) => Error::PaidElsewhere {
                batch,
                found: Box::new(found),
            },
        });
        match self.fault.or(halted) {
            Some(error) => Err(error),
            None => Ok(Summary {
                ending: self.core.ended().cloned().unwrap_or(Ending::Drained),
                posted: self.progress.posted,
                asked: self.progress.asked,
                abandoned,
            }),
        }
    }

    /// Ends the session of the run.
    async fn leave(&self) -> Result<(), Error> {
        if self.plan.journal.is_shared() {
            let policy = Arc::clone(&self.plan.policy);
            self.plan.journal.leave(self.token, policy).await?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        if self.fault.is_some() {
            return self.core.nothing_under_way();
        }
        self.core.ended().is_some() && self.findings.are_recorded()
    }

    /// Takes in what a callback has moved.
    fn hear(&mut self, moved: Transition, now: Timestamp) {
        if reopens(&moved) {
            self.repeats.doubt();
        }
        self.core.tell(EngineInput::Transition(vec![moved]), now);
    }

    fn take(&mut self, message: Message) {
        let now = self.plan.clock.now();
        match message {
            Message::EngineInput(news) => self.core.tell(news, now),
            Message::Posted(sender, exchange) => {
                self.senders.done(sender);
                self.take_exchange(exchange, EngineInput::PostEnded, now);
            }
            Message::Answered(mut exchange, [asked, heard]) => {
                let (took, lay) = (heard.since(asked), now.since(heard));
                if !is_timely(took, lay, self.plan.request_timeout) {
                    exchange.forget_not_found();
                }
                self.take_exchange(exchange, EngineInput::QueryEnded, now);
            }
            Message::Recorded(moves) => {
                self.findings.recorded(Instant::now());
                if moves.iter().any(reopens) {
                    self.repeats.doubt();
                }
                self.core.tell(EngineInput::Transition(moves), now);
            }
            Message::LookedUp(found) => {
                self.core.take_back(&found);
                let leaves = found
                    .iter()
                    .filter(|(_, clearance)| *clearance == Clearance::Leaves);
                let leaves = leaves.map(|(seq, _)| *seq);
                self.repeats.answered(leaves, Instant::now());
            }
            Message::Granted(slots) => {
                let pause = self.pace.take(&slots);
                self.repeats.wait_for(pause, &[], Instant::now());
            }
            Message::Renewed(asked) => {
                if self.plan.journal.is_shared() {
                    lease::begin(&self.plan.pulse, asked);
                }
            }
            Message::StillOurs(asked) => self.standstill.answered(&self.plan.pulse, asked),
            Message::Failed(error) => self.fail(error, now),
            Message::Halted(halt) => {
                match &halt {
                    Halt::Altered(what) => {
                        tracing::error!(%what, "the journal was changed from outside; no further payment is posted");
                    }
                    Halt::PaidElsewhere(found) => {
                        tracing::error!(what = %found.what, "no further payment is posted");
                    }
                }
                self.core.tell(EngineInput::Drain, now);
                self.halted.get_or_insert(halt);
            }
        }
    }

    fn take_exchange(
        &mut self,
        exchange: Exchange,
        ended: fn(Health) -> EngineInput,
        now: Timestamp,
    ) {
        self.findings.extend(exchange.findings);
        for lane in exchange.dry_lanes {
            self.core.tell(EngineInput::NoFloat(lane), now);
        }
        self.core.tell(ended(exchange.health), now);
        if let Some(StopReason::Credentials(why) | StopReason::Misconfigured(why)) = exchange.stop {
            self.core.tell(EngineInput::Stop(why), now);
        }
    }

    // Dispatch ends with the first failure of the journal: what it holds is no longer known.
    fn fail(&mut self, error: Error, now: Timestamp) {
        if self.fault.is_none() {
            tracing::error!(%error, "no further payment is posted, and the run ends");
        }
        self.core.tell(EngineInput::Drain, now);
        self.core.forget_journal();
        self.findings.forget();
        self.fault.get_or_insert(error);
    }

    fn perform(&mut self, now: Timestamp) {
        for effect in self.core.poll(now) {
            match effect {
                Effect::Claim(limit) => self.claim(limit, now),
                Effect::Fetch(limit) => self.fetch(limit, now),
                Effect::Release(claims) => {
                    self.findings
                        .extend(claims.into_iter().map(|claim| Finding {
                            seq: claim.seq,
                            event: Event::Unsent,
                            said: ResponseDetails {
                                cause: "withheld before it was sent".into(),
                                ..ResponseDetails::default()
                            },
                            asked: None,
                        }));
                }
                Effect::Look => self.look(),
                Effect::Abandon => self.abandon(now),
                Effect::HoldLane(lane) => {
                    let journal = self.plan.journal.clone();
                    let token = self.token;
                    self.spawn(async move {
                        journal
                            .hold_lane(token, lane, HeldFor::Float.reason().into(), now)
                            .await
                    });
                }
                Effect::AskBalance(lane, service) => self.ask_balance(lane, service),
                Effect::ReopenLane(lane) => {
                    let journal = self.plan.journal.clone();
                    let token = self.token;
                    self.spawn(async move { journal.reopen_lane(token, lane).await });
                }
            }
        }
    }

    fn spawn(&self, work: impl Future<Output = Result<(), Error>> + Send + 'static) {
        let messages = self.messages.clone();
        self.tasks.spawn(async move {
            if let Err(error) = work.await {
                let _ = messages.send(Message::Failed(error)).await;
            }
        });
    }

    fn claim(&self, limit: usize, now: Timestamp) {
        let (journal, policy, token) = (
            self.plan.journal.clone(),
            Arc::clone(&self.plan.policy),
            self.token,
        );
        let messages = self.messages.clone();
        self.spawn(async move {
            let (claims, due, halt) = journal.claim(token, limit, now, policy).await?;
            // Heard before the claims, so that none of them leaves.
            if let Some(halt) = halt {
                let _ = messages.send(Message::Halted(halt)).await;
            }
            #[cfg(debug_assertions)]
            crate::failpoints::pass("after-claim");
            let _ = messages
                .send(Message::EngineInput(EngineInput::Claimed(claims, due)))
                .await;
            Ok(())
        });
    }

    fn fetch(&self, limit: usize, now: Timestamp) {
        let (journal, token, messages) =
            (self.plan.journal.clone(), self.token, self.messages.clone());
        // Longer than any question waits for its turn and its answer.
        let lease = now.after(self.plan.request_timeout * 2 + Duration::from_secs(5));
        self.spawn(async move {
            let (questions, due) = journal.questions(token, limit, now, lease).await?;
            let _ = messages
                .send(Message::EngineInput(EngineInput::Questions(questions, due)))
                .await;
            Ok(())
        });
    }

    // Not among the tasks that the end waits for: it touches no payment.
    fn ask_balance(&self, lane: LaneId, service: ServiceCode) {
        let (gateway, messages) = (Arc::clone(&self.plan.gateway), self.messages.clone());
        tokio::spawn(async move {
            let news = match gateway.balance(&service).await {
                Ok(balance) => {
                    let balance = balance.map(|balance| (balance.currency, balance.minor));
                    EngineInput::Balance(lane, balance)
                }
                Err(OperationError::Credentials { what, .. }) => EngineInput::Stop(what),
                Err(error) => {
                    tracing::warn!(%service, %error, "the balance of a paused service cannot be asked for; it stays paused");
                    EngineInput::Balance(lane, None)
                }
            };
            let _ = messages.send(Message::EngineInput(news)).await;
        });
    }

    fn abandon(&self, now: Timestamp) {
        // What is about to be recorded is not lost.
        if !self.findings.are_recorded() {
            return;
        }
        let (journal, policy) = (self.plan.journal.clone(), Arc::clone(&self.plan.policy));
        let token = self.token;
        self.spawn(async move {
            let payments = journal.abandon(token, now, policy).await?;
            if payments > 0 {
                tracing::warn!(
                    payments,
                    "payments were handed out for sending, and their outcome is unknown; the gateway is asked about \
                    them"
                );
            }
            Ok(())
        });
    }

    fn look(&self) {
        if self.fault.is_some() {
            return;
        }
        let (journal, token, messages) =
            (self.plan.journal.clone(), self.token, self.messages.clone());
        let (batch, pulse) = (self.plan.batch.clone(), Arc::clone(&self.plan.pulse));
        let now = self.plan.clock.now();
        self.spawn(async move {
            let standing = journal.standing(batch).await?;
            let asked = pulse.time();
            let due = journal.due(token, now).await?;
            let _ = messages.send(Message::Renewed(asked)).await;
            let _ = messages
                .send(Message::EngineInput(EngineInput::Standing(
                    Box::new(standing),
                    due,
                )))
                .await;
            Ok(())
        });
    }

    /// Sends what the core and the pacers allow; returns when to look again.
    fn dispatch(&mut self, now: Timestamp) -> Instant {
        let wake = Instant::from_std(self.plan.clock.instant(self.core.wake_at(now)));
        if self.fault.is_some() {
            return wake;
        }
        // Where both count towards one limit, what is open is settled before more is begun.
        let wake = if self.plan.limits.shared_rate {
            let asked = self.dispatch_queries(now, wake);
            self.dispatch_posts(now, asked)
        } else {
            let posted = self.dispatch_posts(now, wake);
            self.dispatch_queries(now, posted)
        };
        self.ask_for_slots(now);
        wake
    }

    /// Asks the journal for slots to leave in, ahead of their time, where it grants them.
    fn ask_for_slots(&mut self, now: Timestamp) {
        for request in self.pace.requests(self.core.ready(now)) {
            let (journal, token) = (self.plan.journal.clone(), self.token);
            let (clock, messages) = (self.plan.clock, self.messages.clone());
            self.spawn(async move {
                let reads = move || clock.running();
                let granted = journal.slots(token, request, reads).await?;
                let _ = messages.send(Message::Granted(granted)).await;
                Ok(())
            });
        }
    }

    fn dispatch_posts(&mut self, now: Timestamp, mut wake: Instant) -> Instant {
        while self.findings.waiting() < BACKLOG_MAX {
            let count = self
                .core
                .next_post(now)
                .min(self.pace.packets(Paced::Posts));
            if count == 0 {
                break;
            }
            if self.stands_still() {
                break;
            }
            if now < self.posts_from {
                wake = wake.min(Instant::from_std(self.plan.clock.instant(self.posts_from)));
                break;
            }
            let repeats = self.core.repeats(count);
            if let Some(wait) = self.repeats.wait(&repeats, Instant::now()) {
                match wait {
                    Wait::Turn(at) => wake = wake.min(at),
                    Wait::Question => {
                        self.look_at(self.core.repeats(GROUP_MAX), Message::LookedUp);
                    }
                    Wait::Answer => {}
                }
                break;
            }
            if let Err(pause) = self.pace.pass(Paced::Posts) {
                let look = self.repeats.wait_for(Some(pause), &repeats, Instant::now());
                wake = wake.min(look);
                break;
            }
            self.repeats.turned();
            self.departures.posted();
            let claims = self.core.take_post(count);
            self.progress.posted += claims.len() as u64;
            self.senders.post(
                claims,
                &self.line,
                &self.tasks,
                &self.messages,
                Message::Posted,
            );
        }
        self.repeats.forget_answer();
        wake
    }

    fn dispatch_queries(&mut self, now: Timestamp, mut wake: Instant) -> Instant {
        loop {
            let count = self
                .core
                .next_query(now)
                .min(self.pace.packets(Paced::Questions));
            if count == 0 || self.stands_still() {
                break;
            }
            if now < self.asks_from {
                wake = wake.min(Instant::from_std(self.plan.clock.instant(self.asks_from)));
                break;
            }
            if let Err(pause) = self.pace.pass(Paced::Questions) {
                wake = wake.min(Instant::now() + pause.get());
                break;
            }
            self.departures.asked();
            let questions = self.core.take_query(count);
            self.progress.asked += questions.len() as u64;
            self.query(questions);
        }
        wake
    }

    /// Returns whether the program stood still and nothing may leave, neither a post nor a question, until the journal was
    /// asked who runs the batch; asks it once.
    fn stands_still(&mut self) -> bool {
        // The look that is under way, or comes next, renews it.
        if self.plan.pulse.is_over() {
            return true;
        }
        let stands = !self.standstill.may_depart(&self.plan.pulse);
        if stands && let Some(look) = self.standstill.ask(&self.plan.pulse) {
            self.look_around(look);
        }
        stands
    }

    /// Asks the journal whether another run has taken over while this one stood still.
    fn look_around(&self, look: u64) {
        tracing::warn!("the program stood still; it checks whether another run has taken over");
        self.look_at(Vec::new(), move |_| Message::StillOurs(look));
    }

    /// Asks the journal what claims may do, if no other run has taken over.
    fn look_at(
        &self,
        seqs: Vec<PaymentId>,
        told: impl FnOnce(Vec<(PaymentId, Clearance)>) -> Message + Send + 'static,
    ) {
        let (journal, token, messages) =
            (self.plan.journal.clone(), self.token, self.messages.clone());
        let (policy, now) = (Arc::clone(&self.plan.policy), self.plan.clock.now());
        self.spawn(async move {
            let found = journal.clearances(token, seqs, now, policy).await?;
            let _ = messages.send(told(found)).await;
            Ok(())
        });
    }

    fn query(&self, questions: Vec<Question>) {
        let gateway = Arc::clone(&self.plan.gateway);
        let messages = self.messages.clone();
        let clock = self.plan.clock;
        self.tasks.spawn(async move {
            let asked = clock.now();
            let answered = exchange::ask(gateway, questions).await;
            let times = [asked, clock.now()];
            let _ = messages.send(Message::Answered(answered, times)).await;
        });
    }

    /// Records the outcomes that have gathered, one transaction at a time; returns until when they wait for more.
    fn record(&mut self) -> Option<Instant> {
        if self.fault.is_some() {
            return None;
        }
        let group = match self.findings.next(self.core.is_posting(), Instant::now()) {
            Next::Nothing => return None,
            Next::Gather(until) => return Some(until),
            Next::Record(group) => group,
        };
        self.jitter = self.jitter.wrapping_mul(5).wrapping_add(113);
        let moment = StepContext {
            now: self.plan.clock.now(),
            jitter: self.jitter,
        };
        let (journal, token, policy) = (
            self.plan.journal.clone(),
            self.token,
            Arc::clone(&self.plan.policy),
        );
        let messages = self.messages.clone();
        self.spawn(async move {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-record");
            let moves = journal.record(Some(token), group, moment, policy).await?;
            #[cfg(debug_assertions)]
            crate::failpoints::pass("after-record");
            let _ = messages.send(Message::Recorded(moves)).await;
            Ok(())
        });
        None
    }

    fn show(&mut self, now: Timestamp, progress: &watch::Sender<Progress>) {
        let (states, circuit_open) = self.core.view();
        self.progress.states.clone_from(states);
        self.progress.circuit_open = circuit_open;
        self.progress.held = self.core.held();
        self.progress.awaited = self.core.awaits(now);
        self.progress.draining = self.core.is_ending();
        self.progress.at = now;
        progress.send_replace(self.progress.clone());
    }
}
