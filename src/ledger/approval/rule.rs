//! Which batches need signatures, how many, and whose: the rule that was in force at each load, and the one of now.

use std::collections::{BTreeMap, BTreeSet};

use super::orders::OrderKind;
use super::signers::{Signers, Unfit};
use super::ssh::PublicKey;
use crate::domain::{Amount, Currency, Money, Timestamp, Totals};

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// So many people approve a batch, beside whoever loaded it: 1 or 2.
    pub required: u8,
    /// A batch that comes to no more than this needs no approval, in minor units. A currency that is not named always needs it.
    pub above: BTreeMap<Currency, i64>,
    /// Who may sign.
    pub signers: Signers,
    /// Orders that as many people sign for.
    pub orders: BTreeSet<OrderKind>,
}

impl Rule {
    /// Returns whether a batch needs approval that comes to `total` as a whole, with so many rows that have no amount yet.
    #[must_use]
    pub fn needs(&self, total: &Totals, unpriced: u64) -> bool {
        unpriced > 0
            || self.above.is_empty()
            || total.iter().any(|(currency, minor)| {
                let above = self.above.get(&currency);
                above.is_none_or(|above| minor > i128::from(*above))
            })
    }
}

/// The rules that hold for a batch together: whatever the strictest of them asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    rules: Vec<Rule>,
}

impl InForce {
    /// Puts the rules of the loads and the one of now together.
    #[must_use]
    pub fn of(pinned: Vec<Rule>, configured: Option<Rule>) -> Self {
        let mut rules = planted!(ledger::pinned_rules(pinned));
        rules.extend(configured.filter(|rule| !rules.contains(rule)));
        Self { rules }
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether a batch needs approval by one of them.
    #[must_use]
    pub fn needs(&self, total: &Totals, unpriced: u64) -> bool {
        self.rules.iter().any(|rule| rule.needs(total, unpriced))
    }

    /// Returns whether one of them is about orders of a kind.
    #[must_use]
    pub fn is_about(&self, kind: OrderKind) -> bool {
        self.rules.iter().any(|rule| rule.orders.contains(&kind))
    }

    /// Returns up to which total a batch needs no approval by any of them, of each currency.
    #[must_use]
    pub fn above(&self) -> Vec<Money> {
        let Some((first, others)) = self.rules.split_first() else {
            return Vec::new();
        };
        let least = |(currency, minor): (&Currency, &i64)| {
            let of = |rule: &Rule| rule.above.get(currency).copied();
            let others = others.iter().map(of).collect::<Option<Vec<_>>>()?;
            let least = others.into_iter().fold(*minor, i64::min);
            let amount = Amount::from_minor(least)?;
            Some(Money {
                amount,
                currency: *currency,
            })
        };
        first.above.iter().filter_map(least).collect()
    }

    /// Returns how many people approve.
    #[must_use]
    pub fn required(&self) -> u8 {
        self.rules
            .iter()
            .map(|rule| rule.required)
            .max()
            .unwrap_or(0)
    }

    /// Returns whether a key may sign for somebody at all of these times, by every rule.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn may_sign(&self, by: &str, key: &PublicKey, at: &[Timestamp]) -> Result<(), String> {
        for (rule, at) in self
            .rules
            .iter()
            .flat_map(|rule| at.iter().map(move |at| (rule, at)))
        {
            rule.signers
                .may_sign(by, key, *at)
                .map_err(|unfit| self.told(by, &unfit))?;
        }
        Ok(())
    }

    fn told(&self, by: &str, unfit: &Unfit) -> String {
        let text = unfit.text(by);
        match self.rules.len() > 1 {
            // One file may have it, and another one not.
            true => format!(
                "{text} (a signer must be in the list of the load and in the present one: a signer who was added later \
                cannot sign for earlier loads)"
            ),
            false => text,
        }
    }

    /// Returns whether somebody of this name may sign by every rule, with some key.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.rules.iter().all(|rule| rule.signers.knows(name))
    }

    /// Returns how many people may sign by every rule, beside those of these names.
    #[must_use]
    pub fn others_than(&self, names: &BTreeSet<&str>) -> usize {
        let Some(first) = self.rules.first() else {
            return 0;
        };
        let everybody = first.signers.names().into_iter();
        everybody
            .filter(|name| self.knows(name) && !names.contains(name))
            .count()
    }

    /// Returns the names that a key may sign for by every rule, whatever the time.
    #[must_use]
    pub fn names_of(&self, key: &PublicKey) -> Vec<&str> {
        let Some((first, others)) = self.rules.split_first() else {
            return Vec::new();
        };
        let mut names = first.signers.names_of(key);
        names.retain(|name| {
            others
                .iter()
                .all(|rule| rule.signers.names_of(key).contains(name))
        });
        names
    }
}

#[cfg(test)]
mod tests {
    use super::super::ssh::made_up::public;
    use super::*;

    fn rule(required: u8, above: &[(&str, i64)], signers: &[(&str, u8)]) -> Rule {
        let lines = signers
            .iter()
            .map(|(name, key)| format!("{name} {}\n", public(*key)));
        Rule {
            required,
            above: above
                .iter()
                .map(|(code, minor)| (Currency::from_code(code).unwrap(), *minor))
                .collect(),
            signers: Signers::parse(&lines.collect::<String>()).unwrap(),
            orders: BTreeSet::new(),
        }
    }

    fn total(amounts: &[(&str, i128)]) -> Totals {
        let mut total = Totals::default();
        for (code, minor) in amounts {
            total.add_minor(Currency::from_code(code).unwrap(), *minor);
        }
        total
    }

    #[test]
    fn the_threshold_of_several_rules_is_the_least_of_them() {
        let told = |rules: &[&[(&str, i64)]]| {
            let rules = rules.iter().map(|above| rule(1, above, &[("a", 1)]));
            let above = InForce::of(rules.collect(), None).above();
            let told = above.iter().map(|of| format!("{} {of}", of.currency));
            told.collect::<Vec<_>>().join(", ")
        };
        for (rules, expected) in [
            (&[][..], ""),
            (&[&[][..]], ""),
            (&[&[("KES", 200), ("UGX", 5)]], "KES 2.00, UGX 5"),
            (&[&[("KES", 200)], &[("KES", 150)]], "KES 1.50"),
            // One of them has none of this currency: it always needs approval.
            (&[&[("KES", 200), ("UGX", 5)], &[("KES", 300)]], "KES 2.00"),
            (&[&[("KES", 200)], &[]], ""),
        ] {
            assert_eq!(told(rules), expected, "{rules:?}");
        }
    }

    #[test]
    fn what_comes_to_more_than_the_threshold_needs_approval() {
        let signers = [("a", 1)];
        for (above, amounts, unpriced, needed) in [
            (&[][..], &[("KES", 1)][..], 0, true),
            (&[("KES", 100)], &[("KES", 100)], 0, false),
            (&[("KES", 100)], &[("KES", 101)], 0, true),
            // In no other currency is anything free.
            (&[("KES", 100)], &[("UGX", 1)], 0, true),
            (&[("KES", 100)], &[("KES", 1), ("UGX", 1)], 0, true),
            (
                &[("KES", 100), ("UGX", 5)],
                &[("KES", 1), ("UGX", 5)],
                0,
                false,
            ),
            (
                &[("KES", 100), ("UGX", 5)],
                &[("KES", 1), ("UGX", 6)],
                0,
                true,
            ),
            // Nobody knows what a row without an amount comes to.
            (&[("KES", 100)], &[("KES", 1)], 1, true),
            (&[("KES", 0)], &[("KES", 1)], 0, true),
        ] {
            let found = rule(1, above, &signers).needs(&total(amounts), unpriced);
            assert_eq!(found, needed, "{above:?} {amounts:?} {unpriced}");
        }
    }

    #[test]
    fn the_strictest_of_all_rules_holds() {
        let loaded = rule(2, &[("KES", 100)], &[("a", 1), ("b", 2), ("c", 3)]);
        let looser = rule(1, &[("KES", 1_000)], &[("a", 1), ("b", 2), ("d", 4)]);
        let stricter = rule(2, &[("KES", 10)], &[("a", 1)]);
        let key = |number| PublicKey::of_line(&public(number)).unwrap();
        let now = [Timestamp::from_millis(0)];
        for (pinned, configured, required, free, signs) in [
            (vec![], None, 0, i128::MAX, ""),
            (vec![], Some(looser.clone()), 1, 1_000, "abd"),
            (vec![loaded.clone()], None, 2, 100, "abc"),
            (vec![loaded.clone()], Some(looser.clone()), 2, 100, "ab"),
            (vec![looser.clone()], Some(stricter.clone()), 2, 10, "a"),
            (vec![looser, stricter], Some(loaded), 2, 10, "a"),
        ] {
            let in_force = InForce::of(pinned, configured);
            assert_eq!(in_force.required(), required);
            if free < i128::MAX {
                assert!(!in_force.needs(&total(&[("KES", free)]), 0));
                assert!(in_force.needs(&total(&[("KES", free + 1)]), 0));
                for (name, number) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
                    let may = in_force.may_sign(name, &key(number), &now).is_ok();
                    assert_eq!(may, signs.contains(name), "{name}");
                    assert_eq!(!in_force.names_of(&key(number)).is_empty(), may);
                }
            } else {
                assert!(!in_force.needs(&total(&[("KES", 1)]), 9));
            }
        }
    }
}
