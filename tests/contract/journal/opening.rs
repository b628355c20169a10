//! What is opened as a journal, and what is not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use disburse::domain::BatchName;
use disburse::journal::{Error, Journal, Kind, Location, Reader};

use crate::support::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn nobody_else_may_read_a_journal_whatever_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/journal.db");
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    let journal = Journal::open(&Location::from(&path)).unwrap();
    rustix::process::umask(before);
    journal.callback_key().await.unwrap();
    assert_eq!(mode(&path), 0o600);
    let companions: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(companions.len() >= 2, "the write-ahead log is there too");
    for file in companions {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    for made in ["a", "a/b"] {
        assert_eq!(mode(&folder.path().join(made)), 0o700, "{made}");
    }
}

#[tokio::test]
async fn the_mode_of_a_folder_that_was_there_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    fs::set_permissions(&there, fs::Permissions::from_mode(0o750)).unwrap();
    Journal::open(&Location::from(&there.join("journal.db"))).unwrap();
    assert_eq!(mode(&there), 0o750);
}

type Make = fn(&Path);
type Is = fn(&Error) -> bool;

#[test]
fn what_is_no_journal_is_refused_by_name_and_left_as_it_was() {
    let cases: [(&str, Make, Is); 8] = [
        (
            "symbolic link",
            |path| {
                let target = path.with_extension("target");
                drop(Journal::open(&Location::from(&target)).unwrap());
                symlink(target, path).unwrap();
            },
            |error| matches!(error, Error::Symlink { .. }),
        ),
        (
            "link to nowhere",
            |path| symlink("/nowhere", path).unwrap(),
            |error| matches!(error, Error::Symlink { .. }),
        ),
        (
            "folder",
            |path| fs::create_dir(path).unwrap(),
            |error| matches!(error, Error::NotAFile { .. }),
        ),
        (
            "text",
            |path| fs::write(path, "line,reference\n".repeat(100)).unwrap(),
            |error| matches!(error, Error::Foreign { .. }),
        ),
        (
            "short text",
            |path| fs::write(path, "x").unwrap(),
            |error| matches!(error, Error::Foreign { .. }),
        ),
        (
            "another program's database",
            |path| {
                let c = rusqlite::Connection::open(path).unwrap();
                c.execute_batch("create table t (a)").unwrap();
            },
            |error| matches!(error, Error::Foreign { .. }),
        ),
        (
            "another program's mark",
            |path| {
                let c = rusqlite::Connection::open(path).unwrap();
                c.execute_batch("pragma application_id = 7; pragma user_version = 1")
                    .unwrap();
            },
            |error| matches!(error, Error::Foreign { .. }),
        ),
        (
            "newer schema",
            |path| {
                drop(Journal::open(&Location::from(path)).unwrap());
                let c = rusqlite::Connection::open(path).unwrap();
                c.execute_batch("pragma user_version = 99").unwrap();
            },
            |error| matches!(error, Error::Newer { found: 99, .. }),
        ),
    ];
    for (name, make, is) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        make(&path);
        let before = fs::read(&path).ok();
        let openings = [
            Journal::open(&Location::from(&path)).map(drop),
            Journal::open_existing(&Location::from(&path)).map(drop),
            Reader::open(&Location::from(&path)).map(drop),
        ];
        for opened in openings {
            let error = opened.expect_err(name);
            assert!(is(&error), "{name}: {error}");
            assert_eq!(error.kind(), Kind::Refused, "{name}");
            let said = error.to_string();
            assert!(said.contains("journal.db"), "{name}: {said}");
        }
        assert_eq!(fs::read(&path).ok(), before, "{name}");
    }
}

#[test]
fn a_journal_that_must_be_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/journal.db");
    let error = Journal::open_existing(&Location::from(&path)).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    let error = Reader::open(&Location::from(&path)).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert!(!folder.path().join("none").exists());
}

#[tokio::test]
async fn an_empty_file_becomes_a_journal_that_nobody_else_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = Reader::open(&Location::from(&path)).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    let journal = Journal::open(&Location::from(&path)).unwrap();
    journal.callback_key().await.unwrap();
    assert_eq!(mode(&path), 0o600);
    assert!(
        Reader::open(&Location::from(&path))
            .unwrap()
            .batches()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_damaged_journal_is_told_from_a_foreign_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    drop(Journal::open(&Location::from(&path)).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[100..4096] {
        *byte = 0xa5;
    }
    fs::write(&path, bytes).unwrap();
    for error in [
        Journal::open(&Location::from(&path)).map(drop).unwrap_err(),
        Reader::open(&Location::from(&path)).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
}

#[test]
fn many_may_make_the_same_journal_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/journal.db");
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || Journal::open(&Location::from(&path)).map(drop))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    assert!(
        Reader::open(&Location::from(&path))
            .unwrap()
            .batches()
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_snapshot_does_not_see_what_is_written_after_it_began() {
    let world = World::loaded(3).await;
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let before = snapshot.standing().unwrap();
    let token = world.acquire(1).await.token;
    world.claim(token, 2, 2).await;
    assert_eq!(snapshot.standing().unwrap(), before);
    drop(snapshot);
    let snapshot = reader.snapshot(&batch()).unwrap();
    assert_ne!(snapshot.standing().unwrap(), before);
    drop(snapshot);
    let unknown = BatchName::parse("unknown").unwrap();
    let error = reader.snapshot(&unknown).unwrap_err();
    assert!(matches!(error, Error::UnknownBatch { .. }), "{error}");
    assert_eq!(reader.batches().unwrap(), [batch()]);
}
