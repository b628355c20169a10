//! Rows of a file and rows on record that have a fingerprint in common, gathered before they are compared: a server is asked for the rows
//! of several hundred at once, where each alone would cost some round trips, for which all other hosts would wait.

use super::fingerprints::Entry;
use super::on_record::OnRecord;
use super::sides::Sides;
use crate::domain::PaymentId;
use crate::journal::Error;

/// Rows that are gathered before they are compared.
const TOGETHER: usize = 512;

/// Entries of a file, and instructions of a load on record with theirs.
type Group = (OnRecord, Vec<Entry>, Vec<(PaymentId, Entry)>);

/// What is to be compared.
pub(in crate::journal) struct Gathered<'s, 'a, 'b> {
    sides: &'s Sides<'a, 'b>,
    groups: Vec<Group>,
    rows: usize,
}

impl<'s, 'a, 'b> Gathered<'s, 'a, 'b> {
    pub(in crate::journal) fn of(sides: &'s Sides<'a, 'b>) -> Self {
        Self {
            sides,
            groups: Vec::new(),
            rows: 0,
        }
    }

    /// Compares them, or keeps them for later.
    pub(in crate::journal) fn take(
        &mut self,
        load: OnRecord,
        entries: &[Entry],
        seqs: &[(PaymentId, Entry)],
    ) -> Result<(), Error> {
        // Another journal is read row by row: it is a file.
        if !self.sides.load.c.is_shared() || self.sides.plan.record.is_some() {
            return self.sides.compare(load, entries, seqs);
        }
        self.rows += entries.len() + seqs.len();
        self.groups.push((load, entries.to_vec(), seqs.to_vec()));
        match self.rows >= TOGETHER {
            true => self.compare(),
            false => Ok(()),
        }
    }

    /// Compares what is kept.
    pub(in crate::journal) fn compare(&mut self) -> Result<(), Error> {
        let groups = std::mem::take(&mut self.groups);
        self.rows = 0;
        let kept = groups
            .iter()
            .map(|(load, entries, seqs)| (*load, &entries[..], &seqs[..]));
        self.sides.expect(kept.clone())?;
        kept.into_iter()
            .try_for_each(|(load, entries, seqs)| self.sides.compare(load, entries, seqs))
    }
}
