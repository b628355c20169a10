//! The store that is an SQLite connection.
//!
//! Statements are written as they are asked for; the connection keeps those prepared that come again.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode};

use super::scan::Bound;
use super::schema;
use super::{
    Append, Clash, Column, Condition, Error, Index, Read, Row, Scan, Table, Test, Transact, Value,
    Write,
};
use crate::domain::Timestamp;

/// Rows that one statement inserts, the most that are there: its cursors are opened once for all of them.
const TOGETHER: [usize; 3] = [64, 16, 1];

impl From<rusqlite::Error> for Error {
    fn from(cause: rusqlite::Error) -> Self {
        let what = cause.to_string().into();
        if let rusqlite::Error::SqliteFailure(code, _) = &cause
            && code.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE
        {
            return Self::Full { what };
        }
        match cause.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { what },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { what },
            Some(ErrorCode::DatabaseBusy) => Self::Busy { what },
            Some(ErrorCode::ConstraintViolation) => Self::Refused { what },
            _ => Self::Fault { what },
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Row for rusqlite::Row<'_> {
    fn width(&self) -> usize {
        self.as_ref().column_count()
    }

    fn value(&self, at: usize) -> Result<Value<'_>, Error> {
        Ok(self.get_ref(at)?.into())
    }
}

impl<'r> From<ValueRef<'r>> for Value<'r> {
    fn from(found: ValueRef<'r>) -> Self {
        match found {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            // No release wrote a text that is none, or a fraction: whoever reads the column finds that it is no such value, and a hash
            // over it is another one.
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Value::Text(text.into()),
                Err(_) => Value::Bytes(bytes.into()),
            },
            ValueRef::Blob(bytes) => Value::Bytes(bytes.into()),
            ValueRef::Real(number) => Value::Bytes(number.to_be_bytes().to_vec().into()),
        }
    }
}

thread_local! {
    /// The text of the statement that is asked for: a buffer that is kept.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prepares a statement, or takes the one that was prepared before.
fn prepare<'c>(
    c: &'c Connection,
    write: impl FnOnce(&mut String) -> std::fmt::Result,
) -> Result<CachedStatement<'c>, Error> {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        write(text).map_err(|_| Error::Fault {
            what: "a statement that cannot be written".into(),
        })?;
        Ok(c.prepare_cached(text)?)
    })
}

// Written for every statement that is asked for, a dozen for each payment: without the machinery of `write!`.
fn quoted(text: &mut String, name: &str) {
    text.push('"');
    text.push_str(name);
    text.push('"');
}

fn name(text: &mut String, table: &Table, column: Column) {
    let of = |at: u8| table.columns[usize::from(at)];
    match column.or {
        None => quoted(text, of(column.at)),
        Some(or) => {
            text.push_str("coalesce(");
            quoted(text, of(column.at));
            text.push_str(", ");
            quoted(text, of(or));
            text.push(')');
        }
    }
}

fn names(text: &mut String, table: &Table, columns: impl Iterator<Item = Column>) {
    for (place, column) in columns.enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        name(text, table, column);
    }
}

/// Names the table, and by what its rows are found.
fn table_of(text: &mut String, scan: &Scan<'_>) -> std::fmt::Result {
    quoted(text, scan.table.name);
    match scan.index {
        // What is unique in a table has an index that SQLite names itself, and takes by itself.
        Some(index) if index.is_unique && index.of.is_empty() => Ok(()),
        Some(index) => write!(text, " indexed by \"{}\"", index.name),
        // By its key alone: a scan of the table must not become one of an index.
        None if scan.table.numbered && !scan.table.indexes.is_empty() => {
            text.push_str(" not indexed");
            Ok(())
        }
        None => Ok(()),
    }
}

/// Writes which rows are meant; what is bound comes in the same order in [`bind`].
fn rows_of(text: &mut String, scan: &Scan<'_>) -> std::fmt::Result {
    let order = order_of(scan.table, scan.index);
    let mut so_far = " where ";
    let mut and = |text: &mut String| {
        text.push_str(so_far);
        so_far = " and ";
    };
    for (column, _) in order.clone().zip(&scan.at) {
        and(text);
        name(text, scan.table, column);
        text.push_str(" = ?");
    }
    let behind = order.skip(scan.at.len());
    for (bound, more) in [(&scan.from, '>'), (&scan.to, '<')] {
        let Some(bound) = bound else { continue };
        let columns = behind.clone().take(bound.values.len());
        and(text);
        text.push('(');
        names(text, scan.table, columns.clone());
        let equal = if bound.is_included { "=" } else { "" };
        write!(text, ") {more}{equal} (")?;
        marks(text, columns.count());
        text.push(')');
    }
    for condition in scan.index.map_or(&[][..], |index| index.of) {
        and(text);
        condition_of(text, scan.table, *condition)?;
    }
    for (column, test) in &scan.only {
        and(text);
        test_of(text, scan.table, *column, test);
    }
    Ok(())
}

/// Returns the columns by which rows are found and ordered.
fn order_of(table: &Table, index: Option<&Index>) -> impl Iterator<Item = Column> + Clone {
    let key = (0..table.key).map(|at| Column::new(u8::try_from(at).unwrap_or(u8::MAX)));
    let by = index.map_or(&[][..], |index| index.columns);
    let rest = key.filter(|column| !by.contains(column));
    by.iter().copied().chain(rest)
}

fn condition_of(text: &mut String, table: &Table, condition: Condition) -> std::fmt::Result {
    let (column, sign, number) = match condition {
        Condition::Is(column, number) => (column, "=", number),
        Condition::AtLeast(column, number) => (column, ">=", number),
        // As the schema has it: SQLite takes an index only where it can see that its condition holds.
        Condition::AtMost(column, 1) => (column, "<", 2),
        Condition::AtMost(column, number) => (column, "<=", number),
        Condition::Absent(column) => {
            name(text, table, column);
            text.push_str(" is null");
            return Ok(());
        }
        Condition::Present(column) => {
            name(text, table, column);
            text.push_str(" is not null");
            return Ok(());
        }
    };
    name(text, table, column);
    write!(text, " {sign} {number}")
}

fn test_of(text: &mut String, table: &Table, column: Column, test: &Test<'_>) {
    // Without an index: the order by which rows are found is the one that was asked for.
    text.push('+');
    name(text, table, column);
    match test {
        Test::Is(_) => text.push_str(" = ?"),
        Test::IsNot(_) => text.push_str(" is not ?"),
        Test::AtLeast(_) => text.push_str(" >= ?"),
        Test::AtMost(_) => text.push_str(" <= ?"),
        Test::Absent => text.push_str(" is null"),
        Test::Present => text.push_str(" is not null"),
        Test::Among(values) => {
            text.push_str(" in (");
            marks(text, values.len());
            text.push(')');
        }
    }
}

fn marks(text: &mut String, count: usize) {
    for place in 0..count {
        text.push_str(if place == 0 { "?" } else { ", ?" });
    }
}

fn order(text: &mut String, scan: &Scan<'_>) {
    let behind = order_of(scan.table, scan.index).skip(scan.at.len());
    for (place, column) in behind.enumerate() {
        text.push_str(if place == 0 { " order by " } else { ", " });
        name(text, scan.table, column);
        if scan.is_descending {
            text.push_str(" desc");
        }
    }
    if scan.limit.is_some() {
        text.push_str(" limit ?");
    }
}

fn select(text: &mut String, scan: &Scan<'_>, columns: &[Column]) -> std::fmt::Result {
    text.push_str("select ");
    match columns {
        [] => text.push('1'),
        columns => names(text, scan.table, columns.iter().copied()),
    }
    text.push_str(" from ");
    table_of(text, scan)?;
    rows_of(text, scan)?;
    order(text, scan);
    Ok(())
}

/// Returns how SQLite finds the rows of a scan, in its own words.
#[cfg(test)]
pub(crate) fn plan_of(c: &Connection, scan: &Scan<'_>) -> Result<String, Error> {
    let mut statement = prepare(c, |text| {
        text.push_str("explain query plan ");
        select(text, scan, &[])
    })?;
    // The plan does not hang on what is bound.
    let mut rows = statement.raw_query();
    let mut plan = String::new();
    while let Some(row) = rows.next()? {
        let step: String = (row as &dyn Row).get(3)?;
        plan += &step;
        plan += "; ";
    }
    Ok(plan)
}

/// Binds the values of a scan behind those that are bound already; returns how many are bound then.
fn bind(
    statement: &mut CachedStatement<'_>,
    mut bound: usize,
    scan: &Scan<'_>,
) -> Result<usize, Error> {
    let mut next = |value: &Value<'_>| -> Result<(), Error> {
        bound += 1;
        Ok(statement.raw_bind_parameter(bound, value)?)
    };
    scan.at.iter().try_for_each(&mut next)?;
    for Bound { values, .. } in [&scan.from, &scan.to].into_iter().flatten() {
        values.iter().try_for_each(&mut next)?;
    }
    for (_, test) in &scan.only {
        match test {
            Test::Is(value) | Test::IsNot(value) | Test::AtLeast(value) | Test::AtMost(value) => {
                next(value)?;
            }
            Test::Among(values) => values.iter().try_for_each(&mut next)?,
            Test::Absent | Test::Present => {}
        }
    }
    if let Some(limit) = scan.limit {
        next(&Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)))?;
    }
    Ok(bound)
}

impl Read for Connection {
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut statement = prepare(self, |text| select(text, scan, columns))?;
        bind(&mut statement, 0, scan)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if visit(row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn misfits(&self) -> Result<Vec<String>, Error> {
        schema::misfits(self)
    }

    fn damage(&self) -> Result<Vec<String>, Error> {
        let mut statement = self.prepare("pragma integrity_check(20)")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let said: String = row.get(0)?;
            if said != "ok" {
                found.push(format!("SQLite: {said}"));
            }
        }
        Ok(found)
    }

    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        let mut statement = prepare(self, |text| {
            text.push_str("select count(*) from (select 1 from ");
            table_of(text, scan)?;
            rows_of(text, scan)?;
            if scan.limit.is_some() {
                text.push_str(" limit ?");
            }
            text.push(')');
            Ok(())
        })?;
        bind(&mut statement, 0, scan)?;
        let mut rows = statement.raw_query();
        let row = rows.next()?.ok_or_else(|| Error::corrupt("no count"))?;
        (row as &dyn Row).get(0)
    }
}

impl Write for Connection {
    fn insert_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
        clash: Clash,
    ) -> Result<u64, Error> {
        let mut inserted = 0;
        let mut rest = rows;
        while !rest.is_empty() {
            let together = TOGETHER.into_iter().find(|size| *size <= rest.len());
            let together = together.unwrap_or(1);
            let (now, later) = rest.split_at(together);
            let mut statement = prepare(self, |text| {
                insert_into(text, table, columns, (together, clash))
            })?;
            for (place, value) in now.iter().flatten().enumerate() {
                statement.raw_bind_parameter(place + 1, value)?;
            }
            inserted += statement.raw_execute()?;
            rest = later;
        }
        Ok(inserted as u64)
    }

    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, Error> {
        let insert = |rows| {
            prepare(self, |text| {
                insert_into(text, table, columns, (rows, Clash::Refuse))
            })
        };
        Ok(Box::new(Appender {
            many: insert(TOGETHER[0])?,
            one: insert(1)?,
            width: columns.len(),
            bound: vec![Value::Null; TOGETHER[0] * columns.len()],
            filled: 0,
        }))
    }

    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        let mut statement = prepare(self, |text| {
            text.push_str("update or fail ");
            table_of(text, scan)?;
            text.push_str(" set ");
            for (place, column) in columns.iter().enumerate() {
                if place > 0 {
                    text.push_str(", ");
                }
                name(text, scan.table, *column);
                text.push_str(" = ?");
            }
            rows_of(text, scan)
        })?;
        for (place, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(place + 1, value)?;
        }
        bind(&mut statement, values.len(), &all_of(scan))?;
        Ok(statement.raw_execute()? as u64)
    }

    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        let mut statement = prepare(self, |text| {
            text.push_str("delete from ");
            table_of(text, scan)?;
            rows_of(text, scan)
        })?;
        bind(&mut statement, 0, &all_of(scan))?;
        Ok(statement.raw_execute()? as u64)
    }

    fn allocate(&self, table: &'static Table, _count: u64) -> Result<i64, Error> {
        let mut statement = prepare(self, |text| {
            write!(
                text,
                "select coalesce(max(\"{}\"), 0) from \"{}\"",
                table.columns[0], table.name
            )
        })?;
        let newest: i64 = statement.query_row([], |row| row.get(0))?;
        newest
            .checked_add(1)
            .ok_or_else(|| Error::corrupt("a table whose numbers are used up"))
    }
}

/// Appends rows to a table, several with one statement.
///
/// What is bound stays bound: of most files' columns one row has what another had in its place before.
struct Appender<'c> {
    many: CachedStatement<'c>,
    one: CachedStatement<'c>,
    width: usize,
    /// The values of `many`, one row after the other.
    bound: Vec<Value<'static>>,
    /// How many of them are those of rows to be appended.
    filled: usize,
}

impl Append for Appender<'_> {
    fn value(&mut self, value: Value<'_>) -> Result<(), Error> {
        let bound = &mut self.bound[self.filled];
        self.filled += 1;
        if *bound != value {
            self.many.raw_bind_parameter(self.filled, &value)?;
            match (bound, value) {
                // The buffers are kept: a million rows need no million allocations.
                (Value::Text(Cow::Owned(bound)), Value::Text(text)) => {
                    bound.clear();
                    bound.push_str(&text);
                }
                (Value::Bytes(Cow::Owned(bound)), Value::Bytes(bytes)) => {
                    bound.clear();
                    bound.extend_from_slice(&bytes);
                }
                (bound, value) => *bound = value.into_owned(),
            }
        }
        if self.filled == self.bound.len() {
            self.many.raw_execute()?;
            self.filled = 0;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        for row in self.bound[..self.filled].chunks(self.width) {
            for (at, value) in row.iter().enumerate() {
                self.one.raw_bind_parameter(at + 1, value)?;
            }
            self.one.raw_execute()?;
        }
        self.filled = 0;
        Ok(())
    }
}

/// Rows that are written are all that are meant, in no order.
fn all_of<'a>(scan: &Scan<'a>) -> Scan<'a> {
    Scan {
        limit: None,
        ..scan.clone()
    }
}

fn insert_into(
    text: &mut String,
    table: &Table,
    columns: &[Column],
    (rows, clash): (usize, Clash),
) -> std::fmt::Result {
    write!(text, "insert or fail into \"{}\" (", table.name)?;
    names(text, table, columns.iter().copied());
    text.push_str(") values ");
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        marks(text, columns.len());
        text.push(')');
    }
    let key = order_of(table, None);
    let others = columns
        .iter()
        .filter(|column| !key.clone().any(|of_key| of_key == **column));
    match clash {
        Clash::Refuse => {}
        Clash::Keep => text.push_str(" on conflict do nothing"),
        Clash::Replace => {
            text.push_str(" on conflict (");
            names(text, table, key.clone());
            text.push_str(") do ");
            let mut so_far = "update set ";
            for column in others {
                text.push_str(so_far);
                name(text, table, *column);
                text.push_str(" = excluded.");
                name(text, table, *column);
                so_far = ", ";
            }
            if so_far != ", " {
                text.push_str("nothing");
            }
        }
    }
    Ok(())
}

impl Transact for Connection {
    fn begin_reading(&self) -> Result<(), Error> {
        self.prepare_cached("begin")?.execute([])?;
        Ok(())
    }

    fn now(&self) -> Result<Timestamp, Error> {
        let mut statement = self.prepare("select cast(unixepoch('subsec') * 1000 as integer)")?;
        let now: i64 = statement.query_row([], |row| row.get(0))?;
        Ok(Timestamp::from_millis(now))
    }

    fn begin(&self) -> Result<(), Error> {
        // IMMEDIATE waits for another writer here, where nothing has been done yet.
        self.prepare_cached("begin immediate")?.execute([])?;
        Ok(())
    }

    fn commit(&self) -> Result<(), Error> {
        self.prepare_cached("commit")?.execute([])?;
        Ok(())
    }

    fn is_open(&self) -> bool {
        !self.is_autocommit()
    }

    fn version(&self) -> Result<i64, Error> {
        let mut statement = self.prepare_cached("pragma data_version")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    fn rollback(&self) -> Result<(), Error> {
        self.prepare_cached("rollback")?.execute([])?;
        Ok(())
    }
}
