//! Figures of the store on a disk: `POSTGRES_FIGURES=1 POSTGRES_FOLDER=FOLDER cargo test --release --lib -- postgres::tests::figures
//! --nocapture`.

use std::time::{Duration, Instant};

use super::super::Postgres;
use super::super::fixture::{Kind, shared};
use super::{beside, fresh};
use crate::domain::{BatchId, EvidenceId, LaneId, PaymentId};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{
    Error, Read as _, Reads as _, Scan, Shape, Transact, Value, Write as _, Writes as _, shape,
};

shape! {
    struct Life of life { seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64 }
}
shape! {
    struct Moved of life { state: State, attempts: i64, posted_at: i64, due_at: i64 }
}
shape! {
    struct Evidence of evidence { evidence_id: EvidenceId, seq: PaymentId, at: i64, event: i64, batch_id: BatchId, detail: String }
}
shape! {
    struct Instruction of instruction {
        seq: PaymentId, batch_id: BatchId, load_id: i64, line: i64, identifier: String, reference: String, generation: i64,
        received_at: i64, service_id: LaneId, msisdn: String, amount: i64, currency: String, country: String, narration: String,
        salt: Vec<u8>,
    }
}
shape! {
    struct Identifier of identifier { identifier: String, seq: PaymentId }
}

fn told(what: &str, count: usize, took: Duration) {
    let rate = count as f64 / took.as_secs_f64();
    println!("{what}: {count} in {took:.2?}, {rate:.0} a second");
}

fn append<S: Shape>(store: &Postgres, rows: impl Iterator<Item = S>) -> Result<(), Error> {
    let mut appender = store.appender(S::TABLE, S::COLUMNS)?;
    for row in rows {
        for value in row.values() {
            appender.value(value)?;
        }
    }
    appender.flush()
}

fn instruction(seq: i64) -> Instruction {
    Instruction {
        seq: PaymentId::new(seq),
        batch_id: BatchId::new(1),
        load_id: 1,
        line: seq + 1,
        identifier: format!("{seq:026}"),
        reference: format!("REF-{seq}"),
        generation: 0,
        received_at: 1_790_000_000_000,
        service_id: LaneId::new(seq % 3),
        msisdn: format!("2547{seq:08}"),
        amount: 100 + seq,
        currency: "KES".to_owned(),
        country: "KE".to_owned(),
        narration: "Salary of November".to_owned(),
        salt: vec![7; 16],
    }
}

fn loads(store: &Postgres, rows: i64) {
    let start = Instant::now();
    store.begin().unwrap();
    // As a load does it: two tables at once, and the identifiers sorted at the end.
    append(store, (1..=rows).map(instruction)).unwrap();
    let one = start.elapsed();
    append(
        store,
        (1..=rows).map(|seq| Identifier {
            identifier: format!("{seq:026}"),
            seq: PaymentId::new(seq),
        }),
    )
    .unwrap();
    store.commit().unwrap();
    let rows = usize::try_from(rows).unwrap();
    told("instructions appended", rows, one);
    told("with their identifiers", rows, start.elapsed());
}

fn groups(store: &Postgres, groups: i64, size: i64) {
    store.begin().unwrap();
    append(
        store,
        (1..=groups * size).map(|seq| Life {
            seq: PaymentId::new(seq),
            batch_id: BatchId::new(1),
            service_id: LaneId::new(1),
            state: State::Ready,
            due_at: 0,
        }),
    )
    .unwrap();
    store.commit().unwrap();
    let start = Instant::now();
    for group in 0..groups {
        store.begin().unwrap();
        let keys: Vec<i64> = (1..=size).map(|at| group * size + at).collect();
        let wanted = keys.iter().map(|key| Scan::of(&life::TABLE).at(key));
        store.expect(&wanted.collect::<Vec<_>>()).unwrap();
        for seq in keys {
            let id = PaymentId::new(seq);
            let own = Scan::of(&life::TABLE).at(&id);
            let found: Life = store.first(&own).unwrap().unwrap();
            assert_eq!(found.state, State::Ready);
            let moved = Moved {
                state: State::Posting,
                attempts: 1,
                posted_at: 1,
                due_at: i64::MAX,
            };
            assert_eq!(store.change(&own, &moved).unwrap(), 1);
            store
                .insert(&Evidence {
                    evidence_id: EvidenceId::new(seq),
                    seq: id,
                    at: 1,
                    event: 1,
                    batch_id: BatchId::new(1),
                    detail: "{}".to_owned(),
                })
                .unwrap();
        }
        store.commit().unwrap();
    }
    let took = start.elapsed();
    let all = usize::try_from(groups * size).unwrap();
    told(&format!("payments in groups of {size}"), all, took);
}

#[test]
fn figures() {
    if std::env::var_os("POSTGRES_FIGURES").is_none() {
        return;
    }
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        let start = Instant::now();
        for _ in 0..500 {
            store.begin().unwrap();
            store.commit().unwrap();
        }
        told("empty writes", 500, start.elapsed());
        // Rows that are changed again and again, while somebody holds a view: none of their versions may go.
        let other = beside(&store);
        other.begin_reading().unwrap();
        for _ in 0..3 {
            let start = Instant::now();
            for _ in 0..1000 {
                store.begin().unwrap();
                store.commit().unwrap();
            }
            told("empty writes beside a view", 1000, start.elapsed());
        }
        other.commit().unwrap();
        let start = Instant::now();
        for _ in 0..500 {
            store.begin().unwrap();
            store.rollback().unwrap();
        }
        told("turns that are given back", 500, start.elapsed());
        let start = Instant::now();
        for _ in 0..1000 {
            store.now().unwrap();
        }
        told("round trips", 1000, start.elapsed());
        groups(&store, 100, 64);
        groups_of_one(&store);
        loads(&store, 300_000);
        let start = Instant::now();
        let mut sum = 0;
        store
            .each_row(
                &Scan::of(&instruction::TABLE),
                Instruction::COLUMNS,
                |row| {
                    if let Value::Integer(seq) = row.value(0)? {
                        sum += seq;
                    }
                    Ok::<_, Error>(std::ops::ControlFlow::Continue(()))
                },
            )
            .unwrap();
        told("instructions read", 300_000, start.elapsed());
    }
}

fn groups_of_one(store: &Postgres) {
    let start = Instant::now();
    for seq in 1..=300 {
        store.begin().unwrap();
        let id = PaymentId::new(seq);
        let own = Scan::of(&life::TABLE).at(&id);
        store.set(&own, life::attempts, &2_i64).unwrap();
        store.commit().unwrap();
    }
    told("payments one by one", 300, start.elapsed());
}
