//! The transition table, and what holds over every sequence of events.

use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const T0: i64 = 1_000_000_000;

fn moment(secs: i64) -> StepContext {
    StepContext {
        now: Timestamp::from_millis(T0 + secs * 1000),
        jitter: 0,
    }
}

fn policy() -> Policy {
    Policy {
        first_query_after: Duration::from_secs(10),
        not_found_quarantine: Duration::from_secs(60),
        exposures_max: 5,
        ..Policy::default()
    }
}

/// A plausible life in each state, 600 seconds before the event.
fn life(state: State) -> PaymentState {
    let sent = !matches!(state, State::Ready | State::Cancelled);
    let known = matches!(state, State::Acknowledged | State::Delivered | State::Paid);
    PaymentState {
        state,
        attempts: u32::from(sent),
        posted_at: sent.then(|| moment(-600).now),
        quarantine_from: sent.then(|| moment(-600).now),
        exposures: u32::from(sent && state != State::Posting),
        known,
        ..PaymentState::NEW
    }
}

fn every_event() -> Vec<(String, Event)> {
    let mut events: Vec<(String, Event)> = [
        ("claimed", Event::Claimed),
        ("unsent", Event::Unsent),
        ("unauthorised", Event::Unauthorised),
        ("lost", Event::Lost),
        ("abandoned", Event::Abandoned),
        ("no answer", Event::NoAnswer),
        ("decided paid", Event::DecidedPaid),
        ("decided failed", Event::DecidedFailed),
        ("withdrawn", Event::Withdrawn),
        ("recognised", Event::Recognised),
        ("not ours", Event::NotOurs),
        ("superseded", Event::Superseded),
        ("outdated", Event::Outdated),
        ("reopened", Event::Reopened),
        ("shown paid", Event::ShownPaid),
    ]
    .map(|(name, event)| (name.to_owned(), event))
    .into();
    type Source = (&'static str, fn(CodeMeaning) -> Event);
    let sources: [Source; 3] = [
        ("reply", Event::Reply),
        ("answer", Event::Answer),
        ("callback", Event::Callback),
    ];
    for (source, event) in sources {
        for (class, name) in Class::ALL {
            events.push((
                format!("{source} {name}"),
                event(CodeMeaning { class, code: 900 }),
            ));
        }
    }
    // A new variant of Event breaks this match, and with it the promise that the list above is whole.
    for (_, event) in &events {
        match event {
            Event::Claimed | Event::Unsent | Event::Unauthorised | Event::Lost => {}
            Event::Abandoned | Event::NoAnswer | Event::Withdrawn => {}
            Event::Superseded | Event::Outdated | Event::Reopened | Event::ShownPaid => {}
            Event::DecidedPaid | Event::DecidedFailed => {}
            Event::Recognised | Event::NotOurs => {}
            Event::Reply(_) | Event::Answer(_) | Event::Callback(_) => {}
        }
    }
    events
}

#[test]
fn every_pair_of_state_and_event_has_its_row() {
    let mut table = String::new();
    let taken = PaymentState {
        known: true,
        taken: true,
        code: Some(229),
        ..life(State::InDoubt)
    };
    let lives = State::ALL.map(|state| (state.name(), life(state)));
    for (state, life) in lives.into_iter().chain([("taken", taken)]) {
        for (name, event) in every_event() {
            let after = step(&life, event, moment(0), &policy());
            let mark = after
                .anomaly
                .map(|a| format!("  ! {a:?}"))
                .unwrap_or_default();
            writeln!(
                table,
                "{:<13}{name:<24}-> {}{mark}",
                state,
                after.life.state.name()
            )
            .unwrap();
        }
    }
    let expected = include_str!("transitions.txt");
    for (found, expected) in table.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(table.lines().count(), expected.lines().count());
}

fn run(policy: &Policy, start: PaymentState, events: &[(i64, Event)]) -> PaymentState {
    events.iter().fold(start, |life, (at, event)| {
        step(&life, *event, moment(*at), policy).life
    })
}

fn verdict(class: Class, code: i32) -> CodeMeaning {
    CodeMeaning { class, code }
}

const CLAIM: Event = Event::Claimed;
const NOT_FOUND: Event = Event::Answer(CodeMeaning {
    class: Class::NotFound,
    code: 143,
});

#[test]
fn not_found_counts_only_twice_and_after_the_quarantine() {
    let lost = [(0, CLAIM), (1, Event::Lost)];
    type Case<'a> = (&'a str, &'a [(i64, Event)], State);
    let cases: &[Case<'_>] = &[
        ("never asked", &[], State::InDoubt),
        (
            "once after the quarantine",
            &[(70, NOT_FOUND)],
            State::InDoubt,
        ),
        (
            "twice, the first too soon",
            &[(59, NOT_FOUND), (70, NOT_FOUND)],
            State::InDoubt,
        ),
        (
            "twice after the quarantine",
            &[(61, NOT_FOUND), (70, NOT_FOUND)],
            State::Ready,
        ),
        (
            "silence between",
            &[(61, NOT_FOUND), (65, Event::NoAnswer), (70, NOT_FOUND)],
            State::Ready,
        ),
        (
            "another word between",
            &[
                (61, NOT_FOUND),
                (
                    65,
                    Event::Answer(CodeMeaning {
                        class: Class::InDoubt,
                        code: 104,
                    }),
                ),
                (70, NOT_FOUND),
            ],
            State::InDoubt,
        ),
        (
            "known to be a duplicate",
            &[
                (61, NOT_FOUND),
                (
                    62,
                    Event::Answer(CodeMeaning {
                        class: Class::Duplicate,
                        code: 229,
                    }),
                ),
                (70, NOT_FOUND),
                (90, NOT_FOUND),
            ],
            State::InDoubt,
        ),
        (
            "a restart begins the quarantine anew",
            &[
                (61, NOT_FOUND),
                (62, Event::Abandoned),
                (70, NOT_FOUND),
                (90, NOT_FOUND),
            ],
            State::InDoubt,
        ),
    ];
    for (name, events, expected) in cases {
        let life = run(&policy(), run(&policy(), PaymentState::NEW, &lost), events);
        assert_eq!(life.state, *expected, "{name}");
    }
}

#[test]
fn a_duplicate_is_asked_about_at_once_and_never_posted_again() {
    let duplicate = Event::Reply(verdict(Class::Duplicate, 229));
    let life = run(&policy(), PaymentState::NEW, &[(0, CLAIM), (1, duplicate)]);
    assert_eq!(life.action(), Action::Ask(moment(1).now));
    let life = run(
        &policy(),
        life,
        &[(100, NOT_FOUND), (200, NOT_FOUND), (300, NOT_FOUND)],
    );
    assert_eq!(life.state, State::InDoubt);
}

#[test]
fn a_repeat_that_is_refused_or_failed_says_nothing_of_the_first_post() {
    let first = [
        (0, CLAIM),
        (1, Event::Lost),
        (70, NOT_FOUND),
        (80, NOT_FOUND),
    ];
    for (class, code) in [
        (Class::Refused, 232),
        (Class::Failed, 141),
        (Class::Failed, 180),
    ] {
        let no = Event::Reply(verdict(class, code));
        let repeat = [(81, CLAIM), (82, no)];
        let life = run(
            &policy(),
            run(&policy(), PaymentState::NEW, &first),
            &repeat,
        );
        assert_eq!((life.state, life.code), (State::InDoubt, Some(code)));
        assert!(matches!(life.action(), Action::Ask(_)), "{code}");
        let paid = Event::Answer(verdict(Class::Paid, 140));
        assert_eq!(run(&policy(), life, &[(200, paid)]).state, State::Paid);
        let failed = Event::Answer(verdict(Class::Failed, 141));
        let ended = run(&policy(), life, &[(200, failed)]);
        assert_eq!((ended.state, ended.code), (State::Failed, Some(141)));
        let gone = run(&policy(), life, &[(200, NOT_FOUND), (210, NOT_FOUND)]);
        assert_eq!((gone.state, gone.code), (State::Failed, Some(code)));
        // The very first post has nothing before it that could have arrived.
        let only = run(&policy(), PaymentState::NEW, &[(0, CLAIM), (1, no)]);
        assert_eq!((only.state, only.code), (State::Failed, Some(code)));
    }
}

#[test]
fn a_failure_in_a_reply_that_other_words_overtook_is_confirmed_first() {
    let pending = Event::Callback(verdict(Class::Acknowledged, 139));
    let failed = Event::Reply(verdict(Class::Failed, 141));
    let events = [(0, CLAIM), (1, pending), (2, failed)];
    let life = run(&policy(), PaymentState::NEW, &events);
    assert_eq!(life.state, State::Acknowledged);
    assert!(matches!(life.action(), Action::Ask(_)));
}

#[test]
fn a_superseded_payment_ends_where_it_is_ready_and_is_asked_about_where_it_is_not() {
    let never_left = [(0, CLAIM), (1, Event::Unsent), (2, Event::Superseded)];
    let life = run(&policy(), PaymentState::NEW, &never_left);
    assert_eq!((life.state, life.code), (State::Cancelled, None));
    let denied = [
        (0, CLAIM),
        (1, Event::Lost),
        (2, Event::Superseded),
        (70, NOT_FOUND),
        (80, NOT_FOUND),
    ];
    let life = run(&policy(), PaymentState::NEW, &denied);
    assert_eq!(life.state, State::Ready);
    let life = run(&policy(), life, &[(80, Event::Superseded)]);
    assert_eq!((life.state, life.code), (State::Failed, Some(143)));
}

#[test]
fn posts_that_vanish_without_a_trace_are_not_repeated_for_ever() {
    let mut life = PaymentState::NEW;
    for round in 0..10 {
        let t = round * 1000;
        let vanish = [
            (t, CLAIM),
            (t + 1, Event::Lost),
            (t + 100, NOT_FOUND),
            (t + 200, NOT_FOUND),
        ];
        life = run(&policy(), life, &vanish);
    }
    assert_eq!(
        (life.state, life.attempts, life.action()),
        (State::InDoubt, 5, Action::Wait)
    );
}

#[test]
fn waits_follow_the_policy() {
    let acknowledged = Event::Reply(verdict(Class::Acknowledged, 139));
    let delivered = Event::Reply(verdict(Class::Delivered, 148));
    let no_float = Event::Reply(verdict(Class::NoFloat, 230));
    let polling = Policy {
        callbacks: false,
        ..policy()
    };
    let silent = Policy {
        status_query: false,
        ..policy()
    };
    let cases: &[(&str, &Policy, Event, Action)] = &[
        (
            "a loss is asked about later, never at once",
            &policy(),
            Event::Lost,
            Action::Ask(moment(10).now),
        ),
        (
            "a callback has its grace",
            &policy(),
            acknowledged,
            Action::Ask(moment(300).now),
        ),
        (
            "a delivery has a grace of its own",
            &policy(),
            delivered,
            Action::Ask(moment(900).now),
        ),
        (
            "a settlement takes its time without callbacks too",
            &polling,
            delivered,
            Action::Ask(moment(900).now),
        ),
        (
            "a delivery is not asked about where there is no status query",
            &silent,
            delivered,
            Action::Wait,
        ),
        (
            "without callbacks there is no grace",
            &polling,
            acknowledged,
            Action::Ask(moment(10).now),
        ),
        (
            "without a status query there is only waiting",
            &silent,
            Event::Lost,
            Action::Wait,
        ),
        (
            "an unsent post is tried again after a pause",
            &policy(),
            Event::Unsent,
            Action::Post(Some(moment(1).now)),
        ),
        (
            "want of float is the lane's matter",
            &policy(),
            no_float,
            Action::Post(None),
        ),
    ];
    for (name, policy, event, expected) in cases {
        let posting = run(policy, PaymentState::NEW, &[(0, CLAIM)]);
        assert_eq!(
            run(policy, posting, &[(0, *event)]).action(),
            *expected,
            "{name}"
        );
    }
}

#[test]
fn asking_about_a_delivery_ends_a_settlements_time_after_it() {
    const HOUR: i64 = 3600;
    let acknowledged = [
        (0, CLAIM),
        (1, Event::Reply(verdict(Class::Acknowledged, 139))),
    ];
    let delivered = Event::Answer(verdict(Class::Delivered, 148));
    // It reaches the bank twenty hours after its post.
    let life = run(
        &policy(),
        run(&policy(), PaymentState::NEW, &acknowledged),
        &[(20 * HOUR, delivered)],
    );
    assert_eq!(life.action(), Action::Ask(moment(20 * HOUR + 900).now));
    // Each further 148 changes nothing of when that was.
    let still = run(
        &policy(),
        life,
        &[(60 * HOUR, delivered), (91 * HOUR, delivered)],
    );
    assert!(matches!(still.action(), Action::Ask(_)));
    let given_up = run(&policy(), still, &[(92 * HOUR, delivered)]);
    assert_eq!(
        (given_up.state, given_up.action()),
        (State::Delivered, Action::Wait)
    );
    // Its settlement is heard all the same.
    let paid = Event::Callback(verdict(Class::Paid, 140));
    assert_eq!(
        run(&policy(), given_up, &[(100 * HOUR, paid)]).state,
        State::Paid
    );
}

#[test]
fn a_confirmed_settlement_waits_for_the_query() {
    let confirmed = Policy {
        settle_on: SettleOn::Confirmed,
        ..policy()
    };
    let callback = Event::Callback(verdict(Class::Paid, 140));
    let life = run(&confirmed, PaymentState::NEW, &[(0, CLAIM), (1, callback)]);
    assert_eq!(
        (life.state, life.action()),
        (State::Acknowledged, Action::Ask(moment(1).now))
    );
    let life = run(
        &confirmed,
        life,
        &[(2, Event::Answer(verdict(Class::Paid, 140)))],
    );
    assert_eq!(life.state, State::Paid);
}

#[test]
fn codes_have_the_classes_of_the_interface() {
    let table = CodeTable::default();
    for (code, post, status) in [
        (139, Class::Acknowledged, Class::Acknowledged),
        (148, Class::Delivered, Class::Delivered),
        (140, Class::Paid, Class::Paid),
        (141, Class::Failed, Class::Failed),
        (143, Class::InDoubt, Class::NotFound),
        (178, Class::InDoubt, Class::Acknowledged),
        (216, Class::InDoubt, Class::Failed),
        (217, Class::InDoubt, Class::Paid),
        (219, Class::InDoubt, Class::Acknowledged),
        (229, Class::Duplicate, Class::InDoubt),
        (230, Class::NoFloat, Class::Failed),
        (104, Class::InDoubt, Class::InDoubt),
        (174, Class::InDoubt, Class::InDoubt),
        (0, Class::InDoubt, Class::InDoubt),
    ] {
        assert_eq!(
            (table.of_post(code), table.of_status(code)),
            (post, status),
            "{code}"
        );
    }
    for code in [106, 109, 110, 111, 115, 120, 146, 167, 231, 232] {
        assert_eq!(
            (table.of_post(code), table.of_status(code)),
            (Class::Refused, Class::Failed)
        );
    }
}

proptest! {
    /// Posts leave `ready` only, ended payments stay ended, and whoever is known is never posted again.
    #[test]
    fn no_sequence_of_events_breaks_an_invariant(
        picks in prop::collection::vec((0_usize..39, 0_i64..200), 0..40)
    ) {
        let events = every_event();
        let (mut life, mut clock) = (PaymentState::NEW, 0);
        for (pick, pause) in picks {
            clock += pause;
            let event = events[pick].1;
            let after = step(&life, event, moment(clock), &policy()).life;
            if after.state == State::Posting && life.state != State::Posting {
                prop_assert_eq!((life.state, event), (State::Ready, Event::Claimed));
                prop_assert_eq!(after.attempts, life.attempts + 1);
            }
            if life.state.is_finished() {
                let decided = matches!(event, Event::DecidedPaid | Event::DecidedFailed);
                let conflict = after.state == State::Conflict;
                prop_assert!(after.state == life.state || conflict || decided && life.state == State::Conflict);
            }
            if life.known && life.state == State::InDoubt {
                prop_assert_ne!(after.state, State::Ready);
            }
            if after.state == State::Ready && life.state == State::InDoubt {
                prop_assert_eq!(event, NOT_FOUND_900);
                prop_assert_eq!(life.not_found, 1);
            }
            if after.state == State::Failed && life.state != State::Failed && event != Event::DecidedFailed {
                prop_assert!(after.code.is_some());
            }
            life = after;
        }
    }
}

const NOT_FOUND_900: Event = Event::Answer(CodeMeaning {
    class: Class::NotFound,
    code: 900,
});

#[test]
fn a_duplicate_at_the_first_post_is_somebody_elses_until_it_is_recognised() {
    let duplicate = Event::Reply(verdict(Class::Duplicate, 229));
    let paid = Event::Answer(verdict(Class::Paid, 140));
    let dry = Event::Reply(verdict(Class::NoFloat, 230));
    let first = run(&policy(), PaymentState::NEW, &[(0, CLAIM), (1, duplicate)]);
    assert_eq!((first.state, first.taken), (State::InDoubt, true));
    assert_eq!(first.due_at, Some(moment(1).now), "asked about at once");
    let after = |more: &[(i64, Event)]| run(&policy(), first, more);
    for (more, state, code) in [
        (&[(2, paid)][..], State::Conflict, Some(229)),
        (
            &[(2, Event::Answer(verdict(Class::Failed, 141)))],
            State::Conflict,
            Some(229),
        ),
        (&[(2, Event::NotOurs)], State::Conflict, Some(229)),
        (
            &[(2, Event::Callback(verdict(Class::Paid, 140)))],
            State::InDoubt,
            Some(229),
        ),
        (
            &[(2, NOT_FOUND), (100, NOT_FOUND), (200, NOT_FOUND)],
            State::InDoubt,
            Some(229),
        ),
        (&[(2, Event::Recognised), (2, paid)], State::Paid, Some(140)),
        (
            &[(2, Event::Recognised), (100, NOT_FOUND), (200, NOT_FOUND)],
            State::InDoubt,
            None,
        ),
        (
            &[(2, paid), (3, Event::Recognised), (3, paid)],
            State::Conflict,
            Some(229),
        ),
    ] {
        let life = after(more);
        assert_eq!((life.state, life.code), (state, code), "{more:?}");
    }
    // A post that was not the first one to arrive, or may not have been, is our own duplicate.
    for before in [
        &[
            (0, CLAIM),
            (1, Event::Lost),
            (100, NOT_FOUND),
            (200, NOT_FOUND),
            (201, CLAIM),
        ][..],
        &[(0, CLAIM), (1, dry), (2, CLAIM)],
    ] {
        let life = run(&policy(), PaymentState::NEW, before);
        assert_eq!(life.state, State::Posting, "{before:?}");
        let life = run(&policy(), life, &[(300, duplicate), (301, paid)]);
        assert_eq!((life.state, life.taken), (State::Paid, false), "{before:?}");
    }
    let presumed = fold(
        &PaymentState::NEW,
        RecordedEvent::PresumedPosted,
        moment(0).now,
        &policy(),
    );
    let again = [
        (100, NOT_FOUND),
        (200, NOT_FOUND),
        (201, CLAIM),
        (202, duplicate),
        (203, paid),
    ];
    assert_eq!(run(&policy(), presumed, &again).state, State::Paid);
    // An order to presume gives what was left to a person back to the asking.
    let left = after(&[(2, paid)]);
    let asked = fold(
        &left,
        RecordedEvent::PresumedPosted,
        moment(9).now,
        &policy(),
    );
    assert_eq!(
        (asked.state, asked.taken, asked.code),
        (State::InDoubt, false, None)
    );
    // What never left is none: 132 and a connection that never came.
    for unsent in [Event::Unsent, Event::Unauthorised] {
        let life = run(
            &policy(),
            PaymentState::NEW,
            &[(0, CLAIM), (1, unsent), (2, CLAIM), (3, duplicate)],
        );
        assert!(life.taken, "{unsent:?}");
    }
}
