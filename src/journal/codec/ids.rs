//! The numbers of rows as integer columns.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::domain::{BatchId, Epoch, EvidenceId, LaneId, LoadId, PaymentId};

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

column!(BatchId, Epoch, EvidenceId, LaneId, LoadId, PaymentId);

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_number_goes_into_a_column_and_comes_back_as_an_integer() {
        let c = Connection::open_in_memory().unwrap();
        for number in [i64::MIN, -1, 0, 7, i64::MAX] {
            let row = "select ?1, ?1, typeof(?1)";
            let found: (PaymentId, i64, String) = c
                .query_row(row, [PaymentId::new(number)], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .unwrap();
            assert_eq!(
                found,
                (PaymentId::new(number), number, "integer".to_owned())
            );
        }
    }

    #[test]
    fn what_is_no_integer_is_refused_in_the_words_of_a_bare_one() {
        let c = Connection::open_in_memory().unwrap();
        for column in ["'7'", "7.5", "null", "x'07'"] {
            let sql = format!("select {column}");
            let bare = c.query_row(&sql, [], |row| row.get::<_, i64>(0));
            let typed = c.query_row(&sql, [], |row| row.get::<_, LaneId>(0));
            assert_eq!(
                typed.unwrap_err().to_string(),
                bare.unwrap_err().to_string()
            );
        }
    }
}
