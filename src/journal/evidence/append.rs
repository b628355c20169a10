//! Rows of evidence on their way into the table.

use super::body_digest::BodyDigest;
use super::encoding::Digest;
use super::salt::Salt;
use crate::domain::{BatchId, EvidenceId, PaymentId, PhraseId, PolicyId};
use crate::journal::Error;
use crate::store::tables::evidence;
use crate::store::{self, Column, Field, Row, Shape, Table, Value, Write, Writes};

/// Kind, class and code of a row of evidence.
pub(in crate::journal) type Kind = (i64, Option<i64>, Option<i32>);

/// A row of evidence that waits to be written: of a transaction's rows several are, with one statement.
pub(in crate::journal) struct Waiting {
    pub(in crate::journal) evidence_id: EvidenceId,
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) at: i64,
    pub(in crate::journal) kind: Kind,
    pub(in crate::journal) anomaly: Option<String>,
    pub(in crate::journal) digest: Option<BodyDigest>,
    pub(in crate::journal) detail: Option<String>,
    pub(in crate::journal) batch_id: BatchId,
    pub(in crate::journal) policy_id: Option<PolicyId>,
    pub(in crate::journal) hash: Option<Digest>,
    pub(in crate::journal) phrase_id: Option<PhraseId>,
    pub(in crate::journal) gateway_transaction_id: Option<String>,
    pub(in crate::journal) receipt_number: Option<String>,
    pub(in crate::journal) receiver_narration: Option<String>,
    pub(in crate::journal) salt: Option<Salt>,
}

/// Payments whose numbers differ by no more have their evidence on few pages of the index.
const NEAR: i64 = 4096;
/// So many rows at most, or so many, are handed over together.
const SIZES: [usize; 2] = [64, 16];
/// Rows of evidence that wait at most.
pub(in crate::journal) const WAITING_MAX: usize = 256;
/// Writes rows that wait.
// Those of payments with numbers near one another are handed over together: each of several rows that are far apart in an index changes
// pages of its own, which a store keeps copies of until the last of them is in.
pub(in crate::journal) fn append(c: &dyn Write, waiting: &[Waiting]) -> Result<(), Error> {
    let mut rest = waiting;
    while !rest.is_empty() {
        let size = SIZES
            .into_iter()
            .find(|size| rest.get(..*size).is_some_and(are_near));
        let (now, later) = rest.split_at(size.unwrap_or(1));
        c.insert_all(now)?;
        rest = later;
    }
    Ok(())
}

fn are_near(rows: &[Waiting]) -> bool {
    let seqs = || rows.iter().map(|row| row.seq);
    let reach = Option::zip(seqs().min(), seqs().max());
    reach.is_some_and(|(min, max)| max.get() - min.get() <= NEAR)
}

impl Shape for Waiting {
    const TABLE: &'static Table = &evidence::TABLE;
    const COLUMNS: &'static [Column] = &[
        evidence::evidence_id,
        evidence::seq,
        evidence::at,
        evidence::event,
        evidence::class,
        evidence::code,
        evidence::anomaly,
        evidence::digest,
        evidence::detail,
        evidence::batch_id,
        evidence::policy_id,
        evidence::hash,
        evidence::phrase_id,
        evidence::gateway_transaction_id,
        evidence::receipt_number,
        evidence::receiver_narration,
        evidence::salt,
    ];

    fn read(row: &dyn Row) -> Result<Self, store::Error> {
        Ok(Self {
            evidence_id: row.get(0)?,
            seq: row.get(1)?,
            at: row.get(2)?,
            kind: (row.get(3)?, row.get(4)?, row.get(5)?),
            anomaly: row.get(6)?,
            digest: row.get(7)?,
            detail: row.get(8)?,
            batch_id: row.get(9)?,
            policy_id: row.get(10)?,
            hash: row.get(11)?,
            phrase_id: row.get(12)?,
            gateway_transaction_id: row.get(13)?,
            receipt_number: row.get(14)?,
            receiver_narration: row.get(15)?,
            salt: row.get(16)?,
        })
    }

    fn values(&self) -> Vec<Value<'_>> {
        let (event, class, code) = &self.kind;
        vec![
            self.evidence_id.to_value(),
            self.seq.to_value(),
            self.at.to_value(),
            event.to_value(),
            class.to_value(),
            code.to_value(),
            self.anomaly.to_value(),
            self.digest.to_value(),
            self.detail.to_value(),
            self.batch_id.to_value(),
            self.policy_id.to_value(),
            self.hash.to_value(),
            self.phrase_id.to_value(),
            self.gateway_transaction_id.to_value(),
            self.receipt_number.to_value(),
            self.receiver_narration.to_value(),
            self.salt.to_value(),
        ]
    }
}
