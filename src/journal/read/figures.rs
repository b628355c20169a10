//! The figures of a monitoring system: sums that are kept anyway, read by their indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::batch_status::Tallied;
use super::reader::{Reader, service_codes};
use crate::domain::{BatchId, BatchName, Currency, LaneId, ServiceCode, Tally, Timestamp};
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::values::{UNPRICED, state_of};
use crate::journal::notices::waiting::count_waiting;
use crate::journal::run::sessions::is_any_at_work;
use crate::journal::{Error, Figures, HeldService, StandingRow};
use crate::lifecycle::State;
use crate::store::tables::{batch, chain, held_lane, life, tally};
use crate::store::{Read, Reads, Scan, Test, shape};

impl Reader {
    /// Returns the figures of a batch; without one, of all batches but rehearsals.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub fn figures(&self, batch: Option<&BatchName>) -> Result<Figures, Error> {
        let c = self.store();
        // Of one moment.
        c.begin_reading()?;
        let found = read(c, batch).and_then(|figures| {
            let runs = is_any_at_work(c)?;
            Ok(Figures { runs, ..figures })
        });
        c.rollback()?;
        found
    }
}

shape! {
    struct Purpose of batch { batch_id: BatchId, rehearsal: Option<bool> }
}
shape! {
    struct Length of chain { batch_id: BatchId, length: i64 }
}
shape! {
    struct Lane of tally { batch_id: BatchId, service_id: LaneId }
}

/// Which batches are meant: one, or all but rehearsals.
struct Meant(BTreeSet<BatchId>);

impl Meant {
    fn of(c: &dyn Read, only: Option<BatchId>) -> Result<Self, Error> {
        let Some(only) = only else {
            let mut meant = BTreeSet::new();
            c.each(&Scan::of(&batch::TABLE), |row: Purpose| {
                if row.rehearsal != Some(true) {
                    meant.insert(row.batch_id);
                }
                Ok::<_, Error>(())
            })?;
            return Ok(Self(meant));
        };
        Ok(Self(BTreeSet::from([only])))
    }

    /// Returns where to look for them.
    fn tallies(&self) -> Scan<'_> {
        let all = Scan::of(&tally::TABLE);
        match (self.0.first(), self.0.len()) {
            (Some(only), 1) => all.at(only),
            _ => all,
        }
    }

    fn has(&self, batch_id: BatchId) -> bool {
        self.0.contains(&batch_id)
    }
}

fn read(c: &dyn Read, batch: Option<&BatchName>) -> Result<Figures, Error> {
    let only = batch.map(|name| known_batch(c, name)).transpose()?;
    let meant = Meant::of(c, only)?;
    let codes = service_codes(c)?;
    let mut figures = Figures {
        held: held(c, &meant, &codes)?,
        oldest_doubt: oldest_doubt(c, &meant)?,
        evidence_rows: evidence_rows(c, &meant)?,
        notices_waiting: count_waiting(c)?,
        ..Figures::default()
    };
    // What there is none of any more is told too: a figure must not stand where it was.
    let mut sums: BTreeMap<(&ServiceCode, i64, &str), (Currency, i64, i128)> = BTreeMap::new();
    c.each(&meant.tallies(), |row: Tallied| {
        if let Some(code) = codes.get(&row.service_id)
            && meant.has(row.batch_id)
        {
            let key = (code, row.state, row.currency.code());
            let (_, count, amount) = sums.entry(key).or_insert((row.currency, 0, 0));
            *count = count.saturating_add(row.count);
            *amount += i128::from(row.amount);
        }
        Ok::<_, Error>(())
    })?;
    for ((service, number, _), (currency, count, amount)) in sums {
        if number == UNPRICED {
            figures.unpriced += count.unsigned_abs();
            continue;
        }
        let mut tally = Tally::default();
        tally.add_many(count.unsigned_abs(), currency, amount);
        figures.rows.push(StandingRow {
            service: service.clone(),
            state: state_of(number)?,
            currency,
            tally,
        });
    }
    Ok(figures)
}

fn evidence_rows(c: &dyn Read, meant: &Meant) -> Result<u64, Error> {
    let mut rows: u64 = 0;
    c.each(&Scan::of(&chain::TABLE), |row: Length| {
        if meant.has(row.batch_id) {
            rows = rows.saturating_add(row.length.unsigned_abs());
        }
        Ok::<_, Error>(())
    })?;
    Ok(rows)
}

/// Returns every service that has payments, and in how many batches it is held.
fn held(
    c: &dyn Read,
    meant: &Meant,
    codes: &BTreeMap<LaneId, ServiceCode>,
) -> Result<Vec<HeldService>, Error> {
    let mut held: BTreeMap<&ServiceCode, u64> = BTreeMap::new();
    let mut last = None;
    c.each(&meant.tallies(), |lane: Lane| {
        // The rows of a lane stand together.
        let own = (lane.batch_id, lane.service_id);
        if last.replace(own) == Some(own) || !meant.has(lane.batch_id) {
            return Ok(());
        }
        if let Some(code) = codes.get(&lane.service_id) {
            let is_held = Scan::of(&held_lane::TABLE)
                .at(&lane.batch_id)
                .at(&lane.service_id);
            *held.entry(code).or_default() += u64::from(c.any(&is_held)?);
        }
        Ok::<_, Error>(())
    })?;
    let told = held.into_iter().map(|(service, batches)| HeldService {
        service: service.clone(),
        batches,
    });
    Ok(told.collect())
}

/// Returns when that payment was posted which is in doubt and was posted before all others that are.
// By batches: the index of what is asked about has each one's doubts together.
fn oldest_doubt(c: &dyn Read, meant: &Meant) -> Result<Option<Timestamp>, Error> {
    let mut batches = BTreeSet::new();
    let doubts = meant
        .tallies()
        .only(tally::state, Test::is(&State::InDoubt))
        .only(tally::count, Test::at_least(&1_i64));
    c.each(&doubts, |lane: Lane| {
        if meant.has(lane.batch_id) {
            batches.insert(lane.batch_id);
        }
        Ok::<_, Error>(())
    })?;
    let mut oldest: Option<Timestamp> = None;
    for batch_id in batches {
        let doubts = Scan::by(&life::ask_queue).at(&batch_id).at(&State::InDoubt);
        c.each_row(&doubts, &[life::posted_at], |row| {
            let at: Option<Timestamp> = row.get(0)?;
            oldest = match (oldest, at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
    }
    Ok(oldest)
}
