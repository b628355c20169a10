//! The failures that an order to pay anew is about: all of a batch, those with a code, or those that a person names.

use rusqlite::Connection;

use super::to_retry::to_retry;
use crate::domain::{BatchName, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::currency_of;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, Failures, RepeatPlan, Replaced, ToRetry};

impl Journal {
    /// Returns what [`Self::retry_shown`] would order, by the codes of the failures; `repeats` leaves out those whose rows
    /// other loads have by now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; of a payment that is named, [`Error::UnknownPayment`], [`Error::TwoPayments`],
    /// [`Error::NotAllowed`].
    pub async fn to_retry(
        &self,
        batch: BatchName,
        which: impl Into<Failures>,
        repeats: Option<(RepeatPlan, Timestamp)>,
    ) -> Result<ToRetry, Error> {
        let which = which.into();
        self.ask(CommitMode::Alone, move |c| {
            to_retry(c, &batch, &which, repeats.as_ref())
        })
        .await
    }
}

impl Journal {
    /// Returns what rows that were paid anew with other amounts came to, and what they come to now.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn replaced(&self, batch: BatchName) -> Result<Vec<Replaced>, Error> {
        self.ask(CommitMode::Alone, move |c| replaced(c, &batch))
            .await
    }
}

fn replaced(c: &Connection, batch: &BatchName) -> Result<Vec<Replaced>, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut statement = c.prepare_cached(
        "select w.currency, count(*), sum(w.amount), sum(n.amount) from life l
         join instruction w on w.seq = l.seq join instruction n on n.seq = l.replaced_by
         where l.batch_id = ?1 and l.replaced_by is not null and n.amount <> w.amount group by w.currency order by w.currency",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Replaced {
            currency: currency_of(&row.get::<_, String>(0)?)?,
            count: row.get::<_, i64>(1)?.unsigned_abs(),
            was: row.get::<_, i64>(2)?.into(),
            is: row.get::<_, i64>(3)?.into(),
        });
    }
    Ok(found)
}
