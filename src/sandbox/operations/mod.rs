//! The operations of the interface, one to a file, and the control that tops a float up.
//! Each reads its request, asks or changes the books, and answers.

pub(super) mod accounts;
pub(super) mod bills;
pub(super) mod floats;
pub(super) mod lookup;
pub(super) mod post;
pub(super) mod query;
pub(super) mod tokens;
pub(super) mod upload;
