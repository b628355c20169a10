//! What the operator does, between the runs and while they live: orders, amendments, lost journals, clocks that are set.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Scene, batch, plan, row};
use crate::domain::PayerTransactionId;
use crate::journal::inline::{Disk, Fuse};
use crate::journal::{Decision, Incoming, Journal, LoadPlan, Loaded};
use crate::lifecycle::{Moment, State};

/// Rows of a batch at most, amendments included.
const ROWS_MAX: usize = 10;
/// Acts while a run lives, at most.
const ACTS_MAX: u32 = 5;

impl Scene {
    /// Loads the file for the first time: a process that dies meanwhile leaves all of it, or nothing.
    pub(super) fn load_first(&self, presume_posted: bool) {
        let fuse = {
            let mut shape = self.world.lock();
            shape.chance(|f| f.crash).then(|| Fuse {
                verbs: 0,
                commits: shape.rng.bool(),
                crashes: shape.rng.bool(),
            })
        };
        if fuse.is_some() {
            self.on_a_runtime(async {
                let dead = CancellationToken::new();
                let journal = self.open(fuse, &dead);
                tokio::select! {
                    biased;
                    () = dead.cancelled() => {}
                    _ = self.load(&journal, presume_posted, false) => {}
                }
            });
            let (count, lines) = (self.generations().len(), self.lines().len());
            if count != 0 && count != lines {
                let text = format!("13: {count} of {lines} rows are left by a load that broke off");
                self.world.lock().violation(text);
            }
        }
        let loaded = self.on_a_runtime(async {
            let journal = self.open(None, &CancellationToken::new());
            self.load(&journal, presume_posted, false).await
        });
        if let Some(text) = loaded.err() {
            self.world.lock().violation(text);
        }
        let mut first = self.first_identifiers.borrow_mut();
        let found: Vec<_> = self.generations().iter().map(|g| (g.line, g.id)).collect();
        for (line, id) in found {
            let known = *first.entry(line).or_insert(id);
            if known != id {
                let text = format!("1: line {line} was {known} and is {id} after a reload");
                self.world.lock().violation(text);
            }
        }
    }

    async fn load(
        &self,
        journal: &Journal,
        presume_posted: bool,
        amend: bool,
    ) -> Result<(), String> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let rows = self.lines();
        let _ = sender.send(
            rows.into_iter()
                .map(Incoming::Good)
                .chain([Incoming::End])
                .collect(),
        );
        drop(sender);
        let now = self.world.lock().wall_now();
        let plan = LoadPlan {
            amend,
            ..plan(now, presume_posted)
        };
        match journal.load(plan, receiver).await {
            Ok(Loaded::New(_) | Loaded::AlreadyThere(_)) => Ok(()),
            other => Err(format!("13: a load ends with {other:?}")),
        }
    }

    pub(super) async fn is_finished(&self) -> bool {
        let journal = self.open(None, &CancellationToken::new());
        let standing = journal.standing(batch()).await;
        standing.is_ok_and(|standing| standing.is_finished())
    }

    /// Between two runs.
    pub(super) fn office(&mut self, healthy: bool) {
        let (loses, jump) = {
            let mut shape = self.world.lock();
            (shape.rng.u32(0..20) == 0, shape.rng.u32(0..10))
        };
        if healthy {
            return self.on_a_runtime(self.decide());
        }
        if jump == 0 {
            self.world.lock().set_the_clock();
        }
        if loses {
            self.lose_journal();
        }
        self.on_a_runtime(self.act());
    }

    /// Acts at random moments while a run lives.
    pub(super) async fn desk(&self, may_set_the_clock: bool) {
        let acts = self.world.lock().rng.u32(1..=ACTS_MAX);
        for _ in 0..acts {
            let pause = self.world.lock().rng.u64(0..15_000);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if may_set_the_clock && self.world.lock().rng.u32(0..6) == 0 {
                self.world.lock().set_the_clock();
            }
            self.act().await;
        }
    }

    /// Does one thing, through a way to the journal of its own.
    async fn act(&self) {
        let (act, moment, number) = {
            let mut shape = self.world.lock();
            let moment = Moment {
                now: shape.wall_now(),
                jitter: 0,
            };
            (shape.rng.u32(0..10), moment, shape.rng.u64(1..=8))
        };
        let journal = self.open(None, &CancellationToken::new());
        let said = match act {
            0..=2 => format!(
                "retry: {:?}",
                journal.retry(batch(), None, moment.now).await
            ),
            // Of what a lost journal may have posted only the gateway knows: nobody withdraws it unasked.
            3 | 4 if self.unasked => return,
            3 | 4 => {
                let id = format!("R{number}");
                let done = journal.cancel(batch(), Some(id), moment).await;
                format!("cancel R{number}: {}", done.is_ok())
            }
            5 => {
                for lane in ["A", "B"] {
                    let _ = journal.resume_lane(batch(), lane.into()).await;
                }
                "the lanes are open".into()
            }
            6 => self.amend(&journal, number).await,
            7 => self.decide_one(&journal, moment).await,
            _ => return,
        };
        self.world.lock().note(|| said);
    }

    /// Loads the same file again, or one with a further row.
    async fn amend(&self, journal: &Journal, number: u64) -> String {
        let count = self.lines().len();
        if number > 4 && count < ROWS_MAX {
            self.rows
                .borrow_mut()
                .push(row(count as u64 + 1, self.has_documents));
        }
        match self.load(journal, false, true).await {
            Ok(()) => format!("{} rows", self.lines().len()),
            Err(text) => {
                self.world.lock().violation(text.clone());
                text
            }
        }
    }

    /// Decides what has certainly come to an end, whatever the program knows of it by now.
    async fn decide_one(&self, journal: &Journal, moment: Moment) -> String {
        let ended = self.generations().into_iter().find_map(|generation| {
            let open = !matches!(
                generation.state,
                State::Paid | State::Failed | State::Cancelled | State::Ready | State::Posting
            );
            let shape = self.world.lock();
            let account = shape.ledger.get(&generation.id)?;
            (open && account.end.is_some() && !account.contradicted)
                .then_some((generation.id, account.executions > 0))
        });
        let Some((id, paid)) = ended else {
            return "nothing to decide".into();
        };
        let done = journal
            .decide(batch(), id.as_str().into(), decision(paid), moment)
            .await;
        format!("{id} is decided, paid {paid}: {}", done.is_ok())
    }

    /// The journal is lost, and the file loaded again.
    fn lose_journal(&mut self) {
        self.disk = Disk::blank();
        self.lost_journal = true;
        // Without the gateway's own check only asking first is safe.
        let presume = {
            let mut shape = self.world.lock();
            // What the journal knew of callbacks and of its pace is lost with it.
            shape.acknowledged.clear();
            shape.sends.clear();
            for account in shape.ledger.values_mut() {
                account.wire.forget();
            }
            shape.note(|| "the journal is lost".into());
            !shape.faults.duplicate_check || shape.rng.bool()
        };
        self.unasked = !presume;
        self.load_first(presume);
    }

    /// Decides what only a person can, by the truth.
    async fn decide(&self) {
        if !self.world.lock().is_quiet() {
            return;
        }
        let journal = self.open(None, &CancellationToken::new());
        for generation in self.generations() {
            if generation.state != State::Conflict {
                continue;
            }
            let id: PayerTransactionId = generation.id;
            let (paid, moment) = {
                let mut shape = self.world.lock();
                let now = shape.wall_now();
                (shape.account(id).executions > 0, Moment { now, jitter: 0 })
            };
            let decided = journal
                .decide(batch(), id.as_str().into(), decision(paid), moment)
                .await;
            if let Err(error) = decided {
                let text = format!("10: {id} could not be decided: {error}");
                self.world.lock().violation(text);
            }
        }
    }
}

fn decision(paid: bool) -> Decision {
    Decision {
        paid,
        reason: "seen".into(),
        evidence: "statement".into(),
    }
}
