//! The reconciliation report: a pure fold of a batch's entries, and the four files made from it.
//!
//! ```text
//! Entry, Entry, …  ──▶ Writer ──┬─▶ Reconciliation   counts and amounts, compared with the control totals
//!                               ├─▶ payments.csv     one row for each entry, streamed
//!                               ├─▶ report.xlsx        the same cells as texts, and what they add up to, for a spreadsheet
//!                               ├─▶ report.json      totals first, then every entry, streamed
//!                               └─▶ report.html      the page that is read, printed and signed; bounded in size, with the rows of
//!                                                    a large batch in files beside it
//! ```
//!
//! Entries are pushed one at a time, in line order, so that neither the caller nor the report ever holds a batch in memory.
//! The files carry no generation time, no random order and no folder names: a finished batch gives the same bytes each time.

pub mod accounting;
mod advice;
mod files;
mod fold;
mod folder;
mod help;
mod html;
mod json;
pub mod pain002;
mod rows;
mod sheet;
mod words;
mod writer;
mod xml;

#[cfg(test)]
mod tests;

pub use advice::{
    OF_FORGOTTEN, RECOVER_FIRST, Way, meaning, meaning_behind, remedy, remedy_of_failure,
};
pub use files::error::Error;
pub use files::own::{FileIdentity, Leftover, is_free, place, remove_leftover};
pub use files::owner::{Owner, Whose};
pub(crate) use files::writeback::Writeback;
pub use fold::difference::Difference;
pub use fold::exceptions::ExceptionGroup;
pub use fold::lane::{Lane, Sum};
pub use fold::reconciliation::Reconciliation;
pub use fold::timeline::{Bucket, Timeline};
pub use folder::usable;
pub use help::{Help, help};
pub use rows::entry::{
    AtWork, BatchHeader, CalendarWaits, Entry, Load, Prepaid, StateName, Stated,
};
pub use rows::people::Deed;
pub use writer::{Paths, Report, Writer};
