//! Held lanes whose balance is asked for, and payments that wait for their documents.

use super::*;
use crate::domain::LaneId;

fn secs(secs: i64) -> Timestamp {
    at(secs * 1000)
}

fn polling() -> Limits {
    Limits {
        float_poll: Some(Duration::from_secs(30)),
        ..limits()
    }
}

/// The lane and the service that a balance is asked for.
fn balance_asked(effects: &[Effect]) -> Option<(LaneId, ServiceCode)> {
    effects.iter().find_map(|effect| match effect {
        Effect::AskBalance(lane, service) => Some((*lane, service.clone())),
        _ => None,
    })
}

fn reopens(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::ReopenLane(LANE)))
}

fn kes(minor: i64) -> Option<(Currency, i64)> {
    Some((money().currency, minor))
}

/// A run of which three payments of 100 wait in lane 1, held since the second 0.
fn held() -> Core {
    let mut core = begun(polling(), claims(1..=1), NOTHING);
    post_all(&mut core, at(0));
    core.tell(EngineInput::NoFloat(LANE), at(0));
    ended_posts(&mut core, 1, &Health::Healthy, at(0));
    let standing = standing(&[(State::Ready, 3), (State::Paid, 1)], &[1]);
    core.poll(at(0));
    core.tell(EngineInput::Standing(standing.clone(), NOTHING), secs(1));
    settle(&mut core, &standing, NOTHING, secs(1));
    core
}

#[test]
fn a_held_lane_opens_when_its_balance_covers_all_that_waits_in_it() {
    let mut core = held();
    assert_eq!(core.ended(), None, "a top-up may come");
    assert_rests(&mut core, secs(2));
    assert_eq!(core.wake_at(secs(2)), secs(30));
    assert_eq!(
        balance_asked(&core.poll(secs(30))),
        Some((LANE, service(1))),
        "the balance is asked for after the pause"
    );
    assert_eq!(balance_asked(&core.poll(secs(31))), None, "and only once");
    core.tell(EngineInput::Balance(LANE, kes(299)), secs(32));
    let effects = core.poll(secs(32));
    assert!(!reopens(&effects), "one cent is missing: {effects:?}");
    assert_eq!(balance_asked(&core.poll(secs(61))), None);
    assert!(balance_asked(&core.poll(secs(62))).is_some());
    core.tell(EngineInput::Balance(LANE, kes(300)), secs(63));
    let effects = core.poll(secs(63));
    assert!(reopens(&effects), "{effects:?}");
    assert_eq!(claims_asked(&effects), Some(10));
    assert_eq!(core.held(), []);
}

#[test]
fn an_unknown_balance_or_one_in_another_currency_opens_nothing() {
    let other = Currency::from_code("UGX").unwrap();
    for balance in [None, Some((other, 1_000_000)), kes(-5), kes(0)] {
        let mut core = held();
        assert!(balance_asked(&core.poll(secs(30))).is_some());
        core.tell(EngineInput::Balance(LANE, balance), secs(30));
        assert!(!reopens(&core.poll(secs(30))), "{balance:?}");
        assert!(
            balance_asked(&core.poll(secs(60))).is_some(),
            "asked again after {balance:?}"
        );
    }
}

#[test]
fn a_lane_found_held_is_asked_about_at_once_and_a_lane_opened_meanwhile_no_more() {
    let found = standing(&[(State::Ready, 2)], &[1]);
    let mut core = Core::new(polling(), &found, at(0));
    assert!(balance_asked(&core.poll(at(0))).is_some());
    core.tell(
        EngineInput::Standing(standing(&[(State::Ready, 2)], &[]), NOTHING),
        secs(1),
    );
    core.tell(EngineInput::Balance(LANE, kes(1_000)), secs(1));
    assert!(!reopens(&core.poll(secs(1))), "the operator was faster");
}

#[test]
fn a_lane_without_anything_in_it_is_not_asked_about_and_holds_nothing_up() {
    let all_paid = standing(&[(State::Paid, 2)], &[1]);
    let mut core = Core::new(polling(), &all_paid, at(0));
    assert_eq!(balance_asked(&core.poll(at(0))), None);
    core.tell(EngineInput::Claimed(Vec::new(), NOTHING), at(0));
    core.tell(EngineInput::Questions(Vec::new(), NOTHING), at(0));
    settle(&mut core, &all_paid, NOTHING, at(1));
    assert_eq!(core.ended(), Some(&Ending::Finished));
}

#[test]
fn a_run_that_waited_in_vain_for_a_top_up_ends_as_held() {
    let mut core = held();
    core.poll(secs(30));
    core.tell(EngineInput::Balance(LANE, kes(0)), secs(30));
    core.poll(secs(601));
    assert_eq!(core.ended(), Some(&Ending::Held));
}

#[test]
fn payments_that_wait_for_their_time_end_the_run_once_nothing_else_is_left() {
    let waiting = Due {
        scheduled: Some(secs(10_000)),
        ..NOTHING
    };
    let soon = Due {
        post: Some(secs(90)),
        ..waiting
    };
    let asked = Due {
        ask: Some(secs(90)),
        ..waiting
    };
    let document = Due {
        document: true,
        ..waiting
    };
    let no_wait = || Limits {
        no_wait: true,
        ..limits()
    };
    use State::{InDoubt, Paid, Ready};
    type Case<'a> = (Limits, &'a [(State, u64)], &'a [i64], Due, Option<Ending>);
    let cases: [Case<'_>; 6] = [
        (
            limits(),
            &[(Ready, 1), (Paid, 2)],
            &[],
            waiting,
            Some(Ending::Scheduled),
        ),
        (limits(), &[(Ready, 2)], &[], soon, None),
        (limits(), &[(Ready, 1), (InDoubt, 1)], &[], asked, None),
        (
            no_wait(),
            &[(Ready, 1), (InDoubt, 1)],
            &[],
            asked,
            Some(Ending::Scheduled),
        ),
        (
            limits(),
            &[(Ready, 2)],
            &[],
            document,
            Some(Ending::Documents),
        ),
        (limits(), &[(Ready, 2)], &[1], waiting, Some(Ending::Held)),
    ];
    for (limits, states, held, due, ending) in cases {
        let mut core = begun(limits, Vec::new(), NOTHING);
        let standing = standing(states, held);
        settle(&mut core, &standing, due, at(1));
        assert_eq!(core.ended(), ending.as_ref(), "{states:?} {due:?}");
        if ending.is_none() {
            assert_rests(&mut core, at(1));
        }
    }
}

#[test]
fn payments_that_wait_for_their_documents_end_the_run_once_nothing_else_is_left() {
    let waiting = Due {
        document: true,
        ..NOTHING
    };
    let later = Due {
        document: true,
        ..ask_due(secs(90))
    };
    let no_wait = || Limits {
        no_wait: true,
        ..limits()
    };
    use State::{InDoubt, Paid, Ready};
    type Case<'a> = (Limits, &'a [(State, u64)], &'a [i64], Due, Option<Ending>);
    let cases: [Case<'_>; 4] = [
        (
            limits(),
            &[(Ready, 1), (Paid, 2)],
            &[],
            waiting,
            Some(Ending::Documents),
        ),
        (limits(), &[(Ready, 1), (InDoubt, 1)], &[], later, None),
        (
            no_wait(),
            &[(Ready, 1), (InDoubt, 1)],
            &[],
            later,
            Some(Ending::Documents),
        ),
        (limits(), &[(Ready, 2)], &[1], waiting, Some(Ending::Held)),
    ];
    for (limits, states, held, due, ending) in cases {
        let mut core = begun(limits, Vec::new(), NOTHING);
        let standing = standing(states, held);
        settle(&mut core, &standing, due, at(1));
        assert_eq!(core.ended(), ending.as_ref(), "{states:?}");
        if ending.is_none() {
            assert_rests(&mut core, at(1));
        }
    }
}
