//! `disburse`: every row of a payment batch reaches a proven end, exactly once.

use std::process::ExitCode;

use clap::Parser;
use disburse::cli::{self, Arguments};

fn main() -> ExitCode {
    cli::crash::guarded(|| {
        let arguments = Arguments::parse();
        cli::log::start(&arguments.common);
        cli::run(arguments)
    })
}
