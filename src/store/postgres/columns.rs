//! The columns of the tables, as the schema has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::codec::{Kind, Width};
use crate::store::{Column, Error, Index, Table};

/// What the schema is made by.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The version of the schema that this release reads and writes, as it says of itself.
pub const SCHEMA_VERSION: i64 = 1;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnType {
    pub(super) kind: Kind,
    pub(super) is_nullable: bool,
}

/// Types of columns by table and name.
type Types = BTreeMap<(&'static str, &'static str), ColumnType>;

/// The one column that holds values of several kinds.
const ANY: (&str, &str) = ("meta", "value");

/// Reads the columns out of the statements that make the tables: each stands on a line of its own.
fn read() -> Types {
    let mut types = Types::new();
    let mut table = None;
    for line in SCHEMA.lines() {
        if let Some(name) = line.strip_prefix("create table disburse.") {
            table = name.strip_suffix(" (");
            continue;
        }
        let (Some(name), Some(column)) = (table, line.strip_prefix("    ")) else {
            table = None;
            continue;
        };
        let mut words = column.trim_end_matches(',').split_whitespace();
        let (Some(column), Some(of)) = (words.next(), words.next()) else {
            continue;
        };
        let kind = match of {
            _ if (name, column) == ANY => Kind::Any,
            "bigint" => Kind::Integer(Width::Eight),
            "integer" => Kind::Integer(Width::Four),
            "smallint" => Kind::Integer(Width::Two),
            "text" => Kind::Text,
            "bytea" => Kind::Bytes,
            // A rule of the table, or a column that no `Table` has.
            _ => continue,
        };
        let is_nullable = !line.contains(" not null") && !line.contains(" primary key");
        types.insert((name, column), ColumnType { kind, is_nullable });
    }
    types
}

/// Returns all columns by table and name.
pub(super) fn all() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(read)
}

fn type_at(table: &Table, at: u8) -> Result<ColumnType, Error> {
    let name = table.columns.get(usize::from(at)).copied();
    let known = name.and_then(|name| all().get(&(table.name, name)));
    known.copied().ok_or_else(|| Error::Fault {
        what: format!("the schema has no column {at} of {}", table.name).into(),
    })
}

/// Returns what is known of a column.
pub(super) fn type_of(table: &Table, column: Column) -> Result<ColumnType, Error> {
    let own = type_at(table, column.at)?;
    let is_nullable = match column.or {
        Some(or) => own.is_nullable && type_at(table, or)?.is_nullable,
        None => own.is_nullable,
    };
    Ok(ColumnType { is_nullable, ..own })
}

/// Returns what columns hold.
pub(super) fn kinds_of(table: &Table, columns: &[Column]) -> Result<Vec<Kind>, Error> {
    let kinds = columns.iter().map(|column| type_of(table, *column));
    kinds.map(|known| Ok(known?.kind)).collect()
}

/// Returns whether a guard looks at what is changed in a table, or removed from it.
pub(super) fn is_guarded(table: &Table) -> bool {
    static GUARDED: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    let guarded = GUARDED.get_or_init(|| {
        let triggers = SCHEMA
            .lines()
            .filter(|line| line.starts_with("create trigger "));
        let tables = triggers.filter_map(|line| line.split(" on disburse.").nth(1));
        tables.filter_map(|rest| rest.split(' ').next()).collect()
    });
    guarded.contains(table.name)
}

/// Returns the columns of a table's key.
pub(super) fn key_of(table: &Table) -> impl Iterator<Item = Column> {
    (0..table.key).map(|at| Column::new(u8::try_from(at).unwrap_or(u8::MAX)))
}

/// Returns the columns by which rows are found and ordered; two rows differ in them.
pub(super) fn order_of(table: &Table, index: Option<&Index>) -> Vec<Column> {
    let Some(index) = index else {
        return key_of(table).collect();
    };
    let rest = key_of(table).filter(|column| !index.is_unique && !index.columns.contains(column));
    index.columns.iter().copied().chain(rest).collect()
}

/// Returns whether no other order of a table goes on alike once the first columns of one are given.
pub(super) fn is_only_order(table: &Table, index: Option<&Index>, given: usize) -> bool {
    let order = order_of(table, index);
    let (given, rest) = order.split_at(given.min(order.len()));
    let own = index.map(|index| index.name);
    let others = table.indexes.iter().copied().map(Some).chain([None]);
    let mut others = others.filter(|other| other.map(|other| other.name) != own);
    !rest.is_empty()
        && others.all(|other| {
            let mut other = order_of(table, other).into_iter();
            other.find(|column| !given.contains(column)) != rest.first().copied()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tables;

    #[test]
    fn what_is_never_changed_is_guarded() {
        let guarded = tables::ALL.into_iter().filter(|table| is_guarded(table));
        let guarded: Vec<_> = guarded.map(|table| table.name).collect();
        let expected = [
            "load",
            "instruction",
            "identifier",
            "evidence",
            "phrase",
            "policy",
            "upload",
            "bill",
        ];
        assert_eq!(guarded, expected);
    }

    #[test]
    fn every_column_of_every_table_is_in_the_schema() {
        let mut named = 0;
        for table in tables::ALL.into_iter().chain(tables::SHARED) {
            for column in table.every_column() {
                type_of(table, column).unwrap();
                named += 1;
            }
        }
        // Those of the tables that only this store has are no more than these.
        let own = ["schema_version", "turn", "writer"];
        let others = all().keys().filter(|(table, _)| !own.contains(table));
        assert_eq!(others.count(), named);
    }
}
