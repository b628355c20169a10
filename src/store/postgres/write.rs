//! Writing: rows of a transaction. What need not be answered by the server waits, and goes with others.

use super::append::Appender;
use super::columns::{is_guarded, key_of};
use super::known::{self, Columns, Key, passes};
use super::pending::Leaving;
use super::rows::next_number;
use super::statement;
use super::store::{Phase, Postgres};
use crate::store::tables::evidence;
use crate::store::{Append, Clash, Column, Error, Scan, Table, Value, Write};

/// Rows that one statement inserts at most.
const TOGETHER: usize = 1_000;

/// Returns the key that a scan names, where its row may be written later with others: no guard looks at it, and its key stays.
fn later(scan: &Scan<'_>, columns: &[Column]) -> Option<Key> {
    let moves = key_of(scan.table).any(|key| columns.contains(&key));
    match moves || is_guarded(scan.table) {
        true => None,
        false => Key::of_scan(scan),
    }
}

impl Postgres {
    /// Returns whether something may be written.
    pub(super) fn expect_writing(&self) -> Result<(), Error> {
        if let Some(error) = &*self.broken.borrow() {
            return Err(error.clone());
        }
        match self.phase.get() {
            Phase::Writing(_) => Ok(()),
            _ => Err(Error::Fault {
                what: "nothing is written outside of a transaction that writes".into(),
            }),
        }
    }

    /// Takes out what must be written before rows of a table are written at once.
    fn before(&self, table: &Table) -> Leaving {
        match is_guarded(table) {
            // The guard may look at other tables.
            true => self.pending.borrow_mut().take(),
            false => self.waiting(table),
        }
    }

    /// Lets a row be inserted with others.
    fn insert_later(
        &self,
        table: &'static Table,
        (columns, values): (&[Column], &[Value<'_>]),
        clash: Clash,
    ) -> Result<(), Error> {
        let Some(key) = Key::of_values(table, columns, values) else {
            return Err(Error::Refused {
                what: format!("a row of {} without its key", table.name).into(),
            });
        };
        // It is most of what is written, and hardly ever read again by its number.
        let keeps = table.name != evidence::TABLE.name;
        let mut known = self.known.borrow_mut();
        let image = match (known.get(table, &key), clash) {
            (Some(Some(_)), Clash::Refuse) => {
                return Err(Error::Refused {
                    what: format!("a row of {} is there already", table.name).into(),
                });
            }
            (Some(Some(there)), _) => Some(known::with(there, columns, values)),
            (Some(None), _) | (None, Clash::Refuse) if keeps => {
                Some(known::image(table, columns, values))
            }
            (Some(None) | None, _) => None,
        };
        known.numbered(table, &key);
        self.own.borrow_mut().note(table, &key);
        match image {
            Some(image) => known.put(table, key.clone(), Some(image)),
            None => known.forget(table, &key),
        }
        let mut pending = self.pending.borrow_mut();
        pending.insert(table, key, (columns, values), clash);
        Ok(())
    }

    /// Inserts rows but for those whose key, or what else must be unique, is there.
    fn insert_new_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
    ) -> Result<u64, Error> {
        if let [row] = rows
            && let Some(key) = Key::of_values(table, columns, row)
            && let Some(Some(_)) = self.known.borrow().get(table, &key)
        {
            return Ok(0);
        }
        let statement = statement::insert(table, columns, rows, Clash::Keep)?;
        let inserted = self.execute(&self.waiting(table), &statement)?;
        let mut known = self.known.borrow_mut();
        for row in rows {
            let Some(key) = Key::of_values(table, columns, row) else {
                continue;
            };
            known.numbered(table, &key);
            // One row alone was inserted, and is what it was to be.
            match rows.len() == 1 && inserted == 1 {
                true => known.put(table, key, Some(known::image(table, columns, row))),
                false => known.forget(table, &key),
            }
        }
        Ok(inserted)
    }

    /// Sends what waits to be done to a table, where it is much.
    fn send_if_ripe(&self, table: &Table) -> Result<(), Error> {
        let ripe = self.pending.borrow_mut().take_ripe(table);
        if let Some(leaving) = ripe {
            self.send_ahead(&leaving)?;
        }
        let is_full = self.pending.borrow().is_full();
        if is_full { self.flush() } else { Ok(()) }
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
        let mut known = self.known.borrow_mut();
        match clash {
            Clash::Refuse | Clash::Keep => {
                rows.iter()
                    .for_each(|row| known.inserted(table, columns, row));
            }
            // A row that is there may come to stand elsewhere.
            Clash::Replace => known.forget_answers(table),
        }
        drop(known);
        if clash == Clash::Keep {
            let parts = rows.chunks(TOGETHER);
            return parts
                .map(|rows| self.insert_new_rows(table, columns, rows))
                .sum();
        }
        for row in rows {
            let inserted = self.insert_later(table, (columns, row), clash);
            inserted.inspect_err(|error| self.break_off(error))?;
            self.send_if_ripe(table)?;
        }
        Ok(rows.len() as u64)
    }

    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, Error> {
        self.expect_writing()?;
        self.known.borrow_mut().forget_answers(table);
        Ok(Box::new(Appender::new(self, table, columns)?))
    }

    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        self.expect_writing()?;
        let table = scan.table;
        self.foresight.borrow_mut().note(scan);
        if self.meets_nothing(scan) {
            return Ok(0);
        }
        if let Some(key) = later(scan, columns) {
            let mut known = self.known.borrow_mut();
            let changed = match known.get(table, &key) {
                Some(Some(row)) if passes(scan, row) => Some(Some((
                    Columns::clone(row),
                    known::with(row, columns, values),
                ))),
                Some(_) => Some(None),
                None => None,
            };
            match changed {
                Some(Some((before, row))) => {
                    known.changed(table, &before, &row);
                    self.own.borrow_mut().note(table, &key);
                    known.put(table, key.clone(), Some(row));
                    drop(known);
                    let mut pending = self.pending.borrow_mut();
                    pending.change(table, key, columns, values);
                    drop(pending);
                    self.send_if_ripe(table)?;
                    return Ok(1);
                }
                Some(None) => return Ok(0),
                None => {}
            }
        }
        self.known.borrow_mut().forget_answers(table);
        let statement = statement::change(scan, columns, values)?;
        let changed = self.execute(&self.before(table), &statement)?;
        self.forget_rows(scan);
        Ok(changed)
    }

    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        self.expect_writing()?;
        let table = scan.table;
        self.foresight.borrow_mut().note(scan);
        if self.meets_nothing(scan) {
            return Ok(0);
        }
        self.known.borrow_mut().forget_answers(table);
        if let Some(key) = later(scan, &[]) {
            let mut known = self.known.borrow_mut();
            let removed = match known.get(table, &key) {
                Some(Some(row)) => Some(passes(scan, row)),
                Some(None) => Some(false),
                None => None,
            };
            match removed {
                Some(true) => {
                    known.removed(table, &key);
                    drop(known);
                    self.pending.borrow_mut().remove(table, key);
                    self.send_if_ripe(table)?;
                    return Ok(1);
                }
                Some(false) => return Ok(0),
                None => {}
            }
        }
        let statement = statement::remove(scan)?;
        let removed = self.execute(&self.before(table), &statement)?;
        self.known.borrow_mut().forget_table(table);
        Ok(removed)
    }

    fn allocate(&self, table: &'static Table, _count: u64) -> Result<i64, Error> {
        self.expect_writing()?;
        self.habits.borrow_mut().note_number(table);
        if let Some(next) = self.known.borrow().next(table) {
            return Ok(next);
        }
        let rows = self.query(&self.waiting(table), &statement::newest(table))?;
        let next = next_number(&rows)?;
        self.known.borrow_mut().set_next(table, next);
        Ok(next)
    }
}

impl Postgres {
    /// Returns whether it is known that a scan has no rows.
    fn meets_nothing(&self, scan: &Scan<'_>) -> bool {
        let known = self.known.borrow();
        match Key::of_scan(scan) {
            Some(key) => matches!(known.get(scan.table, &key), Some(None)),
            None => known.answer(scan).is_some_and(<[_]>::is_empty),
        }
    }

    /// Knows nothing of rows any more that were written beside what is known.
    fn forget_rows(&self, scan: &Scan<'_>) {
        let mut known = self.known.borrow_mut();
        match Key::of_scan(scan) {
            Some(key) => known.forget(scan.table, &key),
            None => known.forget_table(scan.table),
        }
    }
}
