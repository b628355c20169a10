//! Every change from outside is found: of any byte of the evidence, of any row, of what the evidence speaks of.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use disburse::journal::{Location, Reader};
use disburse::lifecycle::Class;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params};

use super::eventful;
use crate::support::*;

/// The bytes of a journal that whoever can write the file has freed of its guards.
struct Scene {
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
}

impl Scene {
    fn of(world: &World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy.db");
        let c = world.sql();
        c.execute("vacuum into ?1", [copy.to_str().unwrap()])
            .unwrap();
        let c = Connection::open(&copy).unwrap();
        let guards: Vec<String> = c
            .prepare("select name from sqlite_schema where type = 'trigger'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let missing = guards.len();
        for name in guards {
            c.execute_batch(&format!("drop trigger {name}")).unwrap();
        }
        drop(c);
        let scene = Self {
            bytes: std::fs::read(&copy).unwrap(),
            folder,
        };
        let path = scene.copy();
        assert_eq!(prove(&path).len(), missing, "every guard is missed");
        assert_eq!(findings(&path), Vec::<String>::new());
        scene
    }

    fn copy(&self) -> PathBuf {
        self.write(&self.bytes)
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("scene.db");
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.clone().into_os_string();
            name.push(ending);
            let _ = std::fs::remove_file(name);
        }
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// What is found after these statements.
    fn after(&self, sql: &str) -> Vec<String> {
        let path = self.copy();
        let c = Connection::open(&path).unwrap();
        c.execute_batch(sql).unwrap();
        assert!(c.total_changes() > 0, "nothing changed: {sql}");
        drop(c);
        findings(&path)
    }

    #[track_caller]
    fn is_found(&self, sql: &str, part: &str) {
        let findings = self.after(sql);
        assert!(
            findings.iter().any(|finding| finding.contains(part)),
            "{sql}: {findings:#?}"
        );
    }
}

/// What is said of a journal, by a report that cannot be made as well.
fn prove(path: &Path) -> Vec<String> {
    let proved = Reader::open(&Location::from(path)).and_then(|reader| {
        let snapshot = reader.snapshot(&batch())?;
        Ok(snapshot.prove(None).unwrap().findings)
    });
    proved.unwrap_or_else(|error| vec![error.to_string()])
}

/// The same beside the guards that are gone.
fn findings(path: &Path) -> Vec<String> {
    let mut findings = prove(path);
    findings.retain(|finding| !finding.starts_with("schema: trigger "));
    findings
}

/// Values that differ from this one in a single bit, spread over all of its bytes.
fn flipped(value: ValueRef<'_>, step: usize) -> Vec<Value> {
    let bytes_of = |bytes: &[u8]| -> Vec<Vec<u8>> {
        (0..bytes.len())
            .step_by(step)
            .map(|index| {
                let mut other = bytes.to_vec();
                // The lowest bit keeps text readable, so that no parser finds it in the place of the hash.
                other[index] ^= 1;
                other
            })
            .collect()
    };
    match value {
        ValueRef::Null => vec![Value::Integer(0), Value::Text("x".into())],
        ValueRef::Real(_) => panic!("the journal holds none"),
        ValueRef::Integer(number) => (0..8)
            .map(|index| Value::Integer(number ^ (1 << (8 * index))))
            .chain([Value::Null])
            .collect(),
        ValueRef::Text(text) => bytes_of(text)
            .into_iter()
            .map(|bytes| Value::Text(String::from_utf8(bytes).unwrap()))
            .collect(),
        ValueRef::Blob(bytes) => bytes_of(bytes).into_iter().map(Value::Blob).collect(),
    }
}

/// Changes every column of rows of a table, one value at a time, and expects each change to be found.
fn every_value_counts(scene: &Scene, table: &str, key: &str, rows: &str, left_out: &[&str]) -> u32 {
    let path = scene.copy();
    let c = Connection::open(&path).unwrap();
    c.execute_batch("pragma journal_mode = wal; pragma synchronous = off")
        .unwrap();
    let mut statement = c
        .prepare(&format!("select {key}, * from {table} where {rows}"))
        .unwrap();
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut changes = Vec::new();
    let mut read = statement.query([]).unwrap();
    while let Some(row) = read.next().unwrap() {
        let id: Value = row.get(0).unwrap();
        for (index, name) in names.iter().enumerate().skip(1) {
            if left_out.contains(&name.as_str()) {
                continue;
            }
            let value = row.get_ref(index).unwrap();
            let step = if matches!(value, ValueRef::Blob(_)) {
                11
            } else {
                5
            };
            let was: Value = row.get(index).unwrap();
            for other in flipped(value, step) {
                changes.push((id.clone(), name.clone(), was.clone(), other));
            }
        }
    }
    drop(read);
    drop(statement);
    let reader = Reader::open(&Location::from(&path)).unwrap();
    let mut tried = 0;
    for (id, name, was, other) in changes {
        let sql = format!("update {table} set {name} = ?1 where {key} = ?2");
        // What the schema itself refuses needs no other guard.
        let Ok(changed) = c.execute(&sql, params![other, id]) else {
            continue;
        };
        assert_eq!(changed, 1, "{sql}");
        tried += 1;
        let found = match reader.snapshot(&batch()) {
            Ok(snapshot) => {
                let mut findings = snapshot.prove(None).unwrap().findings;
                findings.retain(|finding| !finding.starts_with("schema: trigger "));
                !findings.is_empty()
            }
            Err(_) => true,
        };
        assert!(found, "{table} {id:?}: {name} {was:?} -> {other:?}");
        let key_now = if name == key { other } else { id };
        assert_eq!(c.execute(&sql, params![was, key_now]).unwrap(), 1);
    }
    tried
}

#[tokio::test]
async fn every_change_of_any_value_of_the_evidence_is_found() {
    let scene = Scene::of(&eventful().await);
    // One row of every kind of event and class.
    let one_of_each =
        "evidence_id in (select min(evidence_id) from evidence group by event, class)";
    let tried = every_value_counts(&scene, "evidence", "evidence_id", one_of_each, &[]);
    assert!(tried > 800, "{tried}");
}

#[tokio::test]
async fn every_change_of_what_the_evidence_speaks_of_is_found() {
    let scene = Scene::of(&eventful().await);
    let mut tried = 0;
    for (table, key, rows, left_out) in [
        // A ready row, one whose bill told the amount, one that was retried, the retry.
        (
            "instruction",
            "seq",
            "seq in (1, 12) or generation = 1 or document is not null",
            &[][..],
        ),
        // When something is done next rests on the policy of the next run; evidence says nothing of it.
        (
            "life",
            "seq",
            "seq in (1, 3, 5) or replaced_by is not null",
            &["queries", "due_at"],
        ),
        ("upload", "seq", "true", &[]),
        ("bill", "bill_id", "true", &[]),
        ("load", "load_id", "true", &[]),
        ("rejected", "line", "true", &[]),
        ("tally", "amount", "amount > 0", &[]),
        ("chain", "batch_id", "true", &[]),
        ("policy", "policy_id", "true", &[]),
        ("phrase", "phrase_id", "true", &[]),
        ("service", "service_id", "true", &[]),
        // The last claim paces the next run.
        ("batch", "batch_id", "true", &["last_claim_at"]),
        ("identifier", "identifier", "seq in (1, 12)", &[]),
    ] {
        tried += every_value_counts(&scene, table, key, rows, left_out);
    }
    assert!(tried > 800, "{tried}");
}

#[tokio::test]
async fn rows_that_are_removed_added_swapped_or_doubled_are_found() {
    let scene = Scene::of(&eventful().await);
    for (sql, part) in [
        (
            "delete from evidence where evidence_id = 20",
            "does not follow",
        ),
        (
            "delete from evidence where evidence_id = (select max(evidence_id) from evidence)",
            "the chain has",
        ),
        (
            "insert into evidence (seq, at, event, class, code) values (5, 1, 5, 0, 140)",
            "the payments of the batch have",
        ),
        (
            "insert into evidence (seq, at, event, class, code, batch_id, hash)
             select seq, at, event, class, code, batch_id, hash from evidence
             where evidence_id = 25",
            "does not follow",
        ),
        (
            "update evidence set evidence_id = 1000 where evidence_id = 21; update evidence set evidence_id = 21
             where evidence_id = 22; update evidence set evidence_id = 22 where evidence_id = 1000",
            "does not follow",
        ),
        ("delete from evidence", "the chain has"),
        ("delete from chain", "cannot be read"),
        ("delete from instruction where seq = 4", "not as it was recorded"),
        ("delete from life where seq = 4", "has an amount, but no state"),
        ("delete from tally where state = 5", "tally of service"),
        ("delete from identifier where seq = 4", "index of identifiers"),
        ("update rejected set withdrawn = 1", "withdrawn rows: 1 are there"),
        ("delete from rejected", "load 1, or a row that it set aside"),
        ("delete from upload", "upload of payment"),
        ("delete from bill", "bill 1 of row"),
        ("delete from policy", "its policy is missing"),
        (
            "insert into upload (seq, at, digest, bytes, reference, reply) values (1, 1, x'', 1, 'X', '')",
            "uploads: 2 are there",
        ),
        (
            "insert into tally (batch_id, service_id, currency, state, count, amount) values (1, 1, 'UGX', 5, 1, 1)",
            "tally of service",
        ),
        (
            "insert into load (batch_id, source, digest, loaded_at, accepted, rejected) values (1, 'x', 'x', 1, 1, 0)",
            "loads: 2 are there",
        ),
        (
            "insert into rejected (load_id, line, nth, batch_id, errors) values (1, 77, 0, 1, 'x')",
            "load 1, or a row that it set aside",
        ),
        (
            "update instruction set msisdn = (select msisdn from instruction where seq = 2) where seq = 1",
            "an instruction among the rows",
        ),
        (
            "create temp table picked as select seq, amount from life join instruction using (seq) where state = 5 order by seq limit 1;
             update life set state = 6, code = 141 where seq = (select seq from picked);
             update tally set count = count - 1, amount = amount - (select amount from picked) where state = 5;
             update tally set count = count + 1, amount = amount + (select amount from picked) where state = 6",
            "its evidence adds up to Paid",
        ),
        ("create table mine (x text); insert into mine values ('x')", "schema: table mine was added"),
        ("drop index post_queue; update life set queries = 1", "schema: index post_queue is missing"),
    ] {
        scene.is_found(sql, part);
    }
}

#[tokio::test]
async fn a_payment_that_would_never_be_claimed_is_found() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    assert_eq!(world.claim(token, 2, 2).await.len(), 2);
    let scene = Scene::of(&world);
    for (sql, part) in [
        (
            "update lane set fresh_from = 1000",
            "has an amount, but no state",
        ),
        ("delete from lane", "has an amount, but no state"),
        (
            "delete from life where seq = 2",
            "has an amount, but no state",
        ),
        (
            "insert into life (seq, batch_id, service_id, state, due_at, attempts, posted_at) values (3, 1, 1, 1, 9223372036854775807, 1, 1)",
            "its evidence adds up to Ready",
        ),
        (
            "update evidence set detail = replace(detail, '1-2', '1-3') where event = 30",
            "does not follow",
        ),
        (
            "update evidence set detail = replace(detail, '1-2', '2-3') where event = 30",
            "its evidence adds up to Posting",
        ),
        (
            "update evidence set detail = replace(detail, '1-2', '1-9') where event = 30",
            "the chain has the first claims of 9 payments, of which 4 are there",
        ),
    ] {
        scene.is_found(sql, part);
    }
}

#[tokio::test]
async fn a_change_in_a_long_chain_is_found_within_64_rows() {
    let world = World::loaded(200).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 200, 2).await;
    let findings = claims
        .iter()
        .map(|claim| finding(claim.seq, reply(Class::Failed, 141)));
    world.record(findings.collect(), 3).await;
    let scene = Scene::of(&world);
    for (row, part) in [
        // Beside every 64th hash, those that the mark names are written down: of a load, of a run's beginning, of a claim.
        (30, "evidence 7 to 64: "),
        (64, "evidence 7 to 64: "),
        (65, "evidence 65 to 128: "),
        (200, "evidence 193 to the last one: "),
    ] {
        scene.is_found(
            &format!("update evidence set at = at + 1 where evidence_id = {row}"),
            part,
        );
    }
}

#[tokio::test]
async fn a_tail_that_is_cut_off_with_its_head_is_found_by_an_earlier_head_alone() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    let claimed = world.standing().evidence;
    world
        .record(vec![finding(seq, reply(Class::Paid, 140))], 3)
        .await;
    let paid = world.standing().evidence;
    let scene = Scene::of(&world);
    let path = scene.copy();
    // Whoever does this posts it a second time, and knows how to.
    let c = Connection::open(&path).unwrap();
    c.execute_batch(
        "delete from evidence where evidence_id = (select max(evidence_id) from evidence);
         update life set state = 1, code = null, settled_at = null;
         update tally set state = 1 where state = 5 or state = 1 and count > 0;",
    )
    .unwrap_or_else(|_| {
        c.execute_batch(
            "delete from tally where state = 1; update tally set state = 1 where state = 5",
        )
        .unwrap();
    });
    c.execute(
        "update chain set length = ?1, head = ?2",
        params![i64::try_from(claimed.length).unwrap(), &claimed.hash[..]],
    )
    .unwrap();
    drop(c);
    assert_eq!(findings(&path), Vec::<String>::new(), "no row says so");
    let reader = Reader::open(&Location::from(&path)).unwrap();
    let proof = |head| {
        reader
            .snapshot(&batch())
            .unwrap()
            .prove(Some(head))
            .unwrap()
    };
    assert_eq!(proof(claimed.hash).earlier_head_at, Some(claimed.length));
    let cut = proof(paid.hash);
    assert_eq!(cut.earlier_head_at, None);
    assert!(
        cut.findings
            .iter()
            .any(|found| found.contains("is not on the chain")),
        "{:?}",
        cut.findings
    );
}

/// Everything that a journal says, beside what decides nothing over money.
fn told(path: &Path) -> Option<BTreeSet<String>> {
    let c = Connection::open(path).ok()?;
    let mut told = BTreeSet::new();
    for sql in [
        "select batch_id, name, originator, created_at, gateway, wire, account from batch",
        "select * from load",
        "select * from service",
        "select * from instruction",
        "select * from identifier",
        "select seq, batch_id, service_id, state, code, attempts, posted_at, exposures, known, not_found, quarantine_from,
             settled_at, replaced_by, gateway_transaction_id, receipt_number, receiver_narration, phrase_id from life",
        "select * from evidence",
        "select * from rejected",
        "select * from tally where count <> 0",
        "select * from upload",
        "select * from bill",
        "select * from chain",
    ] {
        let mut statement = c.prepare(sql).ok()?;
        let width = statement.column_count();
        let mut rows = statement.query([]).ok()?;
        while let Some(row) = rows.next().ok()? {
            let cells: Vec<String> = (0..width)
                .map(|index| format!("{:?}", row.get_ref(index).unwrap()))
                .collect();
            told.insert(format!("{sql}: {cells:?}"));
        }
    }
    Some(told)
}

#[tokio::test]
async fn a_bit_that_flips_anywhere_in_the_file_is_found_or_says_nothing_else() {
    let scene = Scene::of(&eventful().await);
    let sound = told(&scene.copy()).unwrap();
    let mut random = fastrand::Rng::with_seed(20_261_121);
    let (mut found, mut silent) = (0, 0);
    // Most bytes of a small file are empty space within its pages.
    let written: Vec<usize> = (0..scene.bytes.len())
        .filter(|at| scene.bytes[*at] != 0)
        .collect();
    for _ in 0..250 {
        let mut bytes = scene.bytes.clone();
        let at = written[random.usize(..written.len())];
        bytes[at] ^= 1 << random.u8(..8);
        let path = scene.write(&bytes);
        if findings(&path).is_empty() {
            let told = told(&path).unwrap_or_default();
            let differ: Vec<_> = told.symmetric_difference(&sound).collect();
            assert!(differ.is_empty(), "byte {at}: {differ:#?}");
            silent += 1;
        } else {
            found += 1;
        }
    }
    assert!(found > 50 && silent > 0, "{found} found, {silent} silent");
}
