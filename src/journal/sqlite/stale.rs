//! Payments that may have left, and whose "not found" is too old to post them on. The rule is in [`crate::ledger::stale`].

use rusqlite::{OptionalExtension, params};

use super::checks::check_unheard;
use super::evidence::apply;
use super::generations;
use super::payments::subject;
use super::session::Chained;
use crate::domain::{Said, Timestamp};
use crate::journal::Error;
use crate::ledger::stale::is_stale;
use crate::lifecycle::{Event, Life, Moment, Policy};

/// When payment ?1 was not found last.
// By its place in the evidence: a clock that was ahead once must not make every later answer an old one.
const NOT_FOUND_AT: &str = "select at from evidence indexed by evidence_by_payment where seq = ?1 and event = 6 and class = 7
     order by evidence_id desc limit 1";

fn not_found_at(c: &Chained, seq: i64) -> Result<Option<Timestamp>, Error> {
    c.flush()?;
    let at: Option<i64> = c
        .prepare_cached(NOT_FOUND_AT)?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    Ok(at.map(Timestamp::from_millis))
}

/// Returns whether a claim rests on a "not found" that is too old by now.
pub(super) fn rests_on_stale(
    c: &Chained,
    seq: i64,
    life: &Life,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    Ok(life.is_exposed() && is_stale(life, not_found_at(c, seq)?, now, policy))
}

/// Puts a ready payment back to asking, where it is not to be posted unasked; returns whether it did.
pub(super) fn ask_again(
    c: &Chained,
    seq: i64,
    life: &Life,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    if !rests_on_stale(c, seq, life, now, policy)? {
        return Ok(false);
    }
    let mut subject = subject(c, seq)?;
    let (from, moment) = (subject.moved.from, Moment { now, jitter: 0 });
    let said = Said::default();
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
const EXPOSED: &str = "select seq, service_id from life indexed by post_queue
     where batch_id = ?1 and service_id in (select service_id from service) and state = 0 and exposures > 0 order by seq";

/// Puts all ready payments of a batch back to asking that are not to be posted unasked: a run begins, maybe a day later.
pub(super) fn ask_all_again(
    c: &Chained,
    batch_id: i64,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let exposed: Vec<(i64, i64)> = c
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
