//! Payments about which the gateway answers without an entry about them: something may be wrong with how it is asked.

use crate::cli::Error;
use crate::domain::PayerTransactionId;
use crate::journal::Snapshot;

/// What may be wrong where the gateway answers about nobody.
pub(in crate::cli) const HINT: &str = "the gateway's answers say nothing about the payments that the questions named. \
    Perhaps the gateway needs something in the question that the dialect does not send, or sends in another way: \
    [headers], [header_files], [operations.status]; or its replies have other names for results, payerTransactionID or \
    statusCode: [members]. `disburse explain` shows what it answered, and `disburse probe` asks";

/// Returns whether the last answers about a payment had no entry about it.
pub(in crate::cli) fn is_so(
    snapshot: &Snapshot<'_>,
    id: PayerTransactionId,
) -> Result<bool, Error> {
    const ENOUGH: usize = 2;
    const LATEST: usize = 12;
    let Some(record) = snapshot.find(id)?.into_iter().next() else {
        return Ok(false);
    };
    let trail = snapshot.trail(record.seq)?;
    let says = |detail: &str| detail.contains("no entry about this identifier");
    let latest = trail.iter().rev().take(LATEST);
    let without = latest.filter(|entry| entry.detail.as_deref().is_some_and(says));
    Ok(without.count() >= ENOUGH)
}
