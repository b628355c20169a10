//! The mark that a journal gets when it takes its place.

use super::given_orders::{given_orders, orders};
use crate::domain::OrderId;
use crate::journal::Error;
use crate::journal::codec::catalog::{epoch, name};
use crate::journal::codec::facts::note_new;
use crate::journal::mark::Held;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::payer::Payers;
use crate::ledger::recovery::{Mark, Marked, kept_orders};

/// Returns what the mark of a journal is to say that takes its place.
pub(in crate::journal) fn marked(
    c: &WriteSession,
    born: Option<u64>,
    payers: Payers,
    before: &Mark,
) -> Result<Marked, Error> {
    let (before, quarantine) = match before {
        Mark::Read(marked) => (&marked.given[..], marked.quarantine),
        Mark::Missing | Mark::Unreadable => (&[][..], 0),
    };
    Ok(Marked {
        journal: name(c)?,
        born,
        epoch: epoch(c)?,
        orders: orders(c)?,
        given: kept_orders(before, &given_orders(c, OrderId::NONE)?),
        positions: Vec::new(),
        payers,
        server: c.server_position(),
        quarantine,
    })
}

/// Gives a journal its first mark, and then notes that it has one.
// In this order: a crash between the two leaves a mark that fits, where the other one would leave a journal that has lost its mark.
pub(in crate::journal) fn first_mark(
    c: &WriteSession,
    held: &mut Held<'_>,
    marked: Marked,
) -> Result<(), Error> {
    held.write(marked, true)?;
    note_new(c, "marked", &1_i64)?;
    // Into the file itself, so that it is known there even without its log. Nobody who reads it is waited for.
    if let Some(file) = c.sqlite() {
        let patience: i64 = file.query_row("pragma busy_timeout", [], |row| row.get(0))?;
        file.execute_batch("pragma busy_timeout = 0")?;
        let _ = file.execute_batch("pragma wal_checkpoint(truncate)");
        file.execute_batch(&format!("pragma busy_timeout = {patience}"))?;
    }
    Ok(())
}
