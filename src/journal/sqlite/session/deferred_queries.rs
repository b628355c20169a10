//! First questions: when a payment that was acknowledged is to be asked about, as the run remembers it.
//!
//! Nearly all payments are settled by their callbacks before that. An entry in `ask_queue` for each would be made and
//! removed again for nothing, on pages that have nothing else in common with the callback; so a payment joins the queue
//! only when its time comes, together with its neighbours. What a run that broke off remembered, the next one puts there.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::{Error, RunTerms};

/// Numbers of a block: payments that join the queue together.
const BLOCK: i64 = 256;
/// Blocks that join it with one verb.
const BLOCKS_TOGETHER: usize = 16;

/// What the run of a batch remembers: a few bytes for every block.
pub(in crate::journal::sqlite) struct DeferredQueries {
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
    /// Who is due later than this is so by a clock that was set since, and is due soon.
    latest: i64,
    soon: i64,
}

impl DeferredQueries {
    /// Begins with nothing, for a run that may take the batch over from another one.
    pub(in crate::journal::sqlite) fn begin(
        c: &Connection,
        batch_id: BatchId,
        terms: &RunTerms,
    ) -> Result<Self, Error> {
        let some: bool = c
            .prepare_cached("select exists (select 1 from tally where batch_id = ?1 and state = 3 and count > 0)")?
            .query_row([batch_id], |row| row.get(0))?;
        let mut left = None;
        if some {
            let reach = c
                .prepare_cached(
                    "select min(seq), max(seq) from life not indexed where batch_id = ?1 and queued = 0",
                )?
                .query_row([batch_id], |row| {
                    Ok(Option::zip(row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
                })
                .optional()?
                .flatten();
            left = reach.map(|(next, last)| Left {
                next,
                last,
                latest: terms.now.after(terms.longest_wait).as_millis(),
                soon: terms.now.after(terms.first_query_after).as_millis(),
            });
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

    /// Returns when the last wait of a run ends that begins now, and when a question is due that nothing puts off.
    pub(in crate::journal::sqlite) fn reach(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        (now.after(self.longest), now.after(self.first))
    }

    /// Remembers when a payment is to be asked about.
    pub(in crate::journal::sqlite) fn remember(&mut self, seq: PaymentId, due_at: Timestamp) {
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
    pub(in crate::journal::sqlite) fn next(&self) -> Option<i64> {
        match self.left {
            Some(_) => Some(0),
            None => self.earliest,
        }
    }

    /// Lets payments join the queue whose time has come; returns whether lives were changed that may be remembered.
    ///
    /// Where the transaction is rolled back, this run has lost them: but an error of the journal ends it, and the next one
    /// looks for what is outside the queue.
    pub(in crate::journal::sqlite) fn join(
        &mut self,
        c: &Connection,
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
        let mut join = c.prepare_cached(
            "update life not indexed set queued = 1 where seq between ?2 and ?3 and batch_id = ?1 and queued = 0",
        )?;
        for block in due {
            let first = block * BLOCK;
            join.execute((self.batch_id, first, first + BLOCK - 1))?;
            self.blocks.remove(&block);
        }
        self.earliest = self.blocks.values().min().copied();
        Ok(has_moved)
    }

    fn join_left(&mut self, c: &Connection) -> Result<bool, Error> {
        let Some(left) = &mut self.left else {
            return Ok(false);
        };
        let until = left
            .last
            .min(left.next + BLOCK * BLOCKS_TOGETHER as i64 - 1);
        let changed = c
            .prepare_cached(
                "update life not indexed set queued = 1, due_at = iif(due_at > ?4, ?5, due_at)
                 where seq between ?2 and ?3 and batch_id = ?1 and queued = 0",
            )?
            .execute(params![
                self.batch_id,
                left.next,
                until,
                left.latest,
                left.soon
            ])?;
        left.next = until + 1;
        if left.next > left.last {
            self.left = None;
        }
        Ok(changed > 0)
    }
}
