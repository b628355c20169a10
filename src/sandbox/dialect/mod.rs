//! The sandbox in another dialect: what comes in is judged by the dialect and put into the document's words; what goes out is
//! put into the dialect's. The operations themselves know the document alone.

mod json;
mod replies;
mod requests;
mod seals;

pub(in crate::sandbox) use replies::{callback, reply, uploaded};
pub(in crate::sandbox) use requests::{Asked, Judged, PAYMENTS, judge};
pub use seals::Seals;
pub(in crate::sandbox) use seals::authorized;
