//! The journal is lost half way: the same file makes the same identifiers, so that nothing is paid again.

use crate::files::rows;
use crate::oracle::prove_outcome;
use crate::world::{Setup, World};

const PAY: [&str; 7] = [
    "pay",
    "batch.csv",
    "--batch",
    "b",
    "--yes",
    "--rate",
    "60/s",
];

/// Loses the journal after a third of the batch, and goes on with `again`.
fn lose_the_journal(faults: &str, seed: &str, sandbox: &[&str], again: &[&str]) {
    let arguments = [&["--faults", faults, "--seed", seed][..], sandbox].concat();
    let (world, sandbox) = World::with_sandbox(&Setup::with_callbacks(), &arguments);
    let rows = rows(120, 41);
    world.write_rows("batch.csv", &rows);
    let mut run = world.start(&PAY);
    run.until("a third is posted", |_| sandbox.ledger().posts >= 40);
    drop(run);
    let before = sandbox.ledger();
    world.delete_journal();
    let asked = ["--asked-as", "acme"];
    world.until_finished(&[&PAY[..], &asked, again].concat());
    let ledger = sandbox.ledger();
    prove_outcome(&world, "b", &rows, &ledger);
    for id in before.identifiers.keys() {
        assert!(
            ledger.identifiers.contains_key(id),
            "{id} is still the one of its row"
        );
    }
}

#[test]
fn the_same_file_loaded_again_pays_nothing_twice() {
    lose_the_journal("none", "41", &[], &[]);
}

#[test]
fn the_same_file_loaded_again_pays_nothing_twice_in_bad_weather() {
    lose_the_journal("hostile", "42", &[], &[]);
}

#[test]
fn presumed_posts_are_asked_about_where_the_gateway_has_no_duplicate_check() {
    lose_the_journal(
        "realistic",
        "43",
        &["--no-duplicate-check"],
        &["--presume-posted"],
    );
}
