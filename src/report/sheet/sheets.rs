//! The sheets of report.xlsx that are no lists of payments: what the batch adds up to, and what it can be proven by.

use rust_xlsxwriter::{Worksheet, XlsxError};

use super::cells::{Formats, to_print, write_amount, write_text};
use crate::domain::{Currency, Timestamp};
use crate::ledger::Purpose;
use crate::report::fold::difference::Difference;
use crate::report::fold::lane::Sum;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};

/// What is written row by row.
struct Page<'a> {
    sheet: &'a mut Worksheet,
    formats: &'a Formats,
    row: u32,
}

impl<'a> Page<'a> {
    fn of(
        sheet: &'a mut Worksheet,
        formats: &'a Formats,
        widths: &[u16],
    ) -> Result<Self, XlsxError> {
        to_print(sheet);
        for (column, width) in (0..).zip(widths) {
            sheet.set_column_width(column, *width)?;
        }
        Ok(Self {
            sheet,
            formats,
            row: 0,
        })
    }

    fn texts(&mut self, cells: &[&str]) -> Result<(), XlsxError> {
        for (column, cell) in (0..).zip(cells) {
            write_text(self.sheet, (self.row, column), cell, &self.formats.text)?;
        }
        self.row += 1;
        Ok(())
    }

    /// The name of what comes below, with an empty row in front.
    fn title(&mut self, cells: &[&str]) -> Result<(), XlsxError> {
        self.row += u32::from(self.row > 0);
        for (column, cell) in (0..).zip(cells) {
            write_text(self.sheet, (self.row, column), cell, &self.formats.bold)?;
        }
        self.row += 1;
        Ok(())
    }

    /// A count and an amount, from a column on.
    fn sum(&mut self, column: u16, sum: Sum, currency: Currency) -> Result<(), XlsxError> {
        self.sheet.write_string_with_format(
            self.row,
            column,
            sum.count.to_string(),
            &self.formats.text,
        )?;
        let decimals = currency.exponent();
        let written = decimal(sum.minor, decimals);
        let place = (self.row, column + 1);
        write_amount(
            self.sheet,
            place,
            &written,
            (sum.minor, decimals),
            self.formats,
        )
    }
}

/// Writes an amount of minor units.
fn decimal(minor: i128, decimals: u8) -> String {
    let digits = format!("{:0>1$}", minor.unsigned_abs(), usize::from(decimals) + 1);
    let (whole, part) = digits.split_at(digits.len() - usize::from(decimals));
    let sign = if minor < 0 { "-" } else { "" };
    match part {
        "" => format!("{sign}{whole}"),
        part => format!("{sign}{whole}.{part}"),
    }
}

/// Writes what the batch adds up to, and how that compares with what was loaded.
pub(super) fn summary(
    sheet: &mut Worksheet,
    formats: &Formats,
    header: &BatchHeader,
    reconciliation: &Reconciliation,
) -> Result<(), XlsxError> {
    let mut page = Page::of(sheet, formats, &[28, 22, 14, 20, 14, 20, 14, 20])?;
    let yes = |is: bool| if is { "yes" } else { "no" };
    page.title(&["Batch", header.name.as_str()])?;
    page.texts(&["Originator", header.originator.as_str()])?;
    page.texts(&["Gateway", &header.gateway])?;
    let purpose = match header.purpose {
        Purpose::Rehearsal => "rehearsal: no money has moved",
        Purpose::Gateway => "gateway",
        Purpose::Unknown => "not known",
    };
    page.texts(&["Loaded for", purpose])?;
    page.texts(&["First loaded", &header.created_at.to_string()])?;
    page.texts(&["Finished", yes(reconciliation.finished())])?;
    page.texts(&["Adds up", yes(reconciliation.adds_up())])?;
    for difference in reconciliation.differences() {
        page.texts(&["Difference", &Difference::to_string(&difference)])?;
    }
    if header.paid_twice_count > 0 {
        page.texts(&["Rows paid twice", &header.paid_twice_count.to_string()])?;
        for row in &header.paid_twice {
            page.texts(&["Paid twice", &row.sentence()])?;
        }
    }
    totals(&mut page, reconciliation)
}

/// Writes what each service comes to, in all and by state, beside what was loaded; then what is not paid, by status code.
fn totals(page: &mut Page<'_>, reconciliation: &Reconciliation) -> Result<(), XlsxError> {
    page.title(&[
        "Service",
        "State",
        "Payments",
        "Amount",
        "Loaded",
        "Loaded amount",
        "Currency",
    ])?;
    for (service, currency, lane) in reconciliation.lanes() {
        let code = currency.code();
        page.sum(2, lane.found(), currency)?;
        page.sum(4, lane.control, currency)?;
        write_text(page.sheet, (page.row, 6), code, &page.formats.text)?;
        page.texts(&[service, "all"])?;
        for state in StateName::ALL {
            let sum = lane.state(state);
            if sum.count > 0 {
                page.sum(2, sum, currency)?;
                write_text(page.sheet, (page.row, 6), code, &page.formats.text)?;
                page.texts(&[service, state.as_str()])?;
            }
        }
    }
    page.title(&[
        "Not paid",
        "Status code",
        "Payments",
        "Amounts",
        "Description",
    ])?;
    for (state, code, group) in reconciliation.exceptions() {
        let code = code.map_or_else(String::new, |code| code.to_string());
        let amounts: Vec<String> = group
            .amounts
            .decimals()
            .into_iter()
            .map(|(currency, amount)| format!("{currency} {amount}"))
            .collect();
        page.texts(&[
            state.as_str(),
            &code,
            &group.count.to_string(),
            &amounts.join(", "),
            &group.description,
        ])?;
    }
    Ok(())
}

/// Writes where the batch comes from, who did what, and by which hash all of it is proven.
pub(super) fn evidence(
    sheet: &mut Worksheet,
    formats: &Formats,
    header: &BatchHeader,
) -> Result<(), XlsxError> {
    let mut page = Page::of(sheet, formats, &[28, 30, 30, 40, 40])?;
    let at = |at: Timestamp| at.to_string();
    page.title(&["Evidence", "Rows", "Head"])?;
    page.texts(&[
        "chain of the batch",
        &header.evidence_rows.to_string(),
        &header.evidence_head,
    ])?;
    page.title(&["Loaded file", "At", "Digest"])?;
    for load in &header.loads {
        page.texts(&[load.file_name(), &at(load.loaded_at), &load.digest])?;
    }
    page.title(&["Act", "At", "By", "About", "Reason"])?;
    for deed in &header.people {
        page.texts(&[
            deed.act.as_str(),
            &at(deed.at),
            &deed.by.to_string(),
            deed.about.as_deref().unwrap_or_default(),
            deed.reason.as_deref().unwrap_or_default(),
        ])?;
    }
    if !header.statements.is_empty() {
        page.title(&["Statement", "At", "Digest"])?;
        for stated in &header.statements {
            let of = |name: &str| stated.summary[name].as_str().unwrap_or_default();
            page.texts(&[of("source"), &at(stated.at), of("digest")])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_decimals_of_their_currency() {
        for (minor, decimals, written) in [
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (150_050, 2, "1500.50"),
            (1500, 0, "1500"),
            (-1500, 3, "-1.500"),
        ] {
            assert_eq!(decimal(minor, decimals), written);
        }
    }
}
