//! `journal`: a journal on a server is made, checked, and moved to or from there.

use std::ffi::OsStr;

use serde_json::json;

use super::journal_copy::copy;
use crate::cli::Error;
use crate::cli::arguments::JournalCommand;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::journal::{self, Location, Reader, ServerAddress};

/// `disburse journal`.
pub(in crate::cli) async fn journal(
    session: &Session,
    command: &JournalCommand,
) -> Result<ExitStatus, Error> {
    match command {
        JournalCommand::Init(server) => init(&address(session, &server.address)?),
        JournalCommand::Check(server) => check(session, address(session, &server.address)?),
        JournalCommand::Copy(places) => copy(session, places).await,
    }
}

/// Reads the address of a server.
fn address(session: &Session, text: &OsStr) -> Result<ServerAddress, Error> {
    match session.location_of(text)? {
        Location::Server(address) => Ok(address),
        Location::File(path) => Err(Error::refused(format!(
            "{}: is a file, and this command is about a journal on a server",
            output::name(&path.display().to_string())
        ))
        .hint("the first load makes a journal in a file, and disburse doctor checks it; a server is named as postgres://USER@HOST/DATABASE")),
    }
}

/// Said above the rights.
const RIGHTS: &str = "\
-- The rights of users of this journal: to be said by the owner of the schema disburse, who may make roles, in this database.
-- Said again, it gives the same rights. Then each user gets a role, here one named pay1:
--   create role pay1 login password '...'; grant disburse_runner to pay1;
-- disburse_runner: load, run, pay, listen. disburse_reader: status, report, verify, explain, serve.
-- disburse_operator: cancel, retry, resolve, recover and the other orders of people.";

fn init(address: &ServerAddress) -> Result<ExitStatus, Error> {
    let made = journal::server::make(address)?;
    output::note(&match made.was_there {
        true => format!("{address}: has a journal already; nothing of it was changed"),
        false => format!("{address}: has an empty journal now"),
    });
    for line in RIGHTS.lines().chain(made.grants.lines()) {
        output::line(line);
    }
    Ok(ExitStatus::Done)
}

/// Looks at a journal, and changes nothing.
fn check(session: &Session, address: ServerAddress) -> Result<ExitStatus, Error> {
    let shown = address.to_string();
    let reader = Reader::open(&Location::Server(address))?;
    let (found, batches) = (reader.misfits()?, reader.batches()?.len());
    if session.common.json {
        output::json(&json!({"journal": shown, "batches": batches, "findings": found}));
    } else {
        found.iter().for_each(|text| output::line(text));
    }
    if !found.is_empty() {
        return Err(Error::unexpected(format!(
            "journal {shown}: {} not as a release makes it",
            match found.len() {
                1 => "1 part is".to_owned(),
                count => format!("{count} parts are"),
            }
        ))
        .hint("send nothing from it before those who run the server have said how that came about; disburse verify says of each batch whether its evidence is whole"));
    }
    let count = output::grouped(&batches.to_string());
    let batches = if batches == 1 { "batch" } else { "batches" };
    output::line_unless(
        session.common.json,
        &format!(
            "{shown}: {count} {batches}; tables, indexes and guards are as a release makes them"
        ),
    );
    Ok(ExitStatus::Done)
}
