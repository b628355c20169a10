//! Rows as a person looks for them who knows no batch: by reference, identifier, number or name; rejected rows too.

use rusqlite::{Connection, Row, params};

use super::reader::{Reader, Snapshot};
use crate::domain::{BatchName, PayerTransactionId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{corrupt, identifier_of};
use crate::journal::sqlite::load::aside::withdrawal;
use crate::ledger::correction::RejectedName;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::set_aside::Withdrawal;

/// Rows that are listed.
pub const FOUND_MAX: usize = 100;

/// The file that brought a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, without its folder.
    pub name: String,
    /// When it was loaded.
    pub loaded_at: Timestamp,
}

/// A rejected row, for a person who asks about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedFound {
    /// Its file.
    pub file: SourceFile,
    /// Its line there.
    pub line: u64,
    /// What it is known by.
    pub name: Option<RejectedName>,
    /// Its `reference`, as it was written; so are the others.
    pub reference: String,
    /// `customer_names`.
    pub customer_names: String,
    /// `service_code`.
    pub service_code: String,
    /// `msisdn`.
    pub msisdn: String,
    /// `amount`.
    pub amount: String,
    /// `currency_code`.
    pub currency_code: String,
    /// What is wrong with it.
    pub errors: String,
    /// The payment that took its place.
    pub replaced_by: Option<PayerTransactionId>,
    /// The decision that it is not paid.
    pub withdrawn: Option<Withdrawal>,
}

/// Where a row was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRow {
    /// Its batch.
    pub batch: BatchName,
    /// The payment that stands for it; `None` of a rejected row.
    pub id: Option<PayerTransactionId>,
    /// Of a rejected row, what it is known by.
    pub rejected: Option<RejectedName>,
}

/// By what a person looks for rows.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The number that they pay, its digits.
    Number(&'a str),
    /// A part of the customer's names, in any letter case.
    Names(&'a str),
    /// Their reference.
    Reference(&'a str),
}

impl Reader {
    /// Returns the batches in which a text names a payment or a rejected row, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches_with(&self, name: &PaymentName) -> Result<Vec<BatchName>, Error> {
        let (by_reference, by_identifier) = match name.by {
            By::Either => (true, true),
            By::Reference => (true, false),
            By::Identifier => (false, true),
        };
        let rejected = RejectedName::parse(&name.text).filter(|_| by_identifier);
        let mut statement = self.connection.prepare(
            "select name from batch where batch_id in (
                 select batch_id from instruction where ?2 and reference = ?1
                 union select i.batch_id from identifier d join instruction i using (seq) where ?3 and d.identifier = ?1
                 union select batch_id from rejected where ?2 and reference = ?1)
                 or name = ?4
             order by batch_id",
        )?;
        let rejected = rejected.map(|name| name.batch.to_string());
        let mut rows =
            statement.query(params![name.text, by_reference, by_identifier, rejected])?;
        let mut batches = Vec::new();
        while let Some(row) = rows.next()? {
            batches.push(batch_of(row)?);
        }
        Ok(batches)
    }

    /// Returns the rows that are meant, oldest first, no more than [`FOUND_MAX`] and one; `batch`: of that one.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn rows_with(
        &self,
        wanted: Wanted<'_>,
        batch: Option<&BatchName>,
    ) -> Result<Vec<FoundRow>, Error> {
        let c = &self.connection;
        let batch = batch.map(BatchName::as_str);
        let limit = i64::try_from(FOUND_MAX + 1).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        let (text, of_payment, of_rejected) = match wanted {
            Wanted::Number(digits) => (
                digits.to_owned(),
                "(i.msisdn = ?1 or i.account_number = ?1)",
                // What was refused may be written in any form: its last digits are the same.
                "replace(replace(coalesce(r.msisdn, '') || '/' || coalesce(r.account_number, ''), ' ', ''), '-', '') \
                 like '%' || substr(?1, -9) || '%'",
            ),
            Wanted::Names(text) => (
                text.to_lowercase(),
                "instr(lower(i.customer_names), ?1)",
                "instr(lower(json_extract(r.cells, '$.customer_names')), ?1)",
            ),
            Wanted::Reference(text) => (text.to_owned(), "i.reference = ?1", "r.reference = ?1"),
        };
        let mut statement = c.prepare(&format!(
            "select b.name, i.identifier from instruction i join batch b using (batch_id) left join life l on l.seq = i.seq
             where {of_payment} and l.replaced_by is null and (?2 is null or b.name = ?2)
             order by i.seq limit ?3",
        ))?;
        let mut rows = statement.query(params![text, batch, limit])?;
        while let Some(row) = rows.next()? {
            found.push(FoundRow {
                batch: batch_of(row)?,
                id: Some(identifier_of(&row.get::<_, String>(1)?)?),
                rejected: None,
            });
        }
        let mut statement = c.prepare(&format!(
            "select b.name, r.digest from rejected r join batch b using (batch_id)
             where r.replaced_by is null and r.digest is not null and (?2 is null or b.name = ?2) and {of_rejected}
             order by r.load_id, r.line, r.nth limit ?3",
        ))?;
        let mut rows = statement.query(params![text, batch, limit])?;
        while let Some(row) = rows.next()? {
            let batch = batch_of(row)?;
            found.push(FoundRow {
                rejected: Some(RejectedName::of(&batch, &row.get::<_, [u8; 32]>(1)?)),
                batch,
                id: None,
            });
        }
        Ok(found)
    }
}

impl Snapshot<'_> {
    /// Returns the file that brought a payment.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn file_of(&self, seq: PaymentId) -> Result<SourceFile, Error> {
        let found = self.c.query_row(
            "select l.source, l.loaded_at from instruction i join load l using (load_id) where i.seq = ?1",
            [seq],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        let (name, loaded_at) = found?;
        Ok(SourceFile {
            name,
            loaded_at: Timestamp::from_millis(loaded_at),
        })
    }

    /// Returns the rejected rows of the batch that a text names, by their reference or by what they are known by.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn rejected_named(&self, name: &PaymentName) -> Result<Vec<RejectedFound>, Error> {
        let reference = (name.by != By::Identifier).then_some(name.text.as_str());
        let known = RejectedName::parse(&name.text)
            .filter(|known| name.by != By::Reference && known.batch == self.batch);
        let (mut least, mut most) = ([0; 32], [u8::MAX; 32]);
        if let Some(known) = &known {
            least[..8].copy_from_slice(&known.digest);
            most[..8].copy_from_slice(&known.digest);
        }
        rejected(
            self.c,
            &self.batch,
            "r.batch_id = ?1 and (r.reference = ?2 or ?3 and r.digest between ?4 and ?5)",
            params![
                self.batch_id,
                reference,
                known.is_some(),
                &least[..],
                &most[..]
            ],
        )
    }

    /// Returns the rejected rows whose place a payment took.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn took_the_place_of(&self, seq: PaymentId) -> Result<Vec<RejectedFound>, Error> {
        rejected(
            self.c,
            &self.batch,
            "r.batch_id = ?1 and r.replaced_by = ?2",
            params![self.batch_id, seq],
        )
    }
}

/// The columns of [`rejected_found`], of `rejected r` and its `load l`.
pub(in crate::journal::sqlite) const REJECTED_COLUMNS: &str = "l.source, l.loaded_at, r.line, r.digest, coalesce(r.reference, ''), coalesce(r.service_code, ''),
     coalesce(r.msisdn, ''), coalesce(r.amount_text, ''), coalesce(r.currency, ''), r.errors,
     (select identifier from instruction i where i.seq = r.replaced_by), r.withdrawn,
     coalesce(json_extract(nullif(r.cells, ''), '$.customer_names'), '')";

/// Reads rejected rows; `which` is one of the conditions above.
fn rejected(
    c: &Connection,
    batch: &BatchName,
    which: &'static str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<Vec<RejectedFound>, Error> {
    let mut statement = c.prepare(&format!(
        "select {REJECTED_COLUMNS}
         from rejected r join load l using (load_id) where {which} order by r.load_id, r.line, r.nth limit {FOUND_MAX}"
    ))?;
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(rejected_found(c, batch, row)?);
    }
    Ok(found)
}

/// Reads one of them.
pub(in crate::journal::sqlite) fn rejected_found(
    c: &Connection,
    batch: &BatchName,
    row: &Row<'_>,
) -> Result<RejectedFound, Error> {
    let digest: Option<[u8; 32]> = row.get(3)?;
    Ok(RejectedFound {
        file: SourceFile {
            name: row.get(0)?,
            loaded_at: Timestamp::from_millis(row.get(1)?),
        },
        line: row.get::<_, i64>(2)?.unsigned_abs(),
        name: digest.map(|digest| RejectedName::of(batch, &digest)),
        reference: row.get(4)?,
        service_code: row.get(5)?,
        msisdn: row.get(6)?,
        amount: row.get(7)?,
        currency_code: row.get(8)?,
        errors: row.get(9)?,
        replaced_by: match row.get::<_, Option<String>>(10)? {
            Some(id) => Some(identifier_of(&id)?),
            None => None,
        },
        withdrawn: withdrawal(c, row.get(11)?)?,
        customer_names: row.get(12)?,
    })
}

fn batch_of(row: &Row<'_>) -> Result<BatchName, Error> {
    BatchName::parse(&row.get::<_, String>(0)?).map_err(|_| corrupt("a batch name"))
}
