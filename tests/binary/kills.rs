//! SIGKILL at random moments, then the same command again: as if nothing had happened.

use std::thread;
use std::time::Duration;

use fastrand::Rng;

use crate::files::{Row, rows};
use crate::oracle::prove;
use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World};

const ROWS: usize = 120;
/// Slow enough for a run to be under way when it is killed: posting takes four seconds in all.
const PAY: [&str; 7] = [
    "pay",
    "batch.csv",
    "--batch",
    "b",
    "--yes",
    "--rate",
    "30/s",
];

/// Repeats a command, killing it `kills` times on the way.
fn kill_on_the_way(world: &World, command: &[&str], kills: usize, rows: &[Row], seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut killed = 0;
    for _ in 0..3 * kills {
        // While it starts and loads, or while it posts: posting begins a second after a restart, for the rate's sake.
        let moment = if rng.bool() {
            rng.u64(..250)
        } else {
            rng.u64(900..1_800)
        };
        let mut run = world.start(command);
        thread::sleep(Duration::from_millis(moment));
        if run.is_over() {
            break;
        }
        drop(run);
        killed += 1;
        loaded_in_full_or_not_at_all(world, rows);
        if killed == kills {
            break;
        }
    }
    assert_eq!(killed, kills, "the batch was finished too early");
}

#[track_caller]
fn loaded_in_full_or_not_at_all(world: &World, rows: &[Row]) {
    let done = world.disburse(&["status", "b", "--json"]);
    match done.code {
        Some(0) => {
            let status: serde_json::Value = serde_json::from_str(&done.out).unwrap();
            assert_eq!(status["count"], rows.len(), "{status}");
        }
        Some(2) => {}
        _ => panic!("{done:?}"),
    }
}

fn beside_a_sandbox_process(seed: u64, callbacks: bool, options: &[&str], kills: usize) {
    let setup = if callbacks {
        Setup::with_callbacks()
    } else {
        Setup::default()
    };
    let seeded = seed.to_string();
    let arguments = [&["--seed", &seeded][..], options].concat();
    let (world, sandbox) = World::with_sandbox(&setup, &arguments);
    let rows = rows(ROWS, seed);
    world.write_rows("batch.csv", &rows);
    kill_on_the_way(&world, &PAY, kills, &rows, seed);
    world.until_finished(&PAY);
    prove(&world, "b", &rows, &sandbox.ledger());
}

fn with_the_sandbox_inside(seed: u64, faults: &str, kills: usize) {
    let world = World::new(&Setup::default());
    let rows = rows(ROWS, seed);
    world.write_rows("batch.csv", &rows);
    let seeded = seed.to_string();
    let sandbox = ["--sandbox", "--faults", faults, "--seed", &seeded];
    let command = [&PAY[..], &sandbox].concat();
    kill_on_the_way(&world, &command, kills, &rows, seed);
    world.until_finished(&command);
    prove(&world, "b", &rows, &ledger_beside_journal(&world));
}

#[test]
fn a_run_killed_at_random_moments_pays_nothing_twice() {
    thread::scope(|scope| {
        let faults = |name: &'static str| ["--faults", name, "--no-duplicate-check"];
        scope.spawn(move || beside_a_sandbox_process(31, true, &faults("none"), 6));
        scope.spawn(move || beside_a_sandbox_process(32, false, &faults("realistic"), 6));
        scope.spawn(move || beside_a_sandbox_process(33, true, &faults("hostile"), 6));
        scope.spawn(move || beside_a_sandbox_process(34, true, &faults("hostile")[..2], 6));
        scope.spawn(|| with_the_sandbox_inside(35, "realistic", 6));
        scope.spawn(|| with_the_sandbox_inside(36, "hostile", 6));
    });
}

#[test]
fn a_load_killed_at_random_moments_leaves_all_rows_or_none() {
    let world = World::new(&Setup::default());
    let rows = rows(20_000, 37);
    world.write_rows("batch.csv", &rows);
    let load = ["load", "batch.csv", "--batch", "b"];
    let mut rng = Rng::with_seed(37);
    for _ in 0..8 {
        let mut run = world.start(&load);
        thread::sleep(Duration::from_millis(rng.u64(..400)));
        let over = run.is_over();
        drop(run);
        loaded_in_full_or_not_at_all(&world, &rows);
        if over {
            break;
        }
    }
    world.expect(0, &load);
    assert_eq!(world.count("b", "ready"), rows.len() as u64);
}
