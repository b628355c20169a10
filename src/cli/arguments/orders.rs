//! What commands take that give an order about payments which are there.

use std::path::PathBuf;

use clap::Args;

use super::{DatesArguments, SigningArguments};

/// One payment, as a person names it.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct NameArguments {
    /// Reference of the row, or payerTransactionID
    #[arg(value_name = "REFERENCE|ID")]
    pub payment: Option<String>,
    /// The text is the reference of a row, whatever else it may be
    #[arg(long, value_name = "TEXT", num_args = 0..=1, conflicts_with = "id")]
    pub reference: Option<Option<String>>,
    /// The text is a payerTransactionID, whatever else it may be
    #[arg(long, value_name = "TEXT", num_args = 0..=1)]
    pub id: Option<Option<String>>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RetryArguments {
    /// The batch
    pub batch: String,
    /// Only these failures: references of their rows, or payerTransactionIDs
    #[arg(value_name = "REFERENCE|ID")]
    pub payments: Vec<String>,
    /// Only the failure of the row with this reference, whatever else the text may be; may be said again
    #[arg(long = "reference", value_name = "TEXT")]
    pub references: Vec<String>,
    /// Only the failure with this payerTransactionID, whatever else the text may be; may be said again
    #[arg(long = "id", value_name = "TEXT")]
    pub ids: Vec<String>,
    /// Only failures with this status code
    #[arg(long, value_name = "N")]
    pub code: Option<i32>,
    /// The batch is a rehearsal; one that is none is refused
    #[arg(long)]
    pub sandbox: bool,
    /// Do not ask before anything is ordered
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub signing: SigningArguments,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("outcome").required(true)))]
pub(in crate::cli) struct ResolveArguments {
    /// The batch
    pub batch: String,
    #[command(flatten)]
    pub name: NameArguments,
    /// It was paid: on your word its row counts as paid, and is never paid again
    #[arg(long, group = "outcome")]
    pub paid: bool,
    /// It was not paid, and will not be: the gateway is asked first
    #[arg(long, group = "outcome")]
    pub failed: bool,
    /// It failed although the gateway accepted it, or cannot be asked, and its time is up
    #[arg(long, conflicts_with = "paid")]
    pub although_accepted: bool,
    /// Decisions of a CSV: identifier or reference, decision (paid or failed), reason, evidence; all are checked before the first is recorded
    #[arg(
        long,
        value_name = "FILE",
        group = "outcome",
        conflicts_with_all = ["payment", "reference", "id", "reason", "evidence"]
    )]
    pub from: Option<PathBuf>,
    /// Why
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "from",
        default_value = "",
        hide_default_value = true
    )]
    pub reason: String,
    /// What the decision rests on: a statement line, a ticket
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "from",
        default_value = "",
        hide_default_value = true
    )]
    pub evidence: String,
    /// Ask the sandbox that the batch was run against
    #[arg(long)]
    pub sandbox: bool,
    /// Do not ask before the decision is recorded
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub signing: SigningArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CancelArguments {
    /// The batch
    pub batch: String,
    #[command(flatten)]
    pub name: NameArguments,
    /// Withdraw rows that were rejected, and shall not be paid: by their line, reference or name; without any, all of the batch
    #[arg(
        long,
        value_name = "LINE|REFERENCE",
        num_args = 0..,
        requires = "reason",
        conflicts_with_all = ["payment", "reference", "id"]
    )]
    pub rejected: Option<Vec<String>>,
    /// Why it is not paid, which rejected rows need; it is kept as evidence
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask before anything is cancelled
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub signing: SigningArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ResumeLaneArguments {
    /// The batch
    pub batch: String,
    /// The service code
    pub service: String,
    #[command(flatten)]
    pub signing: SigningArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ScheduleArguments {
    /// The batch
    pub batch: String,
    #[command(flatten)]
    pub dates: DatesArguments,
    /// Why it gets other dates; it is kept as evidence
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub signing: SigningArguments,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("order")))]
pub(in crate::cli) struct RecoverArguments {
    /// Only this batch
    pub batch: Option<String>,
    /// Ask the gateway about everything that is ready in the batch before any of it is posted
    #[arg(long, group = "order")]
    pub presume_posted: bool,
    /// Every file of the time that was missed is loaded again: from now on new files are paid without asking first
    #[arg(long, group = "order", conflicts_with = "batch")]
    pub done: bool,
    /// It is certain that nothing was posted since the copy was made: post without asking
    #[arg(long, group = "order", requires = "reason")]
    pub nothing_ran_since: bool,
    /// Orders (cancel, retry, resolve) that this copy did not know of were given again, or there were none: runs post again
    #[arg(long, group = "order", requires = "reason", conflicts_with = "batch")]
    pub orders_given_again: bool,
    /// With --orders-given-again: so many orders that `disburse recover` lists were not given again, and need not be
    #[arg(long, value_name = "N", requires = "orders_given_again")]
    pub without: Option<u64>,
    /// How that is known
    #[arg(long, value_name = "TEXT", requires = "order")]
    pub reason: Option<String>,
    /// Do not ask whether this is meant
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub signing: SigningArguments,
}
