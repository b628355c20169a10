//! Folds the evidence of a payment with the lifecycle's own step, and compares what comes out with what is stored.
//!
//! The evidence suffices for all that decides over money: state, code, attempts, exposures, and how far "not found" has
//! been proven. Two members of a life cannot be had from it, and decide nothing but when something is done next:
//! `due_at` (the jitter is not kept, and a question's lease is no evidence) and `queries` (a new run begins to count
//! anew). The policy is not kept either; it must be the one that the evidence was recorded under.

use disburse::domain::BatchName;
use disburse::journal::{HistoryEntry, Reader};
use disburse::lifecycle::{self, PaymentState, Policy, proven};

/// Returns what a trail of evidence adds up to.
pub fn fold(trail: &[HistoryEntry], policy: &Policy) -> PaymentState {
    trail.iter().fold(PaymentState::NEW, |life, entry| {
        lifecycle::fold(&life, entry.fact, entry.at, policy)
    })
}

/// Folds every payment of a batch, earlier generations included, and compares; returns how many there were.
pub fn assert_evidence_adds_up(reader: &Reader, batch: &BatchName, policy: &Policy) -> usize {
    let snapshot = reader.snapshot(batch).unwrap();
    let proof = snapshot.prove(None).unwrap();
    assert!(proof.is_sound(), "{:#?}", proof.findings);
    let mut compared = 0;
    for row in snapshot.rows() {
        let disburse::journal::ReportRow::Payment(newest) = row.unwrap() else {
            continue;
        };
        let instruction = &newest.payment.instruction;
        let key = instruction.reference.as_ref();
        let key = key.map_or(newest.payment.id.as_str(), |reference| reference.as_str());
        for record in snapshot.find(key).unwrap() {
            let trail = snapshot.trail(record.seq).unwrap();
            let folded = fold(&trail, policy);
            assert_eq!(
                proven(record.life),
                proven(folded),
                "payment {key}, generation {}: {trail:#?}",
                record.payment.generation
            );
            compared += 1;
        }
    }
    compared
}
