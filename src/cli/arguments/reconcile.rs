//! What `reconcile` is given.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ReconcileArguments {
    /// The batch
    pub batch: String,
    /// The statement: CSV, MT940, camt.053 or camt.054; - reads standard input
    pub statement: PathBuf,
    /// Record as paid what is open here and paid there; what has amount and recipient only is asked row by row
    #[arg(long)]
    pub settle: bool,
    /// The account that the statement must be of
    #[arg(long, value_name = "ACCOUNT")]
    pub account: Option<String>,
    /// Its format, where the file does not show it: csv, mt940 or camt
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Of a CSV: what stands under which header, such as 'date=Completion Time'; may be said again
    #[arg(long = "column", value_name = "NAME=HEADER")]
    pub columns: Vec<String>,
    /// Of a CSV: the currency of all lines
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Of a CSV: how dates are written, such as %d/%m/%Y
    #[arg(long, value_name = "PATTERN")]
    pub date_format: Option<String>,
    /// Of a CSV: the decimal sign of amounts
    #[arg(long, value_name = "SIGN", default_value_t = '.')]
    pub decimal: char,
    /// Of a CSV: what stands between cells
    #[arg(long, value_name = "SIGN")]
    pub delimiter: Option<char>,
    /// Of a CSV: amounts above zero were paid out, as in a gateway's list of payments; else those below zero were
    #[arg(long)]
    pub paid_out: bool,
    /// Of a CSV: a status that means paid; may be said again
    #[arg(long, value_name = "WORD")]
    pub booked: Vec<String>,
    /// Of a CSV: a status that means pending; may be said again
    #[arg(long, value_name = "WORD")]
    pub pending: Vec<String>,
    /// Write every finding to this CSV; a file that is there is not written over
    #[arg(long, value_name = "FILE")]
    pub findings: Option<PathBuf>,
}
