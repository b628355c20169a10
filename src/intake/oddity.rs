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
    /// A number whose format shows more than it holds.
    Dressed,
    /// A number that is shown as another one, or not at all.
    ShownAsAnother,
    /// A line goes through it: whoever drew it may mean that the row is not to be paid.
    StruckOut,
    /// One of several cells that were merged.
    Merged,
}

/// Said of a formula without a result.
pub(super) const NOT_CALCULATED: &str = "is a formula whose result is not in the file: open it in the spreadsheet program, and save it again";
/// Said of a merged cell.
pub(super) const MERGED: &str =
    "is one of several cells that are merged: unmerge them, and give each row its own";
/// Said of a number that is too long.
pub(super) const LOST_DIGITS: &str = "is a number of more than 15 digits, and a spreadsheet keeps 15 of them: format the cells as text, and enter it again";
/// Said of a number that is shown with more than it holds.
pub(super) const DRESSED: &str = "is a number that the sheet shows with zeros or letters which are not in it: format the cells as text, and enter it as it is shown";
/// Said of a number that is shown as another one.
pub(super) const SHOWN_AS_ANOTHER: &str = "is a number that the sheet shows as another one (%, thousands), or not at all: give the cells the format 0.00, and look at what they hold";
/// Said of a cell with a line through it.
pub(super) const STRUCK_OUT: &str = "is struck out in the sheet: take the row out if it is not meant any more, or the line through it";
/// Said of a date where none is meant.
pub(super) const DATE: &str =
    "is a date in the sheet: format the cells as text, and enter what is meant";

/// Returns whether an error says that a spreadsheet has made another value of what was meant.
pub(super) fn is_changed(message: &str) -> bool {
    [
        NOT_CALCULATED,
        MERGED,
        LOST_DIGITS,
        DRESSED,
        SHOWN_AS_ANOTHER,
        STRUCK_OUT,
        DATE,
    ]
    .iter()
    .any(|known| message.starts_with(known))
}
