//! What a batch adds up to.

use std::collections::BTreeMap;

use super::{Currency, Money, ServiceCode, Totals};

/// How many payments, and how much of which currency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of payments.
    pub count: u64,
    /// Their amounts per currency.
    pub amounts: Totals,
}

impl Tally {
    /// Counts one payment.
    pub fn add(&mut self, money: Money) {
        self.count += 1;
        self.amounts.add(money);
    }

    /// Counts `count` payments that together have `minor` units.
    pub fn add_many(&mut self, count: u64, currency: Currency, minor: i128) {
        self.count += count;
        self.amounts.add_minor(currency, minor);
    }

    /// Adds another tally.
    pub fn add_all(&mut self, other: &Self) {
        self.count += other.count;
        self.amounts.add_all(&other.amounts);
    }

    /// Takes away another tally, which is a part of this one.
    pub fn remove_all(&mut self, part: &Self) {
        self.count = self.count.saturating_sub(part.count);
        for (currency, minor) in part.amounts.iter() {
            self.amounts.add_minor(currency, -minor);
        }
    }
}

/// The control totals of a batch: what its valid rows add up to, by service and currency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlTotals {
    by_service: BTreeMap<(ServiceCode, Currency), Tally>,
}

impl ControlTotals {
    /// Counts one row.
    pub fn add(&mut self, service: &ServiceCode, money: Money) {
        // The key is cloned only for the first row of a service: cloning is a reference count.
        self.by_service
            .entry((service.clone(), money.currency))
            .or_default()
            .add(money);
    }

    /// Counts rows that together have `minor` units.
    pub fn add_many(&mut self, service: &ServiceCode, count: u64, currency: Currency, minor: i128) {
        self.by_service
            .entry((service.clone(), currency))
            .or_default()
            .add_many(count, currency, minor);
    }

    /// Iterates in the order of service and currency.
    pub fn iter(&self) -> impl Iterator<Item = (&ServiceCode, Currency, &Tally)> {
        self.by_service
            .iter()
            .map(|((service, currency), tally)| (service, *currency, tally))
    }

    /// Returns the sum over all services.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.by_service.values() {
            total.add_all(tally);
        }
        total
    }
}

/// A digest of the rows of a batch that does not depend on their order or on the batch's name.
///
/// The sum of the rows' SHA-256 hashes modulo 2^128, and their number: it tells the same file from another one, in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentDigest {
    sum: u128,
    rows: u64,
}

impl ContentDigest {
    /// Takes in the content hash of one row.
    pub fn add(&mut self, content_hash: &[u8; 32]) {
        let mut first = [0; 16];
        first.copy_from_slice(&content_hash[..16]);
        self.sum = self.sum.wrapping_add(u128::from_be_bytes(first));
        self.rows += 1;
    }

    /// Returns the digest as text: sum in hexadecimal, a dash, the number of rows.
    #[must_use]
    pub fn to_text(self) -> String {
        format!("{:032x}-{}", self.sum, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_ignores_order_but_counts_repeats() {
        let digest = |rows: &[u8]| {
            let mut digest = ContentDigest::default();
            for row in rows {
                digest.add(&[*row; 32]);
            }
            digest.to_text()
        };
        assert_eq!(digest(&[1, 2, 3]), digest(&[3, 1, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[1, 2, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[1, 3]));
        assert_ne!(digest(&[]), digest(&[0]));
    }
}
