//! First questions: when a payment that was acknowledged is to be asked about, as the run remembers it.
//!
//! Nearly all payments are settled by their callbacks before that. An entry in `ask_queue` for each would be made and
//! removed again for nothing, on pages that have nothing else in common with the callback; so a payment joins the queue
//! only when its time comes, together with its neighbours. What a run that broke off remembered, the next one puts there.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::{Error, RunTerms};
use crate::ledger::due::Reach;
use crate::lifecycle::State;
use crate::store::tables::{life, tally};
use crate::store::{Read, Reads, Scan, Test, Write, Writes};

/// Numbers of a block: payments that join the queue together.
const BLOCK: i64 = 256;
/// Blocks that join it with one verb.
const BLOCKS_TOGETHER: usize = 16;

/// What the run of a batch remembers: a few bytes for every block.
pub(in crate::journal) struct DeferredQueries {
    batch_id: BatchId,
    /// When the first payment of a block is due, at the earliest.
    blocks: BTreeMap<i64, i64>,
    /// The earliest of these.
    earliest: Option<i64>,
    left: Option<Left>,
    /// The longest wait that the run knows, and the one before a first question.
    longest: Duration,
    first: Duration,
}

/// What an earlier run may have left outside the queue.
#[derive(Clone, Copy)]
struct Left {
    /// Numbers from here on.
    next: i64,
    last: i64,
    reach: Reach,
}

impl DeferredQueries {
    /// Begins with nothing, for a run that may take the batch over from another one.
    pub(in crate::journal) fn begin(
        c: &dyn Read,
        batch_id: BatchId,
        terms: &RunTerms,
    ) -> Result<Self, Error> {
        let acknowledged = Scan::of(&tally::TABLE)
            .at(&batch_id)
            .only(tally::state, Test::is(&State::Acknowledged))
            .only(tally::count, Test::at_least(&1_i64));
        let mut left = None;
        if c.any(&acknowledged)? {
            let aside = Scan::of(&life::TABLE)
                .only(life::batch_id, Test::is(&batch_id))
                .only(life::queued, Test::is(&false));
            if let Some(next) = c.value(&aside, life::seq)? {
                let last = c.value(&aside.descending(), life::seq)?;
                left = Some(Left {
                    next,
                    last: last.unwrap_or(next),
                    reach: terms.reach(),
                });
            }
        }
        Ok(Self {
            batch_id,
            blocks: BTreeMap::new(),
            earliest: None,
            left,
            longest: terms.longest_wait,
            first: terms.first_query_after,
        })
    }

    /// Returns how far the waits of the run reach now.
    pub(in crate::journal) fn reach(&self, now: Timestamp) -> Reach {
        Reach::of(now, self.longest, self.first)
    }

    /// Remembers when a payment is to be asked about.
    pub(in crate::journal) fn remember(&mut self, seq: PaymentId, due_at: Timestamp) {
        let due_at = due_at.as_millis();
        let block = self
            .blocks
            .entry(seq.get().div_euclid(BLOCK))
            .or_insert(due_at);
        *block = due_at.min(*block);
        self.earliest = Some(
            self.earliest
                .map_or(due_at, |earliest| earliest.min(due_at)),
        );
    }

    /// When to look next, at the earliest.
    pub(in crate::journal) fn next(&self) -> Option<i64> {
        match self.left {
            Some(_) => Some(0),
            None => self.earliest,
        }
    }

    /// Lets payments join the queue whose time has come; returns whether lives were changed that may be remembered.
    ///
    /// Where the transaction is rolled back, this run has lost them: but an error of the journal ends it, and the next one
    /// looks for what is outside the queue.
    pub(in crate::journal) fn join(
        &mut self,
        c: &dyn Write,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let has_moved = self.join_left(c)?;
        let now = now.as_millis();
        if self.earliest.is_none_or(|earliest| earliest > now) {
            return Ok(has_moved);
        }
        let due: Vec<i64> = self
            .blocks
            .iter()
            .filter(|(_, due_at)| **due_at <= now)
            .map(|(block, _)| *block)
            .take(BLOCKS_TOGETHER)
            .collect();
        for block in due {
            let (first, last) = (block * BLOCK, block * BLOCK + BLOCK - 1);
            let aside = aside(&self.batch_id, (&first, &last));
            c.set(&aside, life::queued, &true)?;
            self.blocks.remove(&block);
        }
        self.earliest = self.blocks.values().min().copied();
        Ok(has_moved)
    }

    fn join_left(&mut self, c: &dyn Write) -> Result<bool, Error> {
        let Some(left) = &mut self.left else {
            return Ok(false);
        };
        let until = left
            .last
            .min(left.next + BLOCK * BLOCKS_TOGETHER as i64 - 1);
        let aside = aside(&self.batch_id, (&left.next, &until));
        let beyond = left.reach.latest.as_millis().saturating_add(1);
        let too_late = aside.clone().only(life::due_at, Test::at_least(&beyond));
        c.set(&too_late, life::due_at, &left.reach.soon)?;
        let changed = c.set(&aside, life::queued, &true)?;
        left.next = until + 1;
        if left.next > left.last {
            self.left = None;
        }
        Ok(changed > 0)
    }
}

/// Lets everything join the queue that runs remember: where the journal goes, nobody does.
pub(in crate::journal) fn queue_all(c: &dyn Write) -> Result<(), Error> {
    let aside = Scan::of(&life::TABLE).only(life::queued, Test::is(&false));
    c.set(&aside, life::queued, &true)?;
    Ok(())
}

/// The payments of a batch from one number to another that stand outside the queue.
fn aside<'a>(batch_id: &'a BatchId, (first, last): (&'a i64, &'a i64)) -> Scan<'a> {
    Scan::of(&life::TABLE)
        .from(first)
        .up_to(last)
        .only(life::batch_id, Test::is(batch_id))
        .only(life::queued, Test::is(&false))
}
