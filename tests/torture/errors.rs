//! Disks that fail: a write, a sync, or all of them from some moment on; disks that are full.

use std::path::Path;
use std::time::Instant;

use fastrand::Rng;

use crate::batch::{Mix, PAY, Scene};
use crate::disk::{ASIDE_WAL, Op, Record, Unsynced, WAL};
use crate::jobs::{all, rounds, tell};
use crate::losses::intents_lost;
use crate::shim::{JOURNAL, Shimmed, library};
use crate::world::{Setup, World};

const MIX: Mix = Mix {
    wallets: 40,
    transfers: 2,
    bills: 4,
};
const EIO: u32 = 5;

/// What goes wrong with the disk, in the shim's words.
#[derive(Clone, Debug)]
struct Fault {
    variable: &'static str,
    value: String,
    /// The machine loses power when the program has ended.
    then_dark: bool,
}

fn failing(operation: &str, number: u64, how: &str) -> Fault {
    Fault {
        variable: "SHIM_FAIL",
        value: format!("{operation}:{number}:{EIO}:{how}"),
        then_dark: false,
    }
}

/// What a fault came to.
#[derive(Default)]
struct Count {
    batches: usize,
    /// Those whose fault hit a commit.
    stopped: usize,
    /// Those whose fault hit what a later start does again: a checkpoint, the making of the file.
    elsewhere: usize,
    /// Those that were finished before.
    unharmed: usize,
    posts: u64,
}

impl Count {
    fn told(&self, what: &str) -> String {
        format!(
            "{} batches with {what}: {} stopped in a commit, {} met it elsewhere, {} were finished before; {} posts, \
             executed twice: 0, rows lost: 0",
            self.batches, self.stopped, self.elsewhere, self.unharmed, self.posts
        )
    }
}

fn of_commit(record: &Record) -> bool {
    // What was not synced when a sync failed was about to be committed; a checkpoint syncs what is synced already.
    let of_log = matches!(record.file, WAL | ASIDE_WAL);
    of_log && (record.op == Op::FailedWrite || record.op == Op::FailedSync && record.dirty)
}

fn one_world(library: &Path, seed: u64, fault: &Fault) -> Count {
    let setup = Setup {
        quarantine: "2s",
        ..Setup::default()
    };
    let mut scene = Scene::new(&setup, MIX, seed, &[]);
    let mut disk = Shimmed::of(&mut scene.world, library);
    scene.world.set(fault.variable, &*fault.value);
    let quickly = [&PAY[..], &["--rate", "60/s"]].concat();
    let done = scene.world.disburse(&quickly);
    let done_to_files = disk.done();
    let first = done_to_files
        .iter()
        .find(|record| matches!(record.op, Op::FailedWrite | Op::FailedSync));
    let mut count = Count {
        batches: 1,
        ..Count::default()
    };
    match first {
        None => {
            count.unharmed = 1;
            assert!(matches!(done.code, Some(0 | 3)), "{fault:?}: {done:?}");
        }
        Some(record) if done.code == Some(1) => {
            assert!(done.err.contains("hint: "), "{fault:?}: {done:?}");
            match of_commit(record) {
                true => count.stopped = 1,
                false => count.elsewhere = 1,
            }
        }
        // What it hit can be done without, as the statistics that are written when the journal is closed.
        Some(record) => {
            count.elsewhere = 1;
            assert!(
                matches!(done.code, Some(0 | 3)),
                "{fault:?}: {record:?} {done:?}"
            );
            assert_eq!(scene.world.status("b")["finished"], true, "{fault:?}");
        }
    }
    scene.world.unset(fault.variable);
    if fault.then_dark {
        let mut rng = Rng::with_seed(seed);
        disk.lose_power(Unsynced::any(&mut rng), &mut rng);
    }
    // The journal opens, and has an intent of all that has left.
    let status = scene.world.disburse(&["status", "--json"]);
    assert!(matches!(status.code, Some(0 | 2)), "{fault:?}: {status:?}");
    assert_eq!(intents_lost(&scene), 0, "{fault:?}");
    scene.world.until_finished(&PAY);
    scene.prove();
    count.posts = scene.sandbox.ledger().posts;
    count
}

fn carry_out(test: &str, what: &str, faults: Vec<Fault>, seed: u64) -> Option<Count> {
    let library = library()?;
    let started = Instant::now();
    let jobs = faults.into_iter().zip(seed..);
    let counts = all(jobs, |(fault, seed)| one_world(library, seed, &fault));
    let sum = counts.into_iter().fold(Count::default(), |sum, one| Count {
        batches: sum.batches + one.batches,
        stopped: sum.stopped + one.stopped,
        elsewhere: sum.elsewhere + one.elsewhere,
        unharmed: sum.unharmed + one.unharmed,
        posts: sum.posts + one.posts,
    });
    tell(test, started, &sum.told(what));
    Some(sum)
}

#[test]
fn a_sync_that_fails_stops_the_run_and_the_next_one_pays_nothing_twice() {
    let ways = ["once", "after", "on"];
    let faults = (0..rounds(36) as u64).map(|index| Fault {
        // Half of the machines lose power after the failure, with what was not synced.
        then_dark: index % 2 == 1,
        ..failing("sync", 1 + index, ways[(index / 2 % 3) as usize])
    });
    let Some(sum) = carry_out("failing syncs", "EIO at one sync", faults.collect(), 6_000) else {
        return;
    };
    assert!(sum.stopped >= 12, "{}", sum.told("EIO at one sync"));
}

#[test]
fn a_write_that_fails_stops_the_run_and_the_next_one_pays_nothing_twice() {
    let ways = ["once", "on", "after"];
    let faults = (0..rounds(20) as u64).map(|index| {
        let number = 1 + index * index * 2;
        failing("write", number, ways[(index % 3) as usize])
    });
    let Some(sum) = carry_out(
        "failing writes",
        "EIO at one write",
        faults.collect(),
        7_000,
    ) else {
        return;
    };
    assert!(sum.stopped >= 8, "{}", sum.told("EIO at one write"));
}

#[test]
fn a_full_disk_stops_the_run_and_the_next_one_pays_nothing_twice() {
    let count = rounds(20) as u64;
    // From a disk that takes nothing to one that almost has room enough, for a busy machine too: there commits are fewer and larger, and a
    // batch needs less room for its log.
    let faults = (0..count).map(|index| Fault {
        variable: "SHIM_SPACE",
        value: (index * index * 1_300_000 / count / count).to_string(),
        then_dark: index % 2 == 1,
    });
    let Some(sum) = carry_out("full disks", "a disk of some size", faults.collect(), 8_000) else {
        return;
    };
    assert!(sum.stopped >= 8, "{}", sum.told("a disk of some size"));
}

/// A new journal is made beside its place. What is put there is whole, whichever write or sync failed.
#[test]
fn a_load_whose_disk_fails_leaves_a_whole_journal_or_none() {
    let Some(library) = library() else { return };
    let started = Instant::now();
    let full = (0..40).map(|index| Fault {
        variable: "SHIM_SPACE",
        // Up to more than the journal of such a load takes.
        value: (index * 6_000).to_string(),
        then_dark: false,
    });
    let syncs = (1..=16).flat_map(|number| {
        let ways = ["once", "on"];
        ways.map(|how| failing("sync", number, how))
    });
    let loads = all(full.chain(syncs), |fault| {
        let rows = crate::files::rows(60, 1);
        let mut world = World::new(&Setup::default());
        world.write_rows("batch.csv", &rows);
        Shimmed::of(&mut world, library);
        world.set(fault.variable, &*fault.value);
        let load = ["load", "batch.csv", "--batch", "b"];
        let done = world.disburse(&load);
        world.unset(fault.variable);
        match done.code {
            Some(0) => assert_eq!(world.status("b")["count"], rows.len(), "{fault:?}"),
            // Once it has its name, only what follows a load can have failed.
            Some(1) => assert!(
                !world.path(JOURNAL).exists() || world.status("b")["count"] == rows.len(),
                "{fault:?}: {done:?}"
            ),
            _ => panic!("{fault:?}: {done:?}"),
        }
        world.expect(0, &load);
        assert_eq!(world.status("b")["count"], rows.len(), "{fault:?}");
        done.code == Some(1)
    });
    let failed = loads.iter().filter(|failed| **failed).count();
    assert!(failed >= 20, "only {failed} of {} failed", loads.len());
    let counted = format!(
        "{} loads on failing disks, {failed} failed, all whole or none",
        loads.len()
    );
    tell("failing loads", started, &counted);
}

#[test]
fn a_listener_whose_disk_fails_ends_and_the_next_one_hears_what_was_not_acknowledged() {
    let Some(library) = library() else {
        return;
    };
    let started = Instant::now();
    let mut scene = Scene::new(&Setup::with_callbacks(), MIX, 9_700, &[]);
    let command = [&PAY[..], &["--external-listener", "--rate", "20/s"]].concat();
    let mut run = scene.world.start(&command);
    run.until("posting", |_| scene.sandbox.ledger().posts > 0);
    let disk = Shimmed::of(&mut scene.world, library);
    scene.world.set("SHIM_FAIL", format!("sync:2:{EIO}:once"));
    let listener = scene.world.start(&["listen"]);
    scene.world.unset("SHIM_FAIL");
    // It ends by itself, as nobody could tell it from one that works.
    let done = listener.wait();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("run the same command again"), "{done:?}");
    let syncs = disk.done();
    let failed = |record: &&Record| record.op == Op::FailedSync;
    assert_eq!(syncs.iter().filter(failed).count(), 1);
    let mut next = scene.world.start(&["listen"]);
    next.until("it listens", |next| next.out().contains("listening"));
    let done = run.wait();
    assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    scene.prove();
    tell(
        "a listener on a failing disk",
        started,
        "1 sync failed, it ended, the next one went on; executed twice: 0",
    );
}
