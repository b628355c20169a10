//! The limits that a run came with, on the chain of its batch.

use std::sync::Arc;

use super::recorded::told;
use super::waiting;
use crate::domain::{BatchId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::catalog::purpose;
use crate::journal::codec::events::LIMITS_TAKEN;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::limiter::Limiter;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::Purpose;
use crate::ledger::limits::Limits;

/// Begins a run with its limits; a batch that has ended leaves no trace of them.
pub(in crate::journal) fn begin(
    c: &WriteSession,
    batch_id: BatchId,
    limits: Option<&Arc<Limits>>,
    is_open: bool,
    now: Timestamp,
) -> Result<(), Error> {
    waiting::judge_anew(&**c, batch_id)?;
    let limits = limits.filter(|limits| !limits.is_none());
    let realm = i64::from(purpose(c, batch_id)? == Purpose::Rehearsal);
    c.limit(
        batch_id,
        limits.map(|limits| Limiter::new(Arc::clone(limits), realm)),
    );
    let Some(limits) = limits.filter(|_| is_open) else {
        return Ok(());
    };
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (LIMITS_TAKEN, None, None),
        detail: Some(&told(limits).to_string()),
        ..Evidence::default()
    })
}
