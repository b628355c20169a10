//! The arguments of orders that people may have to sign for.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct SigningArguments {
    /// SSH key that signs for the order, if approval.orders asks for it [default: approval.signing_key]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["print", "signature"])]
    pub sign_key: Option<PathBuf>,
    /// The name of the signer in the list of allowed signers, if the key does not tell
    #[arg(long = "as", value_name = "NAME")]
    pub sign_as: Option<String>,
    /// Print the text that is signed for the order elsewhere, and order nothing
    #[arg(long, requires = "sign_as")]
    pub print: bool,
    /// A signature for the order, made elsewhere: ssh-keygen -Y sign -n disburse -f KEY TEXT
    #[arg(long, value_name = "FILE", requires = "text", conflicts_with = "print")]
    pub signature: Option<PathBuf>,
    /// The text that it was made over, as --print wrote it
    #[arg(long, value_name = "FILE", requires = "signature")]
    pub text: Option<PathBuf>,
}
