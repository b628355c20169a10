//! What of a claim may leave.

use super::count::{count, names_of};
use super::sums::{exposure, is_known, of_batch, used};
use super::waiting::Limited;
use crate::domain::{BatchId, Currency, Day, LaneId, Payment, PaymentId, Timestamp, Totals};
use crate::journal::Error;
use crate::journal::session::limiter::Limiter;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::limits::{Limits, Period, Row, Seen, Verdict, judge, recipient_of};
use crate::store::tables::counted;
use crate::store::{Read, Reads, Scan, Test};

/// Rows of a claim, parted.
pub(in crate::journal) struct Sifted<T> {
    /// They may leave.
    pub(in crate::journal) leaving: Vec<T>,
    /// They wait, each for a limit of its own.
    pub(in crate::journal) limited: Vec<Limited>,
    /// From this row on nothing was looked at: too much is under way.
    pub(in crate::journal) full_from: Option<i64>,
}

/// Begins a claim: counts what was recorded since the last one. `false`: there is more to count, and nothing leaves until then.
pub(in crate::journal) fn begin_claim(c: &WriteSession, batch_id: BatchId) -> Result<bool, Error> {
    let counted = c.limiter(batch_id, |limiter| {
        limiter.begin_claim();
        limiter.limits.counts().then(|| limiter.limits.zone.clone())
    });
    match counted.flatten() {
        Some(zone) => count(c, &zone),
        None => Ok(true),
    }
}

/// Parts the rows of a lane, in their order, by what the limits of the run say. `of` tells number and payment of a row.
pub(in crate::journal) fn sift<T>(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    rows: Vec<T>,
    of: impl Fn(&T) -> (PaymentId, &Payment),
    now: Timestamp,
) -> Result<Sifted<T>, Error> {
    let sifted = c.limiter(batch_id, |limiter| {
        if limiter.exposure.is_none() && !limiter.limits.exposure.is_empty() {
            c.write_tallies()?;
            limiter.exposure = Some(exposure(c, batch_id)?);
        }
        if limiter.batch.is_none() && !limiter.limits.batch.is_empty() {
            c.write_tallies()?;
            limiter.batch = Some(of_batch(c, batch_id)?);
        }
        Ok::<_, Error>(())
    });
    if sifted.transpose()?.is_none() {
        return Ok(Sifted {
            leaving: rows,
            limited: Vec::new(),
            full_from: None,
        });
    }
    let sifted = c.limiter(batch_id, |limiter| {
        let period = Period::of(now, &limiter.limits.zone);
        sift_by(c, limiter, lane, rows, of, &period, now)
    });
    sifted
        .transpose()?
        .ok_or_else(|| crate::journal::codec::values::corrupt("a run that lost its limits"))
}

fn sift_by<T>(
    c: &dyn Read,
    limiter: &mut Limiter,
    lane: LaneId,
    rows: Vec<T>,
    of: impl Fn(&T) -> (PaymentId, &Payment),
    period: &Period,
    now: Timestamp,
) -> Result<Sifted<T>, Error> {
    let mut sifted = Sifted {
        leaving: Vec::with_capacity(rows.len()),
        limited: Vec::new(),
        full_from: None,
    };
    let limits = std::sync::Arc::clone(&limiter.limits);
    for row in rows {
        let (seq, payment) = of(&row);
        let instruction = &payment.instruction;
        let recipient = recipient_of(instruction);
        let [by_recipient, by_service] = names_of(&recipient, lane);
        let own = own(c, &limits, seq)?;
        let seen = seen(
            c,
            limiter,
            (&by_recipient, &by_service, &recipient),
            payment,
            own,
            period,
        )?;
        let judged = Row {
            recipient: &recipient,
            phone: instruction.msisdn.as_str(),
            service: &instruction.service,
            money: instruction.money,
            loaded_at: payment.received_at,
        };
        match judge(&limits, judged, &seen, period, now) {
            Verdict::Leaves => {
                // What counts today already is not taken a second time.
                let counts = own != Some(period.day);
                limiter.take(
                    [(by_recipient, counts), (by_service, counts)],
                    instruction.money,
                );
                sifted.leaving.push(row);
            }
            Verdict::Waits(reason, until) => sifted.limited.push(Limited { seq, reason, until }),
            Verdict::Full => {
                limiter.fill(lane, instruction.money);
                sifted.full_from = Some(seq.get());
                break;
            }
        }
    }
    Ok(sifted)
}

/// Returns on which day a payment counts already; `None` when it does not.
fn own(c: &dyn Read, limits: &Limits, seq: PaymentId) -> Result<Option<Day>, Error> {
    if !limits.counts() {
        return Ok(None);
    }
    let counting = Scan::of(&counted::TABLE)
        .at(&seq)
        .only(counted::counts, Test::at_least(&1_i64));
    Ok(c.value(&counting, counted::day)?)
}

/// Reads what was paid before, without the payment itself.
fn seen(
    c: &dyn Read,
    limiter: &Limiter,
    (by_recipient, by_service, recipient): (&str, &str, &str),
    payment: &Payment,
    own: Option<Day>,
    period: &Period,
) -> Result<Seen, Error> {
    let limits = &limiter.limits;
    let money = payment.instruction.money;
    let currency = money.currency;
    let own_amount = i128::from(money.amount.minor());
    let sums = |name: &str, is_asked: bool| -> Result<(i128, i128), Error> {
        if !is_asked {
            return Ok((0, 0));
        }
        let (mut day, mut month) = used(c, limiter.realm, name, currency, period)?;
        if own == Some(period.day) {
            day -= own_amount;
        }
        if own.is_some_and(|own| (period.month_from..=period.month_to).contains(&own)) {
            month -= own_amount;
        }
        let taken = limiter.taken(name, currency);
        Ok((day + taken, month + taken))
    };
    let of_recipient = [&limits.recipient_day, &limits.recipient_month];
    let is_asked = of_recipient.iter().any(|of| of.contains_key(&currency));
    let (recipient_day, recipient_month) = sums(by_recipient, is_asked)?;
    let of_service = limits.of_service(&payment.instruction.service, currency);
    let is_asked = of_service.0.is_some() || of_service.1.is_some();
    let (service_day, service_month) = sums(by_service, is_asked)?;
    Ok(Seen {
        recipient_day,
        recipient_month,
        service_day,
        service_month,
        batch: minor_of(limiter.batch.as_ref(), currency),
        exposure: minor_of(limiter.exposure.as_ref(), currency),
        is_known: limits.new_recipient_wait.is_none() || is_known(c, limiter.realm, recipient)?,
    })
}

fn minor_of(totals: Option<&Totals>, currency: Currency) -> i128 {
    totals.map_or(0, |totals| totals.minor(currency))
}
