//! What is read before it is asked for, all at once: rows by their keys, and the rows of scans, where these are few.

use rustc_hash::{FxHashMap, FxHashSet};

use super::columns::{kinds_of, order_of};
use super::known::{Columns, Key, Known, number_of};
use super::link::Answer;
use super::rows::{PAGE, columns_of, next_number};
use super::statement::{self, Statement, newest};
use crate::store::{Error, Scan, Table, Value};

/// Rows of one table that one statement reads by their keys at most: those that came are taken in while the server reads the next ones.
pub(super) const BY_KEYS: usize = 256;

/// Scans that one statement reads at most.
const TOGETHER: usize = 1_000;

/// Rows of a table that are read by their keys.
struct ByKeys {
    table: &'static Table,
    keys: Vec<Vec<Value<'static>>>,
}

/// Scans that differ in nothing but the number that the first column of their order is.
#[derive(Default)]
struct Alike<'s> {
    scans: Vec<&'s Scan<'s>>,
    numbers: Vec<Vec<Value<'static>>>,
    known: FxHashSet<i64>,
}

impl Alike<'_> {
    /// Returns the place of the column that has those numbers.
    fn column(&self) -> Option<usize> {
        let like = self.scans.first()?;
        let first = order_of(like.table, like.index).first().copied()?;
        Some(usize::from(first.at))
    }
}

/// What is read.
#[derive(Default)]
pub(super) struct Ahead<'s> {
    by_keys: Vec<ByKeys>,
    alike: Vec<Alike<'s>>,
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
        let mut keys: Vec<(&'static Table, FxHashSet<Key>)> = Vec::new();
        for scan in wanted {
            let Some(key) = Key::of_scan(scan) else {
                scans.push(scan);
                continue;
            };
            match keys.iter_mut().find(|(of, _)| of.name == scan.table.name) {
                Some((_, keys)) => drop(keys.insert(key)),
                None => keys.push((scan.table, FxHashSet::from_iter([key]))),
            }
        }
        let mut by_keys = Vec::new();
        for (table, keys) in keys {
            let keys: Vec<_> = keys.iter().map(Key::values).collect();
            by_keys.extend(keys.chunks(BY_KEYS).map(|keys| ByKeys {
                table,
                keys: keys.to_vec(),
            }));
        }
        let (alike, scans) = alike(scans);
        Self {
            by_keys,
            alike,
            scans,
            numbered: Vec::new(),
        }
    }

    /// Returns the tables that are read along an order: what waits to be written to them comes first.
    pub(super) fn tables(&self) -> impl Iterator<Item = &'static Table> {
        let alike = self.alike.iter().filter_map(|alike| alike.scans.first());
        alike.chain(&self.scans).map(|scan| scan.table)
    }

    /// Returns the statements that read it.
    pub(super) fn statements(&self) -> Result<Vec<Statement<'_>>, Error> {
        let by_keys = self.by_keys.iter();
        let by_keys = by_keys.map(|of| statement::by_keys(of.table, &of.keys));
        let alike = self.alike.iter().map(|alike| {
            let like = alike.scans.first().copied();
            let like = like.ok_or_else(|| Error::corrupt("no scan to read"))?;
            statement::first_pages(like, &alike.numbers, PAGE.0)
        });
        let scans = self.scans.iter().map(|scan| {
            let rows = scan.limit.unwrap_or(PAGE.0).min(PAGE.0);
            statement::page(scan, &scan.table.every_column(), None, rows)
        });
        let numbered = self.numbered.iter().map(|table| Ok(newest(table)));
        by_keys.chain(alike).chain(scans).chain(numbered).collect()
    }

    /// Notes the answer to one of these statements. Scans that have many rows are read when they are asked for.
    pub(super) fn note(&self, at: usize, answer: Answer, known: &mut Known) -> Result<(), Error> {
        let rows = answer.rows();
        if let Some(of) = self.by_keys.get(at) {
            return note_by_keys(of, &rows, known);
        }
        let at = at - self.by_keys.len();
        if let Some(alike) = self.alike.get(at) {
            return note_alike(alike, &rows, known);
        }
        let at = at - self.alike.len();
        if let Some(scan) = self.scans.get(at) {
            return note_scan(scan, &rows, known);
        }
        if let Some(table) = self.numbered.get(at - self.scans.len()) {
            known.set_next(table, next_number(&rows)?);
        }
        Ok(())
    }
}

fn note_by_keys(
    ByKeys { table, keys }: &ByKeys,
    rows: &[tokio_postgres::Row],
    known: &mut Known,
) -> Result<(), Error> {
    let kinds = kinds_of(table, &table.every_column())?;
    for row in rows {
        let row = columns_of(row, &kinds)?;
        let key = Key::of(row.iter().take(table.key));
        known.put(table, key, Some(row));
    }
    if rows.len() < keys.len() {
        for key in keys {
            let key = Key::of(key.iter());
            if known.get(table, &key).is_none() {
                known.put(table, key, None);
            }
        }
    }
    Ok(())
}

fn note_scan(
    scan: &Scan<'_>,
    rows: &[tokio_postgres::Row],
    known: &mut Known,
) -> Result<(), Error> {
    if rows.len() >= PAGE.0 && scan.limit.is_none_or(|limit| limit > rows.len()) {
        return Ok(());
    }
    let kinds = kinds_of(scan.table, &scan.table.every_column())?;
    let rows = rows.iter().map(|row| columns_of(row, &kinds));
    known.put_answer(scan, rows.collect::<Result<_, _>>()?);
    Ok(())
}

/// Puts scans together that one statement can read; returns the others as they are.
fn alike<'s>(scans: Vec<&'s Scan<'s>>) -> (Vec<Alike<'s>>, Vec<&'s Scan<'s>>) {
    let (mut all, mut alone): (Vec<Alike<'s>>, Vec<_>) = Default::default();
    for scan in scans {
        let number = match number_of(scan) {
            Some((_, number)) if scan.at.len() == 1 && scan.has_no_ends() => number,
            _ => {
                alone.push(scan);
                continue;
            }
        };
        let is_of = |alike: &Alike<'_>| {
            let like = alike.scans.first();
            alike.numbers.len() < TOGETHER && like.is_some_and(|like| like.is_like(scan))
        };
        let at = all.iter().position(is_of).unwrap_or(all.len());
        if at == all.len() {
            all.push(Alike::default());
        }
        let alike = &mut all[at];
        // The same one twice is read once.
        if alike.known.insert(number) {
            alike.scans.push(scan);
            alike.numbers.push(vec![Value::Integer(number)]);
        }
    }
    // One of its kind has a statement that others have, too.
    let lonely = all.extract_if(.., |alike| alike.scans.len() == 1);
    alone.extend(lonely.flat_map(|alike| alike.scans));
    (all, alone)
}

/// Notes the rows of scans that one statement has read. One that has as many as are read of each is read when it is asked for.
fn note_alike(
    alike: &Alike<'_>,
    rows: &[tokio_postgres::Row],
    known: &mut Known,
) -> Result<(), Error> {
    let (Some(like), Some(column)) = (alike.scans.first(), alike.column()) else {
        return Ok(());
    };
    let kinds = kinds_of(like.table, &like.table.every_column())?;
    let mut of: FxHashMap<Value<'static>, Vec<Columns>> = FxHashMap::default();
    for row in rows {
        let row = columns_of(row, &kinds)?;
        let number = row.get(column).cloned();
        let number = number.ok_or_else(|| Error::corrupt("a row without its first column"))?;
        of.entry(number).or_default().push(row);
    }
    for scan in &alike.scans {
        let number = number_of(scan).map(|(_, number)| Value::Integer(number));
        let rows = number.and_then(|number| of.remove(&number));
        let rows = rows.unwrap_or_default();
        if rows.len() < PAGE.0 {
            known.put_answer(scan, rows);
        }
    }
    Ok(())
}
