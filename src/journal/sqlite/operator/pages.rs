//! Payments of a batch that are moved a page at a time, in the order of loading.

use std::ops::ControlFlow;

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::lifecycle::State;
use crate::store::{Read, Reads, Scan, shape};

/// Payments that are moved at a time.
pub(in crate::journal::sqlite) const PAGE: usize = 1000;

shape! {
    /// What of a life decides whether an order is about its payment.
    pub(in crate::journal::sqlite) struct Standing of life {
        seq: PaymentId, state: State, attempts: u32, exposures: u32, known: i64,
    }
}

/// Returns the payments of a scan over lives that fit, no more than a page.
pub(in crate::journal::sqlite) fn page_of(
    c: &dyn Read,
    scan: &Scan<'_>,
    mut fits: impl FnMut(&Standing) -> Result<bool, Error>,
) -> Result<Vec<PaymentId>, Error> {
    let mut page = Vec::new();
    c.each_until(scan, |life: Standing| {
        if fits(&life)? {
            page.push(life.seq);
        }
        Ok::<_, Error>(match page.len() < PAGE {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(page)
}
