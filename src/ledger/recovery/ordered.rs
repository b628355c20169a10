//! Recoveries that a person orders, as nothing tells that the journal has missed something.

/// An order that a batch is presumed posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presumption {
    /// A recovery is open already.
    pub is_open: bool,
    /// Nothing of the batch moves money.
    pub is_rehearsal: bool,
    /// It goes with a load whose file the batch has: the same command is said until the batch is finished.
    pub is_repeated: bool,
    /// A recovery that is done began while the batch was there, or the batch was loaded in it.
    pub was_recovered: bool,
}

/// Returns whether an order that a batch is presumed posted begins a recovery.
///
/// Who gives it says that an earlier journal, or this one at a later time, may have posted the batch. Then orders of people may be lost
/// with it, and what failed may have been paid since, exactly as where a mark beside the journal tells it.
#[must_use]
pub fn begins_recovery(order: Presumption) -> bool {
    let is_known = order.is_repeated && order.was_recovered;
    !order.is_open && !order.is_rehearsal && !is_known
}
