//! The store that is memory: ordered maps, and what it takes to undo a transaction.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound as End, ControlFlow};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::scan::Bound;
use super::{
    Append, Clash, Column, Condition, Error, Index, Read, Row, Scan, Table, Transact, Value, Write,
};
use crate::domain::Timestamp;

pub(crate) mod shared;

/// Rows that are looked at before they are shown, as whoever is shown one may read and write others: few at first, as most want one
/// alone.
const SLICE: (usize, usize) = (2, 128);

/// What rows are ordered by: values one after the other, so that bytes compare as the values do.
type Key = Vec<u8>;

/// Behind every key that begins as it does.
const END: u8 = 0xff;

/// Adds a value to a key.
fn push(key: &mut Key, value: &Value<'_>) {
    match value {
        Value::Null => key.push(0),
        Value::Integer(number) => {
            key.push(1);
            // The sign turned over: negative numbers come first.
            key.extend_from_slice(&(number ^ i64::MIN).to_be_bytes());
        }
        Value::Text(text) => push_bytes(key, 2, text.as_bytes()),
        Value::Bytes(bytes) => push_bytes(key, 3, bytes),
    }
}

/// Adds bytes that end at 0 and 0; one of 0 within them is followed by 1.
fn push_bytes(key: &mut Key, tag: u8, bytes: &[u8]) {
    key.push(tag);
    for byte in bytes {
        key.push(*byte);
        if *byte == 0 {
            key.push(1);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

type Columns = Arc<[Value<'static>]>;

/// All rows of one table, and where each stands in each of its indexes.
#[derive(Clone, Debug, Default)]
struct Rows {
    rows: BTreeMap<Key, Columns>,
    /// The keys of rows by their places in each index.
    indexes: BTreeMap<&'static str, BTreeMap<Key, Key>>,
}

/// What stood under a key before a transaction changed it.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    table: &'static Table,
    key: Key,
    was: Option<Columns>,
}

/// A journal's rows in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    tables: Mutex<BTreeMap<&'static str, Rows>>,
    /// What the transaction under way has changed; `None` between two.
    undo: Mutex<Option<Vec<Undo>>>,
    /// Where several runs use it at once.
    clock: Option<Clock>,
}

/// What tells a store the time.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Ends the transaction under way; returns what undoes it.
    pub(super) fn end(&self) -> Result<Vec<Undo>, Error> {
        locked(&self.undo).take().ok_or_else(|| Error::Fault {
            what: "there is no transaction to end".into(),
        })
    }

    /// Undoes what a transaction has changed, which is the last one that is left.
    pub(super) fn undo(&self, changes: Vec<Undo>) {
        let mut tables = locked(&self.tables);
        for Undo { table, key, was } in changes.into_iter().rev() {
            tables.entry(table.name).or_default().put(table, &key, was);
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        Self {
            tables: Mutex::new(locked(&self.tables).clone()),
            undo: Mutex::default(),
            clock: self.clock.clone(),
        }
    }
}

fn of_row<'r>(row: &'r [Value<'static>], column: Column) -> &'r Value<'static> {
    match (&row[usize::from(column.at)], column.or) {
        (Value::Null, Some(or)) => &row[usize::from(or)],
        (value, _) => value,
    }
}

/// Returns a row of which nothing was said.
fn blank(table: &Table) -> Vec<Value<'static>> {
    let mut row = vec![Value::Null; table.columns.len()];
    for (column, number) in table.defaults {
        row[usize::from(column.at)] = Value::Integer(*number);
    }
    row
}

fn key_of(table: &Table, row: &[Value<'static>]) -> Key {
    let mut key = Key::new();
    row[..table.key]
        .iter()
        .for_each(|value| push(&mut key, value));
    key
}

/// Returns what an index orders a row by, before its key.
fn by(index: &Index, row: &[Value<'static>]) -> Key {
    let mut place = Key::new();
    let columns = index.columns.iter();
    columns.for_each(|column| push(&mut place, of_row(row, *column)));
    place
}

fn place_of(index: &Index, key: &[u8], row: &[Value<'static>]) -> Option<Key> {
    let holds = index.of.iter().all(|condition| match *condition {
        Condition::Is(column, number) => *of_row(row, column) == Value::Integer(number),
        Condition::AtLeast(column, number) => {
            matches!(of_row(row, column), Value::Integer(found) if *found >= number)
        }
        Condition::AtMost(column, number) => {
            matches!(of_row(row, column), Value::Integer(found) if *found <= number)
        }
        Condition::Absent(column) => *of_row(row, column) == Value::Null,
        Condition::Present(column) => *of_row(row, column) != Value::Null,
    });
    holds.then(|| {
        let mut place = by(index, row);
        place.extend_from_slice(key);
        place
    })
}

impl Rows {
    fn put(&mut self, table: &'static Table, key: &Key, row: Option<Columns>) -> Option<Columns> {
        let was = self.rows.get(key).cloned();
        for index in table.indexes {
            let places = self.indexes.entry(index.name).or_default();
            if let Some(place) = was.as_deref().and_then(|was| place_of(index, key, was)) {
                places.remove(&place);
            }
            if let Some(place) = row.as_deref().and_then(|row| place_of(index, key, row)) {
                places.insert(place, key.clone());
            }
        }
        match row {
            Some(row) => self.rows.insert(key.clone(), row),
            None => self.rows.remove(key),
        };
        was
    }

    /// Returns the index in which another row is like this one, where no two may be.
    fn like(&self, table: &Table, key: &Key, row: &[Value<'static>]) -> Option<&'static str> {
        let unique = table.indexes.iter().filter(|index| index.is_unique);
        for index in unique {
            if place_of(index, key, row).is_none() {
                continue;
            }
            let from = by(index, row);
            let mut to = from.clone();
            to.push(END);
            let Some(places) = self.indexes.get(index.name) else {
                continue;
            };
            let mut alike = places.range(from..to);
            if alike.any(|(_, other)| other != key) {
                return Some(index.name);
            }
        }
        None
    }

    /// Returns up to a slice of the rows of a scan behind this place, with their places.
    fn slice(&self, scan: &Scan<'_>, behind: Option<&Key>, rows: usize) -> Vec<(Key, Columns)> {
        let (from, to) = span_of(scan, behind);
        // Nothing lies between ends that are the wrong way round; a map would not have them.
        if from > to {
            return Vec::new();
        }
        let span = (End::Included(from), End::Excluded(to));
        let passes = |row: &Columns| {
            scan.only
                .iter()
                .all(|(column, test)| test.passes(of_row(row, *column)))
        };
        let found: Box<dyn Iterator<Item = (&Key, &Columns)>> = match scan.index {
            None if scan.is_descending => Box::new(self.rows.range(span).rev()),
            None => Box::new(self.rows.range(span)),
            Some(index) => {
                let Some(places) = self.indexes.get(index.name) else {
                    return Vec::new();
                };
                let of_place = |(place, key)| Some((place, self.rows.get(key)?));
                let range = places.range(span);
                match scan.is_descending {
                    true => Box::new(range.rev().filter_map(of_place)),
                    false => Box::new(range.filter_map(of_place)),
                }
            }
        };
        let shown = found.filter(|(_, row)| passes(row)).take(rows);
        shown
            .map(|(place, row)| (place.clone(), Arc::clone(row)))
            .collect()
    }
}

/// Returns between which places the rows of a scan stand, of which those up to one were shown before.
fn span_of(scan: &Scan<'_>, shown: Option<&Key>) -> (Key, Key) {
    let mut prefix = Key::new();
    scan.at.iter().for_each(|value| push(&mut prefix, value));
    let with = |bound: &Bound<'_>, is_behind: bool| {
        let mut key: Key = prefix.clone();
        bound.values.iter().for_each(|value| push(&mut key, value));
        if is_behind {
            key.push(END);
        }
        key
    };
    let mut from = match &scan.from {
        Some(bound) => with(bound, !bound.is_included),
        None => prefix.clone(),
    };
    let mut to = match &scan.to {
        Some(bound) => with(bound, bound.is_included),
        None => {
            let mut key = prefix.clone();
            key.push(END);
            key
        }
    };
    match shown {
        Some(shown) if scan.is_descending => to.clone_from(shown),
        Some(shown) => {
            from.clone_from(shown);
            from.push(END);
        }
        None => {}
    }
    (from, to)
}

/// The columns of a row that were asked for.
struct Shown<'a> {
    row: &'a [Value<'static>],
    columns: &'a [Column],
}

impl Row for Shown<'_> {
    fn width(&self) -> usize {
        self.columns.len()
    }

    fn value(&self, at: usize) -> Result<Value<'_>, Error> {
        Ok(of_row(self.row, self.columns[at]).as_ref())
    }
}

impl Memory {
    /// A store that several runs use at once, with the time of its own clock.
    pub(crate) fn shared(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            clock: Some(Clock(Arc::new(now))),
            ..Self::default()
        }
    }

    fn each(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(&Columns) -> ControlFlow<()>) {
        let (mut shown, mut left) = (None, scan.limit.unwrap_or(usize::MAX));
        let mut wanted = SLICE.0;
        while left > 0 {
            let rows = wanted.min(left);
            let slice = match locked(&self.tables).get(scan.table.name) {
                Some(known) => known.slice(scan, shown.as_ref(), rows),
                None => return,
            };
            let is_last = slice.len() < rows;
            wanted = (wanted * 4).min(SLICE.1);
            for (_, row) in &slice {
                if visit(row).is_break() {
                    return;
                }
            }
            left = left.saturating_sub(slice.len());
            match slice.into_iter().next_back() {
                Some((place, _)) if !is_last => shown = Some(place),
                _ => return,
            }
        }
    }

    fn put(&self, table: &'static Table, key: Key, row: Option<Columns>) {
        let mut tables = locked(&self.tables);
        let was = tables.entry(table.name).or_default().put(table, &key, row);
        if let Some(undo) = locked(&self.undo).as_mut() {
            undo.push(Undo { table, key, was });
        }
    }

    /// Returns the rows of a scan with their keys, before any of them is written.
    fn meant(&self, scan: &Scan<'_>) -> Vec<(Key, Columns)> {
        let mut meant = Vec::new();
        self.each(scan, &mut |row| {
            meant.push((key_of(scan.table, row), Arc::clone(row)));
            ControlFlow::Continue(())
        });
        meant
    }

    fn assert_alone(
        &self,
        table: &'static Table,
        key: &Key,
        row: &[Value<'static>],
    ) -> Result<(), Error> {
        let tables = locked(&self.tables);
        let like = tables
            .get(table.name)
            .and_then(|rows| rows.like(table, key, row));
        match like {
            Some(index) => Err(refused(table, index)),
            None => Ok(()),
        }
    }
}

fn refused(table: &Table, what: &str) -> Error {
    Error::Refused {
        what: format!("UNIQUE constraint failed: {}.{what}", table.name).into(),
    }
}

impl Read for Memory {
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.each(scan, &mut |row| visit(&Shown { row, columns }));
        Ok(())
    }

    // It has what it was given, and no file.
    fn misfits(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn damage(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        let mut count = 0;
        self.each(scan, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        Ok(count)
    }
}

impl Write for Memory {
    fn insert_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
        clash: Clash,
    ) -> Result<u64, Error> {
        let mut inserted = 0;
        for values in rows {
            let mut row: Vec<Value<'static>> = blank(table);
            for (column, value) in columns.iter().zip(values) {
                row[usize::from(column.at)] = value.clone().into_owned();
            }
            let key = key_of(table, &row);
            let there = match locked(&self.tables).get(table.name) {
                Some(known) => known.rows.get(&key).cloned(),
                None => None,
            };
            let row = match (there, clash) {
                (Some(_), Clash::Keep) => continue,
                (Some(_), Clash::Refuse) => return Err(refused(table, table.columns[0])),
                (Some(there), Clash::Replace) => {
                    let mut row = there.to_vec();
                    for (column, value) in columns.iter().zip(values) {
                        row[usize::from(column.at)] = value.clone().into_owned();
                    }
                    row
                }
                (None, _) => row,
            };
            match self.assert_alone(table, &key, &row) {
                Err(_) if clash == Clash::Keep => continue,
                outcome => outcome?,
            }
            self.put(table, key, Some(row.into()));
            inserted += 1;
        }
        Ok(inserted)
    }

    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, Error> {
        Ok(Box::new(Appender {
            memory: self,
            table,
            columns: columns.to_vec(),
            row: Vec::new(),
        }))
    }

    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        let meant = self.meant(scan);
        for (key, row) in &meant {
            let mut changed = row.to_vec();
            for (column, value) in columns.iter().zip(values) {
                changed[usize::from(column.at)] = value.clone().into_owned();
            }
            let new = key_of(scan.table, &changed);
            self.assert_alone(scan.table, key, &changed)?;
            if new != *key {
                self.put(scan.table, key.clone(), None);
            }
            self.put(scan.table, new, Some(changed.into()));
        }
        Ok(meant.len() as u64)
    }

    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        let meant = self.meant(scan);
        let removed = meant.len() as u64;
        for (key, _) in meant {
            self.put(scan.table, key, None);
        }
        Ok(removed)
    }

    fn allocate(&self, table: &'static Table, _count: u64) -> Result<i64, Error> {
        let tables = locked(&self.tables);
        let newest = tables
            .get(table.name)
            .and_then(|rows| rows.rows.last_key_value());
        match newest.map(|(_, row)| &row[0]) {
            None => Ok(1),
            Some(Value::Integer(newest)) if *newest < i64::MAX => Ok((*newest).max(0) + 1),
            Some(_) => Err(Error::corrupt("a table whose numbers are used up")),
        }
    }
}

/// Appends each row as it ends.
struct Appender<'m> {
    memory: &'m Memory,
    table: &'static Table,
    columns: Vec<Column>,
    row: Vec<Value<'static>>,
}

impl Append for Appender<'_> {
    fn value(&mut self, value: Value<'_>) -> Result<(), Error> {
        self.row.push(value.into_owned());
        if self.row.len() < self.columns.len() {
            return Ok(());
        }
        let (mut columns, mut row) = (self.columns.clone(), std::mem::take(&mut self.row));
        let key = Column::new(0);
        if self.table.numbered && !columns.contains(&key) {
            columns.push(key);
            row.push(Value::Integer(self.memory.allocate(self.table, 1)?));
        }
        self.memory
            .insert_rows(self.table, &columns, &[row], Clash::Refuse)?;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl Transact for Memory {
    fn is_shared(&self) -> bool {
        self.clock.is_some()
    }

    // Nobody writes while it is read.
    fn begin_reading(&self) -> Result<(), Error> {
        self.begin()
    }

    // Simulated time is told from outside.
    fn now(&self) -> Result<Timestamp, Error> {
        match &self.clock {
            Some(Clock(now)) => Ok(now()),
            None => Err(Error::Fault {
                what: "memory has no clock".into(),
            }),
        }
    }

    fn begin(&self) -> Result<(), Error> {
        match locked(&self.undo).replace(Vec::new()) {
            None => Ok(()),
            Some(_) => Err(Error::Fault {
                what: "a transaction within a transaction".into(),
            }),
        }
    }

    fn commit(&self) -> Result<(), Error> {
        self.end().map(|_| ())
    }

    fn is_open(&self) -> bool {
        locked(&self.undo).is_some()
    }

    // Nobody else has it.
    fn version(&self) -> Result<i64, Error> {
        Ok(0)
    }

    fn rollback(&self) -> Result<(), Error> {
        let changes = locked(&self.undo).take();
        self.undo(changes.unwrap_or_default());
        Ok(())
    }
}
