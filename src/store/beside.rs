//! Rows beside other rows, where both come in the order of the same number.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::{Column, Error, Read, Reads, Scan, Shape};

/// How many rows are read at once: twice as many as were of use the last time, within these.
const PAGE: (usize, usize) = (16, 1024);

/// Rows for whoever goes through others in the same order: they are read a page at a time, in place of a look-up for each.
pub struct Beside<'a, S> {
    c: &'a dyn Read,
    rows: Scan<'a>,
    columns: Vec<Column>,
    page: VecDeque<(i64, S)>,
    used: usize,
    is_last: bool,
}

impl<'a, S: Shape> Beside<'a, S> {
    /// `rows` come in the order of `number`, which tells one from the other.
    pub fn of(c: &'a dyn Read, rows: Scan<'a>, number: Column) -> Self {
        Self {
            c,
            rows,
            columns: S::COLUMNS.iter().copied().chain([number]).collect(),
            page: VecDeque::new(),
            used: 0,
            is_last: false,
        }
    }

    /// Returns the row that has this number, which is greater than any that was asked for before.
    ///
    /// # Errors
    /// Where the store cannot read, or a row is none that a release wrote.
    pub fn find(&mut self, number: i64) -> Result<Option<S>, Error> {
        while self.page.front().is_some_and(|(at, _)| *at < number) {
            self.page.pop_front();
        }
        if self.page.is_empty() && !self.is_last {
            self.read(number)?;
        }
        if self.page.front().is_none_or(|(at, _)| *at != number) {
            return Ok(None);
        }
        self.used += 1;
        Ok(self.page.pop_front().map(|(_, row)| row))
    }

    fn read(&mut self, from: i64) -> Result<(), Error> {
        let most = (2 * self.used).clamp(PAGE.0, PAGE.1);
        let rows = self.rows.clone().from(&from).limit(most);
        let page = &mut self.page;
        let last = self.columns.len() - 1;
        self.c.each_row(&rows, &self.columns, |row| {
            page.push_back((row.get(last)?, S::read(row)?));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        self.used = 0;
        self.is_last = self.page.len() < most;
        Ok(())
    }
}
