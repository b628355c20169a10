//! Loads of rows of the batch once more, and what is held against them.

use std::collections::{BTreeMap, BTreeSet};

use tokio_util::sync::CancellationToken;

use super::again::NAMES;
use crate::domain::{BatchName, Instruction, PayerTransactionId, Timestamp};
use crate::journal::{Error, Journal, LoadPlan, LoadRefusal, LoadRow, Loaded, RepeatPlan};
use crate::lifecycle::State;
use crate::simulation::disk::rows;
use crate::simulation::judge::oracle::Generation;
use crate::simulation::scene::{Scene, batch, plan};

fn name(number: Option<usize>) -> BatchName {
    number.map_or_else(batch, |number| {
        BatchName::parse(NAMES[number]).expect("a letter is a name")
    })
}

impl Scene {
    /// The batch that runs.
    pub(in crate::simulation) fn batch(&self) -> BatchName {
        name(self.again.current.get())
    }

    /// The batches, the first one first.
    fn names(&self) -> impl Iterator<Item = Option<usize>> + use<> {
        [None].into_iter().chain((0..self.again.count()).map(Some))
    }

    /// Every batch, the first one first.
    pub(in crate::simulation) fn batches(&self) -> Vec<BatchName> {
        self.names().map(name).collect()
    }

    /// Some batch, for an order.
    pub(in crate::simulation) fn some_batch(&self) -> BatchName {
        match self.again.count() {
            0 => batch(),
            count => name(self.again.rng.borrow_mut().usize(0..=count).checked_sub(1)),
        }
    }

    /// Does something of every batch, as the one that runs.
    pub(in crate::simulation) fn of_each_batch(&self, mut work: impl FnMut()) {
        for number in self.names() {
            self.again.current.set(number);
            work();
        }
        self.again.current.set(None);
    }

    /// Lives a life of every batch.
    pub(in crate::simulation) fn live_all(&self, healthy: bool) {
        self.of_each_batch(|| {
            let is_idle = !healthy && self.again.count() > 0 && self.again.by_chance(2);
            if !is_idle {
                self.know_the_account();
                self.live(healthy);
                self.know_the_account();
            }
        });
    }

    /// Pays failures of some batch anew.
    pub(in crate::simulation) async fn retry(
        &self,
        journal: &Journal,
        code: Option<i32>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.retry_of(journal, self.some_batch(), code, now).await
    }

    /// Pays failures anew, but for those whose debt another batch has.
    pub(in crate::simulation) async fn retry_of(
        &self,
        journal: &Journal,
        batch: BatchName,
        code: Option<i32>,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let retried = |count: &u64| *count > 0;
        if self.again.count() == 0 {
            let done = self.ordered(journal, false, retried, async |journal| {
                journal.retry(batch.clone(), code, self.moment().now).await
            });
            return done.await;
        }
        let terms = self.again.terms();
        let judged = Some((terms.clone(), now));
        let shown = journal.to_retry(batch.clone(), code, judged).await?;
        let done = self.ordered(journal, false, retried, async |journal| {
            let (by_code, terms) = (shown.by_code.clone(), Some(terms.clone()));
            let now = self.moment().now;
            journal
                .retry_shown(batch.clone(), code, by_code, terms, now)
                .await
        });
        done.await
    }

    /// Loads rows again, now and then.
    pub(in crate::simulation) async fn load_again(&self) {
        let number = self.again.count();
        let may_load = self.again.is_on.get() && number < NAMES.len();
        if !may_load || !self.again.by_chance(2) || self.world.lock().tampered.is_some() {
            return;
        }
        let before = self.generations();
        let rows: Vec<_> = {
            let is_chosen = |row: &Instruction| {
                let is_there = before.iter().any(|g| g.line == row.line);
                is_there && !self.again.by_chance(4) && !self.is_forgotten(&before, row.line)
            };
            let rows = self.lines().into_iter().filter(is_chosen);
            rows.map(|row| self.again.vary(row)).collect()
        };
        if rows.is_empty() {
            return;
        }
        let journal = self.open(None, &CancellationToken::new());
        let mut terms = self.again.terms();
        let skips = self.again.by_chance(2);
        let mut loaded = self
            .load_under(&journal, number, &rows, (&terms, skips))
            .await;
        if let Ok(Loaded::Refused(LoadRefusal::BadRows {
            repeats: Some(repeats),
            late,
            ..
        })) = &loaded
            && self.again.by_chance(3)
        {
            let lines = late.iter().map(|error| error.line).collect();
            let batches = repeats.loads.iter().map(|load| load.batch.to_string());
            self.again.shown.replace((lines, batches.collect()));
            terms.allowed = Some(repeats.digest.clone());
            loaded = self
                .load_under(&journal, number, &rows, (&terms, skips))
                .await;
        }
        if !matches!(
            loaded,
            Ok(Loaded::New(_) | Loaded::Refused(LoadRefusal::BadRows { .. }))
        ) {
            let text = format!("25: rows are loaded again: {loaded:?}");
            self.world.lock().violation(text);
        }
    }

    /// Whether the gateway has a payment of a row that the journal does not know: a retry that was lost with another journal.
    pub(in crate::simulation) fn is_forgotten(&self, known: &[Generation], line: u64) -> bool {
        let shape = self.world.lock();
        let mut of_row = shape
            .ledger
            .iter()
            .filter(|(_, account)| account.line == line);
        of_row.any(|(id, _)| !known.iter().any(|generation| generation.id == *id))
    }

    async fn load_under(
        &self,
        journal: &Journal,
        number: usize,
        rows: &[Instruction],
        (terms, skips): (&RepeatPlan, bool),
    ) -> Result<Loaded, Error> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let all = rows.iter().cloned().map(LoadRow::Valid);
        let _ = sender.send(all.chain([LoadRow::EndOfFile]).collect());
        drop(sender);
        let now = self.world.lock().wall_now();
        let batch = name(Some(number));
        let plan = LoadPlan {
            source: format!("{batch}.csv"),
            destination: self.destination(&batch),
            batch,
            repeats: Some(terms.clone()),
            skip_bad_rows: skips,
            approval: self.eyes.rule(),
            ..plan(self.form(), now, false)
        };
        let loaded = journal.load(plan, receiver).await?;
        let text = match &loaded {
            Loaded::New(summary) => format!("{} rows", summary.total().count),
            other => format!("{other:?}"),
        };
        let said = format!("{} rows are loaded again: {text}", rows.len());
        self.world.lock().note(|| said);
        for row in rows {
            let reference = row.reference.as_ref().map(|r| r.as_str().to_owned());
            let (line, minor) = (row.line, row.money.amount.minor());
            self.world.lock().note(|| {
                format!(
                    "  line {line} of {batch} {reference:?} {minor}",
                    batch = name(Some(number))
                )
            });
        }
        if matches!(loaded, Loaded::New(_)) {
            self.again.loaded.set(number + 1);
            self.world.lock().know(rows);
            self.judge_load(number, now, terms.allowed.is_some());
        }
        Ok(loaded)
    }

    /// Holds rows that were loaded again against what the journal has of the same debts; counts those that a person ordered.
    fn judge_load(&self, number: usize, now: Timestamp, ordered: bool) {
        let all = self.generations();
        let batch = name(Some(number));
        let is_new = |generation: &&Generation| generation.batch == batch.as_str();
        // By the clock that dates what is loaded.
        let dated = all.iter().find(is_new).map(|new| new.received_at);
        let now = dated.unwrap_or(now);
        let lines: BTreeSet<u64> = all.iter().filter(is_new).map(|g| g.line).collect();
        let mut shape = self.world.lock();
        for line in lines {
            let mut others: BTreeMap<&str, Vec<&Generation>> = BTreeMap::new();
            for other in all.iter().filter(|g| g.line == line && !is_new(g)) {
                others.entry(&other.batch).or_default().push(other);
            }
            let mut counted = 0;
            for row in others.values() {
                let open = row.iter().find(|g| g.is_open);
                let newest = row.iter().map(|g| g.received_at).max();
                let is_recent = newest.is_some_and(|at| now.since(at) < self.again.window);
                let ended = row
                    .iter()
                    .find(|g| g.state == State::Paid || g.is_decided());
                counted += u32::from(open.is_some() || ended.is_some());
                if open.or(ended).is_none() && !is_recent {
                    let failed = row.iter().map(|g| (batch.to_string(), g.id));
                    shape.forgotten.extend(failed);
                }
                if let Some(counting) = open.or(ended.filter(|_| is_recent))
                    && !ordered
                {
                    let (id, state) = (counting.id, counting.state.name());
                    shape.violation(format!(
                        "25: line {line} is loaded again as {batch}, and {id} is {state}"
                    ));
                }
            }
            let (lines, batches) = &*self.again.shown.borrow();
            if ordered && lines.contains(&line) {
                // What a journal may have missed is listed, too, although nothing of it is open.
                let listed = others.keys().filter(|batch| batches.contains(**batch));
                let listed = u32::try_from(listed.count()).unwrap_or(u32::MAX);
                counted = counted.max(listed).max(1);
            }
            if counted > 0 {
                *shape.ordered.entry(line).or_default() += 1;
                // Whoever orders it has seen them all.
                let beside = shape.beside.entry(line).or_default();
                *beside = counted.max(*beside);
            }
        }
    }

    /// Keeps in mind what the run says does not leave.
    pub(in crate::simulation) fn is_stuck(&self, what: &str) -> bool {
        let id = what
            .split([' ', ','])
            .nth(1)
            .and_then(PayerTransactionId::parse);
        self.again.stuck.set(id);
        id.is_some()
    }

    /// Withdraws what does not leave any more, as what had failed instead of it is paid.
    pub(in crate::simulation) async fn withdraw_stuck(&self, journal: &Journal) {
        let Some(id) = self.again.stuck.take() else {
            return;
        };
        // The journal may be another one since: it was lost, or a copy was put back.
        let Some(batch) = self.batch_on_disk(id) else {
            return;
        };
        let did = |count: &u64| *count > 0;
        let cancelled = self.ordered(journal, true, did, async |journal| {
            let name = Some(id.as_str().into());
            journal.cancel(batch.clone(), name, self.moment()).await
        });
        if cancelled.await.is_err() {
            let order = self.call_failed_in_time(journal, id).await;
            self.world
                .lock()
                .note(|| format!("{id} is withdrawn: {order:?}"));
        } else {
            self.world.lock().note(|| format!("{id} is withdrawn"));
        }
    }

    /// The batch of a payment.
    pub(in crate::simulation) fn batch_of(&self, id: PayerTransactionId) -> BatchName {
        if self.again.count() == 0 {
            return batch();
        }
        self.batch_on_disk(id).expect("it is there")
    }

    /// The batch of a payment, if the journal has it.
    fn batch_on_disk(&self, id: PayerTransactionId) -> Option<BatchName> {
        let name: Option<String> = self.disk.look(|c| {
            let row = rows::instruction(c, rows::seq_of(c, id)?);
            Some(rows::batch(c, row.batch_id).name)
        });
        name.map(|name| BatchName::parse(&name).expect("we made it"))
    }
}
