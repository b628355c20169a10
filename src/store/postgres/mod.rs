//! The store that is a PostgreSQL database, which many runners share.
//!
//! Writing transactions run one after the other, over all hosts: each begins with an update of the row `turn`, for which the
//! others wait. Each reads what the one before has written, as in a file, so that the rules about money are the same for both.
//! A store has one connection. A lost one is replaced; a receipt then tells whether a commit without an answer was carried out.

mod address;
mod ahead;
mod append;
mod codec;
mod columns;
mod connect;
mod connect_error;
mod expected;
mod failure;
#[cfg(test)]
#[allow(dead_code, reason = "the bench, which includes it, needs more of it")]
pub(crate) mod fixture;
mod foresight;
mod grants;
mod habits;
mod host;
mod known;
mod link;
mod make;
mod origin;
mod own;
mod password;
mod pending;
mod read;
mod rows;
mod statement;
mod store;
mod survey;
#[cfg(test)]
mod tests;
mod tls;
mod transact;
mod wait;
mod write;

pub use address::{Address, AddressError, SeenCopy, SslMode};
pub use columns::SCHEMA_VERSION;
pub use connect::Deadlines;
pub use connect_error::ConnectError;
pub use grants::{Role, grants};
pub use password::{Environment, PasswordError};
pub use store::Postgres;
pub use survey::survey;
pub use tls::TlsError;
