//! Each fault preset with several seeds: whatever the gateway does, it executes each payment once at most, and the
//! report says what it did.

use std::thread;

use crate::files::rows;
use crate::oracle::prove;
use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World};

const PAY: [&str; 4] = ["pay", "batch.csv", "--batch", "b"];

/// Pays a file through a sandbox process, and holds the outcome against its ledger.
fn against_a_process(
    faults: &str,
    seed: u64,
    count: usize,
    callbacks: bool,
    request_timeout: &'static str,
    options: &[&str],
) {
    let seeded = seed.to_string();
    let mut arguments = vec!["--faults", faults, "--seed", &seeded];
    arguments.extend_from_slice(options);
    let setup = Setup {
        request_timeout,
        ..if callbacks {
            Setup::with_callbacks()
        } else {
            Setup::default()
        }
    };
    let (world, sandbox) = World::with_sandbox(&setup, &arguments);
    let rows = rows(count, seed);
    world.write_rows("batch.csv", &rows);
    let code = world.until_finished(&[&PAY[..], &["--yes"]].concat());
    let ledger = sandbox.ledger();
    prove(&world, "b", &rows, &ledger);
    let all_paid = ledger.executed_once == rows.len() as u64;
    assert_eq!(code, if all_paid { 0 } else { 3 }, "{faults}, seed {seed}");
    if faults == "none" {
        assert_eq!(
            (ledger.posts, code),
            (rows.len() as u64, 0),
            "one post each is enough"
        );
    }
}

fn in_process(faults: &str, seed: u64, count: usize) {
    let world = World::new(&Setup::default());
    let rows = rows(count, seed);
    world.write_rows("batch.csv", &rows);
    let seeded = seed.to_string();
    let sandbox = ["--sandbox", "--faults", faults, "--seed", &seeded];
    let code = world.until_finished(&[&PAY[..], &sandbox].concat());
    let ledger = ledger_beside_journal(&world);
    prove(&world, "b", &rows, &ledger);
    let all_paid = ledger.executed_once == rows.len() as u64;
    assert_eq!(code, if all_paid { 0 } else { 3 }, "{faults}, seed {seed}");
}

/// Runs cases beside one another: nearly all of their time is waiting.
fn all<C: Copy + Send>(cases: &[C], case: impl Fn(C) + Send + Copy) {
    thread::scope(|scope| {
        for item in cases {
            let item = *item;
            scope.spawn(move || case(item));
        }
    });
}

#[test]
fn a_sandbox_process_executes_each_payment_once_at_most() {
    all(
        &[
            ("none", 1, 300, true),
            ("none", 2, 120, false),
            ("realistic", 3, 250, true),
            ("realistic", 4, 120, false),
            ("hostile", 5, 200, true),
            ("hostile", 6, 120, false),
        ],
        |(faults, seed, count, callbacks)| {
            against_a_process(faults, seed, count, callbacks, "1900ms", &[]);
        },
    );
}

#[test]
fn without_the_gateways_duplicate_check_each_payment_is_executed_once_at_most() {
    all(
        &[
            ("none", 11, 100, true, "1900ms"),
            ("realistic", 12, 200, true, "1s"),
            ("hostile", 13, 150, false, "1900ms"),
            ("hostile", 14, 150, true, "1900ms"),
            // Shorter than a slow reply takes: those payments are in doubt although they were executed.
            ("hostile", 15, 150, true, "1s"),
        ],
        |(faults, seed, count, callbacks, timeout)| {
            let options = ["--no-duplicate-check"];
            against_a_process(faults, seed, count, callbacks, timeout, &options);
        },
    );
}

#[test]
fn the_sandbox_inside_the_process_executes_each_payment_once_at_most() {
    all(
        &[
            ("none", 21, 100),
            ("realistic", 22, 200),
            ("realistic", 23, 60),
            ("hostile", 24, 150),
            ("hostile", 25, 60),
        ],
        |(faults, seed, count)| in_process(faults, seed, count),
    );
}
