//! Transactions that write come one after the other, whoever begins them.

use std::thread;
use std::time::Duration;

use super::super::fixture::{Kind, shared};
use super::super::{Deadlines, Postgres};
use super::{beside, fresh, short};
use crate::domain::PaymentId;
use crate::store::tables::{chain, inquiry};
use crate::store::{
    Error, Read as _, Reads as _, Scan, Transact as _, Write as _, Writes as _, shape,
};

shape! {
    struct Length of chain { batch_id: i64, length: i64, head: Vec<u8> }
}
shape! {
    struct Asked of inquiry { seq: PaymentId, batch_id: i64, due_at: i64 }
}

fn asked(seq: i64) -> Asked {
    Asked {
        seq: PaymentId::new(seq),
        batch_id: 1,
        due_at: 0,
    }
}

fn count(store: &Postgres) -> u64 {
    store.count(&Scan::of(&inquiry::TABLE)).unwrap()
}

#[test]
fn what_one_has_read_holds_until_it_has_written() {
    const EACH: i64 = 40;
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        store
            .insert(&Length {
                batch_id: 1,
                length: 0,
                head: vec![0; 32],
            })
            .unwrap();
        store.commit().unwrap();
        let writers = (0..3).map(|_| {
            let store = beside(&store);
            thread::spawn(move || {
                let one = Scan::of(&chain::TABLE).at(&1_i64);
                for _ in 0..EACH {
                    store.begin().unwrap();
                    let length: i64 = store.value(&one, chain::length).unwrap().unwrap();
                    // Numbers in a row, which all of them take.
                    let number = store.allocate(&chain::TABLE, 1).unwrap();
                    assert_eq!(number, length + 2);
                    let (batch_id, head) = (number, vec![1; 32]);
                    store
                        .insert(&Length {
                            batch_id,
                            length,
                            head,
                        })
                        .unwrap();
                    store.set(&one, chain::length, &(length + 1)).unwrap();
                    store.commit().unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.join().unwrap();
        }
        let one = Scan::of(&chain::TABLE).at(&1_i64);
        let length: i64 = store.value(&one, chain::length).unwrap().unwrap();
        assert_eq!(length, 3 * EACH);
        let all = store.count(&Scan::of(&chain::TABLE)).unwrap();
        assert_eq!(all, 3 * EACH.unsigned_abs() + 1);
    }
}

#[test]
fn a_version_changes_when_somebody_else_has_written() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let other = beside(&one);
    let write = |store: &Postgres, seq| {
        store.begin().unwrap();
        let version = store.version().unwrap();
        store.insert(&asked(seq)).unwrap();
        store.commit().unwrap();
        version
    };
    let first = write(&one, 1);
    assert_eq!(
        write(&one, 2),
        first,
        "its own writes are none of somebody else"
    );
    assert_eq!(one.version().unwrap(), first);
    other.begin().unwrap();
    other.rollback().unwrap();
    assert_eq!(
        write(&one, 3),
        first,
        "what was rolled back was never written"
    );
    write(&other, 4);
    let idle = one.version().unwrap();
    assert_ne!(idle, first);
    let second = write(&one, 5);
    assert_eq!(second, idle);
    write(&other, 6);
    one.begin_reading().unwrap();
    let third = one.version().unwrap();
    assert_ne!(third, second);
    write(&other, 7);
    assert_eq!(one.version().unwrap(), third, "a view holds still");
    one.commit().unwrap();
    assert_ne!(write(&one, 8), third);
}

#[test]
fn what_is_known_is_forgotten_when_somebody_else_has_written() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let other = beside(&one);
    one.begin().unwrap();
    one.insert(&asked(1)).unwrap();
    one.commit().unwrap();
    let seq = PaymentId::new(1);
    let own = Scan::of(&inquiry::TABLE).at(&seq);
    other.begin().unwrap();
    other.set(&own, inquiry::due_at, &7_i64).unwrap();
    other.commit().unwrap();
    one.begin().unwrap();
    assert_eq!(one.value(&own, inquiry::due_at).unwrap(), Some(7_i64));
    one.set(&own, inquiry::due_at, &8_i64).unwrap();
    one.rollback().unwrap();
    one.begin().unwrap();
    assert_eq!(one.value(&own, inquiry::due_at).unwrap(), Some(7_i64));
    one.rollback().unwrap();
}

#[test]
fn whoever_waits_too_long_for_a_turn_is_told() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let other = Postgres::open(one.address().clone(), short()).unwrap();
    one.begin().unwrap();
    let refused = other.begin();
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    assert!(!other.is_open());
    one.insert(&asked(1)).unwrap();
    one.commit().unwrap();
    other.begin().unwrap();
    assert_eq!(count(&other), 1);
    other.commit().unwrap();
}

#[test]
fn a_transaction_that_computes_is_none_of_a_host_that_stands_still() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let hasty = Deadlines {
        idle: Duration::from_millis(900),
        ..Deadlines::default()
    };
    let one = Postgres::open(fresh(server).address().clone(), hasty).unwrap();
    one.begin().unwrap();
    one.insert(&asked(1)).unwrap();
    thread::sleep(2 * hasty.idle);
    one.commit().unwrap();
    assert_eq!(count(&one), 1);
    // Whoever says nothing at all is ended, and the next one goes on.
    let silent = server.begin_turn(one.address().database(), hasty.idle);
    one.begin().unwrap();
    one.insert(&asked(2)).unwrap();
    one.commit().unwrap();
    drop(silent);
}

#[test]
fn a_view_holds_still_and_so_does_a_pass() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let one = fresh(server);
        let other = beside(&one);
        let add = |first: i64| {
            other.begin().unwrap();
            let rows: Vec<Asked> = (first..first + 100).map(asked).collect();
            other.insert_all(&rows).unwrap();
            other.commit().unwrap();
        };
        add(1);
        one.begin_reading().unwrap();
        add(101);
        assert_eq!(count(&one), 100);
        one.commit().unwrap();
        assert_eq!(count(&one), 200);
        let mut seen = 0;
        one.each(&Scan::of(&inquiry::TABLE), |_: Asked| {
            if seen == 0 {
                add(201);
            }
            seen += 1;
            Ok::<_, Error>(())
        })
        .unwrap();
        assert_eq!(seen, 200);
        assert!(!one.is_open());
        assert_eq!(count(&one), 300);
    }
}

#[test]
fn rows_that_are_expected_are_read_at_once() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    one.begin().unwrap();
    one.insert_all(&[asked(1), asked(3)]).unwrap();
    one.commit().unwrap();
    let one = beside(&one);
    one.begin().unwrap();
    let wanted = [1, 2, 3].map(PaymentId::new);
    let wanted = wanted
        .each_ref()
        .map(|seq| Scan::of(&inquiry::TABLE).at(seq));
    one.expect(&wanted).unwrap();
    // Nothing is asked of the server any more: it would not answer.
    server.psql(
        one.address().database(),
        "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()",
    );
    for (seq, expected) in [(1, true), (2, false), (3, true)] {
        let seq = PaymentId::new(seq);
        let own = Scan::of(&inquiry::TABLE).at(&seq);
        assert_eq!(one.any(&own).unwrap(), expected);
        let changed = one.set(&own, inquiry::due_at, &1_i64).unwrap();
        assert_eq!(changed, u64::from(expected));
    }
    let lost = one.commit();
    assert!(
        matches!(lost, Err(Error::ConnectionLost { .. })),
        "{lost:?}"
    );
}

#[test]
fn scans_that_are_expected_hold_until_their_table_is_written() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let batch = Scan::by(&inquiry::inquiry_queue).at(&1_i64);
    let seqs = |store: &Postgres| -> Vec<PaymentId> { store.values(&batch, inquiry::seq).unwrap() };
    one.begin().unwrap();
    one.expect(std::slice::from_ref(&batch)).unwrap();
    assert_eq!(seqs(&one), []);
    one.insert_all(&[asked(1), asked(2)]).unwrap();
    assert_eq!(seqs(&one), [1, 2].map(PaymentId::new));
    one.expect(std::slice::from_ref(&batch)).unwrap();
    let (first, second) = (PaymentId::new(1), PaymentId::new(2));
    let later = Scan::of(&inquiry::TABLE).at(&first);
    one.set(&later, inquiry::due_at, &9_i64).unwrap();
    assert_eq!(seqs(&one), [2, 1].map(PaymentId::new));
    one.expect(std::slice::from_ref(&batch)).unwrap();
    one.remove(&Scan::of(&inquiry::TABLE).at(&second)).unwrap();
    assert_eq!(seqs(&one), [first]);
    one.rollback().unwrap();
    one.begin().unwrap();
    assert_eq!(seqs(&one), []);
    one.rollback().unwrap();
}

#[test]
fn what_is_read_in_advance_is_what_others_have_written() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let other = beside(&one);
    let batch = Scan::by(&inquiry::inquiry_queue).at(&1_i64);
    let own = Scan::of(&chain::TABLE).at(&1_i64);
    for turn in 1..=6_i64 {
        // Asked for in every turn: from the third on it is read as the turn begins.
        one.begin().unwrap();
        let seqs: Vec<PaymentId> = one.values(&batch, inquiry::seq).unwrap();
        assert_eq!(seqs.len(), usize::try_from(turn - 1).unwrap());
        let length: Option<i64> = one.value(&own, chain::length).unwrap();
        assert_eq!(length, (turn > 1).then_some(turn - 1));
        one.commit().unwrap();
        other.begin().unwrap();
        other.insert(&asked(turn)).unwrap();
        other
            .put(&Length {
                batch_id: 1,
                length: turn,
                head: vec![0; 32],
            })
            .unwrap();
        other.commit().unwrap();
    }
}

#[test]
fn what_was_asked_for_in_every_turn_is_there_when_the_next_one_begins() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let other = beside(&one);
    let batch = Scan::by(&inquiry::inquiry_queue).at(&1_i64);
    for _ in 0..2 {
        one.begin().unwrap();
        assert!(!one.any(&batch).unwrap());
        one.commit().unwrap();
        other.begin().unwrap();
        other.commit().unwrap();
    }
    one.begin().unwrap();
    server.psql(
        one.address().database(),
        "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()",
    );
    assert!(!one.any(&batch).unwrap(), "no server is asked");
    let lost = one.commit();
    assert!(
        matches!(lost, Err(Error::ConnectionLost { .. })),
        "{lost:?}"
    );
}

#[test]
fn nothing_is_written_without_a_transaction_and_none_within_another() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    assert!(one.insert(&asked(1)).is_err());
    assert!(one.commit().is_err());
    one.rollback().unwrap();
    one.begin_reading().unwrap();
    assert!(one.is_open());
    assert!(one.begin().is_err());
    assert!(one.insert(&asked(1)).is_err());
    one.rollback().unwrap();
    one.begin().unwrap();
    assert!(one.begin_reading().is_err());
    one.rollback().unwrap();
    assert_eq!(count(&one), 0);
}

#[test]
fn the_clock_is_that_of_the_server() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let one = fresh(server);
    let first = one.now().unwrap();
    one.begin().unwrap();
    let (second, third) = (one.now().unwrap(), one.now().unwrap());
    one.commit().unwrap();
    assert!(first <= second && second <= third);
    let told = server.psql(
        "postgres",
        "select floor(extract(epoch from now()) * 1000)::bigint",
    );
    let told: i64 = told[0][0].parse().unwrap();
    assert!((told - third.as_millis()).abs() < 60_000);
    assert_eq!(Deadlines::default(), one.deadlines);
}
