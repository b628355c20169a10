//! Rows of payments that are looked up in the order of their numbers.

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::lifecycle::State;
use crate::store::{Read, Reads, Scan, Shape, shape};

shape! {
    /// Where a payment stands, and the retry that replaces it.
    pub(in crate::journal) struct Stands of life {
        seq: PaymentId, state: State, replaced_by: Option<PaymentId>,
    }
}
shape! {
    /// That there is an instruction.
    pub(in crate::journal) struct IsThere of instruction { seq: PaymentId }
}

/// A row of a table whose key is the number of a payment.
pub(in crate::journal) trait OfPayment: Shape {
    fn seq(&self) -> PaymentId;
}

impl OfPayment for Stands {
    fn seq(&self) -> PaymentId {
        self.seq
    }
}

impl OfPayment for IsThere {
    fn seq(&self) -> PaymentId {
        self.seq
    }
}

/// Rows that are read at once.
const PAGE: usize = 256;

/// Reads rows a page at a time: whoever goes through payments asks for them in the same order.
pub(in crate::journal) struct Ascending<'c, S> {
    c: &'c dyn Read,
    page: Vec<S>,
    /// The page has every row between these numbers; `None` before there is one.
    span: Option<(PaymentId, PaymentId)>,
}

impl<'c, S: OfPayment> Ascending<'c, S> {
    pub(in crate::journal) fn of(c: &'c dyn Read) -> Self {
        Self {
            c,
            page: Vec::new(),
            span: None,
        }
    }

    /// Returns the row of a payment.
    pub(in crate::journal) fn find(&mut self, seq: PaymentId) -> Result<Option<&S>, Error> {
        if self.span.is_none_or(|(from, to)| seq < from || seq > to) {
            self.page = self.c.list(&Scan::of(S::TABLE).from(&seq).limit(PAGE))?;
            let last = match self.page.last() {
                Some(last) if self.page.len() == PAGE => last.seq(),
                _ => PaymentId::new(i64::MAX),
            };
            self.span = Some((seq, last));
        }
        let place = self.page.binary_search_by_key(&seq, OfPayment::seq);
        Ok(place.ok().map(|place| &self.page[place]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::Memory;
    use crate::store::{Transact, Writes};

    #[test]
    fn every_row_is_found_and_no_other_whatever_the_order() {
        let store = Memory::default();
        store.begin().unwrap();
        let is_there = |number: i64| number % 7 != 0 && !(900..1500).contains(&number);
        for number in (1..3000).filter(|number| is_there(*number)) {
            store
                .insert(&Stands {
                    seq: PaymentId::new(number),
                    state: State::Paid,
                    replaced_by: Some(PaymentId::new(number + 1)),
                })
                .unwrap();
        }
        store.commit().unwrap();
        let mut lives = Ascending::<Stands>::of(&store);
        let upwards = 0..3100;
        for number in upwards.clone().chain(upwards.rev().step_by(53)) {
            let found = lives.find(PaymentId::new(number)).unwrap();
            let later = found.and_then(|life| life.replaced_by).map(PaymentId::get);
            let is_one = (1..3000).contains(&number) && is_there(number);
            assert_eq!(later, is_one.then_some(number + 1));
        }
    }
}
