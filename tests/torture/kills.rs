//! SIGKILL at random moments of a batch of every kind, and once more while the batch is still being mended.

use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::batch::{Mix, PAY, Scene};
use crate::jobs::{all, rounds, tell, worlds};
use crate::world::Setup;

const MIX: Mix = Mix {
    wallets: 90,
    transfers: 10,
    bills: 16,
};

#[derive(Default)]
struct Count {
    kills: usize,
    rows: usize,
    posts: u64,
}

/// Kills the program `kills` times on its way through one batch.
fn one_world(seed: u64, kills: usize) -> Count {
    let mut rng = Rng::with_seed(seed);
    let setup = if rng.bool() {
        Setup::with_callbacks()
    } else {
        Setup::default()
    };
    let faults = ["none", "realistic", "hostile"][rng.usize(..3)];
    let scene = Scene::new(&setup, MIX, seed, &["--faults", faults]);
    let slowly = [&PAY[..], &["--rate", "25/s"]].concat();
    let mut killed = 0;
    while killed < kills {
        // While it starts, loads, asks for bills and uploads; or while it posts, a second after a restart.
        let moment = match rng.u8(..3) {
            0 => rng.u64(..200),
            1 => rng.u64(200..900),
            _ => rng.u64(900..1_900),
        };
        let mut run = scene.world.start(&slowly);
        thread::sleep(Duration::from_millis(moment));
        if run.is_over() {
            break;
        }
        // Dropped, it is killed.
        drop(run);
        killed += 1;
    }
    scene.world.until_finished(&PAY);
    scene.prove();
    Count {
        kills: killed,
        rows: scene.rows.len(),
        posts: scene.sandbox.ledger().posts,
    }
}

#[test]
fn a_batch_of_every_kind_survives_kills_at_random_moments() {
    let started = Instant::now();
    let wanted = rounds(84);
    let (mut seed, mut sum) = (1_000, Count::default());
    // A batch may be finished before its last kill; another world makes up for it.
    while sum.kills < wanted {
        let jobs = worlds(wanted - sum.kills, 12, seed);
        seed += jobs.len() as u64;
        for count in all(jobs, |(seed, kills)| one_world(seed, kills)) {
            sum.kills += count.kills;
            sum.rows += count.rows;
            sum.posts += count.posts;
        }
    }
    let counted = format!(
        "{} kills at random moments, {} rows, {} posts, executed twice: 0",
        sum.kills, sum.rows, sum.posts
    );
    tell("random kills", started, &counted);
}
