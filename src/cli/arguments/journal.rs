//! What can be typed about a journal on a server.

use std::ffi::OsString;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum JournalCommand {
    /// Make the tables of a journal in a database, and print the rights that its users need
    Init(JournalServer),
    /// Check a journal on a server: its tables, its settings, and what this user may do there
    Check(JournalChecked),
    /// Move a journal to another place, all of it or nothing; from then on nothing is posted from the old one
    Copy(JournalCopy),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct JournalServer {
    /// The database, as postgres://USER@HOST/DATABASE; its password comes from journal_password_file
    #[arg(value_name = "URL")]
    pub address: OsString,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct JournalChecked {
    /// The database, as postgres://USER@HOST/DATABASE; where it is left out, the journal of the other commands
    #[arg(value_name = "URL")]
    pub address: Option<OsString>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct JournalCopy {
    /// Where the journal is: a file, or postgres://USER@HOST/DATABASE
    pub from: OsString,
    /// Where it is to be: a file that is not there yet, or a database that has an empty journal (journal init)
    pub to: OsString,
    /// Do not ask before it is moved
    #[arg(long, short)]
    pub yes: bool,
}
