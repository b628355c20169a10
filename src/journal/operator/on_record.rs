//! Whether something of a kind is on record of a payment.

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan, Test};

/// Returns whether evidence of this kind is written of a payment.
pub(in crate::journal) fn has(c: &dyn Read, seq: PaymentId, kind: i64) -> Result<bool, Error> {
    let of_kind = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&kind));
    Ok(c.any(&of_kind)?)
}
