//! Whole runs in simulated time: the engine, the lifecycle, the listener and the SQLite journal of the program, against a
//! gateway, a network and a clock that are driven by one seed.
//!
//! A seed gives the batch, the faults and their moments, the crashes, and what the operator does between the runs. The
//! gateway's ledger is the oracle ([`oracle`]): it counts how often money moved. The same seed gives the same trace.

mod faults;
mod gateway;
mod life;
mod line;
mod office;
mod oracle;
mod tests;
mod world;

use std::sync::Arc;

use crate::domain::{
    Amount, BatchName, Country, Currency, Instruction, Money, Msisdn, Originator, Reference,
    ServiceCode, Timestamp,
};
use crate::journal::LoadPlan;
use crate::journal::inline::Disk;
use world::World;

/// Runs that may follow one another until the batch must be finished.
const LIVES_MAX: u32 = 40;
/// Runs in bad days.
const BAD_LIVES_MAX: u32 = 6;

/// What a simulation came to.
pub(crate) struct Outcome {
    /// What should not be.
    pub violations: Vec<String>,
    /// What happened, when it was asked for.
    pub trace: Vec<String>,
}

/// A batch under simulation.
pub(crate) struct Scene {
    world: Arc<World>,
    disk: Disk,
    rows: Vec<Instruction>,
    /// The batch was loaded anew after its journal was lost.
    lost_journal: bool,
}

pub(crate) fn batch() -> BatchName {
    BatchName::parse("b").expect("a letter is a name")
}

/// Simulates one seed.
pub(crate) fn simulate(seed: u64, traced: bool) -> Outcome {
    fastrand::seed(seed);
    let world = World::new(seed, traced);
    let count = world.lock().rng.u64(1..=8);
    let scene = Scene {
        world,
        disk: Disk::blank(),
        rows: (1..=count).map(row).collect(),
        lost_journal: false,
    };
    let mut scene = scene;
    let mut violations = Vec::new();
    scene.load(false);
    let bad = scene.world.lock().rng.u32(1..=BAD_LIVES_MAX);
    let mut finished = false;
    for number in 0..LIVES_MAX {
        if number == bad {
            let mut shape = scene.world.lock();
            shape.faults = shape.faults.healed();
            shape.note(|| "the gateway is healthy".into());
        }
        let healthy = number >= bad;
        if let Err(why) = scene.live(healthy) {
            violations.push(why);
            break;
        }
        let pause = {
            let mut shape = scene.world.lock();
            let most = if shape.rng.bool() { 300 } else { 30_000 };
            shape.rng.u64(0..most)
        };
        scene.world.idle(pause);
        finished = scene.is_finished();
        if finished && healthy && scene.world.lock().is_quiet() {
            break;
        }
        scene.office(healthy, &mut violations);
    }
    // What is still on its way arrives.
    scene.world.idle(10_000_000);
    if !finished && violations.is_empty() {
        violations.push(format!("not finished after {LIVES_MAX} runs"));
    }
    let trace = scene.world.lock().trace.take().unwrap_or_default();
    scene.judge(&mut violations);
    Outcome { violations, trace }
}

fn row(n: u64) -> Instruction {
    let msisdn = Msisdn::from_digits(&format!("2547{n:08}")).expect("digits are digits");
    let service = if n.is_multiple_of(3) { "B" } else { "A" };
    Instruction {
        line: n + 1,
        reference: Some(Reference::parse(&format!("R{n}")).expect("short")),
        service: ServiceCode::parse(service).expect("a letter is a code"),
        msisdn,
        account_number: msisdn.as_str().into(),
        money: Money {
            amount: Amount::from_minor(i64::try_from(n).unwrap_or(1) * 100).expect("positive"),
            currency: Currency::from_code("KES").expect("known"),
        },
        country: Country::from_code("KE").expect("known"),
        narration: String::new(),
        customer_names: String::new(),
        invoice_number: String::new(),
        payment_mode: String::new(),
        hub_id: String::new(),
        extra: Vec::new(),
        document: None,
    }
}

fn plan(now: Timestamp, presume_posted: bool) -> LoadPlan {
    LoadPlan {
        batch: batch(),
        originator: Originator::parse("acme").expect("a name"),
        source: "batch.csv".into(),
        now,
        amend: false,
        allow_equal_rows: false,
        allow_same_content: false,
        skip_bad_rows: false,
        presume_posted,
        expect_count: None,
        expect_total: None,
        dry_run: false,
    }
}
