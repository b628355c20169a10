//! SIGKILL at every named point of the program, then the same command again.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use data_encoding::HEXLOWER;
use fastrand::Rng;
use sha2::{Digest, Sha256};

use crate::batch::{Mix, PAY, Scene, WALLETS};
use crate::jobs::{all, rounds, tell};
use crate::oracle::payments;
use crate::world::{Setup, World};

/// Where a process ends, and what a batch must hold for it to come there.
#[derive(Clone, Copy)]
struct Point {
    name: &'static str,
    /// Passages before the last one, at most.
    passages: u64,
    callbacks: bool,
    faults: &'static str,
    mix: Mix,
}

const fn wallets(name: &'static str, passages: u64) -> Point {
    Point {
        name,
        passages,
        callbacks: false,
        faults: "none",
        mix: WALLETS,
    }
}

const fn heard(name: &'static str) -> Point {
    Point {
        callbacks: true,
        ..wallets(name, 6)
    }
}

const POINTS: [Point; 15] = [
    wallets("before-commit", 30),
    Point {
        callbacks: true,
        faults: "hostile",
        ..wallets("after-commit", 30)
    },
    wallets("after-claim", 2),
    wallets("before-send", 12),
    wallets("after-send", 12),
    Point {
        faults: "hostile",
        ..wallets("after-send", 12)
    },
    wallets("before-record", 12),
    wallets("after-record", 12),
    Point {
        faults: "hostile",
        ..wallets("after-ask", 12)
    },
    heard("before-callback-stored"),
    heard("before-callback-acknowledged"),
    Point {
        mix: Mix {
            wallets: 4,
            transfers: 16,
            bills: 0,
        },
        ..wallets("before-upload", 2)
    },
    Point {
        mix: Mix {
            wallets: 4,
            transfers: 16,
            bills: 0,
        },
        ..wallets("after-upload", 2)
    },
    Point {
        mix: Mix {
            wallets: 4,
            transfers: 0,
            bills: 30,
        },
        ..wallets("in-pricing", 2)
    },
    wallets("in-load", 60),
];

/// Kills the program at one point again and again, on its way through one batch; returns how many times.
fn kill_at(point: Point, kills: usize, seed: u64) -> usize {
    let mut rng = Rng::with_seed(seed);
    let setup = if point.callbacks {
        Setup::with_callbacks()
    } else {
        Setup::default()
    };
    let mut scene = Scene::new(&setup, point.mix, seed, &["--faults", point.faults]);
    let slowly = [&PAY[..], &["--rate", "25/s"]].concat();
    let mut killed = 0;
    for _ in 0..kills {
        let passage = rng.u64(1..=point.passages);
        scene
            .world
            .set("TORTURE_KILL_AT", format!("{}:{passage}", point.name));
        let done = scene.world.disburse(&slowly);
        match done.code {
            None => killed += 1,
            // Nothing is left to do that would lead there.
            Some(0 | 3) => break,
            Some(4 | 5) => {}
            _ => panic!("{}: {done:?}", point.name),
        }
    }
    scene.world.unset("TORTURE_KILL_AT");
    scene.world.until_finished(&PAY);
    scene.prove();
    killed
}

#[test]
fn a_run_killed_at_any_point_is_resumed_and_pays_nothing_twice() {
    if !cfg!(debug_assertions) {
        // A release build has no such points.
        return;
    }
    let started = Instant::now();
    let each = rounds(8 * POINTS.len()).div_ceil(POINTS.len());
    let mut kills: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut seed, mut worlds) = (2_000, 0);
    let mut left: Vec<(Point, usize)> = POINTS.map(|point| (point, each)).to_vec();
    // Where a batch is finished before its last kill, the next one goes on.
    for _ in 0..2 * each {
        let jobs: Vec<_> = left
            .drain(..)
            .map(|(point, kills)| {
                seed += 1;
                (point, kills, seed)
            })
            .collect();
        worlds += jobs.len();
        for (point, wanted, killed) in all(jobs, |(point, kills, seed)| {
            // A world has rows for so many; the next one takes the rest.
            (point, kills, kill_at(point, kills.min(12), seed))
        }) {
            assert!(killed > 0, "no run came to {}", point.name);
            *kills.entry(point.name).or_default() += killed;
            if killed < wanted {
                left.push((point, wanted - killed));
            }
        }
        if left.is_empty() {
            break;
        }
    }
    assert!(left.is_empty(), "too few kills: {kills:?}");
    let counted = format!(
        "{} kills at {} points in {worlds} batches, executed twice: 0 ({kills:?})",
        kills.values().sum::<usize>(),
        kills.len()
    );
    tell("named points", started, &counted);
}

#[test]
fn a_journal_whose_making_was_cut_off_is_made_again() {
    if !cfg!(debug_assertions) {
        return;
    }
    let mut scene = Scene::new(&Setup::default(), WALLETS, 3_000, &[]);
    let load = ["load", "batch.csv", "--batch", "b"];
    scene.world.set("TORTURE_KILL_AT", "in-migration:1");
    for _ in 0..3 {
        assert_eq!(scene.world.disburse(&load).code, None);
    }
    scene.world.unset("TORTURE_KILL_AT");
    scene.world.expect(0, &load);
    scene.world.until_finished(&PAY);
    scene.prove();
}

/// What the files of a report hold, those that are there.
fn report(world: &World, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let names = ["payments.csv", "report.xlsx", "report.html", "report.json"];
    names
        .iter()
        .filter_map(|name| {
            Some((
                (*name).to_owned(),
                fs::read(world.path(folder).join(name)).ok()?,
            ))
        })
        .collect()
}

#[test]
fn a_report_killed_at_any_point_leaves_whole_files_and_is_written_again() {
    if !cfg!(debug_assertions) {
        return;
    }
    let started = Instant::now();
    let mut scene = Scene::new(&Setup::default(), WALLETS, 3_100, &[]);
    let world = &mut scene.world;
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["report", "b", "--out", "r"]);
    let early = report(world, "r");
    world.until_finished(&PAY);
    world.expect(0, &["report", "b", "--out", "final"]);
    let (late, mut kills) = (report(world, "final"), 0);
    assert_eq!((early.len(), late.len()), (4, 4));
    let rows = (1..=WALLETS.wallets as u64).step_by(100 / rounds(10).clamp(1, 100));
    let moments = rows
        .map(|row| ("in-report", row))
        .chain((1..=4).map(|file| ("in-publish", file)));
    for (point, passage) in moments {
        world.set("TORTURE_KILL_AT", format!("{point}:{passage}"));
        assert_eq!(world.disburse(&["report", "b", "--out", "r"]).code, None);
        kills += 1;
        for (name, bytes) in report(world, "r") {
            let whole = bytes == early[&name] || bytes == late[&name];
            assert!(whole, "{name} is neither, killed at {point}:{passage}");
        }
    }
    world.unset("TORTURE_KILL_AT");
    world.expect(0, &["report", "b", "--out", "r"]);
    assert!(report(world, "r") == late, "as if nothing had happened");
    assert_eq!(payments(world, "r").len(), WALLETS.wallets);
    scene.prove();
    tell(
        "reports",
        started,
        &format!("{kills} kills of a report, no torn file"),
    );
}

/// The folder of rows that a page names.
fn rows_of(world: &World, folder: &str) -> String {
    let page = world.read(&format!("{folder}/report.html"));
    let (_, data) = page.split_once("id=\"rows\">").unwrap();
    let data = data.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let named = data["folder"].as_str().unwrap();
    let files = data["counts"].as_array().unwrap().len();
    // Its name is a digest of what is in its files: they are those that the page was written with, and all of them.
    let mut digest = Sha256::new();
    for number in 1..=files {
        digest.update(fs::read(world.path(&format!("{folder}/{named}/{number:05}.js"))).unwrap());
    }
    let key = HEXLOWER.encode(&digest.finalize()[..8]);
    assert_eq!(named, format!("report_files/{key}"));
    key
}

#[test]
fn a_page_whose_report_was_killed_at_any_point_has_all_of_its_rows() {
    if !cfg!(debug_assertions) {
        return;
    }
    let started = Instant::now();
    let many = Mix {
        wallets: 20_001,
        ..WALLETS
    };
    let mut scene = Scene::new(&Setup::default(), many, 3_200, &[]);
    let reference = scene.rows[0].reference.clone();
    let world = &mut scene.world;
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["report", "b", "--out", "r"]);
    let early = rows_of(world, "r");
    let cancel = ["cancel", "b", &reference];
    world.expect(0, &cancel);
    let mut kills = 0;
    for (point, passage) in [
        ("in-report", 20_001),
        ("in-place", 1),
        ("in-publish", 1),
        ("in-publish", 4),
        ("in-sweep", 1),
    ] {
        world.set("TORTURE_KILL_AT", format!("{point}:{passage}"));
        assert_eq!(
            world.disburse(&["report", "b", "--out", "r"]).code,
            None,
            "{point}"
        );
        kills += 1;
        let there = rows_of(world, "r");
        let is_replaced = point == "in-sweep";
        assert_eq!(there != early, is_replaced, "killed at {point}:{passage}");
    }
    world.unset("TORTURE_KILL_AT");
    world.expect(0, &["report", "b", "--out", "r"]);
    let late = rows_of(world, "r");
    let folders = fs::read_dir(world.path("r/report_files")).unwrap();
    let left: Vec<_> = folders.map(|folder| folder.unwrap().file_name()).collect();
    assert_eq!(left, [late.as_str()], "nothing is left of the earlier rows");
    tell(
        "pages",
        started,
        &format!("{kills} kills of a report of 20,001 rows, no page without them"),
    );
}
