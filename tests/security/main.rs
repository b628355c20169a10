//! The program under attack: a test for each line of the table of threats, against the real binary.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]
// A story or a table may be long.
#![allow(clippy::too_many_lines)]
// Figures, for whoever runs it with --nocapture.
#![allow(clippy::print_stdout)]

mod attack;
mod canary;
mod echo;
mod ending;
#[path = "../binary/files.rs"]
mod files;
mod flood;
mod front;
mod modes;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/oracle.rs"]
mod oracle;
mod page;
mod recorder;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/sandbox.rs"]
mod sandbox;
mod secrets;
mod sheets;
mod storm;
mod stub_gateway;
mod terminal;
mod timing;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/viewer.rs"]
mod viewer;
mod watch;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/world.rs"]
mod world;
