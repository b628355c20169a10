//! Limits that the operator has in the configuration while days are bad; what they keep back leaves once they are lifted.

use std::sync::Arc;

use fastrand::Rng;

use crate::domain::{Amount, Currency, Instruction, Msisdn, WireZone};
use crate::ledger::limits::names::digest_of;
use crate::ledger::limits::{Ceilings, Limits, NameList};

/// One seed in so many plays them.
const EVERY: u64 = 4;
/// The numbers that rows pay, where they are played: few, so that their payments come together.
const RECIPIENTS: u64 = 3;

/// The limits of a seed, from a generator of their own.
pub(in crate::simulation) struct Played {
    limits: Option<Arc<Limits>>,
}

impl Played {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        if seed % EVERY != 2 {
            return Self { limits: None };
        }
        let mut rng = Rng::with_seed(seed ^ 0x11E5);
        let mut ceiling = |from: i64, to: i64| {
            let minor = rng.i64(from..=to);
            let currency = Currency::from_code("KES").expect("known");
            Ceilings::from([(currency, Amount::from_minor(minor).expect("positive"))])
        };
        let (recipient_day, exposure) = (ceiling(800, 1_600), ceiling(800, 2_400));
        let kinds = rng.u32(1..8);
        let denied = number(rng.u64(0..RECIPIENTS));
        let of = |bit: u32, ceilings: Ceilings| match kinds & bit {
            0 => Ceilings::new(),
            _ => ceilings,
        };
        let list = NameList::of(vec![digest_of(denied.as_str())]);
        Self {
            limits: Some(Arc::new(Limits {
                recipient_day: of(1, recipient_day),
                exposure: of(2, exposure),
                deny: (kinds & 4 != 0).then(|| Arc::new(list)),
                ..Limits::none(WireZone::utc())
            })),
        }
    }

    /// A row of the file, to one of few.
    pub(in crate::simulation) fn give(&self, mut row: Instruction) -> Instruction {
        if self.limits.is_some() {
            // Rows without a reference are equal, and stay so.
            let n = row.reference.as_ref().map_or(0, |_| row.line % RECIPIENTS);
            row.msisdn = number(n);
            row.account_number = row.msisdn.as_str().into();
        }
        row
    }

    /// Whether anything limits runs.
    pub(in crate::simulation) fn is_on(&self) -> bool {
        self.limits.is_some()
    }

    /// What limits a run.
    pub(in crate::simulation) fn of_run(&self, healthy: bool) -> Option<Arc<Limits>> {
        self.limits.clone().filter(|_| !healthy)
    }
}

fn number(n: u64) -> Msisdn {
    Msisdn::from_digits(&format!("25471100000{n}")).expect("digits are digits")
}
