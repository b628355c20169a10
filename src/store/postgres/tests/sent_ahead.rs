//! Writes that are sent while the transaction goes on, and scans that are read together.

use super::super::Postgres;
use super::super::fixture::{Kind, shared};
use super::losses::cut;
use super::{beside, fresh};
use crate::domain::PaymentId;
use crate::store::tables::{bill, inquiry};
use crate::store::{Error, Read as _, Reads as _, Scan, Test, Transact as _, Writes as _, shape};

shape! {
    struct Asked of inquiry { seq: PaymentId, batch_id: i64, due_at: i64 }
}
shape! {
    #[derive(Clone, Debug, PartialEq)]
    struct Billed of bill { bill_id: i64, seq: PaymentId, at: i64, outcome: i64, description: String }
}

fn asked(seq: i64) -> Asked {
    Asked {
        seq: PaymentId::new(seq),
        batch_id: 1,
        due_at: 0,
    }
}

fn all(store: &Postgres) -> u64 {
    store.count(&Scan::of(&inquiry::TABLE)).unwrap()
}

/// Several times as many as are sent at once, and some more.
const ROWS: i64 = 2_100;

#[test]
fn a_row_that_is_refused_among_many_leaves_nothing_of_them() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        for taken in [1, 300, 2_000, ROWS] {
            let store = fresh(server);
            store.begin().unwrap();
            store.insert(&asked(taken)).unwrap();
            store.commit().unwrap();
            // It does not know of that row.
            let other = beside(&store);
            other.begin().unwrap();
            let inserted = (1..=ROWS).try_for_each(|seq| other.insert(&asked(seq)));
            assert!(
                !matches!(inserted, Err(ref error) if !matches!(error, Error::Refused { .. })),
                "{inserted:?}"
            );
            let ended = other.commit();
            assert!(matches!(ended, Err(Error::Refused { .. })), "{ended:?}");
            assert_eq!(all(&store), 1);
            other.begin().unwrap();
            other.insert(&asked(ROWS + 1)).unwrap();
            other.commit().unwrap();
            assert_eq!(all(&store), 2);
        }
    }
}

#[test]
fn what_was_sent_is_read_and_is_rolled_back() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        (1..=ROWS).for_each(|seq| store.insert(&asked(seq)).unwrap());
        assert_eq!(all(&store), ROWS.unsigned_abs());
        for seq in 1..=ROWS {
            let own = Scan::of(&inquiry::TABLE).at(&seq);
            store.set(&own, inquiry::due_at, &seq).unwrap();
        }
        let late = Scan::by(&inquiry::inquiry_queue)
            .at(&1_i64)
            .after(&1_000_i64);
        assert_eq!(store.count_rows(&late).unwrap(), 1_100);
        let removed = (1..=ROWS).map(|seq| store.remove(&Scan::of(&inquiry::TABLE).at(&seq)));
        assert_eq!(
            removed.map(Result::unwrap).sum::<u64>(),
            ROWS.unsigned_abs()
        );
        assert_eq!(all(&store), 0);
        (1..=ROWS).for_each(|seq| store.insert(&asked(seq)).unwrap());
        store.rollback().unwrap();
        assert_eq!(all(&store), 0);
        store.begin().unwrap();
        store.insert(&asked(1)).unwrap();
        store.commit().unwrap();
        assert_eq!(all(&store), 1);
    }
}

#[test]
fn nothing_stays_of_what_was_sent_over_a_connection_that_ends() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        for before in [100, 700, ROWS] {
            let store = fresh(server);
            store.begin().unwrap();
            (1..=before).for_each(|seq| store.insert(&asked(seq)).unwrap());
            cut(server, &store);
            let rest = (before + 1..=ROWS).try_for_each(|seq| store.insert(&asked(seq)));
            let ended = rest.and_then(|()| store.commit());
            assert!(
                matches!(ended, Err(Error::ConnectionLost { .. })),
                "{ended:?}"
            );
            if store.is_open() {
                store.rollback().unwrap();
            }
            assert_eq!(all(&store), 0);
            store.begin().unwrap();
            store.insert(&asked(1)).unwrap();
            store.commit().unwrap();
            assert_eq!(all(&store), 1);
        }
    }
}

fn billed(seq: i64, at: i64) -> Billed {
    Billed {
        bill_id: 1_000 * seq + at,
        seq: PaymentId::new(seq),
        at,
        outcome: 2,
        description: format!("{seq} {at}"),
    }
}

/// How many bills a payment has: none, one, and more than are read together.
fn count_of(seq: i64) -> i64 {
    [0, 1, 2, 15, 16, 17, 40][usize::try_from(seq % 7).unwrap()]
}

fn of(seq: &PaymentId) -> Scan<'_> {
    Scan::by(&bill::bill_by_payment).at(seq)
}

fn late(seq: &PaymentId) -> Scan<'_> {
    of(seq).only(bill::at, Test::at_least(&3_i64))
}

#[test]
fn scans_that_are_read_together_have_the_rows_of_each() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        for seq in 1..=60 {
            (0..count_of(seq)).for_each(|at| store.insert(&billed(seq, at)).unwrap());
        }
        store.commit().unwrap();
        let other = beside(&store);
        other.begin().unwrap();
        let seqs: Vec<PaymentId> = (0..=61).map(PaymentId::new).collect();
        let wanted: Vec<_> = seqs
            .iter()
            .flat_map(|seq| [of(seq), late(seq), of(seq).descending(), of(seq)])
            .collect();
        other.expect(&wanted).unwrap();
        let expected = |seq: i64| -> Vec<Billed> {
            let count = if (1..=60).contains(&seq) {
                count_of(seq)
            } else {
                0
            };
            (0..count).map(|at| billed(seq, at)).collect()
        };
        let read = |seq: &PaymentId| -> [Vec<Billed>; 3] {
            [of(seq), late(seq), of(seq).descending()].map(|scan| other.list(&scan).unwrap())
        };
        for seq in &seqs {
            let rows = expected(seq.get());
            let (mut later, mut backwards) = (rows.clone(), rows.clone());
            later.retain(|row| row.at >= 3);
            backwards.reverse();
            assert_eq!(read(seq), [rows, later, backwards], "{seq}");
        }
        // One more for one of them.
        other.insert(&billed(8, 99)).unwrap();
        assert_eq!(read(&seqs[8])[0], [billed(8, 0), billed(8, 99)]);
        assert_eq!(read(&seqs[8])[1], [billed(8, 99)]);
        assert_eq!(read(&seqs[9])[0], expected(9));
        other.rollback().unwrap();
    }
}
