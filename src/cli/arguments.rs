//! What can be typed.

mod approve;
mod archive;
mod file;
mod init;
mod journal;
mod notices;
mod orders;
mod reconcile;
mod run;
mod serve;
mod services;
mod signing;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(super) use approve::ApproveArguments;
pub(super) use archive::{ArchiveArguments, ArchiveCommand, ArchiveReadArguments};
pub(super) use file::{
    CheckArguments, DatesArguments, FileArguments, GuessArguments, LayoutCommand, LoadArguments,
    LoadOptions, OnError, TemplateArguments,
};
pub(super) use init::{DoctorArguments, InitArguments};
pub(super) use journal::{JournalCommand, JournalCopy};
pub(super) use notices::NoticesArguments;
pub(super) use orders::{
    CancelArguments, NameArguments, RecoverArguments, ResolveArguments, ResumeLaneArguments,
    RetryArguments, ScheduleArguments,
};
pub(super) use reconcile::{ReconcileArguments, StatementArguments};
pub(super) use run::{PayArguments, RunArguments, RunOptions};
pub(super) use serve::ServeArguments;
pub(super) use services::{
    AccountArguments, BillArguments, FloatArguments, LookupArguments, TokenArguments,
    UploadArguments,
};
pub(super) use signing::SigningArguments;

/// Bulk disbursement processor: every row of a payment batch reaches a proven end, exactly once.
#[derive(Debug, Parser)]
#[command(version, long_version = super::version::long(), about, after_help = EXIT_CODES, max_term_width = 110)]
pub struct Arguments {
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
    /// The command.
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 every payment paid; 1 unexpected error; 2 usage, configuration or input refused \
(nothing sent); 3 finished, but some failed, were rejected, or conflict; 4 unfinished, run again; 5 stopped by the gateway \
(credentials, float, circuit open).";

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Common {
    /// Configuration file [default: disburse.toml here, then in the user's configuration folder]
    #[arg(long, global = true, value_name = "FILE", env = "DISBURSE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Profile of the configuration
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// The journal: a file, or postgres://USER@HOST/DATABASE [default: that of the profile, or else disburse.db]
    // What is wrong with it is told later, and the variable is not shown: somebody may have put a password there.
    #[arg(
        long,
        global = true,
        value_name = "JOURNAL",
        env = "DISBURSE_JOURNAL",
        hide_env_values = true
    )]
    pub journal: Option<OsString>,
    /// Print data as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, no notes
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// More log lines; twice for every request
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Form of log lines on standard error
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "text",
        env = "DISBURSE_LOG_FORMAT"
    )]
    pub log_format: LogFormat,
}

/// Form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one object per line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Validate a file: totals by service and currency, and every error
    Check(CheckArguments),
    /// Load a file into the journal, all or nothing
    Load(LoadArguments),
    /// Sign that a batch is to be paid, or that you loaded it, if [approval] asks for it
    Approve(ApproveArguments),
    /// Post, resolve and wait; run again to resume
    Run(RunArguments),
    /// Show counts and amounts per state, of one batch or of all
    Status(StatusArguments),
    /// Write the report: report.html, report.xlsx, payments.csv, report.json, and failed.csv if rows failed or were rejected
    Report(ReportArguments),
    /// Check that nobody changed the recorded evidence of a batch: hashes, states, totals
    Verify(VerifyArguments),
    /// Load (when new), run and report; the same command again resumes
    Pay(Box<PayArguments>),
    /// Show the whole history of a payment
    Explain(ExplainArguments),
    /// Pay failed payments again
    Retry(RetryArguments),
    /// Record an operator's decision about one payment, or about those that a file lists
    Resolve(ResolveArguments),
    /// Compare a statement of the gateway or a bank with a batch
    Reconcile(Box<ReconcileArguments>),
    /// Cancel a payment that was never posted, or that failed; without a name, all that were never posted; with --rejected, rejected rows
    Cancel(CancelArguments),
    /// Post again through a service that is paused: for lack of float, too many failures, or replies about other payments
    ResumeLane(ResumeLaneArguments),
    /// Show or change the dates of a batch
    Schedule(ScheduleArguments),
    /// Recover an older, copied or new journal: show what it may have missed, and end the recovery
    Recover(RecoverArguments),
    /// Copy the journal to a file, also while a run writes; the copy is proven
    Backup(BackupArguments),
    /// Put finished batches into files of their own: evidence, report and signatures
    Archive(Box<ArchiveArguments>),
    /// Make, check or move a journal that is on a server
    Journal {
        #[command(subcommand)]
        command: JournalCommand,
    },
    /// List the notices that wait, or deliver them
    Notices(NoticesArguments),
    /// Listen for callbacks, between runs
    Listen(ListenArguments),
    /// Show the batches to a browser on this machine, read only
    Serve(ServeArguments),
    /// Check that the gateway gives a token; it is not shown
    Token(TokenArguments),
    /// Look up the network of one number
    Lookup(LookupArguments),
    /// Ask what one account owes
    Bill(BillArguments),
    /// Ask whether one account exists
    Account(AccountArguments),
    /// Ask for the balance of the float of services
    Float(FloatArguments),
    /// Upload the supporting document of one payment
    Upload(UploadArguments),
    /// Make a first contact with the gateway: it moves no money, unless --pay names a file to pay
    Probe(ProbeArguments),
    /// Serve the sandbox gateway
    Sandbox(SandboxArguments),
    /// Show the configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// List, show or check dialects: how a gateway differs from the interface document
    Dialect {
        #[command(subcommand)]
        command: DialectCommand,
    },
    /// List, show or propose layouts: how the columns of other programs' files are read
    Layout {
        #[command(subcommand)]
        command: LayoutCommand,
    },
    /// Write an empty batch file of one kind of payment, to be filled in
    Template(TemplateArguments),
    /// Write the first files: a commented configuration, a file for the password, and templates
    Init(Box<InitArguments>),
    /// Check this machine: configuration, files, journal, disk, clock, and the needs of a nightly job
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man(ManArguments),
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Show every value and where it comes from
    Show(ShowArguments),
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// Show it as for a run against the sandbox
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(super) struct ProbeArguments {
    /// Look up this number, too
    #[arg(long, value_name = "MSISDN")]
    pub number: Option<String>,
    /// Then pay the one row of this file, and post it a second time, to see whether the gateway refuses an identifier that it has
    #[arg(long, value_name = "FILE")]
    pub pay: Option<PathBuf>,
    /// How its columns are read, as with `load`
    #[arg(long, value_name = "NAME", requires = "pay")]
    pub layout: Option<String>,
    /// The recipient's number or account in that file, if nobody is there to type it
    #[arg(long, value_name = "NUMBER", requires = "pay")]
    pub recipient: Option<String>,
    /// The amount in that file, if nobody is there to type it
    #[arg(long, value_name = "AMOUNT", requires = "pay")]
    pub amount: Option<String>,
    /// Pay the row although it repeats one of another load: exactly the list with this digest, which the refusal named
    #[arg(long, value_name = "DIGEST", requires = "pay")]
    pub allow_repeats: Option<String>,
    /// How long to wait for the payment's end
    #[arg(long, value_name = "TIME", default_value = "30m", requires = "pay")]
    pub max_wait: String,
    /// Ask for no callback of the payment; settle it by status query only
    #[arg(long, requires = "pay")]
    pub poll_only: bool,
    /// Callbacks are taken by a `disburse listen` beside it
    #[arg(long, requires = "pay", conflicts_with = "poll_only")]
    pub external_listener: bool,
    /// Probe a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum DialectCommand {
    /// List the built-in dialects
    List,
    /// Show the differences from the interface document, and where each is set
    Show(DialectArguments),
    /// Check a dialect file
    Check {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct DialectArguments {
    /// A name, or a file [default: the one of the profile]
    pub dialect: Option<String>,
    /// Also what does not differ
    #[arg(long)]
    pub all: bool,
    /// Show it as for a run against the sandbox
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// The batch
    pub batch: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// The batch
    pub batch: String,
    /// An earlier head, kept elsewhere: it must be on the chain, so that nothing before it was changed or cut off
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
    /// Heads that [evidence] handed over at the end of runs, kept elsewhere: each must be on the chain
    #[arg(long, value_name = "FILE")]
    pub heads: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// The batch
    pub batch: String,
    /// Folder of the report
    #[arg(long, value_name = "DIR", required_unless_present_any = ["pain002", "accounting", "camt054"])]
    pub out: Option<PathBuf>,
    /// Also, or instead of it: the answer to a pain.001 message that the batch was loaded from, as a pain.002
    #[arg(long, value_name = "FILE")]
    pub pain002: Option<PathBuf>,
    /// The message that is answered (MsgId) [default: the only one]
    #[arg(long, value_name = "ID", requires = "pain002")]
    pub message: Option<String>,
    /// Also, or instead of it: a journal for the books, a debit and a credit for each payment, with the accounts of [accounting]
    #[arg(long, value_name = "FILE")]
    pub accounting: Option<PathBuf>,
    /// Also, or instead of it: the payments as a bank's notification of debits (camt.054)
    #[arg(long, value_name = "FILE")]
    pub camt054: Option<PathBuf>,
    /// List every payment in report.xlsx, however many there are
    #[arg(long, requires = "out")]
    pub all_rows: bool,
}

#[derive(Clone, Debug, Args)]
pub(super) struct ExplainArguments {
    /// The batch; without it, the row is looked for in all of them
    pub batch: Option<String>,
    #[command(flatten)]
    pub name: NameArguments,
    /// The phone number, or account, that the row pays
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["payment", "reference", "id"])]
    pub phone: Option<String>,
    /// A part of the name of the customer whom the row pays
    #[arg(long, value_name = "NAME", conflicts_with_all = ["phone", "payment", "reference", "id"])]
    pub customer: Option<String>,
    /// Show prepaid tokens: anybody who has one can use it
    #[arg(long)]
    pub reveal: bool,
}

/// Reads how many copies are kept. The new one is among them: none cannot be meant.
fn copies_kept(text: &str) -> Result<NonZeroU16, String> {
    let number = text.parse::<u64>().map_err(|_| {
        "expected a whole number, such as 30: so many copies stay, the new one among them"
            .to_owned()
    })?;
    let kept = u16::try_from(number).ok().and_then(NonZeroU16::new);
    kept.ok_or_else(|| match number {
        0 => "the new copy counts as one of those that are kept: write 1 to keep only the new one, or leave --keep out \
            to remove nothing".to_owned(),
        _ => format!("at most {}: leave --keep out to remove nothing", u16::MAX),
    })
}

#[derive(Debug, Args)]
pub(super) struct BackupArguments {
    /// The copy; an existing file is not written over. A folder gets one that is named after the journal and the time
    pub file: PathBuf,
    /// In a folder: keep so many copies of this journal, the new one among them, and remove those before them
    #[arg(long, value_name = "N", value_parser = copies_kept)]
    pub keep: Option<NonZeroU16>,
}

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Write a page for each command into this folder instead, for `man` to find; an existing file is not written over
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ListenArguments {
    /// Address to listen on [default: callback.listen of the profile]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Serve metrics to a monitoring system, at http://ADDR/metrics; without a password, and with amounts
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(super) struct SandboxArguments {
    /// Address to listen on; loopback only
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8480")]
    pub listen: SocketAddr,
    /// Seed of the delays and faults: the same seed gives the same ones
    #[arg(long, value_name = "N", default_value_t = 2026)]
    pub seed: u64,
    /// What goes wrong: none, realistic, hostile, or a file of faults
    #[arg(long, value_name = "PLAN", default_value = "none")]
    pub faults: String,
    /// Keep the ledger in a file, so that it survives the process
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// How long an access token is valid
    #[arg(long, value_name = "TIME", default_value = "3600s")]
    pub token_lifetime: String,
    /// How long an RTGS transfer stays delivered (148) before it settles
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub rtgs_delay: String,
    /// Execute a payment that is posted again, instead of refusing it as a duplicate (229)
    #[arg(long)]
    pub no_duplicate_check: bool,
    /// Speak a dialect: a name, or a file [default: the one of the profile]
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<String>,
}
