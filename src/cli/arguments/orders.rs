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
    /// Read the text as the reference of a row, even if it is also a payerTransactionID
    #[arg(long, value_name = "TEXT", num_args = 0..=1, conflicts_with = "id")]
    pub reference: Option<Option<String>>,
    /// Read the text as a payerTransactionID, even if it is also the reference of a row
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
    /// Only the failure of the row with this reference, even if the text is also a payerTransactionID; may be repeated
    #[arg(long = "reference", value_name = "TEXT")]
    pub references: Vec<String>,
    /// Only the failure with this payerTransactionID, even if the text is also the reference of a row; may be repeated
    #[arg(long = "id", value_name = "TEXT")]
    pub ids: Vec<String>,
    /// Only failures with this status code
    #[arg(long, value_name = "N")]
    pub code: Option<i32>,
    /// The batch is a rehearsal; any other batch is refused
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
    /// Record it as paid: on your word its row counts as paid, and is never paid again
    #[arg(long, group = "outcome")]
    pub paid: bool,
    /// Record it as failed: it is not paid, and will not be; the gateway is asked first
    #[arg(long, group = "outcome")]
    pub failed: bool,
    /// Record it as failed although the gateway accepted it, or cannot be asked; possible only after resolution.give_up_after
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
    /// Withdraw rejected rows that must not be paid, by line, reference or name; without any, all of the batch
    #[arg(
        long,
        value_name = "LINE|REFERENCE",
        num_args = 0..,
        requires = "reason",
        conflicts_with_all = ["payment", "reference", "id"]
    )]
    pub rejected: Option<Vec<String>>,
    /// Why it must not be paid; required for rejected rows, and kept as evidence
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
    /// End the recovery: you confirm that every file that was loaded since the copy is loaded again. New files are then paid without asking the gateway first
    #[arg(long, group = "order", conflicts_with = "batch")]
    pub done: bool,
    /// Confirm that nothing was posted since the copy was made, and post without asking the gateway
    #[arg(long, group = "order", requires = "reason")]
    pub nothing_ran_since: bool,
    /// Confirm that the orders that this copy lacks (cancel, retry, resolve) were given again, or that there were none. Runs then post again
    #[arg(long, group = "order", requires = "reason", conflicts_with = "batch")]
    pub orders_given_again: bool,
    /// With --orders-given-again: the number of listed orders that were not given again, because they are not needed
    #[arg(long, value_name = "N", requires = "orders_given_again")]
    pub without: Option<u64>,
    /// How you know what you confirm
    #[arg(long, value_name = "TEXT", requires = "order")]
    pub reason: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub signing: SigningArguments,
}
