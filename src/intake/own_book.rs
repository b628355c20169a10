//! Workbooks that this program has written to be mended, told from others without reading them by anything.

use std::io::{Read, Seek};

use super::mapping::OURS;
use super::sheet::{Hiding, SheetOptions, SheetRows, has_sheet};

/// Returns whether a workbook was written by this program to be mended, and has no sheet of this name.
#[must_use]
pub fn is_own_book_without(mut input: impl Read + Seek + Send + 'static, sheet: &str) -> bool {
    // What cannot be read is told where it is opened.
    if has_sheet(&mut input, sheet).unwrap_or(true) || input.rewind().is_err() {
        return false;
    }
    let options = SheetOptions {
        hidden: Hiding::Included,
        ..SheetOptions::default()
    };
    SheetRows::open(input, &options).is_ok_and(|mut rows| {
        let first = rows.peek().ok().flatten();
        first.is_some_and(|row| row.names(OURS))
    })
}
