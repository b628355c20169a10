//! Questions about payments that have ended: how long the gateway has for its end of them, and how often it is asked.

use super::generations::is_patient;
use crate::domain::Timestamp;
use crate::lifecycle::{Class, PaymentState, Policy, StepContext};

/// So many answers that settle nothing are enough where nothing waits for another one.
const ALONE_MAX: u32 = 3;

/// How a payment that has ended was asked about until now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How often.
    pub queries: u32,
    /// Since when.
    pub since: Timestamp,
    /// No retry of its row waits for the answer.
    pub alone: bool,
}

/// Returns when the next question is due about a payment that was asked about just now without an end; `None`: what was asked for long
/// enough is left to a person.
#[must_use]
pub fn next_question(asked: Asked, moment: StepContext, policy: &Policy) -> Option<Timestamp> {
    let asked_for = moment.now.since(asked.since);
    let enough =
        asked.alone && asked.queries >= ALONE_MAX || is_patient(asked_for, policy.give_up_after);
    (!enough).then(|| policy.next_inquiry(asked.queries, moment))
}

/// Returns whether the gateway had its time to end what it holds, as it says in words of this class.
#[must_use]
pub fn had_its_time(
    life: &PaymentState,
    class: Class,
    moment: StepContext,
    policy: &Policy,
) -> bool {
    let longest = match class {
        Class::Delivered => policy.delivered_give_up_after,
        _ => policy.give_up_after,
    };
    let began = life.posted_at.max(life.quarantine_from);
    began.is_some_and(|began| is_patient(moment.now.since(began), longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3_600;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1_000)
    }

    fn moment(secs: i64) -> StepContext {
        StepContext {
            now: at(secs),
            jitter: 0,
        }
    }

    #[test]
    fn what_nothing_waits_for_is_asked_about_a_few_times_and_the_rest_as_long_as_a_doubt() {
        for (queries, alone, secs, expected) in [
            (1, true, 100, Some(140)),
            (2, true, 100, Some(180)),
            (3, true, 100, None),
            (3, false, 100, Some(260)),
            (9, false, DAY - 1, Some(DAY - 1 + 600)),
            (9, false, DAY, None),
            (1, true, DAY, None),
        ] {
            let asked = Asked {
                queries,
                since: at(0),
                alone,
            };
            let found = next_question(asked, moment(secs), &Policy::default());
            assert_eq!(found, expected.map(at), "{queries} {alone} {secs}");
        }
    }

    #[test]
    fn a_delivery_has_the_time_of_a_settlement() {
        let life = |posted: Option<i64>, doubted: Option<i64>| PaymentState {
            posted_at: posted.map(at),
            quarantine_from: doubted.map(at),
            ..PaymentState::NEW
        };
        for (life, class, secs, expected) in [
            (life(Some(0), None), Class::Acknowledged, DAY - 1, false),
            (life(Some(0), None), Class::Acknowledged, DAY, true),
            (life(Some(0), None), Class::Delivered, DAY, false),
            (life(Some(0), None), Class::Delivered, 3 * DAY, true),
            // From the later of both.
            (life(Some(0), Some(9)), Class::Acknowledged, DAY, false),
            (life(Some(9), Some(0)), Class::Acknowledged, DAY, false),
            (life(None, Some(0)), Class::Acknowledged, DAY, true),
            (life(None, None), Class::Acknowledged, 9 * DAY, false),
        ] {
            let found = had_its_time(&life, class, moment(secs), &Policy::default());
            assert_eq!(found, expected, "{life:?} {class:?} {secs}");
        }
    }
}
