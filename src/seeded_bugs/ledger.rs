//! What planted mistakes make of the rules about money.

use std::time::Duration;

use super::SeededBug;
use crate::domain::Amount;
use crate::ledger::Kept;
use crate::ledger::approval::judge::Hand;
use crate::ledger::approval::rule::Rule;
use crate::ledger::calendar::Gate;
use crate::ledger::confirmation::Bound;
use crate::ledger::evidence::{Kind, Row};
use crate::ledger::likeness::Oddity;
use crate::ledger::limits::reason::Reason;
use crate::ledger::mended::Meant;
use crate::ledger::names::By;
use crate::ledger::payer::Asking;
use crate::ledger::pin::Pin;
use crate::ledger::reconciliation::{Settle, Shown};
use crate::ledger::recovery::{OrdersLost, Verdict};
use crate::ledger::repeats::{Standing, Terms};
use crate::ledger::slots::SlotRow;
use crate::lifecycle::{Event, State};

/// Of a file that is amended: is a row of it a new one or a mended one?
pub(crate) fn is_ambiguous(found: bool) -> bool {
    found && !SeededBug::MendedIsNew.is_active()
}

/// Which rejected row a mended one is.
pub(crate) fn meant_row() -> Option<Meant> {
    SeededBug::MendedStandsBeside
        .is_active()
        .then_some(Meant::Own)
}

/// Whether two signatures are of two people.
pub(crate) fn differs(found: bool, one: &Hand, other: &Hand) -> bool {
    match SeededBug::SecondKeyIsSecondPerson.is_active() {
        true => one.key != other.key,
        false => found,
    }
}

/// Whether somebody else approves a batch than who loaded it.
pub(crate) fn is_anothers(found: bool) -> bool {
    found || SeededBug::LoaderApproves.is_active()
}

/// What is signed of an order: its batch, its act, and more.
pub(crate) fn parts_of_order(found: [&str; 7]) -> [&str; 7] {
    match (SeededBug::OrderUnbound.is_active(), found) {
        (true, [_, act, ..]) => ["", act, "", "", "", "", ""],
        (false, found) => found,
    }
}

/// How many sign for an order.
pub(crate) fn signers_needed(found: usize) -> usize {
    found - usize::from(SeededBug::OrderOfOnePerson.is_active())
}

/// The rules that were in force at the loads.
pub(crate) fn pinned_rules(found: Vec<Rule>) -> Vec<Rule> {
    match SeededBug::PinnedRuleForgotten.is_active() {
        true => Vec::new(),
        false => found,
    }
}

/// Whether a batch may leave on a day.
pub(crate) fn gate_of_dates(found: Gate) -> Gate {
    match SeededBug::BatchDatesIgnored.is_active() {
        true => Gate::Open(None),
        false => found,
    }
}

/// Whether a service is open at an hour.
pub(crate) fn gate_of_hours() -> Option<Gate> {
    SeededBug::HoursIgnored
        .is_active()
        .then_some(Gate::Open(None))
}

/// Whether a table may give a code this meaning.
pub(crate) fn allows(found: bool) -> bool {
    found || SeededBug::AnyCodeTable.is_active()
}

/// How far a confirmation reaches.
pub(crate) fn confirmed(found: Bound) -> Bound {
    match SeededBug::ConfirmationUnbounded.is_active() {
        true => Bound::EVERYTHING,
        false => found,
    }
}

/// Whether a person may record a payment as failed.
pub(crate) fn may_fail<E>() -> Option<Result<(), E>> {
    SeededBug::FailedUnasked.is_active().then_some(Ok(()))
}

/// Whether an order takes no more than was shown.
pub(crate) fn is_within(found: bool) -> bool {
    found || SeededBug::OrderUnbounded.is_active()
}

/// Whether a document that the file service has is ours.
pub(crate) fn is_there_already(found: bool) -> bool {
    found || SeededBug::AnyDocumentIsThere.is_active()
}

/// What is recorded of what happened.
pub(crate) fn recorded(found: Option<Row>) -> Option<Row> {
    let is_lost = |row: &Row| row.kind == Kind::Event(Event::Lost);
    found.filter(|row| !is_lost(row) || !SeededBug::EvidenceForgotten.is_active())
}

/// Whether a failure was taken back.
pub(crate) fn is_taken_back(found: bool) -> bool {
    found && !SeededBug::TakenBackUnheard.is_active()
}

/// Whether a payment that is to leave is what its evidence adds up to.
pub(crate) fn replayed<E>() -> Option<Result<(), E>> {
    SeededBug::EvidenceNotReplayed.is_active().then_some(Ok(()))
}

/// Whether an earlier generation of it is.
pub(crate) fn ancestor_replayed<E>() -> Option<Result<(), E>> {
    SeededBug::AncestorNotReplayed.is_active().then_some(Ok(()))
}

/// Whether what is posted is what was loaded.
pub(crate) fn same<E>(found: Result<(), E>) -> Result<(), E> {
    match SeededBug::DigestNotCompared.is_active() {
        true => Ok(()),
        false => found,
    }
}

/// What of a text looks like another one.
pub(crate) fn oddity(found: Option<Oddity>) -> Option<Oddity> {
    found.filter(|_| !SeededBug::LookAlikesDiffer.is_active())
}

/// The list that keeps a recipient from being paid.
pub(crate) fn listed_out() -> Option<Option<Reason>> {
    SeededBug::ListIgnored.is_active().then_some(None)
}

/// Whether a payment would take what was paid over a ceiling.
pub(crate) fn is_over(found: bool, reason: Reason) -> bool {
    let is_forgotten = reason == Reason::RecipientDay && SeededBug::CeilingForgotten.is_active();
    found && !is_forgotten
}

/// Whether too much would be under way with it.
pub(crate) fn is_exposed(found: bool) -> bool {
    found && !SeededBug::ExposureIgnored.is_active()
}

/// The payments that have a name as their reference.
pub(crate) fn by_reference<P>(found: Vec<P>, by: By, by_identifier: Option<&P>) -> Vec<P> {
    let may_be_either = by == By::Either && by_identifier.is_some();
    match may_be_either && SeededBug::IdentifierFirst.is_active() {
        true => Vec::new(),
        false => found,
    }
}

/// How long a run keeps quiet that knows nothing of the one before it.
pub(crate) fn quiet_when_unknown(found: Duration) -> Duration {
    match SeededBug::CutOffHasRested.is_active() {
        true => Duration::ZERO,
        false => found,
    }
}

/// Whether an account may be asked about a payment that it may not have posted.
pub(crate) fn asking(found: Asking) -> Asking {
    match SeededBug::PayerUnasked.is_active() {
        true => Asking::Proves,
        false => found,
    }
}

/// Whether a batch may be given another account.
pub(crate) fn pin(found: Pin) -> Pin {
    match found {
        Pin::Refused if SeededBug::AccountForgotten.is_active() => Pin::Taken,
        found => found,
    }
}

/// Whether a statement shows that the money of a payment left.
pub(crate) fn is_out(found: bool) -> bool {
    found && !SeededBug::ShownPaidNotHeld.is_active()
}

/// Whether a statement shows a payment paid once, and nothing else of it.
pub(crate) fn is_plain(found: bool, shown: &Shown) -> bool {
    found || shown.paid == 1 && SeededBug::ReturnedIsPaid.is_active()
}

/// Whether what it shows proves an open payment.
pub(crate) fn settles(found: Settle, is_open_and_plain: bool) -> Settle {
    match is_open_and_plain && SeededBug::AlikeIsProof.is_active() {
        true => Settle::Proven,
        false => found,
    }
}

/// Whether what earlier statements showed of a payment counts.
pub(crate) fn has_a_line(found: bool) -> bool {
    found && !SeededBug::EarlierStatementsForgotten.is_active()
}

/// Whether a line of it is about no other payment any more.
pub(crate) fn is_used_up(found: bool) -> bool {
    found && !SeededBug::LineCountsTwice.is_active()
}

/// Whether a mark is as it was written.
pub(crate) fn is_as_written(found: bool) -> bool {
    found || SeededBug::MarkTimeIgnored.is_active()
}

/// Whether a journal is what its place has seen last.
pub(crate) fn is_current() -> Option<Verdict> {
    SeededBug::MarkIgnored
        .is_active()
        .then_some(Verdict::Current)
}

/// The orders that a copy knows nothing of.
pub(crate) fn orders_lost(found: OrdersLost) -> OrdersLost {
    match SeededBug::LostOrdersForgotten.is_active() {
        true => OrdersLost::default(),
        false => found,
    }
}

/// Whether an earlier journal may have posted a retry.
pub(crate) fn retry_is_presumed(found: bool) -> bool {
    found && !SeededBug::PresumptionForgotten.is_active()
}

/// The terms of two rows; `of_one`: those of the new one.
pub(crate) fn terms_between(found: Terms, of_one: Terms) -> Terms {
    match SeededBug::TermsOfOneService.is_active() {
        true => of_one,
        false => found,
    }
}

/// Whether a person reads two references as the same.
pub(crate) fn reads_alike(found: bool, a: &str, b: &str) -> bool {
    let found = match SeededBug::ReferencesAsWritten.is_active() {
        true => a == b,
        false => found,
    };
    found && !SeededBug::RepeatedReferenceIgnored.is_active()
}

/// Whether a row may be paid once more by another one.
pub(crate) fn counts(found: bool, standing: Standing) -> bool {
    let is_ignored = standing == Standing::Ended && SeededBug::RepeatWindowIgnored.is_active();
    found && !is_ignored
}

/// Whether two rows may come to the same amount.
pub(crate) fn may_be_same_amount(found: bool, a: Option<Amount>, b: Option<Amount>) -> bool {
    match SeededBug::OpenAmountIsAnother.is_active() {
        true => a == b,
        false => found,
    }
}

/// Whether a corrected row may take the place of a payment of its batch.
pub(crate) fn may_replace<E>() -> Option<Result<(), E>> {
    SeededBug::CorrectedUnjudged.is_active().then_some(Ok(()))
}

/// Whether one more callback is kept.
pub(crate) fn has_room(found: bool, kept: Kept, most: u32) -> bool {
    match SeededBug::JunkFillsTheRoom.is_active() {
        true => kept.words + kept.junk < most,
        false => found,
    }
}

/// Whether a row leaves by the time that it names.
pub(crate) fn may_leave(found: bool) -> bool {
    found || SeededBug::TimeIgnored.is_active()
}

/// Whether a "not found" is too old to be posted on.
pub(crate) fn is_stale(found: bool) -> bool {
    found && !SeededBug::StaleNotFoundCounts.is_active()
}

/// Whether a run that stood still may post.
pub(crate) fn may_depart(found: bool) -> bool {
    found || SeededBug::StandstillIgnored.is_active()
}

/// Whether the journal's word is still fresh.
pub(crate) fn is_fresh_word(found: bool) -> bool {
    found || SeededBug::StaleWordCounts.is_active()
}

/// Whether an answer came in time.
pub(crate) fn is_timely(found: bool) -> bool {
    found || SeededBug::LateNotFoundCounts.is_active()
}

/// Where words that are not about us began, once there are too many.
pub(crate) fn streak<T>(found: Option<T>) -> Option<T> {
    found.filter(|_| !SeededBug::StreakGoesOn.is_active())
}

/// The state by which a payment counts towards ceilings.
pub(crate) fn counted_as(found: State) -> State {
    match found {
        State::InDoubt if SeededBug::DoubtGivenBack.is_active() => State::Ready,
        found => found,
    }
}

/// What is kept of slots that were granted.
pub(crate) fn slots_kept(found: Option<SlotRow>) -> Option<SlotRow> {
    found.filter(|_| !SeededBug::SlotsGrantedTwice.is_active())
}

/// How much later than its slot a request may leave.
pub(crate) fn leaves_within(found: Duration) -> Duration {
    match SeededBug::SlotUsedLate.is_active() {
        true => Duration::from_secs(3_600),
        false => found,
    }
}
