//! What planted mistakes make of what is read from a text.

use super::SeededBug;

/// Whether digits are part of a word.
pub(crate) fn is_glued(found: bool) -> bool {
    found && !SeededBug::GluedDigitsAreToken.is_active()
}
