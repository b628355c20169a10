//! What `init` and `doctor` take.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct InitArguments {
    /// Folder of the new files; it is made if it is missing
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Country of those who are paid, such as KE
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// Currency that is paid [default: the one of the country]
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Address of the payment gateway, such as https://gateway.example
    #[arg(long, value_name = "URL")]
    pub gateway: Option<String>,
    /// User name of your account at the gateway
    #[arg(long, value_name = "NAME")]
    pub username: Option<String>,
    /// Name of the paying organisation; part of every payment's identifier, so it must never change
    #[arg(long, value_name = "NAME")]
    pub originator: Option<String>,
    /// Time zone of the gateway, such as Africa/Nairobi [default: the one of the country, if it has only one]
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// A service of the gateway and what it pays, such as B2C_MPESA=mobile_money; may be repeated
    #[arg(long, value_name = "CODE=KIND")]
    pub pays: Vec<String>,
    /// Who loads batches, and who approves them: a name and a public SSH key; may be repeated [default: nobody signs]
    #[arg(long = "signer", value_name = "\"NAME KEY\"")]
    pub signers: Vec<String>,
    /// How many people approve a batch beside the person who loads it, 1 or 2 [default: 1]
    #[arg(long, value_name = "N", requires = "signers")]
    pub approvals: Option<String>,
    /// Batches of no more than this need no approval [default: every batch needs it]
    #[arg(long, value_name = "AMOUNT", requires = "signers")]
    pub approve_above: Option<String>,
    /// Templates as CSV instead of workbooks
    #[arg(long)]
    pub csv: bool,
    /// Ask nothing: take the suggestion for each missing option; the password is filled in later
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DoctorArguments {
    /// Also ask name servers and the token service; without it nothing leaves this machine
    #[arg(long)]
    pub online: bool,
}
