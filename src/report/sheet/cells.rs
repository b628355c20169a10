//! Cells of report.xlsx: texts that stay texts, and amounts with the decimals of their currency.

use std::borrow::Cow;

use rust_xlsxwriter::{Format, Worksheet, XlsxError};

/// What a cell holds at most, in characters, as the format has it.
const CELL_MAX: usize = 32_767;
/// A spreadsheet keeps fifteen digits: an amount of more stays a text.
const EXACT_BELOW: u128 = 1_000_000_000_000_000;
/// How cells are written.
pub(super) struct Formats {
    pub(super) text: Format,
    pub(super) bold: Format,
    /// By the decimals of a currency.
    amounts: [Format; 5],
}

impl Formats {
    pub(super) fn new() -> Self {
        let amount = |decimals: usize| match decimals {
            0 => Format::new().set_num_format("#,##0"),
            many => Format::new().set_num_format(format!("#,##0.{}", "0".repeat(many))),
        };
        Self {
            // What is typed into such a cell stays a text, too.
            text: Format::new().set_num_format("@"),
            bold: Format::new().set_num_format("@").set_bold(),
            amounts: [0, 1, 2, 3, 4].map(amount),
        }
    }

    pub(super) fn amount(&self, decimals: u8) -> &Format {
        &self.amounts[usize::from(decimals).min(self.amounts.len() - 1)]
    }
}

/// Sets a sheet up for paper: as wide as a page, with its number.
pub(super) fn to_print(sheet: &mut Worksheet) {
    sheet
        .set_landscape()
        .set_print_fit_to_pages(1, 0)
        .set_footer("&L&F, &A&RPage &P of &N");
    // A4; what a printer has instead is scaled to.
    sheet.set_paper_size(9);
}

/// Writes a text, where there is one.
pub(super) fn write_text(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    text: &str,
    format: &Format,
) -> Result<(), XlsxError> {
    if !text.is_empty() {
        sheet.write_string_with_format(row, column, harmless(text), format)?;
    }
    Ok(())
}

/// Writes an amount as a number with the decimals of its currency; as a text where a number would lose digits.
pub(super) fn write_amount(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    written: &str,
    (minor, decimals): (i128, u8),
    formats: &Formats,
) -> Result<(), XlsxError> {
    match written.parse::<f64>() {
        Ok(number) if minor.unsigned_abs() < EXACT_BELOW => {
            sheet.write_number_with_format(row, column, number, formats.amount(decimals))?;
            Ok(())
        }
        _ => write_text(sheet, (row, column), written, &formats.text),
    }
}

/// Returns a text without what steers a terminal or a reader's eye, no longer than a cell.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| matches!(c, '\t' | '\n') || !c.is_control();
    let is_fit = text.len() <= CELL_MAX && text.chars().all(is_kept);
    match is_fit {
        true => Cow::Borrowed(text),
        false => Cow::Owned(
            text.chars()
                .filter(|c| is_kept(*c))
                .take(CELL_MAX)
                .collect(),
        ),
    }
}
