//! report.xlsx: the batch for a person with a spreadsheet. Every text is a text there: no number is rounded, no cell runs.
//!
//! The payments come first, as programs read the first sheet; the summary is the one that opens.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::csv::COLUMNS;
use super::sheets;
use crate::domain::Electricity;
use crate::report::files::error::Error;
use crate::report::files::output;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};
use crate::report::rows::row::Row;
use crate::workbook::{self, Cell, Look, ROWS_MAX, render_row};

/// Larger batches are not read line by line in a spreadsheet, and would take longer than all else of a report: their payments are
/// listed where that is asked for.
const LISTED_MAX: u64 = 50_000;
/// Said instead.
const NOT_LISTED: &str = "The batch has more payments than this file lists. payments.csv has all: import its columns as text. disburse report NAME --out DIR --all-rows lists them here.";
/// Said behind the last exception that is listed.
const MORE: &str = "There are more: payments.csv has all of them.";
/// Where the amounts stand, which are numbers.
const AMOUNT: usize = 6;

pub(in crate::report) struct Book {
    staged: NamedTempFile,
    book: workbook::Book<File>,
    /// How many payments are listed, and of how many sheets they fill which one is written.
    most: u64,
    is_listed: bool,
    rows_max: u32,
    sheets: u32,
    rows: u32,
    exceptions: Exceptions,
}

/// Rows of exceptions, rendered for the sheets behind those of the payments.
struct Exceptions {
    rows_max: u32,
    rendered: BufWriter<File>,
    /// Rows and bytes of each sheet below its header.
    sheets: Vec<(u32, u64)>,
    listed: u64,
    line: String,
}

impl Book {
    pub(in crate::report) const NAME: &'static str = "report.xlsx";

    /// Opens the file for a batch.
    pub(in crate::report) fn create(dir: &Path, header: &BatchHeader) -> Result<Self, Error> {
        let staged = output::stage(dir, Self::NAME)?;
        let rendered = output::scratch(dir, Self::NAME)?;
        let most = match header.lists_all {
            true => u64::MAX,
            false => LISTED_MAX,
        };
        let begun = || -> io::Result<_> {
            let mut book = workbook::Book::new(staged.as_file().try_clone()?);
            let is_listed = header.rows() <= most;
            match is_listed {
                true => begin_list(&mut book, "payments", 1)?,
                false => {
                    book.begin_sheet("payments", &Look::default())?;
                    book.write_row([Cell::Heading(NOT_LISTED)])?;
                }
            }
            Ok((book, is_listed))
        };
        let (book, is_listed) = begun().map_err(Error::write(Self::NAME, dir))?;
        Ok(Self {
            staged,
            book,
            most,
            is_listed,
            rows_max: ROWS_MAX,
            sheets: 1,
            rows: 1,
            exceptions: Exceptions {
                rows_max: ROWS_MAX,
                rendered: BufWriter::with_capacity(1 << 16, rendered),
                sheets: vec![(0, 0)],
                listed: 0,
                line: String::new(),
            },
        })
    }

    /// Goes on in another sheet after so many rows, its header among them.
    #[cfg(test)]
    pub(in crate::report) fn with_sheets_of(mut self, rows: u32) -> Self {
        (self.rows_max, self.exceptions.rows_max) = (rows, rows);
        self
    }

    pub(in crate::report) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let entry = row.entry;
        let is_exception = entry.state != StateName::Paid && self.exceptions.listed <= self.most;
        if !self.is_listed && !is_exception {
            return Ok(());
        }
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
        let cells = cells
            .into_iter()
            .enumerate()
            .map(|(column, cell)| match entry.money {
                Some(money) if column == AMOUNT => Cell::Amount(cell, money.currency.exponent()),
                _ => Cell::Text(cell),
            });
        if self.is_listed {
            if self.rows == self.rows_max {
                self.sheets += 1;
                self.rows = 1;
                begin_list(&mut self.book, "payments", self.sheets)?;
            }
            self.rows += 1;
            self.book.write_row(cells.clone())?;
        }
        match is_exception {
            true => self.exceptions.add(cells, self.most),
            false => Ok(()),
        }
    }

    pub(in crate::report) fn finish(
        mut self,
        header: &BatchHeader,
        reconciliation: &Reconciliation,
    ) -> io::Result<NamedTempFile> {
        sheets::summary(&mut self.book, header, reconciliation)?;
        self.exceptions.write(&mut self.book)?;
        sheets::statements(&mut self.book, header)?;
        sheets::evidence(&mut self.book, header)?;
        let summary = self.sheets as usize;
        let created = header.created_at.to_string();
        self.book.finish(summary, header.name.as_str(), &created)?;
        Ok(self.staged)
    }
}

impl Exceptions {
    fn add<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>, most: u64) -> io::Result<()> {
        self.listed += 1;
        if self
            .sheets
            .last()
            .is_some_and(|(rows, _)| rows + 1 == self.rows_max)
        {
            self.sheets.push((0, 0));
        }
        let Some((rows, bytes)) = self.sheets.last_mut() else {
            return Ok(());
        };
        *rows += 1;
        // Below the header.
        let number = *rows + 1;
        match self.listed > most {
            true => render_row(&mut self.line, number, [Cell::Heading(MORE)]),
            false => render_row(&mut self.line, number, cells),
        }
        *bytes += self.line.len() as u64;
        self.rendered.write_all(self.line.as_bytes())
    }

    fn write(self, book: &mut workbook::Book<File>) -> io::Result<()> {
        let mut rendered = self
            .rendered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        rendered.rewind()?;
        let mut rendered = BufReader::with_capacity(1 << 16, rendered);
        for (number, (rows, bytes)) in (1..).zip(self.sheets) {
            begin_list(book, "exceptions", number)?;
            book.copy_rows(rows, &mut rendered.by_ref().take(bytes))?;
        }
        Ok(())
    }
}

/// Begins a sheet of payments with its header; `number` counts those of its kind.
fn begin_list(book: &mut workbook::Book<File>, kind: &str, number: u32) -> io::Result<()> {
    let width = |name: &str| match name {
        "line" | "attempts" | "state" => 10,
        "payer_transaction_id" => 30,
        "note" | "receiver_narration" | "status_description" => 40,
        _ => 20,
    };
    let look = Look {
        widths: COLUMNS.into_iter().map(width).collect(),
        is_list: true,
        amount: Some(AMOUNT),
    };
    match number {
        1 => book.begin_sheet(kind, &look)?,
        number => book.begin_sheet(&format!("{kind} {number}"), &look)?,
    }
    book.write_row(COLUMNS.map(Cell::Heading))
}
