//! Reading beside the writer: one batch as it was at one moment, its rows for a report, and rows by what a person calls them.

pub(super) mod batch_status;
pub(super) mod examples;
pub(super) mod figures;
pub(super) mod limited;
pub(super) mod listed;
pub(super) mod looked_for;
pub(super) mod paid;
pub(super) mod phrases;
pub(super) mod posted_from;
pub(super) mod reader;
pub(super) mod ready;
pub(super) mod records;
pub(super) mod rows;
pub(super) mod scheduled;
pub(super) mod snapshot;
pub(super) mod standing_rows;
