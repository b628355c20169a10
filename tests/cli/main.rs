//! The real binary as a person or a nightly job meets it: what it prints, how it exits, what it leaves behind.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]
// A story or a table may be long.
#![allow(clippy::too_many_lines)]

mod approvals;
mod approvals_later;
mod archive;
mod archive_held;
mod bad_batches;
mod bad_files;
mod bad_journals;
mod bad_settings;
mod broken;
mod calendar;
mod check;
mod copies;
mod crash;
mod damage;
mod decided;
mod decisions;
mod desk;
mod doctor;
mod doors;
mod doubled;
mod earlier_statements;
mod forgetting;
mod formats;
mod found;
mod full_disk;
mod heads;
mod help;
mod hints;
mod init;
mod kinds;
mod layouts;
mod limits;
mod lines_without_names;
mod mended;
mod messages;
mod names;
mod notices;
mod operations;
mod orders;
mod orders_signed;
mod output;
mod own_files;
mod packed;
mod payroll;
mod people;
mod places;
mod readings;
mod reconcile;
mod rehearsals;
mod reports;
#[path = "../wire/server.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod server;
mod sheets;
mod statements;
mod template;
mod unreachable;
mod verify;
mod version;
mod waits;
