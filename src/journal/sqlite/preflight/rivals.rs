//! Rows of the same recipient and service as one that is about to take its amount from a bill.

use rusqlite::Connection;

use crate::domain::{BatchId, Instruction, LoadId, PaymentId};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, Stored, corrupt, stored_of};
use crate::journal::sqlite::repeats::fingerprints::{Entry, Key, entry_of, place_of};
use crate::journal::sqlite::repeats::joins::{join, join_open};
use crate::journal::sqlite::repeats::on_record::{UNFINISHED, other};
use crate::journal::sqlite::repeats::vouched::Vouched;
use crate::journal::{BillRival, BillRow, Error};
use crate::ledger::repeats::{holds_bill, is_same_account};

/// Names for each row without an amount a row that holds its bill, if there is one.
pub(in crate::journal::sqlite) fn name_rivals(
    c: &Connection,
    batch_id: BatchId,
    rows: &mut [BillRow],
) -> Result<(), Error> {
    let (Some(key), false) = (Key::of(c)?, rows.is_empty()) else {
        return Ok(());
    };
    let mut instructions = Vec::with_capacity(rows.len());
    let mut entries: Vec<Entry> = Vec::with_capacity(rows.len());
    for (place, row) in (0_u64..).zip(rows.iter()) {
        let instruction = instruction(c, row.seq)?;
        entries.push(entry_of(key.of_account(&instruction)) | place);
        instructions.push(instruction);
    }
    entries.sort_unstable();
    // The first one is named, so that it is the same one each time.
    let mut found: Vec<Option<PaymentId>> = vec![None; rows.len()];
    let vouched = Vouched::default();
    for load_id in loads(c, batch_id)? {
        let mut compare = |entries: &[Entry], seqs: &[(PaymentId, Entry)]| {
            for (seq, _) in seqs {
                let Some(other) = other(c, &vouched, *seq)? else {
                    continue;
                };
                let (its_batch, _) = place(c, *seq)?;
                for entry in entries {
                    let at = usize::try_from(place_of(*entry)).unwrap_or_default();
                    let own = rows[at].seq;
                    let waits = other.row.money.amount.is_none();
                    let holds =
                        holds_bill(other.standing, its_batch == batch_id, *seq < own, waits);
                    if own != *seq && holds && is_same_account(&instructions[at], &other.row) {
                        let first = found[at].map_or(*seq, |known| known.min(*seq));
                        found[at] = Some(first);
                    }
                }
            }
            Ok(())
        };
        join(c, load_id, &entries, &mut compare)?;
        join_open(c, load_id, &entries, true, &mut compare)?;
    }
    for (row, rival) in rows.iter_mut().zip(found) {
        let Some(seq) = rival else { continue };
        let (its_batch, line) = place(c, seq)?;
        row.rival = Some(BillRival {
            batch: match its_batch == batch_id {
                true => None,
                false => Some(name_of(c, its_batch)?),
            },
            line: line.unsigned_abs(),
        });
    }
    Ok(())
}

pub(in crate::journal::sqlite) fn instruction(
    c: &Connection,
    seq: PaymentId,
) -> Result<Instruction<Stored>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS} from instruction i join service s using (service_id) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt("a row without its instruction"))?;
    Ok(stored_of(row, 0)?.instruction)
}

/// Loads of the batch itself, and those of others that something is unfinished of: what has ended holds no bill of another
/// batch. A rehearsal and a payment hold none of each other.
fn loads(c: &Connection, batch_id: BatchId) -> Result<Vec<LoadId>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select l.load_id from load l cross join batch b on b.batch_id = l.batch_id cross join batch own on own.batch_id = ?1
         where l.accepted > 0 and (l.batch_id = ?1
             or coalesce(b.rehearsal, b.gateway like 'sandbox %', 0) = 0 and coalesce(own.rehearsal, own.gateway like 'sandbox %', 0) = 0
                 and exists (select 1 from tally t where t.batch_id = l.batch_id and t.count > 0 and t.state in {UNFINISHED}))
         order by l.load_id"
    ))?;
    let loads = statement.query_map([batch_id], |row| row.get(0))?;
    Ok(loads.collect::<Result<_, _>>()?)
}

/// The batch of a row, and its line.
fn place(c: &Connection, seq: PaymentId) -> Result<(BatchId, i64), Error> {
    Ok(
        c.prepare_cached("select batch_id, line from instruction where seq = ?1")?
            .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?,
    )
}

fn name_of(c: &Connection, batch_id: BatchId) -> Result<String, Error> {
    Ok(
        c.prepare_cached("select name from batch where batch_id = ?1")?
            .query_row([batch_id], |row| row.get(0))?,
    )
}
