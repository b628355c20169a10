//! What lies beside a journal: the time of its mark, its lock file, and the orders that these count.

use super::*;
use crate::domain::{BillId, Epoch, PaymentId};

fn stamp(named: u64, changed: u64) -> Stamp {
    Stamp {
        named,
        changed,
        started: None,
        begun: None,
    }
}

#[test]
fn an_older_journal_that_comes_back_with_its_mark_shows_by_its_time_or_by_the_lock_file() {
    use Cause as C;
    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;
    let written = 100 * SECOND;
    let seen = Witness::of(&marked());
    assert_eq!(
        (seen.epoch, seen.evidence, seen.orders),
        (Epoch::new(3), EvidenceId::new(20), 2)
    );
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
    let begun = |changed: u64, begun: u64| {
        Some(Stamp {
            begun: Some(begun),
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
            "killed before its bytes were taken",
            begun(written + 7 * SECOND, written + 7 * SECOND),
            fits,
            Verdict::Current,
        ),
        (
            "the same, on a busy machine",
            begun(written + 17 * SECOND, written + 7 * SECOND),
            fits,
            Verdict::Current,
        ),
        (
            "by a coarser clock then",
            begun(written + 7 * SECOND - 9 * MS, written + 7 * SECOND),
            fits,
            Verdict::Current,
        ),
        (
            "put back before a write that was cut off",
            begun(written + 6 * SECOND, written + 7 * SECOND),
            fits,
            Verdict::Copy(C::TouchedMark),
        ),
        (
            "put back long after a write that was cut off",
            begun(written + 17 * SECOND + MS, written + 7 * SECOND),
            fits,
            Verdict::Copy(C::TouchedMark),
        ),
        (
            "cut off, and the lock file is ahead",
            begun(written + 7 * SECOND, written + 7 * SECOND),
            ahead(|seen| seen.evidence = EvidenceId::new(21)),
            Verdict::Behind(C::MissingEvidence),
        ),
        (
            "a later run",
            None,
            ahead(|seen| seen.epoch = Epoch::new(4)),
            Verdict::Behind(C::LaterRun),
        ),
        (
            "later evidence",
            None,
            ahead(|seen| seen.evidence = EvidenceId::new(21)),
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
            ahead(|seen| {
                (seen.epoch, seen.evidence, seen.orders) = (Epoch::new(2), EvidenceId::new(5), 0)
            }),
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
            ahead(|seen| seen.epoch = Epoch::new(9)),
            Verdict::Behind(C::LaterRun),
        ),
    ];
    let wrong = || -> Vec<&str> {
        let is_wrong = |(_, stamp, witness, expected): &&(_, _, _, Verdict)| {
            let traces = Traces {
                mark: Mark::Read(marked()),
                stamp: *stamp,
                witness: *witness,
                payers: Payers::NONE,
            };
            judge(&traces, &found()) != *expected
        };
        table
            .iter()
            .filter(is_wrong)
            .map(|(case, ..)| *case)
            .collect()
    };
    assert_eq!(wrong(), Vec::<&str>::new());
    let _awake = crate::seeded_bugs::SeededBug::MarkTimeIgnored.wake();
    assert!(wrong().len() > 3, "the planted mistake is found");
    // Journal and mark were removed, and another one is made.
    let traces = Traces {
        witness: Some(seen),
        ..Traces::NONE
    };
    let new = Found {
        journal: OTHER,
        was_marked: false,
        epoch: Epoch::new(0),
        evidence: EvidenceId::NONE,
        orders: 0,
        heads: Vec::new(),
        ..found()
    };
    assert_eq!(judge(&traces, &new), Verdict::Copy(C::OtherJournal));
    assert_eq!(orders_lost(&traces, &new).count, 2);
}

#[test]
fn orders_that_a_journal_does_not_know_hold_its_posts_back() {
    let marked_with = |journal, orders| {
        Mark::Read(Marked {
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
            payers: Payers::NONE,
        };
        assert_eq!(orders_lost(&traces, &found()).count, lost, "{case}");
        if lost > 0 {
            assert!(judge(&traces, &found()).cause().is_some(), "{case}");
        }
    }
    for (case, mark, brought_to) in [
        ("all known", marked_with(OURS, 2), None),
        ("one was not marked any more", marked_with(OURS, 1), Some(2)),
        ("another journal's", marked_with(OTHER, 0), None),
        ("none", Mark::Missing, None),
    ] {
        let traces = Traces {
            mark,
            ..Traces::NONE
        };
        let newer = with_orders(&traces, &found());
        assert_eq!(newer.map(|newer| newer.orders), brought_to, "{case}");
    }
    let shown = Bound {
        instruction: PaymentId::new(7),
        bill: BillId::new(2),
    };
    assert_eq!(held_back(shown, OrdersLost::default()), shown);
    for (count, unknown) in [(1, false), (0, true)] {
        let lost = OrdersLost { count, unknown };
        assert!(!held_back(Bound::EVERYTHING, lost).covers(PaymentId::new(1), None));
    }
    for (act, kept) in [
        ("cancel", true),
        ("resolve", true),
        ("account-moved", true),
        ("recover --nothing-ran-since", true),
        ("retry", true),
        ("correct", true),
        ("load --allow-repeats", true),
        ("gateway-moved", true),
        ("run", false),
        ("load", false),
        ("resume-lane", false),
    ] {
        assert_eq!(must_not_be_forgotten(act), kept, "{act}");
    }
}

#[test]
fn what_became_of_a_presumed_payment_is_told_apart() {
    let doubt = doubt(&PaymentState::NEW);
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
    let known = PaymentState {
        known: true,
        ..doubt
    };
    for (case, stands, since, expected) in [
        ("nobody asked", doubt, no, Became::Unasked),
        ("unknown there", doubt, answered, Became::NotFound),
        (
            "unknown there twice",
            PaymentState::NEW,
            answered,
            Became::NotFound,
        ),
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
        ("released", PaymentState::NEW, released, Became::Decided),
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

/// What lies beside a journal, and whether it tells the newest of its past.
#[test]
fn what_may_have_been_put_back_with_a_journal_tells_neither_orders_nor_who_posted() {
    let (acme, other) = (Payer::of("g", "acme"), Payer::of("g", "other"));
    let payers_of = |batches: &[(&str, &Payer)]| {
        let mut payers = Payers::NONE;
        for (batch, payer) in batches {
            payers.take(batch, payer);
        }
        payers
    };
    let as_written = Some(Stamp {
        named: 7,
        changed: 7,
        started: None,
        begun: None,
    });
    let touched = Some(Stamp {
        named: 7,
        changed: 9_000_000_000,
        started: None,
        begun: None,
    });
    let mark = |journal| {
        Mark::Read(Marked {
            journal,
            payers: payers_of(&[("b", &acme)]),
            ..marked()
        })
    };
    let same = Some(Witness::of(&marked()));
    let ahead = Some(Witness {
        epoch: Epoch::new(4),
        ..Witness::of(&marked())
    });
    let behind = Found {
        epoch: Epoch::new(2),
        ..found()
    };
    let backup = Found {
        is_backup: true,
        ..behind.clone()
    };
    let new = Found {
        journal: OTHER,
        was_marked: false,
        epoch: Epoch::new(0),
        evidence: EvidenceId::NONE,
        orders: 0,
        heads: Vec::new(),
        ..found()
    };
    let moved_here = Found {
        journal: OTHER,
        ..found()
    };
    let (by_mark, by_lock) = (Some(&acme), Some(&other));
    for (case, mark, stamp, witness, found, expected) in [
        (
            "an older file put back",
            mark(OURS),
            as_written,
            same,
            &behind,
            by_mark,
        ),
        (
            "a backup put back",
            mark(OURS),
            as_written,
            same,
            &backup,
            by_mark,
        ),
        (
            "with its mark, and not the lock file",
            mark(OURS),
            touched,
            ahead,
            &behind,
            by_lock,
        ),
        (
            "with all that lay beside it",
            mark(OURS),
            touched,
            same,
            &found(),
            None,
        ),
        (
            "with its mark, and no lock file",
            mark(OURS),
            touched,
            None,
            &found(),
            None,
        ),
        ("a clock of its own", mark(OURS), None, same, &behind, None),
        ("made anew", mark(OURS), as_written, same, &new, by_mark),
        (
            "another one moved here",
            mark(OURS),
            as_written,
            same,
            &moved_here,
            None,
        ),
        // The copy was put back before, and has had another name here since.
        (
            "put back once more",
            Mark::Read(Marked {
                payers: {
                    let mut payers = payers_of(&[("b", &acme)]);
                    payers.was_called(OURS);
                    payers
                },
                journal: OTHER,
                ..marked()
            }),
            as_written,
            same,
            &found(),
            Some(&acme),
        ),
    ] {
        let traces = Traces {
            mark,
            stamp,
            witness,
            payers: payers_of(&[("b", &other)]),
        };
        assert!(judge(&traces, found).cause().is_some(), "{case}");
        let heard = told(&traces, found, &[]);
        assert_eq!(
            heard.batches.first().map(|(_, payer)| payer),
            expected,
            "{case}"
        );
        // It was the only one in this place, so that others were posted from there as well.
        assert_eq!(heard.others, expected.cloned().map(Posted::By), "{case}");
        let unlike = told(&traces, found, &[Payer::of("g2", "acme")]);
        assert_eq!(unlike.others, None, "{case}");
        assert_eq!(
            orders_lost(&traces, found).unknown,
            expected.is_none(),
            "{case}"
        );
        let kept = payers_kept(&traces, found);
        assert_eq!(kept.only(), expected, "{case}");
        let mut later = kept;
        later.take("c", &acme);
        assert_eq!(later.only().is_some(), expected == by_mark, "{case}");
    }
    for (case, mark, witness, found, expected) in [
        ("no mark", Mark::Missing, ahead, &behind, Some(&other)),
        (
            "a torn mark",
            Mark::Unreadable,
            ahead,
            &behind,
            Some(&other),
        ),
        (
            "no mark, and made anew",
            Mark::Missing,
            ahead,
            &new,
            Some(&other),
        ),
        ("neither is newer", Mark::Missing, same, &found(), None),
        ("nothing beside it", Mark::Missing, None, &behind, None),
        (
            "of another journal",
            Mark::Missing,
            ahead,
            &moved_here,
            None,
        ),
    ] {
        let traces = Traces {
            mark,
            stamp: None,
            witness,
            payers: payers_of(&[("b", &other)]),
        };
        let heard = told(&traces, found, &[]);
        let by_lock = heard.batches.first().map(|(_, payer)| payer);
        assert_eq!(by_lock, expected, "{case}");
        // Whatever else was posted, or ordered, it may not know.
        assert_eq!(heard.others, None, "{case}");
        assert!(orders_lost(&traces, found).unknown, "{case}");
        assert_eq!(payers_kept(&traces, found), Payers::unknown(), "{case}");
    }
    let unused = Traces {
        mark: Mark::Read(marked()),
        stamp: as_written,
        ..Traces::NONE
    };
    assert_eq!(told(&unused, &behind, &[]).others, Some(Posted::ByNobody));
    assert_eq!(
        told(&unused, &behind, std::slice::from_ref(&acme)).others,
        None
    );
    let blank = Found {
        was_marked: false,
        ..new
    };
    let mut kept = payers_kept(&Traces::NONE, &blank);
    kept.take("c", &acme);
    assert_eq!(kept.only(), Some(&acme), "a journal that was just made");
}
