//! Machines and people with another configuration: "not found" is true for them before the gateway shows what it has (in one seed of eight).
//!
//! Nothing but what others posted shows whether they are kept from that: what such a run posts itself would be its own fault, so it posts
//! nothing. Their dice are their own, so that all other seeds go as they would without them.

use std::cell::RefCell;
use std::time::Duration;

use fastrand::Rng;

use crate::lifecycle::Policy;

/// One seed of so many plays it.
const SHARE: u64 = 8;

/// Who hurries.
pub(super) struct Hurry(Option<RefCell<Rng>>);

impl Hurry {
    pub(super) fn of(seed: u64) -> Self {
        // Spread over all that is played by one seed of so many.
        let plays = (seed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32).is_multiple_of(SHARE);
        Self(plays.then(|| RefCell::new(Rng::with_seed(seed ^ 0x4855_5252))))
    }

    /// Whether somebody hurries, once of so many times.
    pub(super) fn comes(&self, of: u32) -> bool {
        let dice = self.0.as_ref();
        dice.is_some_and(|rng| rng.borrow_mut().u32(0..of) == 0)
    }
}

/// The waits of whoever hurries.
pub(super) fn hurried(policy: &Policy) -> Policy {
    Policy {
        not_found_quarantine: Duration::from_secs(2),
        ..policy.clone()
    }
}
