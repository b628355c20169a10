//! What the verbs around the posts take and give: documents, networks of numbers.

use std::path::PathBuf;

use crate::domain::{
    Country, Msisdn, PayerTransactionId, PaymentId, Reference, ServiceCode, Timestamp,
};

/// A payment whose supporting document is to be uploaded before it may be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentDue {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// Its identifier: the document is uploaded under it (section 2.5).
    pub id: PayerTransactionId,
    /// The line of its file.
    pub line: u64,
    /// Its reference.
    pub reference: Option<Reference>,
    /// Path of the document.
    pub path: PathBuf,
}

/// A document that the file service took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// When.
    pub at: Timestamp,
    /// SHA-256 of the file.
    pub digest: [u8; 32],
    /// Its length.
    pub bytes: u64,
    /// What every post of the payment names as its `supportDocument`.
    pub reference: String,
    /// What the file service said.
    pub reply: String,
}

/// A number as the network lookup is asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    /// `countryCode`.
    pub country: Country,
    /// `number`.
    pub msisdn: Msisdn,
}

/// What the network lookup said of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The number.
    pub number: Number,
    /// When it was looked up.
    pub at: Timestamp,
    /// `carrier`; `None`: it is not a phone number (section 7.4).
    pub carrier: Option<String>,
    /// `timeZone`.
    pub time_zone: Option<String>,
}

/// A row and what is known of the number that it pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowNetwork {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// The line of its file.
    pub line: u64,
    /// Its service.
    pub service: ServiceCode,
    /// The column that holds the number.
    pub column: &'static str,
    /// The number.
    pub number: Number,
    /// `carrier`; `None`: it is not a phone number.
    pub carrier: Option<String>,
}
