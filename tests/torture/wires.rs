//! Batches over wires that break, each in its own way.

use std::time::Instant;

use crate::batch::{Mix, PAY, Scene};
use crate::jobs::{all, rounds, tell};
use crate::proxy::{Ending, Proxy, Way, Wire};
use crate::world::Setup;

const MIX: Mix = Mix {
    wallets: 84,
    transfers: 4,
    bills: 12,
};

const WIRES: [(&str, Wire); 10] = [
    ("request reset", Wire::Ends(Way::Request, Ending::Reset)),
    ("reply reset", Wire::Ends(Way::Reply, Ending::Reset)),
    (
        "request half-closed",
        Wire::Ends(Way::Request, Ending::HalfClose),
    ),
    (
        "reply half-closed",
        Wire::Ends(Way::Reply, Ending::HalfClose),
    ),
    ("request stalled", Wire::Ends(Way::Request, Ending::Stall)),
    ("reply stalled", Wire::Ends(Way::Reply, Ending::Stall)),
    (
        "reply stalled after its head",
        Wire::Ends(Way::Reply, Ending::StallAfterHead),
    ),
    // A post takes from half a second to longer than it is waited for.
    ("slow", Wire::Slow(600)),
    ("sliced into bytes", Wire::Sliced),
    ("deaf", Wire::Deaf),
];

/// Carries a batch over the wire; returns connections, those that broke, runs and posts.
fn one_world(wire: Wire, seed: u64) -> (usize, usize, usize, u64) {
    let setup = Setup {
        request_timeout: "1500ms",
        // Longer than the wire carries a post that nobody waits for any more.
        quarantine: match wire {
            Wire::Slow(_) => "5s",
            _ => "2s",
        },
        more: "limits.breaker_losses = 40\nlimits.breaker_pause = \"300ms\"",
        ..Setup::default()
    };
    let mut scene = Scene::new(&setup, MIX, seed, &[]);
    let proxy = Proxy::start(&scene.sandbox.base_url, wire, seed);
    scene.world = scene.world.towards(&proxy.base_url);
    let command = [&PAY[..], &["--rate", "60/s"]].concat();
    let mut runs = 0;
    loop {
        runs += 1;
        assert!(runs <= 30, "{wire:?}: still unfinished");
        let done = scene.world.disburse(&command);
        match done.code {
            Some(0 | 3) => break,
            // What comes before the posts could not be had, or the batch is not finished.
            Some(4..=6) => {}
            _ => panic!("{wire:?}: {done:?}"),
        }
    }
    scene.prove();
    let (connections, broken) = proxy.counts();
    if matches!(wire, Wire::Ends(..) | Wire::Deaf) {
        assert!(
            broken >= 5,
            "{wire:?}: only {broken} of {connections} connections broke"
        );
    }
    (connections, broken, runs, scene.sandbox.ledger().posts)
}

#[test]
fn a_batch_over_a_wire_that_breaks_is_paid_once() {
    let started = Instant::now();
    let count = rounds(WIRES.len());
    let jobs = (0..count).map(|index| (WIRES[index % WIRES.len()], 10_000 + index as u64));
    let told = all(jobs, |((name, wire), seed)| {
        let (connections, broken, runs, posts) = one_world(wire, seed);
        let counted = format!(
            "100 rows, {connections} connections, {broken} broken, {posts} posts, {runs} runs"
        );
        tell(&format!("wire, {name}"), started, &counted);
        broken
    });
    let counted = format!(
        "{} batches of 100 rows, {} broken connections, executed twice: 0",
        told.len(),
        told.iter().sum::<usize>()
    );
    tell("wires", started, &counted);
}

/// The process ends while the wire holds the first bytes of a message, and not the rest.
fn killed_within_messages(way: Way, kills: usize, seed: u64) -> usize {
    let setup = Setup {
        request_timeout: "1500ms",
        ..Setup::default()
    };
    let mut scene = Scene::new(&setup, MIX, seed, &[]);
    let proxy = Proxy::start(
        &scene.sandbox.base_url,
        Wire::Ends(way, Ending::Stall),
        seed,
    );
    scene.world = scene.world.towards(&proxy.base_url);
    let slowly = [&PAY[..], &["--rate", "30/s"]].concat();
    let mut killed = 0;
    while killed < kills {
        let (_, before) = proxy.counts();
        let mut run = scene.world.start(&slowly);
        while proxy.counts().1 == before && !run.is_over() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if run.is_over() {
            break;
        }
        // Dropped, it is killed.
        drop(run);
        killed += 1;
    }
    scene.world.until_finished(&PAY);
    scene.prove();
    killed
}

#[test]
fn a_run_killed_while_a_message_is_on_the_wire_pays_nothing_twice() {
    let started = Instant::now();
    let each = rounds(20).div_ceil(2).min(10);
    let jobs = (0..rounds(20).div_ceil(each))
        .map(|index| ([Way::Request, Way::Reply][index % 2], 11_000 + index as u64));
    let kills: usize = all(jobs, |(way, seed)| killed_within_messages(way, each, seed))
        .into_iter()
        .sum();
    assert!(kills >= rounds(20) / 2, "only {kills} kills");
    tell(
        "kills within messages",
        started,
        &format!("{kills} kills while a request or a reply was cut in two, executed twice: 0"),
    );
}
