//! What the payments of a batch are in the books: each one debits what it was for and credits the account that it was paid from.
//!
//! Two files are made of that: a journal of lines whose columns the configuration chooses, and a camt.054, which tells the same
//! payments one by one to programs that read a bank's notifications.

mod camt054;
mod chart;
mod journal;

pub use camt054::{Notification, Summary};
pub use chart::{Chart, Column, FIELDS, Field};
pub use journal::{Booked, Journal};
