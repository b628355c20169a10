//! A template as a workbook.

use std::io::{self, Seek, Write};

use rust_xlsxwriter::{
    DataValidation, DocProperties, ExcelDateTime, Format, FormatAlign, Formula, Workbook,
    Worksheet, XlsxError,
};

use super::super::columns::Field;
use super::form::{AMOUNT, Column, Template};

/// The last row of a sheet, counted from 0.
const LAST_ROW: u32 = 1_048_575;
/// The most characters of a list that stands with its cells, as the format has it.
const LIST_MAX: usize = 255;
/// The most characters of what is told about a cell.
const TOLD_MAX: usize = 255;
/// The sheet with the lists that are longer; it is hidden, and no load reads it.
const LISTS: &str = "lists";

impl Template {
    /// Writes it as a workbook: texts in all columns but the amount, lists where there is a choice.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_xlsx(&self, output: impl Write + Seek + Send) -> io::Result<()> {
        write(self, output).map_err(io::Error::other)
    }
}

/// Writes a template.
fn write(template: &Template, output: impl Write + Seek + Send) -> Result<(), XlsxError> {
    let mut book = Workbook::new();
    // It is the same file each time.
    let made = ExcelDateTime::from_ymd(2026, 1, 1)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&made));
    let columns = template.columns();
    let mut lists = Vec::new();
    let sheet = book.add_worksheet();
    sheet.set_name("payments")?;
    sheet.set_freeze_panes(1, 0)?;
    sheet.set_landscape().set_repeat_rows(0, 0)?;
    sheet.set_print_fit_to_pages(1, 0);
    for (at, column) in (0..).zip(&columns) {
        of_column(sheet, (at, column), template.decimals(), &mut lists)?;
    }
    if !lists.is_empty() {
        let sheet = book.add_worksheet();
        sheet.set_name(LISTS)?.set_hidden(true);
        for (at, values) in (0..).zip(&lists) {
            for (row, value) in (0..).zip(*values) {
                sheet.write_string(row, at, value)?;
            }
        }
    }
    book.save_to_writer(output)
}

fn of_column<'t>(
    sheet: &mut Worksheet,
    (at, column): (u16, &'t Column),
    decimals: u8,
    lists: &mut Vec<&'t Vec<String>>,
) -> Result<(), XlsxError> {
    // Format 49 is text: what is typed stays as it is.
    let text = Format::new().set_num_format("@");
    let header = Format::new()
        .set_num_format("@")
        .set_bold()
        .set_background_color(0x00DD_E6F0)
        .set_align(FormatAlign::Left);
    let name = column.field.name();
    let width = match column.field {
        Field::Reference | Field::CustomerNames | Field::BankAccountName | Field::Narration => 28,
        Field::CurrencyCode | Field::CountryCode | Field::BankCode => 15,
        _ => 20,
    };
    sheet.set_column_width(at, width)?;
    sheet.write_string_with_format(0, at, name, &header)?;
    match column.field {
        Field::Amount => {
            let places = match decimals {
                0 => String::new(),
                many => format!(".{}", "0".repeat(usize::from(many))),
            };
            let number = Format::new().set_num_format(format!("#,##0{places}"));
            sheet.set_column_format(at, &number)?;
            sheet.write_number_with_format(1, at, AMOUNT, &number)?;
        }
        _ => {
            sheet.set_column_format(at, &text)?;
            if !column.example.is_empty() {
                sheet.write_string_with_format(1, at, &column.example, &text)?;
            }
        }
    }
    let told: String = column.meaning.chars().take(TOLD_MAX).collect();
    let mut rule = DataValidation::new()
        .set_input_title(name)?
        .set_input_message(told)?;
    if !column.values.is_empty() {
        let length: usize = column.values.iter().map(|value| value.len() + 1).sum();
        rule = if length <= LIST_MAX {
            rule.allow_list_strings(&column.values)?
        } else {
            lists.push(&column.values);
            let letter = char::from(b'A' + (lists.len() - 1) as u8);
            let last = column.values.len();
            rule.allow_list_formula(Formula::new(format!(
                "={LISTS}!${letter}$1:${letter}${last}"
            )))
        };
        rule = rule.set_error_message("Choose one of the list.")?;
    }
    sheet.add_data_validation(1, at, LAST_ROW, at, &rule)?;
    Ok(())
}
