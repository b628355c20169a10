//! Credit transfers of ISO 20022 (pain.001): a message is read transfer by transfer, and each becomes a row of cells.
//!
//! ```text
//! text -> xml (events with their places) -> rows (which element is which, control totals) -> transfer (cells) -> checks, as any row
//! ```
//!
//! One transfer is in memory at a time. No document type, no entity but the five of XML, nothing loaded from elsewhere.

mod control;
mod elements;
mod rows;
mod transfer;
mod version;

pub(super) use rows::PainRows;
