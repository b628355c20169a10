//! Payments whose last "not found" is too old to rest on: they are asked about again.

use super::apply::apply;
use super::generations;
use super::stale::rests_on_stale;
use crate::domain::{BatchId, LaneId, PaymentId, ResponseDetails, Timestamp};
use crate::journal::Error;
use crate::journal::session::expected::in_turn;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::check_unheard;
use crate::lifecycle::{Event, PaymentState, Policy, StepContext};
use crate::store::tables::{life, service};
use crate::store::{Read, Reads, Scan, Test};

/// Puts a ready payment back to asking, where it is not to be posted unasked; returns whether it did.
pub(in crate::journal) fn ask_again(
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
    apply(c, &mut subject, Event::Outdated, &said, moment, policy)?;
    c.moved(&subject, from)?;
    generations::settle(c, &mut subject, moment, Some(policy))?;
    Ok(true)
}

/// Returns the ready payments of a batch that may have left before, in their order.
fn exposed(c: &dyn Read, batch_id: BatchId) -> Result<Vec<(PaymentId, LaneId)>, Error> {
    let lanes: Vec<LaneId> = c.values(&Scan::of(&service::TABLE), service::service_id)?;
    let mut exposed = Vec::new();
    for lane in lanes {
        let of_lane = Scan::by(&life::post_queue)
            .at(&batch_id)
            .at(&lane)
            .only(life::exposures, Test::at_least(&1_i64));
        let seqs: Vec<PaymentId> = c.values(&of_lane, life::seq)?;
        exposed.extend(seqs.into_iter().map(|seq| (seq, lane)));
    }
    exposed.sort_unstable_by_key(|(seq, _)| *seq);
    Ok(exposed)
}

/// Puts all ready payments of a batch back to asking that are not to be posted unasked: a run begins, maybe a day later.
pub(in crate::journal) fn ask_all_again(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let exposed = exposed(c, batch_id)?;
    let seqs: Vec<PaymentId> = exposed.iter().map(|(seq, _)| *seq).collect();
    for ((seq, lane), turn) in exposed.into_iter().zip(in_turn(&**c, &seqs)) {
        turn?;
        // What was edited in the file stays as it is: its claim compares it with its evidence, and tells.
        if check_unheard(c, (batch_id, lane), seq)?.is_some() {
            continue;
        }
        let life = subject(c, seq)?.moved.life;
        ask_again(c, seq, &life, now, policy)?;
    }
    Ok(())
}
