//! Mended rows without references: each is the payment that its rejected row became before, or one of its own, and never that of
//! another row. The rule is in [`crate::ledger::mended::nameless`].

use std::collections::{BTreeMap, BTreeSet};

use super::job::Load;
use super::prepare::identifier;
use super::sorted::Sorted;
use crate::domain::{Instruction, PaymentId};
use crate::journal::codec::catalog::{batch_of, find};
use crate::journal::codec::values::Stored;
use crate::journal::repeats::on_record::Other;
use crate::journal::{CrossRowError, Error};
use crate::ledger::correction::{Corrects, RejectedName};
use crate::ledger::mended::{Nameless, nameless};

/// Such rows of a file, until every other row has its place.
#[derive(Default)]
pub(in crate::journal) struct NamelessRows {
    seqs: Vec<PaymentId>,
}

impl NamelessRows {
    /// Takes in a row that is one.
    pub(in crate::journal) fn take(
        &mut self,
        load: &Load<'_>,
        seq: PaymentId,
    ) -> Result<bool, Error> {
        let is_one = load.corrections.corrects(seq) && load.instruction(seq)?.reference.is_none();
        if is_one {
            self.seqs.push(seq);
        }
        Ok(is_one)
    }

    /// Gives each its place, in the order of the file.
    pub(in crate::journal) fn sort_out(
        mut self,
        load: &mut Load<'_>,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        self.seqs.sort_unstable();
        let (mut claimed, mut equal) = (BTreeSet::new(), BTreeMap::new());
        for seq in self.seqs {
            load.place_nameless(seq, &mut claimed, &mut equal, sorted)?;
        }
        Ok(())
    }
}

impl Load<'_> {
    /// `claimed`: payments that rows above it are; `equal`: how many payments have a content, as far as it is known.
    fn place_nameless(
        &mut self,
        seq: PaymentId,
        claimed: &mut BTreeSet<PaymentId>,
        equal: &mut BTreeMap<[u8; 32], u32>,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let row = self.instruction(seq)?;
        let hash = row.content_hash();
        let mut there = Vec::new();
        for payment in self.took_its_place(seq)? {
            if !claimed.contains(&payment) && self.instruction(payment)?.content_hash() == hash {
                there.push(payment);
            }
        }
        // The first payment with its content, and the first identifier that none has.
        let with = |above| identifier(&self.scheme, self.plan, &row, hash, above);
        let first = find(self.c, with(0))?;
        match nameless(&there, first.is_some(), self.plan.allow_equal_rows) {
            Nameless::There(payment) => {
                claimed.insert(payment);
                self.is_there(seq, payment, sorted)
            }
            Nameless::Doubtful => {
                let (line, file) = self.place_of(first.unwrap_or(seq))?;
                let message = format!(
                    "equal to line {line} of {file}, another row of this batch: one mistake or two payments? Remove this row if it is the same \
                     payment; if both are to be paid, add --allow-equal-rows"
                );
                let error = CrossRowError {
                    line: row.line,
                    good_row: self.good_row(seq),
                    column: "",
                    message,
                    digest: hash,
                };
                self.set_aside(seq, &row, error, sorted)
            }
            Nameless::Own => {
                let mut above = equal.get(&hash).copied().unwrap_or(0);
                while find(self.c, with(above))?.is_some() {
                    above += 1;
                }
                equal.insert(hash, above + 1);
                let id = with(above);
                if above > 0 {
                    self.altered = true;
                    self.corrections.is_beside_its_equal(seq);
                    self.rename(seq, id)?;
                }
                self.name(seq, id)?;
                Ok(())
            }
        }
    }

    /// Returns the payments that took the place of rejected rows with the name that a row says.
    fn took_its_place(&self, seq: PaymentId) -> Result<Vec<PaymentId>, Error> {
        let Some(Corrects::Rejected(written)) = self.corrections.named_by(seq) else {
            return Ok(Vec::new());
        };
        match RejectedName::parse(written) {
            Some(name) => {
                let (_, candidates) = self.rejected_rows(&name)?;
                Ok(candidates.iter().filter_map(|row| row.taken_by).collect())
            }
            None => Ok(Vec::new()),
        }
    }

    /// Returns whether a row was let in beside one of its own batch that is equal to it: no repeat of that one then.
    pub(in crate::journal) fn is_told_apart(
        &self,
        (seq, row): (PaymentId, &Instruction<Stored>),
        other: &Other,
    ) -> Result<bool, Error> {
        Ok(self.corrections.stands_beside_its_equal(seq)
            && row.content_hash() == other.row.content_hash()
            && batch_of(self.c, other.seq)? == self.batch_id)
    }
}
