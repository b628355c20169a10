//! Corrected rows that nothing tells from other rows of their batch. The rule is in [`crate::ledger::replacement`].

use std::collections::{BTreeMap, BTreeSet};

use super::corrections::late;
use super::job::Load;
use crate::domain::{Instruction, LaneId, PaymentId, Reference};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, corrupt, stored_of};
use crate::journal::sqlite::repeats::on_record::other;
use crate::journal::sqlite::repeats::vouched::Vouched;
use crate::journal::{CrossRowError, Error};
use crate::ledger::repeats::{References, is_same_payment};
use crate::ledger::replacement::{Refusal, is_equal_row};

/// A row that replaces a failed payment by this file: its place among the corrections, and its number.
type New = (usize, PaymentId);

impl Load<'_> {
    /// Returns the corrected rows that are equal to another row of the batch, each with its error.
    // Their identifiers come from what they replace, so that none of them collides with the row that it is equal to.
    pub(in crate::journal::sqlite) fn equal_replacements(
        &self,
    ) -> Result<Vec<CrossRowError>, Error> {
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
        let mut statement = self.c.prepare(
            "select seq, service_id, amount from instruction where batch_id = ?1 and amount is not null order by seq",
        )?;
        let mut rows = statement.query([self.batch_id])?;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            let Some(new) = by_amount.get(&(row.get(1)?, row.get(2)?)) else {
                continue;
            };
            // Of two rows of this file the second one has the error.
            let later = new
                .iter()
                .filter(|(_, new)| *new > seq && !told.contains(new));
            let later: Vec<New> = later.copied().collect();
            if later.is_empty() || self.corrections.replaces(seq) {
                continue;
            }
            for (place, new) in self.like(seq, &later)? {
                let Some(other) = other(self.c, &vouched, seq)? else {
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
        }
        errors.sort_by_key(|error| error.line);
        Ok(errors)
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

    fn stored_row(
        &self,
        seq: PaymentId,
    ) -> Result<Instruction<crate::journal::sqlite::codec::values::Stored>, Error> {
        let mut statement = self.c.prepare_cached(&format!(
            "select {PAYMENT_COLUMNS} from instruction i join service s using (service_id) where i.seq = ?1"
        ))?;
        let mut rows = statement.query([seq])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a payment without its instruction"))?;
        Ok(stored_of(row, 0)?.instruction)
    }

    pub(in crate::journal::sqlite) fn place_of(
        &self,
        seq: PaymentId,
    ) -> Result<(u64, String), Error> {
        Ok(self
            .c
            .prepare_cached(
                "select i.line, l.source from instruction i join load l using (load_id) where i.seq = ?1",
            )?
            .query_row([seq], |row| {
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
            })?)
    }
}
