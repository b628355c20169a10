//! Fingerprints of rows: what tells, without a look at every row on record, which of them may be of the same debt.
//!
//! A row has two: a keyed hash of its reference, and one of its recipient, amount and service. Those of a load are kept sorted,
//! so that another load is compared with them in one pass. What they find is only a candidate: rows are compared in full.
//! Rows of one recipient and service are neighbours, those whose amount waits for a bill before the others: such a row is
//! compared with all of them.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::{AmountField, Instruction, LoadId, PaymentId, ServiceCode};
use crate::journal::Error;
use crate::journal::codec::facts::{fact, note_new};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::salt;
use crate::ledger::likeness::of_reference;
use crate::ledger::repeats::recipient;
use crate::store::tables::{fingerprints, instruction};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// Under this name `meta` has the key of the hashes.
const KEY: &str = "fingerprints";

/// Bits of an entry below its hash: whether its row has a reference, and where that stands in its load.
pub(in crate::journal) const PLACE_BITS: u32 = 30;
const NAMED: Entry = 1 << (PLACE_BITS - 1);
/// Entries of a part that wait in memory; there are as many parts as an entry's first byte has values.
const WAITING: usize = 512;
const BLOCK_BYTES: usize = WAITING * 8;
const PARTS: usize = 256;
/// Entries that are sorted at once.
const SLICE: usize = 64 * 1024;
/// Entries of one row of the journal: they fill a page.
const CHUNK: usize = 500;

/// A hash (34 bits), whether its row has a reference (1 bit), and its place (29 bits). The first bit of a hash says what it is of:
/// a reference, or (set) a payment, whose next 24 bits are of recipient, service and currency, and the last 9 of the amount.
pub(in crate::journal) type Entry = u64;

const OF_PAYMENT: u64 = 1 << 33;
pub(in crate::journal) const AMOUNT_BITS: u32 = 9;
/// Amounts have numbers from 1 on; 0 is one that waits for its bill.
const AMOUNTS: u64 = (1 << AMOUNT_BITS) - 1;

/// Returns the entry of a hash, of the first row.
pub(in crate::journal) fn entry_of(hash: u64) -> Entry {
    hash << PLACE_BITS
}

/// Returns the hash of an entry.
pub(in crate::journal) fn hash_of(entry: Entry) -> u64 {
    entry >> PLACE_BITS
}

/// Returns whether an entry is of recipient, amount and service.
pub(in crate::journal) fn is_of_payment(entry: Entry) -> bool {
    hash_of(entry) & OF_PAYMENT != 0
}

/// Returns what the entries of one recipient, service and currency have in common.
pub(in crate::journal) fn account_of(entry: Entry) -> u64 {
    hash_of(entry) >> AMOUNT_BITS
}

/// Returns whether an entry is of a payment whose amount waits for a bill.
pub(in crate::journal) fn is_open(entry: Entry) -> bool {
    is_of_payment(entry) && hash_of(entry) & AMOUNTS == 0
}

/// Returns the place of an entry's row among the instructions of its load, from 0.
pub(in crate::journal) fn place_of(entry: Entry) -> i64 {
    (entry & (NAMED - 1)).cast_signed()
}

/// Returns whether the row of an entry has a reference.
pub(in crate::journal) fn is_named(entry: Entry) -> bool {
    entry & NAMED != 0
}

fn named<M>(row: &Instruction<M>) -> Entry {
    if row.reference.is_some() { NAMED } else { 0 }
}

/// The key of a journal's hashes: who writes a file cannot aim at one.
#[derive(Clone, Copy, Debug)]
pub(in crate::journal) struct Key([u64; 2]);

impl Key {
    /// Returns the key of a journal; `None` when nothing was ever loaded there.
    pub(in crate::journal) fn of(c: &dyn Read) -> Result<Option<Self>, Error> {
        let found: Option<[u8; 16]> = fact(c, KEY)?;
        Ok(found.map(|bytes| {
            let bits = u128::from_le_bytes(bytes);
            #[allow(clippy::cast_possible_truncation, reason = "its two halves")]
            Self([bits as u64, (bits >> 64) as u64])
        }))
    }

    /// Returns the key of a journal, which has one from now on.
    pub(in crate::journal) fn made(c: &dyn Write) -> Result<Self, Error> {
        if let Some(known) = Self::of(c)? {
            return Ok(known);
        }
        if c.any(&Scan::of(&fingerprints::TABLE))? {
            return Err(Error::AlteredLoad {
                what: "the key of its fingerprints is gone".to_owned(),
            });
        }
        note_new(c, KEY, &salt::fresh()?)?;
        Self::of(c)?.ok_or_else(|| corrupt("fingerprints without a key"))
    }

    fn of_reference(self, reference: &str) -> u64 {
        siphash::<1, 3>(self.0, of_reference(reference).as_bytes()) >> (PLACE_BITS + 1)
    }

    fn of_payment<M: AmountField>(
        self,
        row: &Instruction<M>,
        service: &ServiceCode,
        amount: Option<i64>,
        bytes: &mut Vec<u8>,
    ) -> u64 {
        let (account, bank) = recipient(row);
        bytes.clear();
        for part in [
            row.money.currency().code(),
            service.as_str(),
            &bank,
            &account,
        ] {
            bytes.extend_from_slice(part.as_bytes());
            bytes.push(0);
        }
        let account = siphash::<1, 3>(self.0, bytes) >> (PLACE_BITS + 1 + AMOUNT_BITS);
        // Few as they are, anybody can find two amounts of one number; a product spreads them.
        let amount = amount.map_or(0, |minor| {
            let spread = (minor.cast_unsigned() ^ self.0[0]).wrapping_mul(self.0[1] | 1);
            1 + (spread >> 32) % AMOUNTS
        });
        OF_PAYMENT | account << AMOUNT_BITS | amount
    }

    /// Returns the pseudonym of what these texts say: nobody without the key can try out what it stands for.
    pub(in crate::journal) fn pseudonym(self, parts: &[&str]) -> String {
        let key: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        let digest = mac.finalize().into_bytes();
        data_encoding::BASE32_NOPAD.encode(&digest[..15])
    }

    /// Returns the hash of a row whose amount is not known yet.
    pub(in crate::journal) fn of_account<M: AmountField>(self, row: &Instruction<M>) -> u64 {
        self.of_payment(row, &row.service, None, &mut Vec::new())
    }

    /// Makes it the key of a journal that has none: what is loaded there is compared with another one.
    pub(in crate::journal) fn keep(self, c: &dyn Write) -> Result<(), Error> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0[0].to_le_bytes());
        bytes[8..].copy_from_slice(&self.0[1].to_le_bytes());
        note_new(c, KEY, &bytes)
    }

    /// Returns the hashes of a row, whose amount is the one that its file has.
    pub(in crate::journal) fn hashes<M: AmountField>(
        self,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Vec<u64> {
        let reference = row
            .reference
            .as_ref()
            .map(|r| self.of_reference(r.as_str()));
        let payment = self.of_payment(row, &row.service, amount, &mut Vec::new());
        reference.into_iter().chain([payment]).collect()
    }
}

/// Takes in the rows of a load in their order, in bounded memory.
pub(in crate::journal) struct Collector {
    key: Key,
    bytes: Vec<u8>,
    /// By the first byte of an entry.
    parts: Vec<Vec<Entry>>,
    /// The same, in the file: the numbers of blocks of [`WAITING`] entries.
    spilled: Vec<Vec<u32>>,
    file: Option<File>,
    blocks: u32,
    entries: usize,
}

impl Collector {
    pub(in crate::journal) fn new(key: Key) -> Self {
        Self {
            key,
            bytes: Vec::new(),
            parts: vec![Vec::new(); PARTS],
            spilled: vec![Vec::new(); PARTS],
            file: None,
            blocks: 0,
            entries: 0,
        }
    }

    /// Takes in the row at a place of its load.
    pub(in crate::journal) fn row<M: AmountField>(
        &mut self,
        place: u64,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<(), Error> {
        if place >= NAMED {
            return Err(unwritable("a load has more than 536,870,912 rows"));
        }
        if let Some(reference) = &row.reference {
            let hash = self.key.of_reference(reference.as_str());
            self.push(hash << PLACE_BITS | NAMED | place)?;
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        let hash = self.key.of_payment(row, &row.service, amount, &mut bytes);
        self.bytes = bytes;
        self.push(hash << PLACE_BITS | named(row) | place)
    }

    /// Takes in the row at a place as it would be through each of these services but its own.
    pub(in crate::journal) fn row_through_others<M: AmountField>(
        &mut self,
        place: u64,
        row: &Instruction<M>,
        amount: Option<i64>,
        services: &[ServiceCode],
    ) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut self.bytes);
        for service in services.iter().filter(|service| **service != row.service) {
            let hash = self.key.of_payment(row, service, amount, &mut bytes);
            self.push(hash << PLACE_BITS | named(row) | place)?;
        }
        self.bytes = bytes;
        Ok(())
    }

    fn push(&mut self, entry: Entry) -> Result<(), Error> {
        self.entries += 1;
        let at = part_of(entry);
        let part = &mut self.parts[at];
        part.push(entry);
        if part.len() < WAITING {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(unwritable)?),
        };
        let mut bytes = [0; BLOCK_BYTES];
        for (to, entry) in bytes.chunks_exact_mut(8).zip(part.iter()) {
            to.copy_from_slice(&entry.to_le_bytes());
        }
        file.write_all_at(&bytes, u64::from(self.blocks) * BLOCK_BYTES as u64)
            .map_err(unwritable)?;
        part.clear();
        self.spilled[at].push(self.blocks);
        self.blocks += 1;
        Ok(())
    }

    /// Hands over all entries in their order, in slices that part no two of the same hash, nor of the same recipient and service.
    pub(in crate::journal) fn each_slice(
        &mut self,
        mut take: impl FnMut(&[Entry]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut slice = Vec::new();
        for part in 0..PARTS {
            // A part that is too long is gone through several times, by further bits of its entries.
            let length = self.spilled[part].len() * WAITING + self.parts[part].len();
            let passes = (length.div_ceil(SLICE) as u64).next_power_of_two();
            for pass in 0..passes {
                let from = slice.len();
                self.read(part, (pass, passes), &mut slice)?;
                slice[from..].sort_unstable();
                if slice.len() >= SLICE {
                    take(&slice)?;
                    slice.clear();
                }
            }
        }
        match slice.is_empty() {
            true => Ok(()),
            false => take(&slice),
        }
    }

    fn read(
        &self,
        part: usize,
        (pass, passes): (u64, u64),
        to: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        // The bits behind the first byte.
        let is_due = |entry: &Entry| (((entry << 8) >> 32) * passes) >> 32 == pass;
        if let Some(file) = &self.file {
            let mut bytes = [0; BLOCK_BYTES];
            for block in &self.spilled[part] {
                file.read_exact_at(&mut bytes, u64::from(*block) * BLOCK_BYTES as u64)
                    .map_err(unwritable)?;
                to.extend(entries_of(&bytes).filter(is_due));
            }
        }
        to.extend(self.parts[part].iter().copied().filter(is_due));
        Ok(())
    }
}

fn part_of(entry: Entry) -> usize {
    usize::from(entry.to_be_bytes()[0])
}

pub(in crate::journal) fn entries_of(bytes: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    bytes
        .chunks_exact(8)
        .map(|entry| Entry::from_le_bytes(entry.try_into().unwrap_or_default()))
}

/// An entry as a column keeps it: in the same order, with a sign.
pub(in crate::journal) fn signed(entry: Entry) -> i64 {
    (entry ^ (1 << 63)).cast_signed()
}

shape! {
    /// Fingerprints of a load that follow one another.
    struct Chunk of fingerprints { load_id: LoadId, least: i64, first_seq: i64, entries: Vec<u8> }
}

/// Writes the fingerprints of a load.
pub(in crate::journal) struct Store<'c> {
    c: &'c dyn Write,
    load_id: LoadId,
    /// Its first instruction.
    first: i64,
    chunk: Vec<u8>,
    least: Entry,
}

impl<'c> Store<'c> {
    pub(in crate::journal) fn new(c: &'c dyn Write, load_id: LoadId, first: i64) -> Self {
        Self {
            c,
            load_id,
            first,
            chunk: Vec::with_capacity(CHUNK * 8),
            least: 0,
        }
    }

    pub(in crate::journal) fn take(&mut self, slice: &[Entry]) -> Result<(), Error> {
        for entry in slice {
            if self.chunk.is_empty() {
                self.least = *entry;
            }
            self.chunk.extend_from_slice(&entry.to_le_bytes());
            if self.chunk.len() == CHUNK * 8 {
                self.flush()?;
            }
        }
        Ok(())
    }

    pub(in crate::journal) fn flush(&mut self) -> Result<(), Error> {
        if !self.chunk.is_empty() {
            let mut chunk = Chunk {
                load_id: self.load_id,
                least: signed(self.least),
                first_seq: self.first,
                entries: std::mem::take(&mut self.chunk),
            };
            self.c.append(&chunk)?;
            chunk.entries.clear();
            self.chunk = chunk.entries;
        }
        Ok(())
    }
}

/// Makes the fingerprints of what an earlier version loaded.
pub(in crate::journal) fn fill(c: &dyn Write) -> Result<(), Error> {
    let key = Key::made(c)?;
    let rows = Scan::of(&instruction::TABLE).only(instruction::generation, Test::is(&0_i64));
    // The rows of a load follow one another; retries come between those of two loads alone.
    let mut load: Option<(LoadId, i64, Collector)> = None;
    Instructions::of(c).each(&rows, |found| {
        let (load_id, seq) = (found.load_id, found.seq);
        if load
            .as_ref()
            .is_none_or(|(current, ..)| *current != load_id)
        {
            store(c, load.take())?;
            load = Some((load_id, seq.get(), Collector::new(key)));
        }
        if let Some((_, first, collector)) = &mut load {
            let row = found.row.instruction;
            collector.row(
                (seq.get() - *first).unsigned_abs(),
                &row,
                row.money.written(),
            )?;
        }
        Ok(())
    })?;
    store(c, load)
}

fn store(c: &dyn Write, load: Option<(LoadId, i64, Collector)>) -> Result<(), Error> {
    let Some((load_id, first, mut collector)) = load else {
        return Ok(());
    };
    let mut store = Store::new(c, load_id, first);
    collector.each_slice(|slice| store.take(slice))?;
    store.flush()
}

/// SipHash with C rounds for each word and D at the end, by Aumasson and Bernstein.
fn siphash<const C: usize, const D: usize>(key: [u64; 2], bytes: &[u8]) -> u64 {
    fn round(v: &mut [u64; 4]) {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let mut take = |word: u64| {
        v[3] ^= word;
        (0..C).for_each(|_| round(&mut v));
        v[0] ^= word;
    };
    let words = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    for word in words {
        take(u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    take(u64::from_le_bytes(last) | (bytes.len() as u64) << 56);
    v[2] ^= 0xff;
    (0..D).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn unwritable(cause: impl std::fmt::Display) -> Error {
    Error::Scratch {
        cause: cause.to_string(),
    }
}

/// Returns how many rows the fingerprints of a load take.
pub(in crate::journal) fn chunks_of(c: &dyn Read, load_id: LoadId) -> Result<i64, Error> {
    let chunks = c.count(&Scan::by(&fingerprints::fingerprints_by_load).at(&load_id))?;
    Ok(i64::try_from(chunks).unwrap_or(i64::MAX))
}

/// Returns the first instruction that fingerprints of a load count their places from; `None` where it has none.
pub(in crate::journal) fn first_of(
    c: &dyn Read,
    load_id: LoadId,
) -> Result<Option<PaymentId>, Error> {
    let chunks = Scan::by(&fingerprints::fingerprints_by_load).at(&load_id);
    let mut first: Option<PaymentId> = None;
    c.each_row(&chunks, &[fingerprints::first_seq], |row| {
        let seq = row.get(0)?;
        first = Some(first.map_or(seq, |first| first.min(seq)));
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(first)
}

#[cfg(test)]
mod tests;
