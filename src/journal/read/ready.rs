//! The payments of a batch that a run is going to post.

use std::ops::ControlFlow;

use super::reader::Snapshot;
use crate::domain::{Payment, PaymentId};
use crate::journal::Error;
use crate::journal::codec::instructions::{COLUMNS, Instructions, SEQ};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Reads, Scan, Test};

impl Snapshot<'_> {
    /// Tells every payment that is ready, in the order of the files, until the visitor breaks off.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn each_ready(
        &self,
        mut visit: impl FnMut(&Payment) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.each_ready_numbered(|_, payment| visit(payment))
    }

    /// Tells the same, each with the number of its row.
    pub(super) fn each_ready_numbered(
        &self,
        mut visit: impl FnMut(PaymentId, &Payment) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let instructions = Instructions::of(self.c);
        let mut lives = Beside::of(self.c, &life::TABLE, &[life::state]);
        let rows =
            Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&self.batch_id));
        self.c.each_row(&rows, &COLUMNS, |row| {
            let seq: PaymentId = row.get(SEQ)?;
            let state: Option<State> = match lives.find(seq.get())? {
                Some(life) => life.get(0)?,
                None => None,
            };
            if state.is_some_and(|state| state != State::Ready) {
                return Ok(ControlFlow::Continue(()));
            }
            // What has no amount is not posted.
            let Some(payment) = instructions.read(row)?.row.payment() else {
                return Ok(ControlFlow::Continue(()));
            };
            Ok::<_, Error>(visit(seq, &payment))
        })
    }
}
