//! How long a run may go on without a word of the journal, where others may take over what it has claimed.

use std::time::Duration;

use crate::domain::Pulse;
use crate::journal::LEASE;

/// Gives the run a lease, which it asked the journal for at a reading of its clock: the journal counts from a later moment.
// It is the pulse that every sender, and every connection, asks just before something leaves.
pub(super) fn begin(pulse: &Pulse, asked: u64) {
    #[cfg(debug_assertions)]
    if crate::failpoints::is_without("fence") {
        return;
    }
    let lasts = u64::try_from(margin(LEASE).as_millis()).unwrap_or(u64::MAX);
    pulse.lease(asked.saturating_add(lasts));
}

/// The clock of the store may be faster than this machine's, and what leaves takes a moment.
fn margin(lease: Duration) -> Duration {
    lease * 4 / 5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::standstill::{SILENCE_MAX, may_depart};

    #[test]
    fn a_run_stops_before_its_lease_is_over() {
        let over = u64::try_from(LEASE.as_millis()).unwrap();
        for (time, leaves) in [(0, true), (over * 4 / 5 - 1, true), (over * 4 / 5, false)] {
            let pulse = Pulse::by(|| 0, SILENCE_MAX).leased_by(move || 70 + time);
            begin(&pulse, 70);
            assert_eq!(may_depart(pulse.silence()), leaves, "{time}");
        }
        assert!(margin(LEASE) < LEASE);
    }
}
