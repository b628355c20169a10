//! A journal without a thread of its own, for simulated time: verbs run where they are asked, one after the other, and
//! a crash can cut in before or after any commit.

use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::chain::Chained;
use super::writer::{Work, commit};
use super::{Reader, open};
use crate::journal::Error;

/// The data of a journal: what a crash leaves.
#[derive(Clone)]
pub(crate) struct Disk(Arc<Lock<Option<Chained>>>);

/// Where a crash cuts in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuse {
    /// Verbs that are carried out before.
    pub verbs: u32,
    /// Whether the next one is still committed, although nobody hears of it.
    pub commits: bool,
}

/// How long the next verb waits for the disk.
pub(crate) type Latency = Box<dyn FnMut() -> Duration + Send>;

/// One process's way to the disk.
pub(super) struct Inline {
    disk: Disk,
    crash: CancellationToken,
    // Fair: verbs are carried out in the order in which they were asked.
    seat: Mutex<Seat>,
}

struct Seat {
    fuse: Option<Fuse>,
    latency: Latency,
    latch: Option<Error>,
}

impl std::fmt::Debug for Inline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inline")
    }
}

impl Disk {
    /// An empty journal in memory.
    pub(crate) fn blank() -> Self {
        let connection = open::in_memory().expect("the schema is sound");
        Self(Arc::new(Lock::new(Some(Chained::new(connection)))))
    }

    /// Runs a query past the verbs.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let disk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(disk.as_ref().expect("the disk is there until it is read"))
    }

    /// Ends the journal's life, to read it as a report does.
    pub(crate) fn into_reader(self) -> Reader {
        let mut disk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Reader::of(disk.take().expect("the disk is read once").into_inner())
    }
}

impl Inline {
    pub(super) fn new(
        disk: Disk,
        fuse: Option<Fuse>,
        latency: Latency,
        crash: CancellationToken,
    ) -> Self {
        Self {
            disk,
            crash,
            seat: Mutex::new(Seat {
                fuse,
                latency,
                latch: None,
            }),
        }
    }

    pub(super) async fn perform(&self, work: Work) -> Result<(), Error> {
        let mut seat = self.seat.lock().await;
        tokio::time::sleep((seat.latency)()).await;
        if let Some(error) = &seat.latch {
            return Err(Error::Latched {
                cause: error.to_string(),
            });
        }
        let burns = match &mut seat.fuse {
            Some(fuse) if fuse.verbs == 0 => Some(fuse.commits),
            Some(fuse) => {
                fuse.verbs -= 1;
                None
            }
            None => None,
        };
        if burns != Some(false) {
            let mut disk = self.disk.0.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = disk.as_mut().expect("the disk is there until it is read");
            let outcome = commit(connection, vec![work]);
            if burns.is_none() {
                if let Err(error) = &outcome
                    && error.kind() == crate::journal::Kind::Fault
                {
                    seat.latch = Some(error.clone());
                }
                return outcome;
            }
        }
        self.crash.cancel();
        // Nobody ever hears of it.
        std::future::pending().await
    }
}
