//! Both stores, held to the contract and to one another.

use rusqlite::Connection;

use super::compare::{compare, contents};
use super::exercise::exercise;
use super::memory::Memory;
use super::sqlite::plan_of;
use super::tables::phrase;
use super::*;

fn sqlite() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema::NEW).unwrap();
    connection
}

#[test]
fn sqlite_keeps_the_contract() {
    exercise(sqlite);
}

#[test]
fn memory_keeps_the_contract() {
    exercise(Memory::default);
}

#[test]
fn what_cannot_be_read_spoils_no_other_row() {
    let c = sqlite();
    let phrase = |number: i64, bytes: &[u8]| {
        c.execute(
            "insert into phrase values (?1, cast(?2 as text))",
            (number, bytes),
        )
    };
    phrase(1, b"paid").unwrap();
    phrase(2, &[0xff]).unwrap();
    phrase(3, b"failed").unwrap();
    let mut phrases = Beside::of(&c, &phrase::TABLE, &[phrase::text]);
    let mut text = |number| phrases.find(number).unwrap().unwrap().get::<String>(0);
    assert_eq!(text(1).unwrap(), "paid");
    assert!(text(2).is_err());
    assert_eq!(text(3).unwrap(), "failed");
}

#[test]
fn random_reads_and_writes_end_alike_in_both() {
    for seed in 1..=40 {
        compare(&sqlite(), &Memory::default(), seed, 60);
    }
}

/// Scans of a table along its key or an index, with more and more of that order given.
fn along(table: &'static Table, index: Option<&'static Index>) -> Vec<Scan<'static>> {
    let start = || index.map_or_else(|| Scan::of(table), Scan::by);
    let by = index.map_or(table.key, |index| index.columns.len());
    let last = Column::new(u8::try_from(table.columns.len() - 1).unwrap());
    let mut scans = Vec::new();
    for given in 0..=by {
        let scan = (0..given).fold(start(), |scan, _| scan.at(&0_i64));
        scans.push(scan.clone());
        scans.push(scan.clone().only(last, Test::is(&0_i64)).limit(1));
        if given < by {
            scans.push(scan.clone().after(&0_i64).before(&9_i64));
            scans.push(scan.clone().up_to(&0_i64).limit(1));
        }
        scans.push(scan.descending().limit(1));
    }
    scans
}

#[test]
fn rows_are_found_in_their_order_and_not_sorted() {
    let c = sqlite();
    let mut otherwise = Vec::new();
    for table in tables::ALL {
        let indexes = table.indexes.iter().copied().map(Some);
        for index in indexes.chain([None]) {
            for scan in along(table, index) {
                let plan = plan_of(&c, &scan).unwrap();
                let is_given = !scan.at.is_empty() || scan.to.is_some();
                let is_found = !is_given || plan.starts_with("SEARCH");
                // What is unique in a table has an index that SQLite names.
                let named = index.filter(|index| !index.is_unique);
                let by_it = named.is_none_or(|index| plan.contains(index.name));
                if !is_found || !by_it || plan.contains("TEMP B-TREE") {
                    let index = index.map_or("its key", |index| index.name);
                    otherwise.push((table.name, index, scan.at.len(), plan));
                }
            }
        }
    }
    assert!(otherwise.is_empty(), "{otherwise:#?}");
}

#[test]
fn tables_are_those_of_the_schema() {
    let c = sqlite();
    let mut statement = c
        .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name")
        .unwrap();
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut known: Vec<&Table> = tables::ALL.to_vec();
    known.sort_by_key(|table| table.name);
    assert_eq!(
        names,
        known.iter().map(|table| table.name).collect::<Vec<_>>()
    );
    for table in known {
        let mut columns: Vec<&str> = table.columns.to_vec();
        columns.sort_unstable();
        let mut statement = c
            .prepare("select name from pragma_table_info(?1) order by name")
            .unwrap();
        let found: Vec<String> = statement
            .query_map([table.name], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(found, columns, "{}", table.name);
        // Every index is taken: SQLite refuses a statement whose index does not hold what it asks for.
        for index in table.indexes {
            c.count(&Scan::by(index)).unwrap();
            contents(&c, &Scan::by(index), &[]);
        }
    }
}
