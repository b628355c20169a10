//! Failures that have no retry, and why.

use rusqlite::{Connection, params};

use super::Journal;
use super::generations::{of_row, states};
use super::operator::RETRIABLE;
use super::row::identifier_of;
use super::run::known_batch;
use super::turns::Manner;
use crate::domain::BatchName;
use crate::journal::{Error, Unretried, WhyUnretried};
use crate::ledger::generations::may_be_retried;

impl Journal {
    /// Returns the failures (with this code, if given) that [`Journal::retry`] leaves alone.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn unretried(
        &self,
        batch: BatchName,
        code: Option<i32>,
    ) -> Result<Vec<Unretried>, Error> {
        self.ask(Manner::Alone, move |c| unretried(c, &batch, code))
            .await
    }
}

fn unretried(
    c: &Connection,
    batch: &BatchName,
    code: Option<i32>,
) -> Result<Vec<Unretried>, Error> {
    let batch_id = known_batch(c, batch)?;
    let failures: Vec<i64> = c
        .prepare(&format!(
            "select seq from life l where {RETRIABLE} order by seq"
        ))?
        .query_map(params![batch_id, code], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for seq in failures {
        if let Some(why) = why_not(c, seq)? {
            let (id, line): (String, i64) = c
                .prepare_cached("select identifier, line from instruction where seq = ?1")?
                .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
            found.push(Unretried {
                id: identifier_of(&id)?,
                line: line.unsigned_abs(),
                why,
            });
        }
    }
    Ok(found)
}

/// Returns why a proven failure may have no retry; `None` when it may.
pub(super) fn why_not(c: &Connection, seq: i64) -> Result<Option<WhyUnretried>, Error> {
    let names_a_document: bool = c
        .prepare_cached(
            "select exists (select 1 from instruction i, json_each(i.extra) where i.seq = ?1 and value ->> 0 = 'supportDocument')",
        )?
        .query_row([seq], |row| row.get(0))?;
    // The document was uploaded for the identifier that failed, and the gateway wants one of the payment's own.
    if names_a_document {
        return Ok(Some(WhyUnretried::NamesADocument));
    }
    Ok((!may_be_retried(&states(&of_row(c, seq)?))).then_some(WhyUnretried::EarlierMayBePaid))
}
