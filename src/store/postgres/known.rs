//! Rows that are known by their keys, as the transaction has them: what is asked for row by row costs no round trip for each.
//!
//! They hold for as long as nobody else has written. Of keys that were looked for in vain it is known that there is no row.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::columns::{key_of, order_of};
use crate::store::{Column, Error, Row, Scan, Table, Value};

/// Rows that are known at most, of all tables together: twice as many until the older half is forgotten.
const ROWS_MAX: usize = 10_000;

/// Scans that are known at most, of one table.
const ANSWERS_MAX: usize = 2_048;

/// A row of more bytes is not kept.
const BYTES_MAX: usize = 4_096;

/// The columns of a row, all of them.
pub(super) type Columns = Arc<[Value<'static>]>;

/// By what a row is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Number(i64),
    Values(Vec<Value<'static>>),
}

impl Key {
    pub(super) fn of<'v>(values: impl Iterator<Item = &'v Value<'v>>) -> Self {
        let values: Vec<_> = values.map(|value| value.clone().into_owned()).collect();
        match values[..] {
            [Value::Integer(number)] => Self::Number(number),
            _ => Self::Values(values),
        }
    }

    /// Returns the key that a scan names, where it is of one row alone.
    pub(super) fn of_scan(scan: &Scan<'_>) -> Option<Self> {
        let is_one = scan.index.is_none()
            && scan.at.len() == scan.table.key
            && scan.from.is_none()
            && scan.to.is_none();
        is_one.then(|| Self::of(scan.at.iter()))
    }

    /// Returns the key of a row that has these columns; `None` where one is missing.
    pub(super) fn of_values(
        table: &Table,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Option<Self> {
        let places = key_of(table).map(|key| columns.iter().position(|column| *column == key));
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        if places.iter().any(|at| *at >= values.len()) {
            return None;
        }
        Some(Self::of(places.iter().map(|at| &values[*at])))
    }

    /// Returns the values of the columns of the key.
    pub(super) fn values(&self) -> Vec<Value<'static>> {
        match self {
            Self::Number(number) => vec![Value::Integer(*number)],
            Self::Values(values) => values.clone(),
        }
    }
}

/// What is known of one table.
type Rows = FxHashMap<Key, Option<Columns>>;

/// Scans whose rows are known, of one table, by their names.
#[derive(Debug, Default)]
struct Answers {
    /// Those of rows with one number in the first column of their order, by both: a row that has another number there is none of theirs.
    of_number: FxHashMap<(u8, i64), FxHashMap<String, Vec<Columns>>>,
    others: FxHashMap<String, Vec<Columns>>,
    /// The columns that numbers are given of.
    firsts: Vec<u8>,
    count: usize,
}

impl Answers {
    fn get(&self, scan: &Scan<'_>) -> Option<&Vec<Columns>> {
        let answers = match number_of(scan) {
            Some(number) => self.of_number.get(&number)?,
            None => &self.others,
        };
        answers.get(&scan.name())
    }

    fn put(&mut self, scan: &Scan<'_>, rows: Vec<Columns>) {
        if self.count >= ANSWERS_MAX {
            *self = Self::default();
        }
        let answers = match number_of(scan) {
            Some(number) => {
                if !self.firsts.contains(&number.0) {
                    self.firsts.push(number.0);
                }
                self.of_number.entry(number).or_default()
            }
            None => &mut self.others,
        };
        answers.insert(scan.name(), rows);
        self.count += 1;
    }

    /// Knows no scan any more that a row belongs to which is written, or was until it was written.
    fn written<'v>(&mut self, value_of: impl Fn(u8) -> Option<&'v Value<'v>>) {
        self.others.clear();
        for first in &self.firsts {
            match value_of(*first) {
                Some(Value::Integer(number)) => {
                    self.of_number.remove(&(*first, *number));
                }
                // It has none of the numbers that were asked for.
                Some(Value::Null) => {}
                _ => self.of_number.retain(|(at, _), _| at != first),
            }
        }
    }
}

/// Returns the first column of a scan's order and the number that it must have, where it is given.
pub(super) fn number_of(scan: &Scan<'_>) -> Option<(u8, i64)> {
    let first = order_of(scan.table, scan.index).first().copied()?;
    match scan.at.first() {
        Some(Value::Integer(number)) if first.or.is_none() => Some((first.at, *number)),
        _ => None,
    }
}

/// Rows that are known.
#[derive(Debug, Default)]
pub(super) struct Known {
    young: FxHashMap<&'static str, Rows>,
    old: FxHashMap<&'static str, Rows>,
    young_rows: usize,
    /// The rows of scans that were expected, by their tables.
    answers: FxHashMap<&'static str, Answers>,
    /// The numbers that rows get next, by their tables.
    next: FxHashMap<&'static str, i64>,
}

impl Known {
    /// Returns what is known of a key: its row, or that there is none.
    pub(super) fn get(&self, table: &Table, key: &Key) -> Option<Option<&Columns>> {
        let young = self.young.get(table.name).and_then(|rows| rows.get(key));
        let found = young.or_else(|| self.old.get(table.name)?.get(key))?;
        Some(found.as_ref())
    }

    /// Notes a row, or that there is none.
    pub(super) fn put(&mut self, table: &Table, key: Key, row: Option<Columns>) {
        if row.as_deref().is_some_and(|row| weight(row) > BYTES_MAX) {
            self.forget(table, &key);
            return;
        }
        if self.young_rows >= ROWS_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_rows = 0;
        }
        let rows = self.young.entry(table.name).or_default();
        if rows.insert(key, row).is_none() {
            self.young_rows += 1;
        }
    }

    /// Knows nothing of a row any more.
    pub(super) fn forget(&mut self, table: &Table, key: &Key) {
        let of = |rows: &mut FxHashMap<&'static str, Rows>| rows.get_mut(table.name)?.remove(key);
        of(&mut self.old);
        if of(&mut self.young).is_some() {
            self.young_rows -= 1;
        }
    }

    /// A row is not there any more.
    pub(super) fn removed(&mut self, table: &Table, key: &Key) {
        self.put(table, key.clone(), None);
        // Its number may have been the greatest.
        self.next.remove(table.name);
    }

    /// Knows nothing of a table any more.
    pub(super) fn forget_table(&mut self, table: &Table) {
        self.forget_answers(table);
        self.old.remove(table.name);
        self.next.remove(table.name);
        if let Some(rows) = self.young.remove(table.name) {
            self.young_rows -= rows.len();
        }
    }

    /// Returns the rows of a scan, where they are known.
    pub(super) fn answer(&self, scan: &Scan<'_>) -> Option<&[Columns]> {
        self.answers
            .get(scan.table.name)?
            .get(scan)
            .map(Vec::as_slice)
    }

    /// Notes the rows of a scan: for as long as nothing is written to its table.
    pub(super) fn put_answer(&mut self, scan: &Scan<'_>, rows: Vec<Columns>) {
        let answers = self.answers.entry(scan.table.name).or_default();
        answers.put(scan, rows);
    }

    /// Knows no scan of a table any more that a row belongs to which is inserted.
    pub(super) fn inserted(&mut self, table: &Table, columns: &[Column], values: &[Value<'_>]) {
        /// What is left out is empty, unless the schema says otherwise.
        const EMPTY: &Value<'_> = &Value::Null;
        if let Some(answers) = self.answers.get_mut(table.name) {
            answers.written(
                |at| match columns.iter().position(|column| column.at == at) {
                    Some(place) => values.get(place),
                    None => {
                        let mut defaults = table.defaults.iter();
                        let has_one = defaults.any(|(column, _)| column.at == at);
                        (!has_one).then_some(EMPTY)
                    }
                },
            );
        }
    }

    /// Knows no scan of a table any more that a row belongs to which is changed, or belonged to before.
    pub(super) fn changed(&mut self, table: &Table, before: &Columns, after: &Columns) {
        if let Some(answers) = self.answers.get_mut(table.name) {
            for row in [before, after] {
                answers.written(|at| row.get(usize::from(at)));
            }
        }
    }

    /// Knows no scan of a table any more: something is written to it.
    pub(super) fn forget_answers(&mut self, table: &Table) {
        self.answers.remove(table.name);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn next(&self, table: &Table) -> Option<i64> {
        self.next.get(table.name).copied()
    }

    pub(super) fn set_next(&mut self, table: &Table, next: i64) {
        self.next.insert(table.name, next);
    }

    /// A row with this number was inserted.
    pub(super) fn numbered(&mut self, table: &Table, key: &Key) {
        if let (Some(next), Key::Number(number)) = (self.next.get_mut(table.name), key) {
            *next = (*next).max(number.saturating_add(1));
        }
    }
}

/// Returns how many bytes values take.
pub(super) fn weight(values: &[Value<'_>]) -> usize {
    let bytes = values.iter().map(|value| match value {
        Value::Null | Value::Integer(_) => 0,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    });
    bytes.sum::<usize>() + size_of_val(values)
}

/// Returns a row of which nothing was said but these columns.
pub(super) fn image(table: &Table, columns: &[Column], values: &[Value<'_>]) -> Columns {
    let mut row = vec![Value::Null; table.columns.len()];
    for (column, number) in table.defaults {
        row[usize::from(column.at)] = Value::Integer(*number);
    }
    with(&row, columns, values)
}

/// Returns a row with other values in these columns.
pub(super) fn with(row: &[Value<'static>], columns: &[Column], values: &[Value<'_>]) -> Columns {
    let mut row = row.to_vec();
    for (column, value) in columns.iter().zip(values) {
        row[usize::from(column.at)] = value.clone().into_owned();
    }
    row.into()
}

fn of_row<'r>(row: &'r [Value<'static>], column: Column) -> &'r Value<'static> {
    match (&row[usize::from(column.at)], column.or) {
        (Value::Null, Some(or)) => &row[usize::from(or)],
        (value, _) => value,
    }
}

/// Returns whether a row has what a scan wants beside its key.
pub(super) fn passes(scan: &Scan<'_>, row: &[Value<'static>]) -> bool {
    let mut tests = scan.only.iter();
    tests.all(|(column, test)| test.passes(of_row(row, *column)))
}

/// The columns of a known row that were asked for.
pub(super) struct Shown<'a> {
    pub(super) row: &'a [Value<'static>],
    pub(super) columns: &'a [Column],
}

impl Row for Shown<'_> {
    fn width(&self) -> usize {
        self.columns.len()
    }

    fn value(&self, at: usize) -> Result<Value<'_>, Error> {
        Ok(of_row(self.row, self.columns[at]).as_ref())
    }
}
