//! What is never changed or removed, whoever writes.

use super::super::Postgres;
use super::super::fixture::{Kind, shared};
use super::fresh;
use crate::store::tables::{self, evidence, phrase};
use crate::store::{
    Clash, Column, Error, Reads as _, Scan, Table, Transact as _, Value, Write as _,
};

/// A row of a table that its rules take: a number or a text everywhere.
fn insert(store: &Postgres, table: &'static Table, seq: i64) {
    let row: Vec<(Column, Value<'static>)> = table
        .every_column()
        .into_iter()
        .filter_map(|column| {
            let value = match table.name_of(column) {
                name if column == Column::new(0) || name == "seq" => Value::Integer(seq),
                "salt" => Value::Bytes(vec![1; 16].into()),
                "hash" => Value::Bytes(vec![1; 32].into()),
                "digest" => Value::Bytes(vec![1].into()),
                "amount" | "due" | "outcome" | "settle_on" | "status_query" => Value::Integer(1),
                "as_due" => Value::Integer(0),
                "text" | "reference" | "reply" | "description" | "identifier" | "msisdn"
                | "currency" | "country" | "detail" => Value::Text("x".into()),
                "batch_id"
                | "load_id"
                | "line"
                | "generation"
                | "received_at"
                | "service_id"
                | "at"
                | "event"
                | "bytes"
                | "not_found_quarantine"
                | "exposures_max" => Value::Integer(seq),
                _ => return None,
            };
            Some((column, value))
        })
        .collect();
    let (columns, values): (Vec<_>, Vec<_>) = row.into_iter().unzip();
    let inserted = store.insert_rows(table, &columns, &[values], Clash::Refuse);
    assert_eq!(inserted.unwrap(), 1, "{}", table.name);
}

#[test]
fn evidence_and_what_it_rests_on_are_never_changed_or_removed() {
    let guarded = [
        &tables::evidence::TABLE,
        &tables::phrase::TABLE,
        &tables::policy::TABLE,
        &tables::upload::TABLE,
        &tables::bill::TABLE,
        &tables::instruction::TABLE,
    ];
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        for table in guarded {
            insert(&store, table, 1);
        }
        // An instruction may change until its payment begins.
        insert(&store, &tables::instruction::TABLE, 2);
        let (state, due_at) = (Value::Integer(0), Value::Integer(0));
        let life = [
            Value::Integer(1),
            Value::Integer(1),
            Value::Integer(1),
            state,
            due_at,
        ];
        let of_life = [
            tables::life::seq,
            tables::life::batch_id,
            tables::life::service_id,
            tables::life::state,
            tables::life::due_at,
        ];
        store
            .insert_rows(
                &tables::life::TABLE,
                &of_life,
                &[life.to_vec()],
                Clash::Refuse,
            )
            .unwrap();
        store.commit().unwrap();
        for table in guarded {
            let one = Scan::of(table).at(&1_i64);
            let column = Column::new(1);
            let is_refused = |what: &dyn Fn() -> Result<u64, Error>| {
                store.begin().unwrap();
                let told = what().and_then(|_| store.commit());
                assert!(
                    matches!(told, Err(Error::Refused { .. })),
                    "{}: {told:?}",
                    table.name
                );
                if store.is_open() {
                    store.rollback().unwrap();
                }
            };
            let other = match table.name {
                "phrase" => Value::Text("y".into()),
                _ => Value::Integer(2),
            };
            is_refused(&|| store.change_rows(&one, &[column], std::slice::from_ref(&other)));
            is_refused(&|| store.remove_rows(&one));
            assert_eq!(store.count(&one).unwrap(), 1, "{}", table.name);
            let emptied = format!("truncate disburse.{} cascade", table.name);
            let told = server.try_psql(store.address().database(), &emptied);
            assert!(told.is_err(), "{emptied}");
        }
        let changes = Scan::of(&tables::instruction::TABLE).at(&2_i64);
        store.begin().unwrap();
        let (column, value) = (tables::instruction::amount, [Value::Integer(5)]);
        assert_eq!(store.change_rows(&changes, &[column], &value).unwrap(), 1);
        store.commit().unwrap();
    }
}

#[test]
fn a_person_is_forgotten_of_evidence() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    store.begin().unwrap();
    insert(&store, &evidence::TABLE, 1);
    store.commit().unwrap();
    let one = Scan::of(&evidence::TABLE).at(&1_i64);
    store.begin().unwrap();
    let columns = [evidence::salt, evidence::detail];
    let values = [Value::Bytes(vec![2; 32].into()), Value::Null];
    assert_eq!(store.change_rows(&one, &columns, &values).unwrap(), 1);
    store.commit().unwrap();
    assert!(!store.any(&Scan::of(&phrase::TABLE)).unwrap());
}

#[test]
fn a_load_that_has_ended_and_its_identifiers_stay() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let database = store.address().database();
    server.psql(
        database,
        "insert into disburse.batch (batch_id, name, originator, created_at) values (1, 'b', 'o', 0);
        insert into disburse.load (load_id, batch_id, source, digest, loaded_at, accepted, rejected) values (1, 1, 's', '', 0, 0, 0);
        insert into disburse.instruction (seq, batch_id, load_id, line, identifier, generation, received_at, service_id, msisdn, currency,
            country, as_due) select n, 1, 1, n, 'I' || n, 0, 0, 1, '254700000001', 'KES', 'KE', 1 from generate_series(1, 4) n;
        insert into disburse.identifier (identifier, seq) select identifier, seq from disburse.instruction",
    );
    let tried = |statement: &str| server.try_psql(database, statement).is_ok();
    // As it comes, rows are named otherwise and taken out again.
    assert!(tried(
        "update disburse.instruction set identifier = 'X' where seq = 4"
    ));
    assert!(tried("delete from disburse.identifier where seq = 4"));
    assert!(tried("delete from disburse.instruction where seq = 4"));
    assert!(tried("update disburse.load set digest = 'd'"));
    for statement in [
        "update disburse.load set digest = ''",
        "update disburse.load set accepted = 9",
        "delete from disburse.load",
        "truncate disburse.load cascade",
        "update disburse.identifier set seq = 9",
        "delete from disburse.identifier where seq = 1",
        "truncate disburse.identifier",
        "update disburse.instruction set msisdn = '254700000002' where seq = 1",
        "update disburse.instruction set identifier = 'Y', amount = 5 where seq = 1",
        "delete from disburse.instruction where seq = 1",
    ] {
        assert!(!tried(statement), "{statement}");
    }
    // Its bill says what a row comes to, once.
    assert!(tried(
        "update disburse.instruction set amount = 5 where seq = 1"
    ));
    assert!(!tried(
        "update disburse.instruction set amount = 6 where seq = 1"
    ));
}
