//! Batches, payments and services by their names and numbers.

use rusqlite::{Connection, OptionalExtension};

use super::values::{batch_id, corrupt, identifier_of};
use crate::domain::{
    BatchId, BatchName, Epoch, IdentifierForm, IdentifierScheme, Originator, PayerTransactionId,
    PaymentId,
};
use crate::journal::Error;
use crate::ledger::Purpose;
use crate::ledger::recovery::JournalId;

/// Returns the batch of a row.
pub(in crate::journal::sqlite) fn batch_of(
    c: &Connection,
    seq: PaymentId,
) -> Result<BatchId, Error> {
    Ok(
        c.prepare_cached("select batch_id from instruction where seq = ?1")?
            .query_row([seq], |row| row.get(0))?,
    )
}

/// Returns whether any batch has this identifier.
pub(in crate::journal::sqlite) fn knows(
    c: &Connection,
    id: PayerTransactionId,
) -> Result<bool, Error> {
    Ok(find(c, id)?.is_some())
}

/// Looks up a payment by its identifier.
pub(in crate::journal::sqlite) fn find(
    c: &Connection,
    id: PayerTransactionId,
) -> Result<Option<PaymentId>, Error> {
    Ok(
        c.prepare_cached("select seq from identifier where identifier = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?,
    )
}

pub(in crate::journal::sqlite) fn id_of(
    c: &Connection,
    seq: PaymentId,
) -> Result<PayerTransactionId, Error> {
    let mut find = c.prepare_cached("select identifier from instruction where seq = ?1")?;
    identifier_of(&find.query_row([seq], |row| row.get::<_, String>(0))?)
}

/// Returns the number of a batch, or that there is none.
pub(in crate::journal::sqlite) fn known_batch(
    c: &Connection,
    batch: &BatchName,
) -> Result<BatchId, Error> {
    batch_id(c, batch.as_str())?.ok_or_else(|| Error::UnknownBatch {
        name: batch.to_string(),
    })
}

/// Returns what stands for a form in the row of a batch: nothing for the one that there has always been.
pub(in crate::journal::sqlite) fn form_text(form: &IdentifierForm) -> Option<String> {
    (*form != IdentifierForm::DEFAULT).then(|| form.to_string())
}

/// Returns what the identifiers of a batch are derived from.
pub(in crate::journal::sqlite) fn scheme_of(
    c: &Connection,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<IdentifierScheme, Error> {
    let (originator, form): (String, Option<String>) = c
        .prepare_cached("select originator, identifier_form from batch where batch_id = ?1")?
        .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let form = match form {
        None => IdentifierForm::DEFAULT,
        Some(text) => IdentifierForm::parse(&text)
            .ok_or_else(|| corrupt("a form of identifiers that is not one"))?,
    };
    Ok(IdentifierScheme {
        originator: Originator::parse(&originator).map_err(|_| corrupt("an originator"))?,
        batch: batch.clone(),
        form,
    })
}

/// Returns the same once a payment of the batch has shown that nobody has changed the form: by another one its rows would be
/// other payments to the gateway.
pub(in crate::journal::sqlite) fn scheme_in_use(
    c: &Connection,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<IdentifierScheme, Error> {
    let scheme = scheme_of(c, batch_id, batch)?;
    let one: Option<String> = c
        .query_row(
            "select identifier from instruction where batch_id = ?1 limit 1",
            [batch_id],
            |row| row.get(0),
        )
        .optional()?;
    match one {
        Some(id) if !scheme.form.has(&id) => Err(corrupt(
            "a form of identifiers that the payments of the batch do not have",
        )),
        _ => Ok(scheme),
    }
}

/// Returns what was recorded of the purpose of a batch when it was loaded.
pub(in crate::journal::sqlite) fn loaded_for(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Purpose, Error> {
    let rehearsal: Option<bool> = c
        .prepare_cached("select rehearsal from batch where batch_id = ?1")?
        .query_row([batch_id], |row| row.get(0))?;
    Ok(rehearsal.map_or(Purpose::Unknown, Purpose::of_command))
}

/// Returns what a batch is for.
pub(in crate::journal::sqlite) fn purpose(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Purpose, Error> {
    let gateway: Option<String> = c
        .prepare_cached("select gateway from batch where batch_id = ?1")?
        .query_row([batch_id], |row| row.get(0))?;
    let loaded_for = loaded_for(c, batch_id)?;
    Ok(Purpose::of_batch(loaded_for, gateway.as_deref()))
}

/// Returns whether a purpose is a rehearsal, where it is known.
pub(in crate::journal::sqlite) fn rehearsal(purpose: Purpose) -> Option<bool> {
    match purpose {
        Purpose::Unknown => None,
        Purpose::Gateway => Some(false),
        Purpose::Rehearsal => Some(true),
    }
}

/// Returns the account that a batch belongs to.
pub(in crate::journal::sqlite) fn account(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Option<String>, Error> {
    Ok(c.query_row(
        "select account from batch where batch_id = ?1",
        [batch_id],
        |row| row.get(0),
    )?)
}

/// Returns the digest of the way in which replies about the batch are read.
pub(in crate::journal::sqlite) fn reading(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Option<String>, Error> {
    Ok(c.query_row(
        "select reading from batch where batch_id = ?1",
        [batch_id],
        |row| row.get(0),
    )?)
}

pub(in crate::journal::sqlite) fn batches(c: &Connection) -> Result<Vec<BatchId>, Error> {
    let mut statement = c.prepare("select batch_id from batch order by batch_id")?;
    let found = statement.query_map([], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns what the journal calls itself.
pub(in crate::journal::sqlite) fn name(c: &Connection) -> Result<JournalId, Error> {
    c.query_row("select value from meta where key = 'journal'", [], |row| {
        row.get(0)
    })
    .optional()?
    .ok_or_else(|| corrupt("a journal without a name"))
}

/// Returns the epoch of the last run; 0: there was none.
pub(in crate::journal::sqlite) fn epoch(c: &Connection) -> Result<Epoch, Error> {
    let found: Option<Epoch> = c
        .query_row("select value from meta where key = 'epoch'", [], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.unwrap_or(Epoch::NONE))
}

pub(in crate::journal::sqlite) fn has(c: &Connection, key: &str) -> Result<bool, Error> {
    Ok(c.query_row(
        "select exists (select 1 from meta where key = ?1)",
        [key],
        |row| row.get(0),
    )?)
}
