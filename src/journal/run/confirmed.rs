//! What a person confirmed: how far it reaches, and its place on the chain.

use serde_json::json;

use crate::domain::{BatchId, BatchName, BillId, PaymentId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::events::CONFIRMED;
use crate::journal::evidence::chain::Evidence;
use crate::journal::read::batch_status::standing;
use crate::journal::recovery::lost_batches::batches_lost;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Shown};
use crate::ledger::confirmation::{Bound, Confirmation};
use crate::store::tables::{bill, instruction};
use crate::store::{Read, Reads, Scan};

impl Journal {
    /// Returns where a batch stands, and how far a confirmation of these figures reaches: both in one look.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn shown(&self, batch: BatchName) -> Result<Shown, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            Ok(Shown {
                standing: standing(c, &batch)?,
                bound: bound(c)?,
                lost: batches_lost(c)?,
            })
        })
        .await
    }
}

/// The numbers that were given last, to whichever batch: what comes later has greater ones.
fn bound(c: &dyn Read) -> Result<Bound, Error> {
    let (instructions, bills) = (Scan::of(&instruction::TABLE), Scan::of(&bill::TABLE));
    let newest = c.value(&instructions.descending(), instruction::seq)?;
    let newest_bill = c.value(&bills.descending(), bill::bill_id)?;
    Ok(Bound {
        instruction: newest.unwrap_or(PaymentId::NONE),
        bill: newest_bill.unwrap_or(BillId::NONE),
    })
}

/// Puts a confirmation on the chain. One of nothing leaves no trace: a finished batch that is run again stays as it is.
pub(in crate::journal) fn record(
    c: &WriteSession,
    batch_id: BatchId,
    confirmation: &Confirmation,
    now: Timestamp,
) -> Result<(), Error> {
    let Confirmation {
        open,
        bound,
        answer,
    } = confirmation;
    if open.count == 0 {
        return Ok(());
    }
    let detail = json!({
        "count": open.count,
        "amounts": open.amounts.decimals(),
        "up_to": bound.instruction.get(),
        "up_to_bill": bound.bill.get(),
        "by": answer.name(),
    });
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (CONFIRMED, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}
