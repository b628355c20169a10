//! What lies beside a journal: the time of its mark, its lock file, and the orders that these count.

use super::*;

fn stamp(named: u64, changed: u64) -> Stamp {
    Stamp {
        named,
        changed,
        started: None,
    }
}

#[test]
fn an_older_journal_that_comes_back_with_its_mark_shows_by_its_time_or_by_the_lock_file() {
    use Cause as C;
    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;
    let written = 100 * SECOND;
    let seen = Witness::of(&marked());
    assert_eq!((seen.epoch, seen.evidence, seen.orders), (3, 20, 2));
    let fits = Some(seen);
    let ahead = |change: fn(&mut Witness)| {
        let mut seen = Witness::of(&marked());
        change(&mut seen);
        Some(seen)
    };
    let at = |changed: u64| Some(stamp(written, changed));
    let started = |changed: u64, started: u64| {
        Some(Stamp {
            started: Some(started),
            ..stamp(written, changed)
        })
    };
    let table: Vec<(&str, Option<Stamp>, Option<Witness>, Verdict)> = vec![
        ("as written", at(written + 9 * MS), fits, Verdict::Current),
        (
            "by a coarser clock",
            at(written - 9 * MS),
            fits,
            Verdict::Current,
        ),
        ("no lock file", at(written), None, Verdict::Current),
        (
            "a file system with a clock of its own",
            None,
            fits,
            Verdict::Current,
        ),
        (
            "copied over, moved, chmod",
            at(written + 51 * MS),
            fits,
            Verdict::Copy(C::TouchedMark),
        ),
        (
            "by a clock that was set back",
            at(written - SECOND),
            fits,
            Verdict::Copy(C::TouchedMark),
        ),
        (
            "what was written last was lost with the power",
            started(written + 30 * SECOND, written + 90 * SECOND),
            fits,
            Verdict::Current,
        ),
        (
            "put back before the machine was started again",
            started(written + 61 * SECOND, written + 90 * SECOND),
            fits,
            Verdict::Copy(C::TouchedMark),
        ),
        (
            "put back since the machine was started",
            started(written + 30 * SECOND, written - SECOND),
            fits,
            Verdict::Copy(C::TouchedMark),
        ),
        (
            "a later run",
            None,
            ahead(|seen| seen.epoch = 4),
            Verdict::Behind(C::LaterRun),
        ),
        (
            "later evidence",
            None,
            ahead(|seen| seen.evidence = 21),
            Verdict::Behind(C::MissingEvidence),
        ),
        (
            "a later order",
            None,
            ahead(|seen| seen.orders = 3),
            Verdict::Behind(C::MissingEvidence),
        ),
        (
            "a word that was not written, or lost with the power",
            None,
            ahead(|seen| (seen.epoch, seen.evidence, seen.orders) = (2, 5, 0)),
            Verdict::Current,
        ),
        (
            "another journal ran here meanwhile",
            at(written),
            ahead(|seen| seen.journal = OTHER),
            Verdict::Copy(C::OtherJournal),
        ),
        (
            "that it is behind says more",
            at(written + SECOND),
            ahead(|seen| seen.epoch = 9),
            Verdict::Behind(C::LaterRun),
        ),
    ];
    for (case, stamp, witness, expected) in table {
        let traces = Traces {
            mark: Mark::Written(marked()),
            stamp,
            witness,
        };
        assert_eq!(judge(&traces, &found()), expected, "{case}");
    }
    // Journal and mark were removed, and another one is made.
    let traces = Traces {
        witness: Some(seen),
        ..Traces::NONE
    };
    let new = Found {
        journal: OTHER,
        was_marked: false,
        epoch: 0,
        evidence: 0,
        orders: 0,
        heads: Vec::new(),
        ..found()
    };
    assert_eq!(judge(&traces, &new), Verdict::Copy(C::OtherJournal));
    assert_eq!(orders_lost(&traces, &new), 2);
}

#[test]
fn orders_that_a_journal_does_not_know_hold_its_posts_back() {
    let marked_with = |journal, orders| {
        Mark::Written(Marked {
            journal,
            orders,
            ..marked()
        })
    };
    let witness = |journal, orders| {
        Some(Witness {
            journal,
            orders,
            ..Witness::of(&marked())
        })
    };
    for (case, mark, witness, lost) in [
        ("all known", marked_with(OURS, 2), witness(OURS, 2), 0),
        ("the mark is behind", marked_with(OURS, 0), None, 0),
        ("one lost", marked_with(OURS, 3), None, 1),
        (
            "the mark put back as well",
            marked_with(OURS, 2),
            witness(OURS, 5),
            3,
        ),
        ("no mark", Mark::Missing, witness(OURS, 3), 1),
        (
            "of another journal each may be lost",
            marked_with(OTHER, 2),
            None,
            2,
        ),
        (
            "nobody ordered anything there",
            marked_with(OTHER, 0),
            None,
            0,
        ),
        ("nothing to compare", Mark::Unreadable, None, 0),
    ] {
        let traces = Traces {
            mark,
            stamp: None,
            witness,
        };
        assert_eq!(orders_lost(&traces, &found()), lost, "{case}");
        if lost > 0 {
            assert!(judge(&traces, &found()).cause().is_some(), "{case}");
        }
    }
    let shown = Bound {
        instruction: 7,
        bill: 2,
    };
    assert_eq!(held_back(shown, 0), shown);
    assert!(!held_back(Bound::EVERYTHING, 1).covers(1, None));
    for (act, kept) in [
        ("cancel", true),
        ("resolve", true),
        ("account-moved", true),
        ("recover --nothing-ran-since", true),
        ("retry", false),
        ("run", false),
        ("load", false),
        ("resume-lane", false),
    ] {
        assert_eq!(must_not_be_forgotten(act), kept, "{act}");
    }
}

#[test]
fn what_became_of_a_presumed_payment_is_told_apart() {
    let doubt = doubt(&Life::NEW);
    let no = Since::default();
    let answered = Since {
        answered: true,
        ..no
    };
    let posted = Since {
        posted: true,
        ..answered
    };
    let decided = Since {
        decided: true,
        ..no
    };
    let released = Since {
        released: true,
        ..no
    };
    let known = Life {
        known: true,
        ..doubt
    };
    for (case, stands, since, expected) in [
        ("nobody asked", doubt, no, Became::Unasked),
        ("unknown there", doubt, answered, Became::NotFound),
        ("unknown there twice", Life::NEW, answered, Became::NotFound),
        ("known there", known, answered, Became::Known),
        ("paid before", life(State::Paid), answered, Became::Known),
        (
            "posted since, and paid",
            life(State::Paid),
            posted,
            Became::Posted,
        ),
        ("posted since, and lost", doubt, posted, Became::Posted),
        ("decided", life(State::Paid), decided, Became::Decided),
        (
            "decided, and contradicted",
            life(State::Conflict),
            decided,
            Became::Known,
        ),
        (
            "withdrawn",
            life(State::Cancelled),
            decided,
            Became::Decided,
        ),
        ("released", Life::NEW, released, Became::Decided),
        (
            "released, and posted",
            life(State::Acknowledged),
            Since {
                posted: true,
                ..released
            },
            Became::Posted,
        ),
        (
            "released, and presumed again",
            doubt,
            released,
            Became::Unasked,
        ),
    ] {
        assert_eq!(became(&stands, since), expected, "{case}");
    }
}
