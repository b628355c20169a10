//! What `reconcile` is given.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ReconcileArguments {
    /// The batch
    pub batch: String,
    /// The statement: CSV, XLSX, MT940, camt.053 or camt.054, packed or encrypted too; - reads standard input
    pub statement: PathBuf,
    /// Record as paid what is open here and paid in the statement; ask about each payment that matches by amount and recipient only
    #[arg(long)]
    pub settle: bool,
    #[command(flatten)]
    pub terms: StatementArguments,
    /// Write every finding to this CSV; an existing file is not written over
    #[arg(long, value_name = "FILE")]
    pub findings: Option<PathBuf>,
    /// Write a decision for each payment that is open here and proven paid there to this CSV, for disburse resolve --from; an existing file
    /// is not written over
    #[arg(long, value_name = "FILE", conflicts_with = "settle")]
    pub decisions: Option<PathBuf>,
}

/// How the statement is read; what is said here comes before what its layout says.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct StatementArguments {
    /// How it is read: NAME of [statements.NAME] in disburse.toml; options here come before it
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
    /// The account that the statement must be of
    #[arg(long, value_name = "ACCOUNT")]
    pub account: Option<String>,
    /// Its format, if the file does not show it: csv, xlsx, mt940 or camt
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Of a CSV or a sheet: what stands under which header, such as 'date=Completion Time'; may be repeated
    #[arg(long = "column", value_name = "NAME=HEADER")]
    pub columns: Vec<String>,
    /// Of a CSV or a sheet: the row with the headers, from 1 [default: the first that has them]
    #[arg(long, value_name = "ROW")]
    pub header: Option<u64>,
    /// Of a CSV or a sheet: the currency of all lines
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Of a CSV or a sheet: how dates are written, such as %d/%m/%Y [default: 2026-11-28]
    #[arg(long, value_name = "PATTERN")]
    pub date_format: Option<String>,
    /// Of a CSV or a sheet: the decimal sign of amounts [default: .]
    #[arg(long, value_name = "SIGN")]
    pub decimal: Option<String>,
    /// Of a CSV: what stands between cells [default: as its headers show]
    #[arg(long, value_name = "SIGN")]
    pub delimiter: Option<String>,
    /// utf-8, utf-16, windows-1252 or iso-8859-1 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// Of a CSV or a sheet: amounts above zero were paid out, as in a gateway's list of payments; else those below zero were
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub paid_out: Option<bool>,
    /// Of a CSV or a sheet: a status that means paid; may be repeated
    #[arg(long, value_name = "WORD")]
    pub booked: Vec<String>,
    /// Of a CSV or a sheet: a status that means pending; may be repeated
    #[arg(long, value_name = "WORD")]
    pub pending: Vec<String>,
    /// Of a CSV or a sheet: a status that means tried, and not paid; may be repeated
    #[arg(long, value_name = "WORD")]
    pub not_executed: Vec<String>,
    /// Of a CSV or a sheet: a status that means paid, and then returned; may be repeated
    #[arg(long, value_name = "WORD")]
    pub reversed: Vec<String>,
    /// Of a CSV or a sheet: how the kind of a row (or else its description) begins if the row is a charge, and no payment; may be repeated
    #[arg(long = "charge", value_name = "WORD")]
    pub charges: Vec<String>,
    /// The sheet of a workbook [default: the one that has data]
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// include or skip: what to do with hidden rows and columns of a sheet [default: they are refused]
    #[arg(long, value_name = "WHAT")]
    pub hidden: Option<String>,
    /// stored: take the results that were stored with formulas
    #[arg(long, value_name = "WHAT")]
    pub formulas: Option<String>,
}
