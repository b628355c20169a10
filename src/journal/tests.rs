//! What no verb shows: the settings of the connections, a full disk, and who commits with whom.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use rusqlite::Connection;

use crate::domain::{
    Amount, BatchName, Country, Currency, Instruction, Money, Msisdn, Originator, Reference,
    ServiceCode, Timestamp,
};
use crate::journal::load::loading;
use crate::journal::schema::open::{APPLICATION_ID, SCHEMA_VERSION};
use crate::journal::schema::open::{Missing, for_reading, for_writing};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRow, Loaded};
use crate::store::Transact;

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    (folder, path)
}

fn pragma(c: &Connection, name: &str) -> String {
    c.pragma_query_value(None, name, |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str().unwrap().to_owned(),
        })
    })
    .unwrap()
}

#[test]
fn the_writer_syncs_every_commit_whether_the_journal_is_new_or_not() {
    let (_folder, path) = fresh();
    for _ in 0..2 {
        let c = for_writing(&path, Missing::Create).unwrap();
        for (name, value) in [
            ("synchronous", "2"),
            ("journal_mode", "wal"),
            ("trusted_schema", "0"),
            ("application_id", &APPLICATION_ID.to_string()),
            ("user_version", &SCHEMA_VERSION.to_string()),
            ("busy_timeout", "30000"),
        ] {
            assert_eq!(pragma(&c, name), value, "{name}");
        }
    }
}

#[test]
fn a_journal_that_lost_its_settings_gets_them_back() {
    let (_folder, path) = fresh();
    drop(for_writing(&path, Missing::Create).unwrap());
    let c = Connection::open(&path).unwrap();
    c.execute_batch("pragma journal_mode = delete").unwrap();
    drop(c);
    let c = for_writing(&path, Missing::Create).unwrap();
    assert_eq!(pragma(&c, "journal_mode"), "wal");
}

#[test]
fn a_reader_cannot_write() {
    let (_folder, path) = fresh();
    drop(for_writing(&path, Missing::Create).unwrap());
    let c = for_reading(&path).unwrap();
    let error = c.execute("insert into service (code) values ('X')", []);
    assert!(error.unwrap_err().to_string().contains("readonly"));
}

#[test]
fn sqlite_is_one_whose_write_ahead_log_is_sound() {
    assert!(rusqlite::version_number() >= 3_051_003);
}

#[test]
fn every_table_is_strict_and_the_file_is_whole() {
    let (_folder, path) = fresh();
    let c = for_writing(&path, Missing::Create).unwrap();
    let lax: i64 = c
        .query_row(
            "select count(*) from pragma_table_list where type = 'table' and not strict and name not like 'sqlite_%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(lax, 0);
    assert_eq!(pragma(&c, "integrity_check"), "ok");
}

pub(in crate::journal) fn row(n: u64) -> Instruction {
    let msisdn = Msisdn::from_digits("254700000001").unwrap();
    Instruction {
        line: n + 1,
        reference: Some(Reference::parse(&format!("R-{n}")).unwrap()),
        service: ServiceCode::parse("B2C").unwrap(),
        msisdn,
        account_number: "".into(),
        money: Money {
            amount: Amount::from_minor(100).unwrap(),
            currency: Currency::from_code("KES").unwrap(),
        },
        country: Country::from_code("KE").unwrap(),
        narration: "x".repeat(200).into(),
        customer_names: "".into(),
        invoice_number: "".into(),
        payment_mode: "".into(),
        hub_id: "".into(),
        extra: Vec::new(),
        document: None,
    }
}

pub(in crate::journal) fn plan() -> LoadPlan {
    LoadPlan {
        batch: BatchName::parse("b").unwrap(),
        originator: Originator::parse("acme").unwrap(),
        form: crate::domain::IdentifierForm::default(),
        source: "f.csv".into(),
        layout: None,
        is_ours: false,
        now: Timestamp::from_millis(1),
        purpose: crate::ledger::Purpose::Gateway,
        amend: false,
        allow_equal_rows: false,
        repeats: None,
        skip_bad_rows: false,
        presume_posted: false,
        expect_count: None,
        expect_total: None,
        batch_ceilings: Default::default(),
        new_documents: false,
        destination: None,
        dates: crate::ledger::calendar::BatchDates::default(),
        approval: None,
        dry_run: false,
    }
}

/// Loads as the writer does: in a transaction that an error rolls back.
fn load_rows(c: &mut WriteSession, count: u64) -> Result<Loaded, Error> {
    load_in_form(c, count, crate::domain::IdentifierForm::default())
}

fn load_in_form(
    c: &mut WriteSession,
    count: u64,
    form: crate::domain::IdentifierForm,
) -> Result<Loaded, Error> {
    let (sender, receiver) = channel();
    let mut block: Vec<_> = (1..=count).map(|n| LoadRow::Valid(row(n))).collect();
    block.push(LoadRow::EndOfFile);
    sender.send(block).unwrap();
    drop(sender);
    Transact::begin(&**c).unwrap();
    c.begin().unwrap();
    let loaded = loading::load(c, &LoadPlan { form, ..plan() }, receiver).and_then(|loaded| {
        c.save()?;
        Ok(loaded)
    });
    if c.is_open() {
        match &loaded {
            Ok(_) => c.commit().unwrap(),
            Err(_) => c.rollback().unwrap(),
        }
    }
    loaded
}

fn counts(path: &Path) -> Vec<i64> {
    let c = Connection::open(path).unwrap();
    [
        "batch",
        "load",
        "instruction",
        "identifier",
        "life",
        "tally",
    ]
    .map(|table| {
        let sql = format!("select count(*) from {table}");
        c.query_row(&sql, [], |row| row.get(0)).unwrap()
    })
    .into()
}

// The form has one character here: two of 40 rows must share one.
#[test]
fn two_rows_that_would_have_one_identifier_are_refused_and_nothing_is_loaded() {
    let (_folder, path) = fresh();
    let mut c = WriteSession::new(for_writing(&path, Missing::Create).unwrap());
    let form = crate::domain::IdentifierForm::colliding();
    let error = load_in_form(&mut c, 40, form).unwrap_err();
    assert!(
        matches!(&error, Error::IdentifiersCollide { line, other, .. } if line != other),
        "{error}"
    );
    assert_eq!(counts(&path), [0; 6]);
    assert!(matches!(load_rows(&mut c, 40), Ok(Loaded::New(_))));
}

#[test]
fn a_load_that_finds_the_disk_full_at_any_point_leaves_nothing_behind() {
    let limit = |c: &WriteSession, pages: i64| {
        let file = c.sqlite().unwrap();
        file.pragma_update(None, "max_page_count", pages).unwrap();
    };
    let pages = |c: &Connection| pragma(c, "page_count").parse::<i64>().unwrap();
    let (_folder, path) = fresh();
    let mut c = WriteSession::new(for_writing(&path, Missing::Create).unwrap());
    let empty = pages(c.sqlite().unwrap());
    load_rows(&mut c, 3000).unwrap();
    let needed = pages(c.sqlite().unwrap()) - empty;
    // Full while rows come in, while they are sorted, while their lives begin.
    for percent in [0, 20, 60, 70, 80, 85, 90, 95, 99] {
        let (_folder, path) = fresh();
        let mut c = WriteSession::new(for_writing(&path, Missing::Create).unwrap());
        let pages = empty + needed * percent / 100;
        limit(&c, pages);
        let loaded = load_rows(&mut c, 3000);
        let error = loaded.unwrap_err();
        assert!(error.to_string().contains("full"), "{percent} %: {error}");
        assert_eq!(counts(&path), [0; 6], "{percent} %");
        // With room again, the same file goes in whole.
        limit(&c, 100_000);
        assert!(matches!(load_rows(&mut c, 300), Ok(Loaded::New(_))));
        // The lives begin with the first claims.
        assert_eq!(counts(&path)[2..5], [300, 300, 0]);
    }
}

#[test]
fn a_new_journal_is_what_the_migrations_make_of_the_first_version() {
    let new = Connection::open_in_memory().unwrap();
    new.execute_batch(include_str!("../../schema.sql")).unwrap();
    let first = Connection::open_in_memory().unwrap();
    first
        .execute_batch(include_str!("schema/migrations/1.sql"))
        .unwrap();
    let schema_of = crate::store::schema::schema_of;
    let schema = schema_of(&new).unwrap();
    assert_ne!(schema_of(&first).unwrap(), schema);
    for step in crate::journal::schema::open::MIGRATIONS {
        first.execute_batch(step).unwrap();
    }
    let brought_up = schema_of(&first).unwrap();
    for (name, sql) in &schema {
        assert_eq!(brought_up.get(name), Some(sql), "{name}");
    }
    assert_eq!(brought_up.len(), schema.len());
    let named = |c: &Connection| -> i64 {
        c.query_row(
            "select count(*) from meta where key = 'journal' and length(value) = 16",
            [],
            |row| row.get(0),
        )
        .unwrap()
    };
    assert_eq!((named(&first), named(&new)), (1, 1));
}
