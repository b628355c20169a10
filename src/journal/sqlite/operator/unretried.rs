//! Failures that have no retry, and why.

use rusqlite::Connection;

use super::chosen::{chosen, failure};
use crate::domain::{BatchName, PaymentId, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::identifier_of;
use crate::journal::sqlite::repeats::anew::Anew;
use crate::journal::sqlite::session::members::{of_row, states};
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, Failures, PaidSince, RepeatPlan, Unretried, WhyUnretried};
use crate::ledger::generations::may_be_retried;

impl Journal {
    /// Returns the failures among those meant that [`Journal::retry`] leaves alone; `repeats` with those whose rows
    /// other loads have by now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn unretried(
        &self,
        batch: BatchName,
        which: impl Into<Failures>,
        repeats: Option<(RepeatPlan, Timestamp)>,
    ) -> Result<Vec<Unretried>, Error> {
        let which = which.into();
        self.ask(CommitMode::Alone, move |c| {
            unretried(c, &batch, &which, repeats.as_ref())
        })
        .await
    }
}

fn unretried(
    c: &Connection,
    batch: &BatchName,
    which: &Failures,
    repeats: Option<&(RepeatPlan, Timestamp)>,
) -> Result<Vec<Unretried>, Error> {
    let batch_id = known_batch(c, batch)?;
    let anew = Anew::begin(c, batch_id, repeats.map(|(plan, now)| (plan, *now)))?;
    let mut found = Vec::new();
    for seq in chosen(c, batch, which)? {
        if let Some(why) = judged(c, anew.as_ref(), which, seq)?.why {
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

/// A proven failure that is ordered to be paid anew.
#[derive(Default)]
pub(in crate::journal::sqlite) struct Judged {
    /// Why it is not.
    pub(in crate::journal::sqlite) why: Option<WhyUnretried>,
    /// By what it may be paid since.
    pub(in crate::journal::sqlite) since: Option<PaidSince>,
    /// Rows of its debt that have failed as well.
    pub(in crate::journal::sqlite) failed: Vec<PaymentId>,
}

/// Judges a failure that is ordered to be paid anew.
pub(in crate::journal::sqlite) fn judged(
    c: &Connection,
    anew: Option<&Anew<'_>>,
    which: &Failures,
    seq: PaymentId,
) -> Result<Judged, Error> {
    let because = |why| Judged {
        why: Some(why),
        ..Judged::default()
    };
    let is_forgotten: bool = c
        .prepare_cached("select coalesce(length(salt), 0) = 32 from instruction where seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    if is_forgotten {
        return Ok(because(WhyUnretried::Forgotten));
    }
    let names_a_document: bool = c
        .prepare_cached(
            "select exists (select 1 from instruction i, json_each(i.extra) where i.seq = ?1 and value ->> 0 = 'supportDocument')",
        )?
        .query_row([seq], |row| row.get(0))?;
    // The document was uploaded for the identifier that failed, and the gateway wants one of the payment's own.
    if names_a_document {
        return Ok(because(WhyUnretried::NamesADocument));
    }
    if !may_be_retried(&states(&of_row(c, seq)?)) {
        return Ok(because(WhyUnretried::EarlierMayBePaid));
    }
    #[cfg(test)]
    let anew = anew.filter(|_| !crate::seeded_bugs::SeededBug::RepeatedRetryUnjudged.is_active());
    let Some(anew) = anew else {
        return Ok(Judged::default());
    };
    let found = anew.find(seq)?;
    let why = match (found.counts, &found.since) {
        (Some(batch), _) => Some(WhyUnretried::LoadedAnew(batch)),
        (None, Some(since)) if !which.paid_since => Some(WhyUnretried::PaidSince(
            Box::new(failure(c, seq)?),
            since.clone(),
        )),
        (None, _) => None,
    };
    Ok(Judged {
        why,
        since: found.since,
        failed: found.unpaid,
    })
}
