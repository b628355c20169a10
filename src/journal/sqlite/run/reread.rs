//! What follows from an order that replies are read in another way: what an earlier reading has called failed or not found is
//! asked about once more, before anything is paid again on its word.

use crate::domain::{BatchId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::payments::generations::settle;
use crate::journal::sqlite::recovery::presume::{ask_exposed, each};
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::lifecycle::StepContext;

/// Failures by the gateway's word that no retry has replaced; those that one has are asked about before it leaves.
const FAILED: &str = "select l.seq from life l where l.batch_id = ?1 and l.state = 6 and l.code is not null and l.replaced_by is null
     and l.seq > ?2 order by l.seq limit ?3";

/// Has the gateway asked again, once the order is on the chain.
pub(super) fn ask_again(c: &WriteSession, batch_id: BatchId, now: Timestamp) -> Result<(), Error> {
    ask_exposed(c, batch_id, now)?;
    c.flush()?;
    each(c, batch_id, FAILED, |c, seq| {
        let mut failed = subject(c, seq)?;
        settle(c, &mut failed, StepContext { now, jitter: 0 }, None)?;
        Ok(true)
    })?;
    Ok(())
}
