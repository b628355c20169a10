//! The port to whatever keeps the journal's rows: tables of domain values, read and written in slices.
//!
//! No verb of money is known here. A [`Table`] names columns, a key and the indexes by which it is read; a [`Shape`] is a struct of
//! some of its columns; a [`Scan`] says which rows are meant, along the key or an index. [`Read`] and [`Write`] are all that a
//! store implements; [`Reads`] and [`Writes`] put shapes over them,
//! and [`Beside`] joins. Another store goes beside `sqlite`, `postgres` and `memory`, and
//! passes `exercise`.

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
