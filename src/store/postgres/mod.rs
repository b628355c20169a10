//! The store that is a PostgreSQL database, which many runners share.
//!
//! Transactions that write come one after the other, over all hosts: each begins with an update of the row `turn`, for which the
//! others wait. What is read in one is what the one before has written, as in a file, and rules about money need no second form.
//! One connection serves a store; it is made anew when it is lost, and a commit whose end was not heard is learned by its receipt.

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
mod grants;
mod habits;
mod host;
mod known;
mod link;
mod make;
mod origin;
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

pub use address::{Address, AddressError, SslMode};
pub use columns::SCHEMA_VERSION;
pub use connect::Deadlines;
pub use connect_error::ConnectError;
pub use grants::{Role, grants};
pub use password::{Environment, PasswordError};
pub use store::Postgres;
pub use survey::survey;
pub use tls::TlsError;
