//! Journals on servers, which several hosts share.

use super::*;

fn origin() -> Origin {
    Origin {
        system: 7,
        timeline: 2,
        database: 5,
        table: 9,
        waits: false,
    }
}

fn on_server(turn: i64, known: Option<Origin>, now: Origin) -> Found {
    Found {
        born: None,
        server: Some(OnServer {
            now: ServerPosition { origin: now, turn },
            known,
        }),
        ..found()
    }
}

fn seen(turn: i64) -> Mark {
    Mark::Read(Marked {
        born: None,
        server: Some(ServerPosition {
            origin: origin(),
            turn,
        }),
        ..marked()
    })
}

#[test]
fn what_one_host_has_posted_says_nothing_of_the_accounts_of_others() {
    let acme = Payer::of("g", "acme");
    let mut payers = Payers::NONE;
    payers.take("b", &acme);
    let of_host = |payers: &Payers| Traces {
        mark: match seen(9) {
            Mark::Read(marked) => Mark::Read(Marked {
                payers: payers.clone(),
                ..marked
            }),
            other => other,
        },
        stamp: Some(Stamp {
            named: 0,
            changed: 0,
            started: None,
            begun: None,
        }),
        ..Traces::NONE
    };
    let of_file = |others| (Some(others), None);
    for (payers, (in_a_file, on_a_server)) in [
        (payers, of_file(Posted::By(acme))),
        (Payers::NONE, of_file(Posted::ByNobody)),
    ] {
        let traces = of_host(&payers);
        let heard = told(&traces, &on_server(3, Some(origin()), origin()), &[]);
        assert_eq!(heard.others, on_a_server);
        assert_eq!(heard.batches.is_empty(), payers.is_empty());
        assert_eq!(told(&traces, &found(), &[]).others, in_a_file);
    }
}

#[test]
fn a_copy_of_a_server_follows_another_one_or_does_not() {
    use Succession as S;
    let with = |change: fn(&mut Origin)| {
        let mut changed = origin();
        change(&mut changed);
        changed
    };
    let waited = with(|o| o.waits = true);
    for (before, now, expected) in [
        (origin(), origin(), S::Same),
        (origin(), waited, S::Same),
        (origin(), with(|o| o.timeline = 3), S::Promoted),
        (waited, with(|o| o.timeline = 3), S::Waited),
        (waited, with(|o| o.timeline = 4), S::Promoted),
        (waited, with(|o| o.timeline = 1), S::Overtaken),
        (waited, with(|o| o.system = 8), S::Other),
        (waited, with(|o| (o.system, o.timeline) = (8, 1)), S::Other),
        (waited, with(|o| o.database = 6), S::Other),
        (waited, with(|o| o.table = 10), S::Other),
    ] {
        assert_eq!(now.after(&before), expected, "{before} -> {now}");
    }
    for (known, now, is_news) in [
        (origin(), origin(), false),
        (waited, waited, false),
        (origin(), waited, false),
        (waited, origin(), true),
        (origin(), with(|o| o.timeline = 3), true),
        (waited, with(|o| o.table = 10), true),
    ] {
        assert_eq!(now.is_news_after(&known), is_news, "{known} -> {now}");
    }
    assert!(origin().is_beside(&with(|o| (o.timeline, o.table) = (3, 4))));
    assert!(!origin().is_beside(&with(|o| o.database = 6)));
    for origin in [origin(), waited, with(|o| o.system = i64::MIN)] {
        assert_eq!(Origin::read(&origin.to_string()), Some(origin));
    }
    for text in ["", "7 2 5 9", "7 2 5 9 1 1", "7 2 5 x 1"] {
        assert_eq!(Origin::read(text), None, "{text}");
    }
}

#[test]
fn a_journal_on_a_server_is_judged_by_its_host_and_by_its_server() {
    use Cause as C;
    let own = Some(origin());
    let promoted = Origin {
        timeline: 3,
        ..origin()
    };
    let dumped = Origin {
        table: 10,
        ..origin()
    };
    let behind = |cause| Verdict::Behind(cause);
    let table = [
        (
            "as it was",
            seen(40),
            on_server(40, own, origin()),
            Verdict::Current,
        ),
        (
            "further",
            seen(40),
            on_server(41, own, origin()),
            Verdict::Current,
        ),
        (
            "it lacks a transaction that moved nothing else",
            seen(40),
            on_server(39, own, origin()),
            behind(C::OlderDatabase),
        ),
        (
            "a host that comes for the first time",
            Mark::Missing,
            on_server(40, own, origin()),
            Verdict::Fresh,
        ),
        (
            "the same, after a promotion that nothing had waited for",
            Mark::Missing,
            on_server(40, own, promoted),
            behind(C::Promoted),
        ),
        (
            "the same, out of a dump",
            Mark::Missing,
            on_server(40, own, dumped),
            Verdict::Copy(C::OtherDatabase),
        ),
        (
            "a promotion that commits had waited for",
            seen(40),
            on_server(
                41,
                Some(Origin {
                    waits: true,
                    ..origin()
                }),
                promoted,
            ),
            Verdict::Current,
        ),
        (
            "the same, and the host had seen more",
            seen(42),
            on_server(
                41,
                Some(Origin {
                    waits: true,
                    ..origin()
                }),
                promoted,
            ),
            behind(C::OlderDatabase),
        ),
        (
            "it was never opened to be written",
            Mark::Missing,
            on_server(0, None, origin()),
            Verdict::Fresh,
        ),
        (
            "a mark that nobody can read",
            Mark::Unreadable,
            on_server(40, own, origin()),
            Verdict::Copy(C::UnreadableMark),
        ),
    ];
    for (case, mark, found, expected) in table {
        let traces = Traces {
            mark,
            ..Traces::NONE
        };
        assert_eq!(judge(&traces, &found), expected, "{case}");
    }
}

#[test]
fn a_mark_that_was_moved_says_nothing_of_a_server() {
    let touched = Some(Stamp {
        named: 0,
        changed: 1_000_000_000_000,
        started: None,
        begun: None,
    });
    let traces = Traces {
        mark: seen(40),
        stamp: touched,
        ..Traces::NONE
    };
    let on_server = on_server(40, Some(origin()), origin());
    assert_eq!(judge(&traces, &on_server), Verdict::Current);
    assert_ne!(judge(&traces, &found()), Verdict::Current);
}

#[test]
fn a_host_that_saw_the_journal_under_an_earlier_name_has_seen_this_one() {
    let traces = Traces {
        mark: seen(40),
        ..Traces::NONE
    };
    let found = Found {
        journal: OTHER,
        ..on_server(40, Some(origin()), origin())
    };
    assert_eq!(judge(&traces, &found), Verdict::Copy(Cause::OtherJournal));
    let ours = traces.clone().renamed(&[OURS], OTHER);
    assert_eq!(judge(&ours, &found), Verdict::Current);
    let others = traces.renamed(&[[3; 16]], OTHER);
    assert_eq!(judge(&others, &found), Verdict::Copy(Cause::OtherJournal));
}

#[test]
fn a_mark_follows_the_server() {
    let at = |turn| ServerPosition {
        origin: origin(),
        turn,
    };
    let moved = Marked {
        server: Some(at(41)),
        ..marked()
    };
    let after = |before: Mark| advance(&before, &moved).unwrap().server;
    assert_eq!(after(seen(40)), Some(at(41)));
    // Processes of a host write one after the other, and not in the order of their commits.
    assert_eq!(after(seen(42)), Some(at(42)));
    assert_eq!(after(Mark::Missing), Some(at(41)));
}
