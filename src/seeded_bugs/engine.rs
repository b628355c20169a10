//! What planted mistakes make of when a run posts.

use super::SeededBug;
use crate::domain::Timestamp;

/// From when on a run may post, and ask, that took its batch just now.
pub(crate) fn departs_from(
    found: (Timestamp, Timestamp),
    taken: Timestamp,
) -> (Timestamp, Timestamp) {
    match SeededBug::RateForgotten.is_active() {
        true => (taken, taken),
        false => found,
    }
}

/// Whether a balance covers what waits for it.
pub(crate) fn covers(found: bool) -> bool {
    found && !SeededBug::BalanceIgnored.is_active()
}
