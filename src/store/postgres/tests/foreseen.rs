//! What is done with one number after the other, and read of many of them at once.

use super::super::Postgres;
use super::super::fixture::{Kind, shared};
use super::fresh;
use crate::domain::{BatchId, LaneId, PaymentId};
use crate::lifecycle::State;
use crate::store::tables::{inquiry, life};
use crate::store::{Error, Read as _, Reads as _, Scan, Transact as _, Writes as _, shape};

shape! {
    struct Life of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64, replaced_by: Option<PaymentId>,
    }
}
shape! {
    struct Asked of inquiry { seq: PaymentId, batch_id: BatchId, due_at: i64 }
}

const ROWS: i64 = 300;

fn life(seq: i64) -> Life {
    Life {
        seq: PaymentId::new(seq),
        batch_id: BatchId::new(1),
        service_id: LaneId::new(1),
        state: State::Failed,
        // Nobody asks about it, and it is not posted.
        due_at: i64::MAX,
        replaced_by: None,
    }
}

/// Changes every payment, and makes the next one the successor of every tenth. Returns of each whether it is a successor, and whether it
/// was asked about.
fn change_each(store: &Postgres, numbers: &[i64]) -> Result<Vec<(bool, bool)>, Error> {
    let mut found = Vec::new();
    for (nth, number) in numbers.iter().enumerate() {
        store.come_to(numbers, nth)?;
        let (own, asked) = (
            Scan::of(&life::TABLE).at(number),
            Scan::of(&inquiry::TABLE).at(number),
        );
        let is_asked = store.any(&asked)?;
        store.remove(&asked)?;
        store.set(&own, life::queries, number)?;
        if number % 10 == 0 {
            store.set(&own, life::replaced_by, &PaymentId::new(number + 1))?;
        }
        let before = Scan::by(&life::predecessor).at(number);
        found.push((store.any(&before)?, is_asked));
    }
    Ok(found)
}

#[test]
fn what_is_asked_about_each_of_many_is_read_together_and_is_as_it_was_written_last() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        store
            .insert_all(&(1..=ROWS).map(life).collect::<Vec<_>>())
            .unwrap();
        let odd = (1..=ROWS).step_by(2).map(|seq| Asked {
            seq: PaymentId::new(seq),
            batch_id: BatchId::new(1),
            due_at: 0,
        });
        store.insert_all(&odd.collect::<Vec<_>>()).unwrap();
        store.commit().unwrap();
        let numbers: Vec<i64> = (1..=ROWS).collect();
        store.begin().unwrap();
        let before = store.asked.get();
        let found = change_each(&store, &numbers).unwrap();
        let asked = store.asked.get() - before;
        let is_successor = |seq: &i64| *seq > 10 && seq % 10 == 1;
        let expected = numbers.iter().map(|seq| (is_successor(seq), seq % 2 == 1));
        let expected: Vec<_> = expected.collect();
        assert_eq!(found, expected);
        // One by one it would be four times for each. What was changed meanwhile is read again.
        assert!(asked < 60, "{asked} times");
        store.commit().unwrap();
        let last = Scan::by(&life::predecessor).at(&(ROWS + 1));
        let last: Vec<PaymentId> = store.values(&last, life::seq).unwrap();
        assert_eq!(last, [PaymentId::new(ROWS)]);
        let all = Scan::of(&life::TABLE);
        assert_eq!(store.values::<i64>(&all, life::queries).unwrap(), numbers);
        assert_eq!(store.count(&Scan::of(&inquiry::TABLE)).unwrap(), 0);
    }
}
