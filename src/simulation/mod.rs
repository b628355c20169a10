//! Whole runs in simulated time: the engine, the lifecycle, the listener and the journal of the program, against a
//! gateway, a network and a clock that are driven by one seed.
//!
//! A seed gives the batch, the faults and their moments, the crashes, and what the operator does between the runs. The
//! gateway's ledger is the oracle ([`oracle`]): it counts how often money moved. The same seed gives the same trace.

mod disk;
mod faults;
mod hurry;
mod judge;
mod life;
mod operator;
mod outside;
mod plays;
mod scene;
mod several;
mod tests;
mod together;

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use crate::journal::simulated::{Disk, Medium, Shelf};
use crate::lifecycle::SettleOn;
use disk::places::Places;
use hurry::Hurry;
use operator::again::Again;
use operator::destinations::Destinations;
use operator::diary::Diary;
use operator::eyes::Eyes;
use operator::limits::Played;
use operator::mended::Mended;
use operator::scheduled::Times;
use outside::world::World;
use scene::Scene;
use together::Together;

/// Runs that may follow one another until the batch must be finished.
const LIVES_MAX: u32 = 40;
/// A batch of ten rows is finished within this time of healthy gateway and network.
const HEALING_MS_MAX: u64 = 1_800_000;
/// Runs in bad days.
const BAD_LIVES_MAX: u32 = 6;

/// What a simulation came to.
pub(crate) struct Outcome {
    /// What should not be: the number of the invariant, and what happened.
    pub violations: Vec<String>,
    /// What happened, when it was asked for.
    pub trace: Vec<String>,
    /// How long the batch took once the gateway was healthy.
    pub healing_ms: u64,
}

/// Returns what a seed keeps its journal in: most keep it in maps, which is faster, a share in maps that several runs share, and a share
/// in SQLite; or all in the one that `SIMULATION_STORE` names.
fn medium(seed: u64) -> Medium {
    static ALL: OnceLock<Option<Medium>> = OnceLock::new();
    let named = ALL.get_or_init(|| match std::env::var("SIMULATION_STORE").as_deref() {
        Ok("sqlite") => Some(Medium::Sqlite),
        Ok("memory") => Some(Medium::Memory),
        Ok("shared") => Some(Medium::Shared),
        _ => None,
    });
    named.unwrap_or_else(|| match Together::plays(seed) {
        true => Medium::Shared,
        false => medium_of_one(seed),
    })
}

/// Returns the same where one run at a time has the batch.
fn medium_of_one(seed: u64) -> Medium {
    match seed % SQLITE_SHARE {
        0 => Medium::Sqlite,
        _ => Medium::Memory,
    }
}

/// One seed of so many keeps its journal in SQLite.
const SQLITE_SHARE: u64 = 8;

/// Simulates one seed.
pub(crate) fn simulate(seed: u64, traced: bool) -> Outcome {
    simulate_on(medium(seed), seed, traced)
}

/// Simulates one seed on a store.
fn simulate_on(medium: Medium, seed: u64, traced: bool) -> Outcome {
    fastrand::seed(seed);
    let world = World::new(seed, traced);
    let (count, has_documents, confirmed) = {
        let rng = &mut world.lock().rng;
        (rng.u64(1..=8), rng.u32(0..4) == 0, rng.u32(0..4) == 0)
    };
    let shelf = Shelf::default();
    let is_shared = medium == Medium::Shared;
    world.lock().is_shared = is_shared;
    let mut scene = Scene {
        disk: Disk::blank(&shelf, medium, &world.server_clock()),
        world,
        shelf,
        // Nothing lies beside a server that would tell a copy of it.
        copies: seed.is_multiple_of(4) && !is_shared,
        places: Places::of(seed),
        again: Again::of(seed),
        mended: Mended::of(seed),
        times: Times::of(seed),
        destinations: Destinations::of(seed),
        diary: Diary::of(seed),
        limited: Played::of(seed),
        eyes: Eyes::of(seed),
        together: Together::of(seed, is_shared),
        hurry: Hurry::of(seed),
        accounts: RefCell::default(),
        waited: Cell::default(),
        rows: RefCell::default(),
        certain: Cell::new(0),
        first_identifiers: RefCell::default(),
        has_documents,
        settle_on: if confirmed {
            SettleOn::Confirmed
        } else {
            SettleOn::Callback
        },
        codes: operator::deployment::codes(seed),
        lost_journal: false,
        unasked: false,
    };
    scene.world.lock().closed = scene.diary.closed;
    scene.write_rows(1..=count);
    scene.load_first(false);
    let bad = scene.world.lock().rng.u32(1..=BAD_LIVES_MAX);
    let (mut finished, mut healed_at) = (false, 0);
    for number in 0..LIVES_MAX {
        let healthy = number >= bad;
        if healthy {
            scene.await_times();
        }
        if number == bad {
            healed_at = scene.world.lock().heal();
        }
        scene.live_all(healthy);
        scene.amend_again();
        let pause = {
            let mut shape = scene.world.lock();
            let most = if shape.rng.bool() { 300 } else { 30_000 };
            shape.rng.u64(0..most)
        };
        scene.world.idle(pause);
        finished = scene.is_decided();
        scene.of_each_batch(|| finished &= scene.on_a_runtime(scene.is_finished()));
        if finished && healthy && scene.world.lock().is_quiet() {
            break;
        }
        if !scene.world.lock().violations.is_empty() {
            break;
        }
        scene.office(healthy);
    }
    let waited = u64::try_from(scene.waited.get().as_millis()).unwrap_or(u64::MAX);
    let healing_ms = (scene.world.lock().now() - healed_at).saturating_sub(waited);
    // What is still on its way arrives.
    scene.world.idle(10_000_000);
    let mut violations = std::mem::take(&mut scene.world.lock().violations);
    scene.judge(&mut violations);
    // What has a time waits longer by as much as the clock of the server was set back.
    let set_back = scene.world.lock().set_back.as_millis();
    let in_time = u128::from(healing_ms) <= u128::from(HEALING_MS_MAX) + set_back;
    if violations.is_empty() && !(finished && in_time) {
        violations.push(format!(
            "20: finished: {finished}, {healing_ms} ms after the gateway became healthy"
        ));
    }
    let trace = scene.world.lock().trace.take().unwrap_or_default();
    Outcome {
        violations,
        trace,
        healing_ms,
    }
}
