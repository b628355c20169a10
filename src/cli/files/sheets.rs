//! How the sheets of a workbook are read: as the command says, else as its layout does.

use crate::cli::Error;
use crate::cli::arguments::FileArguments;
use crate::intake::layout::Layout;
use crate::intake::{Hiding, SheetOptions};

/// What a command says of sheets: their name, what is hidden, and formulas.
pub(in crate::cli) type SaidOfSheets<'a> = [Option<&'a str>; 3];

/// Returns what the arguments of a file say of sheets.
pub(in crate::cli) fn said_of_sheets(arguments: &FileArguments) -> SaidOfSheets<'_> {
    [&arguments.sheet, &arguments.hidden, &arguments.formulas].map(Option::as_deref)
}

/// Reads how a workbook is to be read: as is said here, else as its layout says.
pub(in crate::cli) fn sheet_options(
    [sheet, hidden, formulas]: &SaidOfSheets<'_>,
    layout: Option<&Layout>,
) -> Result<SheetOptions, Error> {
    let hidden = match hidden {
        None => layout.map_or(Hiding::Refused, |layout| layout.hidden),
        Some("include") => Hiding::Included,
        Some("skip") => Hiding::Skipped,
        Some(other) => {
            return Err(Error::refused(format!(
                "--hidden {other}: expected include or skip"
            )));
        }
    };
    let stored_formulas = match formulas {
        None => layout.is_some_and(|layout| layout.stored_formulas),
        Some("stored") => true,
        Some(other) => {
            return Err(Error::refused(format!(
                "--formulas {other}: expected stored"
            )));
        }
    };
    let of_layout = || layout.and_then(|layout| layout.sheet.clone());
    Ok(SheetOptions {
        sheet: sheet.map(str::to_owned).or_else(of_layout),
        hidden,
        stored_formulas,
    })
}
