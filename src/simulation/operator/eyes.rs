//! Two pairs of eyes: whoever loads signs, others approve, and some try what they may not.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use crate::domain::PayerTransactionId;
use crate::ledger::approval::orders::OrderKind;
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
    /// Who signed for which order since it was carried out.
    ordered: RefCell<BTreeMap<String, BTreeSet<&'static str>>>,
}

impl Eyes {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xE7E5);
        let rule = (seed % EVERY == 5).then(|| {
            let lines = PEOPLE.map(|(name, key)| format!("{name} {}\n", public(key)));
            Rule {
                required: rng.u8(1..=2),
                above: BTreeMap::new(),
                signers: Signers::parse(&lines.concat()).expect("a file of signers"),
                orders: match rng.bool() {
                    true => OrderKind::ALL.into_iter().collect(),
                    false => BTreeSet::new(),
                },
            }
        });
        Self {
            rng: RefCell::new(rng),
            rule,
            approved: RefCell::default(),
            ordered: RefCell::default(),
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

    /// Whether people sign for orders as well.
    pub(in crate::simulation) fn sign_orders(&self) -> bool {
        let mut rules = self.rule.iter();
        rules.any(|rule| !rule.orders.is_empty())
    }

    /// So many people sign for an order.
    pub(in crate::simulation) fn sign_an_order(&self) -> usize {
        let required = self.rule.as_ref().map_or(0, |rule| rule.required);
        usize::from(required) + 1
    }

    /// Somebody has signed for an order.
    pub(in crate::simulation) fn signed_order(&self, order: &str, by: &'static str) {
        self.ordered
            .borrow_mut()
            .entry(order.to_owned())
            .or_default()
            .insert(by);
    }

    /// An order is carried out: returns who had signed for it.
    pub(in crate::simulation) fn carried_out(&self, order: &str) -> BTreeSet<&'static str> {
        self.ordered.borrow_mut().remove(order).unwrap_or_default()
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
