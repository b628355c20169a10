//! Reaching a journal on a PostgreSQL server.

#[cfg(feature = "postgres")]
use std::path::PathBuf;

use super::session::keeper::Keeper;
use super::{Error, ServerAddress};
#[cfg(feature = "postgres")]
use crate::store::Transact;
#[cfg(feature = "postgres")]
use crate::store::postgres::{Address, Deadlines, Environment, Postgres};

/// Opens a journal that is on a server.
#[cfg(feature = "postgres")]
pub(in crate::journal) fn open_server(address: &ServerAddress) -> Result<Keeper, Error> {
    let store = Postgres::open(address_of(address)?, Deadlines::default());
    let store = store.map_err(|error| cannot(error.to_string()))?;
    Ok(Keeper::from(Box::new(store) as Box<dyn Transact + Send>))
}

/// Opens a journal that is on a server.
#[cfg(not(feature = "postgres"))]
pub(in crate::journal) fn open_server(address: &ServerAddress) -> Result<Keeper, Error> {
    Err(Error::NoServerStore {
        journal: address.to_string(),
    })
}

/// Makes a journal in an empty database.
///
/// # Errors
/// [`Error::Server`] where it cannot be made, or is there already.
#[cfg(feature = "postgres")]
pub fn make(address: &ServerAddress) -> Result<(), Error> {
    let made = Postgres::make(address_of(address)?, Deadlines::default());
    made.map(|_| ()).map_err(|error| cannot(error.to_string()))
}

/// Makes a journal in an empty database.
///
/// # Errors
/// [`Error::NoServerStore`]: this program was built without it.
#[cfg(not(feature = "postgres"))]
pub fn make(address: &ServerAddress) -> Result<(), Error> {
    Err(Error::NoServerStore {
        journal: address.to_string(),
    })
}

#[cfg(feature = "postgres")]
fn cannot(what: String) -> Error {
    Error::Server { what }
}

#[cfg(feature = "postgres")]
fn address_of(address: &ServerAddress) -> Result<Address, Error> {
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
