//! Tables of what may be decided.

use super::*;
use crate::domain::Currency;
use crate::lifecycle::CodeMeaning;
use crate::seeded_bugs::SeededBug;

const HOUR: i64 = 3_600_000;
const POSTED: i64 = 1_000 * HOUR;
/// In doubt since its post.
fn payment() -> PaymentState {
    PaymentState {
        state: State::InDoubt,
        attempts: 1,
        exposures: 1,
        posted_at: Some(after(0)),
        quarantine_from: Some(after(0)),
        ..PaymentState::NEW
    }
}

fn after(hours: i64) -> Timestamp {
    Timestamp::from_millis(POSTED + hours * HOUR)
}

/// Known to the gateway, delivered an hour after its post.
fn delivered() -> PaymentState {
    PaymentState {
        state: State::Delivered,
        known: true,
        quarantine_from: Some(after(1)),
        ..payment()
    }
}

fn accepted() -> PaymentState {
    PaymentState {
        state: State::Acknowledged,
        known: true,
        ..payment()
    }
}

/// Cases whose outcome is another than is right.
fn wrong() -> Vec<String> {
    use Heard::*;
    use Refusal::*;
    let in_state = |state| PaymentState { state, ..payment() };
    let presumed = PaymentState {
        posted_at: None,
        attempts: 0,
        ..payment()
    };
    let never = PaymentState {
        posted_at: None,
        quarantine_from: None,
        ..in_state(State::Conflict)
    };
    let forgotten = PaymentState {
        known: true,
        ..payment()
    };
    let minutes = |minutes: i64| Timestamp::from_millis(POSTED + minutes * 60_000);
    let (early, late) = (after(23), after(24));
    let (before, behind) = (after(72), after(73));
    let cases = [
        // life, heard, second word, when, what follows
        (payment(), Some(Paid), true, behind, Err(IsPaid)),
        (in_state(State::Paid), Some(Paid), true, behind, Err(IsPaid)),
        (
            in_state(State::Conflict),
            Some(Paid),
            true,
            behind,
            Err(IsPaid),
        ),
        (
            in_state(State::Failed),
            Some(Failed),
            false,
            minutes(1),
            Ok(()),
        ),
        (
            in_state(State::Conflict),
            Some(Failed),
            false,
            minutes(1),
            Ok(()),
        ),
        (
            payment(),
            Some(NotFound),
            false,
            minutes(1),
            Err(TooEarlyForNotFound(minutes(2))),
        ),
        (
            payment(),
            Some(NotFound),
            true,
            minutes(1),
            Err(TooEarlyForNotFound(minutes(2))),
        ),
        (payment(), Some(NotFound), false, minutes(2), Ok(())),
        (
            presumed,
            Some(NotFound),
            false,
            minutes(1),
            Err(TooEarlyForNotFound(minutes(2))),
        ),
        (
            forgotten,
            Some(NotFound),
            true,
            early,
            Err(TooEarly(NotFound, late)),
        ),
        (
            forgotten,
            Some(NotFound),
            false,
            late,
            Err(TakesASecondWord(NotFound)),
        ),
        (forgotten, Some(NotFound), true, late, Ok(())),
        (
            accepted(),
            Some(Acknowledged),
            true,
            early,
            Err(TooEarly(Acknowledged, late)),
        ),
        (
            accepted(),
            Some(Acknowledged),
            false,
            late,
            Err(TakesASecondWord(Acknowledged)),
        ),
        (accepted(), Some(Acknowledged), true, late, Ok(())),
        (
            presumed,
            Some(Acknowledged),
            true,
            early,
            Err(TooEarly(Acknowledged, late)),
        ),
        (
            delivered(),
            Some(Delivered),
            true,
            before,
            Err(TooEarly(Delivered, behind)),
        ),
        (
            delivered(),
            Some(Delivered),
            false,
            behind,
            Err(TakesASecondWord(Delivered)),
        ),
        (delivered(), Some(Delivered), true, behind, Ok(())),
        (
            delivered(),
            Some(Nothing),
            true,
            before,
            Err(TooEarly(Nothing, behind)),
        ),
        (
            in_state(State::Conflict),
            Some(Delivered),
            true,
            late,
            Err(TooEarly(Delivered, after(72))),
        ),
        (
            payment(),
            Some(Nothing),
            true,
            early,
            Err(TooEarly(Nothing, late)),
        ),
        (
            payment(),
            Some(Nothing),
            false,
            late,
            Err(TakesASecondWord(Nothing)),
        ),
        (payment(), Some(Nothing), true, late, Ok(())),
        (
            payment(),
            Some(CannotBeAsked),
            true,
            early,
            Err(TooEarly(CannotBeAsked, late)),
        ),
        (
            payment(),
            Some(CannotBeAsked),
            false,
            late,
            Err(TakesASecondWord(CannotBeAsked)),
        ),
        (payment(), Some(CannotBeAsked), true, late, Ok(())),
        (
            never,
            Some(CannotBeAsked),
            false,
            late,
            Err(TakesASecondWord(CannotBeAsked)),
        ),
        (never, Some(CannotBeAsked), true, minutes(0), Ok(())),
        // Nobody asked: nothing had left when the order was given.
        (PaymentState::NEW, None, false, minutes(0), Ok(())),
        (in_state(State::Posting), None, false, minutes(0), Ok(())),
        (payment(), None, true, behind, Err(LearnedMeanwhile)),
        (
            in_state(State::Ready),
            None,
            true,
            behind,
            Err(LearnedMeanwhile),
        ),
    ];
    let policy = Policy::default();
    let mut wrong = Vec::new();
    for (life, heard, although, now, expected) in cases {
        let asked = Asked {
            heard,
            learned: false,
            said_paid: false,
            shown_paid: false,
            although,
        };
        if may_fail(&life, asked, now, &policy) != expected {
            wrong.push(format!("{life:?} {asked:?} {now}: expected {expected:?}"));
        }
        // Whatever was heard, it counts no more once something else was learned.
        let learned = may_fail(
            &life,
            Asked {
                learned: true,
                ..asked
            },
            now,
            &policy,
        );
        if learned.is_ok() {
            wrong.push(format!("{life:?} {asked:?}: something was learned"));
        }
    }
    wrong
}

#[test]
fn a_payment_fails_by_an_operators_word_only_where_it_can_no_longer_be_paid() {
    assert_eq!(wrong(), Vec::<String>::new());
    let _awake = SeededBug::FailedUnasked.wake();
    assert!(wrong().len() > 20, "the planted mistake is found");
}

#[test]
fn what_may_have_arrived_is_asked_about_first() {
    let asked: Vec<_> = State::ALL
        .into_iter()
        .filter(|state| {
            is_asked_first(&PaymentState {
                state: *state,
                ..payment()
            })
        })
        .collect();
    let expected = [
        State::Ready,
        State::InDoubt,
        State::Acknowledged,
        State::Delivered,
        State::Conflict,
    ];
    assert_eq!(asked, expected);
    assert!(!is_asked_first(&PaymentState::NEW), "it never left");
}

#[test]
fn what_a_lost_journal_may_have_posted_has_its_quarantine_from_when_that_was_noticed() {
    let policy = Policy::default();
    let long_ago = PaymentState {
        state: State::InDoubt,
        exposures: 1,
        posted_at: Some(Timestamp::from_millis(0)),
        quarantine_from: Some(Timestamp::from_millis(0)),
        ..PaymentState::NEW
    };
    let noticed = Timestamp::from_millis(0).after(policy.give_up_after * 2);
    let asked = |heard| Asked {
        heard: Some(heard),
        learned: false,
        said_paid: false,
        shown_paid: false,
        although: true,
    };
    let soon = noticed.after(Duration::from_secs(1));
    for heard in [Heard::NotFound, Heard::Nothing, Heard::Acknowledged] {
        let judged = |noticed, now| {
            may_fail(&as_missed(&long_ago, noticed), asked(heard), now, &policy).is_ok()
        };
        assert!(judged(None, soon), "{heard:?}");
        assert!(!judged(Some(noticed), soon), "{heard:?}");
        let late = noticed.after(policy.give_up_after + policy.not_found_quarantine);
        assert!(judged(Some(noticed), late), "{heard:?}");
    }
}

#[test]
fn only_an_entry_of_a_status_reply_says_something() {
    let ours = About::default();
    let other = About {
        other: true,
        ..ours
    };
    let taken = About {
        taken: true,
        ..ours
    };
    let of_another = About {
        other: true,
        ..taken
    };
    let recognised = About {
        recognised: true,
        ..taken
    };
    use Heard::{Nothing, Strangers};
    for (class, heard, unnamed, named) in [
        // Of ours; of an identifier that was there before, with nothing named, and with another amount.
        (Class::Paid, Heard::Paid, Strangers, Strangers),
        (Class::Failed, Heard::Failed, Heard::Failed, Strangers),
        (
            Class::Acknowledged,
            Heard::Acknowledged,
            Heard::Acknowledged,
            Nothing,
        ),
        (
            Class::Delivered,
            Heard::Delivered,
            Heard::Delivered,
            Nothing,
        ),
        (Class::NotFound, Heard::NotFound, Heard::NotFound, Nothing),
        (Class::Refused, Nothing, Nothing, Nothing),
        (Class::NoFloat, Nothing, Nothing, Nothing),
        (Class::Duplicate, Nothing, Nothing, Nothing),
        (Class::InDoubt, Nothing, Nothing, Nothing),
    ] {
        let verdict = CodeMeaning { class, code: 1 };
        let answer = Event::Answer(verdict);
        assert_eq!(Heard::of(answer, ours), heard);
        assert_eq!(Heard::of(answer, recognised), heard, "it names ours");
        assert_eq!(Heard::of(answer, other), Nothing);
        assert_eq!(Heard::of(answer, taken), unnamed);
        assert_eq!(Heard::of(answer, of_another), named);
        assert_eq!(Heard::of(Event::Reply(verdict), ours), Nothing);
    }
    assert_eq!(Heard::of(Event::NoAnswer, ours), Nothing);
}

#[test]
fn what_was_called_paid_once_takes_a_second_word() {
    let conflict = PaymentState {
        state: State::Conflict,
        ..accepted()
    };
    let doubt = PaymentState {
        known: false,
        ..conflict
    };
    use Heard::{Acknowledged, Failed, NotFound};
    use Refusal::{TakesASecondWord, WasSaidToBePaid};
    for (life, heard, said_paid, expected) in [
        (conflict, Failed, false, Ok(())),
        (conflict, Failed, true, Err(WasSaidToBePaid(Failed))),
        (doubt, NotFound, false, Ok(())),
        (doubt, NotFound, true, Err(WasSaidToBePaid(NotFound))),
        (
            conflict,
            Acknowledged,
            true,
            Err(WasSaidToBePaid(Acknowledged)),
        ),
        // Somebody else's needs no time, as ours was refused.
        (
            conflict,
            Heard::Strangers,
            false,
            Err(TakesASecondWord(Heard::Strangers)),
        ),
        (
            conflict,
            Heard::Strangers,
            true,
            Err(TakesASecondWord(Heard::Strangers)),
        ),
    ] {
        // A statement's word is one, too.
        for (although, shown_paid) in [(false, false), (true, false), (false, true), (true, true)] {
            let asked = Asked {
                heard: Some(heard),
                learned: false,
                said_paid: said_paid && !shown_paid,
                shown_paid: said_paid && shown_paid,
                although,
            };
            let by_either = match (heard, shown_paid) {
                (Acknowledged, true) => Err(TakesASecondWord(heard)),
                _ => expected,
            };
            let expected = if although { Ok(()) } else { by_either };
            let found = may_fail(&life, asked, after(80), &Policy::default());
            assert_eq!(found, expected, "{asked:?}");
        }
    }
    // It does not lengthen the time that "not found" takes to prove something.
    let asked = Asked {
        heard: Some(NotFound),
        learned: false,
        said_paid: false,
        shown_paid: true,
        although: true,
    };
    let early = may_fail(&doubt, asked, after(0), &Policy::default());
    assert!(
        matches!(early, Err(Refusal::TooEarlyForNotFound(_))),
        "{early:?}"
    );
    let word = |word, retried| is_open(word, retried);
    let person = Word::Person { expressly: false };
    assert!(word(Word::TakenBack, false) && word(person, true));
    assert!(!word(person, false) && !word(Word::Gateway, true) && !word(Word::Both, true));
}

#[test]
fn an_order_is_about_no_more_than_was_shown() {
    let kes = Currency::from_code("KES").expect("known");
    let ugx = Currency::from_code("UGX").expect("known");
    let tally = |count, currency, minor| {
        let mut tally = Tally::default();
        tally.add_many(count, currency, minor);
        tally
    };
    let shown = vec![(Some(110), tally(3, kes, 900)), (None, tally(1, kes, 100))];
    for (found, within) in [
        (vec![], true),
        (vec![(Some(110), tally(3, kes, 900))], true),
        (vec![(Some(110), tally(2, kes, 800))], true),
        (vec![(Some(110), tally(4, kes, 900))], false),
        (vec![(Some(110), tally(3, kes, 901))], false),
        (vec![(Some(110), tally(3, ugx, 1))], false),
        (vec![(Some(120), tally(1, kes, 1))], false),
        (
            vec![(None, tally(1, kes, 100)), (Some(110), tally(1, kes, 1))],
            true,
        ),
    ] {
        assert_eq!(is_within(&shown, &found), within, "{found:?}");
    }
    let _awake = SeededBug::OrderUnbounded.wake();
    let more = vec![(Some(110), tally(4, kes, 900))];
    assert!(is_within(&shown, &more), "the table finds it");
}
