//! The payments of a batch that a run is going to post.

use std::ops::ControlFlow;

use super::reader::Snapshot;
use crate::domain::Payment;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{
    PAYMENT_COLUMNS, PAYMENT_WIDTH, state_number, stored_of,
};
use crate::lifecycle::State;

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
        mut visit: impl FnMut(i64, &Payment) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut statement = self.c.prepare(&format!(
            "select {PAYMENT_COLUMNS}, i.seq from instruction i cross join service s on s.service_id = i.service_id
             left join life l on l.seq = i.seq
             where i.batch_id = ?1 and coalesce(l.state, ?2) = ?2 order by i.seq"
        ))?;
        let mut rows = statement.query((self.batch_id, state_number(State::Ready)))?;
        while let Some(row) = rows.next()? {
            // What has no amount is not posted.
            let Some(payment) = stored_of(row, 0)?.payment() else {
                continue;
            };
            if visit(row.get(PAYMENT_WIDTH)?, &payment).is_break() {
                break;
            }
        }
        Ok(())
    }
}
