//! Batches, payments and services by their names and numbers.

use super::facts::fact;
use super::values::{batch_id, corrupt};
use crate::domain::{
    BatchId, BatchName, Epoch, IdentifierForm, IdentifierScheme, PayerTransactionId, PaymentId,
};
use crate::journal::Error;
use crate::ledger::Purpose;
use crate::ledger::recovery::JournalId;
use crate::store::tables::{batch, identifier, instruction};
use crate::store::{Column, Field, Read, Reads, Scan, Test, tables};

/// Returns the batch of a row.
pub(in crate::journal) fn batch_of(c: &dyn Read, seq: PaymentId) -> Result<BatchId, Error> {
    of_payment(c, seq, instruction::batch_id)
}

/// Returns whether any batch has this identifier.
pub(in crate::journal) fn knows(c: &dyn Read, id: PayerTransactionId) -> Result<bool, Error> {
    Ok(find(c, id)?.is_some())
}

/// Looks up a payment by its identifier.
pub(in crate::journal) fn find(
    c: &dyn Read,
    id: PayerTransactionId,
) -> Result<Option<PaymentId>, Error> {
    let one = Scan::of(&identifier::TABLE).at(&id);
    Ok(c.value(&one, identifier::seq)?)
}

pub(in crate::journal) fn id_of(c: &dyn Read, seq: PaymentId) -> Result<PayerTransactionId, Error> {
    of_payment(c, seq, instruction::identifier)
}

/// Returns a column of an instruction, which is there.
pub(in crate::journal) fn of_payment<F: Field>(
    c: &dyn Read,
    seq: PaymentId,
    column: Column,
) -> Result<F, Error> {
    let found = c.value(&Scan::of(&instruction::TABLE).at(&seq), column)?;
    found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))
}

/// Returns a column of a batch, which is there.
pub(in crate::journal) fn of_batch<F: Field>(
    c: &dyn Read,
    batch_id: BatchId,
    column: Column,
) -> Result<F, Error> {
    let found = c.value(&Scan::of(&batch::TABLE).at(&batch_id), column)?;
    found.ok_or_else(|| corrupt(format!("batch {batch_id} is missing")))
}

/// Returns the number of a batch, or that there is none.
pub(in crate::journal) fn known_batch(c: &dyn Read, batch: &BatchName) -> Result<BatchId, Error> {
    batch_id(c, batch.as_str())?.ok_or_else(|| Error::UnknownBatch {
        name: batch.to_string(),
    })
}

/// Returns what stands for a form in the row of a batch: nothing for the one that there has always been.
pub(in crate::journal) fn form_text(form: &IdentifierForm) -> Option<String> {
    (*form != IdentifierForm::DEFAULT).then(|| form.to_string())
}

/// Returns what the identifiers of a batch are derived from.
pub(in crate::journal) fn scheme_of(
    c: &dyn Read,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<IdentifierScheme, Error> {
    let form: Option<String> = of_batch(c, batch_id, batch::identifier_form)?;
    let form = match form {
        None => IdentifierForm::DEFAULT,
        Some(text) => {
            IdentifierForm::parse(&text).ok_or_else(|| corrupt("an invalid form of identifiers"))?
        }
    };
    Ok(IdentifierScheme {
        originator: of_batch(c, batch_id, batch::originator)?,
        batch: batch.clone(),
        form,
    })
}

/// Returns the same once a payment of the batch has shown that nobody has changed the form: by another one its rows would be
/// other payments to the gateway.
pub(in crate::journal) fn scheme_in_use(
    c: &dyn Read,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<IdentifierScheme, Error> {
    let scheme = scheme_of(c, batch_id, batch)?;
    let of_batch = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
    let one: Option<String> = c.value(&of_batch, instruction::identifier)?;
    match one {
        Some(id) if !scheme.form.has(&id) => Err(corrupt(
            "a form of identifiers that the payments of the batch do not have",
        )),
        _ => Ok(scheme),
    }
}

/// Returns what was recorded of the purpose of a batch when it was loaded.
pub(in crate::journal) fn loaded_for(c: &dyn Read, batch_id: BatchId) -> Result<Purpose, Error> {
    let rehearsal: Option<bool> = of_batch(c, batch_id, batch::rehearsal)?;
    Ok(rehearsal.map_or(Purpose::Unknown, Purpose::of_command))
}

/// Returns what a batch is for.
pub(in crate::journal) fn purpose(c: &dyn Read, batch_id: BatchId) -> Result<Purpose, Error> {
    let gateway: Option<String> = of_batch(c, batch_id, batch::gateway)?;
    let loaded_for = loaded_for(c, batch_id)?;
    Ok(Purpose::of_batch(loaded_for, gateway.as_deref()))
}

/// Returns whether a purpose is a rehearsal, where it is known.
pub(in crate::journal) fn rehearsal(purpose: Purpose) -> Option<bool> {
    match purpose {
        Purpose::Unknown => None,
        Purpose::Gateway => Some(false),
        Purpose::Rehearsal => Some(true),
    }
}

/// Returns the account that a batch belongs to.
pub(in crate::journal) fn account(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<String>, Error> {
    of_batch(c, batch_id, batch::account)
}

/// Returns the digest of the way in which replies about the batch are read.
pub(in crate::journal) fn reading(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<String>, Error> {
    of_batch(c, batch_id, batch::reading)
}

pub(in crate::journal) fn batches(c: &dyn Read) -> Result<Vec<BatchId>, Error> {
    Ok(c.values(&Scan::of(&batch::TABLE), batch::batch_id)?)
}

/// Returns what the journal calls itself.
pub(in crate::journal) fn name(c: &dyn Read) -> Result<JournalId, Error> {
    fact(c, "journal")?.ok_or_else(|| corrupt("a journal without a name"))
}

/// Returns the epoch of the last run; 0: there was none.
pub(in crate::journal) fn epoch(c: &dyn Read) -> Result<Epoch, Error> {
    Ok(fact(c, "epoch")?.unwrap_or(Epoch::NONE))
}

pub(in crate::journal) fn has(c: &dyn Read, key: &str) -> Result<bool, Error> {
    Ok(c.any(&Scan::of(&tables::meta::TABLE).at(&key))?)
}
