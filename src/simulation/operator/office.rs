//! What the operator does, between the runs and while they live: orders, amendments, lost journals, clocks that are set.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::journal::simulated::{Disk, Fuse, Shelf};
use crate::journal::{Journal, LoadPlan, LoadRow, Loaded};
use crate::lifecycle::StepContext;
use crate::simulation::disk::rows::FAILED;
use crate::simulation::operator::accounts::owner;
use crate::simulation::scene::{Scene, batch, plan};

/// Rows of a batch at most, amendments included.
const ROWS_MAX: usize = 10;
/// Acts while a run lives, at most.
const ACTS_MAX: u32 = 5;

impl Scene {
    /// Loads the file for the first time: a process that dies meanwhile leaves all of it, or nothing.
    pub(in crate::simulation) fn load_first(&self, presume_posted: bool) {
        let fuse = self.load_fuse();
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

    /// What the process that loads meets, if anything.
    fn load_fuse(&self) -> Option<Fuse> {
        let mut shape = self.world.lock();
        shape.chance(|f| f.crash).then(|| Fuse {
            verbs: 0,
            commits: shape.rng.bool(),
            crashes: shape.rng.bool(),
        })
    }

    pub(in crate::simulation) async fn load(
        &self,
        journal: &Journal,
        presume_posted: bool,
        amend: bool,
    ) -> Result<(), String> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let rows = self.lines();
        let count = rows.len();
        self.world.lock().know(&rows);
        let _ = sender.send(
            rows.into_iter()
                .map(LoadRow::Valid)
                .chain([LoadRow::EndOfFile])
                .collect(),
        );
        drop(sender);
        let now = self.world.lock().wall_now();
        let plan = LoadPlan {
            amend,
            approval: self.eyes.rule(),
            destination: self.destination(&batch()),
            ..plan(self.form(), now, presume_posted)
        };
        match journal.load(plan, receiver).await {
            Ok(Loaded::New(_) | Loaded::AlreadyLoaded(_)) => {
                self.certain.set(count);
                Ok(())
            }
            other => Err(format!("13: a load ends with {other:?}")),
        }
    }

    pub(in crate::simulation) async fn is_finished(&self) -> bool {
        let journal = self.open(None, &CancellationToken::new());
        let standing = journal.standing(self.batch()).await;
        standing.is_ok_and(|standing| standing.is_finished())
    }

    /// Between two runs.
    pub(in crate::simulation) fn office(&mut self, healthy: bool) {
        let (loses, jump) = {
            let mut shape = self.world.lock();
            (shape.rng.u32(0..20) == 0, shape.rng.u32(0..10))
        };
        if healthy {
            // What takes the place of a failure waits for this word.
            self.on_a_runtime(self.declare_done());
            self.on_a_runtime(self.reschedule(true));
            return self.on_a_runtime(self.decide());
        }
        self.restore();
        self.run_beside();
        self.copy();
        if jump == 0 {
            self.world.lock().set_the_clock();
        }
        let is_on_file = self.again.count() == 0 && self.mended.taken.get() == 0;
        let may_be_lost = !self.together.is_on || !self.is_had_elsewhere();
        if loses && is_on_file && may_be_lost && !self.rests_on_a_word() {
            self.lose_journal();
        }
        self.on_a_runtime(async {
            self.act().await;
            self.forget_some().await;
            self.load_again().await;
            self.correct().await;
            self.reschedule(false).await;
        });
    }

    /// Acts at random moments while a run lives.
    pub(in crate::simulation) async fn desk(&self, may_set_the_clock: bool) {
        let acts = self.world.lock().rng.u32(1..=ACTS_MAX);
        for _ in 0..acts {
            let pause = self.world.lock().rng.u64(0..15_000);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if may_set_the_clock && self.world.lock().rng.u32(0..6) == 0 {
                self.world.lock().set_the_clock();
            }
            self.act().await;
            self.forget_some().await;
            self.load_again().await;
            self.correct().await;
            self.copy();
        }
    }

    /// Does one thing, through a way to the journal of its own.
    async fn act(&self) {
        let (act, moment, number) = {
            let mut shape = self.world.lock();
            let moment = StepContext {
                now: shape.wall_now(),
                jitter: 0,
            };
            (shape.rng.u32(0..42), moment, shape.rng.u64(1..=8))
        };
        let journal = self.open(None, &CancellationToken::new());
        let said = match act {
            0..=7 => format!("retry: {:?}", self.retry(&journal, None, moment.now).await),
            8..=11 => {
                let code = FAILED[usize::try_from(number).unwrap_or(0) % FAILED.len()];
                let done = self.retry(&journal, Some(code), moment.now).await;
                format!("retry {code}: {done:?}")
            }
            // Of what a lost journal may have posted only the gateway knows: nobody withdraws it unasked.
            12..=20 if self.unasked => return,
            12..=19 => {
                let id = format!("R{number}");
                let batch = self.some_batch();
                let cancelled = |count: &u64| *count > 0;
                let done = self.ordered(&journal, false, cancelled, async |journal| {
                    let name = Some(id.as_str().into());
                    journal.cancel(batch.clone(), name, self.moment()).await
                });
                let done = done.await;
                format!("cancel R{number}: {}", done.is_ok())
            }
            20 => {
                let batch = self.some_batch();
                let cancelled = |count: &u64| *count > 0;
                let done = self.ordered(&journal, false, cancelled, async |journal| {
                    journal.cancel(batch.clone(), None, self.moment()).await
                });
                let done = done.await;
                format!("cancel all: {done:?}")
            }
            21..=24 => {
                let batch = self.some_batch();
                for lane in ["A", "B"] {
                    let _ = self.resume(&journal, (&batch, lane), false).await;
                }
                "the lanes are open".into()
            }
            25..=28 => self.amend(number).await,
            29..=32 => self.decide_one(&journal).await,
            33..=36 => self.reconcile(&journal).await,
            _ => return,
        };
        self.world.lock().note(|| said);
    }

    /// Loads the same file again, or one with a further row; the process may die meanwhile, or find no room.
    async fn amend(&self, number: u64) -> String {
        let count = self.lines().len();
        if number > 4 && count < ROWS_MAX {
            self.write_rows(std::iter::once(count as u64 + 1));
        }
        let (fuse, dead) = (self.load_fuse(), CancellationToken::new());
        let journal = self.open(fuse, &dead);
        let loaded = tokio::select! {
            biased;
            () = dead.cancelled() => return "a load dies".into(),
            loaded = self.load(&journal, false, true) => loaded,
        };
        match loaded {
            Ok(()) => format!("{} rows", self.lines().len()),
            Err(text) => {
                // While the journal is edited, the file is another one.
                if fuse.is_none() && self.world.lock().tampered.is_none() {
                    self.world.lock().violation(text.clone());
                }
                text
            }
        }
    }

    /// Whether an amendment that broke off was committed, the journal knows; then its file is loaded again.
    pub(in crate::simulation) fn amend_again(&self) {
        let (certain, lines) = (self.certain.get(), self.lines().len());
        if certain == lines {
            return;
        }
        let found: BTreeSet<u64> = self.generations().iter().map(|g| g.line).collect();
        let text = format!(
            "of {lines} rows {certain} are certain, and {} there",
            found.len()
        );
        self.world.lock().note(|| text.clone());
        if found.len() < certain {
            self.world.lock().violation(format!("13: {text}"));
        }
        let loaded = self.on_a_runtime(async {
            let journal = self.open(None, &CancellationToken::new());
            self.load(&journal, false, true).await
        });
        if let Err(text) = loaded {
            self.world.lock().violation(text);
        }
    }

    /// Whether a retry rests on the word of a person alone: the gateway does not know the payment that failed, and whoever gave
    /// that word would have to give it again.
    fn rests_on_a_word(&self) -> bool {
        let all = self.generations();
        all.iter()
            .any(|generation| generation.replaced && generation.is_decided())
    }

    /// Whether another account than that of the batch has refused some of it: the journal alone knows.
    fn is_had_elsewhere(&self) -> bool {
        let ours = owner(self.account_of(&self.batch()));
        let shape = self.world.lock();
        let mut owners = shape.ledger.values().filter_map(|account| account.owner);
        owners.any(|owner| owner != ours)
    }

    /// The journal is lost, and the file loaded again.
    fn lose_journal(&mut self) {
        self.again.stop();
        // With all that lay beside it.
        self.shelf = Shelf::default();
        self.disk = Disk::blank(&self.shelf, self.disk.medium(), &self.world.server_clock());
        self.lost_journal = true;
        // Without the gateway's own check only asking first is safe.
        let presume = {
            self.forget_what_was_heard();
            let mut shape = self.world.lock();
            shape.note(|| "the journal is lost".into());
            for account in shape.ledger.values_mut() {
                account.booked.return_is_known = false;
            }
            // Nor is it enough where the gateway's word for a duplicate is that of a failure.
            let calls_it_so = shape.faults.duplicate_check && !shape.faults.rejects_repeats;
            !calls_it_so || shape.rng.bool()
        };
        self.unasked = !presume;
        self.world.lock().meant.clear();
        self.load_first(presume);
        if presume {
            // Who gave orders to the journal that is gone gives no more of them: nothing would be posted again.
            self.on_a_runtime(async {
                let journal = self.open(None, &CancellationToken::new());
                self.give_orders_again(&journal).await;
            });
        }
    }

    /// What the journal knew of callbacks and of its pace is lost with it.
    pub(in crate::simulation) fn forget_what_was_heard(&self) {
        let mut shape = self.world.lock();
        shape.acknowledged.clear();
        shape.sends.clear();
        shape.dates.clear();
        for account in shape.ledger.values_mut() {
            account.wire.forget();
        }
    }
}
