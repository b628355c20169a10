//! Runs whose payments wait for a limit.

use super::*;

fn exposed() -> Due {
    Due {
        exposed: true,
        ..NOTHING
    }
}

fn claims_now(core: &mut Core, now: Timestamp) -> bool {
    let effects = core.poll(now);
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Claim(_)))
}

#[test]
fn what_waits_until_less_is_under_way_goes_on_when_something_ends_and_not_before() {
    use State::{Acknowledged, InDoubt, Paid, Posting, Ready};
    for (from, to, goes_on) in [
        (Acknowledged, Paid, true),
        (InDoubt, State::Failed, true),
        // It was not sent.
        (Posting, Ready, true),
        (Posting, InDoubt, false),
        (InDoubt, Acknowledged, false),
        (Acknowledged, Acknowledged, false),
    ] {
        let mut core = begun(limits(), Vec::new(), NOTHING);
        let standing = standing(&[(Ready, 5), (Acknowledged, 2)], &[]);
        settle(&mut core, &standing, exposed(), at(1_000));
        assert!(!claims_now(&mut core, at(1_500)), "nothing has ended");
        let due_at = (to == Acknowledged || to == InDoubt).then(|| at(500_000));
        core.tell(
            EngineInput::Transition(vec![moved(1, from, to, due_at)]),
            at(2_000),
        );
        assert_eq!(claims_now(&mut core, at(2_000)), goes_on, "{from:?} {to:?}");
    }
}

#[test]
fn a_run_ends_when_nothing_ends_that_is_under_way_and_waits_while_something_may() {
    use State::{Acknowledged, Conflict, Ready};
    let poll_only = || Limits {
        callbacks: false,
        ..limits()
    };
    let no_wait = || Limits {
        no_wait: true,
        ..limits()
    };
    let asks = Due {
        ask: Some(at(90_000)),
        ..exposed()
    };
    let limited = Due {
        limited: Some(at(80_000_000)),
        ..NOTHING
    };
    let under_way = [(Ready, 5), (Acknowledged, 2)];
    for (limits, states, due, ending) in [
        (limits(), &under_way[..], exposed(), None),
        (poll_only(), &under_way, asks, None),
        (poll_only(), &under_way, exposed(), Some(Ending::Exposed)),
        (no_wait(), &under_way, asks, Some(Ending::Exposed)),
        // Another batch, or a conflict, holds the room.
        (
            limits(),
            &[(Ready, 5), (Conflict, 1)],
            exposed(),
            Some(Ending::Exposed),
        ),
        (limits(), &[(Ready, 5)], limited, Some(Ending::Limited)),
        (limits(), &under_way, limited, None),
        (no_wait(), &under_way, limited, Some(Ending::Limited)),
    ] {
        let mut core = begun(limits, Vec::new(), NOTHING);
        let standing = standing(states, &[]);
        settle(&mut core, &standing, due, at(1_000));
        assert_eq!(core.ended(), ending.as_ref(), "{states:?} {due:?}");
    }
}
