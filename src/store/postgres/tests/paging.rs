//! Passes over many rows, of which some have nothing in the columns of their order, as memory shows them.

use super::super::fixture::{Kind, shared};
use super::fresh;
use crate::store::compare::contents;
use crate::store::memory::Memory;
use crate::store::tables::{evidence, rejected};
use crate::store::{Clash, Column, Index, Reads as _, Scan, Table, Test, Transact, Value};

/// Fills a table: of some rows, the columns of an index are empty.
fn fill(store: &impl Transact, table: &'static Table, columns: &[Column], rows: i64) {
    store.begin().unwrap();
    for seq in 0..rows {
        let row = columns.iter().map(|column| match table.name_of(*column) {
            "digest" if seq % 3 == 0 => Value::Null,
            "digest" => Value::Bytes(vec![u8::try_from(seq % 7).unwrap(), 0].into()),
            "batch_id" if table.name == "evidence" && seq % 4 == 0 => Value::Null,
            "batch_id" => Value::Integer(seq % 2),
            "event" => Value::Integer(21),
            "seq" => Value::Integer(0),
            "errors" => Value::Text("a\0b".into()),
            _ => Value::Integer(seq),
        });
        let row: Vec<_> = row.collect();
        store
            .insert_rows(table, columns, &[row], Clash::Refuse)
            .unwrap();
    }
    store.commit().unwrap();
}

fn scans(index: &'static Index, first: i64) -> Vec<Scan<'static>> {
    let first = Value::Integer(first);
    let at = |mut scan: Scan<'static>| {
        scan.at = vec![first.clone()];
        scan
    };
    let mut scans = vec![Scan::by(index), at(Scan::by(index))];
    let limited = scans.iter().map(|scan| scan.clone().limit(61));
    scans.extend(limited.collect::<Vec<_>>());
    let descending = scans.iter().map(|scan| scan.clone().descending());
    scans.extend(descending.collect::<Vec<_>>());
    let only = scans.iter().map(|scan| {
        let far = Test::AtLeast(Value::Integer(40));
        scan.clone().only(Column::new(0), far)
    });
    scans.extend(only.collect::<Vec<_>>());
    scans
}

#[test]
fn a_pass_over_many_pages_shows_what_memory_shows() {
    const REJECTED: &[Column] = &[
        rejected::load_id,
        rejected::line,
        rejected::nth,
        rejected::batch_id,
        rejected::errors,
        rejected::digest,
    ];
    const EVIDENCE: &[Column] = &[
        evidence::evidence_id,
        evidence::seq,
        evidence::at,
        evidence::event,
        evidence::batch_id,
    ];
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let (store, memory) = (fresh(server), Memory::default());
        for (table, columns) in [(&rejected::TABLE, REJECTED), (&evidence::TABLE, EVIDENCE)] {
            fill(&store, table, columns, 400);
            fill(&memory, table, columns, 400);
            for index in table.indexes {
                let firsts: &[i64] = if index.name == "about_batch" {
                    &[21]
                } else {
                    &[0, 1]
                };
                for scan in firsts.iter().flat_map(|first| scans(index, *first)) {
                    let (said, expected) = (
                        contents(&store, &scan, columns),
                        contents(&memory, &scan, columns),
                    );
                    assert_eq!(said, expected, "{scan:?}");
                    assert_eq!(
                        store.count(&scan).unwrap(),
                        memory.count(&scan).unwrap(),
                        "{scan:?}"
                    );
                }
            }
        }
    }
}
