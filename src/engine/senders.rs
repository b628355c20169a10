//! The tasks that post: each takes one request at a time, and lives as long as the run.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use super::exchange::{self, Exchange};
use crate::callback::Addresses;
use crate::domain::Pulse;
use crate::gateway::Gateway;
use crate::journal::Claim;
use crate::ledger::standstill::may_depart;

/// What every sender works with.
pub(super) struct Line<G> {
    pub(super) gateway: Arc<G>,
    pub(super) addresses: Option<Addresses>,
    pub(super) pulse: Arc<Pulse>,
    pub(super) clock: Clock,
}

impl<G> Line<G> {
    /// Returns whether these may leave now: the program runs, and their time is not over.
    fn may_depart(&self, claims: &[Claim]) -> bool {
        // By both clocks: somebody may have set that of the machine.
        let now = self.clock.now().max(self.clock.of_machine());
        let is_late = |claim: &Claim| claim.leave_by.is_some_and(|at| at <= now);
        may_depart(self.pulse.silence()) && !claims.iter().any(is_late)
    }
}

/// Tasks that post, as many as were ever under way at once.
// One task for each post would be allocated, moved and freed as often: it is several kilobytes large.
#[derive(Debug, Default)]
pub(super) struct WorkerPool {
    tasks: Vec<mpsc::Sender<Vec<Claim>>>,
    idle: Vec<usize>,
}

impl WorkerPool {
    /// Hands a post to a sender that is idle, or to a new one, which tells its number and what came of it.
    pub(super) fn post<G, M>(
        &mut self,
        claims: Vec<Claim>,
        line: &Arc<Line<G>>,
        tasks: &TaskTracker,
        messages: &mpsc::Sender<M>,
        posted: fn(usize, Exchange) -> M,
    ) where
        G: Gateway,
        M: Send + 'static,
    {
        let number = self.idle.pop().unwrap_or_else(|| {
            let number = self.tasks.len();
            // Room for one: who is idle has nothing to do.
            let (sender, mut jobs) = mpsc::channel(1);
            self.tasks.push(sender);
            let (line, messages) = (Arc::clone(line), messages.clone());
            tasks.spawn(async move {
                while let Some(claims) = jobs.recv().await {
                    // The last look but that of the connection itself, which asks the same of the pulse.
                    let exchange = match line.may_depart(&claims) {
                        true => {
                            exchange::post(&*line.gateway, claims, line.addresses.as_ref()).await
                        }
                        false => exchange::withheld(&claims),
                    };
                    let _ = messages.send(posted(number, exchange)).await;
                }
            });
            number
        });
        self.tasks[number]
            .try_send(claims)
            .unwrap_or_else(|_| unreachable!("an idle sender waits for its next post"));
    }

    /// Takes a sender back that has told what came of its post.
    pub(super) fn done(&mut self, number: usize) {
        self.idle.push(number);
    }
}
