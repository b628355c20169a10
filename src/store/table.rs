//! Tables, their columns and indexes.

/// A column of a table; it may name a second column, which is read where the first is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    pub(super) at: u8,
    pub(super) or: Option<u8>,
}

impl Column {
    /// The column at this place of its table.
    #[must_use]
    pub const fn new(at: u8) -> Self {
        Self { at, or: None }
    }

    /// The value of this column, or of the other one where this one is empty.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            at: self.at,
            or: Some(other.at),
        }
    }
}

/// A table as every store has it.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The names of its columns; those of the key come first.
    pub columns: &'static [&'static str],
    /// How many columns its key has.
    pub key: usize,
    /// Its indexes.
    pub indexes: &'static [&'static Index],
    /// Whether its key is a number by which the store itself knows the row.
    pub numbered: bool,
    /// The defaults of columns that are left out; the others become null.
    pub defaults: &'static [(Column, i64)],
}

impl Table {
    /// Returns the name of a column.
    #[must_use]
    pub fn name_of(&self, column: Column) -> &'static str {
        self.columns[usize::from(column.at)]
    }

    /// Returns all columns, in their order.
    #[must_use]
    pub fn every_column(&self) -> Vec<Column> {
        let places = 0..self.columns.len();
        places
            .filter_map(|at| Some(Column::new(u8::try_from(at).ok()?)))
            .collect()
    }
}

/// An index of a table: the order by which some of its rows are found.
#[derive(Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The columns by which it is ordered; rows that are alike come in the order of their keys.
    pub columns: &'static [Column],
    /// Which rows it has.
    pub of: &'static [Condition],
    /// Whether no two rows are alike in it.
    pub is_unique: bool,
    /// Its table.
    pub table: fn() -> &'static Table,
}

/// What holds for every row of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The column has this number.
    Is(Column, i64),
    /// It has this number or a greater one.
    AtLeast(Column, i64),
    /// It has this number or a lesser one.
    AtMost(Column, i64),
    /// It is empty.
    Absent(Column),
    /// It is not empty.
    Present(Column),
}

/// Declares a table: the columns of its key, its other columns, its indexes.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $name:ident $(($numbered:ident))? { $($key:ident),+ ; $($column:ident),* $(,)? }
        $(default [$($without:ident = $number:literal),+])?
        $($(#[$index_doc:meta])* $(($unique:ident))? index $index:ident [$($by:expr),+] $(where $($condition:expr),+)? ;)*
    ) => {
        $(#[$doc])*
        #[allow(non_upper_case_globals, non_camel_case_types, missing_docs, dead_code, reason = "columns and indexes have the names of the schema")]
        pub mod $name {
            #[allow(unused_imports, reason = "few tables have indexes")]
            use crate::store::{Column, Index, Table};
            #[allow(unused_imports, reason = "few indexes have conditions")]
            use crate::store::Condition::{Absent, AtLeast, AtMost, Is, Present};
            enum At { $($key,)+ $($column),* }
            $(pub const $key: Column = Column::new(At::$key as u8);)+
            $(pub const $column: Column = Column::new(At::$column as u8);)*
            $(
                $(#[$index_doc])*
                pub static $index: Index = Index {
                    name: stringify!($index),
                    columns: &[$($by),+],
                    of: &[$($($condition),+)?],
                    is_unique: false $(|| { let $unique = true; $unique })?,
                    table: || &TABLE,
                };
            )*
            pub static TABLE: Table = Table {
                name: stringify!($name),
                columns: &[$(stringify!($key),)+ $(stringify!($column)),*],
                key: [$(stringify!($key)),+].len(),
                indexes: &[$(&$index),*],
                numbered: false $(|| { let $numbered = true; $numbered })?,
                defaults: &[$($(($without, $number)),+)?],
            };
        }
    };
}
pub(super) use table;
