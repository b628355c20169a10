//! `notices`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct NoticesArguments {
    /// Look at all batches, and deliver what waits now, whenever its next attempt would be
    #[arg(long)]
    pub deliver: bool,
    /// Send a notice without content, to see whether notices arrive
    #[arg(long, conflicts_with = "deliver")]
    pub test: bool,
}
