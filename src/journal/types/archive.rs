//! What the verbs about archives take and give.

use crate::domain::{EvidenceId, Timestamp};
use crate::journal::ChainHead;

/// A batch that was copied into a journal of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedBatch {
    /// How far its evidence reached at that moment.
    pub head: ChainHead,
    /// Instructions of the batch: earlier generations and rows without an amount included.
    pub instructions: u64,
    /// Rows of other batches that are of the same debts, and go along so that what names them can be told.
    pub beside: u64,
    /// The name of the journal that it comes from.
    pub journal: [u8; 16],
}

/// What the journal of an archive tells of its batch beside its record and its standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchivedFigures {
    /// Its newest row of evidence.
    pub newest: Timestamp,
    /// Instructions of the batch: earlier generations and rows without an amount included.
    pub instructions: u64,
    /// The name of the journal that it comes from.
    pub journal: [u8; 16],
}

/// What a signature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedFor {
    /// Having loaded rows.
    Load,
    /// The batch being paid.
    Approval,
    /// An order about the batch.
    Order,
}

/// A text that somebody signed, with the signature in its armour, as both stand on the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedText {
    /// What it is for.
    pub what: SignedFor,
    /// The number of its row of evidence.
    pub evidence_id: EvidenceId,
    /// When it was recorded.
    pub at: Timestamp,
    /// Who signed, as the text says.
    pub by: String,
    /// The text.
    pub text: String,
    /// The signature.
    pub armour: String,
}
