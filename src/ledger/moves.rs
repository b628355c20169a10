//! What moves a batch to another address of its gateway, or to another name of its account: the word of the new place about payments that
//! the gateway has shown to have.

use crate::lifecycle::{Class, CodeMeaning, Event, PaymentState, State};

/// What an order needs that moves a batch to another address of its gateway, or to another account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Nothing: the batch belongs nowhere else.
    Needless,
    /// The word of the new place about a payment of the batch.
    Proof,
    /// Nothing more: nothing of the batch can be at the old place.
    Free,
    /// Something may be at the old place, and no payment can show that the new one has it.
    Impossible,
}

/// Judges an order to move a batch from the gateway or the account on record to the one that is configured; `bound` says whether
/// something of the batch may be there, `can_witness` whether a payment can show it.
#[must_use]
pub fn judge_move(
    on_record: Option<&str>,
    configured: &str,
    bound: bool,
    can_witness: bool,
) -> Move {
    match (on_record, can_witness, bound) {
        (None, _, _) => Move::Needless,
        (Some(gateway), _, _) if gateway == configured => Move::Needless,
        (Some(_), true, _) => Move::Proof,
        (Some(_), false, true) => Move::Impossible,
        (Some(_), false, false) => Move::Free,
    }
}

/// Returns whether a payment can show that a new name is the same account: the gateway has shown to have it.
#[must_use]
pub fn can_witness(life: &PaymentState) -> bool {
    // An end that a person decided has no code.
    let told = life.code.is_some();
    let ended = match life.state {
        State::Paid | State::Conflict => told,
        // What was refused outright was never taken in.
        State::Failed => told && life.is_exposed(),
        State::Ready
        | State::Posting
        | State::InDoubt
        | State::Acknowledged
        | State::Delivered
        | State::Cancelled => false,
    };
    life.known || ended
}

/// Returns whether such a payment has not been ended by a person: one that was need not be known in the new place.
#[must_use]
pub fn can_witness_best(life: &PaymentState) -> bool {
    can_witness(life) && (life.code.is_some() || !life.state.is_finished())
}

/// Returns whether a move of its batch leaves such a payment behind: it was posted in the old place, or may have been, and has no end.
#[must_use]
pub fn leaves_behind(life: &PaymentState) -> bool {
    match life.state {
        State::Posting
        | State::InDoubt
        | State::Acknowledged
        | State::Delivered
        | State::Conflict => true,
        State::Ready => life.is_exposed(),
        State::Paid | State::Failed | State::Cancelled => false,
    }
}

/// Returns whether an answer to a status query shows that whoever asked is the account that has the payment.
#[must_use]
pub fn shows(event: Event) -> bool {
    match event {
        Event::Answer(verdict) => match verdict.class {
            Class::Paid | Class::Acknowledged | Class::Delivered => true,
            // A refusal, or an answer that says nothing of it, may be given to anybody.
            Class::Failed
            | Class::Refused
            | Class::NoFloat
            | Class::Duplicate
            | Class::NotFound
            | Class::InDoubt => false,
        },
        Event::Claimed
        | Event::Unsent
        | Event::Unauthorised
        | Event::Lost
        | Event::Abandoned
        | Event::Reply(_)
        | Event::NoAnswer
        | Event::Callback(_)
        | Event::DecidedPaid
        | Event::DecidedFailed
        | Event::Withdrawn
        | Event::Recognised
        | Event::NotOurs
        | Event::Superseded
        | Event::Outdated
        | Event::Reopened
        | Event::ShownPaid => false,
    }
}

/// Returns whether an answer tells what became of a payment: about one that nobody has made, it shows that such answers are worth nothing.
#[must_use]
pub fn claims_to_have(event: Event) -> bool {
    let has_failed = matches!(event, Event::Answer(verdict) if verdict.class == Class::Failed);
    has_failed || shows(event)
}

/// Returns what it is worth that the new place does not have a payment which was posted before the move, and has no end yet: no more than an
/// answer that says nothing. `None`: the answer stands as it is.
#[must_use]
pub fn not_found_after_a_move(event: Event, state: State) -> Option<Event> {
    let is_open = match state {
        State::Posting | State::InDoubt | State::Acknowledged | State::Delivered => true,
        State::Ready | State::Paid | State::Failed | State::Cancelled | State::Conflict => false,
    };
    match event {
        Event::Answer(verdict) if is_open && verdict.class == Class::NotFound => {
            Some(Event::Answer(CodeMeaning {
                class: Class::InDoubt,
                ..verdict
            }))
        }
        _ => None,
    }
}

/// What an answer says of a payment that the gateway has shown to have, and so of whether it comes from that gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Testimony {
    /// Whoever answers has the payment.
    Bears,
    /// It does not have it.
    Lacks,
    /// It may be given to anybody, or says less than what is on record.
    Silent,
    /// It has another payment under the identifier: a rehearsal of the batch with a test system, or that of another journal.
    Contradicts,
}

/// Judges an answer of the new place. `named`: the gateway's own number of the payment, on record and in the answer; `is_ours`: no amount,
/// currency or number in the answer is another one.
#[must_use]
pub fn testimony(
    life: &PaymentState,
    named: (Option<&str>, Option<&str>),
    event: Event,
    is_ours: bool,
) -> Testimony {
    if let Event::Answer(verdict) = event
        && verdict.class == Class::NotFound
    {
        return Testimony::Lacks;
    }
    if !shows(event) {
        return Testimony::Silent;
    }
    let is_paid = matches!(event, Event::Answer(verdict) if verdict.class == Class::Paid);
    let is_other = matches!(named, (Some(on_record), Some(told)) if on_record != told);
    let is_unnamed = matches!(named, (Some(_), None));
    match life.state {
        _ if is_other || !is_ours => Testimony::Contradicts,
        State::Failed if is_paid => Testimony::Contradicts,
        State::Paid if !is_paid => Testimony::Silent,
        // Anybody could say so.
        _ if is_unnamed => Testimony::Silent,
        _ => Testimony::Bears,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_moves_with_the_word_of_the_new_address_unless_nothing_is_at_the_old_one() {
        for (on_record, bound, can_witness, expected) in [
            (None, false, false, Move::Needless),
            (Some("new"), true, true, Move::Needless),
            (Some("old"), true, true, Move::Proof),
            (Some("old"), true, false, Move::Impossible),
            (Some("old"), false, false, Move::Free),
            // What can witness binds.
            (Some("old"), false, true, Move::Proof),
        ] {
            assert_eq!(
                judge_move(on_record, "new", bound, can_witness),
                expected,
                "{on_record:?} {bound} {can_witness}"
            );
        }
    }

    #[test]
    fn what_the_gateway_has_shown_to_have_can_witness() {
        let ended = |state, code, exposures, known| PaymentState {
            state,
            code,
            exposures,
            known,
            ..PaymentState::NEW
        };
        for (life, expected) in [
            (ended(State::Paid, Some(140), 0, false), true),
            // Decided by a person.
            (ended(State::Paid, None, 1, false), false),
            (ended(State::Failed, Some(110), 0, false), false),
            (ended(State::Failed, Some(141), 1, false), true),
            (ended(State::Conflict, Some(141), 1, false), true),
            (ended(State::InDoubt, None, 1, false), false),
            (ended(State::InDoubt, None, 1, true), true),
            (ended(State::Acknowledged, Some(139), 1, true), true),
            (PaymentState::NEW, false),
        ] {
            assert_eq!(can_witness(&life), expected, "{life:?}");
            assert_eq!(can_witness_best(&life), expected, "{life:?}");
        }
    }

    #[test]
    fn that_the_new_place_does_not_have_what_went_to_the_old_one_proves_nothing() {
        let answer = |class| Event::Answer(CodeMeaning { class, code: 143 });
        let unclear = Some(answer(Class::InDoubt));
        for state in State::ALL {
            let is_open = matches!(
                state,
                State::Posting | State::InDoubt | State::Acknowledged | State::Delivered
            );
            for (class, _) in Class::ALL {
                let expected = unclear.filter(|_| is_open && class == Class::NotFound);
                let found = not_found_after_a_move(answer(class), state);
                assert_eq!(found, expected, "{state:?} {class:?}");
            }
            assert_eq!(not_found_after_a_move(Event::NoAnswer, state), None);
        }
    }

    #[test]
    fn a_move_leaves_behind_what_was_posted_and_has_no_end() {
        for state in State::ALL {
            for exposures in [0, 1] {
                let life = PaymentState {
                    state,
                    exposures,
                    ..PaymentState::NEW
                };
                let expected = match state {
                    State::Paid | State::Failed | State::Cancelled => false,
                    // It was not let in, or found missing.
                    State::Ready => exposures > 0,
                    State::Posting
                    | State::InDoubt
                    | State::Acknowledged
                    | State::Delivered
                    | State::Conflict => true,
                };
                assert_eq!(leaves_behind(&life), expected, "{life:?}");
            }
        }
    }

    #[test]
    fn whoever_has_another_payment_under_an_identifier_is_another_gateway() {
        use Testimony::{Bears, Contradicts, Lacks, Silent};
        let answer = |class| Event::Answer(CodeMeaning { class, code: 1 });
        let at = |state| PaymentState {
            state,
            ..PaymentState::NEW
        };
        let same = (Some("g1"), Some("g1"));
        for (state, named, class, is_ours, expected) in [
            (State::Paid, same, Class::Paid, true, Bears),
            (State::Acknowledged, same, Class::Acknowledged, true, Bears),
            (State::Acknowledged, same, Class::Paid, true, Bears),
            (State::Paid, (Some("g1"), None), Class::Paid, true, Silent),
            // Not every gateway names its number.
            (State::Paid, (None, None), Class::Paid, true, Bears),
            (State::Paid, (None, Some("g2")), Class::Paid, true, Bears),
            (
                State::Paid,
                (Some("g1"), Some("g2")),
                Class::Paid,
                true,
                Contradicts,
            ),
            (
                State::InDoubt,
                (Some("g1"), Some("g2")),
                Class::Delivered,
                true,
                Contradicts,
            ),
            (State::Paid, same, Class::Paid, false, Contradicts),
            (State::Failed, same, Class::Paid, true, Contradicts),
            // It says less than what is on record.
            (State::Paid, same, Class::Acknowledged, true, Silent),
            (State::Paid, same, Class::Failed, true, Silent),
            (State::Paid, same, Class::InDoubt, true, Silent),
            (State::Paid, same, Class::NotFound, true, Lacks),
        ] {
            let found = testimony(&at(state), named, answer(class), is_ours);
            assert_eq!(found, expected, "{state:?} {named:?} {class:?} {is_ours}");
        }
        let lost = testimony(&at(State::Paid), same, Event::NoAnswer, true);
        assert_eq!(lost, Silent);
    }

    #[test]
    fn what_a_person_has_ended_is_the_last_to_be_asked_about() {
        let known = |state, code| PaymentState {
            state,
            code,
            known: true,
            ..PaymentState::NEW
        };
        for (life, expected) in [
            (known(State::Failed, None), false),
            (known(State::Paid, None), false),
            (known(State::Failed, Some(141)), true),
            (known(State::Acknowledged, Some(139)), true),
            (known(State::InDoubt, None), true),
        ] {
            assert!(can_witness(&life), "{life:?}");
            assert_eq!(can_witness_best(&life), expected, "{life:?}");
        }
    }

    #[test]
    fn only_an_answer_about_the_payment_shows_whose_account_it_is() {
        let verdict = |class| CodeMeaning { class, code: 1 };
        for (class, _) in Class::ALL {
            let expected = matches!(class, Class::Paid | Class::Acknowledged | Class::Delivered);
            assert_eq!(shows(Event::Answer(verdict(class))), expected, "{class:?}");
            assert!(!shows(Event::Reply(verdict(class))));
            assert!(!shows(Event::Callback(verdict(class))));
        }
        for event in [Event::NoAnswer, Event::Unauthorised, Event::Lost] {
            assert!(!shows(event), "{event:?}");
        }
    }
}
