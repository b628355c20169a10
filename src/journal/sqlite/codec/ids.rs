//! The numbers of rows as integer columns.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::domain::{BatchId, Epoch, LaneId, PaymentId};

macro_rules! column {
    ($($name:ident),+ $(,)?) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.get().into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map(Self::new)
            }
        }
    )+};
}

column!(BatchId, Epoch, LaneId, PaymentId);
