//! The port through which the journal reads and writes its rows: tables of domain values, in a file, on a server or in memory.
//!
//! Nothing here knows about payments. A [`Table`] names columns, a key, and the indexes by which it is read. A [`Shape`] is a
//! struct of some of its columns. A [`Scan`] selects rows along the key or an index. A store implements the traits of `port`, such
//! as [`Read`] and [`Write`]; [`Reads`] and [`Writes`] add shapes to them, and [`Beside`] joins tables. A new store is a module
//! beside `sqlite`, `postgres` and `memory`, and must pass `exercise`.

mod beside;
#[cfg(test)]
pub(crate) mod compare;
mod error;
#[cfg(test)]
pub(crate) mod exercise;
mod fields;
#[cfg(test)]
pub(crate) mod memory;
mod port;
#[cfg(feature = "postgres")]
pub mod postgres;
mod row;
mod scan;
pub(crate) mod schema;
pub mod server_facts;
mod shape;
pub(crate) mod sqlite;
mod table;
pub mod tables;
#[cfg(test)]
mod tests;
mod value;

pub use beside::{Beside, Found};
pub use error::Error;
pub use port::{Append, Clash, Read, Reads, Transact, Write, Writes};
pub use row::Row;
pub use scan::{Scan, Test};
pub use shape::Shape;
pub(crate) use shape::shape;
pub use table::{Column, Condition, Index, Table};
pub use value::{Field, Value};
