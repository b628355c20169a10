//! Rows that differ in little: what they share is sent once, and each ends as it would alone.

use super::super::fixture::{Kind, shared};
use super::*;
use crate::store::compare::contents;
use crate::store::tables::{bill, used};
use crate::store::{Clash, Column, Scan, Transact, Value};

/// Around the number from which on a value is sent once, and the number of rows that one statement takes.
const SIZES: [i64; 7] = [1, 2, 31, 32, 33, 1_000, 1_033];

const USED: &[Column] = &[
    used::realm,
    used::name,
    used::currency,
    used::day,
    used::amount,
];

/// Has columns that may be empty.
const BILL: &[Column] = &[
    bill::bill_id,
    bill::seq,
    bill::at,
    bill::outcome,
    bill::code,
    bill::customer_name,
    bill::description,
    bill::salt,
];

type Rows = Vec<Vec<Value<'static>>>;

fn text(text: impl Into<String>) -> Value<'static> {
    Value::Text(text.into().into())
}

/// Rows of the first table whose keys differ in one column alone.
fn used_rows(size: i64, differ: Column, amount: impl Fn(i64) -> i64) -> Rows {
    let row = |at: i64| {
        let number = |column| Value::Integer(if column == differ { at } else { 7 });
        let name = |column, of: &str| match column == differ {
            true => text(format!("{of}{at:05}")),
            false => text(format!("{of}\0 'a")),
        };
        vec![
            number(used::realm),
            name(used::name, "n"),
            name(used::currency, "c"),
            number(used::day),
            Value::Integer(amount(at)),
        ]
    };
    (0..size).map(row).collect()
}

/// Of the second one; every third row differs from the others where they are `mixed`.
fn bills(size: i64, mixed: bool) -> Rows {
    let row = |at: i64| {
        let is_other = mixed && at % 3 == 0;
        vec![
            Value::Integer(at + 1),
            Value::Integer(at),
            Value::Integer(5),
            Value::Integer(2),
            if is_other {
                Value::Integer(at)
            } else {
                Value::Null
            },
            if is_other { text("who") } else { Value::Null },
            text("refused"),
            Value::Bytes(vec![3; 16].into()),
        ]
    };
    (0..size).map(row).collect()
}

/// Does the same with both stores, which say the same and hold the same then.
fn both(a: &Postgres, b: &Memory, work: impl Fn(&dyn Transact) -> u64) {
    let done = |store: &dyn Transact| {
        store.begin().unwrap();
        let done = work(store);
        store.commit().unwrap();
        done
    };
    assert_eq!(done(a), done(b));
    for (table, columns) in [(&used::TABLE, USED), (&bill::TABLE, BILL)] {
        let all = Scan::of(table);
        assert_eq!(contents(a, &all, columns), contents(b, &all, columns));
    }
}

#[test]
fn rows_that_are_alike_are_written_as_each_would_be_alone() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let differing = [used::realm, used::name, used::currency, used::day];
    for (size, differ) in SIZES
        .into_iter()
        .flat_map(|size| differing.map(|it| (size, it)))
    {
        let (a, b) = (fresh(server), Memory::default());
        let insert = |rows: &Rows, clash: Clash| {
            both(&a, &b, |store| {
                store.insert_rows(&used::TABLE, USED, rows, clash).unwrap()
            });
        };
        let rows = used_rows(size, differ, |_| 9);
        insert(&rows, Clash::Refuse);
        insert(&used_rows(size, differ, |at| at), Clash::Keep);
        insert(&used_rows(size + 40, differ, |_| 11), Clash::Keep);
        // Forty times the same.
        insert(
            &vec![used_rows(1, differ, |_| 5)[0].clone(); 40],
            Clash::Keep,
        );
        let by_key = |row: &Vec<Value<'static>>| {
            let mut scan = Scan::of(&used::TABLE);
            scan.at = row[..4].to_vec();
            scan
        };
        for amount in [|_| 21, |at: i64| at % 2] {
            both(&a, &b, |store| {
                let changed = rows.iter().enumerate().map(|(at, row)| {
                    let amount = [Value::Integer(amount(at as i64))];
                    store
                        .change_rows(&by_key(row), &[used::amount], &amount)
                        .unwrap()
                });
                changed.sum()
            });
        }
        insert(&used_rows(size, differ, |_| 30), Clash::Replace);
        both(&a, &b, |store| {
            let removed = rows.iter().step_by(2);
            removed
                .map(|row| store.remove_rows(&by_key(row)).unwrap())
                .sum()
        });
    }
}

#[test]
fn what_many_rows_leave_empty_stays_empty() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    for (size, mixed) in SIZES
        .into_iter()
        .flat_map(|size| [(size, false), (size, true)])
    {
        let (a, b) = (fresh(server), Memory::default());
        both(&a, &b, |store| {
            let rows = bills(size, mixed);
            store
                .insert_rows(&bill::TABLE, BILL, &rows, Clash::Refuse)
                .unwrap()
        });
    }
}
