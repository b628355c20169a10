//! What a transaction is about to read, told to the store beforehand: one by one, each row would cost a round trip to a server.

use crate::domain::{PayerTransactionId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::find;
use crate::journal::session::transaction::WriteSession;
use crate::store::tables::{evidence, identifier, instruction, life};
use crate::store::{Read, Scan, Test};

/// Returns payments one after the other, for the same to be done with each: what that asks about the first ones a store on a server
/// reads for the next ones beforehand.
pub(in crate::journal) fn in_turn<'c>(
    c: &'c dyn Read,
    seqs: &[PaymentId],
) -> impl Iterator<Item = Result<PaymentId, Error>> + use<'c> {
    let numbers: Vec<i64> = seqs.iter().map(|seq| seq.get()).collect();
    let mut nth = 0;
    std::iter::from_fn(move || {
        let seq = PaymentId::new(*numbers.get(nth)?);
        let come = c.come_to(&numbers, nth);
        nth += 1;
        Some(come.map(|()| seq).map_err(Error::from))
    })
}

/// Expects payments that something was heard of.
pub(in crate::journal) fn expect(
    c: &WriteSession,
    seqs: impl Iterator<Item = PaymentId>,
) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let seqs: Vec<PaymentId> = seqs.collect();
    Ok(c.expect(&rows_of(c, &seqs))?)
}

/// Expects payments that callbacks are about, by the identifiers that these name.
pub(in crate::journal) fn expect_called(
    c: &WriteSession,
    ids: impl Iterator<Item = PayerTransactionId>,
) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let (mut seqs, mut unknown) = (Vec::new(), Vec::new());
    for id in ids {
        match c.recent_by(id) {
            Some(seq) => seqs.push(seq),
            None => unknown.push(id),
        }
    }
    let of_id = |id| Scan::of(&identifier::TABLE).at(id);
    c.expect(&unknown.iter().map(of_id).collect::<Vec<_>>())?;
    let mut found = Vec::with_capacity(unknown.len());
    for id in unknown {
        found.extend(find(c, id)?);
    }
    seqs.extend(found);
    let mut wanted = rows_of(c, &seqs);
    let moved = seqs.iter().filter(|seq| c.recent(**seq).is_none());
    wanted.extend(moved.map(stored_callbacks));
    Ok(c.expect(&wanted)?)
}

/// What is read of payments before they move: their lives, which are written as they were read, and what was ordered, where that is not
/// remembered, or not to which number it goes.
fn rows_of<'s>(c: &WriteSession, seqs: &'s [PaymentId]) -> Vec<Scan<'s>> {
    let mut rows: Vec<_> = seqs
        .iter()
        .map(|seq| Scan::of(&life::TABLE).at(seq))
        .collect();
    let is_known = |seq: PaymentId| {
        c.recent(seq).is_some() || c.recent_order(seq).and(c.recent_wallet(seq)).is_some()
    };
    let unknown = seqs.iter().filter(|seq| !is_known(**seq));
    rows.extend(unknown.map(|seq| Scan::of(&instruction::TABLE).at(seq)));
    rows
}

/// The callbacks of a payment that are on record.
pub(in crate::journal) fn stored_callbacks(seq: &PaymentId) -> Scan<'_> {
    Scan::by(&evidence::evidence_by_payment)
        .at(seq)
        .only(evidence::digest, Test::Present)
}
