//! A sheet as a table: its header, the rows below it, and a row with the sum at its end.

use super::super::columns::{Column, ColumnMap, Field, resolve};
use super::super::layout::{Decimal, Numbers, Sum, is_marker};
use super::super::oddity::Oddity;
use super::super::record::{Fault, Record};
use super::super::rules::Rules;
use super::super::{Error, FIELD_BYTES_MAX, ROW_BYTES_MAX};
use super::admission::refused;
use super::cell::letters;
use super::rows::{SheetRow, SheetRows};

/// How many rows that hold something are looked through for the header.
const HEADER_ROWS_MAX: usize = 50;
/// So many of our columns make a header.
const KNOWN_MIN: usize = 2;
/// What to do about a row below the one with the sum.
const REMEDY: &str = "move the sum to the end, and leave sums of parts out; a signature below it is no payment: take it out, or name it in skip of a \
                      layout, which disburse layout guess FILE proposes";

/// What stands for an amount that the file does not have.
const UNREAD: &str = "?";

/// The rows of a sheet below its header.
pub(in crate::intake) struct Table {
    rows: SheetRows,
    /// How many columns the header has.
    width: usize,
    header: u64,
    total: Option<Total>,
}

/// What the rows add up to, where no layout says how the row with the sum is told.
struct Total {
    amount: usize,
    /// Columns that say who is paid.
    recipient: Vec<usize>,
    sum: Sum,
    found: Option<u64>,
}

impl Table {
    /// Reads as far as the header, and leaves it in the record.
    ///
    /// # Errors
    /// No row is one; the first row then tells what it holds instead.
    pub fn open(mut rows: SheetRows, record: &mut Record, rules: &Rules) -> Result<Self, Error> {
        let is_known = |name: &str| match resolve(name.trim(), rules) {
            Ok(Column::Field(_) | Column::Extra(_)) => true,
            Ok(_) | Err(_) => false,
        };
        let header = match look(&mut rows, is_known, KNOWN_MIN)? {
            Looked::Found(row) => unmerged(&rows, row)?,
            // Merged cells are those of a title then: that no name is known is what is wrong.
            Looked::None {
                widest, known: 0, ..
            } => widest,
            Looked::None { first, .. } => unmerged(&rows, first)?,
        };
        Ok(Self::under(rows, &header, record))
    }

    fn under(rows: SheetRows, header: &SheetRow, record: &mut Record) -> Self {
        let width = header.cells.last().map_or(0, |cell| cell.column + 1);
        fill(header, width, record);
        Self {
            rows,
            width,
            header: header.number,
            total: None,
        }
    }

    /// The rows of a sheet whose header was read elsewhere, or that has none.
    pub fn below(rows: SheetRows, width: usize) -> Self {
        Self {
            rows,
            width,
            header: 1,
            total: None,
        }
    }

    /// Watches for a row at the end that holds the sum of the others.
    pub fn watching_for_a_total(mut self, map: &ColumnMap) -> Self {
        let recipient = [
            Field::Msisdn,
            Field::AccountNumber,
            Field::BankAccountNumber,
        ];
        self.total = map.position(Field::Amount).map(|amount| Total {
            amount,
            recipient: recipient
                .into_iter()
                .filter_map(|field| map.position(field))
                .collect(),
            sum: Sum::new("sheet"),
            found: None,
        });
        self
    }

    /// Reads the next row that is a payment.
    ///
    /// # Errors
    /// What refuses the sheet as a whole: the sum at its end is another one, or is not at its end.
    pub fn read(&mut self, record: &mut Record) -> Result<bool, Error> {
        loop {
            let Some(row) = self.rows.next()? else {
                return Ok(false);
            };
            fill(&row, self.width, record);
            let Some(total) = &mut self.total else {
                return Ok(true);
            };
            if let Some(found) = total.found {
                let what = format!("has a row below the one with the sum, which is row {found}");
                return Err(at(refused(what, REMEDY), &self.rows.sheet, &row));
            }
            if !total.takes(record)? {
                return Ok(true);
            }
        }
    }

    /// Returns what is worth telling about how the sheet was read.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.rows.notes.clone();
        if self.header > 1 {
            notes.push(format!("header in row {}", self.header));
        }
        let total = self.total.as_ref();
        notes.extend(total.and_then(|total| total.sum.note()));
        notes
    }

    /// Returns the name of the sheet.
    pub fn sheet(&self) -> &str {
        &self.rows.sheet
    }

    /// Names a cell, or a row of the sheet.
    pub fn place(&self, row: u64, column: Option<usize>) -> String {
        match column {
            Some(column) => format!("{}!{}{row}", self.rows.sheet, letters(column)),
            None => format!("{}!{row}", self.rows.sheet),
        }
    }
}

impl Total {
    /// Takes in a row; returns whether it is the sum of those above, and no payment.
    fn takes(&mut self, record: &Record) -> Result<bool, Error> {
        let amount = record.cell(self.amount).trim();
        if !self.is_sum(record, amount) {
            // What it comes to is not in the file, or may be another sum: programs that do not calculate store none, or 0.
            let amount = match self.oddity(record) {
                Some(Oddity::NotCalculated) => UNREAD,
                Some(Oddity::Calculated) => {
                    self.sum.is_calculated(record.line);
                    amount
                }
                _ => amount,
            };
            self.sum.add(amount, record.line, record.is_hidden)?;
            return Ok(false);
        }
        self.sum.compare(amount, record.line)?;
        self.found = Some(record.line);
        Ok(true)
    }

    fn oddity(&self, record: &Record) -> Option<Oddity> {
        record.faults.iter().find_map(|fault| match fault {
            Fault::Odd { index, oddity } if *index == self.amount => Some(*oddity),
            _ => None,
        })
    }

    fn is_sum(&self, record: &Record, amount: &str) -> bool {
        let names_nobody = self.recipient.iter().all(|at| {
            let cell = record.cell(*at);
            cell.trim().is_empty() || is_marker(cell)
        });
        names_nobody
            && Decimal::read(amount, Numbers::default()).is_some()
            && record.cells().any(is_marker)
    }
}

/// What was found where a header was looked for.
enum Looked {
    /// The first row with enough names that are known.
    Found(SheetRow),
    /// None has.
    None {
        first: SheetRow,
        /// How many names of the first row are known.
        known: usize,
        /// The first of those with the most texts.
        widest: SheetRow,
    },
}

fn look(
    rows: &mut SheetRows,
    is_known: impl Fn(&str) -> bool,
    known_min: usize,
) -> Result<Looked, Error> {
    let texts = |row: &SheetRow| {
        let said = row.cells.iter().filter(|cell| !cell.text.trim().is_empty());
        said.count()
    };
    let mut best: Option<(SheetRow, usize, SheetRow)> = None;
    for _ in 0..HEADER_ROWS_MAX {
        let Some(row) = rows.next()? else { break };
        let known = row.cells.iter().filter(|cell| is_known(&cell.text)).count();
        if known >= known_min {
            return Ok(Looked::Found(row));
        }
        match &mut best {
            None => best = Some((row.clone(), known, row)),
            Some((_, _, widest)) if texts(&row) > texts(widest) => *widest = row,
            Some(_) => {}
        }
    }
    match best {
        Some((first, known, widest)) => Ok(Looked::None {
            first,
            known,
            widest,
        }),
        None => Err(Error::Empty),
    }
}

/// Finds the header of a sheet: the first row with enough names that are known, or else the first row.
///
/// # Errors
/// The header has merged cells.
pub(in crate::intake) fn header(
    rows: &mut SheetRows,
    is_known: impl Fn(&str) -> bool,
    known_min: usize,
) -> Result<SheetRow, Error> {
    match look(rows, is_known, known_min)? {
        Looked::Found(row) | Looked::None { first: row, .. } => unmerged(rows, row),
    }
}

/// Returns the row with this number.
///
/// # Errors
/// It is empty, or has merged cells.
pub(in crate::intake) fn row_numbered(
    rows: &mut SheetRows,
    number: u64,
) -> Result<SheetRow, Error> {
    while let Some(row) = rows.next()? {
        if row.number == number {
            return unmerged(rows, row);
        }
        if row.number > number {
            break;
        }
    }
    Err(refused(
        format!("has nothing in row {number}, where the layout has the names of the columns"),
        "look in which row they stand, and say that in a layout of your own (header)",
    ))
}

fn unmerged(rows: &SheetRows, row: SheetRow) -> Result<SheetRow, Error> {
    let is_merged = |cell: &&super::cell::Cell| cell.oddity == Some(Oddity::Merged);
    match row.cells.iter().find(is_merged) {
        None => Ok(row),
        Some(cell) => {
            let mut error = refused(
                "has merged cells in its header, so that it is open which column is which",
                "unmerge them, and give each column a name of its own",
            );
            if let Error::Workbook { at, .. } = &mut error {
                let place = format!("{}!{}{}", rows.sheet, letters(cell.column), row.number);
                *at = Some(place);
            }
            Err(error)
        }
    }
}

fn at(mut error: Error, sheet: &str, row: &SheetRow) -> Error {
    if let Error::Workbook { at, .. } = &mut error {
        *at = Some(format!("{sheet}!{}", row.number));
    }
    error
}

/// Brings a row of the sheet into a record, with what is odd about its cells.
pub(in crate::intake) fn fill(row: &SheetRow, width: usize, record: &mut Record) {
    let mut fields = record.begin(row.number);
    let mut faults = Vec::new();
    let mut numbers = std::mem::take(&mut record.numbers);
    let mut cells = row.cells.iter().peekable();
    for column in 0..width {
        if let Some(cell) = cells.next_if(|cell| cell.column == column) {
            fields.push(cell.text.as_bytes());
            if cell.is_number {
                numbers.push(column);
            }
            // A line through a whole row is told once.
            let is_told = |fault: &Fault| {
                matches!(
                    fault,
                    Fault::Odd {
                        oddity: Oddity::StruckOut,
                        ..
                    }
                ) && cell.oddity == Some(Oddity::StruckOut)
            };
            if let Some(oddity) = cell.oddity.filter(|_| !faults.iter().any(is_told)) {
                faults.push(Fault::Odd {
                    index: column,
                    oddity,
                });
            }
        }
        let bytes = fields.end();
        if bytes > FIELD_BYTES_MAX as u64 {
            faults.push(Fault::LongField {
                index: column,
                bytes,
            });
        }
    }
    record.finish(fields);
    if let Some(beyond) = cells.find(|cell| !cell.text.trim().is_empty()) {
        faults.push(Fault::Malformed(format!(
            "column {} has no name in the header, and holds something",
            letters(beyond.column)
        )));
    }
    if row.bytes > ROW_BYTES_MAX {
        let bytes = row.bytes as u64;
        faults.insert(0, Fault::LongRow { bytes });
    }
    (record.faults, record.numbers) = (faults, numbers);
    record.is_hidden = row.is_skipped;
}
