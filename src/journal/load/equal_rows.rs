//! Corrected rows that nothing tells from other rows of their batch. The rule is in [`crate::ledger::replacement`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::corrections::late;
use super::job::Load;
use crate::domain::{Instruction, LaneId, LoadId, PaymentId, Reference};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{Stored, corrupt};
use crate::journal::repeats::on_record::other;
use crate::journal::repeats::vouched::Vouched;
use crate::journal::{CrossRowError, Error};
use crate::ledger::repeats::{References, is_same_payment};
use crate::ledger::replacement::{Refusal, is_equal_row};
use crate::store::tables::{instruction, load};
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// Where an instruction stands in its file.
    struct Place of instruction { line: i64, load_id: LoadId }
}

/// A row that replaces a failed payment by this file: its place among the corrections, and its number.
type New = (usize, PaymentId);

impl Load<'_> {
    /// Returns the corrected rows that are equal to another row of the batch, each with its error.
    // Their identifiers come from what they replace, so that none of them collides with the row that it is equal to.
    pub(in crate::journal) fn equal_replacements(&self) -> Result<Vec<CrossRowError>, Error> {
        let mut by_amount: BTreeMap<(LaneId, i64), Vec<New>> = BTreeMap::new();
        for (place, link) in self.corrections.placed_links() {
            let key = (link.lane, link.minors.1);
            by_amount.entry(key).or_default().push((place, link.new));
        }
        if self.plan.allow_equal_rows || by_amount.is_empty() {
            return Ok(Vec::new());
        }
        let vouched = Vouched::default();
        let (mut errors, mut told) = (Vec::new(), BTreeSet::new());
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::amount, Test::Present);
        let columns = [
            instruction::seq,
            instruction::service_id,
            instruction::amount,
        ];
        self.c.each_row(&rows, &columns, |row| {
            if let Some(new) = by_amount.get(&(row.get(1)?, row.get(2)?)) {
                self.equal_to(row.get(0)?, new, &vouched, (&mut told, &mut errors))?;
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        errors.sort_by_key(|error| error.line);
        Ok(errors)
    }

    /// Finds the corrected rows that are equal to a row of the batch.
    fn equal_to(
        &self,
        seq: PaymentId,
        new: &[New],
        vouched: &Vouched,
        (told, errors): (&mut BTreeSet<PaymentId>, &mut Vec<CrossRowError>),
    ) -> Result<(), Error> {
        // Of two rows of this file the second one has the error.
        let later = new
            .iter()
            .filter(|(_, new)| *new > seq && !told.contains(new));
        let later: Vec<New> = later.copied().collect();
        if later.is_empty() || self.corrections.replaces(seq) {
            return Ok(());
        }
        for (place, new) in self.like(seq, &later)? {
            let Some(other) = other(self.c, vouched, seq)? else {
                return Err(corrupt("a row that is gone while it is compared"));
            };
            if is_equal_row(References::Missing, true, other.standing) {
                told.insert(new);
                let (line, file) = self.place_of(seq)?;
                let refusal = Refusal::EqualRow(line, file);
                let row = &self.corrections.rows[place];
                errors.push(late(row.line, "replaces", refusal.to_string()));
            }
        }
        Ok(())
    }

    /// Returns those that are the same payment, where one of the two has no reference.
    fn like(&self, seq: PaymentId, new: &[New]) -> Result<Vec<New>, Error> {
        let row = self.stored_row(seq)?;
        let mut found = Vec::new();
        for (place, new) in new {
            let replacement = &self.corrections.rows[*place].replacement;
            let Some(replacement) = replacement else {
                continue;
            };
            let text = |reference: &Option<Reference>| {
                reference.as_ref().map(|text| text.as_str().to_owned())
            };
            let (ours, theirs) = (text(&replacement.reference), text(&row.reference));
            let references = References::of(ours.as_deref(), theirs.as_deref());
            if references == References::Missing && is_same_payment(&**replacement, &row) {
                found.push((*place, *new));
            }
        }
        Ok(found)
    }

    fn stored_row(&self, seq: PaymentId) -> Result<Instruction<Stored>, Error> {
        let found = Instructions::of(self.c).find(seq)?;
        let found = found.ok_or_else(|| corrupt("a payment without its instruction"))?;
        Ok(found.row.instruction)
    }

    /// Returns on which line of which file a payment stands.
    pub(in crate::journal) fn place_of(&self, seq: PaymentId) -> Result<(u64, String), Error> {
        let found = self.c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
        let place: Place = found.ok_or_else(|| corrupt("a payment without its instruction"))?;
        Ok((place.line.unsigned_abs(), self.source(place.load_id)?))
    }

    /// Returns the file of a load.
    pub(in crate::journal) fn source(&self, load_id: LoadId) -> Result<String, Error> {
        let one = Scan::of(&load::TABLE).at(&load_id);
        let source = self.c.value(&one, load::source)?;
        source.ok_or_else(|| corrupt("a payment without its load"))
    }
}
