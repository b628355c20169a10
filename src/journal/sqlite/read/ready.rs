//! The payments of a batch that a run is going to post.

use std::ops::ControlFlow;

use super::reader::Snapshot;
use crate::domain::Payment;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, payment_of};
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
        let mut statement = self.c.prepare(&format!(
            "select {PAYMENT_COLUMNS} from life l not indexed cross join instruction i on i.seq = l.seq
             cross join service s on s.service_id = i.service_id
             where l.batch_id = ?1 and l.state = ?2 order by l.seq"
        ))?;
        let mut rows = statement.query([self.batch_id, State::Ready as i64])?;
        while let Some(row) = rows.next()? {
            if visit(&payment_of(row, 0)?).is_break() {
                break;
            }
        }
        Ok(())
    }
}
