//! Callbacks that are to be sent now.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, oneshot};

/// A callback to send now.
pub(super) struct Call {
    pub id: Arc<str>,
    /// How often it was sent before.
    pub sent: u32,
    /// Whether it was acknowledged already.
    pub repeat: bool,
    /// Dropped when this sending is over, which tells whoever waits for it.
    pub watched: Option<oneshot::Sender<()>>,
}

impl Call {
    /// The `sent + 1`-th sending.
    pub fn nth(id: Arc<str>, sent: u32) -> Self {
        Self {
            id,
            sent,
            repeat: false,
            watched: None,
        }
    }
}

/// Callbacks that wait for a worker.
#[derive(Default)]
pub(super) struct Outbox {
    // Bounded by the ledger: one callback per identifier, and its repetition.
    waiting: Mutex<VecDeque<Call>>,
    more: Notify,
}

impl Outbox {
    /// Hands callbacks to the workers.
    pub fn push(&self, calls: Vec<Call>) {
        if calls.is_empty() {
            return;
        }
        self.waiting
            .lock()
            .expect("no holder of the outbox panics")
            .extend(calls);
        self.more.notify_one();
    }

    /// Waits for the next callback.
    pub async fn next(&self) -> Call {
        loop {
            let (call, more) = {
                let mut waiting = self.waiting.lock().expect("no holder of the outbox panics");
                (waiting.pop_front(), !waiting.is_empty())
            };
            if more {
                // One wake-up may stand for several callbacks: the next worker is woken for the rest.
                self.more.notify_one();
            }
            match call {
                Some(call) => return call,
                None => self.more.notified().await,
            }
        }
    }
}
