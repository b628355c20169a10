//! Other programs at the journal: one that holds it, one that reads it for long, a second run, a listener beside a run.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::batch::{Mix, PAY, Scene};
use crate::disk::with_ending;
use crate::jobs::{all, long, tell};
use crate::shim::JOURNAL;
use crate::world::Setup;

const MIX: Mix = Mix {
    wallets: 60,
    transfers: 0,
    bills: 0,
};
/// How long the journal is held, in milliseconds.
const HOLDS: [u64; 3] = [100, 2_000, 10_000];

fn scene(setup: &Setup, wallets: usize, seed: u64) -> Scene {
    Scene::new(setup, Mix { wallets, ..MIX }, seed, &[])
}

/// Holds the journal as another writer would.
fn hold(scene: &Scene, milliseconds: u64) {
    let other = Connection::open(scene.world.path(JOURNAL)).unwrap();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    other.execute_batch("begin immediate").unwrap();
    thread::sleep(Duration::from_millis(milliseconds));
    other.execute_batch("rollback").unwrap();
}

#[test]
fn a_run_waits_for_a_writer_that_holds_the_journal() {
    let started = Instant::now();
    let told = all(HOLDS, |milliseconds| {
        let scene = scene(&Setup::default(), MIX.wallets, 9_000 + milliseconds);
        let mut run = scene.world.start(&[&PAY[..], &["--rate", "30/s"]].concat());
        run.until("posting", |_| scene.sandbox.ledger().posts >= 5);
        let before = scene.sandbox.ledger().posts;
        hold(&scene, milliseconds);
        let posted = scene.sandbox.ledger().posts - before;
        let done = run.wait();
        assert_eq!(done.code, Some(0), "{done:?}");
        scene.prove();
        format!("{milliseconds} ms ({posted} claimed payments posted meanwhile)")
    });
    tell("a held journal, runs", started, &told.join(", "));
}

#[test]
fn a_load_waits_for_a_writer_that_holds_the_journal() {
    let started = Instant::now();
    all(HOLDS, |milliseconds| {
        let scene = scene(&Setup::default(), MIX.wallets, 9_100 + milliseconds);
        scene
            .world
            .write_rows("other.csv", &crate::files::rows(3, 1));
        scene
            .world
            .expect(0, &["load", "other.csv", "--batch", "other"]);
        let other = Connection::open(scene.world.path(JOURNAL)).unwrap();
        other.execute_batch("begin immediate").unwrap();
        let mut load = scene.world.start(&["load", "batch.csv", "--batch", "b"]);
        thread::sleep(Duration::from_millis(milliseconds));
        assert!(!load.is_over(), "{}", load.err());
        other.execute_batch("rollback").unwrap();
        drop(other);
        let done = load.wait();
        assert_eq!(done.code, Some(0), "{done:?}");
        scene.world.until_finished(&PAY);
        scene.prove();
    });
    tell("a held journal, loads", started, "100, 2000, 10000 ms");
}

/// Longer than a writer is waited for: the run ends, and says so; the next one goes on.
#[test]
fn a_writer_that_never_lets_go_ends_the_run_and_costs_nothing() {
    if !long() {
        return;
    }
    let scene = scene(&Setup::default(), MIX.wallets, 9_200);
    let mut run = scene.world.start(&[&PAY[..], &["--rate", "30/s"]].concat());
    run.until("posting", |_| scene.sandbox.ledger().posts >= 5);
    hold(&scene, 45_000);
    let done = run.wait();
    assert_eq!(done.code, Some(1), "{done:?}");
    done.says("database is locked");
    scene.world.until_finished(&PAY);
    scene.prove();
}

fn log_length(scene: &Scene) -> u64 {
    fs::metadata(with_ending(&scene.world.path(JOURNAL), "-wal")).map_or(0, |log| log.len())
}

#[test]
fn a_reader_that_pins_the_log_lets_it_grow_and_nothing_else() {
    let started = Instant::now();
    let lengths = all([false, true], |pinned| {
        let scene = scene(&Setup::default(), 400, 9_300 + u64::from(pinned));
        scene
            .world
            .expect(0, &["load", "batch.csv", "--batch", "b"]);
        let reader = Connection::open(scene.world.path(JOURNAL)).unwrap();
        if pinned {
            reader.execute_batch("begin").unwrap();
            let count: i64 = reader
                .query_row("select count(*) from instruction", [], |row| row.get(0))
                .unwrap();
            assert_eq!(count, 400);
        }
        let mut run = scene
            .world
            .start(&[&PAY[..], &["--rate", "200/s"]].concat());
        let mut length = 0;
        while !run.is_over() {
            length = log_length(&scene).max(length);
            thread::sleep(Duration::from_millis(5));
        }
        let done = run.wait();
        assert_eq!(done.code, Some(0), "{done:?}");
        // Half as long as a run waits for the journal: at its end it waits for no reader.
        assert!(done.took < Duration::from_secs(15), "{done:?}");

        if pinned {
            let seen: i64 = reader
                .query_row("select count(*) from life where state = 5", [], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(
                seen, 0,
                "the reader still sees what was there when it began"
            );
            reader.execute_batch("commit").unwrap();
        }
        drop(reader);
        scene.world.status("b");
        assert_eq!(
            log_length(&scene),
            0,
            "the log is taken in once nobody is in the way"
        );
        scene.prove();
        (pinned, length)
    });
    let told: Vec<String> = lengths
        .iter()
        .map(|(pinned, length)| match pinned {
            true => format!("at most {length} bytes of log with a pinning reader"),
            false => format!("at most {length} bytes without one"),
        })
        .collect();
    tell(
        "a pinned log",
        started,
        &format!("400 payments: {}", told.join(", ")),
    );
}

#[test]
fn a_second_run_is_refused_and_told_who_has_the_journal() {
    let started = Instant::now();
    let scene = scene(&Setup::default(), MIX.wallets, 9_400);
    let mut run = scene.world.start(&[&PAY[..], &["--rate", "20/s"]].concat());
    run.until("posting", |_| scene.sandbox.ledger().posts >= 3);
    let holder = format!(
        "the journal is in use by process {}, run of batch b",
        run.id()
    );
    for command in [&PAY[..], &["run", "b", "--yes"]] {
        let refused = scene.world.disburse(command);
        assert_eq!(refused.code, Some(4), "a job says it again: {refused:?}");
        refused.says(&holder);
    }
    // A holder that is killed lets go.
    drop(run);
    scene.world.until_finished(&PAY);
    scene.prove();
    tell(
        "a second run",
        started,
        "2 refused beside a run, none after it was killed",
    );
}

#[test]
fn a_listener_beside_a_run_may_be_killed_as_often_as_the_run() {
    let started = Instant::now();
    let setup = Setup::with_callbacks();
    let scene = Scene::new(&setup, MIX, 9_500, &["--faults", "realistic"]);
    scene
        .world
        .expect(0, &["load", "batch.csv", "--batch", "b"]);
    let listen = || {
        let mut listener = scene.world.start(&["listen"]);
        listener.until("it listens", |listener| {
            listener.out().contains("listening")
        });
        listener
    };
    let command = [&PAY[..], &["--external-listener", "--rate", "20/s"]].concat();
    let mut kills = 0;
    for posts in [4, 12, 20, 28] {
        let listener = listen();
        let mut run = scene.world.start(&command);
        run.until("posting", |_| scene.sandbox.ledger().posts >= posts);
        drop(listener);
        let second = listen();
        run.until("posting on", |_| scene.sandbox.ledger().posts >= posts + 4);
        drop(run);
        drop(second);
        kills += 3;
    }
    let _listener = listen();
    scene.world.until_finished(&command);
    scene.prove();
    tell(
        "a listener beside a run",
        started,
        &format!("{kills} kills of the two, executed twice: 0"),
    );
}
