//! Failures whose retries have not been posted yet.

use std::collections::BTreeSet;

use super::reader::Snapshot;
use crate::domain::PaymentId;
use crate::journal::Error;
use crate::lifecycle::State;
use crate::store::tables::life;
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// A failure that a retry replaces.
    struct Retried of life { code: i32, replaced_by: PaymentId }
}

impl Snapshot<'_> {
    /// Returns the codes of failures that are about to be paid again: a retry of them was ordered, and has not been posted.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn retried_codes(&self) -> Result<Vec<i32>, Error> {
        let failures = Scan::by(&life::replaced)
            .at(&self.batch_id)
            .only(life::state, Test::is(&State::Failed))
            .only(life::code, Test::Present);
        let mut codes = BTreeSet::new();
        self.c.each(&failures, |Retried { code, replaced_by }| {
            let unposted = Scan::of(&life::TABLE)
                .at(&replaced_by)
                .only(life::state, Test::is(&State::Ready))
                .only(life::attempts, Test::is(&0_i64));
            if !codes.contains(&code) && self.c.any(&unposted)? {
                codes.insert(code);
            }
            Ok::<_, Error>(())
        })?;
        Ok(codes.into_iter().collect())
    }
}
