//! The contract of a store: whatever passes it may keep a journal.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::tables::{bill, evidence, held_lane, instruction, life, lookup, notice, used};
use super::{Beside, Error, Read, Reads, Scan, Shape, Test, Transact, Value, Writes, shape};
use crate::domain::{BatchId, LaneId, LoadId, PaymentId, Timestamp};
use crate::ledger::HeldFor;
use crate::lifecycle::State;

shape! {
    #[derive(Clone, Debug, PartialEq)]
    struct Held of held_lane { batch_id: BatchId, service_id: LaneId, held_at: Timestamp, reason: HeldFor }
}
shape! {
    #[derive(Clone, Debug, PartialEq)]
    struct Number of lookup { country: String, msisdn: String, at: i64, carrier: Option<String> }
}
shape! {
    #[derive(Clone, Debug, PartialEq)]
    struct Life of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64, replaced_by: Option<PaymentId>,
    }
}
shape! {
    #[derive(Clone, Debug, PartialEq)]
    struct Notice of notice {
        id: String, batch_id: BatchId, kind: String, subject: String, nth: i64, figure: i64, made_at: Timestamp, stands: bool,
        body: Option<String>,
    }
}
shape! {
    #[derive(Clone, Debug, PartialEq)]
    struct Bill of bill { seq: PaymentId, at: i64, outcome: i64, due: Option<i64>, description: String }
}

fn held(batch: i64, lane: i64, at: i64) -> Held {
    Held {
        batch_id: BatchId::new(batch),
        service_id: LaneId::new(lane),
        held_at: Timestamp::from_millis(at),
        reason: HeldFor::Float,
    }
}

fn life(seq: i64, batch: i64, state: State, due_at: i64) -> Life {
    Life {
        seq: PaymentId::new(seq),
        batch_id: BatchId::new(batch),
        service_id: LaneId::new(1),
        state,
        due_at,
        replaced_by: None,
    }
}

fn notice(id: &str, batch: i64) -> Notice {
    Notice {
        id: id.to_owned(),
        batch_id: BatchId::new(batch),
        kind: "finished".to_owned(),
        subject: String::new(),
        nth: 1,
        figure: 7,
        made_at: Timestamp::from_millis(1),
        stands: true,
        body: Some("{}".to_owned()),
    }
}

fn in_one<S: Transact>(store: &S, work: impl FnOnce(&S)) {
    store.begin().unwrap();
    work(store);
    store.commit().unwrap();
}

/// Asserts that a rule of a table refuses what is written, at once or with the commit, and that nothing of it is there then.
fn is_refused<S: Transact>(store: &S, work: impl FnOnce(&S) -> Result<(), Error>) {
    store.begin().unwrap();
    let mark = held(77, 77, 77);
    store.insert(&mark).unwrap();
    let outcome = work(store).and_then(|()| store.commit());
    assert!(matches!(outcome, Err(Error::Refused { .. })), "{outcome:?}");
    if store.is_open() {
        store.rollback().unwrap();
    }
    let marked = Scan::of(&held_lane::TABLE).at(&mark.batch_id);
    assert!(!store.any(&marked).unwrap());
}

fn seqs(lives: &[Life]) -> Vec<i64> {
    lives.iter().map(|life| life.seq.get()).collect()
}

/// Holds a store to all of the contract; `fresh` makes an empty one.
pub(crate) fn exercise<S: Transact>(fresh: impl Fn() -> S) {
    rows_are_found_by_their_keys(&fresh());
    ranges_have_their_ends(&fresh());
    indexes_have_the_rows_that_they_are_of(&fresh());
    whoever_is_shown_rows_may_read_and_write(&fresh());
    rows_are_found_beside_others(&fresh());
    what_is_unique_is_there_once(&fresh());
    numbers_follow_one_another(&fresh());
    rows_are_appended_value_by_value(&fresh());
    columns_that_are_left_out_have_what_the_schema_says(&fresh());
    an_empty_column_makes_way_for_another(&fresh());
    a_transaction_is_there_as_a_whole(&fresh());
    what_stays_is_whole(&fresh());
    rows_stand_beside_others(&fresh());
}

fn rows_are_found_by_their_keys<S: Transact>(store: &S) {
    in_one(store, |store| {
        let rows = [held(1, 1, 10), held(1, 2, 20), held(2, 1, 30)];
        store.insert_all(&rows).unwrap();
        let lane = LaneId::new(2);
        let one = Scan::of(&held_lane::TABLE).at(&rows[1].batch_id).at(&lane);
        assert_eq!(store.first(&one).unwrap(), Some(rows[1].clone()));
        let batch = Scan::of(&held_lane::TABLE).at(&rows[0].batch_id);
        assert_eq!(store.list::<Held>(&batch).unwrap(), rows[..2]);
        let last = batch.clone().descending();
        assert_eq!(store.first(&last).unwrap(), Some(rows[1].clone()));
        assert_eq!(store.count(&batch).unwrap(), 2);
        assert_eq!(store.count(&batch.clone().limit(1)).unwrap(), 1);
        let at: Vec<i64> = store.values(&batch, held_lane::held_at).unwrap();
        assert_eq!(at, [10, 20]);
        let none = BatchId::new(9);
        let none = Scan::of(&held_lane::TABLE).at(&none);
        assert_eq!(store.value::<i64>(&none, held_lane::held_at).unwrap(), None);
        assert!(!store.any(&none).unwrap());
        assert_eq!(store.remove(&one).unwrap(), 1);
        assert!(!store.any(&one).unwrap());
        assert_eq!(store.set(&batch, held_lane::held_at, &99_i64).unwrap(), 1);
        assert_eq!(
            store.value::<i64>(&batch, held_lane::held_at).unwrap(),
            Some(99)
        );
    });
}

fn ranges_have_their_ends<S: Transact>(store: &S) {
    in_one(store, |store| {
        for seq in 1..=6 {
            store
                .insert(&life(seq, 1 + seq % 2, State::Ready, seq))
                .unwrap();
        }
        let all = || Scan::of(&life::TABLE);
        let list = |scan: Scan<'_>| seqs(&store.list(&scan).unwrap());
        let (two, five) = (PaymentId::new(2), PaymentId::new(5));
        assert_eq!(list(all().from(&two).up_to(&five)), [2, 3, 4, 5]);
        assert_eq!(list(all().after(&two).before(&five)), [3, 4]);
        assert_eq!(list(all().after(&two).descending().limit(2)), [6, 5]);
        assert_eq!(list(all().before(&two).from(&five)), Vec::<i64>::new());
        let batch = BatchId::new(1);
        assert_eq!(
            list(all().only(life::batch_id, Test::is(&batch))),
            [2, 4, 6]
        );
        assert_eq!(
            list(all().only(life::batch_id, Test::is_not(&batch))),
            [1, 3, 5]
        );
        let some = [1_i64, 6, 8];
        assert_eq!(list(all().only(life::seq, Test::among(&some))), [1, 6]);
        assert_eq!(
            list(all().only(life::seq, Test::among::<i64>(&[]))),
            Vec::<i64>::new()
        );
        assert_eq!(
            list(all().only(life::due_at, Test::at_least(&5_i64))),
            [5, 6]
        );
        assert_eq!(
            list(all().only(life::due_at, Test::at_most(&2_i64))),
            [1, 2]
        );
        assert_eq!(
            list(all().only(life::replaced_by, Test::Present)),
            Vec::<i64>::new()
        );
        assert_eq!(list(all().only(life::code, Test::Absent)).len(), 6);
        // Nothing is not another value, but for whoever asks for any other.
        assert_eq!(list(all().only(life::code, Test::is_not(&3_i64))).len(), 6);
        assert_eq!(list(all().only(life::code, Test::at_most(&3_i64))).len(), 0);
        for (country, msisdn) in [("KE", "2"), ("KE", "9"), ("UG", "1")] {
            let row = Number {
                country: country.to_owned(),
                msisdn: msisdn.to_owned(),
                at: 0,
                carrier: None,
            };
            store.insert(&row).unwrap();
        }
        let text = |text: &'static str| Value::Text(Cow::Borrowed(text));
        let behind = Scan::of(&lookup::TABLE).after_all(vec![text("KE"), text("2")]);
        let found: Vec<String> = store.values(&behind, lookup::msisdn).unwrap();
        assert_eq!(found, ["9", "1"]);
        let from = Scan::of(&lookup::TABLE).from_all(vec![text("KE"), text("9")]);
        assert_eq!(store.count(&from).unwrap(), 2);
    });
}

fn indexes_have_the_rows_that_they_are_of<S: Transact>(store: &S) {
    in_one(store, |store| {
        let rows = [
            life(1, 1, State::Ready, 30),
            life(2, 1, State::Ready, 10),
            life(3, 1, State::InDoubt, 5),
            life(4, 1, State::Ready, 10),
            life(5, 2, State::Ready, 1),
        ];
        store.insert_all(&rows).unwrap();
        let (batch, lane) = (BatchId::new(1), LaneId::new(1));
        let queue = || Scan::by(&life::post_queue).at(&batch).at(&lane);
        let list = |scan: Scan<'_>| seqs(&store.list(&scan).unwrap());
        assert_eq!(list(queue()), [2, 4, 1]);
        assert_eq!(list(queue().up_to(&10_i64)), [2, 4]);
        assert_eq!(list(queue().descending().limit(2)), [1, 4]);
        let asked = Scan::by(&life::ask_queue).at(&batch).at(&State::InDoubt);
        assert_eq!(list(asked.clone()), [3]);
        // A row that changes goes where it belongs.
        let two = PaymentId::new(2);
        let one = Scan::of(&life::TABLE).at(&two);
        assert_eq!(store.set(&one, life::state, &State::InDoubt).unwrap(), 1);
        assert_eq!(list(queue()), [4, 1]);
        assert_eq!(list(asked.clone()), [3, 2]);
        assert_eq!(store.remove(&asked).unwrap(), 2);
        assert_eq!(list(Scan::of(&life::TABLE)), [1, 4, 5]);
    });
}

fn whoever_is_shown_rows_may_read_and_write<S: Transact>(store: &S) {
    in_one(store, |store| {
        for seq in 1..=500 {
            store.insert(&life(seq, 1, State::Ready, 0)).unwrap();
        }
        let mut shown = Vec::new();
        let all = Scan::of(&life::TABLE);
        store
            .each(&all, |life: Life| {
                let own = Scan::of(&life::TABLE).at(&life.seq);
                assert!(store.any(&own)?);
                store.insert(&held(1, life.seq.get(), 0))?;
                shown.push(life.seq.get());
                Ok::<_, Error>(())
            })
            .unwrap();
        assert_eq!(shown, (1..=500).collect::<Vec<i64>>());
        let mut last = Vec::new();
        store
            .each_until(&all.clone().descending(), |life: Life| {
                last.push(life.seq.get());
                Ok::<_, Error>(match last.len() {
                    300 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                })
            })
            .unwrap();
        assert_eq!(last, (201..=500).rev().collect::<Vec<i64>>());
        let refused = store.each(&all, |_: Life| Err(Error::Fenced));
        assert!(matches!(refused, Err(Error::Fenced)));
    });
}

fn rows_are_found_beside_others<S: Transact>(store: &S) {
    in_one(store, |store| {
        let has_failed = |seq: i64| seq <= 5_000 && (seq % 3 == 0 || seq > 2_000);
        for seq in 1..=5_000 {
            let (state, due_at) = match has_failed(seq) {
                true => (State::Failed, i64::MAX),
                false => (State::Ready, 0),
            };
            store.insert(&life(seq, 1, state, due_at)).unwrap();
        }
        let failed = Scan::of(&life::TABLE).only(life::state, Test::is(&State::Failed));
        for step in [1, 2, 700] {
            let mut beside = Beside::along(store, failed.clone(), life::seq, Life::COLUMNS);
            for seq in (1..=5_010).step_by(step) {
                let found = beside
                    .find_as::<Life>(seq)
                    .unwrap()
                    .map(|life| life.seq.get());
                assert_eq!(found, has_failed(seq).then_some(seq), "{seq} of {step}");
            }
        }
    });
}

fn what_is_unique_is_there_once<S: Transact>(store: &S) {
    in_one(store, |store| store.insert(&held(1, 1, 10)).unwrap());
    is_refused(store, |store| store.insert(&held(1, 1, 20)));
    is_refused(store, |store| {
        store.insert_all(&[held(1, 2, 20), held(1, 1, 20)])
    });
    is_refused(store, |store| {
        store.insert(&held(1, 3, 20))?;
        store.insert(&held(1, 3, 30))
    });
    let number = Number {
        country: "KE".to_owned(),
        msisdn: "1".to_owned(),
        at: 5,
        carrier: Some("A".to_owned()),
    };
    in_one(store, |store| {
        assert!(!store.insert_new(&held(1, 1, 20)).unwrap());
        assert!(store.insert_new(&held(1, 2, 20)).unwrap());
        store.put(&held(1, 1, 30)).unwrap();
        let batch = BatchId::new(1);
        let all = Scan::of(&held_lane::TABLE).at(&batch);
        let at: Vec<i64> = store.values(&all, held_lane::held_at).unwrap();
        assert_eq!(at, [30, 20]);
        store.insert(&number).unwrap();
        // What is put leaves the columns alone that it does not have.
        shape! {
            struct Looked of lookup { country: String, msisdn: String, at: i64 }
        }
        let looked = Looked {
            country: "KE".to_owned(),
            msisdn: "1".to_owned(),
            at: 9,
        };
        store.put(&looked).unwrap();
        let found: Number = store.first(&Scan::of(&lookup::TABLE)).unwrap().unwrap();
        assert_eq!((found.at, found.carrier.as_deref()), (9, Some("A")));
    });
    // One index says it as well as the key, and one of some rows alone.
    in_one(store, |store| {
        store.append(&notice("a", 1)).unwrap();
        for outcome in [2, 2, 0] {
            store.append(&decided(outcome)).unwrap();
        }
    });
    is_refused(store, |store| store.append(&notice("a", 2)).map(|_| ()));
    is_refused(store, |store| store.append(&decided(1)).map(|_| ()));
    in_one(store, |store| {
        store.append(&decided(2)).unwrap();
        assert_eq!(store.count(&Scan::of(&notice::TABLE)).unwrap(), 1);
        assert_eq!(store.count(&Scan::of(&bill::TABLE)).unwrap(), 4);
    });
}

fn decided(outcome: i64) -> Bill {
    Bill {
        seq: PaymentId::new(1),
        at: 1,
        outcome,
        due: Some(1),
        description: String::new(),
    }
}

fn rows_are_appended_value_by_value<S: Transact>(store: &S) {
    let bill = |seq: i64| Bill {
        seq: PaymentId::new(seq),
        at: 7,
        outcome: 2,
        due: (seq % 3 == 0).then_some(seq),
        // Longer and shorter ones, and the same one again.
        description: "a".repeat(usize::try_from(seq % 5 / 2).unwrap()),
    };
    in_one(store, |store| {
        assert_eq!(store.append(&bill(1)).unwrap(), 1);
        for (first, last) in [(2, 2), (3, 200), (201, 204)] {
            let mut appender = store.appender(&bill::TABLE, Bill::COLUMNS).unwrap();
            for seq in first..=last {
                for value in Shape::values(&bill(seq)) {
                    appender.value(value).unwrap();
                }
            }
            appender.flush().unwrap();
            appender.flush().unwrap();
        }
        let all = Scan::of(&bill::TABLE);
        let expected: Vec<Bill> = (1..=204).map(bill).collect();
        assert_eq!(store.list::<Bill>(&all).unwrap(), expected);
        let numbers: Vec<i64> = store.values(&all, bill::bill_id).unwrap();
        assert_eq!(numbers, (1..=204).collect::<Vec<_>>());
    });
    is_refused(store, |store| {
        let mut appender = store.appender(&held_lane::TABLE, Held::COLUMNS)?;
        for row in [held(1, 1, 10), held(1, 1, 20)] {
            for value in Shape::values(&row) {
                appender.value(value)?;
            }
        }
        appender.flush()
    });
}

fn numbers_follow_one_another<S: Transact>(store: &S) {
    in_one(store, |store| {
        assert_eq!(store.append(&notice("a", 1)).unwrap(), 1);
        assert_eq!(store.append(&notice("b", 1)).unwrap(), 2);
        assert_eq!(store.allocate(&notice::TABLE, 10).unwrap(), 3);
        let first = store.allocate(&evidence::TABLE, 3).unwrap();
        assert_eq!(first, 1);
    });
}

fn columns_that_are_left_out_have_what_the_schema_says<S: Transact>(store: &S) {
    in_one(store, |store| {
        store.insert(&life(1, 1, State::Ready, 0)).unwrap();
        let one = Scan::of(&life::TABLE);
        assert_eq!(store.value::<i64>(&one, life::attempts).unwrap(), Some(0));
        assert_eq!(store.value::<bool>(&one, life::queued).unwrap(), Some(true));
        assert_eq!(
            store.value::<Option<i64>>(&one, life::code).unwrap(),
            Some(None)
        );
        store.append(&notice("a", 1)).unwrap();
        let one = Scan::of(&notice::TABLE);
        assert_eq!(store.value::<i64>(&one, notice::due_at).unwrap(), Some(0));
    });
}

fn an_empty_column_makes_way_for_another<S: Transact>(store: &S) {
    shape! {
        struct Row of instruction {
            seq: PaymentId, batch_id: BatchId, load_id: LoadId, line: i64, identifier: String, generation: i64, received_at: i64,
            service_id: LaneId, msisdn: String, account_number: Option<String>, currency: String, country: String, as_due: bool,
            amount: i64,
        }
    }
    in_one(store, |store| {
        for (seq, account) in [(1, None), (2, Some("7")), (3, Some("1"))] {
            let row = Row {
                seq: PaymentId::new(seq),
                batch_id: BatchId::new(1),
                load_id: LoadId::new(1),
                line: seq,
                identifier: format!("id-{seq}"),
                generation: 0,
                received_at: 0,
                service_id: LaneId::new(1),
                msisdn: "7".to_owned(),
                account_number: account.map(str::to_owned),
                currency: "KES".to_owned(),
                country: "KE".to_owned(),
                as_due: seq < 3,
                amount: 1,
            };
            store.insert(&row).unwrap();
        }
        let (lane, account) = (LaneId::new(1), "7".to_owned());
        let same = Scan::by(&instruction::taken_from_bill)
            .at(&lane)
            .at(&account);
        let found: Vec<i64> = store.values(&same, instruction::seq).unwrap();
        assert_eq!(found, [1, 2]);
    });
}

fn a_transaction_is_there_as_a_whole<S: Transact>(store: &S) {
    in_one(store, |store| {
        store.insert(&life(1, 1, State::Ready, 7)).unwrap();
        store.insert(&held(1, 1, 1)).unwrap();
    });
    store.begin().unwrap();
    let all = Scan::of(&life::TABLE);
    store.insert(&life(2, 1, State::Ready, 8)).unwrap();
    store.set(&all, life::due_at, &9_i64).unwrap();
    store.remove(&Scan::of(&held_lane::TABLE)).unwrap();
    let due: Vec<i64> = store.values(&all, life::due_at).unwrap();
    assert_eq!(due, [9, 9], "a transaction sees what it wrote");
    store.rollback().unwrap();
    let due: Vec<i64> = store.values(&all, life::due_at).unwrap();
    assert_eq!(due, [7]);
    let batch = BatchId::new(1);
    let lane = LaneId::new(1);
    let queue = Scan::by(&life::post_queue).at(&batch).at(&lane);
    assert_eq!(store.count(&queue).unwrap(), 1);
    assert!(store.any(&Scan::of(&held_lane::TABLE)).unwrap());
}

/// A sum beyond all bounds, a text with every kind of character, bytes.
fn what_stays_is_whole<S: Transact>(store: &S) {
    shape! {
        #[derive(Debug, PartialEq)]
        struct Used of used { realm: i64, name: String, currency: String, day: i64, amount: i64 }
    }
    in_one(store, |store| {
        let row = Used {
            realm: i64::MIN,
            name: "r'\"%_\u{0}\u{1F4B8}ä".to_owned(),
            currency: String::new(),
            day: -1,
            amount: i64::MAX,
        };
        store.insert(&row).unwrap();
        assert_eq!(store.first(&Scan::of(&used::TABLE)).unwrap(), Some(row));
    });
}

fn rows_stand_beside_others<S: Transact + Read>(store: &S) {
    in_one(store, |store| {
        for seq in 0..2_000 {
            // Every third number is nobody's.
            if seq % 3 != 2 {
                store.insert(&life(seq, 1, State::Ready, -seq)).unwrap();
            }
        }
        let columns = [life::due_at, life::code];
        let mut lives = Beside::of(store, &life::TABLE, &columns);
        let mut check = |seq: i64| {
            let found = lives.find(seq).unwrap();
            let due_at: Option<i64> = found.as_ref().map(|row| row.get(0).unwrap());
            let expected = (0..2_000).contains(&seq) && seq % 3 != 2;
            assert_eq!(due_at, expected.then(|| -seq), "{seq}");
            if let Some(found) = found {
                assert_eq!(found.get::<Option<i64>>(1).unwrap(), None);
            }
        };
        (-3..2_010).for_each(&mut check);
        (0..2_000).rev().step_by(7).for_each(&mut check);
        [5, 5, 4, 4, 1_999, 0, 0, i64::MAX, i64::MIN, 3]
            .into_iter()
            .for_each(&mut check);
        store
            .append(&Bill {
                seq: PaymentId::new(7),
                at: 1,
                outcome: 2,
                due: None,
                description: "no such bill".to_owned(),
            })
            .unwrap();
        let columns = [bill::description, bill::due, bill::seq];
        let mut bills = Beside::of(store, &bill::TABLE, &columns);
        let found = bills.find(1).unwrap().unwrap();
        assert_eq!(found.get::<String>(0).unwrap(), "no such bill");
        assert_eq!(found.get::<Option<i64>>(1).unwrap(), None);
        assert_eq!(found.get::<PaymentId>(2).unwrap(), PaymentId::new(7));
        assert!(bills.find(2).unwrap().is_none());
    });
}
