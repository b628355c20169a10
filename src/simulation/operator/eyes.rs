//! Two pairs of eyes: whoever loads signs, others approve, and some try what they may not.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fastrand::Rng;

use crate::domain::PayerTransactionId;
use crate::ledger::approval::rule::Rule;
use crate::ledger::approval::signers::Signers;
use crate::ledger::approval::ssh::made_up::public;

/// One seed in so many plays it.
const EVERY: u64 = 8;
/// Who loads, with the first of two keys.
pub(in crate::simulation) const LOADER: (&str, u8) = ("lea", 1);
/// Who may sign, with their keys.
pub(in crate::simulation) const PEOPLE: [(&str, u8); 5] =
    [LOADER, ("lea", 5), ("ada", 2), ("ben", 3), ("ben", 4)];

/// What somebody has approved.
struct Approved {
    by: &'static str,
    ids: BTreeSet<PayerTransactionId>,
}

/// Who signed what, with a generator of its own.
pub(in crate::simulation) struct Eyes {
    rng: RefCell<Rng>,
    rule: Option<Rule>,
    approved: RefCell<Vec<Approved>>,
}

impl Eyes {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xE7E5);
        let rule = (seed % EVERY == 5).then(|| {
            let lines = PEOPLE.map(|(name, key)| format!("{name} {}\n", public(key)));
            Rule {
                required: rng.u8(1..=2),
                above: std::collections::BTreeMap::new(),
                signers: Signers::parse(&lines.concat()).expect("a file of signers"),
            }
        });
        Self {
            rng: RefCell::new(rng),
            rule,
            approved: RefCell::default(),
        }
    }

    /// The rule that a load is made under.
    pub(in crate::simulation) fn rule(&self) -> Option<Rule> {
        self.rule.clone()
    }

    /// The rule that a run comes with: somebody may have taken it out of the configuration.
    pub(in crate::simulation) fn rule_of_run(&self) -> Option<Rule> {
        self.rule.clone().filter(|_| self.rng.borrow_mut().bool())
    }

    /// Whether anybody signs.
    pub(in crate::simulation) fn are_on(&self) -> bool {
        self.rule.is_some()
    }

    /// Whether somebody does what they do in all but one of so many cases.
    pub(in crate::simulation) fn like(&self, of: u32) -> bool {
        self.rng.borrow_mut().u32(0..of) > 0
    }

    /// Somebody has approved these.
    pub(in crate::simulation) fn approve(
        &self,
        by: &'static str,
        ids: BTreeSet<PayerTransactionId>,
    ) {
        self.approved.borrow_mut().push(Approved { by, ids });
    }

    /// What as many people have approved as there must be, the loader left aside; `None`: nothing is asked for.
    pub(in crate::simulation) fn may_leave(&self) -> Option<BTreeSet<PayerTransactionId>> {
        let required = usize::from(self.rule.as_ref()?.required);
        let approved = self.approved.borrow();
        let all = approved.iter().flat_map(|one| &one.ids);
        let people = |id: &PayerTransactionId| {
            let by = approved.iter().filter(|one| one.ids.contains(id));
            let by: BTreeSet<_> = by.map(|one| one.by).collect();
            by.len()
        };
        Some(all.filter(|id| people(id) >= required).copied().collect())
    }
}
