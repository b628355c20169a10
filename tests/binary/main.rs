//! The whole program against the sandbox gateway, whose ledger is the oracle: it counts what was executed.
//!
//! Every test has a folder of its own, and everything in it is waited for with a deadline.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]
// A story or a table may be long.
#![allow(clippy::too_many_lines)]

mod accounts;
mod arrivals;
mod backups;
mod bills;
mod books;
mod confirmation;
mod copies;
mod deployments;
mod destinations;
mod dialects;
mod endings;
mod files;
mod gateways;
mod here_again;
mod kills;
mod lanes;
mod lost_batches;
mod lost_journal;
mod metrics;
mod moves;
mod notices;
mod openapi;
mod operator;
mod oracle;
mod ordered;
mod pace;
mod preflight;
mod presets;
mod probe;
mod repeats;
mod restored;
mod road;
mod samples;
mod sandbox;
mod signals;
mod tampering;
mod viewer;
mod watched;
mod withdrawn;
mod witnesses;
mod world;
