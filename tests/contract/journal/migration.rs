//! A journal that an earlier release wrote.

use std::path::Path;

use disburse::journal::{BillCursor, Journal, Loaded, Reader};
use disburse::lifecycle::{Class, State};
use rusqlite::Connection;

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

/// Makes the journal that the first release would have written in the place of this one.
fn write_version_1(from: &Path, to: &Path) {
    let c = Connection::open(to).unwrap();
    c.execute_batch(include_str!("../../../schema.sql"))
        .unwrap();
    c.execute("attach ?1 as new", [from.to_str().unwrap()])
        .unwrap();
    let tables: Vec<String> = c
        .prepare("select name from main.sqlite_schema where type = 'table'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for table in tables {
        let columns: String = c
            .query_row(
                "select group_concat(name, ', ') from pragma_table_info(?1, 'main')",
                [&table],
                |row| row.get(0),
            )
            .unwrap();
        // It kept no digests of what stands in other tables.
        let (values, which) = match table.as_str() {
            "evidence" => (
                columns.replace("digest", "iif(event = 8, digest, null)"),
                "event <= 22",
            ),
            _ => (columns.clone(), "true"),
        };
        c.execute_batch(&format!(
            "insert into main.{table} ({columns}) select {values} from new.{table} where {which}"
        ))
        .unwrap();
    }
    let id: i64 = c
        .query_row("pragma new.application_id", [], |row| row.get(0))
        .unwrap();
    c.pragma_update(None, "application_id", id).unwrap();
    c.pragma_update(None, "user_version", 1).unwrap();
}

/// A world of version 1 with four payments: one paid, one in flight, one retried, one ready.
async fn old_world() -> World {
    let mut world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 3, 2).await;
    let ends = [(Class::Paid, 140), (Class::Failed, 141)];
    let findings = claims
        .iter()
        .zip(ends)
        .map(|(claim, (class, code))| finding(claim.seq, reply(class, code)));
    world.record(findings.collect(), 3).await;
    world.journal.retry(batch(), None, at(4)).await.unwrap();
    let old = world.path.with_file_name("old.db");
    write_version_1(&world.path, &old);
    // Whoever reads first brings it up, too.
    Reader::open(&old).unwrap();
    world.journal = Journal::open_existing(&old).unwrap();
    world.path = old;
    world
}

#[tokio::test]
async fn a_journal_of_the_first_version_goes_on_where_it_was() {
    let world = old_world().await;
    let version: i64 = world
        .sql()
        .query_row("pragma user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 2);
    let check: String = world
        .sql()
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    world.assert_adds_up();
    let proof = crate::proof::prove(&world.path);
    assert!(proof.is_sound(), "{:#?}", proof.findings);
    // Three claims, two replies and a retry were written without a chain.
    assert_eq!(proof.sealed, 6);
    assert_eq!(world.count(State::Paid), 1);
    let before = world.contents();
    let again = world.load(plan(), rows(1..=4)).await;
    assert!(matches!(again, Loaded::AlreadyThere(_)), "{again:?}");
    assert_eq!(world.contents(), before);
    // The rules of the first version hold: what has a life never changes.
    let changed = world.sql().execute("update instruction set amount = 1", []);
    assert!(changed.unwrap_err().to_string().contains("never changes"));

    let acquired = world.acquire(10).await;
    assert_eq!(acquired.abandoned, 1);
    assert_eq!(world.claim(acquired.token, 9, 11).await.len(), 2);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);

    // And rows of a kind that it could not hold are taken.
    let amend = disburse::journal::LoadPlan {
        amend: true,
        ..plan()
    };
    let file = vec![
        disburse::journal::Incoming::Unpriced(unpriced(9)),
        disburse::journal::Incoming::End,
    ];
    let loaded = world.load_incoming(amend, file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let page = world
        .journal
        .bills_to_ask(batch(), Vec::new(), BillCursor::ALL, 9);
    assert_eq!(page.await.unwrap().0.len(), 1);
    world.assert_adds_up();
}
