//! A journal that an earlier release wrote.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use disburse::domain::{BatchName, Timestamp};
use disburse::journal::{BillCursor, Home, Journal, Loaded, Location, Reader, ReportRow, RunTerms};
use disburse::ledger::pace::Last;
use disburse::ledger::recovery::Cause;
use disburse::lifecycle::{Class, Policy, State};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

/// Makes the journal that the first release would have written in the place of this one.
fn write_version_1(from: &Path, to: &Path) {
    let c = Connection::open(to).unwrap();
    c.execute_batch(include_str!("../../../src/journal/schema/migrations/1.sql"))
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
        let said = "(select text from new.phrase p where p.phrase_id = t.phrase_id)";
        let (values, which) = match table.as_str() {
            // It kept no digests of what stands in other tables, and the gateway's words in the detail.
            "evidence" => (
                columns
                    // Before it stand the first claims, which had rows of their own.
                    .replace("evidence_id", "evidence_id + 1000")
                    .replace("digest", "iif(event = 8, digest, null)")
                    .replace(
                        "detail",
                        &format!(
                            "nullif(json_patch(coalesce(detail, '{{}}'), json_object('description', {said},
                                 'gateway_transaction_id', gateway_transaction_id, 'receipt_number', receipt_number,
                                 'receiver_narration', receiver_narration)), '{{}}')"
                        ),
                    ),
                "event <= 22",
            ),
            "life" => (columns.replace("status_description", said), "true"),
            // It had no name, and no mark beside it.
            "meta" => (columns.clone(), "key not in ('journal', 'marked')"),
            _ => (columns.clone(), "true"),
        };
        c.execute_batch(&format!(
            "insert into main.{table} ({columns}) select {values} from new.{table} t where {which}"
        ))
        .unwrap();
    }
    c.execute_batch(
        "insert into main.evidence (seq, at, event) select seq, posted_at, 0 from new.life where posted_at is not null;
         insert into main.life (seq, batch_id, service_id, state, due_at)
         select seq, batch_id, service_id, 0, 0 from new.instruction where seq not in (select seq from new.life);",
    )
    .unwrap();
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
    Reader::open(&Location::from(&old)).unwrap();
    world.journal = Journal::open_existing(&Location::from(&old)).unwrap();
    world.path = old;
    world
}

#[tokio::test]
async fn a_row_whose_retry_an_earlier_release_counted_is_counted_by_what_paid_it() {
    let mut world = World::loaded(2).await;
    let first = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    for claim in world.claim(token, 1, 2).await {
        let refused = finding(claim.seq, reply(Class::Refused, 120));
        world.record(vec![refused], 3).await;
    }
    world.journal.retry(batch(), None, at(4)).await.unwrap();
    world.callback(note(first, Class::Paid, 140, 1), 5).await;
    let retry = world.find("EMP-1").payment.id.to_string();
    let cancelled = world
        .journal
        .cancel(batch(), Some(retry.into()), moment(6))
        .await;
    assert_eq!(cancelled.unwrap(), 1);
    let old = world.path.with_file_name("old.db");
    write_version_1(&world.path, &old);
    // The newest generation was counted, whatever became of those before it.
    let c = Connection::open(&old).unwrap();
    let moved = c.execute("update tally set state = 7 where state = 8", []);
    assert_eq!(moved.unwrap(), 1);
    drop(c);
    world.journal = Journal::open_existing(&Location::from(&old)).unwrap();
    world.path = old;
    world.assert_adds_up();
    assert_eq!(world.count(State::Conflict), 1);
    assert_eq!(world.count(State::Cancelled), 0);
    let reader = world.reader();
    let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
    assert!(proof.is_sound(), "{:#?}", proof.findings);
}

/// A journal that an earlier release left, as this one brings it up.
struct Old {
    _folder: TempDir,
    path: PathBuf,
    reader: Reader,
    name: BatchName,
}

impl Old {
    fn brought_up(journal: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        std::fs::write(&path, journal).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let reader = Reader::open(&Location::from(&path)).unwrap();
        Self {
            _folder: folder,
            path,
            reader,
            name: BatchName::parse("old").unwrap(),
        }
    }

    /// Asserts that it proves itself with the head that its own release's `verify` printed, and that so many payments add up.
    fn assert_proven(&self, length: u64, hash: &str, payments: usize) {
        let proof = self
            .reader
            .snapshot(&self.name)
            .unwrap()
            .prove(None)
            .unwrap();
        assert!(proof.is_sound(), "{:#?}", proof.findings);
        let head = proof.head.unwrap();
        assert_eq!(head.length, length);
        assert_eq!(data_encoding::HEXLOWER.encode(&head.hash), hash);
        let compared = assert_evidence_adds_up(&self.reader, &self.name, &Policy::default());
        assert_eq!(compared, payments);
    }
}

/// A batch of 16 payments as version 2 left it: paid, refused, retried, in doubt, under way, cancelled; its run was killed.
const VERSION_2: &[u8] = include_bytes!("earlier/version-2.journal");

#[tokio::test]
async fn a_journal_of_the_second_version_is_proven_by_what_it_was_proven_by_then() {
    let old = Old::brought_up(VERSION_2);
    old.assert_proven(
        39,
        "2a830952dfafe04dc0db3f15c1e33b08adb8a40669f3ca1c821a442f16cb398a",
        17,
    );
    // What was said then stands where it stood.
    let snapshot = old.reader.snapshot(&old.name).unwrap();
    let said = snapshot
        .rows()
        .filter_map(|row| match row.unwrap() {
            ReportRow::Payment(payment) => payment.status_description,
            _ => None,
        })
        .filter(|said| said == "Payment accepted")
        .count();
    assert_eq!(said, 6);
}

/// A batch of 16 payments as version 3 left it: paid, acknowledged, in doubt, under way, cancelled, ready; its run was killed.
const VERSION_3: &[u8] = include_bytes!("earlier/version-3.journal");

#[tokio::test]
async fn a_journal_of_the_third_version_is_proven_as_it_was_and_goes_on() {
    let old = Old::brought_up(VERSION_3);
    old.assert_proven(
        29,
        "bba7c3c7ab6e659686219fd062d5ff26033933f7a52797fef802c5fa2980ce8b",
        16,
    );

    // What it had acknowledged, what was under way and what is in doubt is asked about.
    let c = Connection::open(&old.path).unwrap();
    let (gateway, wire): (String, String) = c
        .query_row("select gateway, wire from batch", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let (now, later) = (
        Timestamp::now(),
        Timestamp::now().after(Duration::from_secs(3600)),
    );
    let terms = RunTerms {
        home: Home {
            gateway,
            wire,
            ..home()
        },
        now,
        ..terms(0)
    };
    let journal = Journal::open_existing(&Location::from(&old.path)).unwrap();
    let acquired = journal
        .acquire(old.name.clone(), terms, Arc::new(policy()))
        .await
        .unwrap();
    assert_eq!(acquired.abandoned, 2);
    // Nobody had noted its account: it took that of its first run since, and the rate of all accounts was kept.
    let reader = Reader::open(&Location::from(&old.path)).unwrap();
    let record = reader.snapshot(&old.name).unwrap().record().unwrap();
    assert_eq!(record.account.as_deref(), Some("acme"));
    assert_eq!(acquired.last_post, Last::Unknown);
    let questions = journal.questions(acquired.token, 64, later, later);
    assert_eq!(questions.await.unwrap().0.len(), 4 + 2 + 3);
}

/// A batch of 16 payments as version 4 left it: paid, acknowledged, one of these outside the queue, in doubt, under way,
/// cancelled, ready, two of these for the second time; its run was killed.
const VERSION_4: &[u8] = include_bytes!("earlier/version-4.journal");

#[tokio::test]
async fn a_journal_of_the_fourth_version_is_proven_as_it_was_gets_its_mark_and_goes_on() {
    let old = Old::brought_up(VERSION_4);
    old.assert_proven(
        16,
        "380feb56418e7528698bd8c590c34b58fa1c0c7c2621db16dd72426b731c86a4",
        16,
    );
    let mark = old.path.with_file_name("journal.db.mark");
    assert!(!mark.exists(), "who reads it writes none");
    assert_eq!(old.reader.missed().unwrap(), None);

    let journal = Journal::open_existing(&Location::from(&old.path)).unwrap();
    assert!(mark.exists());
    assert_eq!(journal.recovery().await.unwrap(), None);
    let count = |state| {
        let standing = old.reader.snapshot(&old.name).unwrap().standing();
        standing.unwrap().of(state).count
    };
    assert_eq!(count(State::Ready), 5);
    drop(journal);

    // From now on, it is a copy where its mark is not.
    std::fs::remove_file(&mark).unwrap();
    let journal = Journal::open_existing(&Location::from(&old.path)).unwrap();
    let recovery = journal.recovery().await.unwrap().unwrap();
    assert_eq!(recovery.cause, Cause::NoMark);
    // The one that was cancelled as well: nothing tells what was in the place of this journal meanwhile.
    assert_eq!((count(State::Ready), count(State::InDoubt)), (0, 7));
    let compared = assert_evidence_adds_up(&old.reader, &old.name, &Policy::default());
    assert_eq!(compared, 16);
}

#[tokio::test]
async fn a_journal_of_the_first_version_goes_on_where_it_was() {
    let world = old_world().await;
    let version: i64 = world
        .sql()
        .query_row("pragma user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 11);
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
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    assert_eq!(world.contents(), before);
    // The rules of the first version hold: what has a life never changes.
    let changed = world.sql().execute("update instruction set amount = 1", []);
    assert!(changed.unwrap_err().to_string().contains("never changes"));

    let acquired = world.acquire(10).await;
    assert_eq!(acquired.abandoned, 1);
    assert_eq!(world.claim(acquired.token, 9, 11).await.len(), 2);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);

    // What it loaded is not paid again.
    let again = disburse::journal::LoadPlan {
        batch: BatchName::parse("again").unwrap(),
        repeats: Some(disburse::journal::RepeatPlan::default()),
        ..plan()
    };
    let mut file = rows(1..=6);
    file[3].reference = None;
    let refused = world.load(again, file).await;
    let disburse::journal::Loaded::Refused(disburse::journal::LoadRefusal::BadRows {
        repeats: Some(repeats),
        ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(repeats.rows, 4);

    // And rows of a kind that it could not hold are taken.
    let amend = disburse::journal::LoadPlan {
        amend: true,
        ..plan()
    };
    let file = vec![
        disburse::journal::LoadRow::Unpriced(unpriced(9)),
        disburse::journal::LoadRow::EndOfFile,
    ];
    let loaded = world.load_incoming(amend, file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let page = world
        .journal
        .bills_to_ask(batch(), Vec::new(), BillCursor::ALL, 9);
    assert_eq!(page.await.unwrap().0.len(), 1);
    world.assert_adds_up();
}
