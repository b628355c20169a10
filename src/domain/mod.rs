//! What a payment is: values that are valid by their type.
//!
//! Everything here is parsed once, at the door, and trusted afterwards. No I/O, no clock but [`Timestamp::now`] and [`BootTime::now`].

mod account_format;
mod actor;
mod amount;
mod batch;
mod bill;
mod electricity;
mod ids;
mod msisdn;
mod payment;
mod pulse;
mod said;
mod time;
mod uptime;

pub use account_format::{ACCOUNT_CHARACTERS_MIN, AccountFormat};
pub use actor::Actor;
pub use amount::{Amount, AmountError, Currency, Money, Totals};
pub use batch::{ContentDigest, ControlTotals, Tally};
pub use bill::BillAmount;
pub use electricity::Electricity;
pub use ids::{
    BatchName, GatewayTransactionId, IdError, Originator, PayerTransactionId, Reference, RowKey,
    ServiceCode,
};
pub use msisdn::{Country, Msisdn, MsisdnError};
pub use payment::{
    BankAccount, DocumentPath, Instruction, Payment, PaymentKind, UnknownKind, Unpriced, AmountField,
};
pub use pulse::Pulse;
pub use said::{Member, Named, ResponseDetails};
pub use time::{Timestamp, WireZone};
pub use uptime::BootTime;
