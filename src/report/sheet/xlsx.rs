//! report.xlsx: the batch for a person with a spreadsheet. Every text is a text there: no number is rounded, no cell runs.
//!
//! The payments come first, as programs read the first sheet; the summary is the one that opens.

use std::io;
use std::path::Path;

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use tempfile::NamedTempFile;

use super::cells::{Formats, to_print, write_amount, write_text};
use super::csv::COLUMNS;
use super::sheets;
use crate::domain::{Electricity, Money};
use crate::report::files::error::Error;
use crate::report::files::output;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};
use crate::report::rows::row::Row;

/// Larger batches are not read line by line in a spreadsheet, and would take longer than all else of a report: their payments are
/// listed where that is asked for.
const LISTED_MAX: u64 = 50_000;
/// Said instead.
const NOT_LISTED: &str = "The batch has more payments than this file lists. payments.csv has all: import its columns as text. disburse report NAME --out DIR --all-rows lists them here.";
/// Rows of a sheet below its header; what comes behind them goes on in the next sheet.
const ROWS_MAX: u32 = 1_048_575;
/// Sheets of payments, at most.
const SHEETS_MAX: u64 = 600;
/// Where the amounts stand, which are numbers.
const AMOUNT: usize = 6;

pub(in crate::report) struct Book {
    staged: NamedTempFile,
    book: Workbook,
    formats: Formats,
    payments: Listing,
    exceptions: Listing,
    summary: usize,
    evidence: usize,
}

/// Sheets with rows of one kind.
struct Listing {
    name: &'static str,
    /// Sheets that were made for it, by their places in the book, in their order.
    sheets: Vec<usize>,
    /// Which of them is written, and how many rows it has, the header among them.
    current: usize,
    rows: u32,
    /// Rows in all its sheets, and how many these may be.
    listed: u64,
    most: u64,
}

impl Book {
    pub(in crate::report) const NAME: &'static str = "report.xlsx";

    /// Opens the file for a batch.
    pub(in crate::report) fn create(dir: &Path, header: &BatchHeader) -> Result<Self, Error> {
        let staged = output::stage(dir, Self::NAME)?;
        let begun = || -> Result<Self, XlsxError> {
            let mut book = Workbook::new();
            // The same batch is the same file.
            let made =
                ExcelDateTime::from_timestamp(header.created_at.as_millis().div_euclid(1000))?;
            let properties = DocProperties::new()
                .set_title(header.name.as_str())
                .set_creation_datetime(&made);
            book.set_properties(&properties);
            book.set_tempdir(dir)?;
            let formats = Formats::new();
            let mut places = 0..;
            let mut place = || places.next().unwrap_or_default();
            let most = match header.lists_all {
                true => u64::MAX,
                false => LISTED_MAX,
            };
            let is_listed = header.rows() <= most;
            let full = match is_listed {
                true => header.rows().div_ceil(u64::from(ROWS_MAX)),
                false => 1,
            };
            let mut payments = Listing::new("payments", if is_listed { most } else { 0 });
            for _ in 0..full.clamp(1, SHEETS_MAX) {
                payments.add_sheet(&mut book, place(), &formats)?;
            }
            let summary = place();
            let sheet = book.add_worksheet_with_constant_memory()?;
            sheet.set_name("summary")?.set_active(true);
            let mut exceptions = Listing::new("exceptions", most);
            exceptions.add_sheet(&mut book, place(), &formats)?;
            let evidence = place();
            let sheet = book.add_worksheet_with_constant_memory()?;
            sheet.set_name("evidence")?;
            Ok(Self {
                staged,
                book,
                formats,
                payments,
                exceptions,
                summary,
                evidence,
            })
        };
        begun().map_err(|error| Error::write(Self::NAME, dir)(io::Error::other(error)))
    }

    pub(in crate::report) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let entry = row.entry;
        let (line, attempts) = (entry.line.to_string(), entry.attempts.to_string());
        let code = entry.status_code.map(|code| code.to_string());
        let electricity = row.electricity.as_ref();
        let token = electricity.map_or(String::new(), Electricity::grouped);
        let units = electricity.map_or(String::new(), Electricity::units_text);
        // In the order of the columns.
        let cells: [&str; COLUMNS.len()] = [
            &line,
            entry.reference,
            entry.id,
            entry.service_code,
            entry.msisdn,
            entry.account_number,
            row.amount,
            row.currency,
            entry.state.as_str(),
            code.as_deref().unwrap_or_default(),
            entry.status_description,
            entry.gateway_transaction_id,
            entry.receipt_number,
            entry.receiver_narration,
            &attempts,
            row.posted_at,
            row.settled_at,
            entry.note,
            &token,
            &units,
            entry.application_id,
            entry.customer_names,
            entry.bank.bank_code,
            entry.bank.bank_name,
            entry.bank.account_name,
            entry.bank.account_number,
            entry.narration,
            entry.invoice_number,
        ];
        let (book, formats) = (&mut self.book, &self.formats);
        let mut add = |listing: &mut Listing| listing.add(book, formats, (&cells, entry.money));
        let is_exception = entry.state != StateName::Paid;
        add(&mut self.payments)
            .and_then(|()| match is_exception {
                true => add(&mut self.exceptions),
                false => Ok(()),
            })
            .map_err(io::Error::other)
    }

    pub(in crate::report) fn finish(
        mut self,
        header: &BatchHeader,
        reconciliation: &Reconciliation,
    ) -> io::Result<NamedTempFile> {
        let finish = |this: &mut Self| -> Result<(), XlsxError> {
            let formats = &this.formats;
            let sheet = this.book.worksheet_from_index(this.summary)?;
            sheets::summary(sheet, formats, header, reconciliation)?;
            let sheet = this.book.worksheet_from_index(this.evidence)?;
            sheets::evidence(sheet, formats, header)?;
            this.payments.finish(&mut this.book)?;
            this.exceptions.finish(&mut this.book)?;
            this.book.save_to_writer(this.staged.as_file())
        };
        finish(&mut self).map_err(io::Error::other)?;
        Ok(self.staged)
    }
}

impl Listing {
    fn new(name: &'static str, most: u64) -> Self {
        Self {
            name,
            sheets: Vec::new(),
            current: 0,
            rows: 1,
            listed: 0,
            most,
        }
    }

    /// Makes a sheet of its own, with its header.
    fn add_sheet(
        &mut self,
        book: &mut Workbook,
        place: usize,
        formats: &Formats,
    ) -> Result<(), XlsxError> {
        self.sheets.push(place);
        let sheet = book.add_worksheet_with_constant_memory()?;
        match self.sheets.len() {
            1 => sheet.set_name(self.name)?,
            number => sheet.set_name(format!("{} {number}", self.name))?,
        };
        sheet.set_freeze_panes(1, 0)?;
        to_print(sheet);
        sheet.set_repeat_rows(0, 0)?;
        if self.most == 0 {
            sheet.write_string_with_format(0, 0, NOT_LISTED, &formats.bold)?;
            return Ok(());
        }
        for (column, name) in (0..).zip(COLUMNS) {
            let width = match name {
                "line" | "attempts" | "state" => 10,
                "payer_transaction_id" => 30,
                "note" | "receiver_narration" | "status_description" => 40,
                _ => 20,
            };
            sheet.set_column_width(column, width)?;
            if usize::from(column) != AMOUNT {
                sheet.set_column_format(column, &formats.text)?;
            }
            sheet.write_string_with_format(0, column, name, &formats.bold)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        book: &mut Workbook,
        formats: &Formats,
        (cells, money): (&[&str; COLUMNS.len()], Option<Money>),
    ) -> Result<(), XlsxError> {
        self.listed += 1;
        if self.listed > self.most {
            return match (self.listed - self.most, self.most) {
                (1, 1..) => self.end_early(book, formats),
                _ => Ok(()),
            };
        }
        if self.rows > ROWS_MAX {
            self.current += 1;
            self.rows = 1;
            if self.current == self.sheets.len() {
                let place = book.worksheets().len();
                self.add_sheet(book, place, formats)?;
            }
        }
        let sheet = book.worksheet_from_index(self.sheets[self.current])?;
        for (column, cell) in (0..).zip(cells) {
            match money.filter(|_| usize::from(column) == AMOUNT) {
                Some(money) => {
                    let minor = i128::from(money.amount.minor());
                    let decimals = money.currency.exponent();
                    write_amount(sheet, (self.rows, column), cell, (minor, decimals), formats)?;
                }
                None => write_text(sheet, (self.rows, column), cell, &formats.text)?,
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Says in the row behind the last one that there are more.
    fn end_early(&self, book: &mut Workbook, formats: &Formats) -> Result<(), XlsxError> {
        let sheet = book.worksheet_from_index(self.sheets[self.current])?;
        let text = "There are more: payments.csv has all of them.";
        sheet.write_string_with_format(self.rows, 0, text, &formats.bold)?;
        Ok(())
    }

    /// Lets each sheet be filtered.
    fn finish(&self, book: &mut Workbook) -> Result<(), XlsxError> {
        let last = (COLUMNS.len() - 1) as u16;
        if self.most == 0 {
            return Ok(());
        }
        for (number, place) in self.sheets.iter().enumerate() {
            let rows = match number.cmp(&self.current) {
                std::cmp::Ordering::Less => ROWS_MAX,
                std::cmp::Ordering::Equal => self.rows - 1,
                std::cmp::Ordering::Greater => 0,
            };
            let sheet = book.worksheet_from_index(*place)?;
            sheet.autofilter(0, 0, rows, last)?;
        }
        Ok(())
    }
}
