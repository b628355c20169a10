//! Releases that know different schemas, on one journal in PostgreSQL: one that was only added to is used by all of them, and a
//! release that may use it no more is told so, and posts nothing.

use super::fixture::{Kind, Server, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup};
use super::oracle::check;
use super::script::Mixed;

/// What a later release may do while this one is at work: it adds, in its turn, and says so.
const EXPAND: &str = r#"begin;
    update disburse.turn set number = number + 1, previous = writer, writer = null;
    alter table disburse.life add column later text collate "C";
    alter table disburse.evidence add column later bigint not null default 7;
    create table disburse.later (id bigint primary key, what text collate "C");
    create index life_later on disburse.life (later);
    update disburse.schema_version set version = 2;
    commit"#;

/// What it does when no earlier release is at work any more, before it takes away what they need.
const CONTRACT: &str =
    "begin; update disburse.turn set number = number + 1, previous = writer, writer = null, oldest = 2;
    update disburse.schema_version set version = 2; commit";

const RUN: [&str; 5] = ["run", BATCH, "--yes", "--max-wait", "20s"];

/// An office whose journal is in a database of its own, with its name.
fn office(server: &Server, gateway: &Gateway) -> (Office, String) {
    let setup = Setup {
        rows: 150,
        rate: "30/s",
        breaker_losses: 60,
        ..Setup::default()
    };
    let mut office = Office::open(gateway, setup);
    let database = server.database();
    let journal = server.address(&database);
    office.journal = Some(journal.clone());
    let made = office.call(&["journal", "init", &journal]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let loaded = office.call(&["load", "batch.csv", "--batch", BATCH]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    (office, database)
}

/// Runs the batch until it has finished.
fn finish(office: &Office) -> i32 {
    for _ in 0..12 {
        let ended = office.call(&RUN);
        match ended.code {
            Some(code @ (0 | 3)) => return code,
            Some(4 | 5) => {}
            _ => panic!("{ended:?}"),
        }
    }
    panic!("not finished: {:?}", office.call(&["status", BATCH]));
}

#[test]
fn a_schema_that_was_only_added_to_is_used_by_both_releases() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(710));
    let (office, database) = office(server, &gateway);
    let mut run = office.start(&RUN);
    run.until("it posts", || gateway.ledger.posts() > 10);
    server.psql(&database, EXPAND);
    let posts = gateway.ledger.posts();
    run.until("it goes on", || gateway.ledger.posts() > posts + 10);
    // One that begins now meets the other schema as a whole.
    let beside = [&RUN[..], &["--runner", "beside"]].concat();
    let beside = office.start(&beside).wait();
    let ended = run.wait();
    for ended in [beside, ended] {
        let text = format!("{ended:?}");
        assert!(matches!(ended.code, Some(0 | 3 | 4 | 5)), "{text}");
    }
    let code = finish(&office);
    check("a later schema", &gateway, &office, Some(code));
    let verified = office.call(&["verify", BATCH]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let journal = server.address(&database);
    let told = office.call(&["journal", "check", &journal]);
    assert!(
        told.out.contains("schema 2, of a later release"),
        "{told:?}"
    );
    // What else was changed is named as ever.
    server.psql(
        &database,
        "alter table disburse.life alter column state drop not null",
    );
    let told = office.call(&["journal", "check", &journal]);
    assert!(
        told.out.contains("column life.state was changed"),
        "{told:?}"
    );
}

#[test]
fn a_release_that_may_use_a_journal_no_more_is_told_so_and_posts_nothing() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(711));
    let (office, database) = office(server, &gateway);
    let mut run = office.start(&RUN);
    run.until("it posts", || gateway.ledger.posts() > 10);
    server.psql(&database, CONTRACT);
    let number = || server.psql(&database, "select number from disburse.turn");
    let written = number();
    let ended = run.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for said in [
        "a later release has changed the schema",
        "update this program",
    ] {
        assert!(ended.err.contains(said), "{said}: {ended:?}");
    }
    let posts = gateway.ledger.posts();
    for words in [
        &RUN[..],
        &["load", "batch.csv", "--batch", "other"],
        &["status", BATCH],
        &["cancel", BATCH, "--reason", "x", "--yes"],
    ] {
        let refused = office.call(words);
        assert_eq!(refused.code, Some(2), "{words:?}: {refused:?}");
        let said = "has schema 2, of a later release";
        assert!(refused.err.contains(said), "{words:?}: {refused:?}");
    }
    assert_eq!(number(), written, "nothing was written since");
    assert_eq!(gateway.ledger.posts(), posts);
    // As with the later release, whoever may write goes on where it stopped.
    server.psql(&database, "update disburse.turn set oldest = 1");
    let code = finish(&office);
    check("a release that came back", &gateway, &office, Some(code));
}
