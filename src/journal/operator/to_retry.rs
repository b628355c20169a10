//! Failed payments that an order pays again.

use super::chosen::chosen;
use super::chosen::failure;
use super::unretried::judged;
use crate::domain::{BatchName, Tally, Timestamp};
use crate::journal::codec::catalog::known_batch;
use crate::journal::recovery::payers::assert_none_lost;
use crate::journal::repeats::anew::Anew;
use crate::journal::session::expected::in_turn;
use crate::journal::{Error, FAILURES_SHOWN, Failures, RepeatPlan, ToRetry};
use crate::store::Read;
use std::collections::BTreeMap;

/// Returns what an order to pay failures anew comes to.
pub(in crate::journal) fn to_retry(
    c: &dyn Read,
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
    for seq in in_turn(c, &chosen(c, batch, which)?) {
        let seq = seq?;
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
