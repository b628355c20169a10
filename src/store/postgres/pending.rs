//! Writes that wait, so that they go together: before the next read that could see them, or with the commit.
//!
//! Those of one table keep their order as far as it can be seen; those of different tables do not, as no rule of one table looks at
//! another but where the guards do, and what these guard waits for nobody.

use rustc_hash::FxHashMap;

use super::columns::key_of;
use super::known::{Key, weight};
use super::statement::{self, Statement};
use crate::store::{Clash, Column, Error, Table, Value};

/// Rows of one statement at most.
const TOGETHER: usize = 1_000;

/// So many rows of a table are sent, while this thread goes on.
const SENT_FROM: usize = 256;

/// Rows that wait at most, and their bytes.
const ROWS_MAX: usize = 4_000;
const BYTES_MAX: usize = 4 << 20;

/// What is done to rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Insert(Clash),
    Change,
    Remove,
}

/// Rows of a table to which the same is done.
#[derive(Debug)]
struct Batch {
    kind: Kind,
    /// Those that are written; of a change and a removal, behind those of the key.
    columns: Vec<Column>,
    rows: Vec<Vec<Value<'static>>>,
}

/// What waits to be done to one table.
#[derive(Debug)]
struct Waiting {
    table: &'static Table,
    batches: Vec<Batch>,
    /// What was written, row by row.
    rows: usize,
    /// The last batch that has a key, and the place of its row there.
    last: FxHashMap<Key, (usize, usize)>,
}

/// Writes that wait.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// In the order in which the tables were written first.
    tables: Vec<Waiting>,
    rows: usize,
    /// Of what was added since everything was taken out.
    bytes: usize,
}

/// Writes that are on their way.
pub(super) struct Leaving {
    tables: Vec<Waiting>,
}

impl Waiting {
    /// Returns whether the order of writes to different rows cannot be seen.
    fn may_swap(&self) -> bool {
        !self.table.indexes.iter().any(|index| index.is_unique)
    }

    /// Adds a row. It takes the place of what was to be written into the same columns of it last.
    fn add(&mut self, key: Key, kind: Kind, columns: Vec<Column>, row: Vec<Value<'static>>) {
        let last = self.last.get(&key).copied();
        if let (true, Some((batch, place))) = (self.may_swap(), last)
            && matches!(kind, Kind::Insert(Clash::Replace) | Kind::Change)
            && let Some(batch) = self.batches.get_mut(batch)
            && batch.kind == kind
            && batch.columns == columns
            && let Some(there) = batch.rows.get_mut(place)
        {
            *there = row;
            return;
        }
        let behind = last.map_or(0, |(batch, _)| batch + 1);
        let earliest = match self.may_swap() {
            true => behind,
            // What comes last may be joined, unless it has this row already.
            false => behind.max(self.batches.len().saturating_sub(1)),
        };
        let alike = |batch: &Batch| {
            batch.kind == kind && batch.columns == columns && batch.rows.len() < TOGETHER
        };
        let mut later = self.batches.iter_mut().enumerate().skip(earliest);
        let at = match later.find(|(_, batch)| alike(batch)) {
            Some((at, batch)) => {
                batch.rows.push(row);
                (at, batch.rows.len() - 1)
            }
            None => {
                let rows = vec![row];
                self.batches.push(Batch {
                    kind,
                    columns,
                    rows,
                });
                (self.batches.len() - 1, 0)
            }
        };
        self.last.insert(key, at);
    }
}

impl Pending {
    fn of(&mut self, table: &'static Table) -> &mut Waiting {
        self.rows += 1;
        let known = self
            .tables
            .iter()
            .position(|waiting| waiting.table.name == table.name);
        let at = known.unwrap_or(self.tables.len());
        if known.is_none() {
            self.tables.push(Waiting {
                table,
                batches: Vec::new(),
                rows: 0,
                last: FxHashMap::default(),
            });
        }
        self.tables[at].rows += 1;
        &mut self.tables[at]
    }

    pub(super) fn insert(
        &mut self,
        table: &'static Table,
        key: Key,
        (columns, values): (&[Column], &[Value<'_>]),
        clash: Clash,
    ) {
        self.bytes += weight(values);
        let row = values.iter().map(|value| value.clone().into_owned());
        self.of(table)
            .add(key, Kind::Insert(clash), columns.to_vec(), row.collect());
    }

    pub(super) fn change(
        &mut self,
        table: &'static Table,
        key: Key,
        columns: &[Column],
        values: &[Value<'_>],
    ) {
        self.bytes += weight(values);
        let values = values.iter().map(|value| value.clone().into_owned());
        let row = key.values().into_iter().chain(values).collect();
        let columns = key_of(table).chain(columns.iter().copied()).collect();
        self.of(table).add(key, Kind::Change, columns, row);
    }

    pub(super) fn remove(&mut self, table: &'static Table, key: Key) {
        let (columns, row) = (key_of(table).collect(), key.values());
        self.of(table).add(key, Kind::Remove, columns, row);
    }

    /// Returns whether something waits to be done to a row.
    pub(super) fn touches(&self, table: &Table, key: &Key) -> bool {
        let of_table = |waiting: &&Waiting| waiting.table.name == table.name;
        let waiting = self.tables.iter().find(of_table);
        waiting.is_some_and(|waiting| waiting.last.contains_key(key))
    }

    /// Returns whether so much waits that it should go.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Takes out what waits to be done to one table.
    pub(super) fn take_table(&mut self, table: &Table) -> Leaving {
        let of_table = |waiting: &Waiting| waiting.table.name == table.name;
        let tables: Vec<_> = match self.tables.iter().position(of_table) {
            Some(at) => vec![self.tables.remove(at)],
            None => Vec::new(),
        };
        self.rows -= tables.iter().map(|waiting| waiting.rows).sum::<usize>();
        Leaving { tables }
    }

    /// Takes out what waits to be done to a table, where it is so much that it should go.
    pub(super) fn take_ripe(&mut self, table: &Table) -> Option<Leaving> {
        let mut tables = self.tables.iter();
        let waiting = tables.find(|waiting| waiting.table.name == table.name)?;
        (waiting.rows >= SENT_FROM).then(|| self.take_table(table))
    }

    /// Takes out everything.
    pub(super) fn take(&mut self) -> Leaving {
        (self.rows, self.bytes) = (0, 0);
        Leaving {
            tables: std::mem::take(&mut self.tables),
        }
    }
}

impl Leaving {
    /// Nothing.
    pub(super) fn nothing() -> Self {
        Self { tables: Vec::new() }
    }

    /// Returns statements that do it.
    pub(super) fn statements(&self) -> Result<Vec<Statement<'_>>, Error> {
        let batches = self.tables.iter().flat_map(|waiting| {
            let batches = waiting.batches.iter();
            batches.map(|batch| (waiting.table, batch))
        });
        let statements = batches.map(|(table, batch)| {
            let Batch { columns, rows, .. } = batch;
            match batch.kind {
                Kind::Insert(clash) => statement::insert(table, columns, rows, clash),
                Kind::Change => statement::change_by_key(table, columns, rows),
                Kind::Remove => statement::remove_by_key(table, columns, rows),
            }
        });
        statements.collect()
    }
}
