//! How much may go, and when.

use super::*;
use crate::domain::LaneId;

fn secs(secs: i64) -> Timestamp {
    at(secs * 1000)
}

#[test]
fn no_more_requests_are_under_way_than_the_bound() {
    let mut core = begun(limits(), claims(1..=10), NOTHING);
    core.tell(EngineInput::Questions(questions(50..=59), NOTHING), at(0));
    assert_eq!(post_all(&mut core, at(1)), [1, 2, 3]);
    assert_eq!(
        ask_all(&mut core, at(1)),
        [50, 51, 52],
        "a bound of its own"
    );
    ended_posts(&mut core, 1, &Health::Healthy, at(2));
    assert_eq!(post_all(&mut core, at(2)), [4]);
    core.tell(EngineInput::QueryEnded(Health::Healthy), at(2));
    assert_eq!(ask_all(&mut core, at(2)), [53]);
}

#[test]
fn a_request_carries_as_many_payments_as_agreed_and_the_last_one_the_rest() {
    let packed = Limits {
        packets: 4,
        ..limits()
    };
    let mut core = begun(packed, claims(1..=9), NOTHING);
    let mut sizes = Vec::new();
    while core.next_post(at(1)) > 0 {
        sizes.push(core.take_post(core.next_post(at(1))).len());
    }
    assert_eq!(sizes, [4, 4, 1]);
}

#[test]
fn a_block_holds_what_leaves_in_a_second() {
    for (rate, packets, block) in [
        (10, 1, 10),
        (1, 1, 1),
        (10, 4, 10),
        (3, 8, 8),
        (1_000_000, 1, BLOCK_MAX),
    ] {
        let mut core = core(Limits {
            rate: Rate::per_second(rate).unwrap(),
            packets,
            ..limits()
        });
        let asked = claims_asked(&core.poll(at(0)));
        assert_eq!(asked, Some(block), "{rate}/s, {packets} a request");
    }
}

#[test]
fn a_block_is_claimed_when_half_of_the_last_one_has_left_and_only_one_at_a_time() {
    let mut core = core(Limits {
        concurrency: 100,
        ..limits()
    });
    assert_eq!(claims_asked(&core.poll(at(0))), Some(10));
    assert_eq!(claims_asked(&core.poll(at(1))), None, "it is under way");
    core.tell(EngineInput::Claimed(claims(1..=10), post_due(at(0))), at(2));
    for posted in 0..10 {
        let expected = (posted == 5).then_some(10);
        assert_eq!(claims_asked(&core.poll(at(3))), expected, "{posted} posted");
        core.take_post(1);
    }
}

#[test]
fn nothing_is_claimed_or_asked_before_it_is_due() {
    let due = Due {
        post: Some(secs(7)),
        ask: Some(secs(9)),
        ..NOTHING
    };
    let mut core = begun(limits(), Vec::new(), due);
    settle(&mut core, &standing(&[(State::Ready, 1)], &[]), due, at(1));
    assert_rests(&mut core, at(1));
    assert_eq!(core.wake_at(at(1)), secs(7));
    assert_eq!(claims_asked(&core.poll(secs(7))), Some(10));
    core.tell(EngineInput::Claimed(Vec::new(), NOTHING), secs(7));
    assert_eq!(core.wake_at(secs(7)), secs(9));
    assert_eq!(fetches_asked(&core.poll(secs(9))), Some(4));
}

#[test]
fn a_payment_that_moved_is_due_when_its_life_says_so() {
    for (to, post, ask) in [
        (State::Ready, true, false),
        (State::InDoubt, false, true),
        (State::Acknowledged, false, true),
        (State::Delivered, false, true),
        (State::Paid, false, false),
        (State::Failed, false, false),
        (State::Conflict, false, false),
    ] {
        let mut core = begun(limits(), Vec::new(), NOTHING);
        let moves = vec![moved(1, State::Posting, to, Some(secs(3)))];
        core.tell(EngineInput::Transition(moves), at(0));
        let effects = core.poll(secs(3));
        assert_eq!(claims_asked(&effects).is_some(), post, "{to:?}");
        assert_eq!(fetches_asked(&effects).is_some(), ask, "{to:?}");
    }
}

#[test]
fn losses_in_a_row_pause_the_posts_and_give_back_what_was_claimed() {
    let mut core = begun(limits(), claims(1..=8), post_due(at(0)));
    assert_eq!(post_all(&mut core, at(0)).len(), 3);
    ended_posts(&mut core, 2, &Health::Lost, secs(1));
    // A pause may be long: an intent that is not going to be sent soon is no intent.
    let effects = core.poll(secs(1));
    assert_eq!(released(&effects), [4, 5, 6, 7, 8]);
    assert_eq!(claims_asked(&effects), None);
    assert_eq!(core.next_post(secs(1)), 0);
    assert!(core.view().1, "the circuit is open");
    assert!(core.wake_at(secs(1)) <= secs(6));
    // The questions go on.
    core.tell(EngineInput::Questions(questions(50..=51), NOTHING), secs(2));
    assert_eq!(ask_all(&mut core, secs(2)), [50, 51]);
    // After the pause one request decides.
    assert_eq!(claims_asked(&core.poll(secs(6))), Some(1));
    core.tell(
        EngineInput::Claimed(claims(4..=4), post_due(at(0))),
        secs(6),
    );
    assert_eq!(post_all(&mut core, secs(6)), [4]);
    assert_eq!(claims_asked(&core.poll(secs(6))), None);
    ended_posts(&mut core, 1, &Health::Healthy, secs(7));
    assert_eq!(claims_asked(&core.poll(secs(7))), Some(10));
    assert!(!core.view().1);
}

#[test]
fn a_probe_that_fails_doubles_the_pause() {
    let mut core = begun(limits(), claims(1..=2), post_due(at(0)));
    post_all(&mut core, at(0));
    ended_posts(&mut core, 2, &Health::Lost, at(0));
    core.poll(secs(5));
    core.tell(
        EngineInput::Claimed(claims(3..=3), post_due(at(0))),
        secs(5),
    );
    assert_eq!(post_all(&mut core, secs(5)), [3]);
    ended_posts(&mut core, 1, &Health::Unreachable("x".into()), secs(6));
    assert_eq!(claims_asked(&core.poll(secs(15))), None);
    assert_eq!(claims_asked(&core.poll(secs(16))), Some(1));
}

#[test]
fn a_probe_that_is_told_to_slow_down_is_followed_by_another() {
    let mut core = begun(limits(), claims(1..=2), post_due(at(0)));
    post_all(&mut core, at(0));
    ended_posts(&mut core, 2, &Health::Lost, at(0));
    core.poll(secs(5));
    core.tell(
        EngineInput::Claimed(claims(3..=3), post_due(at(0))),
        secs(5),
    );
    assert_eq!(post_all(&mut core, secs(5)), [3]);
    let slow = Health::SlowDown(Duration::from_secs(2));
    ended_posts(&mut core, 1, &slow, secs(6));
    assert_eq!(
        claims_asked(&core.poll(secs(20))),
        Some(1),
        "posts are not shut out for good"
    );
}

#[test]
fn a_gateway_that_asks_for_less_gets_nothing_meanwhile() {
    let mut core = begun(limits(), claims(1..=5), post_due(at(0)));
    core.tell(
        EngineInput::Questions(questions(50..=52), ask_due(secs(1))),
        at(0),
    );
    assert_eq!(post_all(&mut core, at(0)).len(), 3);
    let slow = Health::SlowDown(Duration::from_secs(4));
    ended_posts(&mut core, 1, &slow, secs(1));
    ended_posts(&mut core, 2, &Health::Healthy, secs(1));
    assert_eq!(released(&core.poll(secs(1))), [4, 5]);
    assert_rests(&mut core, secs(2));
    assert_eq!(core.wake_at(secs(2)), secs(5));
    assert_eq!(ask_all(&mut core, secs(5)), [50, 51, 52]);
    assert_eq!(claims_asked(&core.poll(secs(5))), Some(10));
}

#[test]
fn a_shorter_wish_does_not_cut_a_longer_one_short() {
    let mut core = begun(limits(), claims(1..=3), NOTHING);
    post_all(&mut core, at(0));
    for pause in [30, 1] {
        let slow = Health::SlowDown(Duration::from_secs(pause));
        ended_posts(&mut core, 1, &slow, secs(1));
    }
    core.tell(EngineInput::Claimed(claims(9..=9), NOTHING), secs(1));
    assert_eq!(core.next_post(secs(30)), 0);
    assert_eq!(core.next_post(secs(31)), 1);
}

#[test]
fn a_lane_without_float_is_held_and_its_claims_are_given_back() {
    let mixed = vec![claim(1, 1), claim(2, 2), claim(3, 1), claim(4, 2)];
    let mut core = begun(limits(), mixed, NOTHING);
    core.tell(EngineInput::NoFloat(LANE), at(0));
    core.tell(EngineInput::NoFloat(LANE), at(0));
    let effects = core.poll(at(0));
    let holds: Vec<LaneId> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::HoldLane(lane) => Some(*lane),
            _ => None,
        })
        .collect();
    assert_eq!(holds, [LANE], "once");
    assert_eq!(released(&effects), [1, 3]);
    assert_eq!(post_all(&mut core, at(0)), [2, 4], "other lanes go on");
}

#[test]
fn claims_that_were_under_way_when_their_lane_was_held_are_not_posted() {
    let mut core = begun(limits(), claims(1..=1), post_due(at(0)));
    post_all(&mut core, at(0));
    assert!(claims_asked(&core.poll(at(0))).is_some());
    core.tell(EngineInput::NoFloat(LANE), at(1));
    core.tell(
        EngineInput::Claimed(vec![claim(7, 1), claim(8, 2)], NOTHING),
        at(2),
    );
    assert_eq!(released(&core.poll(at(2))), [7]);
    assert_eq!(post_all(&mut core, at(2)), [8]);
}

#[test]
fn a_payment_of_a_held_lane_is_not_due() {
    let mut core = begun(limits(), Vec::new(), NOTHING);
    core.tell(EngineInput::NoFloat(LANE), at(0));
    core.poll(at(0));
    let moves = vec![moved(1, State::Posting, State::Ready, None)];
    core.tell(EngineInput::Transition(moves), at(1));
    assert_eq!(claims_asked(&core.poll(at(1))), None);
}

#[test]
fn a_held_lane_opens_by_itself_where_that_is_configured() {
    let retrying = Limits {
        lane_retry_after: Some(Duration::from_secs(30)),
        ..limits()
    };
    let mut core = begun(retrying, Vec::new(), NOTHING);
    core.tell(EngineInput::NoFloat(LANE), at(0));
    core.poll(at(0));
    let held = standing(&[(State::Ready, 1)], &[1]);
    core.tell(EngineInput::Standing(held.clone(), NOTHING), secs(1));
    settle(&mut core, &held, NOTHING, secs(1));
    assert_rests(&mut core, secs(29));
    assert_eq!(core.wake_at(secs(29)), secs(30));
    let effects = core.poll(secs(30));
    assert!(
        matches!(effects[0], Effect::ReopenLane(LANE)),
        "{effects:?}"
    );
    assert!(claims_asked(&effects).is_some());
    // Dry again: held again, for as long again.
    core.tell(EngineInput::Claimed(claims(1..=1), NOTHING), secs(30));
    post_all(&mut core, secs(30));
    core.tell(EngineInput::NoFloat(LANE), secs(31));
    ended_posts(&mut core, 1, &Health::Healthy, secs(31));
    let effects = core.poll(secs(31));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::HoldLane(LANE)))
    );
    assert!(core.poll(secs(60)).is_empty());
    assert!(matches!(core.poll(secs(61))[0], Effect::ReopenLane(LANE)));
}

#[test]
fn a_lane_that_the_operator_opened_is_posted_from_again() {
    let mut core = begun(limits(), Vec::new(), NOTHING);
    core.tell(EngineInput::NoFloat(LANE), at(0));
    core.poll(at(0));
    assert_eq!(core.held(), []);
    let states = [(State::Ready, 1), (State::Acknowledged, 1)];
    core.tell(
        EngineInput::Standing(standing(&states, &[1]), NOTHING),
        at(1),
    );
    assert_eq!(core.held(), [service(1)]);
    core.poll(at(1));
    let open = standing(&states, &[]);
    core.tell(EngineInput::Standing(open, post_due(at(0))), at(2));
    assert_eq!(core.held(), []);
    assert!(claims_asked(&core.poll(at(2))).is_some());
}

#[test]
fn a_question_that_waits_or_is_under_way_is_not_asked_a_second_time() {
    let mut core = begun(limits(), Vec::new(), NOTHING);
    core.tell(EngineInput::Questions(questions(1..=4), NOTHING), at(0));
    assert_eq!(ask_all(&mut core, at(0)), [1, 2, 3]);
    // Their leases have run out before their turn came, or before the answer was recorded.
    core.tell(EngineInput::Questions(questions(1..=5), NOTHING), secs(200));
    core.tell(EngineInput::QueryEnded(Health::Healthy), secs(200));
    core.tell(EngineInput::QueryEnded(Health::Healthy), secs(200));
    assert_eq!(ask_all(&mut core, secs(200)), [4, 5]);
    // Recorded: it may be asked about again.
    let moves = vec![moved(1, State::InDoubt, State::InDoubt, Some(secs(201)))];
    core.tell(EngineInput::Transition(moves), secs(200));
    core.tell(EngineInput::QueryEnded(Health::Healthy), secs(201));
    core.tell(EngineInput::Questions(questions(1..=2), NOTHING), secs(201));
    assert_eq!(ask_all(&mut core, secs(201)), [1]);
}

#[test]
fn what_a_callback_has_moved_is_not_posted_any_more() {
    for state in [State::Paid, State::Failed, State::Acknowledged] {
        let mut core = begun(limits(), claims(1..=3), NOTHING);
        let moves = vec![moved(2, State::Posting, state, None)];
        core.tell(EngineInput::Transition(moves), at(1));
        assert_eq!(post_all(&mut core, at(1)), [1, 3], "{state:?}");
    }
}

#[test]
fn news_from_before_a_claim_does_not_take_it_back() {
    let mut core = begun(limits(), claims(1..=1), NOTHING);
    let older = moved(1, State::InDoubt, State::Ready, None);
    core.tell(EngineInput::Transition(vec![older]), at(0));
    assert_eq!(post_all(&mut core, at(0)), [1]);
}
