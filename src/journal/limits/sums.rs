//! What was paid, and what is under way.

use std::ops::ControlFlow;

use crate::domain::{BatchId, Currency, Day, Totals};
use crate::journal::Error;
use crate::ledger::limits::Period;
use crate::lifecycle::State;
use crate::store::tables::{batch, counted, tally, used};
use crate::store::{Read, Reads, Scan, Test, shape};

/// Where payments are under way, in doubt or in conflict.
const UNDER_WAY: [State; 5] = [
    State::Posting,
    State::InDoubt,
    State::Acknowledged,
    State::Delivered,
    State::Conflict,
];

/// Returns what of a batch is paid, or not proven unpaid.
pub(in crate::journal) fn of_batch(c: &dyn Read, batch_id: BatchId) -> Result<Totals, Error> {
    let mut totals = Totals::default();
    let not_unpaid = [&UNDER_WAY[..], &[State::Paid]].concat();
    add(c, batch_id, &not_unpaid, &mut totals)?;
    Ok(totals)
}

/// Adds what of a batch stands at some states.
fn add(
    c: &dyn Read,
    batch_id: BatchId,
    states: &[State],
    totals: &mut Totals,
) -> Result<(), Error> {
    shape! {
        struct Sum of tally { currency: Currency, amount: i64 }
    }
    let rows = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .only(tally::state, Test::among(states))
        .only(tally::count, Test::at_least(&1_i64));
    c.each(&rows, |Sum { currency, amount }| {
        totals.add_minor(currency, i128::from(amount));
        Ok::<_, Error>(())
    })
}

/// Returns what somebody was paid, or a service has paid, on the day and in the month.
pub(in crate::journal) fn used(
    c: &dyn Read,
    realm: i64,
    name: &str,
    currency: Currency,
    period: &Period,
) -> Result<(i128, i128), Error> {
    let days = Scan::of(&used::TABLE)
        .at(&realm)
        .at(&name)
        .at(&currency)
        .from(&period.month_from)
        .up_to(&period.month_to);
    let (mut day, mut month) = (0, 0);
    c.each_row(&days, &[used::day, used::amount], |row| {
        let amount = i128::from(row.get::<i64>(1)?);
        month += amount;
        if row.get::<Day>(0)? == period.day {
            day += amount;
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok((day, month))
}

/// Returns whether somebody was paid before.
pub(in crate::journal) fn is_known(
    c: &dyn Read,
    realm: i64,
    recipient: &str,
) -> Result<bool, Error> {
    let paid = Scan::by(&counted::paid_recipient).at(&realm).at(&recipient);
    Ok(c.any(&paid)?)
}

/// Returns what is under way, in doubt or in conflict, over all batches of the account of a batch.
pub(in crate::journal) fn exposure(c: &dyn Read, batch_id: BatchId) -> Result<Totals, Error> {
    exposure_at(c, batch_id, None)
}

/// Returns the same of a batch that no run has given a gateway and an account yet, at those that its first run would give it.
pub(in crate::journal) fn exposure_at(
    c: &dyn Read,
    batch_id: BatchId,
    first: Option<(&str, &str)>,
) -> Result<Totals, Error> {
    shape! {
        struct Placed of batch {
            batch_id: BatchId, account: Option<String>, gateway: Option<String>, rehearsal: Option<bool>,
        }
    }
    let mut totals = Totals::default();
    let own: Option<Placed> = c.first(&Scan::of(&batch::TABLE).at(&batch_id))?;
    let Some(own) = own else {
        return Ok(totals);
    };
    let (gateway, account) = first.unzip();
    let account = own.account.as_deref().or(account);
    let gateway = own.gateway.as_deref().or(gateway);
    let is_rehearsal = own.rehearsal.unwrap_or(false);
    c.each(&Scan::of(&batch::TABLE), |other: Placed| {
        let is_there = other.account.as_deref() == account && other.gateway.as_deref() == gateway;
        if is_there && other.rehearsal.unwrap_or(false) == is_rehearsal {
            add(c, other.batch_id, &UNDER_WAY, &mut totals)?;
        }
        Ok::<_, Error>(())
    })?;
    Ok(totals)
}
