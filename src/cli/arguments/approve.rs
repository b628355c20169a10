//! The arguments of `approve`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArguments {
    /// The batch
    pub batch: String,
    /// Sign to have loaded it: whoever does so does not approve it
    #[arg(long)]
    pub as_loader: bool,
    /// SSH key that signs: a file, or the public half of a key in the agent or on hardware [default: approval.signing_key]
    #[arg(long, value_name = "FILE")]
    pub sign_key: Option<PathBuf>,
    /// Who signs, as the allowed signers have it, where the key does not say so
    #[arg(long = "as", value_name = "NAME")]
    pub sign_as: Option<String>,
    /// The total of the batch, as "KES 1500.00", where nobody is there to type it; once for each currency
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
    /// Of a rehearsal
    #[arg(long)]
    pub sandbox: bool,
}
