//! What a payment is: values that are valid by their type.
//!
//! Everything here is parsed once, at the door, and trusted afterwards. No I/O, no clock but [`Timestamp::now`] and [`BootTime::now`].

mod account_format;
mod actor;
mod amount;
mod batch;
mod bill;
mod boot_time;
mod country;
mod day;
mod digits;
mod electricity;
mod identifier;
mod identifier_form;
mod identifier_scheme;
mod ids;
mod journal_ids;
mod meter;
mod msisdn;
mod origin;
mod payment;
mod pulse;
mod rate;
mod response_details;
mod time;

pub use account_format::{ACCOUNT_CHARACTERS_MIN, AccountFormat};
pub use actor::Actor;
pub use amount::{Amount, AmountError, Currency, Money, Totals};
pub use batch::{ContentDigest, ControlTotals, Tally};
pub use bill::BillAmount;
pub use boot_time::BootTime;
pub use country::Country;
pub use day::Day;
pub use digits::{decimal, grouped};
pub use electricity::Electricity;
pub use identifier::PayerTransactionId;
pub use identifier_form::{
    EXPECTED as IDENTIFIER_FORM, IdentifierForm, PACKED as IDENTIFIER_PACKED,
};
pub use identifier_scheme::{IdentifierScheme, RowKey};
pub use ids::{BatchName, GatewayTransactionId, IdError, Originator, Reference, ServiceCode};
pub use journal_ids::{
    AlikeId, BatchId, BillId, Epoch, EvidenceId, LaneId, LoadId, NoticeId, OrderId, PaymentId,
    PhraseId, PolicyId, RecoveryId,
};
pub use meter::{DurationMeter, Durations, WorkMeter};
pub use msisdn::{Line, Msisdn, MsisdnError};
pub use origin::Origin;
pub use payment::{
    AmountField, BANK_MEMBERS, BankAccount, DATE_RECEIVED, DocumentPath, Instruction, NOT_BEFORE,
    ORIGIN, Payment, PaymentKind, SUPPORT_DOCUMENT, UnknownKind, Unpriced, names_document,
    sent_name,
};
pub use pulse::Pulse;
pub use rate::Rate;
pub use response_details::{Member, Named, ResponseDetails};
pub use time::{Timestamp, WireZone};

/// A text of a row: short ones, as most are, stand in the value itself, and clones of longer ones share it.
pub type Text = smol_str::SmolStr;
