//! Rows that are about to be compared, told to the store beforehand: one by one, each would cost round trips to a server.

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::session::transaction::WriteSession;
use crate::store::tables::{inquiry, instruction, life};
use crate::store::{Read as _, Scan};

/// Expects rows of a file, and rows on record with where they stand.
pub(in crate::journal) fn expect_rows(
    c: &WriteSession,
    own: &[PaymentId],
    others: &[PaymentId],
) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let rows = own.iter().chain(others);
    let rows = rows.map(|seq| Scan::of(&instruction::TABLE).at(seq));
    let standing = others.iter().flat_map(|seq| {
        let tables = [&life::TABLE, &inquiry::TABLE];
        tables.map(|table| Scan::of(table).at(seq))
    });
    Ok(c.expect(&rows.chain(standing).collect::<Vec<_>>())?)
}
