//! The traits that a store implements, and those that read and write its rows as structs.

use std::ops::ControlFlow;

use super::{Column, Error, Field, Row, Scan, Shape, Table, Value};
use crate::domain::Timestamp;
use crate::ledger::recovery::ServerPosition;

/// Reads rows: of a snapshot that does not change, or as a writing transaction sees them.
pub trait Read {
    /// Passes the rows to `visit`, one after the other, until it breaks off.
    ///
    /// `visit` may read other rows. If it writes to the same table, the scan may or may not see the change: list the rows first, and
    /// change them afterwards.
    ///
    /// # Errors
    /// The store cannot read.
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error>;

    /// Announces the scans that follow, so that a store on a server can read all of them in one round trip.
    ///
    /// # Errors
    /// The store cannot read.
    fn expect(&self, _wanted: &[Scan<'_>]) -> Result<(), Error> {
        Ok(())
    }

    /// Announces that the same is done with each of these numbers, one after the other, and that the one at this place comes next: a
    /// store on a server learns from the first ones what it is asked about each, and reads that of the next ones in one round trip.
    ///
    /// # Errors
    /// The store cannot read.
    fn come_to(&self, _numbers: &[i64], _nth: usize) -> Result<(), Error> {
        Ok(())
    }

    /// Returns each table, index and guard that differs from the schema, as a text.
    ///
    /// # Errors
    /// The store cannot read.
    fn misfits(&self) -> Result<Vec<String>, Error>;

    /// Looks for damage in the stored data; returns each finding in the words of the store.
    ///
    /// # Errors
    /// The store cannot read.
    fn damage(&self) -> Result<Vec<String>, Error>;

    /// Counts the rows.
    ///
    /// # Errors
    /// The store cannot read.
    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, Error>;
}

/// What happens to a row whose key, or another unique value, exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clash {
    /// The write is refused.
    Refuse,
    /// The existing row stays.
    Keep,
    /// The written columns replace those of the existing row with that key.
    Replace,
}

/// Takes the rows of one table, one value after the other: the fast way for the millions of rows of a load.
pub trait Append {
    /// Takes the next value of a row; the value of the last column ends the row.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table; an earlier row may have broken it.
    fn value(&mut self, value: Value<'_>) -> Result<(), Error>;

    /// Writes the rows that are still buffered; before that, a read may not see them.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule of the table.
    fn flush(&mut self) -> Result<(), Error>;
}

/// A transaction that writes.
///
/// A store may report a broken rule of a table at once, or later in the same transaction: with the next read of the written rows,
/// at the latest with the commit. After any error the transaction can only be rolled back.
pub trait Write: Read {
    /// Inserts rows that have these columns; columns that are left out get the default of the schema. Returns how many were written.
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

    /// Begins to append rows that have these columns. If the key of a numbered table is left out, they get the next numbers.
    ///
    /// # Errors
    /// The store cannot write.
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

    /// Returns the first of `count` consecutive numbers that no row of a numbered table has. Insert rows with all of them before you
    /// ask for more.
    ///
    /// # Errors
    /// The store cannot tell.
    fn allocate(&self, table: &'static Table, count: u64) -> Result<i64, Error>;
}

/// Begins and ends the transactions of a store.
///
/// Writing transactions run one after the other, over all processes and hosts: each sees everything that the one before has written,
/// so that chains, numbers and sums continue from it.
pub trait Transact: Write {
    /// Returns whether several runs may use the store at once. Such a store has the tables [`SHARED`](crate::store::tables::SHARED),
    /// and each run has a session instead of the lock of a file.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns whether its user may take the whole of it away from all others.
    ///
    /// # Errors
    /// The store cannot tell.
    fn is_owned(&self) -> Result<bool, Error> {
        Ok(true)
    }

    /// Returns the last known position of the server's log; `None` for a store that is not on a server.
    fn server_position(&self) -> Option<ServerPosition> {
        None
    }

    /// Begins a transaction that only reads: it does not see later writes.
    ///
    /// # Errors
    /// The store cannot read.
    fn begin_reading(&self) -> Result<(), Error>;

    /// Returns the time of the store's clock, rounded down to whole milliseconds.
    ///
    /// # Errors
    /// The store cannot tell.
    fn now(&self) -> Result<Timestamp, Error>;

    /// Announces the verbs of the next transaction by their names: a store on a server then reads at once what these verbs
    /// have read before.
    fn plan(&self, _verbs: &[&'static str]) {}

    /// Announces verbs that join the transaction which has begun.
    ///
    /// # Errors
    /// The store cannot read.
    fn plan_more(&self, _verbs: &[&'static str]) -> Result<(), Error> {
        Ok(())
    }

    /// Announces which of these verbs runs next.
    fn enter_verb(&self, _verb: &'static str) {}

    /// Returns when the writing transaction began, by the store's clock, if that is known: nobody else has written since.
    fn began_at(&self) -> Option<Timestamp> {
        None
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// [`Error::Busy`] if another one does not end in time.
    fn begin(&self) -> Result<(), Error>;

    /// Commits the transaction.
    ///
    /// # Errors
    /// The transaction was not committed, except with [`Error::OutcomeUnknown`], where nobody knows.
    fn commit(&self) -> Result<(), Error>;

    /// Returns whether a transaction is under way.
    fn is_open(&self) -> bool;

    /// Returns a number that changes whenever somebody else has written: rows that are cached stay valid while it is the same.
    ///
    /// # Errors
    /// The store cannot tell.
    fn version(&self) -> Result<i64, Error>;

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// The store cannot go on.
    fn rollback(&self) -> Result<(), Error>;
}

/// Reads rows as structs (a [`Shape`]).
pub trait Reads: Read {
    /// Returns the rows.
    ///
    /// # Errors
    /// The store cannot read, or a row holds a value that no release writes.
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

    /// Returns whether there is at least one such row.
    ///
    /// # Errors
    /// The store cannot read.
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
    /// The store cannot read.
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

    /// Passes the rows to `visit`, one after the other.
    ///
    /// # Errors
    /// As [`Self::list`], and each error of `visit`, which ends the pass.
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

    /// Passes the rows to `visit`, one after the other, until it breaks off.
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

    /// Passes columns of the rows to `visit` without copying them, until it breaks off.
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

/// Writes rows from structs (a [`Shape`]).
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

    /// Inserts a row of a numbered table with the next number as its key; returns the number. The shape must not have the key.
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
