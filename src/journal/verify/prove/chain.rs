//! The walk over the chain.

use std::ops::ControlFlow;

use sha2::{Digest as _, Sha256};

use super::covered::covers;
use super::prover::Verifier;
use crate::domain::{EvidenceId, PaymentId, PhraseId, PolicyId};
use crate::journal::Error;
use crate::journal::codec::events::{
    CLAIMED_TOGETHER, RECONCILED, STATEMENT_FINDING, STATEMENT_LINES,
};
use crate::journal::evidence::encoding::genesis;
use crate::journal::evidence::encoding::{CanonicalHasher, Digest};
use crate::journal::evidence::salt::Sealed;
use crate::journal::payments::first_claims::ClaimRange;
use crate::journal::read::phrases::Phrases;
use crate::journal::verify::intact::text_of;
use crate::ledger::evidence::Covered;
use crate::store::tables::evidence;
use crate::store::{self, Column, Field, Reads, Scan, Test, Value};

/// What was added up on the way along the chain.
#[derive(Default)]
struct Walked {
    covered: Covered,
    /// Findings of a reconciliation that is still to come.
    stated: Sha256,
}

/// What is read of a row of evidence: what its hash is taken over in its order, what it was judged by, its hash, the words of the
/// gateway and its salt.
const EVIDENCE: [Column; 16] = [
    evidence::evidence_id,
    evidence::seq,
    evidence::at,
    evidence::event,
    evidence::class,
    evidence::code,
    evidence::anomaly,
    evidence::digest,
    evidence::detail,
    evidence::policy_id,
    evidence::hash,
    evidence::gateway_transaction_id,
    evidence::receipt_number,
    evidence::receiver_narration,
    evidence::phrase_id,
    evidence::salt,
];

/// A row of evidence, in which the text of the phrase stands in the place of its number.
type Cells<'r> = [Value<'r>; EVIDENCE.len()];

/// Where its parts stand.
const POLICY_AT: usize = 9;
const HASH_AT: usize = 10;
const SAID_AT: usize = 11;
const PHRASE_AT: usize = 14;
const SALT_AT: usize = 15;

/// The texts of a row that may name a person: anomaly, detail, narration of the receiver.
const PERSONAL: [usize; 3] = [6, 8, SAID_AT + 2];

fn get<F: Field>(row: &Cells<'_>, at: usize) -> Result<F, store::Error> {
    F::from_value(row[at].as_ref())
}

/// Returns a column as it is hashed: what a leaf covers is null.
fn shown<'v>(row: &'v Cells<'_>, at: usize, has_leaf: bool) -> Value<'v> {
    match has_leaf && PERSONAL.contains(&at) {
        true => Value::Null,
        false => row[at].as_ref(),
    }
}

fn take_in(canon: &mut CanonicalHasher, value: &Value<'_>) {
    match value {
        Value::Null => canon.null(),
        Value::Integer(number) => canon.integer(*number),
        Value::Text(text) => canon.text(text),
        Value::Bytes(bytes) => canon.bytes(bytes),
    }
}

impl Verifier<'_> {
    pub(super) fn walk(&mut self, earlier: Option<Digest>) -> Result<(), Error> {
        let mut previous = genesis(self.c, self.batch_id)?;
        let mut walked = Walked::default();
        let mut intact = true;
        // The oldest row that no hash on record covers yet.
        let mut uncovered: Option<EvidenceId> = None;
        let (c, batch_id) = (self.c, self.batch_id);
        let mut phrases = Phrases::of(c);
        let rows = Scan::of(&evidence::TABLE).only(evidence::batch_id, Test::is(&batch_id));
        c.each_row(&rows, &EVIDENCE, |row| {
            let mut row: Cells<'_> = row.values()?;
            if let Value::Integer(number) = row[PHRASE_AT] {
                row[PHRASE_AT] = match phrases.find(PhraseId::new(number))? {
                    Some(text) => Value::Text(text.into()),
                    None => Value::Bytes(b"".as_slice().into()),
                };
            }
            let row = &row;
            self.proof.evidence += 1;
            let computed = self.hash(row, &previous)?;
            let stored: Option<Digest> = get(row, HASH_AT)?;
            let (evidence_id, seq): (EvidenceId, PaymentId) = (get(row, 0)?, get(row, 1)?);
            let first = *uncovered.get_or_insert(evidence_id);
            if stored.is_some() {
                uncovered = None;
            }
            if stored.is_some_and(|stored| stored != computed) {
                let which = which((first, evidence_id), seq);
                self.find(format!(
                    "{which} does not follow from the evidence up to there"
                ));
                intact = false;
            }
            // From what is stored, so that one change is one finding.
            previous = stored.unwrap_or(computed);
            if intact && earlier == Some(previous) {
                self.proof.earlier_head_at = Some(self.proof.evidence);
            }
            self.cover(row, &mut walked)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        self.compare_head(&previous, uncovered)?;
        self.compare_covered(&walked.covered)?;
        if let (Some(earlier), None) = (earlier, self.proof.earlier_head_at) {
            let hex = data_encoding::HEXLOWER.encode(&earlier);
            self.find(format!(
                "the earlier head {hex} is not on the chain: evidence that it covers was changed or removed, or it is of another batch"
            ));
        }
        Ok(())
    }

    fn hash(&mut self, row: &Cells<'_>, previous: &Digest) -> Result<Digest, Error> {
        let mut canon = CanonicalHasher::after(previous);
        let leaf = self.leaf_of(row)?;
        if let Some(leaf) = &leaf {
            canon.bytes(leaf);
        }
        for at in 0..POLICY_AT {
            take_in(&mut canon, &shown(row, at, leaf.is_some()));
        }
        let policy_id: Option<PolicyId> = get(row, POLICY_AT)?;
        let terms = policy_id.and_then(|id| self.policies.get(&id));
        canon.terms(terms.map(|(terms, _)| *terms));
        let words = [0, 1, 2, 3].map(|at| shown(row, SAID_AT + at, leaf.is_some()));
        if words.iter().any(|word| *word != Value::Null) {
            words.iter().for_each(|word| take_in(&mut canon, word));
        }
        if policy_id.is_some() && terms.is_none() {
            let evidence_id: EvidenceId = get(row, 0)?;
            self.find(format!("evidence {evidence_id}: its policy is missing"));
        }
        Ok(canon.finish())
    }

    /// Returns the leaf over the texts of a row that may name a person.
    fn leaf_of(&mut self, row: &Cells<'_>) -> Result<Option<Digest>, Error> {
        let sealed = match Sealed::of_value(&row[SALT_AT]) {
            Ok(sealed) => sealed,
            // The hash of the row will not fit either.
            Err(error) => {
                self.find(format!("evidence {}: {error}", get::<EvidenceId>(row, 0)?));
                return Ok(None);
            }
        };
        sealed.leaf(&mut self.leaves, |leaf| {
            PERSONAL.iter().for_each(|at| take_in(leaf, &row[*at]));
            Ok(())
        })
    }

    fn compare_head(&mut self, last: &Digest, uncovered: Option<EvidenceId>) -> Result<(), Error> {
        let head = crate::journal::evidence::chain::head(self.c, self.batch_id)?;
        if head.length != self.proof.evidence {
            self.find(format!(
                "the chain has {} rows of evidence on record, but {} are there",
                head.length, self.proof.evidence
            ));
        }
        if head.hash != *last {
            let since = match uncovered {
                Some(first) => format!("evidence {first} to the last one"),
                None => "the last row of evidence".to_owned(),
            };
            self.find(format!(
                "{since}: the head on record does not follow from the evidence up to there"
            ));
        }
        self.proof.head = Some(head);
        Ok(())
    }

    /// Adds the findings of a reconciliation up again, and compares them with what it says of them.
    fn stated(&mut self, row: &Cells<'_>, event: i64, stated: &mut Sha256) -> Result<(), Error> {
        if event != RECONCILED {
            let detail: String = get(row, 8)?;
            stated.update(detail.as_bytes());
            stated.update([0]);
            return Ok(());
        }
        let found: Digest = std::mem::take(stated).finalize().into();
        if get::<Option<Digest>>(row, 7)? != Some(found) {
            self.find(
                "the findings of a reconciliation with a statement are not as they were recorded",
            );
        }
        Ok(())
    }

    /// Compares the rows of other tables with what a row of evidence says of them.
    fn cover(&mut self, row: &Cells<'_>, walked: &mut Walked) -> Result<(), Error> {
        let (seq, event): (PaymentId, i64) = (get(row, 1)?, get(row, 3)?);
        self.about_payments += u64::from(seq != PaymentId::NONE);
        if event == CLAIMED_TOGETHER {
            for (first, last) in ClaimRange::parse(text_of(&row[8]))?.runs()? {
                self.first_claims += (last - first).unsigned_abs() + 1;
            }
        }
        if matches!(event, STATEMENT_FINDING | STATEMENT_LINES | RECONCILED) {
            return self.stated(row, event, &mut walked.stated);
        }
        let digest: Option<Digest> = get(row, 7).unwrap_or(None);
        let Some(covers) = covers((seq, event), digest.is_some(), text_of(&row[8]))? else {
            return Ok(());
        };
        walked.covered.add(&covers, digest);
        self.compare_rows(get(row, 0)?, &covers, digest)
    }
}

/// Names the rows of evidence, and the hash that is wrong: that of the last of them.
fn which((first, last): (EvidenceId, EvidenceId), seq: PaymentId) -> String {
    match (first, seq) {
        (first, _) if first != last => {
            format!("evidence {first} to {last}: the hash of the last one")
        }
        (_, PaymentId::NONE) => format!("evidence {last}, about the batch: its hash"),
        (_, seq) => format!("evidence {last}, about payment {seq}: its hash"),
    }
}
