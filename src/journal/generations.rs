//! What the verbs say of the generations of a row.

use crate::domain::PayerTransactionId;

/// What a look at a claim says, just before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// It may leave.
    Leaves,
    /// Evidence has moved it meanwhile: its post is over.
    Settled,
    /// It must not leave, and has no outcome: an earlier generation of its row may be paid.
    Withheld,
}

/// Why a run claims nothing more, and must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A payment is not what the chain of evidence says of it.
    Altered(String),
    /// A payment is of the same debt as one of another batch that is paid by now, or may be.
    PaidElsewhere(String),
}

/// What a retry waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A decision about this earlier generation.
    Decision(PayerTransactionId),
    /// The gateway's word about this one, which a person decided to have failed.
    Answer(PayerTransactionId),
    /// The gateway's word about this one, which it has called failed, and has spoken of otherwise since.
    Again(PayerTransactionId),
}

/// A retry that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its identifier.
    pub id: PayerTransactionId,
    /// What it waits for.
    pub waits_for: WaitsFor,
}

/// Retries that are held back are named as far as this.
pub const WAITING_SHOWN: usize = 20;

/// A failure that is not retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unretried {
    /// Its identifier.
    pub id: PayerTransactionId,
    /// The line of its file.
    pub line: u64,
    /// Why.
    pub why: WhyUnretried,
}

/// Why a failure may have no retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyUnretried {
    /// An earlier generation of its row is paid, or may be.
    EarlierMayBePaid,
    /// It names a document by `extra.supportDocument`, which was uploaded for its own identifier.
    NamesADocument,
    /// Its row was loaded anew into this batch, and is paid there, or may be.
    LoadedAnew(String),
}

/// Rows that were paid more than once are named as far as this.
pub const PAID_TWICE_SHOWN: usize = 1000;
