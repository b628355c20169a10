//! Identifiers that the gateway had before our first post, and payments whose "not found" is too old to be posted on.

use super::transition::From;
use super::{Anomaly, Class, CodeMeaning, PaymentState, State, Step};

impl From<'_> {
    /// Returns whether the gateway cannot have the identifier from us: no post of it has arrived, or may have.
    // The code of a payment that is posted is that of an earlier refusal for want of float: then it had arrived.
    pub(super) fn is_first_post(&self) -> bool {
        let is_first = !self.life.is_exposed() && !self.life.known && self.life.code.is_none();
        planted!(lifecycle::is_first_post(is_first))
    }

    /// The gateway had the identifier before our first post.
    pub(super) fn takes(&self, code: i32) -> Step {
        let mut step = self.doubts(true);
        step.life.taken = true;
        step.life.code = Some(code);
        step.life.due_at = step.life.due_at.map(|_| self.moment.now);
        step.anomaly = Some(Anomaly::Taken);
        step
    }

    /// Applies a word about an identifier that may be somebody else's: no end of it is one of ours.
    pub(super) fn told_of_a_stranger(&self, verdict: CodeMeaning) -> Step {
        match verdict.class {
            Class::Paid | Class::Failed | Class::Refused => self.left_to_a_person(),
            Class::NotFound => self.asks_again_with(Anomaly::Forgotten),
            Class::Acknowledged
            | Class::Delivered
            | Class::NoFloat
            | Class::Duplicate
            | Class::InDoubt => self.asks_again(),
        }
    }

    pub(super) fn left_to_a_person(&self) -> Step {
        Step {
            anomaly: Some(Anomaly::Taken),
            ..self.contradicted()
        }
    }

    pub(super) fn asks_now(&self) -> Step {
        let now = self.moment.now;
        self.becomes(PaymentState {
            due_at: self
                .policy
                .status_query
                .then(|| self.life.due_at.map_or(now, |at| at.min(now))),
            ..self.life
        })
    }

    /// "Not found" was heard too long ago: the gateway is asked once more, before what may have left is posted again.
    pub(super) fn asks_before_the_post(&self) -> Step {
        if !self.life.is_exposed() {
            return self.stays();
        }
        let now = self.moment.now;
        self.becomes(PaymentState {
            state: State::InDoubt,
            // A want of float is no refusal that two "not found" would confirm.
            code: None,
            not_found: 0,
            queries: 0,
            due_at: self.policy.status_query.then_some(now),
            ..self.life
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::lifecycle::{Event, Policy, StepContext, step};

    const CLAIM: Event = Event::Claimed;
    const NOT_FOUND: Event = Event::Answer(CodeMeaning {
        class: Class::NotFound,
        code: 143,
    });

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + secs * 1_000)
    }

    fn run(life: PaymentState, events: &[(i64, Event)]) -> PaymentState {
        events.iter().fold(life, |life, (secs, event)| {
            let moment = StepContext {
                now: at(*secs),
                jitter: 0,
            };
            step(&life, *event, moment, &Policy::default()).life
        })
    }

    #[test]
    fn what_was_not_found_too_long_ago_is_asked_about_and_counts_as_no_further_post() {
        let lost = [(0, CLAIM), (1, Event::Lost)];
        let again = [(130, NOT_FOUND), (180, NOT_FOUND)];
        let ready = run(run(PaymentState::NEW, &lost), &again);
        assert_eq!((ready.state, ready.exposures), (State::Ready, 1));
        let no_float = CodeMeaning {
            class: Class::NoFloat,
            code: 230,
        };
        let without_float = [(181, CLAIM), (182, Event::Reply(no_float))];
        let waits = run(ready, &without_float);
        assert_eq!((waits.state, waits.code), (State::Ready, Some(230)));
        for life in [ready, waits] {
            let doubt = run(life, &[(9_000, Event::Outdated)]);
            assert_eq!(doubt.due_at, Some(at(9_000)));
            assert_eq!((doubt.state, doubt.exposures), (State::InDoubt, 1));
            let once = run(doubt, &[(9_001, NOT_FOUND)]);
            assert_eq!(once.state, State::InDoubt, "once is not enough");
            let twice = run(once, &[(9_050, NOT_FOUND)]);
            assert_eq!((twice.state, twice.exposures), (State::Ready, 1));
        }
        // The doubt is older than the time after which asking is given up: the second "not found" is asked for all the same.
        let day = 24 * 3_600;
        let old = [(2 * day, Event::Outdated), (2 * day + 1, NOT_FOUND)];
        let once = run(ready, &old);
        assert_eq!(once.not_found, 1);
        assert!(
            once.due_at.is_some_and(|due| due < at(2 * day + 60)),
            "{once:?}"
        );
        let never_left = run(PaymentState::NEW, &[(9_000, Event::Outdated)]);
        assert_eq!(never_left, PaymentState::NEW);
    }
}
