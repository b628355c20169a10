//! What the fingerprints of a file have in common with those of a load on record.

use std::ops::ControlFlow;

use super::fingerprints::{
    AMOUNT_BITS, Entry, PLACE_BITS, account_of, entries_of, hash_of, is_of_payment, is_open,
    place_of, signed,
};
use crate::domain::{LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::store::tables::{fingerprints, instruction};
use crate::store::{Column, Read, Reads, Scan, Value};

/// The fingerprints of a load on record, a chunk at a time.
struct Recorded<'c> {
    c: &'c dyn Read,
    load_id: LoadId,
    /// What the chunk that is in memory begins with, as it is stored.
    least: i64,
    first: i64,
    chunk: Vec<Entry>,
    at: usize,
}

impl<'c> Recorded<'c> {
    fn of(c: &'c dyn Read, load_id: LoadId) -> Self {
        Self {
            c,
            load_id,
            least: 0,
            first: 0,
            chunk: Vec::new(),
            at: 0,
        }
    }

    fn current(&self) -> Option<Entry> {
        self.chunk.get(self.at).copied()
    }

    /// Goes to the first entry that is not less than this one.
    fn seek(&mut self, entry: Entry) -> Result<(), Error> {
        if self.chunk.last().is_none_or(|last| *last < entry) {
            if !self.read_up_to(signed(entry))? && !self.read_after(signed(entry))? {
                return Ok(());
            }
            self.at = 0;
        }
        self.at += self.chunk[self.at..].partition_point(|known| *known < entry);
        if self.at == self.chunk.len() {
            self.next_chunk()?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.at += 1;
        match self.at == self.chunk.len() {
            true => self.next_chunk(),
            false => Ok(()),
        }
    }

    fn next_chunk(&mut self) -> Result<(), Error> {
        let least = self.least;
        self.read_after(least)?;
        Ok(())
    }

    fn read_up_to(&mut self, bound: i64) -> Result<bool, Error> {
        let load_id = self.load_id;
        let chunks = Scan::by(&fingerprints::fingerprints_by_load).at(&load_id);
        self.read(&chunks.up_to(&bound).descending())
    }

    fn read_after(&mut self, bound: i64) -> Result<bool, Error> {
        let load_id = self.load_id;
        let chunks = Scan::by(&fingerprints::fingerprints_by_load).at(&load_id);
        self.read(&chunks.after(&bound))
    }

    fn read(&mut self, chunks: &Scan<'_>) -> Result<bool, Error> {
        const COLUMNS: [Column; 3] = [
            fingerprints::least,
            fingerprints::first_seq,
            fingerprints::entries,
        ];
        self.chunk.clear();
        self.at = 0;
        let c = self.c;
        c.each_row(chunks, &COLUMNS, |row| {
            (self.least, self.first) = (row.get(0)?, row.get(1)?);
            let Value::Bytes(bytes) = row.value(2)? else {
                return Err(corrupt("fingerprints that cannot be read"));
            };
            self.chunk.extend(entries_of(&bytes));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(!self.chunk.is_empty())
    }
}

/// Rows on record that are handed over at once.
pub(in crate::journal) const TOGETHER: usize = 1024;

/// Finds the hashes that a slice and a load on record have in common: hands over the entries of the slice that have one, and
/// the instructions on record, each with its own entry, no more than [`TOGETHER`] at once.
pub(in crate::journal) fn join(
    c: &dyn Read,
    load_id: LoadId,
    slice: &[Entry],
    mut found: impl FnMut(&[Entry], &[(PaymentId, Entry)]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut recorded = Recorded::of(c, load_id);
    let mut rest = slice;
    while let Some(entry) = rest.first() {
        let hash = hash_of(*entry);
        recorded.seek(hash << PLACE_BITS)?;
        let Some(known) = recorded.current() else {
            return Ok(());
        };
        if hash_of(known) > hash {
            rest = &rest[until(rest, hash_of(known))..];
            continue;
        }
        let (group, later) = rest.split_at(until(rest, hash + 1));
        let mut seqs = Vec::new();
        while let Some(known) = recorded.current().filter(|known| hash_of(*known) == hash) {
            seqs.push((PaymentId::new(recorded.first + place_of(known)), known));
            recorded.advance()?;
            if seqs.len() == TOGETHER {
                found(group, &seqs)?;
                seqs.clear();
            }
        }
        if !seqs.is_empty() {
            found(group, &seqs)?;
        }
        rest = later;
    }
    Ok(())
}

/// Finds the pairs of one recipient and service of which one at least waits for its amount, as [`join`] does; `recorded_open`:
/// such rows may be on record.
pub(in crate::journal) fn join_open(
    c: &dyn Read,
    load_id: LoadId,
    slice: &[Entry],
    recorded_open: bool,
    mut found: impl FnMut(&[Entry], &[(PaymentId, Entry)]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut recorded = Recorded::of(c, load_id);
    let payments = &slice[slice.partition_point(|entry| !is_of_payment(*entry))..];
    for group in payments.chunk_by(|a, b| account_of(*a) == account_of(*b)) {
        let (open, priced) = group.split_at(group.partition_point(|entry| is_open(*entry)));
        if open.is_empty() && !recorded_open {
            continue;
        }
        let account = account_of(group[0]);
        recorded.seek(account << (PLACE_BITS + AMOUNT_BITS))?;
        let mut seqs = Vec::new();
        let mut seqs_open = true;
        while let Some(known) = recorded
            .current()
            .filter(|known| account_of(*known) == account)
        {
            // Two that wait have the same hash, which `join` finds.
            if seqs_open != is_open(known) || seqs.len() == TOGETHER {
                let partners = if seqs_open { priced } else { open };
                if !partners.is_empty() && !seqs.is_empty() {
                    found(partners, &seqs)?;
                }
                seqs.clear();
            }
            seqs_open = is_open(known);
            if !seqs_open && open.is_empty() {
                break;
            }
            seqs.push((PaymentId::new(recorded.first + place_of(known)), known));
            recorded.advance()?;
        }
        let partners = if seqs_open { priced } else { open };
        if !partners.is_empty() && !seqs.is_empty() {
            found(partners, &seqs)?;
        }
    }
    Ok(())
}

/// Returns how many entries of a slice are of an account that a load on record has paid, or is to pay.
pub(in crate::journal) fn count_accounts(
    c: &dyn Read,
    load_id: LoadId,
    slice: &[Entry],
) -> Result<u64, Error> {
    let mut recorded = Recorded::of(c, load_id);
    let mut count = 0;
    let payments = &slice[slice.partition_point(|entry| !is_of_payment(*entry))..];
    for group in payments.chunk_by(|a, b| account_of(*a) == account_of(*b)) {
        let account = account_of(group[0]);
        recorded.seek(account << (PLACE_BITS + AMOUNT_BITS))?;
        match recorded.current().map(account_of) {
            None => break,
            Some(known) if known == account => count += group.len() as u64,
            Some(_) => {}
        }
    }
    Ok(count)
}

/// Returns whether a journal has rows whose amount came from a bill, or is to come from it.
pub(in crate::journal) fn has_open(c: &dyn Read) -> Result<bool, Error> {
    Ok(c.any(&Scan::by(&instruction::taken_from_bill))?)
}

/// Returns how many entries stand before the first one of this hash or a greater one.
// Most often it is near.
fn until(entries: &[Entry], hash: u64) -> usize {
    let is_before = |entry: &Entry| hash_of(*entry) < hash;
    let mut reach = 1;
    while entries.get(reach - 1).is_some_and(is_before) {
        reach *= 2;
    }
    let known = reach / 2;
    let window = &entries[known..entries.len().min(reach)];
    known + window.partition_point(is_before)
}
