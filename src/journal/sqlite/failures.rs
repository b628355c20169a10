//! The failures that an order to pay anew is about: all of a batch, those with a code, or those that a person names.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::Journal;
use super::anew::Anew;
use super::catalog::known_batch;
use super::names::rows_named;
use super::operator::{RETRIABLE, not_allowed};
use super::payers::assert_none_lost;
use super::row::{PAYMENT_COLUMNS, PAYMENT_WIDTH, corrupt, currency_of, payment_of, state_of};
use super::turns::Manner;
use super::unpriced::without_amount;
use super::unretried::judged;
use crate::domain::{BatchName, Tally, Timestamp};
use crate::journal::{Error, FAILURES_SHOWN, Failure, Failures, RepeatPlan, Replaced, ToRetry};
use crate::lifecycle::State;

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
        self.ask(Manner::Alone, move |c| {
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
        self.ask(Manner::Alone, move |c| replaced(c, &batch)).await
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

/// Returns the failures that are meant, in the order of their rows; some of them may have no retry all the same.
pub(super) fn chosen(
    c: &Connection,
    batch: &BatchName,
    which: &Failures,
) -> Result<Vec<i64>, Error> {
    let batch_id = known_batch(c, batch)?;
    let failures: Vec<i64> = c
        .prepare(&format!(
            "select seq from life l where {RETRIABLE} order by seq"
        ))?
        .query_map(params![batch_id, which.code], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if which.named.is_empty() {
        return Ok(failures);
    }
    let mut chosen = BTreeSet::new();
    for name in &which.named {
        let seq = rows_named(c, (batch, batch_id), name)?[0];
        if failures.binary_search(&seq).is_err() {
            return Err(refusal(c, seq)?);
        }
        chosen.insert(seq);
    }
    Ok(chosen.into_iter().collect())
}

/// Says why a payment that is named is none of the failures.
fn refusal(c: &Connection, seq: i64) -> Result<Error, Error> {
    if let Some(state) = without_amount(c, seq)? {
        return not_allowed(c, seq, state, "it has no amount, and was never posted");
    }
    let (state, code, is_replaced): (i64, Option<i32>, bool) = c
        .prepare_cached(
            "select coalesce(l.state, 0), l.code, l.replaced_by is not null from instruction i left join life l using (seq) where i.seq = ?1",
        )?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let state = state_of(state)?;
    let why = match (state, is_replaced, code) {
        (State::Failed, true, _) => {
            "its row has been retried or replaced already, by a later payment".to_owned()
        }
        (State::Failed, false, Some(code)) => {
            format!("it failed with another code than the one that is given, {code}")
        }
        (State::Failed, false, None) => {
            "an operator recorded it as failed, and a code is given".to_owned()
        }
        (State::Paid, ..) => "it is paid already, and nobody is paid twice".to_owned(),
        (State::Cancelled, ..) => {
            "it was withdrawn; to pay it after all, load its row under another batch name"
                .to_owned()
        }
        (State::Ready, ..) => "the next run pays it anyway".to_owned(),
        (State::Conflict, ..) => {
            "it may be paid: find out with the gateway, and record it with `disburse resolve`"
                .to_owned()
        }
        _ => "its outcome is not known yet; only what is proven to have failed is paid again"
            .to_owned(),
    };
    not_allowed(c, seq, state.name(), &why)
}

/// Returns what an order to pay failures anew comes to.
pub(super) fn to_retry(
    c: &Connection,
    batch: &BatchName,
    which: &Failures,
    repeats: Option<&(RepeatPlan, Timestamp)>,
) -> Result<ToRetry, Error> {
    let batch_id = known_batch(c, batch)?;
    if repeats.is_some() {
        assert_none_lost(c)?;
    }
    let anew = Anew::begin(c, batch_id, repeats.map(|(plan, now)| (plan, *now)))?;
    // What has no code comes last.
    let mut by_code: BTreeMap<(bool, Option<i32>), Tally> = BTreeMap::new();
    let (mut rows, mut paid_since) = (Vec::new(), Vec::new());
    for seq in chosen(c, batch, which)? {
        let judged = judged(c, anew.as_ref(), which, seq)?;
        if judged.why.is_some() {
            continue;
        }
        let failure = failure(c, seq)?;
        if let Some(since) = judged.since
            && paid_since.len() < FAILURES_SHOWN
        {
            paid_since.push((failure.clone(), since));
        }
        let tally = by_code
            .entry((failure.code.is_none(), failure.code))
            .or_default();
        tally.count += 1;
        tally.amounts.add(failure.money);
        if rows.len() < FAILURES_SHOWN {
            rows.push(failure);
        }
    }
    let by_code = by_code.into_iter().map(|((_, code), tally)| (code, tally));
    Ok(ToRetry {
        by_code: by_code.collect(),
        rows,
        paid_since,
    })
}

pub(super) fn failure(c: &Connection, seq: i64) -> Result<Failure, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, l.code from instruction i join service s using (service_id) join life l using (seq) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt("a payment without its instruction"))?;
    let payment = payment_of(row, 0)?;
    Ok(Failure {
        line: payment.instruction.line,
        reference: payment.instruction.reference,
        msisdn: payment.instruction.msisdn,
        money: payment.instruction.money,
        code: row.get(PAYMENT_WIDTH)?,
    })
}
