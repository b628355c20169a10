//! Structs of some columns of a table.

use super::{Column, Error, Row, Table, Value};

/// A struct of some columns of a table.
pub trait Shape: Sized {
    /// The table.
    const TABLE: &'static Table;
    /// The columns, in the order of [`Self::values`].
    const COLUMNS: &'static [Column];

    /// Reads a row that has these columns.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a value that no release writes.
    fn read(row: &dyn Row) -> Result<Self, Error>;

    /// Returns what stands in the columns.
    fn values(&self) -> Vec<Value<'_>>;
}

/// Declares a struct of some columns of a table, whose fields have the names of the columns.
macro_rules! shape {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $shape:ident of $table:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),+ $(,)? }
    ) => {
        $(#[$meta])*
        $visibility struct $shape { $($(#[$field_meta])* $visibility $field: $type),+ }

        impl $crate::store::Shape for $shape {
            const TABLE: &'static $crate::store::Table = &$crate::store::tables::$table::TABLE;
            const COLUMNS: &'static [$crate::store::Column] = &[$($crate::store::tables::$table::$field),+];

            fn read(row: &dyn $crate::store::Row) -> Result<Self, $crate::store::Error> {
                let mut next = 0..;
                $(let $field = row.get(next.next().unwrap_or_default())?;)+
                Ok(Self { $($field),+ })
            }

            fn values(&self) -> Vec<$crate::store::Value<'_>> {
                vec![$($crate::store::Field::to_value(&self.$field)),+]
            }
        }
    };
}
pub(crate) use shape;
