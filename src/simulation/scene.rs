//! A batch under simulation: its file, its journal, its world, and what its operator has in mind.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Amount, BatchName, Country, Currency, DocumentPath, IdentifierForm, Instruction, Money, Msisdn,
    Originator, PayerTransactionId, Reference, ServiceCode, Timestamp,
};
use crate::journal::LoadPlan;
use crate::journal::simulated::{Disk, Shelf};
use crate::lifecycle::{CodeTable, SettleOn};
use crate::simulation::disk::places::Places;
use crate::simulation::hurry::Hurry;
use crate::simulation::operator::again::Again;
use crate::simulation::operator::destinations::Destinations;
use crate::simulation::operator::diary::Diary;
use crate::simulation::operator::eyes::Eyes;
use crate::simulation::operator::limits::Played;
use crate::simulation::operator::mended::Mended;
use crate::simulation::operator::scheduled::Times;
use crate::simulation::outside::speech::Speech;
use crate::simulation::outside::world::World;
use crate::simulation::together::Together;

/// A batch under simulation.
pub(super) struct Scene {
    pub(super) world: Arc<World>,
    pub(super) disk: Disk,
    /// Where the mark of the journal is.
    pub(super) shelf: Shelf,
    /// Copies of the journal are taken and put back.
    pub(super) copies: bool,
    pub(super) places: Places,
    pub(super) again: Again,
    pub(super) mended: Mended,
    pub(super) times: Times,
    pub(super) destinations: Destinations,
    pub(super) diary: Diary,
    pub(super) limited: Played,
    pub(super) eyes: Eyes,
    pub(super) together: Together,
    pub(super) hurry: Hurry,
    /// The user names that the operator has in the configuration, by the batch that it is for.
    pub(super) accounts: RefCell<BTreeMap<BatchName, &'static str>>,
    /// How long the operator has waited until what is in doubt may be decided.
    pub(super) waited: Cell<Duration>,
    pub(super) rows: RefCell<Vec<Instruction>>,
    /// How many of them a load has brought that was heard of; only the journal knows of the others.
    pub(super) certain: Cell<usize>,
    /// The identifiers of the first load.
    pub(super) first_identifiers: RefCell<BTreeMap<u64, PayerTransactionId>>,
    pub(super) has_documents: bool,
    pub(super) settle_on: SettleOn,
    /// What the deployment takes codes for.
    pub(super) codes: CodeTable,
    /// The batch was loaded anew after its journal was lost.
    pub(super) lost_journal: bool,
    /// Its rows were loaded as if they had never been posted: the gateway refuses what it has.
    pub(super) unasked: bool,
}

impl Scene {
    /// What its gateway speaks.
    pub(super) fn speech(&self) -> Speech {
        self.world.lock().speech.clone()
    }

    /// What identifiers look like there.
    pub(super) fn form(&self) -> IdentifierForm {
        self.world.lock().speech.dialect.identifiers.clone()
    }

    /// Writes further rows into the file.
    pub(super) fn write_rows(&self, numbers: impl Iterator<Item = u64>) {
        let now = self.world.lock().real_now();
        let new = numbers.map(|n| {
            let row = self.limited.give(row(n, self.has_documents));
            self.times.give(row, now)
        });
        self.rows.borrow_mut().extend(new);
    }

    /// Lets time pass until every row may leave: nothing that is said of how soon a batch ends counts until then.
    pub(super) fn await_times(&self) {
        let times = self.rows.borrow();
        let latest = times.iter().filter_map(Instruction::not_before).max();
        let now = self.world.lock().real_now();
        if let Some(wait) = latest
            .map(|at| at.since(now))
            .filter(|wait| !wait.is_zero())
        {
            self.world
                .idle(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        }
    }

    /// The rows of the file, as they are now.
    pub(super) fn lines(&self) -> Vec<Instruction> {
        self.rows.borrow().clone()
    }
}

/// The name of the first batch.
pub(super) fn batch() -> BatchName {
    BatchName::parse("b").expect("a letter is a name")
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
        narration: "".into(),
        customer_names: "".into(),
        invoice_number: "".into(),
        payment_mode: "".into(),
        hub_id: "".into(),
        extra: Vec::new(),
        document: document.then(|| DocumentPath {
            digest: None,
            written: format!("{n}.pdf"),
            folder: "/".into(),
        }),
    }
}

/// How its file is loaded.
pub(super) fn plan(form: IdentifierForm, now: Timestamp, presume_posted: bool) -> LoadPlan {
    LoadPlan {
        batch: batch(),
        originator: Originator::parse("acme").expect("a name"),
        form,
        source: "batch.csv".into(),
        layout: None,
        is_ours: false,
        now,
        purpose: crate::ledger::Purpose::Gateway,
        amend: false,
        allow_equal_rows: true,
        repeats: None,
        skip_bad_rows: false,
        presume_posted,
        expect_count: None,
        expect_total: None,
        batch_ceilings: Default::default(),
        new_documents: false,
        destination: None,
        dates: crate::ledger::calendar::BatchDates::default(),
        approval: None,
        dry_run: false,
    }
}
