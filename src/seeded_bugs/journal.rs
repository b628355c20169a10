//! What planted mistakes make of what the journal records, and lets leave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::SeededBug;
use crate::domain::{BatchId, Epoch, LaneId, PayerTransactionId, Payment, PaymentId, Timestamp};
use crate::journal::{Claim, Clearance, Error, Finding, LoadPlan};
use crate::ledger::confirmation::Bound;
use crate::ledger::generations::Order;
use crate::lifecycle::{PaymentState, State};
use crate::store::tables::{life, session};
use crate::store::{Reads, Scan, Test, Transact, Write, Writes, shape};

/// The generation that an identifier is derived for at a load.
pub(crate) fn first_generation(found: u32, plan: &LoadPlan) -> u32 {
    match SeededBug::OtherIdentifierOnReload.is_active() {
        true => u32::try_from(plan.now.as_millis() % 1_000_000).unwrap_or(0),
        false => found,
    }
}

/// Lets what is in doubt have failed, before it is looked at what may be retried.
pub(crate) fn doubt_fails<T>(c: &dyn Write, batch_id: BatchId) -> Option<Result<T, Error>> {
    shape! {
        struct CalledFailed of life { state: State, due_at: i64 }
    }
    if !SeededBug::RetryDoubtful.is_active() {
        return None;
    }
    let called_failed = CalledFailed {
        state: State::Failed,
        due_at: i64::MAX,
    };
    let doubtful = Scan::by(&life::ask_queue).at(&batch_id).at(&State::InDoubt);
    let done = c
        .values(&doubtful, life::seq)
        .and_then(|seqs: Vec<PaymentId>| {
            seqs.iter().try_for_each(|seq| {
                c.change(&Scan::of(&life::TABLE).at(seq), &called_failed)?;
                Ok(())
            })
        });
    done.err().map(|error| Err(error.into()))
}

/// What a retry is held against: the other loads.
pub(crate) fn other_loads<T>(found: Option<T>) -> Option<T> {
    found.filter(|_| !SeededBug::RepeatedRetryUnjudged.is_active())
}

/// What is held against a payment when it leaves, as nothing was found.
pub(crate) fn not_looked_at_again<T: Default, E>() -> Option<Result<T, E>> {
    SeededBug::RepeatJudgedOnce
        .is_active()
        .then(|| Ok(T::default()))
}

/// What words agree with that name something, as if they named nothing.
pub(crate) fn names_nothing<T: Default, E>() -> Option<Result<T, E>> {
    SeededBug::OtherAmountSettles
        .is_active()
        .then(|| Ok(T::default()))
}

/// What becomes of a retry, whatever its earlier generations have come to.
pub(crate) fn retry_leaves<E>() -> Option<Result<Order, E>> {
    SeededBug::RetryUnjudged
        .is_active()
        .then_some(Ok(Order::Leave))
}

/// Whether a claim leaves, whatever was learned since.
pub(crate) fn claim_leaves<E>() -> Option<Result<Clearance, E>> {
    SeededBug::RetryJudgedOnce
        .is_active()
        .then_some(Ok(Clearance::Leaves))
}

/// Whether the person of a row was forgotten.
pub(crate) fn is_forgotten(found: bool) -> bool {
    found && !SeededBug::ForgottenIsStranger.is_active()
}

/// Whether what had ended a payment that another load has was taken back.
pub(crate) fn is_taken_back(found: bool) -> bool {
    found && !SeededBug::TakenBackMayRepeat.is_active()
}

/// The waits of an earlier process, as they stand.
pub(crate) fn waits_stand<E>() -> Option<Result<(), E>> {
    SeededBug::WaitsOutliveTheClock
        .is_active()
        .then_some(Ok(()))
}

/// Quarantines of a batch that are longer than the one of whoever asks.
pub(crate) fn longer_quarantines<T: Default>(found: T) -> T {
    match SeededBug::QuarantineOfWhoeverAsks.is_active() {
        true => T::default(),
        false => found,
    }
}

/// How far a batch is approved.
pub(crate) fn approved<E>() -> Option<Result<Bound, E>> {
    SeededBug::ApprovalUnbounded
        .is_active()
        .then_some(Ok(Bound::EVERYTHING))
}

/// Whether a run still has its batch.
pub(crate) fn is_current(found: bool) -> bool {
    found || SeededBug::FenceIgnored.is_active()
}

/// Sums by batch, lane, currency and state.
type Tallies = BTreeMap<(BatchId, LaneId, &'static str, State), (i64, i64)>;

/// What moved in a transaction.
pub(crate) fn tallies(mut found: Tallies) -> Tallies {
    if SeededBug::TallyForgotten.is_active() {
        found.retain(|(.., state), _| *state != State::Failed);
    }
    found
}

/// What a commit that failed comes to.
pub(crate) fn failed_commit<E>(found: Result<(), E>) -> Result<(), E> {
    match SeededBug::FailedCommitCounts.is_active() {
        true => Ok(()),
        false => found,
    }
}

/// Whether the document of a payment is uploaded.
pub(crate) fn document_is_there(found: bool) -> bool {
    found || SeededBug::DocumentForgotten.is_active()
}

/// What is posted; `life`: how it stood before this claim.
pub(crate) fn claim(mut found: Claim, life: &PaymentState) -> Claim {
    if life.attempts == 0 {
        return found;
    }
    let payment = Arc::make_mut(&mut found.payment);
    if SeededBug::NewIdentifierOnRepost.is_active() {
        let text = payment.id.as_str().replace('0', "1");
        payment.id = PayerTransactionId::parse(&text).unwrap_or(payment.id);
    }
    if SeededBug::OtherBytesOnRepost.is_active() {
        payment.received_at = payment.received_at.after(Duration::from_secs(5));
    }
    if SeededBug::OtherDocumentOnRepost.is_active() {
        found.support_document = found.support_document.map(|reference| reference + "-2");
    }
    found
}

/// A claim of a payment whose life has begun, without its intent: it is due again soon.
pub(crate) fn claimed_without_intent(
    c: &dyn Write,
    lane: LaneId,
    (seq, payment): (PaymentId, &Payment),
    now: Timestamp,
) -> Option<Result<Option<Claim>, Error>> {
    if !SeededBug::ClaimWithoutIntent.is_active() {
        return None;
    }
    let soon = now.as_millis() + 500;
    let put_off = c.set(&Scan::of(&life::TABLE).at(&seq), life::due_at, &soon);
    let claim = Claim {
        seq,
        lane,
        payment: Arc::new(payment.clone()),
        support_document: None,
        looked_at_last: false,
        leave_by: None,
    };
    Some(put_off.map(|_| Some(claim)).map_err(Error::from))
}

/// Claims of fresh payments without their intents: their lives begin as if nothing were known of them.
pub(crate) fn begun_without_intent(
    c: &dyn Write,
    (batch_id, service_id): (BatchId, LaneId),
    found: &[(PaymentId, Arc<Payment>)],
    watched: &[PaymentId],
    now: Timestamp,
    claims: &mut Vec<Claim>,
) -> Option<Result<(), Error>> {
    shape! {
        struct Begun of life { seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64 }
    }
    if !SeededBug::ClaimWithoutIntent.is_active() {
        return None;
    }
    let begun = found.iter().map(|(seq, _)| Begun {
        seq: *seq,
        batch_id,
        service_id,
        state: State::Ready,
        due_at: now.as_millis() + 500,
    });
    let lives: Vec<Begun> = begun.collect();
    claims.extend(found.iter().map(|(seq, payment)| Claim {
        seq: *seq,
        lane: service_id,
        payment: Arc::clone(payment),
        support_document: None,
        looked_at_last: watched.binary_search(seq).is_ok(),
        leave_by: None,
    }));
    Some(c.insert_all(&lives).map_err(Error::from))
}

/// The time by which leases are over.
pub(crate) fn time_of_leases(found: Timestamp) -> Timestamp {
    match SeededBug::LeaseByOwnClock.is_active() {
        true => crate::journal::own_clock().unwrap_or(found),
        false => found,
    }
}

/// By how much more or less than a run counts the clock of the server goes, while it was not set.
pub(crate) fn step_of_clock(found: Duration) -> Duration {
    match SeededBug::ServerClockUnwatched.is_active() {
        true => Duration::MAX,
        false => found,
    }
}

/// What the clock of a run shows as it takes its batch.
pub(crate) fn clock_of_run(found: Option<Timestamp>) -> Option<Timestamp> {
    found.filter(|_| !SeededBug::RunClockUnread.is_active())
}

/// Since when a payment is in doubt whose run is not heard of any more.
pub(crate) fn doubted_at(found: Timestamp, posted_at: Option<Timestamp>) -> Timestamp {
    match SeededBug::QuarantineFromClaim.is_active() {
        true => posted_at.unwrap_or(found),
        false => found,
    }
}

/// The number of a session that begins: a mistake gives that of a closed one again.
pub(crate) fn session_number(found: Epoch, c: &dyn Transact, batch_id: BatchId) -> Epoch {
    if !c.is_shared() || !SeededBug::SessionGivenAgain.is_active() {
        return found;
    }
    let closed = Scan::of(&session::TABLE)
        .only(session::batch_id, Test::is(&batch_id))
        .only(session::closed_at, Test::Present)
        .descending();
    let Ok(Some(number)) = c.value::<Epoch>(&closed, session::session_id) else {
        return found;
    };
    match c.remove(&Scan::of(&session::TABLE).at(&number)) {
        Ok(_) => number,
        Err(_) => found,
    }
}

/// How far the confirmation of a run reaches.
pub(crate) fn confirmed_beside(found: Bound, is_alone: bool) -> Bound {
    match SeededBug::ConfirmedForAnother.is_active() && !is_alone {
        true => Bound::EVERYTHING,
        false => found,
    }
}

/// Whether a session is open.
pub(crate) fn session_is_open(found: bool) -> bool {
    found || SeededBug::ClosedSessionGoesOn.is_active()
}

/// What an answer counts as that was given to an earlier question.
pub(crate) fn unanswered(found: Finding, heard: &Finding) -> Finding {
    match SeededBug::AnswerToAnotherQuestion.is_active() {
        true => heard.clone(),
        false => found,
    }
}

/// Whether a batch was loaded for the account that it is to be paid by.
pub(crate) fn is_meant(found: bool) -> bool {
    found || SeededBug::DestinationForgotten.is_active() || SeededBug::AccountForgotten.is_active()
}
