//! Everything that is not paid, grouped by state and status code.

use std::collections::BTreeMap;

use crate::domain::Totals;
use crate::report::rows::entry::{Entry, StateName};

/// At most this many groups are kept; further codes of a state join its group without a code.
const GROUPS_MAX: usize = 500;

/// The payments of one state with one status code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExceptionGroup {
    /// How many.
    pub count: u64,
    /// The amounts that are known.
    pub amounts: Totals,
    /// The gateway's words, taken from the first payment that has any.
    pub description: String,
    /// Codes beyond the bound on groups are among them.
    pub(in crate::report) is_mixed: bool,
}

/// The groups, by state and status code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::report) struct Exceptions(BTreeMap<(StateName, Option<i64>), ExceptionGroup>);

impl Exceptions {
    pub(in crate::report) fn add(&mut self, entry: &Entry<'_>) {
        let mut key = (entry.state, entry.status_code);
        if self.0.len() >= GROUPS_MAX && !self.0.contains_key(&key) {
            key.1 = None;
        }
        let group = self.0.entry(key).or_default();
        group.count += 1;
        group.is_mixed |= key.1 != entry.status_code;
        if let Some(money) = entry.money {
            group.amounts.add(money);
        }
        if group.description.is_empty() && key.1.is_some() {
            group.description.push_str(entry.status_description);
        }
    }

    /// Iterates over the groups, the state that needs a person most first, then by code.
    pub(in crate::report) fn iter(
        &self,
    ) -> impl Iterator<Item = (StateName, Option<i64>, &ExceptionGroup)> {
        StateName::EXCEPTIONS.into_iter().flat_map(|state| {
            self.0
                .range((state, None)..=(state, Some(i64::MAX)))
                .map(move |((_, code), group)| (state, *code, group))
        })
    }
}
