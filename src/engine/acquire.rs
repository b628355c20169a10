//! Taking the batch of a run.

use std::sync::Arc;
use std::time::Duration;

use super::{Plan, lease};
use crate::domain::Timestamp;
use crate::journal::{Acquired, Error, RunTerms};
use crate::ledger::standstill::is_fresh_word;

/// So often a batch is taken that took long to take: the clock may have been set back, too.
const TAKES_MAX: u32 = 3;
/// What was claimed has left, or waits no longer, after this.
const LEAVES_WITHIN: Duration = Duration::from_secs(60);

/// Takes the batch; returns when the journal was asked, too.
// Doubts begin anew with the time at which they are taken over. Whoever stood still on the way there says one from before the
// posts of a run that was there meanwhile, and "not found" would prove something too early: then it is taken once more, when that
// other run can post no longer.
pub(super) async fn acquire<G>(plan: &Plan<G>) -> Result<(Acquired, u64, Timestamp), Error> {
    let mut abandoned = 0;
    let mut takes = TAKES_MAX;
    loop {
        let now = plan.clock.now();
        let terms = RunTerms {
            home: plan.home.clone(),
            confirmation: plan.confirmation.clone(),
            approval: plan.approval.clone(),
            longest_wait: plan
                .policy
                .query_backoff_max
                .max(plan.policy.callback_grace)
                .max(plan.policy.delivered_grace),
            first_query_after: plan.policy.first_query_after,
            calendar: Arc::clone(&plan.calendar),
            limits: plan.ceilings.clone(),
            runner: plan.runner.clone(),
            now,
            shows: Some(now),
        };
        let (asked, leased) = (plan.pulse.look(), plan.pulse.time());
        let acquired = plan
            .journal
            .acquire(plan.batch.clone(), terms, Arc::clone(&plan.policy))
            .await?;
        abandoned += acquired.abandoned;
        if plan.journal.is_shared() {
            lease::begin(&plan.pulse, leased);
        }
        takes -= 1;
        // A journal that others share takes it at its own time.
        let stood_still = !plan.journal.is_shared() && !is_fresh_word(plan.clock.now().since(now));
        let was_there = |at: Timestamp| at.after(LEAVES_WITHIN) > now;
        if takes == 0 || !stood_still || !acquired.last_claim_at.is_some_and(was_there) {
            let acquired = Acquired {
                abandoned,
                ..acquired
            };
            return Ok((acquired, asked, now));
        }
    }
}
