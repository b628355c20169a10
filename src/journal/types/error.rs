//! What can go wrong with a journal.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::{BatchName, PayerTransactionId};
use crate::journal::{DebtElsewhere, UnsignedOrders};
use crate::ledger::forgetting::Kept;
use crate::ledger::payer::Lost;
use crate::ledger::pin::Destination;
use crate::ledger::recovery::{Order, OrdersLost};
use crate::store;

/// Whose mistake an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request does not fit what the journal holds; nothing was changed.
    Refused,
    /// The journal cannot be trusted to go on: dispatch stops.
    Fault,
}

/// Work that is done on the file of a journal, and on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOnly {
    /// A rehearsal, whose sandbox keeps its ledger beside the journal.
    Rehearsal,
    /// Batches that are put into files of their own.
    Archive,
    /// A copy for a safe place.
    Backup,
    /// The file written anew, without what was removed from it.
    Rewrite,
}

impl fmt::Display for FileOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rehearsal => "a rehearsal (--sandbox) has a journal in a file; nothing was sent",
            Self::Archive => {
                "archive takes batches out of the file of a journal; nothing was written"
            }
            Self::Backup => "backup copies the file of a journal; nothing was written",
            Self::Rewrite => {
                "archive --rewrite writes the file of a journal anew; nothing was changed"
            }
        })
    }
}

/// Why a verb did not do its work.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    #[error("journal {path}: is a symbolic link; name the file itself")]
    Symlink { path: PathBuf },
    #[error("journal {path}: belongs to another user")]
    ForeignOwner { path: PathBuf },
    #[error("journal {path}: has {links} names (hard links)")]
    Linked { path: PathBuf, links: u64 },
    #[error("the mark of the journal, {path}: {cause}")]
    Mark { path: PathBuf, cause: String },
    #[error("another journal has taken the place of this one")]
    Displaced,
    #[error("journal {path}: is not a file")]
    NotAFile { path: PathBuf },
    #[error("journal {path}: no such file")]
    Missing { path: PathBuf },
    #[error("journal {path}: is missing, and its mark beside it says that it was in use here")]
    Gone { path: PathBuf },
    #[error(
        "{path}: a name that ends in {suffix} belongs to a file beside a journal, and cannot name a journal itself"
    )]
    ReservedName { path: PathBuf, suffix: &'static str },
    #[error("journal {path}: is locked by {holder}")]
    Busy { path: PathBuf, holder: String },
    #[error("{path}: there is no such folder to put the copy into")]
    NoFolder { path: PathBuf },
    #[error("journal {path}: is not a journal of disburse{found}")]
    Foreign { path: PathBuf, found: String },
    #[error(
        "journal {path}: was written by a newer disburse (schema {found}, this one knows {known})"
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("journal {path}: is damaged ({what})")]
    Damaged { path: PathBuf, what: String },
    #[error("journal {path}: {cause}")]
    Open { path: PathBuf, cause: String },
    #[error("journal {journal}: is on a server, and {work}")]
    NotInAFile { journal: String, work: FileOnly },
    #[error("{what}")]
    Server { what: String },
    #[error("{what}")]
    ServerAway { what: String },
    #[error(
        "journal {journal}: is on a server, and this disburse was built without its PostgreSQL store"
    )]
    NoServerStore { journal: String },
    #[error("this journal was moved to {to}; nothing is loaded, run or ordered here any more")]
    Moved { to: String },
    #[error(
        "a journal was being moved to this place, and not all of it has arrived; until it has, the journal in its old \
        place is the one that is used"
    )]
    Arriving,
    #[error(
        "another journal was being moved to this place, and not all of it has arrived: it may be in no other place any more; \
         nothing was moved"
    )]
    ArrivingOther,
    #[error(
        "the journal at the new place is not empty, and a journal can only be moved into an empty one; nothing was \
        moved"
    )]
    NotEmpty,
    #[error(
        "this user of the server may write the journal, and does not own it: only its owner moves it"
    )]
    NotOwner,
    #[error("the table {table} arrived different from how it was sent; nothing was moved")]
    Unlike { table: &'static str },
    #[error(
        "SQLite {found} is too old: release 3.51.3 or a newer one is needed, as the write-ahead log of older \
        ones can be damaged"
    )]
    OldSqlite { found: String },
    #[error("the journal is in use by {holder}")]
    Held { holder: String },
    #[error("no batch named {name} in this journal")]
    UnknownBatch { name: String },
    #[error("too few people have signed for this order")]
    Unsigned(Box<UnsignedOrders>),
    #[error(
        "batch {batch} is to be paid by {meant}; this command is configured for {configured}. Nothing was sent"
    )]
    OtherDestination {
        batch: BatchName,
        meant: Box<Destination>,
        configured: Box<Destination>,
    },
    #[error(
        "{count} of the documents of batch {batch} were uploaded for {at}; elsewhere their references mean nothing, or another document. Nothing was moved, and nothing was sent"
    )]
    DocumentsElsewhere {
        batch: BatchName,
        count: u64,
        at: Box<Destination>,
    },
    #[error(
        "{count} of the payments of batch {batch} were posted to {at}, which had no float for them and may pay them yet. Nothing was moved, and nothing was sent"
    )]
    AwaitedElsewhere {
        batch: BatchName,
        count: u64,
        at: Box<Destination>,
    },
    #[error("no payment {id} in batch {batch}")]
    UnknownPayment { batch: BatchName, id: String },
    #[error(
        "{id} is the reference of one row of batch {batch} and the payerTransactionID of another row; nothing was changed"
    )]
    TwoPayments { batch: BatchName, id: String },
    #[error("batch {batch}: {text} {why}; nothing was changed")]
    NoRejectedRow {
        batch: BatchName,
        text: String,
        why: String,
    },
    #[error("batch {batch} was loaded for its gateway, not for the sandbox; nothing was sent")]
    NotARehearsal { batch: BatchName },
    #[error(
        "batch {batch} was loaded as a rehearsal (--sandbox): nothing of it goes to a gateway; nothing was sent"
    )]
    OnlyARehearsal { batch: BatchName },
    #[error(
        "batch {batch} was started with gateway {pinned}; this command is configured for {configured}. Nothing was sent"
    )]
    OtherGateway {
        batch: BatchName,
        pinned: String,
        configured: String,
    },
    #[error(
        "lines {other} and {line} are different rows, but would get the same identifier at the gateway: the form \
        {form} (identifiers.form) is too short to keep them apart. Nothing was loaded"
    )]
    IdentifiersCollide { line: u64, other: u64, form: String },
    #[error(
        "batch {batch} was started with {pinned}; this command is configured for {configured}, and its posts would differ. Nothing was sent"
    )]
    OtherWire {
        batch: BatchName,
        pinned: String,
        configured: String,
    },
    #[error(
        "replies about batch {batch} were read by dialect {pinned} until now; by the dialect in force ({configured}) \
         some of them may have another meaning. Nothing was sent"
    )]
    OtherReading {
        batch: BatchName,
        pinned: String,
        configured: String,
    },
    #[error(
        "somebody changed the dates of batch {batch} in the meantime; nothing was changed now (`disburse schedule \
        {batch}` shows the dates)"
    )]
    DatesChanged { batch: BatchName },
    #[error(
        "batch {batch} belongs to account {pinned} of its gateway; this command is configured for {configured}, which may \
         know nothing of these payments, so \"not found\" would prove nothing. Nothing was sent"
    )]
    OtherAccount {
        batch: BatchName,
        pinned: String,
        configured: String,
    },
    #[error(
        "batch {batch} may have been posted by an earlier journal, and this run would ask about it as {account} at \
         {gateway}; {}. \"Not found\" proves something only if that account posted it. Nothing was sent",
        match told {
            Some(told) => format!("as far as is known, it was posted {told}"),
            None => "nothing says which account posted it".to_owned(),
        }
    )]
    PayerUnknown {
        batch: BatchName,
        gateway: String,
        account: String,
        told: Option<String>,
    },
    #[error(
        "batch {batch} may have been posted by an earlier journal, and this run would ask about it as {account} at \
         {gateway}; but a file beside the journal says that it was posted as {told_account} at {told_gateway}, and the \
         gateway tells only that account about it. Nothing was sent"
    )]
    PayerElsewhere {
        batch: BatchName,
        gateway: String,
        account: String,
        told_gateway: String,
        told_account: String,
    },
    #[error(
        "the journal of batch {batch} was changed from outside: {what}. It was not posted, and the run has ended"
    )]
    Altered { batch: BatchName, what: String },
    #[error("batch {batch}: {}. It was not posted, and the run has ended", found.what)]
    PaidElsewhere {
        batch: BatchName,
        found: Box<DebtElsewhere>,
    },
    #[error("the journal of batch {batch} was changed from outside: {what}. Nothing was ordered")]
    AlteredRow { batch: BatchName, what: String },
    #[error("the journal was changed from outside: {what}. Nothing was loaded or ordered")]
    AlteredLoad { what: String },
    #[error("payment {id}: {why}")]
    NotAllowed {
        batch: BatchName,
        id: PayerTransactionId,
        state: &'static str,
        why: String,
    },
    #[error(
        "batch {batch} has changed since it was shown: more of it would be changed now than you saw; nothing was \
        changed"
    )]
    MoreThanShown { batch: BatchName },
    #[error(
        "people of batch {batch} were forgotten: their names and numbers are removed, so lines of a statement cannot \
        be matched with them"
    )]
    Forgotten { batch: BatchName },
    #[error(
        "another statement was compared with batch {batch} at the same moment; this comparison does not know what it showed, \
        and was not recorded"
    )]
    ComparedMeanwhile { batch: BatchName },
    #[error("the people of batch {batch} are not forgotten: {why}")]
    Kept { batch: BatchName, why: Kept },
    #[error("another run has taken over this journal")]
    Fenced,
    #[error("{}", closed_text(*why))]
    SessionClosed { why: Closed },
    #[error("{what}")]
    Outdated { what: String },
    #[error("the journal holds something that no release of disburse writes: {what}")]
    Corrupt { what: String },
    #[error("journal {path}: belongs to an archive, which can only be read")]
    Archive { path: PathBuf },
    #[error("journal {path}: is not the journal of an archive")]
    NoArchive { path: PathBuf },
    #[error("{path}: exists already, and is not written over")]
    Exists { path: PathBuf },
    #[error("{folder}: another copy of the journal is being made there")]
    CopyUnderWay { folder: PathBuf },
    #[error(
        "{copy}: the copy is made, and sound; an earlier one, {path}, cannot be removed: {cause}"
    )]
    NotRemoved {
        copy: PathBuf,
        path: PathBuf,
        cause: String,
    },
    #[error(
        "the journal of batch {batch} differs from what was recorded, so a copy of it would be worthless"
    )]
    NotSound { batch: BatchName },
    #[error("nothing is known to be missing from this journal: there is no recovery to end")]
    NoRecovery,
    #[error(
        "the mark and lock file of this journal contradict that: {what}. Something may have been posted since, so the gateway is asked first"
    )]
    SomethingRan { what: String },
    #[error(
        "{payments} payments are presumed posted, and the gateway has not been asked about them yet"
    )]
    Unasked { payments: u64 },
    #[error("{}", orders_lost_text(*lost))]
    OrdersLost { lost: OrdersLost },
    #[error("no order is known to be missing from this journal: there is nothing to confirm")]
    NoOrdersLost,
    #[error(
        "run {runner} on {host} is at work on the batch with resolution.not_found_quarantine = {}s, and this one has \
         {}s: one could post again a payment that the other has just posted. Give all machines the same value (a run that \
         was killed counts as at work for another 20 s); nothing was sent",
        theirs.as_secs_f64(),
        ours.as_secs_f64()
    )]
    OtherQuarantine {
        runner: String,
        host: String,
        theirs: Duration,
        ours: Duration,
    },
    #[error(
        "payments of the batch ({payments}) are in doubt that a run had with resolution.not_found_quarantine = {}s, and this run has \
         {}s: it could post again what has arrived, and is not shown yet. Set {}s at least, on every machine, until they have ended; \
         nothing was sent",
        theirs.as_secs_f64(),
        ours.as_secs_f64(),
        theirs.as_secs_f64()
    )]
    ShorterQuarantine {
        payments: u64,
        theirs: Duration,
        ours: Duration,
    },
    #[error(
        "run {runner} on {host} posts from the same account, and its dialect says that the gateway counts questions {}, and \
         that of this one says that it does not (rate.shared): together they would send too much. Give all machines the same \
         dialect (a run that was killed counts as at work for another 20 s). From now on this run sends nothing",
        if *is_shared_there { "towards the limit of posts" } else { "apart from posts" }
    )]
    OtherSharing {
        runner: String,
        host: String,
        is_shared_there: bool,
    },
    #[error("{}", orders_missing_text(missing))]
    OrdersMissing { missing: Vec<Order> },
    #[error(
        "batch {batch}: an order that this journal has lost ({}) may have paid the failed rows, and nobody has given \
        it again. Nothing was loaded or ordered",
        order.sentence()
    )]
    GivenFirst { batch: BatchName, order: Box<Order> },
    #[error(
        "this journal (an older copy or a new one) lacks all or part of {}, posted from its place, which may have paid what failed. Nothing was ordered or loaded",
        lost.text()
    )]
    BatchesLost { lost: Lost },
    #[error("the journal failed: {cause}")]
    Storage { cause: store::Error },
    #[error("the server of the journal took too long, several times in a row, to tell its time")]
    NoTime,
    #[error("a temporary file failed: {cause}")]
    Scratch { cause: String },
    #[error("the journal stopped after an earlier failure: {cause}")]
    Poisoned { cause: Box<Error> },
}

/// Why the session of a run was closed that shares its journal with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Another one has closed it: its lease ran out.
    LeaseRanOut,
    /// A recovery was ordered, or the server was promoted, restored or replaced.
    ServerChanged,
    /// The clock of the server was set.
    ClockSet,
}

/// Says why a run may not go on that shares its journal with others.
fn closed_text(why: Closed) -> &'static str {
    match why {
        Closed::LeaseRanOut => {
            "another host has closed the session of this run, because its lease ran out: this run had not reached the \
            journal, or not finished with it, for more than 10 s"
        }
        Closed::ServerChanged => {
            "the session of this run was closed: somebody has ordered a recovery, or the server of the journal was promoted, restored or \
            replaced meanwhile"
        }
        Closed::ClockSet => {
            "the clock of the journal's server was set by more than 20 s since this run began, so that its waits would be too \
            short, or too long: its session is closed, and payments in doubt wait from the start again"
        }
    }
}

/// Says that orders of people are lost.
fn orders_lost_text(lost: OrdersLost) -> String {
    match lost.count {
        0 => "people may have given orders (such as cancel, retry, a corrected file, a move to another account or gateway) that this journal lacks, and nobody has confirmed that there were none"
            .to_owned(),
        1 => "this journal does not have 1 order by people (such as cancel, retry, a corrected file, a move to another account or gateway), which was recorded in its place".to_owned(),
        count => format!(
            "this journal does not have {count} orders by people (such as cancel, retry, a corrected file, a move to another account or gateway), which were recorded in its place"
        ),
    }
}

impl Error {
    /// Returns whether it tells of the way to the store, and nothing of what the store holds.
    #[must_use]
    pub fn is_of_connection(&self) -> bool {
        let Self::Storage { cause } = self.root() else {
            return matches!(self.root(), Self::Busy { .. } | Self::NoTime);
        };
        match cause {
            store::Error::ConnectionLost { .. }
            | store::Error::OutcomeUnknown { .. }
            | store::Error::Busy { .. }
            | store::Error::DecideAgain { .. } => true,
            store::Error::Refused { .. }
            | store::Error::Fenced
            | store::Error::Full { .. }
            | store::Error::Damaged { .. }
            | store::Error::Corrupt { .. }
            | store::Error::Outdated { .. }
            | store::Error::Fault { .. } => false,
        }
    }

    /// A failure of the store, in words.
    pub(in crate::journal) fn fault(what: &str) -> Self {
        let what = what.into();
        store::Error::Fault { what }.into()
    }

    /// Returns the failure that stopped the journal, where it stopped after one; itself otherwise.
    #[must_use]
    pub fn root(&self) -> &Self {
        match self {
            Self::Poisoned { cause } => cause.root(),
            error => error,
        }
    }

    /// Returns whose mistake it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Fenced
            | Self::SessionClosed { .. }
            | Self::Outdated { .. }
            | Self::Displaced
            | Self::Mark { .. }
            | Self::Damaged { .. }
            | Self::Corrupt { .. }
            | Self::Busy { .. }
            | Self::Storage { .. }
            | Self::NoTime
            | Self::Scratch { .. }
            | Self::Poisoned { .. } => Kind::Fault,
            _ => Kind::Refused,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(cause: rusqlite::Error) -> Self {
        store::Error::from(cause).into()
    }
}

impl From<store::Error> for Error {
    fn from(cause: store::Error) -> Self {
        match cause {
            store::Error::Corrupt { what } => Self::Corrupt {
                what: what.to_string(),
            },
            store::Error::Fenced => Self::Fenced,
            store::Error::Outdated { what } => Self::Outdated {
                what: what.to_string(),
            },
            cause => Self::Storage { cause },
        }
    }
}

/// Lost orders are named as far as this.
const NAMED: usize = 20;

/// Says which orders of people nobody has given again.
fn orders_missing_text(missing: &[Order]) -> String {
    let mut text = match missing.len() {
        1 => "1 lost order is known that nobody has given again as it was".to_owned(),
        count => format!("{count} lost orders are known that nobody has given again as they were"),
    };
    for order in missing.iter().take(NAMED) {
        text.push_str("\n  ");
        text.push_str(&order.sentence());
    }
    if missing.len() > NAMED {
        text.push_str(&format!("\n  … and {} more", missing.len() - NAMED));
    }
    text
}
