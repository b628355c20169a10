//! Statements for scans and writes, with their parameters.
//!
//! Names of tables and columns are those of the program; whatever is a value is a parameter.

use std::fmt::Write as _;

use tokio_postgres::types::Type;

use super::codec::{self, Kind, Param};
use super::columns::{is_only_order, key_of, kinds_of, order_of, type_of};
use crate::store::scan::Bound;
use crate::store::{Clash, Column, Condition, Error, Scan, Table, Test, Value};

/// From so many rows on, a value that all of them have is sent once.
const SHARED_FROM: usize = 32;

/// A statement: its text, and what stands for its parameters.
#[derive(Debug, Default)]
pub(super) struct Statement<'v> {
    pub(super) text: String,
    pub(super) params: Vec<Param<'v>>,
    pub(super) types: Vec<Type>,
    /// What stands before the next condition.
    so_far: Option<&'static str>,
}

impl<'v> Statement<'v> {
    /// A statement without parameters.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Adds a parameter that is a number.
    pub(super) fn number(mut self, number: i64) -> Self {
        self.params.push(Param::Integer(number));
        self.types.push(Type::INT8);
        self
    }

    /// Adds a parameter that is bytes.
    pub(super) fn bytes(mut self, bytes: &'v [u8]) -> Self {
        self.params.push(Param::Bytes(bytes));
        self.types.push(Type::BYTEA);
        self
    }

    /// Adds a parameter that is a text.
    pub(super) fn text(mut self, text: &'v str) -> Self {
        self.params.push(Param::Text(text.into()));
        self.types.push(Type::TEXT);
        self
    }

    /// Returns it with parameters of its own.
    pub(super) fn encoded(&self) -> Result<Statement<'static>, Error> {
        let params = self.params.iter().zip(&self.types);
        let params = params.map(|(param, of)| param.encoded(of));
        Ok(Statement {
            text: self.text.clone(),
            params: params.collect::<Result<_, _>>()?,
            types: self.types.clone(),
            so_far: None,
        })
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn name(&mut self, table: &Table, column: Column) {
        let of = |at: u8| {
            let known = table.columns.get(usize::from(at));
            known.copied().unwrap_or_default()
        };
        let text = &mut self.text;
        let _ = match column.or {
            None => write!(text, "\"{}\"", of(column.at)),
            Some(or) => write!(text, "coalesce(\"{}\", \"{}\")", of(column.at), of(or)),
        };
    }

    fn names(&mut self, table: &Table, columns: &[Column]) {
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.name(table, *column);
        }
    }

    fn table(&mut self, table: &Table) {
        let _ = write!(self.text, "disburse.\"{}\"", table.name);
    }

    fn mark(&mut self, param: Param<'v>, of: Type) {
        self.params.push(param);
        self.types.push(of);
        let _ = write!(self.text, "${}", self.params.len());
    }

    fn value(&mut self, kind: Kind, value: &'v Value<'_>) -> Result<(), Error> {
        let param = codec::param(kind, value)?;
        self.mark(param, kind.of_column());
        Ok(())
    }

    fn and(&mut self) {
        let before = self.so_far.replace(" and ");
        self.push(before.unwrap_or(" where "));
    }

    /// Compares columns, one after the other, with values.
    fn compared(
        &mut self,
        table: &Table,
        columns: &[Column],
        sign: &str,
        values: &[&'v Value<'v>],
    ) -> Result<(), Error> {
        let columns = columns.get(..values.len()).unwrap_or(columns);
        if columns.is_empty() {
            return Ok(());
        }
        self.and();
        self.push("(");
        self.names(table, columns);
        let _ = write!(self.text, ") {sign} (");
        for (place, (column, value)) in columns.iter().zip(values).enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.value(type_of(table, *column)?.kind, value)?;
        }
        self.push(")");
        Ok(())
    }

    /// Writes which rows are written to: what comes first in the order equals what was given.
    fn rows_written(&mut self, scan: &'v Scan<'v>) -> Result<(), Error> {
        let order = order_of(scan.table, scan.index);
        for (column, value) in order.iter().zip(&scan.at) {
            self.compared(scan.table, &[*column], "=", &[value])?;
        }
        let behind = order.get(scan.at.len()..).unwrap_or_default();
        for (bound, sign) in [(&scan.from, [">=", ">"]), (&scan.to, ["<=", "<"])] {
            if let Some(bound) = bound {
                let values: Vec<_> = bound.values.iter().collect();
                let sign = sign[usize::from(!bound.is_included)];
                self.compared(scan.table, behind, sign, &values)?;
            }
        }
        self.further(scan)
    }

    /// Writes which rows are read: between two ends of their order, behind the place that was read up to.
    ///
    /// Columns that are given equal what was given, so that the server reads nothing behind the last row: of rows that are compared as
    /// a whole it ends with the first column alone. Where another index has the same order behind them, equality would let the planner
    /// take that one, which may have many rows more to look at.
    fn rows_read(
        &mut self,
        scan: &'v Scan<'v>,
        read_up_to: Option<&'v [Value<'v>]>,
    ) -> Result<(), Error> {
        let order = order_of(scan.table, scan.index);
        let is_whole_key = scan.index.is_none() && scan.at.len() == order.len();
        if is_whole_key || scan.at.contains(&Value::Null) {
            return self.rows_written(scan);
        }
        let fixed = match is_only_order(scan.table, scan.index, scan.at.len()) {
            true => scan.at.len(),
            false => 0,
        };
        let (equal, order) = order.split_at(fixed);
        for (column, value) in equal.iter().zip(&scan.at) {
            self.compared(scan.table, &[*column], "=", &[value])?;
        }
        let end = |bound: &'v Option<Bound<'v>>| -> (Vec<&'v Value<'v>>, bool) {
            let behind = bound.as_ref().map_or(&[][..], |bound| &bound.values[..]);
            let is_included = bound.as_ref().is_none_or(|bound| bound.is_included);
            let given = scan.at.iter().skip(fixed);
            (given.chain(behind).collect(), is_included)
        };
        let (from, to) = (end(&scan.from), end(&scan.to));
        let signs = |is_included| match is_included {
            true => [">=", "<="],
            false => [">", "<"],
        };
        let continued = read_up_to.map(|place| place.iter().skip(fixed).collect::<Vec<_>>());
        let (above, below) = match scan.is_descending {
            false => (continued.as_deref(), None),
            true => (None, continued.as_deref()),
        };
        match above {
            Some(place) => self.behind(scan, order, place)?,
            None => self.compared(scan.table, order, signs(from.1)[0], &from.0)?,
        }
        match below {
            Some(place) => self.behind(scan, order, place)?,
            None => self.compared(scan.table, order, signs(to.1)[1], &to.0)?,
        }
        self.further(scan)
    }

    /// Writes that rows come behind a place of their order.
    fn behind(
        &mut self,
        scan: &'v Scan<'v>,
        order: &[Column],
        place: &[&'v Value<'v>],
    ) -> Result<(), Error> {
        let table = scan.table;
        let sign = if scan.is_descending { "<" } else { ">" };
        let mut is_nullable = false;
        let given = (scan.at.len() + order.len()).saturating_sub(order_of(table, scan.index).len());
        for column in order.iter().skip(given) {
            is_nullable |= type_of(table, *column)?.is_nullable;
        }
        if !is_nullable {
            return self.compared(table, order, sign, place);
        }
        // Nothing comes first, which no comparison says: one column after the other, then.
        self.and();
        self.push("(");
        for (at, (column, value)) in order.iter().zip(place).enumerate() {
            self.push(if at > 0 { " or (" } else { "(" });
            self.so_far = Some("");
            for (column, value) in order.iter().zip(place).take(at) {
                self.compared_or_null(table, *column, "is not distinct from", value)?;
            }
            match (value, scan.is_descending) {
                (Value::Null, true) => {
                    self.and();
                    self.push("false");
                }
                (Value::Null, false) => {
                    self.and();
                    self.name(table, *column);
                    self.push(" is not null");
                }
                (value, true) => {
                    self.and();
                    self.push("(");
                    self.so_far = Some("");
                    self.compared_or_null(table, *column, "<", value)?;
                    self.push(" or ");
                    self.name(table, *column);
                    self.push(" is null)");
                }
                (value, false) => self.compared_or_null(table, *column, ">", value)?,
            }
            self.push(")");
        }
        self.push(")");
        self.so_far = Some(" and ");
        Ok(())
    }

    fn compared_or_null(
        &mut self,
        table: &Table,
        column: Column,
        sign: &str,
        value: &'v Value<'v>,
    ) -> Result<(), Error> {
        self.and();
        self.name(table, column);
        let _ = write!(self.text, " {sign} ");
        self.value(type_of(table, column)?.kind, value)
    }

    /// Writes what else rows must have.
    fn further(&mut self, scan: &'v Scan<'v>) -> Result<(), Error> {
        for condition in scan.index.map_or(&[][..], |index| index.of) {
            self.and();
            self.condition(scan.table, *condition);
        }
        for (column, test) in &scan.only {
            self.and();
            self.test(scan.table, *column, test)?;
        }
        Ok(())
    }

    fn condition(&mut self, table: &Table, condition: Condition) {
        let (column, said) = match condition {
            Condition::Is(column, number) => (column, format!(" = {number}")),
            Condition::AtLeast(column, number) => (column, format!(" >= {number}")),
            Condition::AtMost(column, number) => (column, format!(" <= {number}")),
            Condition::Absent(column) => (column, " is null".to_owned()),
            Condition::Present(column) => (column, " is not null".to_owned()),
        };
        self.name(table, column);
        self.push(&said);
    }

    fn test(&mut self, table: &Table, column: Column, test: &'v Test<'v>) -> Result<(), Error> {
        let kind = type_of(table, column)?.kind;
        self.name(table, column);
        let (sign, value) = match test {
            Test::Is(value) => (" = ", value),
            Test::IsNot(value) => (" is distinct from ", value),
            Test::AtLeast(value) => (" >= ", value),
            Test::AtMost(value) => (" <= ", value),
            Test::Absent => {
                self.push(" is null");
                return Ok(());
            }
            Test::Present => {
                self.push(" is not null");
                return Ok(());
            }
            Test::Among(values) => {
                self.push(" = any(");
                let list = codec::list(kind, values.iter())?;
                self.mark(list, kind.of_list());
                self.push(")");
                return Ok(());
            }
        };
        self.push(sign);
        self.value(kind, value)
    }

    fn order(&mut self, scan: &Scan<'_>) -> Result<(), Error> {
        for (place, column) in order_of(scan.table, scan.index).into_iter().enumerate() {
            self.push(if place == 0 { " order by " } else { ", " });
            self.name(scan.table, column);
            let is_nullable = type_of(scan.table, column)?.is_nullable;
            self.push(match (scan.is_descending, is_nullable) {
                (false, false) => "",
                (false, true) => " nulls first",
                (true, false) => " desc",
                (true, true) => " desc nulls last",
            });
        }
        Ok(())
    }

    fn limit(&mut self, rows: usize) {
        self.push(" limit ");
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.mark(Param::Integer(rows), Type::INT8);
    }
}

/// Reads columns of the next rows of a scan, so many at most.
pub(super) fn page<'v>(
    scan: &'v Scan<'v>,
    columns: &[Column],
    read_up_to: Option<&'v [Value<'v>]>,
    rows: usize,
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("select ");
    match columns {
        [] => it.push("1"),
        columns => it.names(scan.table, columns),
    }
    it.push(" from ");
    it.table(scan.table);
    it.rows_read(scan, read_up_to)?;
    it.order(scan)?;
    it.limit(rows);
    Ok(it)
}

/// Reads all columns of the first rows of scans that differ in nothing but the number that the first column of their order is, so many
/// rows of each at most. The rows of a scan come one after the other, in its order.
pub(super) fn first_pages<'v>(
    like: &'v Scan<'v>,
    numbers: &'v [Vec<Value<'v>>],
    rows: usize,
) -> Result<Statement<'v>, Error> {
    let table = like.table;
    let first: Vec<Column> = order_of(table, like.index).into_iter().take(1).collect();
    let mut it = Statement::plain("select t.* from ");
    it.unnest(table, &first, numbers)?;
    it.push(", lateral (select ");
    it.names(table, &table.every_column());
    it.push(" from ");
    it.table(table);
    // As [`Statement::rows_read`] has it, so that it is read along the same order.
    for sign in [">=", "<="] {
        it.and();
        it.push("(");
        it.names(table, &first);
        let _ = write!(it.text, ") {sign} (v.c0)");
    }
    it.further(like)?;
    it.order(like)?;
    it.limit(rows);
    it.push(") t");
    Ok(it)
}

/// Counts the rows of a scan.
pub(super) fn count<'v>(scan: &'v Scan<'v>) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("select count(*) from (select 1 from ");
    it.table(scan.table);
    it.rows_read(scan, None)?;
    if let Some(limit) = scan.limit {
        it.limit(limit);
    }
    it.push(") counted");
    Ok(it)
}

/// Writes columns of all rows of a scan.
pub(super) fn change<'v>(
    scan: &'v Scan<'v>,
    columns: &[Column],
    values: &'v [Value<'v>],
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("update ");
    it.table(scan.table);
    it.push(" set ");
    for (place, (column, value)) in columns.iter().zip(values).enumerate() {
        if place > 0 {
            it.push(", ");
        }
        it.name(scan.table, *column);
        it.push(" = ");
        it.value(type_of(scan.table, *column)?.kind, value)?;
    }
    it.rows_written(scan)?;
    Ok(it)
}

/// Removes all rows of a scan.
pub(super) fn remove<'v>(scan: &'v Scan<'v>) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("delete from ");
    it.table(scan.table);
    it.rows_written(scan)?;
    Ok(it)
}

/// Inserts rows. Where [`Clash::Replace`] is given, no two of them have the same key.
pub(super) fn insert<'v>(
    table: &Table,
    columns: &[Column],
    rows: &'v [Vec<Value<'v>>],
    clash: Clash,
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("insert into ");
    it.table(table);
    it.push(" (");
    it.names(table, columns);
    match rows {
        [row] if row.len() == columns.len() => {
            it.push(") values (");
            for (at, (kind, value)) in kinds_of(table, columns)?.into_iter().zip(row).enumerate() {
                it.push(if at > 0 { ", " } else { "" });
                it.value(kind, value)?;
            }
            it.push(")");
        }
        rows => {
            it.push(") select * from ");
            it.unnest(table, columns, rows)?;
        }
    }
    it.clash(table, columns, clash);
    Ok(it)
}

/// Writes columns of rows that are found by their keys, which stand before the values. No two of them have the same key.
pub(super) fn change_by_key<'v>(
    table: &Table,
    columns: &[Column],
    rows: &'v [Vec<Value<'v>>],
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("with met as (update ");
    it.table(table);
    it.push(" t set ");
    for (place, column) in columns.iter().enumerate().skip(table.key) {
        if place > table.key {
            it.push(", ");
        }
        it.name(table, *column);
        let _ = write!(it.text, " = v.c{place}");
    }
    it.push(" from ");
    it.unnest(table, columns, rows)?;
    it.found_by_key(table);
    it.all_met(rows.len());
    Ok(it)
}

/// Removes rows that are found by their keys.
pub(super) fn remove_by_key<'v>(
    table: &Table,
    columns: &[Column],
    rows: &'v [Vec<Value<'v>>],
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("with met as (delete from ");
    it.table(table);
    it.push(" t using ");
    it.unnest(table, columns, rows)?;
    it.found_by_key(table);
    it.all_met(rows.len());
    Ok(it)
}

/// Reads all columns of rows that are found by their keys.
pub(super) fn by_keys<'v>(
    table: &Table,
    keys: &'v [Vec<Value<'v>>],
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("select ");
    for (place, column) in table.every_column().into_iter().enumerate() {
        it.push(if place > 0 { ", t." } else { "t." });
        it.name(table, column);
    }
    it.push(" from ");
    it.table(table);
    it.push(" t, ");
    let key: Vec<Column> = key_of(table).collect();
    it.unnest(table, &key, keys)?;
    it.found_by_key(table);
    Ok(it)
}

/// Counts the rows that are found by their keys and were written last by a transaction.
pub(super) fn written_by<'v>(
    table: &Table,
    keys: &'v [Vec<Value<'v>>],
    transaction: &'v str,
) -> Result<Statement<'v>, Error> {
    let mut it = Statement::plain("select count(*) from ");
    it.table(table);
    it.push(" t, ");
    let key: Vec<Column> = key_of(table).collect();
    it.unnest(table, &key, keys)?;
    it.found_by_key(table);
    it.push(" and t.xmin = ");
    it.mark(Param::Text(transaction.into()), Type::TEXT);
    it.push("::xid");
    Ok(it)
}

impl<'v> Statement<'v> {
    /// Writes rows as lists of values, one for each column; they are called `v`.
    ///
    /// A value that many rows share is sent once: most columns of payments that are claimed or acknowledged together are alike.
    /// Lists that are unfolded side by side, as functions of `from` are, cost a fifth more: the server collects each of them first.
    fn unnest(
        &mut self,
        table: &Table,
        columns: &[Column],
        rows: &'v [Vec<Value<'v>>],
    ) -> Result<(), Error> {
        if rows.iter().any(|row| row.len() < columns.len()) {
            return Err(Error::Fault {
                what: "a row with fewer values than columns".into(),
            });
        }
        self.push("(select ");
        let mut has_list = false;
        for (at, kind) in kinds_of(table, columns)?.into_iter().enumerate() {
            self.push(if at > 0 { ", " } else { "" });
            // Without a list there would be one row.
            let is_last = at + 1 == columns.len();
            match shared(rows, at).filter(|_| has_list || !is_last) {
                Some(value) => self.value(kind, value)?,
                None => {
                    has_list = true;
                    let list = codec::list(kind, rows.iter().filter_map(|row| row.get(at)))?;
                    self.push("unnest(");
                    self.mark(list, kind.of_list());
                    self.push(")");
                }
            }
        }
        self.push(") as v(");
        for at in 0..columns.len() {
            let _ = write!(self.text, "{}c{at}", if at > 0 { ", " } else { "" });
        }
        self.push(")");
        Ok(())
    }

    /// Compares the columns of the key with those of the list of rows.
    fn found_by_key(&mut self, table: &Table) {
        for (at, column) in key_of(table).enumerate() {
            self.and();
            self.push("t.");
            self.name(table, column);
            let _ = write!(self.text, " = v.c{at}");
        }
    }

    /// Says that each of so many rows must have been met: otherwise it divides by zero, and the commit that may have been sent behind
    /// it ends nothing.
    fn all_met(&mut self, rows: usize) {
        self.push(" returning 1) select 1 / (count(*) = ");
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.mark(Param::Integer(rows), Type::INT8);
        self.push(")::int from met");
    }
}

impl Statement<'_> {
    fn clash(&mut self, table: &Table, columns: &[Column], clash: Clash) {
        let key: Vec<Column> = key_of(table).collect();
        match clash {
            Clash::Refuse => {}
            Clash::Keep => self.push(" on conflict do nothing"),
            Clash::Replace => {
                self.push(" on conflict (");
                self.names(table, &key);
                self.push(") do ");
                let mut before = "update set ";
                for column in columns.iter().filter(|column| !key.contains(column)) {
                    self.push(before);
                    self.name(table, *column);
                    self.push(" = excluded.");
                    self.name(table, *column);
                    before = ", ";
                }
                if before != ", " {
                    self.push("nothing");
                }
            }
        }
    }
}

/// Returns the value that all rows have in a column, where these are many: of a few, each combination would be a statement of its own.
fn shared<'v>(rows: &'v [Vec<Value<'v>>], at: usize) -> Option<&'v Value<'v>> {
    let (first, others) = rows.split_first()?;
    let value = first.get(at)?;
    let is_shared = others.iter().all(|row| row.get(at) == Some(value));
    (is_shared && rows.len() >= SHARED_FROM).then_some(value)
}

/// Returns the greatest number of a numbered table, or zero.
pub(super) fn newest(table: &Table) -> Statement<'static> {
    let mut it = Statement::plain("select coalesce(max(");
    it.name(table, Column::new(0));
    it.push("), 0) from ");
    it.table(table);
    it
}

/// Appends rows by a binary COPY.
pub(super) fn copy(table: &Table, columns: &[Column]) -> String {
    let mut it = Statement::plain("copy ");
    it.table(table);
    it.push(" (");
    it.names(table, columns);
    it.push(") from stdin (format binary)");
    it.text
}
