//! The failures that an order to pay anew is about: all of a batch, those with a code, or those that a person names.

use std::collections::BTreeMap;

use super::to_retry::to_retry;
use crate::domain::{BatchName, Currency, PaymentId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::values::corrupt;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Failures, RepeatPlan, Replaced, ToRetry};
use crate::store::tables::{instruction, life};
use crate::store::{Read, Reads, Scan, shape};

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
        self.ask_again(CommitMode::Alone, move |c| {
            to_retry(&**c, &batch, &which, repeats.as_ref())
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
        self.read(move |c| replaced(c, &batch)).await
    }
}

shape! {
    /// A payment that a retry replaces.
    struct Retried of life { seq: PaymentId, replaced_by: Option<PaymentId> }
}
shape! {
    /// What is paid of a row.
    struct Priced of instruction { currency: Currency, amount: Option<i64> }
}

fn priced(c: &dyn Read, seq: PaymentId) -> Result<Priced, Error> {
    let found = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))
}

fn replaced(c: &dyn Read, batch: &BatchName) -> Result<Vec<Replaced>, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut found: BTreeMap<Currency, Replaced> = BTreeMap::new();
    c.each(&Scan::by(&life::replaced).at(&batch_id), |row: Retried| {
        let Some(later) = row.replaced_by else {
            return Ok(());
        };
        let (was, is) = (priced(c, row.seq)?, priced(c, later)?);
        let Some((was_minor, is_minor)) = was.amount.zip(is.amount) else {
            return Ok(());
        };
        if was_minor != is_minor {
            let currency = was.currency;
            let sum = found.entry(currency).or_insert(Replaced {
                currency,
                count: 0,
                was: 0,
                is: 0,
            });
            sum.count += 1;
            sum.was += i128::from(was_minor);
            sum.is += i128::from(is_minor);
        }
        Ok::<_, Error>(())
    })?;
    Ok(found.into_values().collect())
}
