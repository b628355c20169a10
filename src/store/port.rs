//! What a store does, and shapes over it.

use std::ops::ControlFlow;

use super::{Column, Error, Field, Row, Scan, Shape, Table, Value};
use crate::domain::Timestamp;
use crate::ledger::recovery::ServerPosition;

/// A view of the rows that holds still, or the rows as a transaction that writes sees them.
pub trait Read {
    /// Shows the rows, one after the other, until `visit` breaks off.
    ///
    /// `visit` may read other rows. Where it writes, rows of the same table may or may not be seen as they are then: what is to be
    /// changed is listed first.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error>;

    /// Says which rows are about to be asked for, by these very scans, so that a store that is far away reads them at once.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn expect(&self, _wanted: &[Scan<'_>]) -> Result<(), Error> {
        Ok(())
    }

    /// Returns what of tables, indexes and guards is not as the schema has it, in the words of the store.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn misfits(&self) -> Result<Vec<String>, Error>;

    /// Has the store look for damage in itself; returns what it finds, in its own words.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn damage(&self) -> Result<Vec<String>, Error>;

    /// Counts the rows.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, Error>;
}

/// What becomes of a row whose key, or what else must be unique, is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clash {
    /// The write is refused.
    Refuse,
    /// What is there stays.
    Keep,
    /// The columns that are written take the place of those of the row with that key.
    Replace,
}

/// Takes the rows of one table, one value after the other: what a load writes a million times.
pub trait Append {
    /// Takes the next value of a row; the last one of its columns ends it.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table, which a row before may have broken.
    fn value(&mut self, value: Value<'_>) -> Result<(), Error>;

    /// Writes the rows that wait for more; until then they may not be seen.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn flush(&mut self) -> Result<(), Error>;
}

/// A transaction that writes.
///
/// A rule of a table that is broken may be told at once, or later in the same transaction: with the next read of what was written,
/// at the latest with the commit. Once something was refused, or has failed otherwise, the transaction can only be rolled back.
pub trait Write: Read {
    /// Inserts rows that have these columns; columns that are left out have what the schema says. Returns how many were written.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn insert_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
        clash: Clash,
    ) -> Result<u64, Error>;

    /// Begins to append rows that have these columns. Where the key of a numbered table is left out, they have the next numbers.
    ///
    /// # Errors
    /// Where the store cannot write.
    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, Error>;

    /// Writes these values into these columns of all these rows; returns how many there were.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, Error>;

    /// Removes these rows; returns how many there were.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, Error>;

    /// Returns the first of so many numbers in a row that no row of a numbered table has. They are inserted before more are asked
    /// for.
    ///
    /// # Errors
    /// Where the store cannot tell.
    fn allocate(&self, table: &'static Table, count: u64) -> Result<i64, Error>;
}

/// A store whose transactions are begun and ended.
///
/// Those that write come one after the other, whoever begins them: a chain, a number and a sum that one of them reads is what the one
/// before has written.
pub trait Transact: Write {
    /// Returns whether several runs use it at once: it has the tables [`SHARED`](crate::store::tables::SHARED) then, and a session
    /// is what a run has in place of the lock of a file.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns how far it has come, as far as it was seen; `None`: it is on no server.
    fn server_position(&self) -> Option<ServerPosition> {
        None
    }

    /// Begins a transaction that only reads: what is written meanwhile stays out.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn begin_reading(&self) -> Result<(), Error>;

    /// Returns the time by the clock of the store, cut to whole milliseconds: it is never ahead of that clock.
    ///
    /// # Errors
    /// Where the store cannot tell.
    fn now(&self) -> Result<Timestamp, Error>;

    /// Says which verbs the next transaction carries out, by names that stay: a store that is far away reads at its beginning what they
    /// read the last times.
    fn plan(&self, _verbs: &[&'static str]) {}

    /// Says which of them is carried out next.
    fn enter_verb(&self, _verb: &'static str) {}

    /// Returns when the transaction that writes took its turn, by the clock of the store, where that is known: nobody else has written
    /// since.
    fn began_at(&self) -> Option<Timestamp> {
        None
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// [`Error::Busy`] where another one is under way for too long.
    fn begin(&self) -> Result<(), Error>;

    /// Ends it: all of it is there for good.
    ///
    /// # Errors
    /// Nothing of it is there then, unless it is [`Error::OutcomeUnknown`].
    fn commit(&self) -> Result<(), Error>;

    /// Returns whether a transaction is under way.
    fn is_open(&self) -> bool;

    /// Returns a number that is another one whenever somebody else has written: what is remembered of the rows holds while it stays.
    ///
    /// # Errors
    /// Where the store cannot tell.
    fn version(&self) -> Result<i64, Error>;

    /// Ends it: nothing of it is there.
    ///
    /// # Errors
    /// Where the store cannot go on.
    fn rollback(&self) -> Result<(), Error>;
}

/// Reading in shapes.
pub trait Reads: Read {
    /// Returns the rows.
    ///
    /// # Errors
    /// Where the store cannot read, or a row is none that a release wrote.
    fn list<S: Shape>(&self, scan: &Scan<'_>) -> Result<Vec<S>, Error> {
        let mut found = Vec::new();
        self.each(scan, |row| {
            found.push(row);
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    /// Returns the first of the rows.
    ///
    /// # Errors
    /// As [`Self::list`].
    fn first<S: Shape>(&self, scan: &Scan<'_>) -> Result<Option<S>, Error> {
        let mut found = None;
        self.each_until(scan, |row| {
            found = Some(row);
            Ok::<_, Error>(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Returns whether there is one of the rows.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn any(&self, scan: &Scan<'_>) -> Result<bool, Error> {
        let mut found = false;
        self.scan_rows(scan, &[], &mut |_| {
            found = true;
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Returns how many rows there are.
    ///
    /// # Errors
    /// Where the store cannot read.
    fn count(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        self.count_rows(scan)
    }

    /// Returns one column of the rows.
    ///
    /// # Errors
    /// As [`Self::list`].
    fn values<F: Field>(&self, scan: &Scan<'_>, column: Column) -> Result<Vec<F>, Error> {
        let mut found = Ok(Vec::new());
        self.scan_rows(scan, &[column], &mut |row| {
            match (&mut found, row.get(0)) {
                (Ok(found), Ok(value)) => found.push(value),
                (found, Err(error)) => *found = Err(error),
                (Err(_), Ok(_)) => {}
            }
            match found {
                Ok(_) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        found
    }

    /// Returns one column of the first of the rows.
    ///
    /// # Errors
    /// As [`Self::list`].
    fn value<F: Field>(&self, scan: &Scan<'_>, column: Column) -> Result<Option<F>, Error> {
        let mut found = Ok(None);
        self.scan_rows(scan, &[column], &mut |row| {
            found = row.get(0).map(Some);
            ControlFlow::Break(())
        })?;
        found
    }

    /// Shows the rows one after the other.
    ///
    /// # Errors
    /// As [`Self::list`], and whatever `visit` says: it ends the pass.
    fn each<S: Shape, E: From<Error>>(
        &self,
        scan: &Scan<'_>,
        mut visit: impl FnMut(S) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_until(scan, |row| {
            visit(row)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Shows the rows one after the other, until `visit` breaks off.
    ///
    /// # Errors
    /// As [`Self::each`].
    fn each_until<S: Shape, E: From<Error>>(
        &self,
        scan: &Scan<'_>,
        mut visit: impl FnMut(S) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        self.each_row(scan, S::COLUMNS, |row| visit(S::read(row)?))
    }

    /// Shows columns of the rows as the store has them, nothing copied, until `visit` breaks off.
    ///
    /// # Errors
    /// As [`Self::each`].
    fn each_row<E: From<Error>>(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        mut visit: impl FnMut(&dyn Row) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let mut failure = None;
        self.scan_rows(scan, columns, &mut |row| match visit(row) {
            Ok(flow) => flow,
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failure.map_or(Ok(()), Err)
    }
}

impl<R: Read + ?Sized> Reads for R {}

/// Writing in shapes.
pub trait Writes: Write {
    /// Inserts a row.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn insert<S: Shape>(&self, row: &S) -> Result<(), Error> {
        self.insert_rows(S::TABLE, S::COLUMNS, &[row.values()], Clash::Refuse)?;
        Ok(())
    }

    /// Inserts rows.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn insert_all<S: Shape>(&self, rows: &[S]) -> Result<(), Error> {
        let values: Vec<_> = rows.iter().map(Shape::values).collect();
        self.insert_rows(S::TABLE, S::COLUMNS, &values, Clash::Refuse)?;
        Ok(())
    }

    /// Inserts a row, unless there is one with its key; returns whether it was inserted.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn insert_new<S: Shape>(&self, row: &S) -> Result<bool, Error> {
        let inserted = self.insert_rows(S::TABLE, S::COLUMNS, &[row.values()], Clash::Keep)?;
        Ok(inserted > 0)
    }

    /// Inserts a row, or writes its columns into the one that has its key.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn put<S: Shape>(&self, row: &S) -> Result<(), Error> {
        self.insert_rows(S::TABLE, S::COLUMNS, &[row.values()], Clash::Replace)?;
        Ok(())
    }

    /// Inserts a row of a numbered table with the next number, its key, which the shape does not have; returns the number.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn append<S: Shape>(&self, row: &S) -> Result<i64, Error> {
        let number = self.allocate(S::TABLE, 1)?;
        let columns: Vec<Column> = std::iter::once(Column::new(0))
            .chain(S::COLUMNS.iter().copied())
            .collect();
        let mut values = row.values();
        values.insert(0, Value::Integer(number));
        self.insert_rows(S::TABLE, &columns, &[values], Clash::Refuse)?;
        Ok(number)
    }

    /// Writes the columns of the shape into all these rows; returns how many there were.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn change<S: Shape>(&self, scan: &Scan<'_>, to: &S) -> Result<u64, Error> {
        self.change_rows(scan, S::COLUMNS, &to.values())
    }

    /// Writes one column of all these rows; returns how many there were.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn set(&self, scan: &Scan<'_>, column: Column, value: &impl Field) -> Result<u64, Error> {
        self.change_rows(scan, &[column], &[value.to_value()])
    }

    /// Removes these rows; returns how many there were.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn remove(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        self.remove_rows(scan)
    }
}

impl<W: Write + ?Sized> Writes for W {}
