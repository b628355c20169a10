//! The JSON of the interface, and nothing else: every member name is written here and only here.
//!
//! Requests are exact to the byte; replies are read leniently in form and strictly in meaning. Their texts are cleaned, and
//! their amounts read to the digit, before anybody sees them.

mod around;
pub(super) mod decimal;
mod reply;
mod request;
pub(super) mod text;
mod upload;
mod words;

pub use around::{
    AccountEntry, AccountReply, FloatEntry, FloatReply, IssuedToken, LookupReply, TokenReply,
    is_token_expired, read_accounts, read_float, read_lookup, read_token, write_lookup,
};
pub use reply::{CallbackBody, Entry, Envelope, Status, Unreadable, read_envelope, read_pushed};
pub use request::{Body, Requests};
pub use upload::{UploadReply, document_reference, read_upload};
pub use words::read_words;

/// `function` of a post (section 4.2).
pub const POST_PAYMENT: &str = "GATEWAY.postPayment";
/// `function` of a status query.
pub const QUERY_PAYMENT_STATUS: &str = "GATEWAY.queryPaymentStatus";
/// `function` of a callback.
pub const PUSH_PAYMENT_STATUS: &str = "GATEWAY.pushPaymentStatus";
/// `function` of a question about bills.
pub const QUERY_BILL: &str = "GATEWAY.queryBill";
/// `function` of a question about a float.
pub const QUERY_FLOAT_BALANCE: &str = "GATEWAY.queryFloatBalance";
/// `function` of a question about an account.
pub const VALIDATE_ACCOUNT: &str = "GATEWAY.validateAccount";
