//! What `archive` is given.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(in crate::cli) struct ArchiveArguments {
    #[command(subcommand)]
    pub command: Option<ArchiveCommand>,
    /// The finished batches to archive [default: all that --older-than takes]
    #[arg(value_name = "BATCH", required_unless_present_any = ["older_than", "forget", "rewrite"])]
    pub batches: Vec<String>,
    /// Only batches whose newest evidence is so many days old, such as 400d
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<String>,
    /// The folder of the archives: one file for each batch; an existing file is not written over
    #[arg(long, value_name = "FOLDER", required_unless_present_any = ["dry_run", "forget", "rewrite"])]
    pub out: Option<PathBuf>,
    /// Encrypt with age to this public key (age1...); may be repeated [default: archive.encrypt of disburse.toml]
    #[arg(long, value_name = "AGE_RECIPIENT")]
    pub to: Vec<String>,
    /// Leave names, numbers and references in the journal: the archive is written, and nothing is removed
    #[arg(long)]
    pub keep_people: bool,
    /// Forget one recipient in all finished batches, and archive nothing: the number with its country code, or the account
    #[arg(long, value_name = "RECIPIENT", conflicts_with_all = ["batches", "older_than", "out", "to", "keep_people"])]
    pub forget: Option<String>,
    /// If --forget may mean several recipients: the word of the one you mean, as the refusal lists it
    #[arg(long, value_name = "WORD", requires = "forget")]
    pub only: Option<String>,
    /// Why, kept for ever; required with --forget
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Write the journal's file again, so that nothing that was removed is left in it; needed only if an archive or --forget said that it could not
    #[arg(long, conflicts_with_all = ["batches", "older_than", "out", "to", "keep_people", "forget", "only", "reason", "dry_run"])]
    pub rewrite: bool,
    /// Do not ask before names and numbers are replaced by digests
    #[arg(short, long)]
    pub yes: bool,
    /// Show which batches would be archived, or who would be forgotten, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ArchiveCommand {
    /// Check an archive, and show what is in it
    Read(ArchiveReadArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ArchiveReadArguments {
    /// The archive; an encrypted one is opened by files.decrypt of disburse.toml
    pub file: PathBuf,
    /// Write the report into this folder, out of the evidence
    #[arg(long, value_name = "FOLDER")]
    pub report: Option<PathBuf>,
    /// Show what was computed again to verify the evidence, as `disburse verify` does
    #[arg(long)]
    pub verify: bool,
    /// Show everything that is known of one payment: its reference, or its payerTransactionID
    #[arg(long, value_name = "REFERENCE|ID")]
    pub payment: Option<String>,
}
