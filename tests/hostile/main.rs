//! An adversary: the real binary against a gateway that has no duplicate protection, speaks as badly as the wire allows,
//! and keeps honest books, while the binary is killed at random moments. The books are the oracle.
//!
//! Every choice follows from a seed that a failure names.

// A test fails by panicking, the gateway too.
#![allow(clippy::unwrap_used)]
// A story or a table may be long.
#![allow(clippy::too_many_lines)]

mod callbacks;
mod decisions;
#[path = "../../src/store/postgres/fixture.rs"]
#[allow(
    dead_code,
    clippy::print_stderr,
    reason = "tests of the store need more of it, and it says where there is no server"
)]
mod fixture;
mod forms;
mod gateway;
mod generations;
mod hosts;
#[path = "../torture/jobs.rs"]
#[allow(dead_code, reason = "shared with the other tortures")]
mod jobs;
mod late_words;
mod ledger;
mod losses;
mod lost_words;
mod mixed;
mod moved;
mod names;
mod office;
mod oracle;
mod plain;
mod pushes;
mod readings;
mod refusals;
mod restored;
mod roles;
mod script;
mod sessions;
mod stops;
mod tongue;
mod unknown;
mod versions;
