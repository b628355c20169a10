//! Rows that wait for the time that they name.

use std::collections::BTreeMap;

use super::reader::{Snapshot, service_codes};
use crate::domain::{
    BatchId, BatchName, Currency, LaneId, PaymentId, ServiceCode, Tally, Timestamp,
};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::{Error, StandingRow};
use crate::ledger::schedule::Scheduled;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Read, Reads, Scan, shape};

impl Snapshot<'_> {
    /// Returns how many rows of the batch are not posted yet because their time is later than `now`, and when it comes.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn scheduled(&self, now: Timestamp) -> Result<Scheduled, Error> {
        scheduled(self.c, self.batch_id, now)
    }
}

shape! {
    /// A row that names its time.
    struct Timed of instruction {
        seq: PaymentId, not_before: Timestamp, service_id: LaneId, currency: Currency, amount: Option<i64>,
    }
}

/// Shows every row whose time is later than `now` and that is ready, the earliest first.
fn each_later(
    c: &dyn Read,
    batch_id: BatchId,
    now: Timestamp,
    mut visit: impl FnMut(Timed),
) -> Result<(), Error> {
    let mut lives = Beside::of(c, &life::TABLE, &[life::state]);
    let later = Scan::by(&instruction::scheduled).at(&batch_id).after(&now);
    c.each(&later, |row: Timed| {
        let state: Option<State> = match lives.find(row.seq.get())? {
            Some(life) => life.get(0)?,
            None => None,
        };
        if state.is_none_or(|state| state == State::Ready) {
            visit(row);
        }
        Ok::<_, Error>(())
    })
}

fn scheduled(c: &dyn Read, batch_id: BatchId, now: Timestamp) -> Result<Scheduled, Error> {
    let mut found = Scheduled {
        count: 0,
        span: None,
    };
    each_later(c, batch_id, now, |row| {
        found.count += 1;
        let (first, _) = found.span.unwrap_or((row.not_before, row.not_before));
        found.span = Some((first, row.not_before));
    })?;
    Ok(found)
}

impl Journal {
    /// Returns what of a batch is not posted yet because its time is later than `now`, per service and currency.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn not_due(
        &self,
        batch: BatchName,
        now: Timestamp,
    ) -> Result<(Scheduled, Vec<StandingRow>), Error> {
        self.read(move |c| {
            let batch_id = known_batch(c, &batch)?;
            Ok((scheduled(c, batch_id, now)?, not_due(c, batch_id, now)?))
        })
        .await
    }
}

fn not_due(c: &dyn Read, batch_id: BatchId, now: Timestamp) -> Result<Vec<StandingRow>, Error> {
    let codes = service_codes(c)?;
    let mut sums: BTreeMap<(&ServiceCode, &str), (Currency, Tally)> = BTreeMap::new();
    each_later(c, batch_id, now, |row| {
        if let (Some(code), Some(minor)) = (codes.get(&row.service_id), row.amount) {
            let key = (code, row.currency.code());
            let empty = || (row.currency, Tally::default());
            let (_, tally) = sums.entry(key).or_insert_with(empty);
            tally.add_many(1, row.currency, minor.into());
        }
    })?;
    let rows = sums
        .into_iter()
        .map(|((service, _), (currency, tally))| StandingRow {
            service: service.clone(),
            state: State::Ready,
            currency,
            tally,
        });
    Ok(rows.collect())
}
