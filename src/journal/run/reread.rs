//! What follows once replies are read in another way: what an earlier reading has called failed, not found or not executed is asked about
//! once more, before anything is paid again on its word.

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::payments::answered::ReadBy;
use crate::journal::payments::inquiries::doubt;
use crate::journal::recovery::presume::ask_unexecuted;
use crate::journal::session::expected::in_turn;
use crate::journal::session::members::{of_row, split};
use crate::journal::session::transaction::WriteSession;
use crate::lifecycle::{State, StepContext};
use crate::store::tables::life;
use crate::store::{Reads, Scan, Test};

/// Payments that are listed before anything is done with them.
const PAGE: usize = 1000;

/// Failures by the gateway's word behind a payment.
fn failed<'a>(batch_id: &'a BatchId, after: &'a PaymentId) -> Scan<'a> {
    Scan::of(&life::TABLE)
        .after(after)
        .only(life::batch_id, Test::is(batch_id))
        .only(life::state, Test::is(&State::Failed))
        .only(life::code, Test::Present)
        .limit(PAGE)
}

/// Has the gateway asked again, once the new way is on the chain. What a retry waits for is asked about before that leaves.
pub(super) fn ask_again(
    c: &WriteSession,
    batch_id: BatchId,
    by: ReadBy,
    now: Timestamp,
) -> Result<(), Error> {
    ask_unexecuted(c, batch_id, by, now)?;
    c.flush()?;
    let moment = StepContext { now, jitter: 0 };
    let mut after = PaymentId::NONE;
    loop {
        let seqs: Vec<PaymentId> = c.values(&failed(&batch_id, &after), life::seq)?;
        let Some(last) = seqs.last() else {
            return Ok(());
        };
        after = *last;
        for seq in in_turn(&**c, &seqs) {
            let row = of_row(c, seq?)?;
            let (newest, _) = split(&row)?;
            if newest.life.state.is_finished() {
                doubt(c, batch_id, &row, moment, None)?;
            }
        }
    }
}
