//! The transitions, one function per state.

use super::codes::NO_SUCH_TRANSACTION;
use super::{
    Anomaly, Class, CodeMeaning, Event, PaymentState, Policy, SettleOn, State, Step, StepContext,
};

/// Returns what is known of a payment after one more piece of evidence.
///
/// Never posts, never asks: the caller does what [`PaymentState::action`] says.
#[must_use]
pub fn step(life: &PaymentState, event: Event, moment: StepContext, policy: &Policy) -> Step {
    let from = From {
        life: *life,
        moment,
        policy,
    };
    let step = match life.state {
        State::Ready => from.ready(event),
        State::Posting => from.posting(event),
        State::InDoubt => from.in_doubt(event),
        State::Acknowledged | State::Delivered => from.accepted(event),
        State::Paid => from.paid(event),
        State::Failed => from.failed(event),
        State::Cancelled => from.cancelled(event),
        State::Conflict => from.conflict(event),
    };
    planted!(lifecycle::step(step, life, event, moment))
}

pub(super) struct From<'a> {
    pub(super) life: PaymentState,
    pub(super) moment: StepContext,
    pub(super) policy: &'a Policy,
}

impl From<'_> {
    fn ready(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.becomes(PaymentState {
                state: State::Posting,
                attempts: self.life.attempts.saturating_add(1),
                posted_at: Some(self.moment.now),
                quarantine_from: Some(self.moment.now),
                not_found: 0,
                queries: 0,
                due_at: None,
                ..self.life
            }),
            Event::Withdrawn if !self.life.is_exposed() => self.ends(State::Cancelled, None),
            // Only presumed posted, and by now the gateway has said twice that it does not have it.
            Event::Withdrawn if self.life.attempts == 0 => self.ends(State::Cancelled, None),
            Event::Withdrawn => self.stays_with(Anomaly::NotAllowed),
            Event::Superseded if !self.life.is_exposed() => self.ends(State::Cancelled, None),
            // It is ready again because the gateway does not have it; that is its end now.
            Event::Superseded => self.ends(State::Failed, Some(NO_SUCH_TRANSACTION)),
            // An exposed payment was proven unknown to the gateway twice; an operator may know better.
            Event::DecidedPaid if self.life.is_exposed() => self.ends(State::Paid, None),
            Event::DecidedFailed if self.life.is_exposed() => self.ends(State::Failed, None),
            Event::DecidedPaid | Event::DecidedFailed => self.stays_with(Anomaly::NotAllowed),
            // Not expected here, but a loss is always taken seriously.
            Event::Lost | Event::Abandoned => self.doubts(self.life.known),
            Event::Outdated => self.asks_before_the_post(),
            // Not paid here, and paid there: whatever is posted of it may pay it again.
            Event::ShownPaid => self.contradicted(),
            Event::Unsent
            | Event::Unauthorised
            | Event::NoAnswer
            | Event::Recognised
            | Event::NotOurs
            | Event::Reopened => self.stays(),
            Event::Reply(verdict) => self.unexpected_word(verdict, self.replied(verdict)),
            Event::Answer(verdict) => self.unexpected_word(verdict, self.told(verdict)),
            Event::Callback(verdict) => self.unexpected_word(verdict, self.called_back(verdict)),
        }
    }

    // A ready payment that was never exposed cannot be known to the gateway: the word is taken, and noted.
    fn unexpected_word(&self, verdict: CodeMeaning, step: Step) -> Step {
        match verdict.class {
            Class::NotFound | Class::InDoubt | Class::NoFloat => self.stays(),
            Class::Paid
            | Class::Failed
            | Class::Refused
            | Class::Acknowledged
            | Class::Delivered
            | Class::Duplicate => Step {
                anomaly: step
                    .anomaly
                    .or((!self.life.is_exposed()).then_some(Anomaly::NeverPosted)),
                ..step
            },
        }
    }

    fn posting(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::Unsent => self.becomes(PaymentState {
                state: State::Ready,
                due_at: Some(self.policy.next_post(self.life.attempts, self.moment)),
                ..self.life
            }),
            Event::Unauthorised => self.becomes(PaymentState {
                state: State::Ready,
                due_at: None,
                ..self.life
            }),
            Event::Lost | Event::Abandoned => self.doubts(self.life.known),
            Event::Reply(verdict) => match verdict.class {
                Class::NoFloat => self.becomes(PaymentState {
                    state: State::Ready,
                    code: Some(verdict.code),
                    due_at: None,
                    ..self.life
                }),
                Class::NotFound | Class::InDoubt => self.doubts(self.life.known),
                Class::Duplicate if self.is_first_post() => self.takes(verdict.code),
                Class::Paid
                | Class::Failed
                | Class::Refused
                | Class::Acknowledged
                | Class::Delivered
                | Class::Duplicate => self.replied(verdict),
            },
            // A status reply or a callback that overtook the reply to the post.
            Event::Answer(verdict) => self.early_word(verdict, self.told(verdict)),
            Event::Callback(verdict) => self.early_word(verdict, self.called_back(verdict)),
            // What is under way has its outcome first.
            Event::NoAnswer
            | Event::Recognised
            | Event::NotOurs
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::ShownPaid => self.stays(),
            Event::DecidedPaid | Event::DecidedFailed | Event::Withdrawn => {
                self.stays_with(Anomaly::NotAllowed)
            }
        }
    }

    fn early_word(&self, verdict: CodeMeaning, step: Step) -> Step {
        match verdict.class {
            Class::Paid | Class::Failed | Class::Acknowledged | Class::Delivered => step,
            Class::Refused
            | Class::NoFloat
            | Class::Duplicate
            | Class::NotFound
            | Class::InDoubt => self.stays(),
        }
    }

    fn in_doubt(&self, event: Event) -> Step {
        match event {
            Event::Reply(verdict) | Event::Answer(verdict) if self.life.taken => {
                self.told_of_a_stranger(verdict)
            }
            // The address may be that of an earlier journal's post, with another amount.
            Event::Callback(_) if self.life.taken => self.asks_now(),
            Event::Recognised if self.life.taken => self.becomes(PaymentState {
                taken: false,
                code: None,
                ..self.life
            }),
            Event::NotOurs if self.life.taken => self.left_to_a_person(),
            Event::Recognised | Event::NotOurs => self.stays(),
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::ShownPaid => self.stays(),
            Event::Abandoned => self.becomes(PaymentState {
                quarantine_from: Some(self.moment.now),
                not_found: 0,
                ..self.life
            }),
            Event::Reply(verdict) => self.replied(verdict),
            Event::Answer(verdict) => match verdict.class {
                Class::NotFound => self.not_found(),
                Class::Paid
                | Class::Failed
                | Class::Refused
                | Class::Acknowledged
                | Class::Delivered
                | Class::NoFloat
                | Class::Duplicate
                | Class::InDoubt => self.told(verdict),
            },
            // Silence is not evidence: a "not found" heard before it still counts.
            Event::NoAnswer => {
                let mut step = self.asks_again();
                step.life.not_found = self.life.not_found;
                step
            }
            Event::Callback(verdict) => self.called_back(verdict),
            Event::DecidedPaid => self.ends(State::Paid, None),
            Event::DecidedFailed => self.ends(State::Failed, None),
            Event::Withdrawn => self.stays_with(Anomaly::NotAllowed),
        }
    }

    fn not_found(&self) -> Step {
        if self.life.known {
            return self.asks_again_with(Anomaly::Forgotten);
        }
        let quarantine_ends = self.policy.quarantine_ends(&self.life);
        if self.moment.now < quarantine_ends {
            let mut step = self.asks_to_confirm();
            step.life.due_at = step.life.due_at.map(|due_at| due_at.max(quarantine_ends));
            return step;
        }
        if self.life.not_found == 0 {
            let mut step = self.asks_to_confirm();
            step.life.not_found = 1;
            return step;
        }
        match self.life.code {
            // The last post was refused and no trace of an earlier one exists: the refusal stands.
            Some(code) => self.ends(State::Failed, Some(code)),
            // Each post vanished without a trace: the gateway's "not found" is not to be trusted any longer.
            None if self.life.exposures >= self.policy.exposures_max => {
                let mut step = self.stays();
                step.life.due_at = None;
                step
            }
            None => self.becomes(PaymentState {
                state: State::Ready,
                not_found: 0,
                queries: 0,
                due_at: None,
                ..self.life
            }),
        }
    }

    /// One more "not found" may be all that is missing: it is asked for however old the doubt is.
    fn asks_to_confirm(&self) -> Step {
        let mut step = self.asks_again();
        if step.life.due_at.is_none() && self.policy.status_query {
            step.life.due_at = Some(self.policy.next_inquiry(step.life.queries, self.moment));
        }
        step
    }

    fn accepted(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Abandoned
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::ShownPaid => self.stays(),
            Event::Reply(verdict) => self.replied(verdict),
            Event::Answer(verdict) => self.told(verdict),
            Event::NoAnswer => self.asks_again(),
            Event::Recognised | Event::NotOurs => self.stays(),
            Event::Callback(verdict) => self.called_back(verdict),
            Event::DecidedPaid => self.ends(State::Paid, None),
            Event::DecidedFailed => self.ends(State::Failed, None),
            Event::Withdrawn => self.stays_with(Anomaly::NotAllowed),
        }
    }

    fn paid(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict) => {
                match verdict.class {
                    Class::Failed | Class::Refused => self.contradicted(),
                    // Pending words may be late, and "not found" may be the end of what the gateway keeps.
                    Class::Paid
                    | Class::Acknowledged
                    | Class::Delivered
                    | Class::NoFloat
                    | Class::Duplicate
                    | Class::NotFound
                    | Class::InDoubt => self.stays(),
                }
            }
            Event::DecidedFailed | Event::Withdrawn => self.stays_with(Anomaly::NotAllowed),
            Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Abandoned
            | Event::NoAnswer
            | Event::Recognised
            | Event::NotOurs
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::ShownPaid
            | Event::DecidedPaid => self.stays(),
        }
    }

    fn failed(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict) => {
                match verdict.class {
                    Class::Paid => self.contradicted(),
                    Class::Failed
                    | Class::Refused
                    | Class::Acknowledged
                    | Class::Delivered
                    | Class::NoFloat
                    | Class::Duplicate
                    | Class::NotFound
                    | Class::InDoubt => self.stays(),
                }
            }
            Event::DecidedPaid | Event::Withdrawn => self.stays_with(Anomaly::NotAllowed),
            Event::Reopened | Event::ShownPaid => self.contradicted(),
            Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Abandoned
            | Event::NoAnswer
            | Event::Recognised
            | Event::NotOurs
            | Event::Superseded
            | Event::Outdated
            | Event::DecidedFailed => self.stays(),
        }
    }

    fn cancelled(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict) => {
                match verdict.class {
                    Class::Paid | Class::Acknowledged | Class::Delivered | Class::Duplicate => {
                        Step {
                            anomaly: Some(Anomaly::NeverPosted),
                            ..self.contradicted()
                        }
                    }
                    Class::Failed
                    | Class::Refused
                    | Class::NoFloat
                    | Class::NotFound
                    | Class::InDoubt => self.stays(),
                }
            }
            Event::DecidedPaid | Event::DecidedFailed => self.stays_with(Anomaly::NotAllowed),
            Event::ShownPaid => Step {
                anomaly: Some(Anomaly::NeverPosted),
                ..self.contradicted()
            },
            Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Abandoned
            | Event::NoAnswer
            | Event::Recognised
            | Event::NotOurs
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::Withdrawn => self.stays(),
        }
    }

    fn conflict(&self, event: Event) -> Step {
        match event {
            Event::Claimed => self.stays_with(Anomaly::NotReady),
            Event::DecidedPaid => self.ends(State::Paid, None),
            Event::DecidedFailed => self.ends(State::Failed, None),
            Event::Withdrawn => self.stays_with(Anomaly::NotAllowed),
            Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Abandoned
            | Event::Reply(_)
            | Event::Answer(_)
            | Event::NoAnswer
            | Event::Recognised
            | Event::NotOurs
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::ShownPaid
            | Event::Callback(_) => self.stays(),
        }
    }

    /// Applies a word of the gateway about a payment that has not ended.
    pub(super) fn told(&self, verdict: CodeMeaning) -> Step {
        let accepted = self.life.state != State::InDoubt && self.life.state.is_asked_about();
        match verdict.class {
            Class::Paid => self.ends(State::Paid, Some(verdict.code)),
            Class::Failed => self.ends(State::Failed, Some(verdict.code)),
            Class::Refused if accepted => self.asks_again_with(Anomaly::RefusedAfterAcceptance),
            // A refusal of this post says nothing of an earlier one that may have arrived.
            Class::Refused if self.life.is_exposed() => {
                let mut step = self.doubts(self.life.known);
                step.life.code = Some(verdict.code);
                step
            }
            Class::Refused => self.ends(State::Failed, Some(verdict.code)),
            Class::Acknowledged if accepted => self.asks_again(),
            Class::Delivered if self.life.state == State::Delivered => self.asks_again(),
            Class::Acknowledged => self.accepts(State::Acknowledged, verdict.code),
            Class::Delivered => self.accepts(State::Delivered, verdict.code),
            Class::Duplicate if accepted => self.stays(),
            Class::Duplicate if self.life.state == State::InDoubt => {
                let mut step = self.asks_again();
                step.life.known = true;
                step
            }
            Class::Duplicate => {
                let mut step = self.doubts(true);
                // The gateway has had it for a while: there is no reason to wait before asking.
                step.life.due_at = step.life.due_at.map(|_| self.moment.now);
                step
            }
            Class::NotFound if accepted => self.asks_again_with(Anomaly::Forgotten),
            Class::NotFound | Class::NoFloat | Class::InDoubt => self.asks_again(),
        }
    }

    fn called_back(&self, verdict: CodeMeaning) -> Step {
        let is_final = match verdict.class {
            Class::Paid | Class::Failed => true,
            Class::Refused
            | Class::Acknowledged
            | Class::Delivered
            | Class::NoFloat
            | Class::Duplicate
            | Class::NotFound
            | Class::InDoubt => false,
        };
        if is_final && self.policy.settle_on == SettleOn::Confirmed && self.policy.status_query {
            let state = if self.life.state == State::Delivered {
                State::Delivered
            } else {
                State::Acknowledged
            };
            let mut step = self.accepts(state, verdict.code);
            step.life.due_at = Some(self.moment.now);
            return step;
        }
        match verdict.class {
            // These are words about a query or a post, not about what became of the payment.
            Class::NotFound
            | Class::InDoubt
            | Class::NoFloat
            | Class::Duplicate
            | Class::Refused => self.stays(),
            // A repeated "pending" must not put off the next query.
            Class::Acknowledged
                if self.life.state.is_asked_about() && self.life.state != State::InDoubt =>
            {
                self.stays()
            }
            Class::Delivered if self.life.state == State::Delivered => self.stays(),
            Class::Paid | Class::Failed | Class::Acknowledged | Class::Delivered => {
                self.told(verdict)
            }
        }
    }

    pub(super) fn becomes(&self, life: PaymentState) -> Step {
        Step {
            life,
            anomaly: None,
        }
    }

    pub(super) fn stays(&self) -> Step {
        self.becomes(self.life)
    }

    fn stays_with(&self, anomaly: Anomaly) -> Step {
        Step {
            life: self.life,
            anomaly: Some(anomaly),
        }
    }

    pub(super) fn ends(&self, state: State, code: Option<i32>) -> Step {
        self.becomes(PaymentState {
            state,
            code,
            not_found: 0,
            due_at: None,
            ..self.life
        })
    }

    pub(super) fn contradicted(&self) -> Step {
        Step {
            life: PaymentState {
                state: State::Conflict,
                due_at: None,
                ..self.life
            },
            anomaly: Some(Anomaly::Contradiction),
        }
    }

    pub(super) fn doubts(&self, known: bool) -> Step {
        self.becomes(PaymentState {
            state: State::InDoubt,
            code: None,
            exposures: match self.life.state {
                // An acceptance or a second loss is no further copy on the wire.
                State::Ready | State::Posting => self.life.exposures.saturating_add(1),
                State::InDoubt
                | State::Acknowledged
                | State::Delivered
                | State::Paid
                | State::Failed
                | State::Cancelled
                | State::Conflict => self.life.exposures,
            },
            known,
            not_found: 0,
            quarantine_from: Some(self.moment.now),
            queries: 0,
            due_at: self.policy.first_query(State::InDoubt, self.moment),
            ..self.life
        })
    }

    fn accepts(&self, state: State, code: i32) -> Step {
        // From its delivery on a payment has the time of a settlement between banks.
        let delivered = state == State::Delivered && self.life.state != State::Delivered;
        self.becomes(PaymentState {
            quarantine_from: if delivered {
                Some(self.moment.now)
            } else {
                self.life.quarantine_from
            },
            state,
            code: Some(code),
            exposures: self.life.exposures.max(1),
            known: true,
            not_found: 0,
            queries: 0,
            due_at: self.policy.first_query(state, self.moment),
            ..self.life
        })
    }

    pub(super) fn asks_again(&self) -> Step {
        let life = PaymentState {
            queries: self.life.queries.saturating_add(1),
            not_found: 0,
            ..self.life
        };
        self.becomes(PaymentState {
            due_at: self.policy.next_query(&life, self.moment),
            ..life
        })
    }

    pub(super) fn asks_again_with(&self, anomaly: Anomaly) -> Step {
        Step {
            anomaly: Some(anomaly),
            ..self.asks_again()
        }
    }
}
