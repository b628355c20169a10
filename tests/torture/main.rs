//! The real program, tortured: killed at every point, cut from power, given disks that fail, locks that are held and wires
//! that break. The sandbox is a process of its own and outlives it all; its ledger counts what was executed.
//!
//! `TORTURE_ROUNDS=2000 cargo test --test torture -- --nocapture` goes through the same tests for longer: that many kills,
//! power losses or faults in each of them. `--nocapture` prints what each test counted.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]
// The shim and the locks between processes are Linux's own; elsewhere there is nothing to preload.
#![cfg(target_os = "linux")]

mod batch;
mod disk;
mod errors;
#[path = "../binary/files.rs"]
mod files;
mod jobs;
mod kills;
mod locks;
mod losses;
#[path = "../binary/oracle.rs"]
#[allow(dead_code, reason = "shared with the tests of the binary")]
mod oracle;
mod points;
mod proxy;
#[path = "../binary/sandbox.rs"]
#[allow(dead_code, reason = "shared with the tests of the binary")]
mod sandbox;
mod shim;
mod wires;
#[path = "../binary/world.rs"]
#[allow(dead_code, reason = "shared with the tests of the binary")]
mod world;
