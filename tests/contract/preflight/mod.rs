//! What comes before the posts, against services that do what a script says.

mod float;
mod lookups;
mod uploads;

use std::sync::Arc;
use std::time::Duration;

use disburse::domain::Rate;
use disburse::preflight::RequestPolicy;
use tokio_util::sync::CancellationToken;

/// Two further tries, without pauses to speak of.
fn manner(concurrency: usize, drain: &CancellationToken) -> Arc<RequestPolicy> {
    let rate = Rate::per_second(10_000).unwrap();
    let mut manner = RequestPolicy::new(rate, concurrency, drain.clone());
    manner.pauses = vec![Duration::from_millis(1); 2];
    Arc::new(manner)
}
