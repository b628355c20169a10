//! What planted mistakes make of the rules about one payment.

use std::time::Duration;

use super::SeededBug;
use crate::lifecycle::{Class, Event, PaymentState, State, Step, StepContext};

/// What is known of a payment after one more piece of evidence.
pub(crate) fn step(found: Step, life: &PaymentState, event: Event, moment: StepContext) -> Step {
    let mistaken = reposted(life, event, moment).or_else(|| ended(life, event));
    match mistaken {
        Some(life) => Step {
            life,
            anomaly: None,
        },
        None => found,
    }
}

/// What is ready to be posted again.
fn reposted(life: &PaymentState, event: Event, moment: StepContext) -> Option<PaymentState> {
    let posting = life.state == State::Posting;
    let not_found = matches!(event, Event::Answer(verdict) if verdict.class == Class::NotFound)
        && life.state == State::InDoubt
        && !life.known;
    let quarantined = life
        .quarantine_from
        .is_some_and(|from| moment.now.since(from) < Duration::from_secs(60));
    let is_made = posting && event == Event::Lost && SeededBug::RepostOnLoss.is_active()
        || posting && event == Event::Abandoned && SeededBug::AbandonedIsUnsent.is_active()
        || not_found && life.not_found == 0 && SeededBug::NoQuarantine.is_active()
        || not_found && !quarantined && SeededBug::FirstNotFoundCounts.is_active();
    is_made.then_some(PaymentState {
        state: State::Ready,
        due_at: None,
        ..*life
    })
}

/// What has ended.
fn ended(life: &PaymentState, event: Event) -> Option<PaymentState> {
    let ends = |state, code| {
        Some(PaymentState {
            state,
            code,
            not_found: 0,
            due_at: None,
            ..*life
        })
    };
    let posting = life.state == State::Posting;
    if posting && event == Event::Unauthorised && SeededBug::NotLetInIsFailed.is_active() {
        return ends(State::Failed, None);
    }
    let withdrawn = event == Event::Withdrawn && !life.state.is_finished();
    if withdrawn && SeededBug::CancelPosted.is_active() {
        return ends(State::Cancelled, None);
    }
    let (Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict)) = event else {
        return None;
    };
    let overwritten = match (life.state, verdict.class) {
        (State::Paid, Class::Failed) => State::Failed,
        (State::Failed, Class::Paid) => State::Paid,
        _ => return None,
    };
    match SeededBug::FinalOverwritten.is_active() {
        true => ends(overwritten, Some(verdict.code)),
        false => None,
    }
}

/// What a code means.
pub(crate) fn class_of(found: Class, code: i32) -> Class {
    match code {
        139 if SeededBug::AcknowledgedIsPaid.is_active() => Class::Paid,
        148 if SeededBug::DeliveredIsPaid.is_active() => Class::Paid,
        229 if SeededBug::DuplicateIsFailed.is_active() => Class::Failed,
        104 if SeededBug::VagueIsFailed.is_active() => Class::Failed,
        _ => found,
    }
}

/// Whether a post before the one that is replied to may have arrived.
pub(crate) fn may_be_a_repeat(found: bool) -> bool {
    found && !SeededBug::FailedRepeatBelieved.is_active()
}

/// Whether the gateway cannot have an identifier from us.
pub(crate) fn is_first_post(found: bool) -> bool {
    found && !SeededBug::StrangersDuplicateSettles.is_active()
}
