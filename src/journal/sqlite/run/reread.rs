//! What follows from an order that replies are read in another way: what an earlier reading has called failed or not found is
//! asked about once more, before anything is paid again on its word.

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::operator::pages::PAGE;
use crate::journal::sqlite::payments::generations::settle;
use crate::journal::sqlite::recovery::presume::{ask_exposed, each};
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::lifecycle::{State, StepContext};
use crate::store::tables::life;
use crate::store::{Read, Reads, Scan, Test};

/// Has the gateway asked again, once the order is on the chain.
pub(super) fn ask_again(c: &WriteSession, batch_id: BatchId, now: Timestamp) -> Result<(), Error> {
    ask_exposed(c, batch_id, now)?;
    c.flush()?;
    let next = |after| failed_behind(c, batch_id, after);
    each(c, next, |c, seq| {
        let mut failed = subject(c, seq)?;
        settle(c, &mut failed, StepContext { now, jitter: 0 }, None)?;
        Ok(true)
    })?;
    Ok(())
}

/// Returns the next failures by the gateway's word that no retry has replaced, no more than a page; those that one has are asked
/// about before it leaves.
fn failed_behind(
    c: &dyn Read,
    batch_id: BatchId,
    after: PaymentId,
) -> Result<Vec<PaymentId>, Error> {
    let failed = Scan::of(&life::TABLE)
        .after(&after)
        .only(life::batch_id, Test::is(&batch_id))
        .only(life::state, Test::is(&State::Failed))
        .only(life::code, Test::Present)
        .only(life::replaced_by, Test::Absent)
        .limit(PAGE);
    Ok(c.values(&failed, life::seq)?)
}
