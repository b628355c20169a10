//! What the operations around the payments take and give: bills, float, lookups, documents.

use std::fmt;

use crate::domain::{Country, Money, Msisdn, PayerTransactionId, ServiceCode};

/// A bill to ask for (`GATEWAY.queryBill`, sections 1 and 4.2).
#[derive(Clone, PartialEq, Eq)]
pub struct BillInquiry {
    /// `serviceCode`.
    pub service: ServiceCode,
    /// `accountNumber`: the customer's number at the biller.
    pub account_number: String,
    /// `MSISDN`; empty on the wire when there is none.
    pub msisdn: Option<Msisdn>,
    /// `payerTransactionID`; empty on the wire when there is none.
    pub id: Option<PayerTransactionId>,
    /// The row's country, for the envelope; `None` is the profile's.
    pub country: Option<Country>,
}

/// What the gateway says of a bill.
#[derive(Clone, PartialEq, Eq)]
pub enum BillAnswer {
    /// There is one (308).
    Due(Bill),
    /// Nothing is due (309), the account is invalid (306) or the invoice does not exist (146).
    None {
        /// The code.
        code: i32,
        /// Its text.
        description: String,
    },
    /// The reply says nothing usable about this account: no entry, another code, an amount that is none.
    Unknown(String),
}

/// A bill that is due.
#[derive(Clone, PartialEq, Eq)]
pub struct Bill {
    /// `dueAmount` and `currency`.
    pub due: Money,
    /// `dueDate`, as it was written.
    pub due_date: String,
    /// `customerName`.
    pub customer_name: String,
}

/// The balance of a service's float account (`GATEWAY.queryFloatBalance`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatBalance {
    /// The service that was asked about.
    pub service: ServiceCode,
    /// `floatAccountName`.
    pub account_name: String,
    /// `currencyCode`.
    pub currency: crate::domain::Currency,
    /// `balance` in minor units; it may be negative.
    pub minor: i64,
}

/// Whether an account exists (`GATEWAY.validateAccount`).
#[derive(Clone, PartialEq, Eq)]
pub enum AccountAnswer {
    /// It does (307).
    Valid {
        /// `customerName`; empty when the reply has none.
        customer_name: String,
        /// Its text.
        description: String,
    },
    /// It does not (306).
    Invalid {
        /// Its text.
        description: String,
    },
    /// Whoever keeps the account cannot say at present (301).
    Unavailable {
        /// Its text.
        description: String,
    },
}

/// A number to look up (sections 2.6 and 4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupInquiry {
    /// `countryCode`.
    pub country: Country,
    /// `number`.
    pub number: Msisdn,
}

/// What the network lookup knows of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOf {
    /// `carrier`.
    pub carrier: String,
    /// `timeZone`.
    pub time_zone: String,
}

/// A document that the file service has taken (section 4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// What the payment names as its `supportDocument`.
    pub reference: String,
    /// The reply as it came, bounded: it is evidence.
    pub reply: String,
    /// The file service had a document under this identifier already, and took none now.
    pub already: bool,
}

/// Why an operation around the payments brought nothing. No payment is touched by any of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// The other side understood, and said no.
    #[error("section {section}: {what}")]
    Refused {
        /// The section of the interface whose rule it was, such as `7.4`.
        section: &'static str,
        /// What it said, in plain words, with its code.
        what: String,
    },
    /// The dialect says that this gateway has no such operation.
    #[error(
        "this gateway has no operation {0:?} (operations.absent of the dialect); it was not asked"
    )]
    NotOffered(&'static str),
    /// The number that was to be looked up is none (section 7.4): the row is wrong, the lookup itself works.
    #[error("section 7.4: {0}")]
    NotANumber(String),
    /// The other side did not let us in.
    #[error("section {section}: {what}")]
    Credentials {
        /// The section of the interface.
        section: &'static str,
        /// What it said.
        what: String,
    },
    /// No request left, or it may be made again: a lost connection, a timeout, a server error, too many requests.
    #[error("{0}")]
    Unavailable(String),
    /// A reply that the interface does not know.
    #[error("section {section}: {what}")]
    Unreadable {
        /// The section of the interface that describes the reply.
        section: &'static str,
        /// What came instead.
        what: String,
    },
}

// Accounts and names stay out of logs.
impl fmt::Debug for BillInquiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BillInquiry")
            .field("service", &self.service.as_str())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for BillAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Due(_) => f.write_str("Due"),
            Self::None { code, .. } => write!(f, "None({code})"),
            Self::Unknown(why) => write!(f, "Unknown({why})"),
        }
    }
}

impl fmt::Debug for AccountAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Valid { .. } => "Valid",
            Self::Invalid { .. } => "Invalid",
            Self::Unavailable { .. } => "Unavailable",
        })
    }
}

impl fmt::Debug for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bill")
    }
}
