//! Opening a journal to be written, and judging it by what is remembered of it elsewhere.

use super::place::take_place;
use super::server_place::take_server_place;
use crate::journal::mark::{self, Place};
use crate::journal::opening;
use crate::journal::schema::open::{self, Missing};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Location};
use crate::ledger::recovery::Verdict;

/// Opens a journal to be written; says where it may have missed payments.
pub(in crate::journal) fn opened(at: &Location, missing: Missing) -> Result<WriteSession, Error> {
    let mut session = WriteSession::new(opening::for_writing(at, missing)?);
    let verdict = match at {
        // What is made aside has no place yet.
        Location::File(_) if missing == Missing::Aside => None,
        Location::File(path) => {
            let absolute = open::absolute(path)?;
            let (place, born) = (Place::of(&absolute), mark::born(&absolute));
            Some(take_place(&mut session, path, place, born)?)
        }
        Location::Server(_) if session.server_position().is_none() => None,
        Location::Server(address) => Some(take_server_place(&mut session, address)?),
    };
    if let Some(cause) = verdict.and_then(Verdict::cause) {
        tracing::warn!(
            journal = %at,
            "the journal may have missed payments: {}. The gateway is asked about every unfinished payment before it \
            is posted; `disburse recover` shows them",
            cause.sentence()
        );
    }
    Ok(session)
}
