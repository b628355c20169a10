//! Payments by what a person calls them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{BatchId, BatchName, PayerTransactionId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::{batch_of, of_batch};
use crate::journal::read::reader::{Reader, Snapshot};
use crate::ledger::lost_digits::as_number;
use crate::ledger::names::{By, Named, PaymentName, Unclear, meant};
use crate::store::tables::{batch, identifier, instruction};
use crate::store::{Read, Reads, Scan, Test, shape};

/// Returns the name of a batch, where there is such a batch.
pub(in crate::journal) fn of(c: &dyn Read, batch_id: BatchId) -> Result<Option<String>, Error> {
    Ok(c.value(&Scan::of(&batch::TABLE).at(&batch_id), batch::name)?)
}

shape! {
    /// A row, and how often it was paid anew.
    struct Generation of instruction { seq: PaymentId, generation: i64 }
}

/// Returns the generations of the row with this reference, the newest first.
fn by_reference(c: &dyn Read, batch_id: BatchId, reference: &str) -> Result<Vec<PaymentId>, Error> {
    let rows = Scan::of(&instruction::TABLE)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::reference, Test::is(&reference));
    let mut rows: Vec<Generation> = c.list(&rows)?;
    rows.sort_by_key(|row| Reverse(row.generation));
    Ok(rows.into_iter().map(|row| row.seq).collect())
}

/// Returns the payment with an identifier, and its batch.
fn owner(c: &dyn Read, id: &str) -> Result<Option<(PaymentId, BatchId)>, Error> {
    let one = Scan::of(&identifier::TABLE).at(&id);
    let Some(seq) = c.value(&one, identifier::seq)? else {
        return Ok(None);
    };
    let row = Scan::of(&instruction::TABLE).at(&seq);
    let batch_id = c.value(&row, instruction::batch_id)?;
    Ok(batch_id.map(|batch_id| (seq, batch_id)))
}

/// Finds the rows that are meant: all generations of one row, the newest first, or the one that has the identifier.
pub(in crate::journal) fn rows_named(
    c: &dyn Read,
    (batch, batch_id): (&BatchName, BatchId),
    name: &PaymentName,
) -> Result<Vec<PaymentId>, Error> {
    let owner = owner(c, &name.text)?;
    let here = owner.filter(|(_, owner)| *owner == batch_id);
    let by_reference = match name.by {
        By::Identifier => Vec::new(),
        By::Either | By::Reference => by_reference(c, batch_id, &name.text)?,
    };
    let named = Named {
        by_reference,
        by_identifier: here.map(|(seq, _)| seq),
        elsewhere: owner.is_some() && here.is_none(),
    };
    meant(name.by, named).map_err(|unclear| {
        let (batch, id) = (batch.clone(), name.text.clone());
        match unclear {
            Unclear::Nothing => Error::UnknownPayment { batch, id },
            Unclear::Two => Error::TwoPayments { batch, id },
        }
    })
}

shape! {
    struct Referred of instruction { reference: String }
}

impl Snapshot<'_> {
    /// Returns the references of the batch of which a spreadsheet makes one of these numbers, by that number ([`as_number`]).
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn references_alike(
        &self,
        numbers: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, BTreeSet<String>>, Error> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        if numbers.is_empty() {
            return Ok(found);
        }
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::reference, Test::Present);
        self.c.each(&rows, |row: Referred| {
            if let Some(number) =
                as_number(&row.reference).filter(|number| numbers.contains(number))
            {
                found.entry(number).or_default().insert(row.reference);
            }
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }
}

impl Reader {
    /// Returns the batch that has a payment with this identifier.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batch_of(&self, id: PayerTransactionId) -> Result<Option<BatchName>, Error> {
        let c = self.store();
        let Some((_, batch_id)) = owner(c, id.as_str())? else {
            return Ok(None);
        };
        Ok(c.value(&Scan::of(&batch::TABLE).at(&batch_id), batch::name)?)
    }
}

/// Returns the name of the batch of a payment.
pub(in crate::journal) fn batch_name_of(c: &dyn Read, seq: PaymentId) -> Result<BatchName, Error> {
    of_batch(c, batch_of(c, seq)?, batch::name)
}
