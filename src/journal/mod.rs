//! Durable truth: the verbs of the journal, in domain types.
//!
//! [`Journal`] owns the one connection that writes, on a thread of its own. Its verbs are async; those that arrive together
//! share one transaction, and each returns only after that has been committed. [`Reader`] reads beside it.

mod acts;
mod approval;
mod archive;
mod bills;
mod decisions;
mod error;
mod figures;
mod forgetting;
mod generations;
mod lock;
mod mark;
mod notices;
mod preflight;
mod probe;
mod proof;
mod reconciliation;
mod recovery;
mod refusal;
mod repeats;
mod report_rows;
mod sqlite;
mod standing;
mod types;

pub use acts::ActRecord;
pub use approval::{
    Approvals, LargePayment, NotSigned, OrderToSign, OrderWaiting, Review, Signed, SignedOrder,
    ToSign, UnsignedOrders,
};
pub use archive::{ArchivedFigures, CopiedBatch, SignedFor, SignedText};
pub use bills::{
    BillCursor, BillFinding, BillOutcome, BillRecord, BillRival, BillRow, BillsRecorded,
    TotalDifference, UnpricedRecord,
};
pub use decisions::{
    Answered, Cancelled, Decided, Decision, Looked, Seen, ToCancel, ToWithdraw, WITHDRAWN_SHOWN,
};
pub use error::{Error, Kind};
pub use figures::{Figures, HeldService};
pub use forgetting::{ArchivedAs, ForgetOrder, Forgotten, LetGo, PaidIn, Party};
pub use generations::{
    CHANGED_SHOWN, ChangedRow, ChangedRows, Clearance, DebtElsewhere, Doubt, FAILURES_SHOWN,
    Failure, Failures, Halt, PAID_TWICE_SHOWN, PaidSince, Replaced, ToRetry, Unretried,
    WAITING_SHOWN, Waiting, WaitsFor, WhyUnretried,
};
pub use lock::{RunLock, holder};
pub use notices::{NewNotice, NextNotice, NoticeBatch, NoticeWaiting, NoticesWaiting};
pub use preflight::*;
pub use probe::{DuplicateProbe, SecondPost};
pub use proof::{ChainHead, FINDINGS_SHOWN, Proof};
pub use reconciliation::{
    FINDINGS_KEPT, Reconciled, ReconciliationRecord, StatedEntry, StatedPayment, StatementFacts,
    StatementFinding,
};
pub use recovery::{Missed, Presumed, Presuming, Recovery};
pub use refusal::{CrossRowError, Difference, LoadRefusal};
pub use repeats::{
    ALIKE_LINES, ALIKE_MAX, Alike, AlikeKind, ChangedRepeat, REPEATED_LOADS, RepeatPlan,
    RepeatedLoad, Repeats,
};
pub use report_rows::{ListedPayment, ListedRow};
#[cfg(test)]
pub(crate) use sqlite::writer::simulated;
pub use sqlite::{
    Backup, Copied, FOUND_MAX, FoundRow, Inspected, Journal, OrderedPayment, PAGE_ROWS, Pages,
    PaidPayment, Reader, RejectedFound, Snapshot, SourceFile, StandingKind, StandingPayment,
    StandingRejected, StatementDesk, Wanted, backup, backup_into, compact, copy_batch, inspect,
    is_gone, refuse_reserved,
};
pub use types::*;
