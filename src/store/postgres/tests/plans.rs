//! Rows are found along the index that is named.

use super::super::fixture::{Kind, shared};
use super::super::{codec, columns, read};
use super::fresh;
use crate::lifecycle::State;
use crate::store::tables::life;
use crate::store::{
    Clash, Column, Index, Scan, Table, Test, Transact as _, Value, Write as _, tables,
};

#[test]
fn rows_are_found_in_their_order_and_not_sorted() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let mut otherwise = Vec::new();
    for table in tables::ALL.into_iter().chain(tables::SHARED) {
        let indexes = table.indexes.iter().copied().map(Some);
        for index in indexes.chain([None]) {
            for scan in along(table, index) {
                let plan = read::plan_of(&store, &scan).unwrap();
                let wanted = index.map_or(format!("{}_pkey", table.name), |index| {
                    index.name.to_owned()
                });
                let is_given = !scan.at.is_empty() || scan.to.is_some();
                // Along the key, an index that has fewer rows to look at may have the same order.
                let by_it = index.is_none() || plan.contains(&format!(" using {wanted} "));
                if !by_it || plan.contains("Sort") || is_given && !plan.contains("Index Cond") {
                    otherwise.push(format!("{} by {wanted}: {scan:?}\n{plan}", table.name));
                }
            }
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
}

/// Scans of a table along its key or an index, with more and more of that order given.
fn along(table: &'static Table, index: Option<&'static Index>) -> Vec<Scan<'static>> {
    let start = || index.map_or_else(|| Scan::of(table), Scan::by);
    let by = index.map_or(table.key, |index| index.columns.len());
    let column_of = |at: usize| {
        index.map_or_else(
            || Column::new(u8::try_from(at).unwrap()),
            |index| index.columns[at],
        )
    };
    let value_of = |column| match columns::type_of(table, column).unwrap().kind {
        codec::Kind::Integer(_) => Value::Integer(0),
        codec::Kind::Bytes => Value::Bytes(vec![0].into()),
        codec::Kind::Text | codec::Kind::Any => Value::Text("0".into()),
    };
    let last = Column::new(u8::try_from(table.columns.len() - 1).unwrap());
    let mut scans = Vec::new();
    for given in 0..=by {
        let mut scan = start();
        scan.at = (0..given).map(|at| value_of(column_of(at))).collect();
        scans.push(scan.clone());
        scans.push(scan.clone().only(last, Test::Is(value_of(last))).limit(1));
        if given < by {
            let next = || vec![value_of(column_of(given))];
            scans.push(scan.clone().after_all(next()));
            let mut up_to = scan.clone().from_all(next());
            up_to.to = up_to.from.clone();
            scans.push(up_to);
        }
        scans.push(scan.descending().limit(1));
    }
    scans
}

#[test]
fn nothing_is_looked_at_behind_the_last_row() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    store.begin().unwrap();
    let columns = [
        life::seq,
        life::batch_id,
        life::service_id,
        life::state,
        life::due_at,
    ];
    for seq in 1_i64..=5_000 {
        let row = [seq, 1, 1, State::Acknowledged as i64, seq].map(Value::Integer);
        let row = [row.to_vec()];
        store
            .insert_rows(&life::TABLE, &columns, &row, Clash::Refuse)
            .unwrap();
    }
    store.commit().unwrap();
    let (batch, doubt) = (1_i64, State::InDoubt as i64);
    // Those in doubt stand before those that the gateway has, of which none need be looked at.
    let scan = Scan::by(&life::ask_queue).at(&batch).at(&doubt);
    let pages = read::pages_of(&store, &scan).unwrap();
    assert!(pages < 10, "{pages} pages");
}
