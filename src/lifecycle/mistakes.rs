//! Mistakes that the simulation must find.

use super::transition::From;
use super::{Class, Event, PaymentState, State, Step};
use crate::seeded_bugs::SeededBug;

impl From<'_> {
    /// What a planted mistake makes of an event; `None`: what is right.
    pub(super) fn mistaken(&self, event: Event) -> Option<Step> {
        let ready = || {
            self.becomes(PaymentState {
                state: State::Ready,
                due_at: None,
                ..self.life
            })
        };
        let posting = self.life.state == State::Posting;
        let not_found = matches!(event, Event::Answer(verdict) if verdict.class == Class::NotFound);
        let in_doubt = self.life.state == State::InDoubt && !self.life.known;
        if posting && event == Event::Lost && SeededBug::RepostOnLoss.is_active()
            || posting && event == Event::Abandoned && SeededBug::AbandonedIsUnsent.is_active()
            || in_doubt
                && not_found
                && self.life.not_found == 0
                && SeededBug::NoQuarantine.is_active()
        {
            return Some(ready());
        }
        let quarantined = self
            .life
            .quarantine_from
            .is_some_and(|from| self.moment.now.since(from) < std::time::Duration::from_secs(60));
        if in_doubt && not_found && !quarantined && SeededBug::FirstNotFoundCounts.is_active() {
            return Some(ready());
        }
        if posting && event == Event::Unauthorised && SeededBug::NotLetInIsFailed.is_active() {
            return Some(self.ends(State::Failed, None));
        }
        if event == Event::Withdrawn
            && !self.life.state.is_finished()
            && SeededBug::CancelPosted.is_active()
        {
            return Some(self.ends(State::Cancelled, None));
        }
        if SeededBug::FinalOverwritten.is_active()
            && let Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict) = event
        {
            match (self.life.state, verdict.class) {
                (State::Paid, Class::Failed) => {
                    return Some(self.ends(State::Failed, Some(verdict.code)));
                }
                (State::Failed, Class::Paid) => {
                    return Some(self.ends(State::Paid, Some(verdict.code)));
                }
                _ => {}
            }
        }
        None
    }
}
