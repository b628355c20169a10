//! How many rows are counted where, and what they come to.
//!
//! A row is counted once, in the state of the generation that stands for it ([`super::generations::counted`]) and with the amount of
//! that one. So whatever moves leaves one place and enters another, and the sum over all places stays what was loaded.

use std::collections::BTreeMap;

/// A number of rows and their minor units; less than nothing is what has left.
pub type Sum = (i64, i64);

/// Counts and minor units by the place where they are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallies<K>(BTreeMap<K, Sum>);

impl<K> Default for Tallies<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Tallies<K> {
    /// Counts a row of so many minor units.
    pub fn add(&mut self, place: K, minor: i64) {
        self.change(place, (1, minor));
    }

    /// Counts a row elsewhere than before, or with another amount.
    pub fn moved(&mut self, (from, was): (K, i64), (to, is): (K, i64)) {
        if from == to && was == is {
            return;
        }
        self.change(from, (-1, was.saturating_neg()));
        self.change(to, (1, is));
    }

    fn change(&mut self, place: K, by: Sum) {
        let sum = self.0.entry(place).or_default();
        sum.0 = sum.0.saturating_add(by.0);
        sum.1 = sum.1.saturating_add(by.1);
    }

    /// Compares a place with what is on record of it, and forgets it; returns what its rows come to, where that is something else.
    pub fn misfit(&mut self, place: &K, told: Sum) -> Option<Sum> {
        let sum = self.0.remove(place).unwrap_or_default();
        (told != sum).then_some(sum)
    }

    /// Returns the places with rows that have not been compared: nothing is on record of them.
    pub fn unrecorded(self) -> impl Iterator<Item = (K, Sum)> {
        self.0.into_iter().filter(|(_, sum)| *sum != (0, 0))
    }

    /// Returns what changed in each place.
    #[must_use]
    pub fn into_sums(self) -> BTreeMap<K, Sum> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(tallies: Tallies<&'static str>) -> Vec<(&'static str, Sum)> {
        tallies.into_sums().into_iter().collect()
    }

    #[test]
    fn what_leaves_one_place_enters_another() {
        let mut tallies = Tallies::default();
        tallies.moved(("ready", 300), ("posting", 300));
        tallies.moved(("ready", 50), ("posting", 50));
        tallies.moved(("posting", 50), ("paid", 50));
        assert_eq!(
            sums(tallies),
            [
                ("paid", (1, 50)),
                ("posting", (1, 300)),
                ("ready", (-2, -350))
            ]
        );
    }

    #[test]
    fn a_row_that_stays_counts_with_its_amount_of_now() {
        let mut tallies = Tallies::default();
        tallies.moved(("failed", 300), ("failed", 300));
        assert_eq!(sums(tallies.clone()), []);
        tallies.moved(("failed", 300), ("failed", 200));
        assert_eq!(sums(tallies), [("failed", (0, -100))]);
    }

    #[test]
    fn every_place_is_compared_with_its_record() {
        let mut tallies = Tallies::default();
        for (place, minor) in [("paid", 10), ("paid", 20), ("failed", 5), ("ready", 1)] {
            tallies.add(place, minor);
        }
        assert_eq!(tallies.misfit(&"ready", (1, 1)), None);
        assert_eq!(tallies.misfit(&"paid", (2, 31)), Some((2, 30)));
        assert_eq!(tallies.misfit(&"conflict", (1, 7)), Some((0, 0)));
        // An empty place is the same with a record and without.
        assert_eq!(tallies.misfit(&"posting", (0, 0)), None);
        tallies.moved(("posting", 9), ("delivered", 9));
        tallies.moved(("delivered", 9), ("posting", 9));
        let rest: Vec<_> = tallies.unrecorded().collect();
        assert_eq!(rest, [("failed", (1, 5))]);
    }
}
