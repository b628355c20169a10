//! Recoveries that a person orders, what speaks against a person's word, and edits of what is on record.

use super::*;
use crate::domain::{BatchId, Epoch};

#[test]
fn an_order_begins_a_recovery_unless_it_only_says_again_what_was_done() {
    let ordered = Presumption {
        is_open: false,
        is_rehearsal: false,
        is_repeated: false,
        was_recovered: false,
    };
    let with = |change: fn(&mut Presumption)| {
        let mut order = ordered;
        change(&mut order);
        order
    };
    for (order, expected) in [
        (ordered, true),
        (with(|order| order.is_open = true), false),
        (with(|order| order.is_rehearsal = true), false),
        // The command that a job says until its batch is finished: for the first time, and after the recovery.
        (with(|order| order.is_repeated = true), true),
        (
            with(|order| (order.is_repeated, order.was_recovered) = (true, true)),
            false,
        ),
        // By hand, or with a file that is new: something was missed since.
        (with(|order| order.was_recovered = true), true),
    ] {
        assert_eq!(begins_recovery(order), expected, "{order:?}");
    }
}

#[test]
fn what_lies_beside_a_journal_speaks_against_the_word_that_nothing_ran() {
    let witness = |journal, epoch, evidence, orders| {
        Some(Witness {
            journal,
            epoch: Epoch::new(epoch),
            evidence: EvidenceId::new(evidence),
            orders,
        })
    };
    let with = |change: fn(&mut Marked)| {
        let mut marked = marked();
        change(&mut marked);
        Mark::Read(marked)
    };
    let blank = with(|marked| {
        (marked.journal, marked.epoch, marked.orders) = (OTHER, Epoch::NONE, 0);
        marked.positions.clear();
    });
    let same = witness(OURS, 3, 20, 2);
    for (mark, witness, expected) in [
        (with(|_| {}), same, vec![]),
        (Mark::Missing, None, vec![]),
        (Mark::Unreadable, same, vec![]),
        (
            with(|marked| marked.epoch = Epoch::new(5)),
            same,
            vec![Ran::Runs {
                seen: Epoch::new(5),
                known: Epoch::new(3),
            }],
        ),
        (
            with(|marked| marked.positions[1] = position(2, 30, 9)),
            same,
            vec![Ran::Evidence {
                batch_id: BatchId::new(2),
                length: 30,
            }],
        ),
        (with(|marked| marked.orders = 4), same, vec![Ran::Orders(2)]),
        // The lock file alone knows it; what both say is said once.
        (
            Mark::Missing,
            witness(OURS, 4, 21, 3),
            vec![
                Ran::Runs {
                    seen: Epoch::new(4),
                    known: Epoch::new(3),
                },
                Ran::Further {
                    seen: EvidenceId::new(21),
                    known: EvidenceId::new(20),
                },
                Ran::Orders(1),
            ],
        ),
        (
            with(|marked| marked.epoch = Epoch::new(5)),
            witness(OURS, 5, 20, 2),
            vec![Ran::Runs {
                seen: Epoch::new(5),
                known: Epoch::new(3),
            }],
        ),
        // Another journal that did something, and one that did nothing.
        (
            with(|marked| marked.journal = OTHER),
            None,
            vec![Ran::OtherJournal {
                runs: Epoch::new(3),
            }],
        ),
        (blank.clone(), None, vec![]),
        (
            blank.clone(),
            witness(OTHER, 0, 1, 0),
            vec![Ran::OtherJournal { runs: Epoch::NONE }],
        ),
        (blank, witness(OTHER, 0, 0, 0), vec![]),
    ] {
        let traces = Traces {
            mark,
            stamp: None,
            witness,
            payers: Payers::NONE,
        };
        assert_eq!(ran_since(&traces, &found()), expected, "{traces:?}");
        for what in &expected {
            assert!(!what.sentence(Some("b")).is_empty());
        }
    }
}

#[test]
fn what_is_on_record_of_recoveries_is_what_the_last_word_of_every_batch_says() {
    let on_record = OnRecord {
        digest: "a",
        is_empty: false,
        met_batches: true,
        is_open: true,
    };
    let met_none = OnRecord {
        met_batches: false,
        ..on_record
    };
    let none = OnRecord {
        is_empty: true,
        is_open: false,
        ..met_none
    };
    let done = OnRecord {
        is_open: false,
        ..met_none
    };
    let words = |texts: &[&str]| -> Vec<String> { texts.iter().map(|&t| t.to_owned()).collect() };
    for (on_record, last_words, batches, expected) in [
        (none, words(&[]), true, None),
        (on_record, words(&["a", "a"]), true, None),
        (on_record, words(&["a", "b"]), true, Some(Unlike::Changed)),
        // All of it was deleted.
        (none, words(&["b"]), true, Some(Unlike::Changed)),
        // Made up.
        (on_record, words(&[]), true, Some(Unlike::Unheard)),
        (met_none, words(&[]), true, Some(Unlike::Unheard)),
        // It began in a journal without a batch, and is done; or nothing was loaded since.
        (done, words(&[]), true, None),
        (met_none, words(&[]), false, None),
    ] {
        let found = unlike(on_record, &last_words, batches);
        assert_eq!(found, expected, "{on_record:?} {last_words:?} {batches}");
    }
}
