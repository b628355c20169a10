//! Rows of one table beside those of another, in pages: a join without a statement for each row.

use std::fmt;
use std::ops::ControlFlow;

use super::{Column, Error, Field, Read, Reads, Row, Scan, Shape, Table, Value};

/// The most rows of a page.
const PAGE_MAX: usize = 512;

/// The fewest.
const PAGE_MIN: usize = 4;

/// Columns of rows that are found by a number, read in pages.
///
/// Rows may be asked for in any order; in the order of their numbers, many are read at once. The size of a page depends on how many
/// rows of the page before were used. Later writes to the table may not be seen.
pub struct Beside<'c> {
    c: &'c dyn Read,
    rows: Scan<'c>,
    /// The number first.
    columns: Vec<Column>,
    page: Page,
    /// The row of the page that was found last.
    last: Option<usize>,
    /// How many of its rows were found.
    used: usize,
}

impl fmt::Debug for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Rows that were read at once.
#[derive(Default)]
struct Page {
    /// The first and the last number for which it says whether there is a row.
    span: Option<(i64, i64)>,
    numbers: Vec<i64>,
    cells: Vec<Cell>,
    // One buffer for all texts, and one for all bytes: no row has allocations of its own.
    texts: String,
    bytes: Vec<u8>,
    odd: Vec<Error>,
}

#[derive(Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    /// From where to where in its buffer.
    Text(usize, usize),
    Bytes(usize, usize),
    /// It cannot be read, which whoever reads this row is told: not those that share its page.
    Odd(usize),
}

/// A row that was found, with the columns that were asked for.
pub struct Found<'p> {
    page: &'p Page,
    cells: &'p [Cell],
}

impl Row for Found<'_> {
    fn width(&self) -> usize {
        self.cells.len()
    }

    fn value(&self, at: usize) -> Result<Value<'_>, Error> {
        Ok(match self.cells[at] {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::Integer(number),
            Cell::Text(from, to) => Value::Text(self.page.texts[from..to].into()),
            Cell::Bytes(from, to) => Value::Bytes(self.page.bytes[from..to].into()),
            Cell::Odd(at) => return Err(self.page.odd[at].clone()),
        })
    }
}

impl Found<'_> {
    /// Reads the column that was asked for at this place.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a value that no release writes.
    pub fn get<F: Field>(&self, at: usize) -> Result<F, Error> {
        F::from_value(self.value(at)?)
    }
}

impl Page {
    fn clear(&mut self) {
        self.span = None;
        self.numbers.clear();
        self.cells.clear();
        self.texts.clear();
        self.bytes.clear();
        self.odd.clear();
    }

    /// Copies a row whose number is its first column.
    fn take_in(&mut self, row: &dyn Row, width: usize) -> Result<(), Error> {
        self.numbers.push(row.get(0)?);
        for at in 1..width {
            let cell = match row.value(at) {
                Ok(Value::Null) => Cell::Null,
                Ok(Value::Integer(number)) => Cell::Integer(number),
                Ok(Value::Text(text)) => {
                    let from = self.texts.len();
                    self.texts.push_str(&text);
                    Cell::Text(from, self.texts.len())
                }
                Ok(Value::Bytes(bytes)) => {
                    let from = self.bytes.len();
                    self.bytes.extend_from_slice(&bytes);
                    Cell::Bytes(from, self.bytes.len())
                }
                Err(error) => {
                    self.odd.push(error);
                    Cell::Odd(self.odd.len() - 1)
                }
            };
            self.cells.push(cell);
        }
        Ok(())
    }
}

impl<'c> Beside<'c> {
    /// Columns of the rows of a numbered table.
    pub fn of(c: &'c dyn Read, table: &'static Table, columns: &[Column]) -> Self {
        Self::along(c, Scan::of(table), Column::new(0), columns)
    }

    /// Columns of rows that come in the order of `number`, which tells one from the other.
    pub fn along(c: &'c dyn Read, rows: Scan<'c>, number: Column, columns: &[Column]) -> Self {
        Self {
            c,
            rows,
            columns: std::iter::once(number)
                .chain(columns.iter().copied())
                .collect(),
            page: Page::default(),
            last: None,
            used: 0,
        }
    }

    /// Returns the row with this number.
    ///
    /// # Errors
    /// Where the store cannot read.
    pub fn find(&mut self, number: i64) -> Result<Option<Found<'_>>, Error> {
        let is_told = |(first, last)| (first..=last).contains(&number);
        if !self.page.span.is_some_and(is_told) {
            self.turn_to(number)?;
        }
        let Ok(at) = self.page.numbers.binary_search(&number) else {
            return Ok(None);
        };
        if self.last.replace(at) != Some(at) {
            self.used += 1;
        }
        let width = self.columns.len() - 1;
        Ok(Some(Found {
            page: &self.page,
            cells: &self.page.cells[at * width..][..width],
        }))
    }

    /// The same, read into a shape of these columns.
    ///
    /// # Errors
    /// Where the store cannot read, or the row is none that a release wrote.
    pub fn find_as<S: Shape>(&mut self, number: i64) -> Result<Option<S>, Error> {
        self.find(number)?.map(|row| S::read(&row)).transpose()
    }

    /// Reads the page that begins with this number.
    fn turn_to(&mut self, number: i64) -> Result<(), Error> {
        let rows = (self.used * 4).clamp(PAGE_MIN, PAGE_MAX);
        (self.last, self.used) = (None, 0);
        self.page.clear();
        let (page, width) = (&mut self.page, self.columns.len());
        let scan = self.rows.clone().from(&number).limit(rows);
        self.c.each_row(&scan, &self.columns, |row| {
            page.take_in(row, width)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let last = match page.numbers.last() {
            Some(last) if page.numbers.len() == rows => *last,
            _ => i64::MAX,
        };
        page.span = Some((number, last));
        Ok(())
    }
}
