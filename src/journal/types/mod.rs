//! The arguments and results of the journal's verbs.

mod acts;
mod approval;
mod archive;
mod batch;
mod bills;
mod decisions;
mod error;
mod figures;
mod forgetting;
mod generations;
mod load;
mod notices;
mod preflight;
mod probe;
mod proof;
mod reconciliation;
mod recovery;
mod refusal;
mod repeats;
mod report_rows;
mod run;
mod runners;
mod standing;

pub use acts::ActRecord;
pub use approval::{
    Approvals, LargePayment, NotSigned, OrderToSign, OrderWaiting, Review, Signed, SignedOrder,
    ToSign, UnsignedOrders,
};
pub use archive::{ArchivedFigures, CopiedBatch, SignedFor, SignedText};
pub use batch::*;
pub use bills::{
    BillCursor, BillFinding, BillOutcome, BillRecord, BillRival, BillRow, BillsRecorded,
    TotalDifference, UnpricedRecord,
};
pub use decisions::{
    Answered, Cancelled, Decided, Decision, Looked, Seen, ToCancel, ToWithdraw, WITHDRAWN_SHOWN,
};
pub use error::{Closed, Error, FileOnly, Kind};
pub use figures::{Figures, HeldService};
pub use forgetting::{ArchivedAs, ForgetOrder, Forgotten, LetGo, PaidIn, Party};
pub use generations::{
    CHANGED_SHOWN, ChangedRow, ChangedRows, Clearance, DebtElsewhere, Doubt, FAILURES_SHOWN,
    Failure, Failures, Halt, PAID_TWICE_SHOWN, PaidSince, Replaced, ToRetry, Undecided, Unretried,
    WAITING_SHOWN, Waiting, WaitsFor, WhyUnretried,
};
pub use load::*;
pub use notices::{NewNotice, NextNotice, NoticeBatch, NoticeWaiting, NoticesWaiting};
pub use preflight::*;
pub use probe::{DuplicateProbe, SecondPost};
pub use proof::{ChainHead, FINDINGS_SHOWN, Proof};
pub use reconciliation::{
    Apart, Discrepancies, FINDINGS_KEPT, Reconciled, ReconciliationRecord, SHOWN_AT_ONCE,
    ShownPayment, StatedAbout, StatedEntry, StatedPayment, StatementFacts, StatementFinding,
};
pub use recovery::{Missed, Presumed, Presuming, Recovery};
pub use refusal::{CrossRowError, Difference, LoadRefusal};
pub use repeats::{
    ALIKE_LINES, ALIKE_MAX, Alike, AlikeKind, ChangedRepeat, REPEATED_LOADS, RepeatPlan,
    RepeatedLoad, Repeats,
};
pub use report_rows::{ListedPayment, ListedRow};
pub use run::*;
pub use runners::{Runner, RunnerRecord};
