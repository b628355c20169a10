//! The arguments of `approve`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArguments {
    /// The batch
    pub batch: String,
    /// Sign that you loaded it; you can then not approve it
    #[arg(long)]
    pub as_loader: bool,
    /// SSH key that signs: a file, or the public half of a key in the agent or on hardware [default: approval.signing_key]
    #[arg(long, value_name = "FILE")]
    pub sign_key: Option<PathBuf>,
    /// The name of the signer in the list of allowed signers, if the key does not tell
    #[arg(long = "as", value_name = "NAME")]
    pub sign_as: Option<String>,
    /// The total of the batch, as "KES 1500.00", if nobody is there to type it; once for each currency
    #[arg(long, value_name = "AMOUNT", conflicts_with_all = ["print", "signature"])]
    pub yes_total: Vec<String>,
    /// Print the text to be signed elsewhere, and nothing else
    #[arg(long, conflicts_with = "signature")]
    pub print: bool,
    /// A signature made elsewhere: ssh-keygen -Y sign -n disburse -f KEY TEXT
    #[arg(long, value_name = "FILE", requires = "text")]
    pub signature: Option<PathBuf>,
    /// The text that it was made over, as --print wrote it
    #[arg(long, value_name = "FILE", requires = "signature")]
    pub text: Option<PathBuf>,
    /// The batch is a rehearsal
    #[arg(long)]
    pub sandbox: bool,
}
