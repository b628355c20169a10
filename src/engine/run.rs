//! The shell around the core: performs its effects, feeds the results back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::core::Health;
use super::{Core, Effect, Ending, News, Pacer, Plan, Progress, Run, Summary};
use crate::domain::{GatewayTransactionId, Said, Timestamp};
use crate::gateway::{Gateway, Inquiry, Outcome, Outgoing, Reply, Signal, StopReason};
use crate::journal::{Claim, Error, Finding, Moved, Question, RunTerms, RunToken};
use crate::lifecycle::{Class, Event, Moment, Verdict};

/// Outcomes that wait to be recorded; beyond this no further post leaves.
const BACKLOG_MAX: usize = 4096;
/// Outcomes recorded in one transaction.
const GROUP_MAX: usize = 1024;
/// How often the journal is looked at for what other processes wrote.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// A post and a query are asked for less of, when the gateway does not say how much less.
const SLOW_DOWN: Duration = Duration::from_secs(1);

enum Message {
    News(News),
    Outcomes(Vec<Finding>, Vec<i64>, News, Option<StopReason>),
    Recorded(Vec<Moved>),
    Failed(Error),
}

/// Runs a batch until it ends, or until it can do no more.
///
/// # Errors
/// A fault of the journal stops the dispatch; what is under way is waited for, and nothing is guessed.
pub async fn run<G: Gateway>(plan: Plan<G>, run: Run) -> Result<Summary, Error> {
    let now = plan.clock.now();
    let terms = RunTerms {
        gateway: plan.gateway_identity.clone(),
        wire: plan.wire.clone(),
        longest_wait: plan
            .policy
            .query_backoff_max
            .max(plan.policy.callback_grace),
        first_query_after: plan.policy.first_query_after,
        now,
    };
    let acquired = plan
        .journal
        .acquire(plan.batch.clone(), terms, Arc::clone(&plan.policy))
        .await?;
    if acquired.abandoned > 0 {
        tracing::warn!(
            payments = acquired.abandoned,
            "an earlier run left intents without an outcome; they will be asked about"
        );
    }
    let standing = plan.journal.standing(plan.batch.clone()).await?;
    let (messages, inbox) = mpsc::channel(BACKLOG_MAX);
    // The rate holds over a restart: what an earlier run sent within the last second counts. A claimed block may take a
    // while to leave, so that its age alone does not clear it.
    let recent = acquired
        .last_claim_at
        .is_some_and(|at| now.since(at) < Duration::from_secs(60));
    let recent = recent || acquired.abandoned > 0;
    let shell = Shell {
        core: Core::new(plan.limits.clone(), &standing, now),
        posts: Pacer::new(plan.limits.rate, plan.limits.packets),
        queries: Pacer::new(plan.limits.query_rate, plan.limits.packets),
        posts_from: if recent {
            now.after(Duration::from_secs(1))
        } else {
            now
        },
        token: acquired.token,
        tasks: TaskTracker::new(),
        messages,
        findings: Vec::new(),
        recording: false,
        fault: None,
        progress: Progress::default(),
        jitter: fastrand::u8(..),
        plan,
    };
    shell.serve(run, inbox, acquired.abandoned).await
}

struct Shell<G> {
    plan: Plan<G>,
    core: Core,
    posts: Pacer,
    queries: Pacer,
    posts_from: Timestamp,
    token: RunToken,
    tasks: TaskTracker,
    messages: mpsc::Sender<Message>,
    /// Outcomes that wait for the transaction under way.
    findings: Vec<Finding>,
    recording: bool,
    fault: Option<Error>,
    progress: Progress,
    jitter: u8,
}

impl<G: Gateway> Shell<G> {
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
                self.core.tell(News::Moved(vec![moved]), now);
            }
            self.perform(now);
            let wake = self.dispatch(now);
            self.record();
            if shown.elapsed() >= PROGRESS_EVERY {
                shown = Instant::now();
                self.show(now, &run.progress);
            }
            if self.is_over() {
                break;
            }
            let wake = wake.min(looked + LOOK_EVERY);
            tokio::select! {
                Some(message) = inbox.recv() => {
                    self.take(message);
                    // What has gathered meanwhile is taken in one go.
                    while let Ok(message) = inbox.try_recv() {
                        self.take(message);
                    }
                }
                moved = run.callbacks.recv(), if callbacks_open => match moved {
                    Some(moved) => {
                        let now = self.plan.clock.now();
                        self.core.tell(News::Moved(vec![moved]), now);
                    }
                    None => callbacks_open = false,
                },
                () = run.drain.cancelled(), if !self.core.is_ending() => {
                    self.core.tell(News::Drain, self.plan.clock.now());
                }
                () = tokio::time::sleep_until(wake) => {}
            }
            if looked.elapsed() >= LOOK_EVERY && self.core.start_look() {
                looked = Instant::now();
                self.look();
            }
        }
        self.tasks.close();
        self.tasks.wait().await;
        self.show(self.plan.clock.now(), &run.progress);
        match self.fault {
            Some(error) => Err(error),
            None => Ok(Summary {
                ending: self.core.ended().cloned().unwrap_or(Ending::Drained),
                posted: self.progress.posted,
                asked: self.progress.asked,
                abandoned,
            }),
        }
    }

    fn is_over(&self) -> bool {
        if self.fault.is_some() {
            return self.core.nothing_under_way();
        }
        self.core.ended().is_some() && self.findings.is_empty() && !self.recording
    }

    fn take(&mut self, message: Message) {
        let now = self.plan.clock.now();
        match message {
            Message::News(news) => self.core.tell(news, now),
            Message::Outcomes(findings, dry_lanes, ended, stop) => {
                self.findings.extend(findings);
                for lane in dry_lanes {
                    self.core.tell(News::NoFloat(lane), now);
                }
                self.core.tell(ended, now);
                if let Some(StopReason::Credentials(why) | StopReason::Misconfigured(why)) = stop {
                    self.core.tell(News::Stop(why), now);
                }
            }
            Message::Recorded(moves) => {
                self.recording = false;
                self.core.tell(News::Moved(moves), now);
            }
            Message::Failed(error) => self.fail(error, now),
        }
    }

    // Dispatch ends with the first failure of the journal: what it holds is no longer known.
    fn fail(&mut self, error: Error, now: Timestamp) {
        tracing::error!(%error, "the journal failed; no further payment is posted");
        self.recording = false;
        self.core.tell(News::Drain, now);
        self.core.forget_journal();
        self.findings.clear();
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
                            said: Said {
                                cause: "withheld before it was sent".into(),
                                ..Said::default()
                            },
                        }));
                }
                Effect::Look => self.look(),
                Effect::HoldLane(lane) => {
                    let journal = self.plan.journal.clone();
                    let token = self.token;
                    self.spawn(async move {
                        journal
                            .hold_lane(token, lane, "the gateway wants float (230)".into(), now)
                            .await
                    });
                }
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
            let (claims, due) = journal.claim(token, limit, now, policy).await?;
            let _ = messages
                .send(Message::News(News::Claimed(claims, due)))
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
                .send(Message::News(News::Questions(questions, due)))
                .await;
            Ok(())
        });
    }

    fn look(&self) {
        if self.fault.is_some() {
            return;
        }
        let (journal, token, messages) =
            (self.plan.journal.clone(), self.token, self.messages.clone());
        let batch = self.plan.batch.clone();
        self.spawn(async move {
            let standing = journal.standing(batch).await?;
            let due = journal.due(token).await?;
            let _ = messages
                .send(Message::News(News::Standing(Box::new(standing), due)))
                .await;
            Ok(())
        });
    }

    /// Sends what the core and the pacers allow; returns when to look again.
    fn dispatch(&mut self, now: Timestamp) -> Instant {
        let mut wake = Instant::from_std(self.plan.clock.instant(self.core.wake_at(now)));
        if self.fault.is_some() {
            return wake;
        }
        while self.findings.len() < BACKLOG_MAX {
            let count = self.core.next_post(now);
            if count == 0 {
                break;
            }
            if now < self.posts_from {
                wake = wake.min(Instant::from_std(self.plan.clock.instant(self.posts_from)));
                break;
            }
            if let Err(pause) = self.posts.pass(count) {
                wake = wake.min(Instant::now() + pause);
                break;
            }
            let claims = self.core.take_post(count);
            self.progress.posted += claims.len() as u64;
            self.post(claims);
        }
        loop {
            let count = self.core.next_query(now);
            if count == 0 {
                break;
            }
            if let Err(pause) = self.queries.pass(count) {
                wake = wake.min(Instant::now() + pause);
                break;
            }
            let questions = self.core.take_query(count);
            self.progress.asked += questions.len() as u64;
            self.query(questions);
        }
        wake
    }

    fn post(&self, claims: Vec<Claim>) {
        let gateway = Arc::clone(&self.plan.gateway);
        let (journal, token, messages) =
            (self.plan.journal.clone(), self.token, self.messages.clone());
        let address = |claim: &Claim| {
            let addresses = self.plan.addresses.as_ref()?;
            Some(addresses.of(claim.payment.id))
        };
        let mut posts: Vec<(Claim, Option<String>)> = claims
            .into_iter()
            .map(|claim| {
                let address = address(&claim);
                (claim, address)
            })
            .collect();
        self.tasks.spawn(async move {
            // Another process may have heard of the earlier post since the repeat was claimed.
            if posts.iter().any(|(claim, _)| claim.repeat) {
                let seqs = posts.iter().map(|(claim, _)| claim.seq).collect();
                match journal.still_posting(token, seqs).await {
                    Ok(still) => posts.retain(|(claim, _)| still.contains(&claim.seq)),
                    Err(error) => {
                        posts.clear();
                        let _ = messages.send(Message::Failed(error)).await;
                    }
                }
            }
            let _ = messages.send(send(&*gateway, posts).await).await;
        });
    }

    fn query(&self, questions: Vec<Question>) {
        let gateway = Arc::clone(&self.plan.gateway);
        let messages = self.messages.clone();
        self.tasks.spawn(async move {
            let inquiries: Vec<Inquiry> = questions
                .iter()
                .map(|question| Inquiry {
                    id: question.id,
                    gateway_transaction_id: question
                        .gateway_transaction_id
                        .as_deref()
                        .and_then(|id| GatewayTransactionId::parse(id).ok()),
                })
                .collect();
            let reply = gateway.query(&inquiries).await;
            let (health, stop) = health_of(&reply);
            let seqs: Vec<i64> = questions.iter().map(|question| question.seq).collect();
            let findings = findings_of(&seqs, reply, Event::NoAnswer);
            let _ = messages
                .send(Message::Outcomes(
                    findings,
                    Vec::new(),
                    News::QueryEnded(health),
                    stop,
                ))
                .await;
        });
    }

    /// Records the outcomes that have gathered, one transaction at a time.
    fn record(&mut self) {
        if self.recording || self.findings.is_empty() || self.fault.is_some() {
            return;
        }
        self.recording = true;
        let rest = self.findings.split_off(self.findings.len().min(GROUP_MAX));
        let group = std::mem::replace(&mut self.findings, rest);
        self.jitter = self.jitter.wrapping_mul(5).wrapping_add(113);
        let moment = Moment {
            now: self.plan.clock.now(),
            jitter: self.jitter,
        };
        let (journal, policy) = (self.plan.journal.clone(), Arc::clone(&self.plan.policy));
        let messages = self.messages.clone();
        self.spawn(async move {
            let moves = journal.record(group, moment, policy).await?;
            let _ = messages.send(Message::Recorded(moves)).await;
            Ok(())
        });
    }

    fn show(&mut self, now: Timestamp, progress: &watch::Sender<Progress>) {
        let (states, circuit_open) = self.core.view();
        self.progress.states.clone_from(states);
        self.progress.circuit_open = circuit_open;
        self.progress.held = self.core.held();
        self.progress.draining = self.core.is_ending();
        self.progress.at = now;
        progress.send_replace(self.progress.clone());
    }
}

/// Posts what is given, and says what became of it.
async fn send<G: Gateway>(gateway: &G, posts: Vec<(Claim, Option<String>)>) -> Message {
    if posts.is_empty() {
        let ended = News::PostEnded(Health::Untried);
        return Message::Outcomes(Vec::new(), Vec::new(), ended, None);
    }
    let (mut places, mut outgoing) = (Vec::new(), Vec::new());
    for (claim, callback_url) in posts {
        places.push((claim.seq, claim.lane));
        outgoing.push(Outgoing {
            payment: claim.payment,
            callback_url,
        });
    }
    let reply = gateway.post(&outgoing).await;
    let wants_float = |outcome: &Outcome| {
        matches!(
            outcome.event,
            Event::Reply(Verdict {
                class: Class::NoFloat,
                ..
            })
        )
    };
    let dry = places
        .iter()
        .zip(&reply.outcomes)
        .filter(|(_, outcome)| wants_float(outcome))
        .map(|((_, lane), _)| *lane)
        .collect();
    let (health, stop) = health_of(&reply);
    let seqs: Vec<i64> = places.iter().map(|(seq, _)| *seq).collect();
    let findings = findings_of(&seqs, reply, Event::Lost);
    Message::Outcomes(findings, dry, News::PostEnded(health), stop)
}

fn health_of(reply: &Reply) -> (Health, Option<StopReason>) {
    match &reply.signal {
        Signal::Healthy => (Health::Healthy, None),
        Signal::Unreachable(why) => (Health::Unreachable(why.clone()), None),
        Signal::Lost(_) => (Health::Lost, None),
        Signal::SlowDown(pause) => (Health::SlowDown(pause.unwrap_or(SLOW_DOWN)), None),
        Signal::Stop(reason) => (Health::Lost, Some(reason.clone())),
    }
}

// An outcome that is missing counts as none: the payment is asked about.
fn findings_of(seqs: &[i64], reply: Reply, absent: Event) -> Vec<Finding> {
    let mut outcomes = reply.outcomes.into_iter();
    seqs.iter()
        .map(|seq| {
            let Outcome { event, said } = outcomes.next().unwrap_or_else(|| Outcome {
                event: absent,
                said: Said::default(),
            });
            Finding {
                seq: *seq,
                event,
                said,
            }
        })
        .collect()
}
