//! What changes a ledger: the lines of the ledger file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::documents::Document;
use crate::domain::{Money, PaymentKind, Timestamp};

/// A valid post.
// No Debug: it holds phone numbers.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::sandbox) struct Post {
    /// `payerTransactionID`.
    pub id: Arc<str>,
    /// `serviceCode`.
    pub service: Arc<str>,
    /// What kind of payment the service makes: it decides how the payment ends, whatever the options say later.
    #[serde(with = "kind", default = "kind::first")]
    pub kind: PaymentKind,
    /// What is to be paid.
    #[serde(with = "money")]
    pub money: Money,
    /// `MSISDN`.
    pub msisdn: Box<str>,
    /// `accountNumber`.
    pub account: Box<str>,
    /// Where the callback goes, when one was asked for.
    pub callback: Option<Box<str>>,
    /// Digest of the packet's bytes: a repeated post must carry the same ones.
    pub digest: u64,
}

/// A change. Nothing else changes a ledger.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(in crate::sandbox) enum Event {
    /// A post arrived and nothing was done about it.
    Ignored { id: Arc<str>, digest: u64 },
    /// A post was refused with a code; the identifier stays free.
    Refused {
        id: Arc<str>,
        digest: u64,
        code: u16,
        /// What was wrong, where the code alone does not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Box<str>>,
    },
    /// A post was put aside, to be judged later.
    Deferred {
        key: u64,
        attempt: u32,
        post: Arc<Post>,
    },
    /// The judgement of a post put aside was: nothing.
    Lapsed { key: u64 },
    /// A post was accepted: its money is reserved.
    Accepted {
        number: u64,
        attempt: u32,
        at_ms: i64,
        post: Arc<Post>,
        /// The key of the post put aside, when it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deferred: Option<u64>,
    },
    /// An accepted payment reached its end: paid, which moves the money, or rejected.
    Settled {
        number: u64,
        paid: bool,
        /// Whether a callback is owed.
        callback: bool,
    },
    /// The callback was acknowledged or given up.
    Called { id: Arc<str> },
    /// A service's float ran out.
    ShortOfFloat { service: usize },
    /// A service's float was topped up.
    ToppedUp { service: usize },
    /// Money was put into a service's float account, in minor units.
    FloatAdded { service: Arc<str>, minor: i64 },
    /// A supporting document was uploaded (section 4.3).
    Uploaded {
        /// `payerTransactionId`.
        id: Arc<str>,
        document: Document,
    },
}

impl Event {
    pub fn accepted(number: u64, attempt: u32, at: Timestamp, post: Arc<Post>) -> Self {
        Self::Accepted {
            number,
            attempt,
            at_ms: at.as_millis(),
            post,
            deferred: None,
        }
    }
}

/// Money as `KES 1500.50`.
mod money {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::domain::{Amount, Currency, Money};

    pub fn serialize<S: Serializer>(money: &Money, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} {money}", money.currency))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parse = || {
            let (code, digits) = text.split_once(' ')?;
            let currency = Currency::from_code(code)?;
            let amount = Amount::parse(digits, currency).ok()?;
            Some(Money { amount, currency })
        };
        parse().ok_or_else(|| D::Error::custom("not an amount with its currency"))
    }
}

/// A kind of payment by its name in the configuration.
mod kind {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::domain::PaymentKind;

    /// The only kind of ledger files that name none.
    pub fn first() -> PaymentKind {
        PaymentKind::MobileMoney
    }

    pub fn serialize<S: Serializer>(kind: &PaymentKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(kind)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PaymentKind, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}
