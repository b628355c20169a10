//! Writing: rows of a transaction.

use std::collections::HashSet;

use super::append::Appender;
use super::columns::key_of;
use super::statement;
use super::store::{Phase, Postgres};
use crate::store::{Append, Clash, Column, Error, Scan, Table, Value, Write};

/// Rows that one statement inserts at most.
const TOGETHER: usize = 1_000;

/// Returns how many of the first rows have keys that differ.
fn with_other_keys(table: &Table, columns: &[Column], rows: &[Vec<Value<'_>>]) -> usize {
    let key: Vec<usize> = key_of(table)
        .filter_map(|key| columns.iter().position(|column| *column == key))
        .collect();
    let mut seen = HashSet::new();
    let differ = rows
        .iter()
        .take_while(|row| seen.insert(key.iter().map(|at| row.get(*at)).collect::<Vec<_>>()));
    differ.count().max(1)
}

impl Postgres {
    /// Returns whether a transaction that writes is under way.
    pub(super) fn expect_writing(&self) -> Result<(), Error> {
        match self.phase.get() {
            Phase::Writing(_) => Ok(()),
            _ => Err(Error::Fault {
                what: "nothing is written outside of a transaction that writes".into(),
            }),
        }
    }
}

impl Write for Postgres {
    fn insert_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
        clash: Clash,
    ) -> Result<u64, Error> {
        self.expect_writing()?;
        let mut inserted = 0;
        let mut rest = rows;
        while !rest.is_empty() {
            let mut together = rest.len().min(TOGETHER);
            if clash == Clash::Replace {
                // A row is not replaced twice by one statement.
                together = with_other_keys(table, columns, &rest[..together]);
            }
            let (now, later) = rest.split_at(together);
            inserted += self.execute(&statement::insert(table, columns, now, clash)?)?;
            rest = later;
        }
        Ok(inserted)
    }

    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, Error> {
        self.expect_writing()?;
        Ok(Box::new(Appender::new(self, table, columns)?))
    }

    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        self.expect_writing()?;
        self.execute(&statement::change(scan, columns, values)?)
    }

    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        self.expect_writing()?;
        self.execute(&statement::remove(scan)?)
    }

    fn allocate(&self, table: &'static Table, _count: u64) -> Result<i64, Error> {
        let rows = self.query(&statement::newest(table))?;
        let newest = rows.first().and_then(|row| row.try_get(0).ok());
        let newest: i64 = newest.ok_or_else(|| Error::corrupt("no greatest number"))?;
        newest
            .max(0)
            .checked_add(1)
            .ok_or_else(|| Error::corrupt("the greatest number of all"))
    }
}
