//! `journal`: a journal on a server is made, checked, and moved to or from there.

use std::ffi::OsStr;

use super::journal_copy::copy;
use crate::cli::Error;
use crate::cli::arguments::JournalCommand;
use crate::cli::doctor::server::check;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::journal::{self, Location, ServerAddress};

/// `disburse journal`.
pub(in crate::cli) async fn journal(
    session: &Session,
    command: &JournalCommand,
) -> Result<ExitStatus, Error> {
    match command {
        JournalCommand::Init(server) => init(&address(session, &server.address)?),
        JournalCommand::Check(server) => {
            let at = match &server.address {
                Some(text) => address(session, text)?,
                None => server_at(session.location()?.clone())?,
            };
            check(session, &at)
        }
        JournalCommand::Copy(places) => copy(session, places).await,
    }
}

/// Reads the address of a server.
fn address(session: &Session, text: &OsStr) -> Result<ServerAddress, Error> {
    server_at(session.location_of(text)?)
}

/// Refuses a journal in a file.
fn server_at(location: Location) -> Result<ServerAddress, Error> {
    match location {
        Location::Server(address) => Ok(address),
        Location::File(path) => Err(Error::refused(format!(
            "{}: is a file, but this command is for a journal on a server",
            output::name(&path.display().to_string())
        ))
        .hint("a journal in a file is made by the first load, and checked by disburse doctor; name a server as \
            postgres://USER@HOST/DATABASE")),
    }
}

/// Said above the rights.
const RIGHTS: &str =
    "-- The rights of the users of this journal. The owner of the schema disburse, who may make \
roles, runs these statements in this database.
-- To run them again changes nothing. Then each user gets a role, here \
a user named pay1:
--   create role pay1 login password '...'; grant disburse_runner to pay1;
-- disburse_runner: \
load, run, pay, listen. disburse_reader: status, report, verify, explain, serve.
-- disburse_operator: cancel, retry, \
resolve, recover and the other orders of people.";

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
