//! What follows from an order that replies are read in another way: what an earlier reading has called failed, not found or not
//! executed is asked about once more, before anything is paid again on its word.

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::payments::generations::settle;
use crate::journal::recovery::presume::ask_unexecuted;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::lifecycle::{State, StepContext};
use crate::store::tables::life;
use crate::store::{Reads, Scan, Test};

/// Payments that are listed before anything is done with them.
const PAGE: usize = 1000;

/// Failures by the gateway's word that no retry has replaced, behind a payment; those that one has are asked about before it leaves.
fn failed<'a>(batch_id: &'a BatchId, after: &'a PaymentId) -> Scan<'a> {
    Scan::of(&life::TABLE)
        .after(after)
        .only(life::batch_id, Test::is(batch_id))
        .only(life::state, Test::is(&State::Failed))
        .only(life::code, Test::Present)
        .only(life::replaced_by, Test::Absent)
        .limit(PAGE)
}

/// Has the gateway asked again, once the order is on the chain.
pub(super) fn ask_again(c: &WriteSession, batch_id: BatchId, now: Timestamp) -> Result<(), Error> {
    ask_unexecuted(c, batch_id, now)?;
    c.flush()?;
    let mut after = PaymentId::NONE;
    loop {
        let seqs: Vec<PaymentId> = c.values(&failed(&batch_id, &after), life::seq)?;
        let Some(last) = seqs.last() else {
            return Ok(());
        };
        after = *last;
        for seq in seqs {
            let mut failed = subject(c, seq)?;
            settle(c, &mut failed, StepContext { now, jitter: 0 }, None)?;
        }
    }
}
