//! Rows that are appended: what is asked while the server takes them in, and what ends that before its time.

use super::super::Postgres;
use super::super::fixture::{Kind, shared};
use super::fresh;
use super::losses::cut;
use crate::domain::PaymentId;
use crate::store::tables::{bill, inquiry, lane};
use crate::store::{Append, Error, Reads as _, Scan, Shape, Transact as _, Write as _, shape};

shape! {
    struct Due of bill { seq: PaymentId, at: i64, outcome: i64, description: String }
}

shape! {
    struct Asked of inquiry { seq: PaymentId, batch_id: i64, due_at: i64 }
}

shape! {
    struct Placed of lane { batch_id: i64, service_id: i64, fresh_from: i64 }
}

/// A row of so many bytes.
fn due(seq: i64, bytes: usize) -> Due {
    Due {
        seq: PaymentId::new(seq),
        at: 1,
        outcome: 2,
        description: "x".repeat(bytes),
    }
}

fn asked(seq: i64) -> Asked {
    Asked {
        seq: PaymentId::new(seq),
        batch_id: 1,
        due_at: 0,
    }
}

fn append<S: Shape>(to: &mut dyn Append, row: &S) -> Result<(), Error> {
    row.values()
        .into_iter()
        .try_for_each(|value| to.value(value))
}

fn bills(store: &Postgres) -> u64 {
    store.count(&Scan::of(&bill::TABLE)).unwrap()
}

/// So many bytes are sent at once.
const PART: usize = 4 << 20;

#[test]
fn others_may_read_and_append_between_parts() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        let mut bills_of = store.appender(&bill::TABLE, Due::COLUMNS).unwrap();
        let mut inquiries = store.appender(&inquiry::TABLE, Asked::COLUMNS).unwrap();
        for seq in 1..=3 {
            append(&mut *bills_of, &due(seq, PART)).unwrap();
            bills_of.flush().unwrap();
            assert_eq!(bills(&store), seq.unsigned_abs());
            append(&mut *inquiries, &asked(seq)).unwrap();
        }
        inquiries.flush().unwrap();
        append(&mut *bills_of, &due(4, PART)).unwrap();
        bills_of.flush().unwrap();
        drop((bills_of, inquiries));
        store.commit().unwrap();
        assert_eq!(bills(&store), 4);
        assert_eq!(store.count(&Scan::of(&inquiry::TABLE)).unwrap(), 3);
    }
}

#[test]
fn a_refused_row_is_told_and_nothing_of_its_transaction_stays() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        let mut appender = store.appender(&lane::TABLE, Placed::COLUMNS).unwrap();
        let placed = |at: i64| Placed {
            batch_id: 1,
            service_id: at,
            fresh_from: 1,
        };
        // The first row comes twice, and many follow it.
        let mut rows = (1..200_000).chain([1]).chain(200_000..600_000);
        let refused = rows.try_for_each(|at| append(&mut *appender, &placed(at)));
        let refused = refused.and_then(|()| appender.flush());
        assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
        drop(appender);
        assert!(store.commit().is_err());
        assert_eq!(store.count(&Scan::of(&lane::TABLE)).unwrap(), 0);
        store.begin().unwrap();
        let mut appender = store.appender(&lane::TABLE, Placed::COLUMNS).unwrap();
        append(&mut *appender, &placed(1)).unwrap();
        appender.flush().unwrap();
        drop(appender);
        store.commit().unwrap();
        assert_eq!(store.count(&Scan::of(&lane::TABLE)).unwrap(), 1);
    }
}

#[test]
fn nothing_stays_of_what_is_rolled_back_while_it_is_taken_in() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    for rolled_back in 1..=2 {
        store.begin().unwrap();
        let mut appender = store.appender(&bill::TABLE, Due::COLUMNS).unwrap();
        for seq in 1..=rolled_back {
            append(&mut *appender, &due(seq, PART)).unwrap();
        }
        store.rollback().unwrap();
        drop(appender);
        assert_eq!(bills(&store), 0);
    }
}

#[test]
fn a_connection_that_is_lost_meanwhile_loses_its_transaction_alone() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        let mut appender = store.appender(&bill::TABLE, Due::COLUMNS).unwrap();
        append(&mut *appender, &due(1, PART)).unwrap();
        cut(server, &store);
        let mut rows = 2..20;
        let lost = rows.try_for_each(|seq| append(&mut *appender, &due(seq, PART)));
        let lost = lost.and_then(|()| appender.flush());
        assert!(
            matches!(lost, Err(Error::ConnectionLost { .. })),
            "{lost:?}"
        );
        drop(appender);
        assert!(store.commit().is_err());
        assert_eq!(bills(&store), 0);
        store.begin().unwrap();
        let mut appender = store.appender(&bill::TABLE, Due::COLUMNS).unwrap();
        append(&mut *appender, &due(1, 1)).unwrap();
        appender.flush().unwrap();
        drop(appender);
        store.commit().unwrap();
        assert_eq!(bills(&store), 1);
    }
}
