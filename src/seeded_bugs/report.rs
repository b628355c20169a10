//! What planted mistakes make of which file a report may take the place of.

use super::SeededBug;

/// Whether the file of somebody else may be written over.
pub(crate) fn of_somebody<E>(found: Result<(), E>) -> Result<(), E> {
    match SeededBug::ForeignFileOverwritten.is_active() {
        true => Ok(()),
        false => found,
    }
}
