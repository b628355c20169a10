//! Several runs of one batch at once, on a store that they share: each is a process on a machine of its own.
//!
//! They join and leave as they like, are killed, stand still, and are cut off from the store while the gateway is there; the store loses
//! connections and commits, stops, and comes back on another machine. Callbacks come to any of them, and operators sit elsewhere.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;

use crate::journal::weather::{Heard, Weather};
use crate::simulation::outside::packet::Ordeal;

/// One seed of so many plays it.
const SHARE: u64 = 4;
/// Runs at once.
const RUNS_MAX: usize = 4;

/// How runs play together, with a generator of their own.
pub(super) struct Together {
    pub(super) is_on: bool,
    pub(super) rng: RefCell<Rng>,
    chances: Chances,
}

/// Chances in a thousand.
#[derive(Clone, Copy, Debug, Default)]
struct Chances {
    killed: u32,
    standstill: u32,
    cut_off: u32,
    /// Of a transaction that its connection is lost.
    lost: u32,
    /// That the server is, soon after, and another one takes its place that does not have it, perhaps.
    unkept: u32,
    /// That it takes long.
    slow: u32,
    /// Of a life that the server stops in it.
    outage: u32,
    pub(super) hasty: u32,
}

/// What happens in a life.
pub(super) struct Life {
    /// When each run begins, and what happens to it.
    pub(super) runs: Vec<(Duration, Ordeal)>,
    pub(super) listens: bool,
    pub(super) is_ahead: bool,
    pub(super) hasty: bool,
    /// When the server stops, for how long, and whether another one takes its place.
    pub(super) outages: Vec<(Duration, Duration, bool)>,
}

impl Together {
    /// Whether a seed plays it, whatever else it plays.
    pub(super) fn plays(seed: u64) -> bool {
        // Spread over all that is played by one seed of so many.
        (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).is_multiple_of(SHARE)
    }

    pub(super) fn of(seed: u64, is_on: bool) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x706E_7ED5);
        let is_calm = rng.u32(0..5) == 0;
        let mut chance = |most: u32| match is_calm || rng.bool() {
            true => 0,
            false => rng.u32(0..=most),
        };
        let chances = Chances {
            killed: chance(500),
            standstill: chance(500),
            cut_off: chance(400),
            lost: chance(20),
            unkept: chance(60),
            slow: chance(60),
            outage: chance(500),
            hasty: chance(700),
        };
        Self {
            is_on,
            rng: RefCell::new(rng),
            chances,
        }
    }

    /// Draws what the transactions of a process meet.
    pub(super) fn weather(&self, healthy: bool) -> Box<dyn Fn() -> Weather + Send + Sync> {
        let rng = Mutex::new(self.rng.borrow_mut().fork());
        let chances = match healthy {
            true => Chances::default(),
            false => self.chances,
        };
        Box::new(move || {
            let mut rng = rng.lock().unwrap_or_else(PoisonError::into_inner);
            weather(&mut rng, chances)
        })
    }

    pub(super) fn life(&self, healthy: bool) -> Life {
        let (rng, of) = (&mut *self.rng.borrow_mut(), self.chances);
        let mut runs = Vec::new();
        for number in 0..rng.usize(1..=RUNS_MAX).max(usize::from(!healthy) + 1) {
            let begins = match number {
                0 => 0,
                _ => rng.u64(0..20_000),
            };
            let mut chance = |chance: u32| !healthy && rng.u32(0..1_000) < chance;
            let (killed, stands, cut) =
                (chance(of.killed), chance(of.standstill), chance(of.cut_off));
            // However well all goes, a machine may die, unless it is the last one.
            let dies = healthy && number > 0 && rng.u32(0..4) == 0;
            let at_post = stands && rng.bool();
            let ordeal = Ordeal {
                killed: (killed || dies).then(|| rng.u64(0..40_000)),
                standstill: (stands && !at_post).then(|| (rng.u64(0..20_000), rng.u64(0..90_000))),
                // What is shorter is part of the way to the gateway.
                stops_at_post: at_post.then(|| rng.u64(2_001..90_000)),
                cut_off: cut.then(|| (rng.u64(0..20_000), rng.u64(0..40_000))),
            };
            runs.push((Duration::from_millis(begins), ordeal));
        }
        let outages = match !healthy && rng.u32(0..1_000) < of.outage {
            false => 0,
            true => rng.usize(1..=2),
        };
        let outages = (0..outages).map(|_| {
            let [after, long] =
                [30_000, 15_000].map(|most| Duration::from_millis(rng.u64(0..most)));
            (after, long, rng.bool())
        });
        let outages = outages.collect();
        Life {
            runs,
            outages,
            listens: rng.u32(0..3) == 0,
            is_ahead: rng.u32(0..6) == 0,
            hasty: rng.u32(0..1_000) < of.hasty,
        }
    }
}

/// Up to so many milliseconds.
fn up_to(rng: &mut Rng, most: u64) -> Duration {
    Duration::from_millis(rng.u64(0..=most))
}

fn weather(rng: &mut Rng, of: Chances) -> Weather {
    let mut weather = Weather {
        within: up_to(rng, 4),
        back: up_to(rng, 20),
        noticed: match rng.u32(0..4) {
            0 => up_to(rng, 8_000),
            _ => Duration::ZERO,
        },
        ..Weather::default()
    };
    let [is_lost, is_unkept, is_slow] =
        [of.lost, of.unkept, of.slow].map(|chance| rng.u32(0..1_000) < chance);
    if is_slow {
        let (within, back) = (up_to(rng, 12_000), up_to(rng, 25_000));
        match rng.u32(0..4) {
            0 => weather.within = within,
            _ => weather.back = back,
        }
    }
    if is_lost {
        weather.heard = match rng.bool() {
            true => Heard::NothingSent,
            false => Heard::NothingBack,
        };
    }
    if is_unkept {
        weather.heard = match rng.bool() {
            true => Heard::NothingKept,
            false => Heard::Warning,
        };
        weather.failover = (rng.u32(0..3) == 0).then(|| up_to(rng, 3_000));
    }
    weather
}
