//! What commands take that ask a service of the gateway on its own.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct TokenArguments {
    /// Ask a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LookupArguments {
    /// The number, with its country code
    pub number: String,
    /// Country of the number [default: country_code of the profile]
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// Ask a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BillArguments {
    /// The customer's number at the biller
    pub account: String,
    /// The service code
    #[arg(long, value_name = "CODE")]
    pub service: String,
    /// The customer's phone number
    #[arg(long, value_name = "NUMBER")]
    pub msisdn: Option<String>,
    /// Ask a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AccountArguments {
    /// The account number
    pub number: String,
    /// The service code
    #[arg(long, value_name = "CODE")]
    pub service: String,
    /// Ask a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FloatArguments {
    /// The service codes [default: every service of the configuration]
    #[arg(value_name = "SERVICE")]
    pub services: Vec<String>,
    /// Ask a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct UploadArguments {
    /// The document, a PDF
    pub file: PathBuf,
    /// payerTransactionID of the payment that it supports
    #[arg(long, value_name = "ID")]
    pub id: String,
    /// Upload to a sandbox that lasts as long as the command
    #[arg(long)]
    pub sandbox: bool,
}
