//! Whole runs in simulated time: the engine, the lifecycle, the listener and the SQLite journal of the program, against a
//! gateway, a network and a clock that are driven by one seed.
//!
//! A seed gives the batch, the faults and their moments, the crashes, and what the operator does between the runs. The
//! gateway's ledger is the oracle ([`oracle`]): it counts how often money moved. The same seed gives the same trace.

mod accounts;
mod again;
mod decisions;
mod deployment;
mod faults;
mod fold;
mod gateway;
mod life;
mod line;
mod mended;
mod office;
mod oracle;
mod papers;
mod places;
mod plays;
mod tampering;
mod tests;
mod wire;
mod words;
mod world;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Amount, BatchName, Country, Currency, DocumentPath, Instruction, Money, Msisdn, Originator,
    PayerTransactionId, Reference, ServiceCode, Timestamp,
};
use crate::journal::LoadPlan;
use crate::journal::inline::{Disk, Shelf};
use crate::lifecycle::{CodeTable, SettleOn};
use again::Again;
use mended::Mended;
use places::Places;
use world::World;

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

/// A batch under simulation.
pub(crate) struct Scene {
    world: Arc<World>,
    disk: Disk,
    /// Where the mark of the journal is.
    shelf: Shelf,
    /// Copies of the journal are taken and put back.
    copies: bool,
    places: Places,
    again: Again,
    mended: Mended,
    /// The user names that the operator has in the configuration, by the batch that it is for.
    accounts: RefCell<BTreeMap<BatchName, &'static str>>,
    /// How long the operator has waited until what is in doubt may be decided.
    waited: Cell<Duration>,
    rows: RefCell<Vec<Instruction>>,
    /// How many of them a load has brought that was heard of; only the journal knows of the others.
    certain: Cell<usize>,
    /// The identifiers of the first load.
    first_identifiers: RefCell<BTreeMap<u64, PayerTransactionId>>,
    has_documents: bool,
    settle_on: SettleOn,
    /// What the deployment takes codes for.
    codes: CodeTable,
    /// The batch was loaded anew after its journal was lost.
    lost_journal: bool,
    /// Its rows were loaded as if they had never been posted: the gateway refuses what it has.
    unasked: bool,
}

impl Scene {
    fn lines(&self) -> Vec<Instruction> {
        self.rows.borrow().clone()
    }
}

pub(crate) fn batch() -> BatchName {
    BatchName::parse("b").expect("a letter is a name")
}

/// Simulates one seed.
pub(crate) fn simulate(seed: u64, traced: bool) -> Outcome {
    fastrand::seed(seed);
    let world = World::new(seed, traced);
    let (count, has_documents, confirmed) = {
        let rng = &mut world.lock().rng;
        (rng.u64(1..=8), rng.u32(0..4) == 0, rng.u32(0..4) == 0)
    };
    let shelf = Shelf::default();
    let mut scene = Scene {
        world,
        disk: Disk::blank(&shelf),
        shelf,
        copies: seed.is_multiple_of(4),
        places: Places::of(seed),
        again: Again::of(seed),
        mended: Mended::of(seed),
        accounts: RefCell::default(),
        waited: Cell::default(),
        rows: RefCell::new((1..=count).map(|n| row(n, has_documents)).collect()),
        certain: Cell::new(0),
        first_identifiers: RefCell::default(),
        has_documents,
        settle_on: if confirmed {
            SettleOn::Confirmed
        } else {
            SettleOn::Callback
        },
        codes: deployment::codes(seed),
        lost_journal: false,
        unasked: false,
    };
    scene.load_first(false);
    let bad = scene.world.lock().rng.u32(1..=BAD_LIVES_MAX);
    let (mut finished, mut healed_at) = (false, 0);
    for number in 0..LIVES_MAX {
        let healthy = number >= bad;
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
    if violations.is_empty() && (!finished || healing_ms > HEALING_MS_MAX) {
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

/// A row of the file; the last two of eight are equal but for their lines.
fn row(n: u64, has_documents: bool) -> Instruction {
    let equal = n == 7 || n == 8;
    let msisdn = if equal { 7 } else { n };
    let msisdn = Msisdn::from_digits(&format!("2547{msisdn:08}")).expect("digits are digits");
    let service = if n.is_multiple_of(3) { "B" } else { "A" };
    let reference = Reference::parse(&format!("R{n}")).expect("short");
    let document = has_documents && n % 3 == 2 && !equal;
    Instruction {
        line: n + 1,
        reference: (!equal).then_some(reference),
        service: ServiceCode::parse(service).expect("a letter is a code"),
        msisdn,
        account_number: msisdn.as_str().into(),
        money: Money {
            amount: Amount::from_minor(if equal { 700 } else { n.cast_signed() * 100 })
                .expect("positive"),
            currency: Currency::from_code("KES").expect("known"),
        },
        country: Country::from_code("KE").expect("known"),
        narration: String::new(),
        customer_names: String::new(),
        invoice_number: String::new(),
        payment_mode: String::new(),
        hub_id: String::new(),
        extra: Vec::new(),
        document: document.then(|| DocumentPath {
            digest: None,
            written: format!("{n}.pdf"),
            folder: "/".into(),
        }),
    }
}

fn plan(now: Timestamp, presume_posted: bool) -> LoadPlan {
    LoadPlan {
        batch: batch(),
        originator: Originator::parse("acme").expect("a name"),
        source: "batch.csv".into(),
        now,
        purpose: crate::ledger::Purpose::Gateway,
        amend: false,
        allow_equal_rows: true,
        repeats: None,
        skip_bad_rows: false,
        presume_posted,
        expect_count: None,
        expect_total: None,
        new_documents: false,
        dry_run: false,
    }
}
