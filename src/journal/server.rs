//! Reaching a journal on a PostgreSQL server.

#[cfg(feature = "postgres")]
use std::path::PathBuf;

#[cfg(feature = "postgres")]
use super::mark::host::seen_here;
use super::session::keeper::Keeper;
use super::{Error, ServerAddress};
#[cfg(feature = "postgres")]
use crate::store::Transact;
#[cfg(feature = "postgres")]
use crate::store::postgres::{
    Address, ConnectError, Deadlines, Environment, Postgres, SeenCopy, grants,
};

/// What a journal is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum Access {
    Read,
    Write,
}

/// Opens a journal that is on a server.
#[cfg(feature = "postgres")]
pub(in crate::journal) fn open_server(
    address: &ServerAddress,
    access: Access,
) -> Result<Keeper, Error> {
    let at = address_of(address)?.having_seen(seen_copies(address));
    let store = match access {
        Access::Read => Postgres::open_to_read(at, Deadlines::default()),
        Access::Write => Postgres::open(at, Deadlines::default()),
    };
    let store = store.map_err(|error| not_opened(&error))?;
    Ok(Keeper::from(Box::new(store) as Box<dyn Transact + Send>))
}

/// Opens a journal that is on a server.
#[cfg(not(feature = "postgres"))]
pub(in crate::journal) fn open_server(
    address: &ServerAddress,
    _access: Access,
) -> Result<Keeper, Error> {
    Err(Error::NoServerStore {
        journal: address.to_string(),
    })
}

/// Looks whether the user of an address may do what runs do.
///
/// # Errors
/// [`Error::Server`] where it may not, [`Error::ServerAway`].
#[cfg(feature = "postgres")]
pub fn assert_may_run(address: &ServerAddress) -> Result<(), Error> {
    let at = address_of(address)?.having_seen(seen_copies(address));
    Postgres::assert_may_run(at, Deadlines::default()).map_err(|error| not_opened(&error))
}

/// Looks whether the user of an address may do what runs do.
///
/// # Errors
/// [`Error::NoServerStore`]: this program was built without it.
#[cfg(not(feature = "postgres"))]
pub fn assert_may_run(address: &ServerAddress) -> Result<(), Error> {
    Err(Error::NoServerStore {
        journal: address.to_string(),
    })
}

/// What a database has once a journal was to be made in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// It had one before.
    pub was_there: bool,
    /// What its owner says to give users the rights that they need.
    pub grants: String,
}

/// Makes a journal in an empty database, or finds the one that is there.
///
/// # Errors
/// [`Error::Server`] where it cannot be made.
#[cfg(feature = "postgres")]
pub fn make(address: &ServerAddress) -> Result<Made, Error> {
    let at = address_of(address)?;
    let grants = grants(&at);
    let made = match Postgres::make(at.clone(), Deadlines::default()) {
        Err(ConnectError::SchemaThere { .. }) => {
            Postgres::open_to_read(at, Deadlines::default()).map(|_| true)
        }
        made => made.map(|_| false),
    };
    let was_there = made.map_err(|error| not_opened(&error))?;
    Ok(Made { was_there, grants })
}

/// Makes a journal in an empty database.
///
/// # Errors
/// [`Error::NoServerStore`]: this program was built without it.
#[cfg(not(feature = "postgres"))]
pub fn make(address: &ServerAddress) -> Result<Made, Error> {
    Err(Error::NoServerStore {
        journal: address.to_string(),
    })
}

/// Returns which copies of journals this host has seen, under whatever address and name: a recovery gives the journal another name, which an
/// old primary does not know. What its marks cannot tell, whoever writes is told.
#[cfg(feature = "postgres")]
pub(in crate::journal) fn seen_copies(address: &ServerAddress) -> Vec<SeenCopy> {
    seen_here(address)
        .filter_map(|(place, marked)| {
            Some(SeenCopy {
                origin: marked?.server?.origin,
                told_by: place.shown(),
            })
        })
        .collect()
}

#[cfg(feature = "postgres")]
fn cannot(what: String) -> Error {
    Error::Server { what }
}

#[cfg(feature = "postgres")]
fn not_opened(error: &ConnectError) -> Error {
    let what = error.to_string();
    match error.may_pass() {
        true => Error::ServerAway { what },
        false => Error::Server { what },
    }
}

/// Reads an address for the store, with the password that goes with it.
#[cfg(feature = "postgres")]
pub(in crate::journal) fn address_of(address: &ServerAddress) -> Result<Address, Error> {
    let environment = Environment {
        user: std::env::var("USER").ok(),
        pgpassword: std::env::var("PGPASSWORD").ok().map(Into::into),
        pgpassfile: passwords(),
        journal_password_file: address.password_file().map(Into::into),
    };
    Address::parse(address.text(), &environment).map_err(|error| cannot(error.to_string()))
}

/// The file in which the programs of PostgreSQL look for passwords.
#[cfg(feature = "postgres")]
fn passwords() -> Option<PathBuf> {
    let own = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass"));
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    named.or_else(|| own().filter(|path| path.exists()))
}
