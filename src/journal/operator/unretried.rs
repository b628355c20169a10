//! Failures that have no retry, and why.

use super::chosen::{chosen, failure};
use crate::domain::{BatchName, PayerTransactionId, PaymentId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::instructions::names_document;
use crate::journal::codec::values::corrupt;
use crate::journal::repeats::anew::Anew;
use crate::journal::session::expected::in_turn;
use crate::journal::session::members::{of_row, states};
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Failures, PaidSince, RepeatPlan, Unretried, WhyUnretried};
use crate::ledger::generations::may_be_retried;
use crate::store::tables::instruction;
use crate::store::{Read, Reads, Scan, Shape, shape};

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
        self.ask_again(CommitMode::Alone, move |c| {
            unretried(c, &batch, &which, repeats.as_ref())
        })
        .await
    }
}

fn unretried(
    c: &dyn Read,
    batch: &BatchName,
    which: &Failures,
    repeats: Option<&(RepeatPlan, Timestamp)>,
) -> Result<Vec<Unretried>, Error> {
    let batch_id = known_batch(c, batch)?;
    let anew = Anew::begin(c, batch_id, repeats.map(|(plan, now)| (plan, *now)))?;
    let mut found = Vec::new();
    for seq in in_turn(c, &chosen(c, batch, which)?) {
        let seq = seq?;
        if let Some(why) = judged(c, anew.as_ref(), which, seq)?.why {
            let row: Named = row_of(c, seq)?;
            found.push(Unretried {
                id: row.identifier,
                line: row.line.unsigned_abs(),
                why,
            });
        }
    }
    Ok(found)
}

shape! {
    /// What a row is known by.
    struct Named of instruction { identifier: PayerTransactionId, line: i64 }
}
shape! {
    /// What of a row may forbid that it is paid anew.
    struct Personal of instruction { salt: Option<Vec<u8>>, extra: Option<String> }
}

fn row_of<S: Shape>(c: &dyn Read, seq: PaymentId) -> Result<S, Error> {
    let found = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))
}

impl Personal {
    /// The leaf of what was personal has taken the place of the salt.
    fn is_forgotten(&self) -> bool {
        self.salt.as_ref().is_some_and(|salt| salt.len() == 32)
    }

    fn names_a_document(&self) -> Result<bool, Error> {
        names_document(self.extra.as_deref())
    }
}

/// A proven failure that is ordered to be paid anew.
#[derive(Default)]
pub(in crate::journal) struct Judged {
    /// Why it is not.
    pub(in crate::journal) why: Option<WhyUnretried>,
    /// By what it may be paid since.
    pub(in crate::journal) since: Option<PaidSince>,
    /// Rows of its debt that have failed as well.
    pub(in crate::journal) failed: Vec<PaymentId>,
}

/// Judges a failure that is ordered to be paid anew.
pub(in crate::journal) fn judged(
    c: &dyn Read,
    anew: Option<&Anew<'_>>,
    which: &Failures,
    seq: PaymentId,
) -> Result<Judged, Error> {
    let because = |why| Judged {
        why: Some(why),
        ..Judged::default()
    };
    let row: Personal = row_of(c, seq)?;
    if row.is_forgotten() {
        return Ok(because(WhyUnretried::Forgotten));
    }
    // The document was uploaded for the identifier that failed, and the gateway wants one of the payment's own.
    if row.names_a_document()? {
        return Ok(because(WhyUnretried::NamesADocument));
    }
    if !may_be_retried(&states(&of_row(c, seq)?)) {
        return Ok(because(WhyUnretried::EarlierMayBePaid));
    }
    let Some(anew) = planted!(journal::other_loads(anew)) else {
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
