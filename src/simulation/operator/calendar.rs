//! An operator who gives a batch other dates.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::Timestamp;
use crate::journal::DatesOrder;
use crate::ledger::calendar::{BatchDates, Gate};
use crate::simulation::scene::{Scene, batch};

impl Scene {
    /// Gives the first batch other dates now and then, while nothing runs; once all is well, takes away one that is over, or will be before
    /// the service opens.
    pub(in crate::simulation) async fn reschedule(&self, healthy: bool) {
        if !self.diary.is_on {
            return;
        }
        let journal = self.open(None, &CancellationToken::new());
        let Ok(standing) = journal.standing(batch()).await else {
            return;
        };
        let now = self.world.lock().real_now();
        let before = standing.dates;
        let is_over = self.diary.gate(before, now) == Gate::Over;
        let after = match healthy {
            true if is_over => BatchDates::default(),
            true => return,
            false => self.some_dates(now),
        };
        // Until it is heard of, either may hold.
        self.world.lock().dates.push(after);
        let did = |(): &()| before != after;
        let ordered = self.ordered(&journal, healthy, did, async |journal| {
            let order = DatesOrder {
                before,
                after,
                reason: "the bank asked for it".into(),
            };
            journal.schedule(batch(), order, self.moment().now).await
        });
        let ordered = ordered.await;
        let mut shape = self.world.lock();
        if ordered.is_ok() {
            shape.dates = vec![after];
        }
        shape.note(|| format!("dates {after:?}: {ordered:?}"));
    }

    fn some_dates(&self, now: Timestamp) -> BatchDates {
        let mut rng = self.diary.rng.borrow_mut();
        let mut some = |least: u64, most: u64| {
            let at = now.after(Duration::from_millis(rng.u64(least..most)));
            rng.bool().then_some(at)
        };
        BatchDates {
            not_before: some(0, 120_000),
            not_after: some(120_000, 400_000),
        }
    }
}
