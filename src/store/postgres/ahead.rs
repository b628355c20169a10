//! What is read before it is asked for, all at once: rows by their keys, and the rows of scans, where these are few.

use std::collections::HashSet;

use super::columns::kinds_of;
use super::known::{Columns, Key, Known};
use super::link::Answer;
use super::rows::{PAGE, columns_of, next_number};
use super::statement::{self, Statement, newest};
use crate::store::{Error, Scan, Table, Value};

/// Rows of one table that one statement reads at most.
const TOGETHER: usize = 1_000;

/// Rows of a table that are read by their keys.
struct ByKeys {
    table: &'static Table,
    keys: Vec<Vec<Value<'static>>>,
}

/// What is read.
#[derive(Default)]
pub(super) struct Ahead<'s> {
    by_keys: Vec<ByKeys>,
    scans: Vec<&'s Scan<'s>>,
    numbered: Vec<&'static Table>,
}

impl<'s> Ahead<'s> {
    /// And the greatest numbers of these tables.
    pub(super) fn and_numbers(mut self, tables: &[&'static Table]) -> Self {
        self.numbered.extend(tables);
        self
    }

    /// The rows of these scans.
    pub(super) fn of(wanted: impl IntoIterator<Item = &'s Scan<'s>>) -> Self {
        let mut scans = Vec::new();
        let mut keys: Vec<(&'static Table, HashSet<Key>)> = Vec::new();
        for scan in wanted {
            let Some(key) = Key::of_scan(scan) else {
                scans.push(scan);
                continue;
            };
            match keys.iter_mut().find(|(of, _)| of.name == scan.table.name) {
                Some((_, keys)) => drop(keys.insert(key)),
                None => keys.push((scan.table, HashSet::from([key]))),
            }
        }
        let mut by_keys = Vec::new();
        for (table, keys) in keys {
            let keys: Vec<_> = keys.iter().map(Key::values).collect();
            by_keys.extend(keys.chunks(TOGETHER).map(|keys| ByKeys {
                table,
                keys: keys.to_vec(),
            }));
        }
        Self {
            by_keys,
            scans,
            numbered: Vec::new(),
        }
    }

    /// Returns the tables that are read along an order: what waits to be written to them comes first.
    pub(super) fn tables(&self) -> impl Iterator<Item = &'static Table> {
        self.scans.iter().map(|scan| scan.table)
    }

    /// Returns the statements that read it.
    pub(super) fn statements(&self) -> Result<Vec<Statement<'_>>, Error> {
        let by_keys = self.by_keys.iter();
        let by_keys = by_keys.map(|of| statement::by_keys(of.table, &of.keys));
        let scans = self.scans.iter().map(|scan| {
            let rows = scan.limit.unwrap_or(PAGE.0).min(PAGE.0);
            statement::page(scan, &scan.table.every_column(), None, rows)
        });
        let numbered = self.numbered.iter().map(|table| Ok(newest(table)));
        by_keys.chain(scans).chain(numbered).collect()
    }

    /// Notes the answers to these statements. Scans that have many rows are read when they are asked for.
    pub(super) fn note(&self, answers: Vec<Answer>, known: &mut Known) -> Result<(), Error> {
        let mut answers = answers.into_iter().map(Answer::rows);
        for (ByKeys { table, keys }, rows) in self.by_keys.iter().zip(&mut answers) {
            let kinds = kinds_of(table, &table.every_column())?;
            for key in keys {
                known.put(table, Key::of(key.iter()), None);
            }
            for row in rows {
                let row = columns_of(&row, &kinds)?;
                let key = Key::of(row.iter().take(table.key));
                known.put(table, key, Some(row));
            }
        }
        for (scan, rows) in self.scans.iter().zip(&mut answers) {
            if rows.len() >= PAGE.0 && scan.limit.is_none_or(|limit| limit > rows.len()) {
                continue;
            }
            let kinds = kinds_of(scan.table, &scan.table.every_column())?;
            let rows: Vec<Columns> = rows
                .iter()
                .map(|row| columns_of(row, &kinds))
                .collect::<Result<_, _>>()?;
            known.put_answer(scan, rows);
        }
        for (table, rows) in self.numbered.iter().zip(answers) {
            known.set_next(table, next_number(&rows)?);
        }
        Ok(())
    }
}
