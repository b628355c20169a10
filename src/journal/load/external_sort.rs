//! The identifiers of a load in their order, in bounded memory.

use std::sync::mpsc::{Receiver, sync_channel};

use super::sorter::{Merge, Sorter, unwritable};
use crate::domain::{IDENTIFIER_PACKED, IdentifierForm, PayerTransactionId};
use crate::journal::Error;

const ID: usize = IDENTIFIER_PACKED;
const BYTES: usize = ID + 6 + 8;

/// Where an instruction of a load stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) struct Entry {
    pub(in crate::journal) id: PayerTransactionId,
    /// Its place among the instructions of the load, from 0.
    pub(in crate::journal) place: u64,
    pub(in crate::journal) line: u64,
}

/// An entry as it is compared: identifier, place, line.
type Packed = [u8; BYTES];

impl Entry {
    fn pack(self, form: &IdentifierForm) -> Packed {
        let mut bytes = [0; BYTES];
        bytes[..ID].copy_from_slice(&form.pack(&self.id));
        bytes[ID..ID + 6].copy_from_slice(&self.place.to_be_bytes()[2..]);
        bytes[ID + 6..].copy_from_slice(&self.line.to_be_bytes());
        bytes
    }

    fn unpack(bytes: &Packed, form: &IdentifierForm) -> Option<Self> {
        let mut place = [0; 8];
        place[2..].copy_from_slice(&bytes[ID..ID + 6]);
        Some(Self {
            id: form.unpack(bytes[..ID].try_into().ok()?)?,
            place: u64::from_be_bytes(place),
            line: u64::from_be_bytes(bytes[ID + 6..].try_into().ok()?),
        })
    }
}

/// Takes entries in any order.
pub(in crate::journal) struct Order {
    form: IdentifierForm,
    sorter: Sorter<BYTES>,
}

impl Order {
    pub(in crate::journal) fn new(form: &IdentifierForm) -> Self {
        Self {
            form: form.clone(),
            sorter: Sorter::default(),
        }
    }

    #[cfg(test)]
    fn with_runs_of(form: &IdentifierForm, run_max: usize) -> Self {
        Self {
            form: form.clone(),
            sorter: Sorter::with_runs_of(run_max),
        }
    }

    pub(in crate::journal) fn push(&mut self, entry: Entry) -> Result<(), Error> {
        self.sorter.push(entry.pack(&self.form))
    }

    /// Returns all entries in the order of identifier and place.
    pub(in crate::journal) fn sorted(self) -> Result<Entries, Error> {
        Ok(Entries {
            form: self.form,
            merge: self.sorter.sorted()?,
        })
    }
}

/// The entries in their order.
pub(in crate::journal) struct Entries {
    form: IdentifierForm,
    merge: Merge<BYTES>,
}

/// Entries that the thread which merges hands over at once, and how often it is ahead by so many.
const BLOCK: usize = 1024;
const BLOCKS: usize = 4;

/// The entries in their order; merged by a thread of its own where there is something to merge.
pub(in crate::journal) enum InOrder {
    Here(Entries),
    Ahead {
        block: std::vec::IntoIter<Entry>,
        blocks: Receiver<Result<Vec<Entry>, Error>>,
        /// The last one is here.
        ends: bool,
    },
}

impl Entries {
    /// Begins to merge.
    pub(in crate::journal) fn begin(mut self) -> Result<InOrder, Error> {
        if self.merge.is_in_memory() {
            return Ok(InOrder::Here(self));
        }
        let (sender, blocks) = sync_channel(BLOCKS);
        std::thread::Builder::new()
            .name("merge".into())
            .spawn(move || {
                loop {
                    let block = self.block();
                    let ends = !matches!(&block, Ok(block) if block.len() == BLOCK);
                    // Nobody listens to a load that has failed.
                    if sender.send(block).is_err() || ends {
                        break;
                    }
                }
            })
            .map_err(unwritable)?;
        Ok(InOrder::Ahead {
            block: Vec::new().into_iter(),
            blocks,
            ends: false,
        })
    }

    /// Returns the next entries; fewer than [`BLOCK`] are the last ones.
    fn block(&mut self) -> Result<Vec<Entry>, Error> {
        let mut block = Vec::with_capacity(BLOCK);
        while block.len() < BLOCK
            && let Some(entry) = self.next()?
        {
            block.push(entry);
        }
        Ok(block)
    }

    fn next(&mut self) -> Result<Option<Entry>, Error> {
        let packed = self.merge.next()?;
        packed
            .map(|packed| {
                Entry::unpack(&packed, &self.form).ok_or_else(|| unwritable("it reads otherwise"))
            })
            .transpose()
    }
}

impl InOrder {
    pub(in crate::journal) fn next(&mut self) -> Result<Option<Entry>, Error> {
        match self {
            Self::Here(merge) => merge.next(),
            Self::Ahead {
                block,
                blocks,
                ends,
            } => loop {
                if let Some(entry) = block.next() {
                    return Ok(Some(entry));
                }
                if *ends {
                    return Ok(None);
                }
                // A thread that breaks off must not pass for one that has come to the end.
                let broken = || unwritable("the thread that merges it broke off");
                let next = blocks.recv().map_err(|_| broken())??;
                *ends = next.len() < BLOCK;
                *block = next.into_iter();
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(form: &IdentifierForm, number: u8) -> PayerTransactionId {
        form.write(&[number.wrapping_mul(91); 32])
    }

    #[test]
    fn entries_come_in_the_order_of_identifier_and_place_however_many_runs_they_fill() {
        let mut random = fastrand::Rng::with_seed(8);
        let forms = ["{base32:26}", "PAY-{base32:16}", "x{uuid}"];
        for (count, form) in [0, 1, 7, 8, 9, 16, 100, 1024, 2047, 2048, 5000]
            .into_iter()
            .zip(forms.iter().cycle())
        {
            let form = IdentifierForm::parse(form).unwrap();
            let mut order = Order::with_runs_of(&form, 8);
            let mut entries = Vec::new();
            for place in 0..count {
                let entry = Entry {
                    id: id(&form, random.u8(..20)),
                    place,
                    line: random.u64(..),
                };
                order.push(entry).unwrap();
                entries.push(entry);
            }
            let mut merge = order.sorted().unwrap().begin().unwrap();
            let mut found = Vec::new();
            while let Some(entry) = merge.next().unwrap() {
                found.push(entry);
            }
            entries.sort_by_key(|entry| (entry.id, entry.place));
            assert_eq!(found, entries, "{count} entries");
        }
    }
}
