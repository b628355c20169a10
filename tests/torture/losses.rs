//! Power losses: the process is killed, and of the journal stays what was synced, with some of the rest.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::batch::{Mix, PAY, Scene};
use crate::disk::Unsynced;
use crate::jobs::{all, rounds, tell, worlds};
use crate::oracle::{nothing_twice, payments};
use crate::shim::{Shimmed, library};
use crate::world::Setup;

const MIX: Mix = Mix {
    wallets: 160,
    transfers: 6,
    bills: 8,
};

#[derive(Default)]
struct Count {
    losses: usize,
    bytes_lost: usize,
    bytes_kept: usize,
    posts: u64,
    /// Payments that the gateway had been sent, and that the journal called unsent after a power loss.
    intents_lost: usize,
    executed_more: u64,
}

impl Count {
    fn sum(counts: Vec<Self>) -> Self {
        counts.into_iter().fold(Self::default(), |sum, one| Self {
            losses: sum.losses + one.losses,
            bytes_lost: sum.bytes_lost + one.bytes_lost,
            bytes_kept: sum.bytes_kept + one.bytes_kept,
            posts: sum.posts + one.posts,
            intents_lost: sum.intents_lost + one.intents_lost,
            executed_more: sum.executed_more + one.executed_more,
        })
    }
}

/// Ends a command at a random moment: by the clock, by a thing that it does to the journal, or at a named point.
fn end_somewhere(scene: &mut Scene, command: &[&str], rng: &mut Rng) -> bool {
    let world = &mut scene.world;
    let points = [
        "after-claim",
        "before-send",
        "after-send",
        "before-record",
        "after-record",
    ];
    let which = rng.u8(..if cfg!(debug_assertions) { 3 } else { 2 });
    match which {
        0 => {
            let mut run = world.start(command);
            thread::sleep(Duration::from_millis(rng.u64(..2_200)));
            return !run.is_over();
        }
        1 => world.set("SHIM_KILL", rng.u64(1..260).to_string()),
        _ => {
            let (point, passage) = (points[rng.usize(..points.len())], rng.u64(1..12));
            world.set("TORTURE_KILL_AT", format!("{point}:{passage}"));
        }
    }
    let done = world.disburse(command);
    world.unset("SHIM_KILL");
    world.unset("TORTURE_KILL_AT");
    assert!(matches!(done.code, None | Some(0 | 3)), "{done:?}");
    done.code.is_none()
}

/// How many payments the gateway knows and the journal has no intent of.
pub fn intents_lost(scene: &Scene) -> usize {
    let known = scene.sandbox.ledger().identifiers;
    let done = scene.world.disburse(&["report", "b", "--out", "lost"]);
    // The batch itself is gone: so is every intent.
    if done.code == Some(2) {
        return known.len();
    }
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines = payments(&scene.world, "lost");
    let states: BTreeMap<&str, &str> = lines
        .iter()
        .map(|line| (line.get("payer_transaction_id"), line.get("state")))
        .collect();
    known
        .keys()
        .filter(|id| states[id.as_str()] == "ready")
        .count()
}

/// What a person says of a journal that is behind: nobody gave it an order.
fn give_orders_again(scene: &Scene) {
    // The first one that writes notices it, and asks.
    let _ = scene
        .world
        .disburse(&["run", "b", "--yes", "--no-wait", "--asked-as", "acme"]);
    let word = [
        "recover",
        "--orders-given-again",
        "--reason",
        "no order was given",
        "--yes",
    ];
    let done = scene.world.disburse(&word);
    assert!(matches!(done.code, Some(0 | 2)), "{done:?}");
}

/// Loses power `losses` times on the way through one batch, then brings it to its end.
fn one_world(library: &Path, seed: u64, losses: usize, synchronous: &str) -> Count {
    let mut rng = Rng::with_seed(seed);
    let setup = Setup {
        quarantine: "2s",
        ..if rng.bool() {
            Setup::with_callbacks()
        } else {
            Setup::default()
        }
    };
    let mut scene = Scene::new(&setup, MIX, seed, &[]);
    let mut disk = Shimmed::of(&mut scene.world, library);
    if synchronous != "full" {
        // What is at stake is what a run writes.
        scene
            .world
            .expect(0, &["load", "batch.csv", "--batch", "b"]);
        scene.world.set("TORTURE_SYNCHRONOUS", synchronous);
    }
    let mut pay = PAY.to_vec();
    if synchronous != "full" {
        // The journal that is made anew does not know who posted before it.
        pay.extend(["--asked-as", "acme"]);
    }
    let slowly = [&pay[..], &["--rate", "30/s"]].concat();
    let mut count = Count::default();
    for _ in 0..losses {
        if !end_somewhere(&mut scene, &slowly, &mut rng) {
            break;
        }
        let unsynced = match synchronous {
            "full" => Unsynced::any(&mut rng),
            _ => Unsynced::Lost,
        };
        let loss = disk.lose_power(unsynced, &mut rng);
        count.losses += 1;
        count.bytes_lost += loss.bytes_lost;
        count.bytes_kept += loss.bytes_kept;
        count.intents_lost += intents_lost(&scene);
        if synchronous != "full" {
            give_orders_again(&scene);
        }
    }
    scene.world.until_finished(&pay);
    let ledger = scene.sandbox.ledger();
    count.posts = ledger.posts;
    count.executed_more = ledger.executed_more;
    if synchronous == "full" {
        nothing_twice(&ledger);
        scene.prove();
    }
    count
}

fn told(count: &Count) -> String {
    format!(
        "{} power losses, {} unsynced bytes lost, {} kept, {} posts, intents lost: {}, executed twice: {}",
        count.losses,
        count.bytes_lost,
        count.bytes_kept,
        count.posts,
        count.intents_lost,
        count.executed_more
    )
}

#[test]
fn no_power_loss_takes_an_intent_whose_post_has_left() {
    let Some(library) = library() else { return };
    let started = Instant::now();
    let (wanted, mut seed, mut sum) = (rounds(64), 4_000, Count::default());
    while sum.losses < wanted {
        let jobs = worlds(wanted - sum.losses, 8, seed);
        seed += jobs.len() as u64;
        let mut counts = all(jobs, |(seed, losses)| {
            one_world(library, seed, losses, "full")
        });
        counts.push(sum);
        sum = Count::sum(counts);
    }
    tell("power losses", started, &told(&sum));
    assert_eq!((sum.intents_lost, sum.executed_more), (0, 0));
    assert!(sum.bytes_lost > 0 && sum.bytes_kept > 0, "{}", told(&sum));
}

/// What the test above is worth: commits that are not synced are lost, and it sees them. The mark beside the journal is ahead
/// of it then, so that everything is asked about: a second net, without which payments are made twice.
#[test]
fn without_full_synchronisation_power_losses_take_intents_and_the_mark_notices_it() {
    let Some(library) = library() else { return };
    if !cfg!(debug_assertions) {
        // A release build commits with full synchronisation, whatever it is told.
        return;
    }
    let started = Instant::now();
    let jobs = worlds(12, 4, 5_000);
    let sum = Count::sum(all(jobs, |(seed, losses)| {
        one_world(library, seed, losses, "normal")
    }));
    tell("power losses, synchronous = NORMAL", started, &told(&sum));
    assert!(
        sum.intents_lost > 0,
        "the power losses are none: {}",
        told(&sum)
    );
    assert_eq!(sum.executed_more, 0, "the mark fails: {}", told(&sum));
}

/// What was told to be loaded is loaded, whatever happens next.
#[test]
fn a_load_that_was_told_survives_a_power_loss() {
    let Some(library) = library() else { return };
    let mut scene = Scene::new(&Setup::default(), MIX, 5_900, &[]);
    let mut disk = Shimmed::of(&mut scene.world, library);
    let load = ["load", "batch.csv", "--batch", "b"];
    scene.world.expect(0, &load);
    disk.lose_power(Unsynced::Lost, &mut Rng::with_seed(1));
    assert_eq!(scene.world.status("b")["count"], scene.rows.len());
}
