//! The JSON of the interface, and nothing else: every member name is written here and only here.
//!
//! Requests are exact to the byte; replies are read leniently in form and strictly in meaning. Their texts are cleaned, and
//! their amounts read to the digit, before anybody sees them.

mod amount;
mod around;
pub(super) mod decimal;
mod fits;
mod pushed;
mod renamed;
mod reply;
mod request;
pub(super) mod text;
mod traces;
mod upload;
mod words;

pub use around::{
    AccountEntry, AccountReply, FloatEntry, FloatReply, IssuedToken, LookupReply, TokenReply,
    is_token_expired, read_accounts, read_float, read_lookup, read_token, write_lookup,
};
pub use fits::{fits_the_document, misfit};
pub use pushed::{CallbackBody, read_pushed};
pub use renamed::in_our_words;
pub use reply::{Entry, Envelope, Status, Unreadable, read_envelope};
pub use request::{Body, Requests};
pub use traces::names_a_transaction;
pub use upload::{UploadReply, document_reference, read_upload};
pub use words::read_words;
