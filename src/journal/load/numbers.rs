//! Sets of the numbers of rows, and of the places of lines, in little memory.

use std::collections::BTreeMap;

use crate::domain::PaymentId;

/// Numbers that one block holds, a bit for each.
const BITS: i64 = 64;

/// Numbers by the group that they are of. Those of one file stand close together, so that each takes little more than a bit.
#[derive(Default)]
struct Numbers(BTreeMap<(i64, i64), u64>);

impl Numbers {
    fn insert(&mut self, group: i64, number: i64) {
        let block = self.0.entry((group, number.div_euclid(BITS))).or_default();
        *block |= 1 << number.rem_euclid(BITS);
    }

    fn contains(&self, group: i64, number: i64) -> bool {
        let block = self.0.get(&(group, number.div_euclid(BITS)));
        block.is_some_and(|block| block & (1 << number.rem_euclid(BITS)) != 0)
    }
}

/// Payments.
#[derive(Default)]
pub(in crate::journal) struct Payments(Numbers);

impl Payments {
    pub(in crate::journal) fn insert(&mut self, seq: PaymentId) {
        self.0.insert(0, seq.get());
    }

    pub(in crate::journal) fn contains(&self, seq: PaymentId) -> bool {
        self.0.contains(0, seq.get())
    }

    /// Returns them in their order.
    pub(in crate::journal) fn iter(&self) -> impl Iterator<Item = PaymentId> {
        self.0.0.iter().flat_map(|((_, at), block)| {
            let has = move |bit: &i64| *block & (1 << bit) != 0;
            (0..BITS)
                .filter(has)
                .map(move |bit| PaymentId::new(at * BITS + bit))
        })
    }
}

/// Rows of a file by their lines, and by which row of its line each is.
#[derive(Default)]
pub(in crate::journal) struct Places(Numbers);

impl Places {
    pub(in crate::journal) fn insert(&mut self, line: i64, nth: i64) {
        let (group, number) = Self::place(line, nth);
        self.0.insert(group, number);
    }

    pub(in crate::journal) fn contains(&self, line: i64, nth: i64) -> bool {
        let (group, number) = Self::place(line, nth);
        self.0.contains(group, number)
    }

    /// The first rows of all lines are one group: most lines have no other. The further ones of a line are another.
    fn place(line: i64, nth: i64) -> (i64, i64) {
        match nth {
            0 => (-1, line),
            _ => (line, nth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payments_are_found_and_come_in_their_order() {
        let mut payments = Payments::default();
        let numbers = [1, 63, 64, 65, 127, 128, 1_000_000, -1, -64];
        for number in numbers.into_iter().rev() {
            payments.insert(PaymentId::new(number));
        }
        payments.insert(PaymentId::new(64));
        let mut sorted = numbers;
        sorted.sort_unstable();
        let found: Vec<i64> = payments.iter().map(PaymentId::get).collect();
        assert_eq!(found, sorted);
        for number in -200..200 {
            let has = payments.contains(PaymentId::new(number));
            assert_eq!(has, numbers.contains(&number), "{number}");
        }
    }

    #[test]
    fn a_line_with_many_rows_is_told_from_many_lines() {
        let mut places = Places::default();
        let some = [(0, 1), (1, 0), (1, 1), (1, 64), (2, 0), (64, 0), (64, 2)];
        for (line, nth) in some {
            places.insert(line, nth);
        }
        for line in 0..130 {
            for nth in 0..130 {
                let has = places.contains(line, nth);
                assert_eq!(has, some.contains(&(line, nth)), "{line} {nth}");
            }
        }
    }
}
