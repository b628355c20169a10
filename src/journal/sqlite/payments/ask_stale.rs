//! Payments whose last "not found" is too old to rest on: they are asked about again.

use super::apply::apply;
use super::generations;
use super::stale::rests_on_stale;
use crate::domain::{BatchId, LaneId, PaymentId, ResponseDetails, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::verify::checks::check_unheard;
use crate::lifecycle::{Event, PaymentState, Policy, StepContext};
use rusqlite::params;

/// Puts a ready payment back to asking, where it is not to be posted unasked; returns whether it did.
pub(in crate::journal::sqlite) fn ask_again(
    c: &WriteSession,
    seq: PaymentId,
    life: &PaymentState,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    if !rests_on_stale(c, seq, life, now, policy)? {
        return Ok(false);
    }
    let mut subject = subject(c, seq)?;
    let (from, moment) = (subject.moved.from, StepContext { now, jitter: 0 });
    let said = ResponseDetails::default();
    apply(
        c,
        &mut subject,
        Event::Outdated,
        &said,
        None,
        moment,
        policy,
    )?;
    c.moved(&subject, from)?;
    generations::settle(c, &mut subject, moment, Some(policy))?;
    Ok(true)
}

/// Ready payments that may have left before.
pub(in crate::journal::sqlite) const EXPOSED: &str = "select seq, service_id from life indexed by post_queue
     where batch_id = ?1 and service_id in (select service_id from service) and state = 0 and exposures > 0 order by seq";

/// Puts all ready payments of a batch back to asking that are not to be posted unasked: a run begins, maybe a day later.
pub(in crate::journal::sqlite) fn ask_all_again(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let exposed: Vec<(PaymentId, LaneId)> = c
        .prepare_cached(EXPOSED)?
        .query_map(params![batch_id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (seq, lane) in exposed {
        // What was edited in the file stays as it is: its claim compares it with its evidence, and tells.
        if check_unheard(c, (batch_id, lane), seq)?.is_some() {
            continue;
        }
        let life = subject(c, seq)?.moved.life;
        ask_again(c, seq, &life, now, policy)?;
    }
    Ok(())
}
