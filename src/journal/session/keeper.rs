//! What keeps the rows of a journal.

use std::fmt;

use rusqlite::Connection;

use crate::store::Transact;
#[cfg(test)]
use crate::store::memory::Memory;
#[cfg(test)]
use crate::store::memory::shared::Client;

/// What keeps the rows of a journal.
pub(in crate::journal) enum Keeper {
    /// A file, or memory that is SQLite's.
    Sqlite(Connection),
    /// A database on a server.
    Server(Box<dyn Transact + Send>),
    /// Memory alone: for simulated time.
    #[cfg(test)]
    Memory(Memory),
    /// Memory that several processes share: for simulated time.
    #[cfg(test)]
    Shared(Client),
}

impl Keeper {
    pub(in crate::journal) fn store(&self) -> &(dyn Transact + 'static) {
        match self {
            Self::Sqlite(connection) => connection,
            Self::Server(store) => &**store,
            #[cfg(test)]
            Self::Memory(memory) => memory,
            #[cfg(test)]
            Self::Shared(client) => client,
        }
    }

    /// Returns the connection, for what SQLite alone can do.
    pub(in crate::journal) fn sqlite(&self) -> Option<&Connection> {
        match self {
            Self::Sqlite(connection) => Some(connection),
            Self::Server(_) => None,
            #[cfg(test)]
            Self::Memory(_) | Self::Shared(_) => None,
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl From<Connection> for Keeper {
    fn from(connection: Connection) -> Self {
        Self::Sqlite(connection)
    }
}

impl From<Box<dyn Transact + Send>> for Keeper {
    fn from(store: Box<dyn Transact + Send>) -> Self {
        Self::Server(store)
    }
}
