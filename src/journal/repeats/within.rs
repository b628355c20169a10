//! Rows of a file that look like other rows of it: they are shown, and a person decides.

use super::fingerprints::{Entry, account_of, hash_of, is_of_payment, is_open};
use super::sides::{PaymentKey, Sides, Table, payment_key};
use crate::domain::{Instruction, LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::Stored;
use crate::ledger::likeness::folded;
use crate::ledger::repeats::{is_same_account, reads_alike};

/// Rows with the same hash that further ones are compared with.
const NAMES: usize = 64;

/// So many people are seldom paid at one number.
const PEOPLE: usize = 3;

/// Returns whether a slice has two rows of one recipient and service, or of references with the same hash: most files have none.
pub(in crate::journal) fn may_be_alike(slice: &[Entry]) -> bool {
    slice.windows(2).any(|pair| match is_of_payment(pair[0]) {
        true => account_of(pair[0]) == account_of(pair[1]),
        false => hash_of(pair[0]) == hash_of(pair[1]),
    })
}

impl Sides<'_, '_> {
    /// Looks for equal people among rows of the file with the same recipient, amount and service.
    fn compare_within(&self, entries: &[Entry]) -> Result<(), Error> {
        let mut names: Vec<((PaymentKey, String), PaymentId)> = Vec::new();
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            let name = folded(&row.customer_names);
            if name.is_empty() {
                continue;
            }
            let key = (payment_key(&row), name);
            match names.iter().find(|(known, _)| *known == key) {
                Some((_, first)) => {
                    self.found
                        .add(Table::Alike, seq, LoadId::SAME_FILE, *first)?;
                }
                None if names.len() < NAMES => names.push((key, seq)),
                None => {}
            }
        }
        Ok(())
    }

    /// Looks among rows of the file of one recipient and service for those of which one waits for its bill: it may be due of
    /// what the other one pays.
    fn compare_bills(&self, entries: &[Entry]) -> Result<(), Error> {
        let open = entries.partition_point(|entry| is_open(*entry));
        if open == 0 || entries.len() == 1 {
            return Ok(());
        }
        let mut waiting: Vec<(PaymentId, Instruction<Stored>)> = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let (seq, row) = self.row(*entry)?;
            let same =
                |(_, first): &&(PaymentId, Instruction<Stored>)| is_same_account(first, &row);
            match waiting.iter().find(same) {
                Some((first, _)) => {
                    self.found.add(
                        Table::Alike,
                        seq.max(*first),
                        LoadId::SAME_BILL,
                        seq.min(*first),
                    )?;
                }
                None if place < open && waiting.len() < NAMES => waiting.push((seq, row)),
                None => {}
            }
        }
        Ok(())
    }

    /// Looks among rows of the file of one recipient and service for several names: a number that was filled down a column.
    fn compare_people(&self, entries: &[Entry]) -> Result<(), Error> {
        let mut people: Vec<(String, PaymentId)> = Vec::new();
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            let name = folded(&row.customer_names);
            let is_known = people.iter().any(|(known, _)| *known == name);
            if !name.is_empty() && !is_known && people.len() < NAMES {
                people.push((name, seq));
            }
        }
        if people.len() < PEOPLE {
            return Ok(());
        }
        let first = people[0].1;
        for (_, seq) in &people[1..] {
            self.found
                .add(Table::Alike, *seq, LoadId::SAME_NUMBER, first)?;
        }
        Ok(())
    }

    /// Looks for references that read alike among rows of the file. Those that are the same have their errors.
    fn compare_references(&self, entries: &[Entry]) -> Result<(), Error> {
        let mut known: Vec<(String, PaymentId)> = Vec::new();
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            let Some(reference) = row.reference else {
                continue;
            };
            let reference = reference.as_str();
            match known
                .iter()
                .find(|(other, _)| reads_alike(other, reference))
            {
                Some((other, first)) if other != reference => {
                    self.found
                        .add(Table::Alike, seq, LoadId::SAME_REFERENCE, *first)?;
                }
                None if known.len() < NAMES => known.push((reference.to_owned(), seq)),
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Compares the rows of a slice with one another.
    pub(in crate::journal) fn compare_file(&self, slice: &[Entry]) -> Result<(), Error> {
        for group in slice.chunk_by(|a, b| hash_of(*a) == hash_of(*b)) {
            match is_of_payment(group[0]) {
                true if group.len() > 1 => self.compare_within(group)?,
                false if group.len() > 1 => self.compare_references(group)?,
                true | false => {}
            }
        }
        for group in slice.chunk_by(|a, b| account_of(*a) == account_of(*b)) {
            if is_of_payment(group[0]) {
                self.compare_bills(group)?;
                if group.len() >= PEOPLE {
                    self.compare_people(group)?;
                }
            }
        }
        Ok(())
    }
}
