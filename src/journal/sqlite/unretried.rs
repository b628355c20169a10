//! Failures that have no retry, and why.

use rusqlite::{Connection, params};

use super::Journal;
use super::anew::Anew;
use super::generations::{of_row, states};
use super::operator::RETRIABLE;
use super::row::identifier_of;
use super::run::known_batch;
use super::turns::Manner;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Error, RepeatPlan, Unretried, WhyUnretried};
use crate::ledger::generations::may_be_retried;

impl Journal {
    /// Returns the failures (with this code, if given) that [`Journal::retry`] leaves alone; `repeats` with those whose rows
    /// other loads have by now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn unretried(
        &self,
        batch: BatchName,
        code: Option<i32>,
        repeats: Option<(RepeatPlan, Timestamp)>,
    ) -> Result<Vec<Unretried>, Error> {
        self.ask(Manner::Alone, move |c| {
            unretried(c, &batch, code, repeats.as_ref())
        })
        .await
    }
}

fn unretried(
    c: &Connection,
    batch: &BatchName,
    code: Option<i32>,
    repeats: Option<&(RepeatPlan, Timestamp)>,
) -> Result<Vec<Unretried>, Error> {
    let batch_id = known_batch(c, batch)?;
    let anew = Anew::begin(c, batch_id, repeats.map(|(plan, now)| (plan, *now)))?;
    let failures: Vec<i64> = c
        .prepare(&format!(
            "select seq from life l where {RETRIABLE} order by seq"
        ))?
        .query_map(params![batch_id, code], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for seq in failures {
        if let Some(why) = why_not(c, anew.as_ref(), seq)? {
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
pub(super) fn why_not(
    c: &Connection,
    anew: Option<&Anew<'_>>,
    seq: i64,
) -> Result<Option<WhyUnretried>, Error> {
    let names_a_document: bool = c
        .prepare_cached(
            "select exists (select 1 from instruction i, json_each(i.extra) where i.seq = ?1 and value ->> 0 = 'supportDocument')",
        )?
        .query_row([seq], |row| row.get(0))?;
    // The document was uploaded for the identifier that failed, and the gateway wants one of the payment's own.
    if names_a_document {
        return Ok(Some(WhyUnretried::NamesADocument));
    }
    if !may_be_retried(&states(&of_row(c, seq)?)) {
        return Ok(Some(WhyUnretried::EarlierMayBePaid));
    }
    #[cfg(test)]
    let anew = anew.filter(|_| !crate::canary::Canary::RepeatedRetryUnjudged.sings());
    let Some(anew) = anew else {
        return Ok(None);
    };
    Ok(anew.find(seq)?.counts.map(WhyUnretried::LoadedAnew))
}
