//! Rows that a store has written itself, and finds again although another one has written in between.

use super::super::Postgres;
use super::super::fixture::shared;
use super::*;
use crate::domain::{BatchId, LaneId, PaymentId};
use crate::lifecycle::State;
use crate::store::tables::life;
use crate::store::{Read as _, Reads as _, Scan, Transact as _, Writes as _, shape};

shape! {
    struct Life of life { seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, queries: i64, due_at: i64 }
}
shape! {
    struct Note of meta { key: String, value: i64 }
}

const ROWS: i64 = 300;

/// Returns how often each payment was asked about, as a store finds them that expects them all, and which of them it has to read.
fn queries(store: &Postgres) -> (Vec<i64>, Vec<i64>) {
    let numbers: Vec<i64> = (1..=ROWS).collect();
    let scans = numbers.iter().map(|seq| Scan::of(&life::TABLE).at(seq));
    let scans: Vec<Scan<'_>> = scans.collect();
    let (own, mut others) = store.own.borrow().part(scans.iter().collect());
    others.extend(store.confirm(&own).unwrap());
    let read = numbers.iter().zip(&scans);
    let read = read.filter(|(_, scan)| others.iter().any(|other| std::ptr::eq(*other, *scan)));
    let read = read.map(|(number, _)| *number).collect();
    store.expect(&scans).unwrap();
    let value = |scan| store.value::<i64>(scan, life::queries).unwrap().unwrap();
    (scans.iter().map(value).collect(), read)
}

#[test]
fn what_a_store_has_written_is_not_read_again_unless_another_one_has_written_it_since() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        let other = Postgres::open(store.address().clone(), Deadlines::default()).unwrap();
        let writes_beside = |seq: Option<i64>, times: i64| {
            other.begin().unwrap();
            match seq {
                Some(seq) => {
                    let own = Scan::of(&life::TABLE).at(&seq);
                    assert_eq!(other.set(&own, life::queries, &times).unwrap(), 1);
                }
                None => {
                    let key = format!("beside {times}");
                    other.insert(&Note { key, value: times }).unwrap();
                }
            }
            other.commit().unwrap();
        };
        store.begin().unwrap();
        for seq in 1..=ROWS {
            let row = Life {
                seq: PaymentId::new(seq),
                batch_id: BatchId::new(1),
                service_id: LaneId::new(1),
                state: State::Failed,
                queries: seq,
                due_at: i64::MAX,
            };
            store.insert(&row).unwrap();
        }
        store.commit().unwrap();
        let mut expected: Vec<i64> = (1..=ROWS).collect();

        writes_beside(None, 1);
        store.begin().unwrap();
        assert_eq!(
            queries(&store),
            (expected.clone(), vec![]),
            "nobody touched one"
        );
        // What it writes itself is another transaction's from then on.
        for seq in 1..=20 {
            let own = Scan::of(&life::TABLE).at(&seq);
            store.set(&own, life::queries, &1_000).unwrap();
        }
        store.commit().unwrap();
        expected[..20].fill(1_000);

        writes_beside(Some(7), 70);
        writes_beside(Some(290), 71);
        (expected[6], expected[289]) = (70, 71);
        store.begin().unwrap();
        let (found, read) = queries(&store);
        assert_eq!(found, expected);
        // One count tells of many.
        assert!(
            [7, 290].iter().all(|touched| read.contains(touched)),
            "{read:?}"
        );
        store.commit().unwrap();

        // What was taken back was never there.
        store.begin().unwrap();
        for seq in 100..=ROWS {
            let own = Scan::of(&life::TABLE).at(&seq);
            store.set(&own, life::queries, &5).unwrap();
        }
        store.rollback().unwrap();
        writes_beside(None, 2);
        store.begin().unwrap();
        let (found, read) = queries(&store);
        assert_eq!(found, expected);
        assert!(
            !read.contains(&100),
            "what was taken back, is as it was: {read:?}"
        );
        store.rollback().unwrap();
    }
}
