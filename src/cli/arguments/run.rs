//! What a run is told.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{FileArguments, LoadOptions};

/// How a run goes about its work.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct RunOptions {
    /// Payments posted per second, such as 50/s
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Requests under way at once
    #[arg(long, value_name = "N")]
    pub concurrency: Option<String>,
    /// How long to go on while no payment moves
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub max_wait: String,
    /// End once everything is posted
    #[arg(long)]
    pub no_wait: bool,
    /// Wait for rows that are not due yet, for the first date of the batch, and for services to open
    #[arg(long, conflicts_with = "no_wait")]
    pub wait_for_window: bool,
    /// Rows of postpaid services without an amount take what their bill says is due
    #[arg(long)]
    pub pay_due: bool,
    /// Begin although the forecast says that a float is too small
    #[arg(long)]
    pub allow_short: bool,
    /// User name of the account that posted the batch from an earlier journal; needed once, if nothing else says it
    #[arg(long, value_name = "USER")]
    pub asked_as: Option<String>,
    /// Address of the gateway that has it, beside --asked-as, where the configuration names several gateways
    #[arg(long, value_name = "URL", requires = "asked_as")]
    pub asked_at: Option<String>,
    /// Digest of the dialect in force: read replies by it from now on, although another one has read the batch until now
    #[arg(long, value_name = "DIGEST")]
    pub accept_dialect: Option<String>,
    /// What this run is called in logs and in `status`, where several run a batch
    #[arg(long, value_name = "NAME", value_parser = runner_name)]
    pub runner: Option<String>,
    /// Do not ask before money moves
    #[arg(long, short)]
    pub yes: bool,
    /// Ask for no callbacks; settle by status query only
    #[arg(long)]
    pub poll_only: bool,
    /// A `disburse listen` beside this run takes the callbacks
    #[arg(long, conflicts_with = "poll_only")]
    pub external_listener: bool,
    /// Serve metrics to a monitoring system, at http://ADDR/metrics; without a password, and with amounts
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Show the run to a browser on this machine, read only: its address is printed
    #[arg(long)]
    pub page: bool,
    /// Run against the sandbox gateway, inside this process
    #[arg(long)]
    pub sandbox: bool,
    /// Seed of the sandbox's faults
    #[arg(long, value_name = "N", default_value_t = 2026, requires = "sandbox")]
    pub seed: u64,
    /// The sandbox's faults: none, realistic, hostile, or a file
    #[arg(
        long,
        value_name = "PLAN",
        default_value = "realistic",
        requires = "sandbox"
    )]
    pub faults: String,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RunArguments {
    /// The batch
    pub batch: String,
    /// A head of the batch's evidence, as `load` printed it: the run is refused unless the evidence has this head, or continues from it
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
    /// Declared number of rows of the whole batch, however they came into it; another number is refused
    #[arg(long, value_name = "N")]
    pub expect_count: Option<u64>,
    /// Declared total of the whole batch, as 1500.00 or "KES 1500.00"; another total is refused
    #[arg(long, value_name = "AMOUNT")]
    pub expect_total: Option<String>,
    /// The gateway has given the account another user name: ask it about a payment of the batch first, then go on
    #[arg(long, requires = "reason")]
    pub account_moved: bool,
    /// The gateway has another address: ask there about a payment of the batch first, then go on
    #[arg(long, requires = "reason", conflicts_with = "sandbox")]
    pub gateway_moved: bool,
    /// Why; it is kept as evidence
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub options: RunOptions,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PayArguments {
    #[command(flatten)]
    pub file: FileArguments,
    #[command(flatten)]
    pub load: LoadOptions,
    #[command(flatten)]
    pub run: RunOptions,
    /// A head of the batch's evidence, as `load` printed it: nothing is sent unless the evidence has this head, or continues from it
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
    /// Folder of the report [default: reports/BATCH]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Reads what a run is called: others read it within a line of theirs.
fn runner_name(text: &str) -> Result<String, String> {
    let is_plain = !text.trim().is_empty() && !text.contains(char::is_control);
    match is_plain && text.chars().count() <= 64 {
        true => Ok(text.to_owned()),
        false => Err("expected a name of up to 64 characters in one line, such as pay1".to_owned()),
    }
}
