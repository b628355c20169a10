//! Payments by what a person calls them.

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{BatchId, BatchName, PayerTransactionId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::Reader;
use crate::ledger::names::{By, Named, PaymentName, Unclear, meant};

/// Returns the name of a batch, where there is such a batch.
pub(in crate::journal::sqlite) fn of(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Option<String>, Error> {
    Ok(
        c.prepare_cached("select name from batch where batch_id = ?1")?
            .query_row([batch_id], |row| row.get(0))
            .optional()?,
    )
}

/// Finds the rows that are meant: all generations of one row, the newest first, or the one that has the identifier.
pub(in crate::journal::sqlite) fn rows_named(
    c: &Connection,
    (batch, batch_id): (&BatchName, BatchId),
    name: &PaymentName,
) -> Result<Vec<PaymentId>, Error> {
    let owner: Option<(PaymentId, BatchId)> = c
        .prepare_cached(
            "select i.seq, i.batch_id from identifier d cross join instruction i using (seq) where d.identifier = ?1",
        )?
        .query_row([&name.text], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let here = owner.filter(|(_, owner)| *owner == batch_id);
    let by_reference = match name.by {
        By::Identifier => Vec::new(),
        By::Either | By::Reference => c
            .prepare_cached(
                "select seq from instruction where batch_id = ?1 and reference = ?2 order by generation desc",
            )?
            .query_map(params![batch_id, name.text], |row| row.get(0))?
            .collect::<Result<_, _>>()?,
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

impl Reader {
    /// Returns the batch that has a payment with this identifier.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batch_of(&self, id: PayerTransactionId) -> Result<Option<BatchName>, Error> {
        let mut statement = self.connection.prepare_cached(
            "select b.name from identifier d join instruction i using (seq) join batch b on b.batch_id = i.batch_id where d.identifier = ?1",
        )?;
        let mut rows = statement.query([id.as_str()])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let name = BatchName::parse(&row.get::<_, String>(0)?);
        name.map(Some).map_err(|_| corrupt("the name of a batch"))
    }
}

/// Returns the name of the batch of a payment.
pub(in crate::journal::sqlite) fn batch_name_of(
    c: &Connection,
    seq: PaymentId,
) -> Result<BatchName, Error> {
    let name: String = c
        .prepare_cached(
            "select b.name from instruction i join batch b using (batch_id) where i.seq = ?1",
        )?
        .query_row([seq], |row| row.get(0))?;
    BatchName::parse(&name)
        .map_err(|_| crate::journal::sqlite::codec::values::corrupt("the name of a batch"))
}
