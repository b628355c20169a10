//! Payments that are named as examples, so that a hint holds a command which can be typed as it stands.

use std::ops::ControlFlow;

use super::reader::Snapshot;
use crate::domain::{PayerTransactionId, PaymentId};
use crate::journal::Error;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life, named_otherwise};
use crate::store::{Read, Reads, Scan, Test};

impl Snapshot<'_> {
    /// Returns the first payment of the batch in one of these states, as an example of them.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn example(&self, states: &[State]) -> Result<Option<PayerTransactionId>, Error> {
        // In the order of the table the first that fits is found without sorting those that fit.
        let in_these = Scan::of(&life::TABLE)
            .only(life::batch_id, Test::is(&self.batch_id))
            .only(life::state, Test::among(states));
        match self.c.value(&in_these, life::seq)? {
            Some(seq) => identifier(self.c, seq),
            None => Ok(None),
        }
    }

    /// Returns the first payment of the batch of which the gateway named what is not ours.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn example_named_otherwise(&self) -> Result<Option<PayerTransactionId>, Error> {
        let named = Scan::of(&named_otherwise::TABLE).at(&self.batch_id);
        let mut found = None;
        self.c.each_row(&named, &[named_otherwise::seq], |row| {
            found = identifier(self.c, row.get(0)?)?;
            Ok::<_, Error>(match found {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }
}

fn identifier(c: &dyn Read, seq: PaymentId) -> Result<Option<PayerTransactionId>, Error> {
    let one = Scan::of(&instruction::TABLE).at(&seq);
    Ok(c.value(&one, instruction::identifier)?)
}
