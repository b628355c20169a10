//! The sandbox's own view of its books: a page for people, and a listing for programs.
//! The interface has neither.

pub(super) mod listing;
pub(super) mod page;
