//! The arguments of commands that read a file of payments.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LayoutCommand {
    /// List the layouts of the configuration and the built-in ones
    List,
    /// Show a layout, as the configuration has it
    Show {
        /// The layout
        name: String,
    },
    /// Propose a layout for a file: what each column seems to be, and the first rows as they would be paid
    Guess(Box<GuessArguments>),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct GuessArguments {
    /// The file
    pub file: PathBuf,
    /// utf-8, utf-16, windows-1252 or iso-8859-1 [default: detected]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// The sheet of a workbook [default: the one that has data]
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// include or skip: what to do with hidden rows and columns of a sheet [default: they are refused]
    #[arg(long, value_name = "WHAT")]
    pub hidden: Option<String>,
    /// stored: take the results that were stored with formulas, for recipients and amounts too
    #[arg(long, value_name = "WHAT")]
    pub formulas: Option<String>,
    /// Service of rows that do not name one
    #[arg(long, value_name = "CODE")]
    pub service: Option<String>,
    /// Name of the layout [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Use the rules of the sandbox's services
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("form").required(true)))]
pub(in crate::cli) struct TemplateArguments {
    /// The kind of payment: mobile_money, bank, rtgs, airtime, bill_prepaid (tokens) or bill_postpaid
    #[arg(value_name = "KIND")]
    pub kind: String,
    /// As a workbook: cells are texts, so that no digit is lost, and lists show what may be chosen
    #[arg(long, group = "form")]
    pub xlsx: bool,
    /// As CSV
    #[arg(long, group = "form")]
    pub csv: bool,
    /// The new file [default: KIND.xlsx or KIND.csv here]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// With the services of the sandbox
    #[arg(long)]
    pub sandbox: bool,
}

/// How a batch file is read.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct FileArguments {
    /// The batch file: CSV, JSON, XLSX or pain.001, packed or encrypted too; `-` reads standard input
    pub file: PathBuf,
    /// csv, json, jsonl or pain.001 [default: by the extension, else by the content]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// utf-8, utf-16, windows-1252 or iso-8859-1 [default: that of the layout, else utf-8]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// How the columns of another program's file are read: a name of `disburse layout list`
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
    /// The period that the file pays, as 2026-12, behind each reference; needed if the layout has period = "required"
    #[arg(long, value_name = "PERIOD")]
    pub period: Option<String>,
    /// The sheet of a workbook [default: the one that has data]
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// include or skip: what to do with hidden rows and columns of a sheet [default: they are refused]
    #[arg(long, value_name = "WHAT")]
    pub hidden: Option<String>,
    /// stored: take the results that were stored with formulas, for recipients and amounts too
    #[arg(long, value_name = "WHAT")]
    pub formulas: Option<String>,
    /// Service of rows that do not name one
    #[arg(long, value_name = "CODE")]
    pub service: Option<String>,
    /// Equal rows without a reference are separate payments
    #[arg(long)]
    pub allow_equal_rows: bool,
    /// Declared number of rows; another number is refused
    #[arg(long, value_name = "N")]
    pub expect_count: Option<u64>,
    /// Declared total, as 1500.00 or "KES 1500.00"; another total is refused
    #[arg(long, value_name = "AMOUNT")]
    pub expect_total: Option<String>,
    /// File for bad rows, as they were, with their errors [default: NAME.corrections.csv here]
    #[arg(long, value_name = "FILE")]
    pub corrections: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArguments {
    #[command(flatten)]
    pub file: FileArguments,
    /// Look up every number, and compare its network with the carriers of its service
    #[arg(long)]
    pub lookup: bool,
    /// Ask for the bills of postpaid services; a row without an amount takes what is due
    #[arg(long)]
    pub bills: bool,
    #[command(flatten)]
    pub dates: DatesArguments,
    /// Check by the rules of the sandbox's services
    #[arg(long)]
    pub sandbox: bool,
}

/// What a load adds to the reading.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct LoadOptions {
    /// Name of the batch
    #[arg(long, value_name = "NAME")]
    pub batch: String,
    /// What a bad row does: refuse the file, or be set aside as rejected
    #[arg(long, value_enum, default_value = "refuse", value_name = "WHAT")]
    pub on_error: OnError,
    /// Add rows that are new to a batch that exists
    #[arg(long)]
    pub amend: bool,
    /// Pay rows that repeat rows of other loads: exactly the list with this digest, which the refusal named
    #[arg(long, value_name = "DIGEST")]
    pub allow_repeats: Option<String>,
    /// Accepted for jobs of earlier releases; it has no effect
    #[arg(long, hide = true)]
    pub allow_same_content: bool,
    /// An earlier journal may have posted these rows: ask the gateway before posting
    #[arg(long)]
    pub presume_posted: bool,
    /// First look up every number, and compare its network with the carriers of its service
    #[arg(long)]
    pub lookup: bool,
    #[command(flatten)]
    pub dates: DatesArguments,
    /// SSH key that signs the load, if [approval] asks for it: a file, or the public half of a key in the agent
    #[arg(long, value_name = "FILE")]
    pub sign_key: Option<PathBuf>,
    /// Who signs, if the key belongs to several names
    #[arg(long = "as", value_name = "NAME")]
    pub sign_as: Option<String>,
}

/// When a batch may be posted.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct DatesArguments {
    /// Post nothing of the batch before this day or time, such as 2026-12-01 or 2026-12-01T08:00:00+03:00
    #[arg(long, value_name = "TIME")]
    pub not_before: Option<String>,
    /// Post nothing of the batch after this day, or from this time on
    #[arg(long, value_name = "TIME")]
    pub not_after: Option<String>,
}

/// What a bad row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OnError {
    /// Nothing is loaded.
    Refuse,
    /// The good rows are loaded, the bad ones journaled as rejected.
    Skip,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LoadArguments {
    #[command(flatten)]
    pub file: FileArguments,
    #[command(flatten)]
    pub options: LoadOptions,
    /// Ask for the bills of postpaid services; a row without an amount takes what is due, once and for ever
    #[arg(long)]
    pub bills: bool,
    /// The batch exists already: its documents were exchanged, and the new ones are to be sent
    #[arg(long, conflicts_with_all = ["bills", "amend", "presume_posted"])]
    pub new_documents: bool,
    /// Load for the sandbox: its services and originator
    #[arg(long)]
    pub sandbox: bool,
}
