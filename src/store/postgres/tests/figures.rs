//! What a turn costs on a disk: `POSTGRES_FIGURES=1 POSTGRES_FOLDER=FOLDER cargo test --release --lib -- postgres::tests::figures
//! --nocapture`. What the journal makes of it is measured by `cargo bench -- postgres`.

use std::time::{Duration, Instant};

use super::super::Postgres;
use super::super::fixture::{Kind, shared};
use super::{beside, fresh};
use crate::store::Transact;

fn told(what: &str, count: usize, took: Duration) {
    let rate = count as f64 / took.as_secs_f64();
    println!("{what}: {count} in {took:.2?}, {rate:.0} a second");
}

fn write_nothing(store: &Postgres, what: &str, times: usize) {
    let start = Instant::now();
    for _ in 0..times {
        store.begin().unwrap();
        store.commit().unwrap();
    }
    told(what, times, start.elapsed());
}

#[test]
fn figures() {
    if std::env::var_os("POSTGRES_FIGURES").is_none() {
        return;
    }
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        write_nothing(&store, "empty writes", 500);
        // Rows that are changed again and again, while somebody holds a view: none of their versions may go.
        let other = beside(&store);
        other.begin_reading().unwrap();
        for _ in 0..3 {
            write_nothing(&store, "empty writes beside a view", 1000);
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
    }
}
