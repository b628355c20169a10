//! What about a cell of a sheet may differ from what a person saw in it.

/// What about a cell may not be what a person saw in it, or meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A number with more digits than a spreadsheet keeps.
    LostDigits,
    /// A date or a time, as the spreadsheet has made of what was typed, perhaps.
    Date,
    /// A formula; its result is the one that was stored with it.
    Calculated,
    /// A formula without a stored result.
    NotCalculated,
    /// One of several cells that were merged.
    Merged,
}
