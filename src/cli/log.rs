//! Log lines, on standard error.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::arguments::{Common, LogFormat};
use super::config::CUSTODY;
use crate::cli::terminal::output;
use crate::cli::terminal::screen;

/// Starts the log: warnings, more with `-v`, or what `DISBURSE_LOG` says.
pub fn start(common: &Common) {
    let level = match (common.quiet, common.verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "info,disburse=debug",
        (_, _) => "debug,disburse=trace",
    };
    let filter = EnvFilter::try_from_env("DISBURSE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    // The one logs the numbers that it reads, in full; the other complains about documents, which have errors of their own.
    let filter = match ("rlibphonenumber=off".parse(), "lopdf=off".parse()) {
        (Ok(numbers), Ok(documents)) => filter.add_directive(numbers).add_directive(documents),
        _ => EnvFilter::new("error"),
    };
    // That others may change where payments go is told however quiet the person wants it.
    let filter = match format!("{CUSTODY}=warn").parse() {
        Ok(custody) => filter.add_directive(custody),
        Err(_) => filter,
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(AroundTheBar)
        .with_ansi(output::colours(&io::stderr()))
        .with_target(common.verbose > 0);
    // A second start, in tests, keeps the first log.
    let _ = match common.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().with_target(true).try_init(),
    };
}

/// Writes whole lines without tearing the progress bar.
struct AroundTheBar;

struct Line(Vec<u8>);

impl<'a> MakeWriter<'a> for AroundTheBar {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Vec::with_capacity(256))
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = screen::suspended(|| io::stderr().lock().write_all(&self.0));
    }
}
