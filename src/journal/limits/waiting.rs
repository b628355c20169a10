//! Payments that a limit keeps from leaving.

use std::collections::{BTreeMap, BTreeSet};

use super::recorded::of_last_run;
use super::sums::exposure;
use crate::domain::{BatchId, Currency, LaneId, PaymentId, ServiceCode, Tally, Timestamp};
use crate::journal::Error;
use crate::journal::codec::instructions::Instructions;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{LimitedRows, RunToken};
use crate::ledger::limits::judge::is_over;
use crate::ledger::limits::{Ceiling, Reason};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life, limited};
use crate::store::{Beside, Read, Reads, Scan, Shape, Write, Writes, shape};

shape! {
    struct LimitedRow of limited {
        batch_id: BatchId, seq: PaymentId, service_id: LaneId, reason: String, until: Timestamp,
    }
}

/// A payment that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) struct Limited {
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) reason: Reason,
    pub(in crate::journal) until: Timestamp,
}

/// Lets everything that waits for a limit be judged anew: it is due at once. Another run has found it, whose limits may be others;
/// where that one is still at work, it looks at it again, too.
pub(in crate::journal) fn judge_anew(c: &dyn Write, batch_id: BatchId) -> Result<(), Error> {
    shape! {
        struct WaitsUntil of limited { service_id: LaneId, until: Timestamp }
    }
    let limited = Scan::of(&limited::TABLE).at(&batch_id);
    // Those of one claim wait until the same time.
    let mut times = BTreeSet::new();
    c.each(&limited, |row: WaitsUntil| {
        times.insert((row.service_id, row.until));
        Ok::<_, Error>(())
    })?;
    for (lane, until) in times {
        let put_off = Scan::by(&life::post_queue)
            .at(&batch_id)
            .at(&lane)
            .at(&until);
        c.set(&put_off, life::due_at, &0_i64)?;
    }
    c.remove(&limited)?;
    Ok(())
}

/// Notes that payments wait.
pub(in crate::journal) fn note(
    c: &dyn Write,
    (batch_id, lane): (BatchId, LaneId),
    rows: &[Limited],
) -> Result<(), Error> {
    for Limited { seq, reason, until } in rows {
        c.put(&LimitedRow {
            batch_id,
            seq: *seq,
            service_id: lane,
            reason: reason.name().to_owned(),
            until: *until,
        })?;
    }
    Ok(())
}

/// Notes that a payment waits no longer.
pub(in crate::journal) fn leaves(
    c: &dyn Write,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<(), Error> {
    c.remove(&Scan::of(&limited::TABLE).at(&batch_id).at(&seq))?;
    Ok(())
}

/// Returns whether a lane waits until less is under way, at this moment.
pub(in crate::journal) fn is_full(
    c: &WriteSession,
    token: RunToken,
    lane: LaneId,
) -> Result<bool, Error> {
    let waits = c.limiter(token.batch_id, |limiter| {
        let money = limiter.waits(lane)?;
        let ceiling = limiter.limits.exposure.get(&money.currency).copied();
        Some((money, ceiling))
    });
    let Some((money, ceiling)) = waits.flatten() else {
        return Ok(false);
    };
    c.write_tallies()?;
    let used = exposure(c, token.batch_id)?.minor(money.currency);
    Ok(is_over(ceiling, used, money.amount))
}

/// Why payments wait, the code of their currency, that of their service.
type Why = (String, &'static str, String);

/// Payments that wait for the same: their currency, their service, what they come to, until when.
struct Waits {
    currency: Currency,
    service: ServiceCode,
    tally: Tally,
    until: Timestamp,
}

/// Returns what waits in a batch, in the order of why.
fn waits(c: &dyn Read, batch_id: BatchId) -> Result<BTreeMap<Why, Waits>, Error> {
    shape! {
        struct Stands of life { state: State }
    }
    shape! {
        struct Amount of instruction { service_id: LaneId, currency: Currency, amount: Option<i64> }
    }
    let services = Instructions::of(c);
    let mut lives = Beside::along(c, Scan::of(&life::TABLE), life::seq, Stands::COLUMNS);
    let instructions = Scan::of(&instruction::TABLE);
    let mut amounts = Beside::along(c, instructions, instruction::seq, Amount::COLUMNS);
    let mut waits: BTreeMap<Why, Waits> = BTreeMap::new();
    c.each(
        &Scan::of(&limited::TABLE).at(&batch_id),
        |row: LimitedRow| {
            let life = lives.find_as::<Stands>(row.seq.get())?;
            if life.is_none_or(|life| life.state != State::Ready) {
                return Ok(());
            }
            let Some(amount) = amounts.find_as::<Amount>(row.seq.get())? else {
                return Ok(());
            };
            let currency = amount.currency;
            let service = services.service(amount.service_id)?;
            let why = (row.reason, currency.code(), service.to_string());
            let of_why = waits.entry(why).or_insert_with(|| Waits {
                currency,
                service,
                tally: Tally::default(),
                until: row.until,
            });
            let minor = amount.amount.unwrap_or(0);
            of_why.tally.add_many(1, currency, i128::from(minor));
            of_why.until = of_why.until.min(row.until);
            Ok::<_, Error>(())
        },
    )?;
    Ok(waits)
}

/// Returns what waits in a batch, by the limit.
pub(in crate::journal) fn limited(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<LimitedRows>, Error> {
    let mut found: Vec<LimitedRows> = Vec::new();
    let limits = of_last_run(c, batch_id)?;
    for ((reason, ..), waits) in waits(c, batch_id)? {
        let Some(reason) = Reason::of_name(&reason) else {
            continue;
        };
        let Waits { tally, until, .. } = waits;
        let limits = limits.as_ref();
        let ceiling =
            limits.and_then(|limits| limits.ceiling(reason, &waits.service, waits.currency));
        match found.last_mut().filter(|last| last.reason == reason) {
            Some(last) => {
                last.tally.add_all(&tally);
                last.until = last.until.min(until);
                let is_new = |of: &Ceiling| !last.ceilings.contains(of);
                last.ceilings.extend(ceiling.filter(is_new));
            }
            None => found.push(LimitedRows {
                reason,
                tally,
                until,
                ceilings: ceiling.into_iter().collect(),
            }),
        }
    }
    Ok(found)
}
