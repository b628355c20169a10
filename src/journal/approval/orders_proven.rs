//! The orders about a batch that people signed for, verified again from the journal alone.

use super::on_record::{Pinned, Recorded, recorded};
use super::orders::{IS_OVER, OrderOnRecord, order_signatures};
use crate::domain::{BatchId, EvidenceId, Timestamp, Totals};
use crate::journal::Error;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{ACTED, ORDER_CARRIED_OUT};
use crate::ledger::approval::orders::{OrderKind, OrderSigned, needed, people};
use crate::ledger::approval::rule::InForce;
use crate::store::Read;

/// Verifies every signature for an order, and that what was ordered under the rule was signed for; returns how many signatures there
/// are, and what does not fit.
pub(in crate::journal) fn verify_orders(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<(u64, Vec<String>), Error> {
    let pinned = Pinned::read(c, batch_id)?;
    let signatures = order_signatures(c, batch_id)?;
    let mut findings = Vec::new();
    for one in &signatures {
        // Whether whoever signed might is looked at where it counted.
        if let Err(why) = one.signature.verify(one.text.as_bytes()) {
            findings.push(format!(
                "evidence {}, the signature of {} for an order: {why}",
                one.evidence_id, one.hand.by
            ));
        }
    }
    let carried = recorded(c, batch_id, ORDER_CARRIED_OUT)?;
    for (at, row) in carried.iter().enumerate() {
        let then = pinned.before(row.0).in_force(None)?;
        if let Some(what) = unsigned(&carried[..at], row, (&then, &signatures))? {
            findings.push(what);
        }
    }
    findings.extend(without_signatures(c, batch_id, (&pinned, &carried))?);
    Ok((signatures.len() as u64, findings))
}

fn why_not(then: &InForce, one: &OrderOnRecord) -> Option<String> {
    let times = [one.claimed.signed, one.at];
    if let Err(why) = then.may_sign(&one.hand.by, &one.hand.key, &times) {
        return Some(why);
    }
    let verified = one.signature.verify(one.text.as_bytes());
    verified.err().map(|why| why.to_string())
}

/// Returns what is missing of the signatures for an order that was carried out, by the rules of the loads before it.
fn unsigned(
    earlier: &[Recorded],
    (evidence_id, at, detail): &Recorded,
    (then, signatures): (&InForce, &[OrderOnRecord]),
) -> Result<Option<String>, Error> {
    let digest_of = |detail: &str| -> Result<String, Error> {
        Ok(parsed(Some(detail))?["digest"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    };
    let digest = digest_of(detail)?;
    if is_over(detail)? {
        return Ok(None);
    }
    let mut before = EvidenceId::NONE;
    for (number, _, detail) in earlier {
        if digest_of(detail)? == digest {
            before = *number;
        }
    }
    let valid: Vec<OrderSigned> = signatures
        .iter()
        .filter(|one| one.evidence_id < *evidence_id && one.claimed.digest == digest)
        .filter(|one| why_not(then, one).is_none())
        .map(|one| OrderSigned {
            hand: one.hand.clone(),
            signed: one.claimed.signed,
            evidence: one.evidence_id,
        })
        .collect();
    let earlier = signatures
        .iter()
        .filter(|one| one.evidence_id < *evidence_id);
    let now = earlier.map(|one| one.at).fold(*at, Timestamp::max);
    let (found, wanted) = (people(&valid, before, now).len(), needed(then.required()));
    Ok((!then.is_none() && found < wanted).then(|| {
        format!(
            "evidence {evidence_id}, an order that was carried out: {found} of {wanted} people had signed for it"
        )
    }))
}

/// Returns whether nothing of the batch was left when it was told of a recovery: the rules of others were asked.
fn is_over(detail: &str) -> Result<bool, Error> {
    Ok(parsed(Some(detail))?[IS_OVER] == true)
}

/// Returns the orders that were carried out under a rule of the loads, and that nothing says were signed for.
// What a batch came to when an order was given is not on record: where there is a threshold, it may not have needed signatures.
fn without_signatures(
    c: &dyn Read,
    batch_id: BatchId,
    (pinned, carried): (&Pinned, &[Recorded]),
) -> Result<Vec<String>, Error> {
    let mut acts = Vec::new();
    for (evidence_id, _, detail) in recorded(c, batch_id, ACTED)? {
        let detail = parsed(Some(&detail))?;
        let kind = detail["act"].as_str().and_then(OrderKind::of_act);
        let then = pinned.before(evidence_id).in_force(None)?;
        if kind.is_some_and(|kind| then.is_about(kind)) && then.needs(&Totals::default(), 0) {
            acts.push(evidence_id);
        }
    }
    let mut signed = carried.iter().peekable();
    let mut open: Vec<EvidenceId> = Vec::new();
    for evidence_id in acts {
        settle(&mut open, &mut signed, evidence_id)?;
        open.push(evidence_id);
    }
    settle(&mut open, &mut signed, EvidenceId::AFTER_ALL)?;
    let texts = open.into_iter().map(|evidence_id| {
        format!("evidence {evidence_id}, an order: it was carried out, and nothing says that it was signed for")
    });
    Ok(texts.collect())
}

/// Takes away the acts that are covered by what was carried out before a row of evidence.
fn settle<'a>(
    open: &mut Vec<EvidenceId>,
    signed: &mut std::iter::Peekable<impl Iterator<Item = &'a Recorded>>,
    before: EvidenceId,
) -> Result<(), Error> {
    while let Some((_, _, detail)) = signed.next_if(|(number, ..)| *number < before) {
        let orders = parsed(Some(detail))?["orders"].as_u64().unwrap_or(0);
        // The newest: what was carried out is told right behind its acts.
        let left = (open.len() as u64).saturating_sub(orders);
        open.truncate(usize::try_from(left).unwrap_or(usize::MAX));
    }
    Ok(())
}
