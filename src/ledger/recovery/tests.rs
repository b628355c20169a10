mod given;
mod ordered;
mod server;
mod traces;

use super::*;
use crate::domain::{BatchId, Epoch, EvidenceId, Timestamp};
use crate::ledger::confirmation::Bound;
use crate::lifecycle::{PaymentState, Policy, RecordedEvent, State, fold};

const OURS: JournalId = [1; 16];
const OTHER: JournalId = [2; 16];

fn position(batch_id: i64, evidence_id: i64, head: u8) -> Position {
    Position {
        batch_id: BatchId::new(batch_id),
        length: evidence_id.unsigned_abs(),
        evidence_id: EvidenceId::new(evidence_id),
        head: [head; 32],
    }
}

fn marked() -> Marked {
    Marked {
        journal: OURS,
        born: Some(100),
        epoch: Epoch::new(3),
        orders: 2,
        given: Vec::new(),
        positions: vec![position(1, 10, 7), position(2, 20, 8)],
        payers: Payers::NONE,
        server: None,
        quarantine: 120_000,
    }
}

fn found() -> Found {
    Found {
        journal: OURS,
        born: Some(100),
        was_marked: true,
        is_backup: false,
        epoch: Epoch::new(3),
        evidence: EvidenceId::new(20),
        orders: 2,
        given: Vec::new(),
        heads: vec![Some([7; 32]), Some([8; 32])],
        server: None,
    }
}

#[test]
fn a_journal_is_what_its_place_has_seen_last_or_may_have_missed_something() {
    use Cause as C;
    let written = |change: fn(&mut Marked)| {
        let mut marked = marked();
        change(&mut marked);
        Mark::Read(marked)
    };
    let same = || written(|_| {});
    let with = |change: fn(&mut Found)| {
        let mut found = found();
        change(&mut found);
        found
    };
    let none = |found: &mut Found| found.heads.clear();
    let table: Vec<(&str, Mark, Found, Verdict)> = vec![
        ("the same", same(), found(), Verdict::Current),
        (
            "a journal further than its mark: killed between commit and mark, or the mark lost with the power",
            written(|m| m.epoch = Epoch::new(2)),
            found(),
            Verdict::Current,
        ),
        (
            "a mark that knows no batch",
            written(|m| m.positions.clear()),
            with(none),
            Verdict::Current,
        ),
        (
            "a file system that tells no birth",
            written(|m| m.born = None),
            found(),
            Verdict::Current,
        ),
        (
            "another file system that tells none",
            same(),
            with(|f| f.born = None),
            Verdict::Current,
        ),
        (
            "new, or of an earlier release",
            Mark::Missing,
            with(|f| f.was_marked = false),
            Verdict::Fresh,
        ),
        (
            "an earlier release that has run",
            Mark::Missing,
            with(|f| (f.was_marked, f.epoch) = (false, Epoch::new(9))),
            Verdict::Fresh,
        ),
        (
            "marked before its first note of it was on disk",
            same(),
            with(|f| f.was_marked = false),
            Verdict::Current,
        ),
        (
            "copied without its mark",
            Mark::Missing,
            found(),
            Verdict::Copy(C::NoMark),
        ),
        (
            "a torn mark",
            Mark::Unreadable,
            found(),
            Verdict::Copy(C::UnreadableMark),
        ),
        (
            "a new journal beside a torn mark",
            Mark::Unreadable,
            with(|f| (f.was_marked, f.epoch) = (false, Epoch::new(0))),
            Verdict::Copy(C::UnreadableMark),
        ),
        (
            "made anew in the place of another one",
            written(|m| m.journal = OTHER),
            with(|f| (f.was_marked, f.epoch) = (false, Epoch::new(0))),
            Verdict::Copy(C::OtherJournal),
        ),
        (
            "moved to the place of another one",
            written(|m| m.journal = OTHER),
            found(),
            Verdict::Copy(C::OtherJournal),
        ),
        (
            "copied with its mark",
            same(),
            with(|f| f.born = Some(101)),
            Verdict::Copy(C::OtherFile),
        ),
        (
            "an older copy put back, and run since",
            same(),
            with(|f| f.epoch = Epoch::new(2)),
            Verdict::Behind(C::LaterRun),
        ),
        (
            "a copy from the middle of the last run",
            same(),
            with(|f| f.heads[1] = None),
            Verdict::Behind(C::MissingEvidence),
        ),
        (
            "another history of the same length",
            same(),
            with(|f| f.heads[0] = Some([9; 32])),
            Verdict::Behind(C::MissingEvidence),
        ),
        (
            "not looked up",
            same(),
            with(none),
            Verdict::Behind(C::MissingEvidence),
        ),
        (
            "an older copy in a file of its own",
            same(),
            with(|f| (f.born, f.epoch) = (Some(101), Epoch::new(2))),
            Verdict::Behind(C::LaterRun),
        ),
        (
            "a backup, wherever it stands",
            same(),
            with(|f| f.is_backup = true),
            Verdict::Copy(C::Backup),
        ),
        (
            "a backup without a mark",
            Mark::Missing,
            with(|f| (f.is_backup, f.was_marked) = (true, false)),
            Verdict::Copy(C::Backup),
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
fn a_mark_goes_forward_only_and_never_over_that_of_another_journal() {
    let before = Mark::Read(marked());
    let moved = |epoch, positions: &[Position]| Marked {
        journal: OURS,
        born: Some(100),
        epoch: Epoch::new(epoch),
        orders: 2,
        given: Vec::new(),
        positions: positions.to_vec(),
        payers: Payers::NONE,
        server: None,
        quarantine: 120_000,
    };
    let table = [
        (
            "first",
            Mark::Missing,
            moved(1, &[position(1, 1, 1)]),
            Some(moved(1, &[position(1, 1, 1)])),
        ),
        ("torn", Mark::Unreadable, moved(1, &[]), Some(moved(1, &[]))),
        (
            "forward",
            before.clone(),
            moved(3, &[position(1, 30, 9)]),
            Some(moved(3, &[position(2, 20, 8), position(1, 30, 9)])),
        ),
        (
            "written late",
            before.clone(),
            moved(2, &[position(2, 15, 9)]),
            Some(moved(3, &[position(1, 10, 7), position(2, 20, 8)])),
        ),
        (
            "a new epoch",
            before.clone(),
            moved(4, &[]),
            Some(moved(4, &[position(1, 10, 7), position(2, 20, 8)])),
        ),
        (
            "a longer quarantine, and a shorter one",
            before.clone(),
            Marked {
                quarantine: 5_000,
                ..moved(4, &[])
            },
            Some(moved(4, &[position(1, 10, 7), position(2, 20, 8)])),
        ),
        (
            "another journal's",
            before,
            Marked {
                journal: OTHER,
                ..moved(9, &[])
            },
            None,
        ),
    ];
    for (case, before, moved, expected) in table {
        assert_eq!(advance(&before, &moved), expected, "{case}");
    }
    let many: Vec<Position> = (0..40).map(|n| position(n, n + 1, 1)).collect();
    let kept = advance(&Mark::Missing, &moved(1, &[])).map(Mark::Read);
    let kept = advance(&kept.unwrap(), &moved(1, &many)).unwrap();
    assert_eq!(kept.positions, many[40 - POSITIONS_MAX..]);
}

#[test]
fn every_cause_has_a_number_and_a_sentence_of_its_own() {
    for (at, (number, cause)) in Cause::ALL.into_iter().enumerate() {
        assert_eq!(cause.number(), number);
        for (other, rest) in &Cause::ALL[at + 1..] {
            assert_ne!(number, *other);
            assert_ne!(cause.sentence(), rest.sentence());
        }
    }
}

fn life(state: State) -> PaymentState {
    PaymentState {
        state,
        ..PaymentState::NEW
    }
}

fn doubt(life: &PaymentState) -> PaymentState {
    let (at, policy) = (Timestamp::from_millis(9), Policy::default());
    fold(life, RecordedEvent::PresumedPosted, at, &policy)
}

#[test]
fn what_is_ready_or_cancelled_is_presumed_posted_and_nothing_else() {
    for state in State::ALL {
        assert_eq!(
            is_presumed(&life(state)),
            matches!(state, State::Ready | State::Cancelled),
            "{state:?}"
        );
    }
    let repeated = PaymentState {
        attempts: 2,
        exposures: 2,
        not_found: 2,
        posted_at: Some(Timestamp::from_millis(5)),
        ..PaymentState::NEW
    };
    let after = doubt(&repeated);
    assert_eq!((after.state, after.attempts), (State::InDoubt, 2));
    assert_eq!((after.exposures, after.not_found), (2, 0));
    assert_eq!(doubt(&PaymentState::NEW).exposures, 1);
}

#[test]
fn a_word_releases_what_only_the_presumption_makes_doubtful() {
    let doubt = doubt(&PaymentState::NEW);
    let table = [
        ("presumed", doubt, false, true),
        (
            "asked about in vain",
            PaymentState {
                not_found: 1,
                queries: 3,
                ..doubt
            },
            false,
            true,
        ),
        ("spoken of", doubt, true, false),
        (
            "posted by this journal",
            PaymentState {
                attempts: 1,
                ..doubt
            },
            false,
            false,
        ),
        (
            "known to the gateway",
            PaymentState {
                known: true,
                ..doubt
            },
            false,
            false,
        ),
        (
            "refused, to be confirmed",
            PaymentState {
                code: Some(110),
                ..doubt
            },
            false,
            false,
        ),
        (
            "acknowledged",
            PaymentState {
                state: State::Acknowledged,
                ..doubt
            },
            false,
            false,
        ),
        ("ready", PaymentState::NEW, false, false),
        ("paid", life(State::Paid), false, false),
    ];
    for (case, life, spoken_of, expected) in table {
        assert_eq!(may_be_released(&life, spoken_of), expected, "{case}");
    }
    let at = Timestamp::from_millis(10);
    let released = fold(&doubt, RecordedEvent::Released, at, &Policy::default());
    assert_eq!(released, PaymentState::NEW);
}

#[test]
fn a_retry_is_presumed_wherever_a_missed_journal_may_have_made_it() {
    for (open, there, was, expected) in [
        (false, false, false, false),
        (true, false, false, true),
        (false, true, false, true),
        (false, false, true, true),
    ] {
        assert_eq!(retry_is_presumed(open, there, was), expected);
    }
}

#[test]
fn what_takes_the_place_of_a_failure_waits_until_every_lost_batch_is_here_again() {
    let retry = Arrival {
        since_noticed: true,
        in_place_of_ended: true,
        is_rehearsal: false,
    };
    let of_the_copy = Arrival {
        since_noticed: false,
        ..retry
    };
    let new = Arrival {
        in_place_of_ended: false,
        ..retry
    };
    let rehearsed = Arrival {
        is_rehearsal: true,
        ..retry
    };
    let new_of_the_copy = Arrival {
        since_noticed: false,
        ..new
    };
    for (arrival, waits, while_missing) in [
        (retry, true, true),
        // A retry that was unfinished in the copy is as any other unfinished payment of it.
        (of_the_copy, false, false),
        // It may be a batch that is missing, under another name.
        (new, false, true),
        (new_of_the_copy, false, false),
        (rehearsed, false, false),
    ] {
        for (missing, waits) in [(false, waits), (true, while_missing)] {
            assert_eq!(
                waits_until_done(true, missing, arrival),
                waits,
                "{missing} {arrival:?}"
            );
            assert!(!waits_until_done(false, missing, arrival), "{arrival:?}");
        }
    }
}

#[test]
fn a_recovery_is_done_when_everything_presumed_was_asked_about() {
    let lost = |count, unknown| OrdersLost { count, unknown };
    let none = OrdersLost::default();
    assert_eq!(may_be_done(true, 0, none), Ok(()));
    assert_eq!(
        may_be_done(true, 7, lost(2, false)),
        Err(NotDone::Unasked(7))
    );
    for lost in [lost(2, false), lost(0, true), lost(2, true)] {
        assert_eq!(may_be_done(true, 0, lost), Err(NotDone::OrdersLost(lost)));
    }
    assert_eq!(may_be_done(false, 0, none), Err(NotDone::NotOpen));
    assert_eq!(may_be_done(false, 7, none), Err(NotDone::NotOpen));
}

/// Under the identifier of a mended row the gateway knows nothing of what these orders paid.
#[test]
fn a_lost_order_that_pays_failures_keeps_mended_rows_of_its_batch() {
    let order = |act: &str| Order {
        number: 1,
        at: Timestamp::from_millis(0),
        act: act.to_owned(),
        batch: "w".to_owned(),
        payments: 1,
        digest: "d".to_owned(),
        user: "u".to_owned(),
    };
    for (act, batch, expected) in [
        ("retry", "w", true),
        ("resolve", "w", true),
        ("retry", "v", false),
        ("correct", "w", false),
        ("cancel", "w", false),
    ] {
        let found = order(act).may_have_paid_failures(batch);
        assert_eq!(found, expected, "{act} {batch}");
    }
}

/// A retry of a row that was corrected is known by the identifier of the corrected row alone.
#[test]
fn lost_orders_about_failures_are_given_again_in_their_order() {
    let order = |(number, act, batch): (u64, &str, &str)| Order {
        number,
        at: Timestamp::from_millis(0),
        act: act.to_owned(),
        batch: batch.to_owned(),
        payments: 1,
        digest: number.to_string(),
        user: "u".to_owned(),
    };
    let corrected = (1, "correct", "w");
    let retried = (2, "retry", "w");
    let resolved = (3, "resolve", "w");
    let elsewhere = (4, "retry", "v");
    let cancelled = (5, "cancel", "w");
    for (missing, act, first) in [
        (vec![], "retry", None),
        (vec![corrected, retried], "correct", None),
        (vec![corrected, retried], "retry", Some(1)),
        (vec![retried, corrected], "correct", Some(2)),
        (vec![retried, corrected], "retry", None),
        (vec![corrected], "retry", Some(1)),
        (vec![retried], "correct", Some(2)),
        (vec![resolved], "correct", Some(3)),
        (vec![resolved, retried], "retry", None),
        (vec![elsewhere, cancelled], "retry", None),
        (vec![elsewhere, cancelled], "correct", None),
    ] {
        let missing: Vec<Order> = missing.into_iter().map(order).collect();
        let found = given_first(&missing, "w", act).map(|order| order.number);
        assert_eq!(found, first, "{missing:?} {act}");
    }
}
