//! When a run ends, and as what.

use super::*;

fn secs(secs: i64) -> Timestamp {
    at(secs * 1000)
}

/// A run that has done all it can, when the journal stands like this.
fn idle(limits: Limits, states: &[(State, u64)], held: &[i64], due: Due) -> Core {
    let mut core = begun(limits, Vec::new(), NOTHING);
    let standing = standing(states, held);
    settle(&mut core, &standing, due, at(1));
    core
}

#[test]
fn each_ending_has_its_cause() {
    let no_wait = || Limits {
        no_wait: true,
        ..limits()
    };
    let poll_only = || Limits {
        callbacks: false,
        ..limits()
    };
    let retrying = || Limits {
        lane_retry_after: Some(Duration::from_secs(30)),
        ..limits()
    };
    use State::{Acknowledged, Conflict, Failed, InDoubt, Paid, Posting, Ready};
    type Case<'a> = (
        &'a str,
        Limits,
        &'a [(State, u64)],
        &'a [i64],
        Due,
        Option<Ending>,
    );
    let later = ask_due(secs(90));
    let cases: [Case<'_>; 18] = [
        (
            "all paid",
            limits(),
            &[(Paid, 5)],
            &[],
            NOTHING,
            Some(Ending::Finished),
        ),
        (
            "all ended",
            limits(),
            &[(Paid, 5), (Failed, 1), (Conflict, 1), (State::Cancelled, 1)],
            &[],
            NOTHING,
            Some(Ending::Finished),
        ),
        (
            "no payments",
            limits(),
            &[],
            &[],
            NOTHING,
            Some(Ending::Finished),
        ),
        (
            "a question is due later",
            limits(),
            &[(InDoubt, 1)],
            &[],
            later,
            None,
        ),
        (
            "a callback may come",
            limits(),
            &[(Acknowledged, 1)],
            &[],
            NOTHING,
            None,
        ),
        (
            "no callback can come",
            poll_only(),
            &[(Acknowledged, 1)],
            &[],
            NOTHING,
            Some(Ending::NeedsDecision),
        ),
        (
            "no callback can come, a question is due",
            poll_only(),
            &[(Acknowledged, 1)],
            &[],
            later,
            None,
        ),
        (
            "a post is due later",
            limits(),
            &[(Ready, 1)],
            &[],
            post_due(secs(90)),
            None,
        ),
        (
            "a post is due later, not to wait",
            no_wait(),
            &[(Ready, 1)],
            &[],
            post_due(secs(90)),
            None,
        ),
        (
            "an outcome is not recorded yet",
            limits(),
            &[(Posting, 1)],
            &[],
            NOTHING,
            None,
        ),
        (
            "an outcome is not recorded yet, not to wait",
            no_wait(),
            &[(Posting, 1)],
            &[],
            NOTHING,
            None,
        ),
        (
            "all posted, not to wait",
            no_wait(),
            &[(Acknowledged, 3), (InDoubt, 1)],
            &[],
            later,
            Some(Ending::Posted),
        ),
        (
            "held",
            limits(),
            &[(Ready, 2), (Paid, 1)],
            &[1],
            NOTHING,
            Some(Ending::Held),
        ),
        (
            "held, and a question is due",
            limits(),
            &[(Ready, 2), (InDoubt, 1)],
            &[1],
            later,
            None,
        ),
        (
            "held, and opens by itself",
            retrying(),
            &[(Ready, 2)],
            &[1],
            NOTHING,
            None,
        ),
        (
            "held, not to wait",
            no_wait(),
            &[(Ready, 2), (Acknowledged, 1)],
            &[1],
            later,
            Some(Ending::Held),
        ),
        (
            "held without anything in it",
            limits(),
            &[(Paid, 2)],
            &[1],
            NOTHING,
            Some(Ending::Finished),
        ),
        (
            "given up",
            poll_only(),
            &[(InDoubt, 2), (Paid, 1)],
            &[],
            NOTHING,
            Some(Ending::NeedsDecision),
        ),
    ];
    for (name, limits, states, held, due, ending) in cases {
        let mut core = idle(limits, states, held, due);
        assert_eq!(core.ended(), ending.as_ref(), "{name}");
        if ending.is_none() {
            assert_rests(&mut core, at(1));
        }
    }
}

#[test]
fn a_run_is_finished_only_when_the_journal_says_so() {
    let mut core = begun(limits(), claims(1..=1), NOTHING);
    post_all(&mut core, at(0));
    ended_posts(&mut core, 1, &Health::Healthy, at(1));
    // By the counts that are kept for the screen everything is paid.
    for _ in 0..200 {
        let moves = vec![moved(1, State::Ready, State::Paid, None)];
        core.tell(EngineInput::Transition(moves), at(1));
    }
    assert_eq!(core.ended(), None);
    assert!(looks(&core.poll(at(1))));
    core.tell(
        EngineInput::Standing(
            standing(&[(State::Paid, 99), (State::Acknowledged, 1)], &[]),
            NOTHING,
        ),
        at(1),
    );
    assert_eq!(core.ended(), None);
    core.tell(
        EngineInput::Standing(standing(&[(State::Paid, 100)], &[]), NOTHING),
        at(2),
    );
    assert_eq!(core.ended(), Some(&Ending::Finished));
}

#[test]
fn what_happened_since_the_journal_was_looked_at_outweighs_what_it_showed() {
    let poll_only = Limits {
        callbacks: false,
        ..limits()
    };
    let mut core = begun(poll_only, Vec::new(), post_due(secs(1)));
    assert!(looks(&core.poll(at(0))));
    // While the journal is read, the last payment is claimed, posted and lost.
    assert!(claims_asked(&core.poll(secs(1))).is_some());
    core.tell(EngineInput::Claimed(claims(1..=1), NOTHING), secs(1));
    post_all(&mut core, secs(1));
    ended_posts(&mut core, 1, &Health::Lost, secs(1));
    let old = standing(&[(State::Ready, 1), (State::Paid, 9)], &[]);
    core.tell(EngineInput::Standing(old, NOTHING), secs(1));
    assert_eq!(
        core.ended(),
        None,
        "it is in doubt, and will be asked about"
    );
    assert!(looks(&core.poll(secs(1))), "so it looks again");
    let now = standing(&[(State::InDoubt, 1), (State::Paid, 9)], &[]);
    core.tell(EngineInput::Standing(now, ask_due(secs(11))), secs(1));
    assert_eq!(core.ended(), None);
    assert_rests(&mut core, secs(2));
}

#[test]
fn an_old_due_time_does_not_hold_up_the_end() {
    let no_wait = Limits {
        no_wait: true,
        ..limits()
    };
    let mut core = begun(no_wait, Vec::new(), post_due(secs(60)));
    assert!(looks(&core.poll(at(0))));
    // The operator withdrew it meanwhile.
    let now = standing(&[(State::Cancelled, 1), (State::Acknowledged, 1)], &[]);
    core.tell(EngineInput::Standing(now, NOTHING), at(0));
    assert_eq!(core.ended(), Some(&Ending::Posted));
}

#[test]
fn a_drain_gives_back_what_was_claimed_and_ends_when_nothing_is_under_way() {
    let mut core = begun(limits(), claims(1..=6), post_due(at(0)));
    core.tell(
        EngineInput::Questions(questions(50..=55), ask_due(at(0))),
        at(0),
    );
    assert_eq!(post_all(&mut core, at(0)), [1, 2, 3]);
    assert_eq!(ask_all(&mut core, at(0)), [50, 51, 52]);
    core.tell(EngineInput::Drain, at(1));
    assert!(core.is_ending());
    assert_eq!((core.next_post(at(1)), core.next_query(at(1))), (0, 0));
    let effects = core.poll(at(1));
    assert_eq!(released(&effects), [4, 5, 6]);
    assert_eq!(claims_asked(&effects), None);
    assert_eq!(fetches_asked(&effects), None);
    for _ in 0..3 {
        assert_eq!(core.ended(), None);
        ended_posts(&mut core, 1, &Health::Healthy, at(2));
        core.tell(EngineInput::QueryEnded(Health::Healthy), at(2));
    }
    assert_eq!(core.ended(), Some(&Ending::Drained));
}

#[test]
fn a_claim_that_arrives_during_a_drain_is_given_back() {
    let mut core = core(limits());
    assert!(claims_asked(&core.poll(at(0))).is_some());
    core.tell(EngineInput::Questions(questions(50..=55), NOTHING), at(0));
    core.tell(EngineInput::Drain, at(1));
    assert_eq!(core.ended(), None, "the claim is under way");
    core.tell(EngineInput::Claimed(claims(1..=4), post_due(at(0))), at(2));
    assert_eq!(core.ended(), None);
    assert_eq!(released(&core.poll(at(2))), [1, 2, 3, 4]);
    assert_eq!(core.ended(), Some(&Ending::Drained));
}

#[test]
fn a_draining_run_rests_while_it_waits_however_long_that_takes() {
    let mut core = begun(limits(), claims(1..=1), NOTHING);
    post_all(&mut core, at(0));
    core.tell(EngineInput::Drain, at(1));
    assert_rests(&mut core, at(1));
    assert_rests(&mut core, secs(600));
    assert_rests(&mut core, secs(100_000));
    assert_eq!(core.ended(), None);
}

#[test]
fn the_gateways_answer_stops_a_run_at_once() {
    let mut core = begun(limits(), claims(1..=6), post_due(at(0)));
    post_all(&mut core, at(0));
    core.tell(EngineInput::Stop("132".into()), at(1));
    core.tell(EngineInput::Drain, at(1));
    assert_eq!(core.next_post(at(1)), 0);
    assert_eq!(released(&core.poll(at(1))), [4, 5, 6]);
    ended_posts(&mut core, 3, &Health::Lost, at(2));
    let stopped = Ending::Stopped("132".into());
    assert_eq!(core.ended(), Some(&stopped), "the first cause stands");
}

#[test]
fn a_gateway_that_never_answers_is_tried_three_times_and_ten_seconds() {
    for (tries, until, ends) in [(3, 10, true), (2, 100, false), (3, 9, false)] {
        let patient = Limits {
            breaker_losses: 100,
            ..limits()
        };
        let mut core = begun(patient, claims(1..=10), NOTHING);
        for _ in 0..tries {
            core.take_post(1);
            core.tell(
                EngineInput::PostEnded(Health::Unreachable("refused".into())),
                secs(0),
            );
        }
        core.poll(secs(until));
        let unreachable = Ending::Unreachable("refused".into());
        let expected = ends.then_some(&unreachable);
        assert_eq!(core.ended(), expected, "{tries} tries, {until} s");
    }
}

#[test]
fn a_gateway_that_answered_once_is_not_unreachable() {
    let patient = Limits {
        breaker_losses: 100,
        ..limits()
    };
    let mut core = begun(patient, claims(1..=10), NOTHING);
    core.take_post(1);
    core.tell(EngineInput::PostEnded(Health::Healthy), at(0));
    for _ in 0..5 {
        core.take_post(1);
        core.tell(
            EngineInput::PostEnded(Health::Unreachable("x".into())),
            at(0),
        );
    }
    core.poll(secs(30));
    assert!(!core.is_ending());
}

#[test]
fn a_run_ends_when_no_payment_has_moved_for_as_long_as_it_may_wait() {
    let mut core = idle(limits(), &[(State::Acknowledged, 2)], &[], NOTHING);
    assert_rests(&mut core, secs(599));
    let moves = vec![moved(1, State::Acknowledged, State::Paid, None)];
    core.tell(EngineInput::Transition(moves), secs(599));
    let left = standing(&[(State::Acknowledged, 1), (State::Paid, 1)], &[]);
    settle(&mut core, &left, NOTHING, secs(599));
    assert_rests(&mut core, secs(1198));
    // Words that change nothing do not count.
    let moves = vec![moved(2, State::Acknowledged, State::Acknowledged, None)];
    core.tell(EngineInput::Transition(moves), secs(1198));
    core.poll(secs(1199));
    assert_eq!(core.ended(), Some(&Ending::TimedOut));
}

#[test]
fn what_is_not_found_is_waited_for_twice_and_not_for_ever() {
    let mut core = idle(limits(), &[(State::InDoubt, 1)], &[], NOTHING);
    let denied = |to: State, not_found: u8| {
        let mut denied = moved(1, State::InDoubt, to, None);
        denied.life.not_found = not_found;
        EngineInput::Transition(vec![denied])
    };
    for (at, to, not_found, is_ended) in [
        (599, State::InDoubt, 1, false),
        (1_198, State::Ready, 0, false),
        // It was lost again, and is not found again.
        (1_797, State::InDoubt, 1, false),
        (1_798, State::Ready, 0, true),
    ] {
        core.tell(denied(to, not_found), secs(at));
        core.poll(secs(at));
        let ending = is_ended.then_some(Ending::TimedOut);
        assert_eq!(core.ending, ending, "{at}");
    }
    // What proves nothing, as the quarantine lasts, counts for nothing.
    let mut core = idle(limits(), &[(State::InDoubt, 1)], &[], NOTHING);
    core.tell(denied(State::InDoubt, 0), secs(599));
    core.poll(secs(600));
    assert_eq!(core.ended(), Some(&Ending::TimedOut));
}

#[test]
fn a_run_that_times_out_while_posts_are_paused_says_that_they_were() {
    let mut core = begun(limits(), claims(1..=2), NOTHING);
    post_all(&mut core, at(0));
    ended_posts(&mut core, 2, &Health::Lost, at(0));
    core.poll(secs(600));
    assert_eq!(core.ended(), Some(&Ending::CircuitOpen));
}

#[test]
fn a_journal_that_fails_leaves_only_what_is_under_way_to_wait_for() {
    let mut core = begun(limits(), claims(1..=6), post_due(at(0)));
    post_all(&mut core, at(0));
    core.tell(EngineInput::Drain, at(1));
    core.forget_journal();
    assert!(core.poll(at(1)).is_empty(), "nothing is given back to it");
    assert!(!core.nothing_under_way());
    ended_posts(&mut core, 3, &Health::Healthy, at(2));
    assert!(core.nothing_under_way());
}

#[test]
fn an_intent_that_nothing_is_under_way_for_is_put_in_doubt() {
    let mut core = begun(limits(), claims(1..=1), NOTHING);
    assert_eq!(post_all(&mut core, at(0)), [1]);
    let orphaned = |core: &mut Core| {
        core.start_look();
        core.tell(
            EngineInput::Standing(standing(&[(State::Posting, 1)], &[]), NOTHING),
            at(1),
        );
        let effects = core.poll(at(1));
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Abandon))
    };
    assert!(!orphaned(&mut core), "its post is on the wire");
    core.tell(EngineInput::PostEnded(Health::Healthy), at(1));
    assert!(orphaned(&mut core));
}

/// Something waits for a time that comes.
fn scheduled(secs_ahead: i64) -> Due {
    Due {
        scheduled: Some(secs(secs_ahead)),
        ..NOTHING
    }
}

#[test]
fn a_run_that_waits_for_a_window_goes_on_when_it_opens_however_long_that_takes() {
    let waiting = Limits {
        wait_for_window: true,
        max_wait: Duration::from_secs(60),
        ..limits()
    };
    let mut core = idle(waiting, &[(State::Ready, 2)], &[], scheduled(100_000));
    assert_eq!(core.ended(), None);
    assert_rests(&mut core, secs(50_000));
    assert_eq!(core.ended(), None);
    assert!(core.wake_at(secs(50_000)) <= secs(100_000));
    assert!(claims_asked(&core.poll(secs(100_000))).is_some());
    assert_eq!(core.ended(), None, "its time counts from then on");
    // One that does not wait has ended.
    let core = idle(limits(), &[(State::Ready, 2)], &[], scheduled(100_000));
    assert_eq!(core.ended(), Some(&Ending::Scheduled));
}

#[test]
fn what_is_over_ends_the_run_behind_everything_that_still_comes() {
    let over = Due {
        over: true,
        ..NOTHING
    };
    let core = idle(limits(), &[(State::Ready, 2)], &[], over);
    assert_eq!(core.ended(), Some(&Ending::Over));
    let asks = Due {
        over: true,
        ..ask_due(secs(90))
    };
    let core = idle(
        limits(),
        &[(State::Ready, 2), (State::InDoubt, 1)],
        &[],
        asks,
    );
    assert_eq!(core.ended(), None, "what is in doubt is asked about first");
    let later = Due {
        over: true,
        ..scheduled(9)
    };
    let core = idle(limits(), &[(State::Ready, 2)], &[], later);
    assert_eq!(core.ended(), Some(&Ending::Scheduled));
}

#[test]
fn what_did_not_leave_before_its_service_closed_is_given_back() {
    let by = |seq, until| Claim {
        leave_by: until,
        ..claim(seq, 1)
    };
    let claimed = vec![by(1, Some(secs(10))), by(2, None), by(3, Some(secs(20)))];
    let mut core = begun(limits(), claimed, NOTHING);
    assert!(core.wake_at(secs(1)) <= secs(10));
    assert_eq!(released(&core.poll(secs(9))), [0_i64; 0]);
    assert_eq!(released(&core.poll(secs(10))), [1]);
    assert!(core.wake_at(secs(11)) <= secs(20));
    assert_eq!(released(&core.poll(secs(20))), [3]);
    assert_eq!(post_all(&mut core, secs(20)), [2]);
}
