//! What planted mistakes make of who gives way to a new caller.

use super::SeededBug;

/// How soon a caller gives way.
pub(crate) fn rank(found: Option<(u8, usize)>) -> Option<(u8, usize)> {
    match SeededBug::FirstComeGivesWay.is_active() {
        true => Some((0, 0)),
        false => found,
    }
}
