//! Payments that an earlier journal may have posted: what becomes of them, and when a recovery is over.

use super::OrdersLost;
use crate::lifecycle::{PaymentState, State};

/// What happened to a payment after it was presumed posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// The gateway has spoken of it.
    pub answered: bool,
    /// This journal has posted it.
    pub posted: bool,
    /// A person decided its end.
    pub decided: bool,
    /// By a person's word it is ready again.
    pub released: bool,
}

/// What is known of a payment that was presumed posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Nothing was heard of it yet.
    Unasked,
    /// The gateway does not know it, or not yet beyond doubt.
    NotFound,
    /// The gateway knows it: an earlier journal had posted it.
    Known,
    /// This journal has posted it since.
    Posted,
    /// A person decided.
    Decided,
}

/// Returns what is known of a payment that was presumed posted.
#[must_use]
pub fn became(life: &PaymentState, since: Since) -> Became {
    let ended = matches!(life.state, State::Paid | State::Failed | State::Conflict);
    let decided = since.decided && life.state.is_finished() && life.state != State::Conflict;
    match since {
        _ if since.posted => Became::Posted,
        _ if decided => Became::Decided,
        _ if life.known || ended => Became::Known,
        _ if since.released && matches!(life.state, State::Ready | State::Cancelled) => {
            Became::Decided
        }
        _ if life.state == State::InDoubt && !since.answered => Became::Unasked,
        _ => Became::NotFound,
    }
}

/// Returns whether a payment is presumed posted where an earlier journal may have posted it.
///
/// What is ready would be posted unasked otherwise. What was cancelled would be reported as never paid: another journal,
/// which knew nothing of the cancellation, may have posted it.
#[must_use]
pub fn is_presumed(life: &PaymentState) -> bool {
    // What the gateway had before our first post was the earlier journal's, then.
    let taken = life.taken && matches!(life.state, State::InDoubt | State::Conflict);
    matches!(life.state, State::Ready | State::Cancelled) || taken
}

/// Returns whether a person's word that nothing has run since makes a payment ready again.
///
/// Only the presumption makes it doubtful: this journal never posted it, and the gateway has never spoken of it but to say
/// that it does not know it.
#[must_use]
pub fn may_be_released(life: &PaymentState, spoken_of: bool) -> bool {
    let unknown = !life.known && life.code.is_none() && !spoken_of;
    life.state == State::InDoubt && life.attempts == 0 && unknown
}

/// Returns whether the retry of a payment is presumed posted.
///
/// A journal that has missed something may have missed a retry that bore this very identifier: of every payment that was
/// there when it was noticed, and of every payment that was presumed itself.
#[must_use]
pub fn retry_is_presumed(is_open: bool, there_when_noticed: bool, was_presumed: bool) -> bool {
    planted!(ledger::retry_is_presumed(
        is_open || there_when_noticed || was_presumed
    ))
}

/// How a payment came into a journal that may have missed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// After it was noticed, or with the load that made the journal anew.
    pub since_noticed: bool,
    /// It is paid in place of one that had failed, or was refused: a retry, a corrected row, a row of the same debt in another load.
    pub in_place_of_ended: bool,
    /// Nothing of it moves money.
    pub is_rehearsal: bool,
}

/// Returns whether a payment is asked about, and not posted, until the recovery is declared done. `batches_missing`: batches that
/// were posted in the place of the journal are not in it, or not as they were ([`crate::ledger::payer::Lost::holds`]).
///
/// A batch that was loaded after the copy was made may have paid it under an identifier of its own: that the gateway does not know
/// this one proves nothing. What takes the place of a failure waits for a person's word that all batches are here again; whatever else
/// was loaded may be one of them under another name, originator or reference, and waits while one is known to be missing.
/// What was unfinished in the copy was asked for once, and nothing else took its place without an order.
#[must_use]
pub fn waits_until_done(is_open: bool, batches_missing: bool, arrival: Arrival) -> bool {
    let Arrival {
        since_noticed,
        in_place_of_ended,
        is_rehearsal,
    } = arrival;
    let may_be_paid = in_place_of_ended || batches_missing;
    is_open && since_noticed && may_be_paid && !is_rehearsal
}

/// Why a recovery cannot be declared done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// Nothing was noticed, or it is done already.
    NotOpen,
    /// So many presumed payments are not asked about yet.
    Unasked(u64),
    /// Orders of people are lost, or may be, and nobody has said that they were given again.
    OrdersLost(OrdersLost),
}

/// Judges whether a recovery may be declared done: from then on, what is loaded is posted first.
///
/// # Errors
/// Why not.
pub fn may_be_done(is_open: bool, unasked: u64, orders_lost: OrdersLost) -> Result<(), NotDone> {
    match (is_open, unasked) {
        (false, _) => Err(NotDone::NotOpen),
        // The answers about them show how much was missed.
        (true, 1..) => Err(NotDone::Unasked(unasked)),
        (true, 0) if orders_lost.is_none() => Ok(()),
        (true, 0) => Err(NotDone::OrdersLost(orders_lost)),
    }
}
