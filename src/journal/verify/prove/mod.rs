//! Verifies the journal: computes the chain, the instructions, the states of payments and the tallies again, and compares them.
//!
//! It reads row by row in one snapshot, so that a run may go on meanwhile, and memory holds only a few rows.

mod ceilings;
mod chain;
mod covered;
mod learn;
mod lives;
mod next;
pub(in crate::journal) mod prover;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use prover::{Above, Verifier};

use crate::journal::evidence::chain::head;
use crate::journal::evidence::encoding::{CanonicalHasher, Digest};
use crate::journal::read::reader::Snapshot;
use crate::journal::{ChainHead, Error, Proof};
use crate::ledger::tallies::Tallies;

impl Snapshot<'_> {
    /// Returns how far the evidence of the batch reaches.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn head(&self) -> Result<ChainHead, Error> {
        head(self.c, self.batch_id)
    }

    /// Computes again all that the evidence of the batch proves, and compares it with the tables.
    ///
    /// With an earlier head, it also tells whether that head is on the chain: if it is, the evidence before it is unchanged.
    ///
    /// # Errors
    /// The store was lost while it was read, which says nothing of what it holds.
    pub fn prove(&self, earlier: Option<Digest>) -> Result<Proof, Error> {
        let mut prover = self.prover();
        prover.attempt("the schema", Verifier::schema);
        prover.attempt("the policies", Verifier::read_policies);
        prover.attempt("the chain of evidence", |prover| prover.walk(earlier));
        prover.attempt("the signatures", Verifier::signatures);
        prover.attempt("the recoveries", Verifier::recoveries);
        prover.attempt("the payments", Verifier::lives);
        prover.attempt("the tallies", Verifier::compare_tallies);
        prover.attempt("what counts towards ceilings", Verifier::compare_ceilings);
        prover.attempt("the file", Verifier::file);
        prover.proven()
    }

    /// Computes only the chain again, with the rows whose digests it holds, and looks for an earlier head on it.
    ///
    /// # Errors
    /// As [`Self::prove`].
    pub fn walked(&self, earlier: Digest) -> Result<Proof, Error> {
        let mut prover = self.prover();
        prover.attempt("the policies", Verifier::read_policies);
        prover.attempt("the chain of evidence", |prover| prover.walk(Some(earlier)));
        prover.proven()
    }

    fn prover(&self) -> Verifier<'_> {
        Verifier {
            c: self.c,
            batch: self.batch.clone(),
            batch_id: self.batch_id,
            policies: BTreeMap::new(),
            about_payments: 0,
            first_claims: 0,
            tallies: Tallies::default(),
            above: Above::default(),
            leaves: CanonicalHasher::of("evidence"),
            lost: None,
            proof: Proof {
                payments: 0,
                unpriced: 0,
                evidence: 0,
                instructions: 0,
                sealed: 0,
                forgotten: 0,
                signatures: 0,
                head: None,
                earlier_head_at: None,
                findings: Vec::new(),
                findings_count: 0,
            },
        }
    }
}
