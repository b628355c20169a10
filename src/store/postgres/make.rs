//! Making a journal in an empty database.

use std::time::Instant;

use tokio_postgres::error::SqlState;

use super::address::Address;
use super::codec::tagged;
use super::columns::SCHEMA;
use super::connect::{self, Access, Before, Deadlines};
use super::connect_error::ConnectError;
use super::failure::Failure;
use super::origin;
use super::store::{Postgres, random_name};
use crate::store::Value;

impl Postgres {
    /// Makes a journal in the database of an address, all of it or nothing, and opens it.
    ///
    /// # Errors
    /// [`ConnectError::SchemaThere`] where there is one, and as [`Self::open`].
    pub fn make(address: Address, deadlines: Deadlines) -> Result<Self, ConnectError> {
        let until = Instant::now() + deadlines.connect_all;
        let connected = connect::open(
            &address,
            &deadlines,
            until,
            (Access::Write, Before::default()),
        )?;
        connect::check_pooler(&connected, &address, &deadlines)?;
        // Whoever may not make one is told that there is one.
        if connect::has_schema(&connected.link, &deadlines).unwrap_or_default() {
            let database = address.database.clone();
            return Err(ConnectError::SchemaThere { database });
        }
        let store = Self::over(connected, address, deadlines, Access::Write)?;
        // What the journal calls itself: a name that no other one has.
        let name = tagged(&Value::Bytes(random_name(&store.address)?[..].into()));
        let text = format!(
            "begin; {SCHEMA}; insert into disburse.meta (key, value) values ('journal', '{name}'); commit"
        );
        let made = match store.link() {
            // What it is known by again is of its tables.
            Ok(link) => link.run(deadlines.statement, &text).and_then(|()| {
                origin::of(&link, deadlines.statement, store.address.is_promoted_whole)
            }),
            Err(error) => return Err(store.unmade(&error.to_string())),
        };
        let origin = made.map_err(|failure| store.not_made(&failure))?;
        store.origin.set(origin);
        store.all_waited.set(origin.waits);
        Ok(store)
    }

    fn unmade(&self, what: &str) -> ConnectError {
        ConnectError::Unexpected {
            host: self.address.database.clone(),
            what: what.to_owned(),
        }
    }

    fn not_made(&self, failure: &Failure) -> ConnectError {
        let database = self.address.database.clone();
        let is_there = [SqlState::DUPLICATE_SCHEMA, SqlState::UNIQUE_VIOLATION];
        if is_there.iter().any(|state| failure.is(state)) {
            return ConnectError::SchemaThere { database };
        }
        if failure.is(&SqlState::INSUFFICIENT_PRIVILEGE) {
            return ConnectError::MayNotCreate {
                user: self.address.user.clone(),
                database,
            };
        }
        self.unmade(failure.what())
    }
}
