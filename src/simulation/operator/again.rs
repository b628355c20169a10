//! The same people again: rows of the batch are loaded once more under other names, as they stand, without their references,
//! with other amounts. Repeats are set aside or refused, and allowed now and then, by a person who has seen them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;

use crate::domain::{Amount, Instruction, PayerTransactionId, Reference};
use crate::journal::RepeatPlan;
use crate::ledger::repeats::{Terms, TermsByService};

/// The names under which rows are loaded again.
pub(in crate::simulation) const NAMES: [&str; 2] = ["c", "d"];
/// One seed in so many plays it.
const EVERY: u64 = 6;
/// What has ended may be paid again after this, in half of the seeds.
const WINDOW: Duration = Duration::from_secs(120);

/// The loads of the same rows, with a generator of their own.
pub(in crate::simulation) struct Again {
    pub(in crate::simulation) rng: RefCell<Rng>,
    pub(in crate::simulation) is_on: Cell<bool>,
    /// Who is forgotten meanwhile, if anybody is: a generator of its own, so that the course of the other seeds stays as it is.
    pub(in crate::simulation) forgets: Option<RefCell<Rng>>,
    pub(in crate::simulation) window: Duration,
    /// Whether references are left out, rather than amounts changed: both at once would be another debt.
    leaves_out: bool,
    /// How many of the names are taken.
    pub(in crate::simulation) loaded: Cell<usize>,
    /// The batch that runs; the first one has no number.
    pub(in crate::simulation) current: Cell<Option<usize>>,
    /// The lines of the repeats that a person allows, and the batches that they repeat.
    pub(in crate::simulation) shown: RefCell<(BTreeSet<u64>, BTreeSet<String>)>,
    /// A payment that does not leave, as what had failed instead of it is paid.
    pub(in crate::simulation) stuck: Cell<Option<PayerTransactionId>>,
}

impl Again {
    /// Whether rows are loaded again in a seed.
    pub(in crate::simulation) fn plays(seed: u64) -> bool {
        seed % EVERY == 2
    }

    pub(in crate::simulation) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xA6A1);
        Self {
            is_on: Cell::new(Self::plays(seed)),
            forgets: (seed % (2 * EVERY) == 2).then(|| RefCell::new(Rng::with_seed(seed ^ 0xF06E))),
            window: match rng.bool() {
                true => WINDOW,
                false => Terms::default().window,
            },
            leaves_out: rng.bool(),
            rng: RefCell::new(rng),
            loaded: Cell::new(0),
            current: Cell::new(None),
            shown: RefCell::default(),
            stuck: Cell::new(None),
        }
    }

    /// For how long what has ended counts in a seed, in milliseconds.
    pub(in crate::simulation) fn window(seed: u64) -> i64 {
        i64::try_from(Self::of(seed).window.as_millis()).unwrap_or(i64::MAX)
    }

    /// How many batches have been loaded besides the first one.
    pub(in crate::simulation) fn count(&self) -> usize {
        self.loaded.get()
    }

    /// Nobody loads anything again: what was paid nobody here knows any more.
    pub(in crate::simulation) fn stop(&self) {
        self.is_on.set(false);
    }

    pub(in crate::simulation) fn by_chance(&self, of: u32) -> bool {
        self.rng.borrow_mut().u32(0..of) == 0
    }

    pub(in crate::simulation) fn terms(&self) -> RepeatPlan {
        RepeatPlan {
            terms: TermsByService {
                default: Terms {
                    window: self.window,
                    ..Terms::default()
                },
                ..TermsByService::default()
            },
            ..RepeatPlan::default()
        }
    }

    /// A row as it is loaded again: the same debt.
    pub(in crate::simulation) fn vary(&self, mut row: Instruction) -> Instruction {
        let number = self.rng.borrow_mut().u32(0..4);
        match (number, &row.reference) {
            (0, Some(_)) if self.leaves_out => row.reference = None,
            (0, Some(_)) => {
                let more = row.money.amount.minor() + 10_000;
                row.money.amount = Amount::from_minor(more).expect("positive");
            }
            // The same one for whoever reads it.
            (1, Some(known)) => {
                row.reference = Reference::parse(&known.as_str().to_lowercase()).ok()
            }
            (0 | 1, None) => row.reference = Reference::parse(&format!("N{}", row.line)).ok(),
            _ => {}
        }
        row
    }
}
