//! What `serve` is told.

use std::net::SocketAddr;

use clap::Args;

/// What is shown to a browser, and where.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArguments {
    /// Address to listen on; loopback only [default: page.listen of the profile]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Serve metrics to a monitoring system, at http://ADDR/metrics; without a password, and with amounts
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
}
