//! How often each fault happened since this process began.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::Fault;

/// Counts by fault.
#[derive(Default)]
pub(in crate::sandbox) struct Tally([AtomicU64; Fault::ALL.len()]);

impl Tally {
    pub fn count(&self, fault: Fault) {
        self.0[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize].load(Ordering::Relaxed)
    }
}
