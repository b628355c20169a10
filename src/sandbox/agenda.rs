//! What falls due later: one heap and one timer for all payments.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::time::Instant;

/// How many tasks are taken at once.
const BLOCK_MAX: usize = 1024;

/// Something to do later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Settle the acceptance of this number.
    Settle(u64),
    /// Judge the post put aside under this key.
    Judge(u64),
    /// Send a callback: its identifier, and how often it was sent before.
    Call { id: Arc<str>, sent: u32 },
    /// Send a callback once more although it was acknowledged.
    Repeat(Arc<str>),
    /// Top up the float of this service.
    TopUp(usize),
}

struct Entry {
    due: Instant,
    order: u64,
    task: Task,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Tasks in the order in which they fall due.
#[derive(Default)]
pub(super) struct Agenda {
    entries: Mutex<(BinaryHeap<Reverse<Entry>>, u64)>,
    sooner: Notify,
}

impl Agenda {
    /// Adds a task. Its bound is the ledger's: each task is about an identifier or a service in it.
    pub fn add(&self, due: Instant, task: Task) {
        let first = {
            let mut entries = self.entries.lock().expect("no holder of the agenda panics");
            let (heap, order) = &mut *entries;
            *order += 1;
            let first = heap.peek().is_none_or(|Reverse(next)| due < next.due);
            heap.push(Reverse(Entry {
                due,
                order: *order,
                task,
            }));
            first
        };
        if first {
            self.sooner.notify_one();
        }
    }

    /// Moves what is due into `block`; returns when the next task falls due.
    pub fn take_due(&self, now: Instant, block: &mut Vec<Task>) -> Option<Instant> {
        let mut entries = self.entries.lock().expect("no holder of the agenda panics");
        while block.len() < BLOCK_MAX {
            if entries.0.peek()?.0.due > now {
                break;
            }
            block.extend(entries.0.pop().map(|Reverse(entry)| entry.task));
        }
        entries.0.peek().map(|Reverse(entry)| entry.due)
    }

    /// Waits until the next task falls due, or one comes that is due sooner.
    pub async fn wait(&self, next: Option<Instant>) {
        match next {
            None => self.sooner.notified().await,
            Some(due) => {
                tokio::select! {
                    () = self.sooner.notified() => {}
                    () = tokio::time::sleep_until(due) => {}
                }
            }
        }
    }
}
