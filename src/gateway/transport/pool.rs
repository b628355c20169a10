//! Connections that are open and idle.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::connect::Open;

/// Idle connections that are kept.
pub(in crate::gateway) const IDLE_MAX: usize = 256;

/// Connections to one address that wait for their next request.
pub(in crate::gateway) struct Pool {
    idle: Mutex<Idle>,
    timeout: Duration,
}

#[derive(Default)]
struct Idle {
    /// Since when each is idle, the longest first.
    connections: VecDeque<(Instant, Open)>,
    /// A task closes those that nobody uses.
    swept: bool,
}

impl Pool {
    /// Makes a pool that keeps an idle connection for so long.
    pub(in crate::gateway) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            idle: Mutex::default(),
            timeout,
        })
    }

    /// Takes the connection that was used last; `None` when all are busy.
    pub(in crate::gateway) fn take(&self) -> Option<Open> {
        let mut idle = self.lock();
        // Those behind the last one have been idle for longer.
        while let Some((since, open)) = idle.connections.pop_back() {
            if since.elapsed() < self.timeout && open.is_ready() {
                return Some(open);
            }
        }
        None
    }

    /// Takes a connection back whose reply has been read to its end.
    pub(in crate::gateway) fn put(self: &Arc<Self>, mut open: Open) {
        if open.is_ready() {
            self.keep(open);
        } else if !open.is_closed() {
            // It has yet to see the end of the reply itself, or that the other side closes it.
            let pool = Arc::downgrade(self);
            tokio::spawn(async move {
                if open.ready().await.is_ok()
                    && let Some(pool) = pool.upgrade()
                {
                    pool.keep(open);
                }
            });
        }
    }

    fn keep(self: &Arc<Self>, open: Open) {
        let mut idle = self.lock();
        if idle.connections.len() >= IDLE_MAX {
            return;
        }
        idle.connections.push_back((Instant::now(), open));
        if !idle.swept {
            idle.swept = true;
            tokio::spawn(sweep(Arc::downgrade(self), self.timeout));
        }
    }

    /// Closes what has been idle for too long; returns when to look again, `None` when nothing is idle.
    fn expire(&self) -> Option<Instant> {
        let mut idle = self.lock();
        let fresh = idle
            .connections
            .iter()
            .position(|(since, open)| since.elapsed() < self.timeout && !open.is_closed());
        let expired = fresh.unwrap_or(idle.connections.len());
        idle.connections.drain(..expired);
        let oldest = idle.connections.front().map(|(since, _)| *since);
        idle.swept = oldest.is_some();
        oldest.map(|since| since + self.timeout)
    }

    // No panic leaves the list half changed.
    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sweep(pool: Weak<Pool>, timeout: Duration) {
    let mut next = Instant::now() + timeout;
    loop {
        tokio::time::sleep_until(next).await;
        match pool.upgrade().and_then(|pool| pool.expire()) {
            Some(at) => next = at,
            None => return,
        }
    }
}
