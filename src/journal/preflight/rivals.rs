//! Rows of the same recipient and service as one that is about to take its amount from a bill.

use std::collections::BTreeMap;

use crate::domain::{BatchId, LoadId, PaymentId};
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::values::corrupt;
use crate::journal::repeats::fingerprints::{Entry, Key, entry_of, place_of};
use crate::journal::repeats::joins::{join, join_open};
use crate::journal::repeats::on_record::{Record, has_unfinished, is_rehearsal};
use crate::journal::repeats::vouched::Vouched;
use crate::journal::{BillRival, BillRow, Error};
use crate::ledger::repeats::{holds_bill, is_same_account};
use crate::store::tables::{batch, instruction, load};
use crate::store::{Read, Reads, Scan, Test, shape};

/// Names for each row without an amount a row that holds its bill, if there is one.
pub(in crate::journal) fn name_rivals(
    c: &dyn Read,
    batch_id: BatchId,
    rows: &mut [BillRow],
) -> Result<(), Error> {
    let (Some(key), false) = (Key::of(c)?, rows.is_empty()) else {
        return Ok(());
    };
    let mut instructions = Vec::with_capacity(rows.len());
    let mut entries: Vec<Entry> = Vec::with_capacity(rows.len());
    let record = Record::of(c, Vouched::default());
    for (place, row) in (0_u64..).zip(rows.iter()) {
        let found = record.rows.find(row.seq)?;
        let found = found.ok_or_else(|| corrupt("a row without its instruction"))?;
        let instruction = found.row.instruction;
        entries.push(entry_of(key.of_account(&instruction)) | place);
        instructions.push(instruction);
    }
    entries.sort_unstable();
    // The first one is named, so that it is the same one each time.
    let mut found: Vec<Option<PaymentId>> = vec![None; rows.len()];
    for load_id in loads(c, batch_id)? {
        let mut compare = |entries: &[Entry], seqs: &[(PaymentId, Entry)]| {
            for (seq, _) in seqs {
                let Some(other) = record.other(*seq)? else {
                    continue;
                };
                let its_batch = place(c, *seq)?.batch_id;
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
        let place = place(c, seq)?;
        row.rival = Some(BillRival {
            batch: match place.batch_id == batch_id {
                true => None,
                false => Some(of_batch(c, place.batch_id, batch::name)?),
            },
            line: place.line.unsigned_abs(),
        });
    }
    Ok(())
}

/// Loads of the batch itself, and those of others that something is unfinished of: what has ended holds no bill of another
/// batch. A rehearsal and a payment hold none of each other.
fn loads(c: &dyn Read, batch_id: BatchId) -> Result<Vec<LoadId>, Error> {
    shape! {
        struct Loaded of load { load_id: LoadId, batch_id: BatchId }
    }
    let is_payment = is_rehearsal(c, batch_id)? == Some(false);
    let mut holds: BTreeMap<BatchId, bool> = BTreeMap::from([(batch_id, true)]);
    let mut loads = Vec::new();
    let all = Scan::of(&load::TABLE).only(load::accepted, Test::at_least(&1_i64));
    c.each(&all, |load: Loaded| {
        let may_hold = match holds.get(&load.batch_id) {
            Some(known) => *known,
            None => {
                let found = is_payment
                    && is_rehearsal(c, load.batch_id)? == Some(false)
                    && has_unfinished(c, load.batch_id)?;
                holds.insert(load.batch_id, found);
                found
            }
        };
        if may_hold {
            loads.push(load.load_id);
        }
        Ok::<_, Error>(())
    })?;
    Ok(loads)
}

shape! {
    /// The batch of a row, and its line.
    struct Place of instruction { batch_id: BatchId, line: i64 }
}

fn place(c: &dyn Read, seq: PaymentId) -> Result<Place, Error> {
    let found = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))
}
