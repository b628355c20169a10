//! A workbook as a payroll office keeps it: titles above, the sum below, amounts as formatted numbers.

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Formula, Workbook};

use crate::{Outcome, Rng, kenyan, person, salary};

const ROWS: u32 = 40;
/// Where the names of the columns stand, counted from 0.
const HEADER: u32 = 3;

pub fn payroll(rng: &mut Rng) -> Outcome<Vec<u8>> {
    let mut book = Workbook::new();
    // The same bytes each time.
    let made = ExcelDateTime::from_ymd(2026, 11, 28)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&made));
    let (bold, text) = (Format::new().set_bold(), Format::new().set_num_format("@"));
    let amounts = Format::new().set_num_format("#,##0.00");
    let sheet = book.add_worksheet();
    sheet.set_name("November")?;
    sheet.set_freeze_panes(HEADER + 1, 0)?;
    sheet.write_with_format(0, 0, "Mfano Foods Ltd (made up)", &bold)?;
    sheet.write(1, 0, "Payroll November 2026")?;
    let header = [
        "Reference",
        "Service Code",
        "MSISDN",
        "Customer Names",
        "Amount",
        "Currency Code",
    ];
    for (column, name) in (0..).zip(header) {
        sheet.write_with_format(HEADER, column, name, &bold)?;
        sheet.set_column_width(column, 18)?;
    }
    let mut cents = 0_u64;
    for row in HEADER + 1..=HEADER + ROWS {
        let (service, msisdn) = kenyan(rng)?;
        let amount = salary(rng);
        cents += amount.replace('.', "").parse::<u64>()?;
        sheet.write_with_format(row, 0, format!("WB-{:04}", row - HEADER), &text)?;
        sheet.write_with_format(row, 1, service, &text)?;
        sheet.write_with_format(row, 2, msisdn, &text)?;
        sheet.write_with_format(row, 3, person(rng), &text)?;
        sheet.write_with_format(row, 4, amount.parse::<f64>()?, &amounts)?;
        sheet.write_with_format(row, 5, "KES", &text)?;
    }
    let last = HEADER + ROWS;
    sheet.write_with_format(last + 1, 0, "Total", &bold)?;
    let sum = Formula::new(format!("=SUM(E{}:E{})", HEADER + 2, last + 1));
    let result = format!("{}.{:02}", cents / 100, cents % 100);
    sheet.write_formula_with_format(last + 1, 4, sum.set_result(result), &amounts)?;
    Ok(book.save_to_buffer()?)
}
