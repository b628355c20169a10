//! Rows of payments that are looked up in the order of their numbers.

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::lifecycle::State;
use crate::store::{Read, Reads, Scan, Shape, shape};

shape! {
    /// Where a payment stands, and the retry that replaces it.
    pub(in crate::journal::sqlite) struct Stands of life {
        seq: PaymentId, state: State, replaced_by: Option<PaymentId>,
    }
}
shape! {
    /// That there is an instruction.
    pub(in crate::journal::sqlite) struct IsThere of instruction { seq: PaymentId }
}

/// A row of a table whose key is the number of a payment.
pub(in crate::journal::sqlite) trait OfPayment: Shape {
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
pub(in crate::journal::sqlite) struct Ascending<'c, S> {
    c: &'c dyn Read,
    page: Vec<S>,
    /// The page has every row between these numbers; `None` before there is one.
    span: Option<(PaymentId, PaymentId)>,
}

impl<'c, S: OfPayment> Ascending<'c, S> {
    pub(in crate::journal::sqlite) fn of(c: &'c dyn Read) -> Self {
        Self {
            c,
            page: Vec::new(),
            span: None,
        }
    }

    /// Returns the row of a payment.
    pub(in crate::journal::sqlite) fn find(&mut self, seq: PaymentId) -> Result<Option<&S>, Error> {
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
