//! `[services.NAME]`: what is paid through the gateway, in which currency, within which limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::profile::words;
use crate::cli::config::value::kind::Kind;
use crate::cli::config::value::typed::Value;
use crate::domain::{AccountFormat, Amount, BillAmount, Currency, PaymentKind, WireZone};

/// One service of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// What kind of payment it makes.
    pub kind: PaymentKind,
    /// The only currency it pays.
    pub currency: Currency,
    /// The smallest amount it pays.
    pub min: Option<Amount>,
    /// The largest amount it pays.
    pub max: Option<Amount>,
    /// The mobile networks it reaches, as the network lookup names them; empty when unknown.
    pub carriers: Vec<String>,
    /// What the accounts that it pays to look like.
    pub account_format: Option<Arc<AccountFormat>>,
    /// Whether a mobile service pays to landlines and service numbers, too.
    pub takes_landlines: bool,
    /// What a payment of a postpaid bill may come to.
    pub bill_amount: BillAmount,
    /// What `datePaymentReceived` says.
    pub date_payment_received: DateReceived,
    /// When it is open; `None`: always.
    pub window: Option<Window>,
    /// `repeats.window` of its payments.
    pub repeats_window: Option<Duration>,
    /// `repeats.references_restart` of its payments.
    pub references_restart: Option<bool>,
}

/// When a service is open, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Days and hours.
    pub text: String,
    /// Whose clock shows them; `None`: the profile's.
    pub zone: Option<WireZone>,
    /// A list of days on which it is closed.
    pub holidays: Option<PathBuf>,
}

/// What `datePaymentReceived` says (section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateReceived {
    /// When the payment was loaded.
    LoadTime,
    /// Nothing, as in the airtime request of section 2.3.
    Empty,
}

words! {
    DateReceived {
        LoadTime = "load_time",
        Empty = "empty",
    }
}

pub(super) const ENTRIES: &[&str] = &[
    "kind",
    "currency_code",
    "min",
    "max",
    "carriers",
    "account_format",
    "takes_landlines",
    "bill_amount",
    "date_payment_received",
    "window",
    "zone",
    "holidays",
    "repeats",
];

pub(super) const REPEATS: &[&str] = &["window", "references_restart"];

pub(super) const WINDOW: Kind = Kind::Duration {
    least: Duration::ZERO,
};

impl Value for BillAmount {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Self::Exact),
            "at_most" => Ok(Self::AtMost),
            "any" => Ok(Self::Any),
            _ => Err("one of exact, at_most, any".to_owned()),
        }
    }
}

impl Value for AccountFormat {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

pub(super) const BILL_AMOUNTS: Kind = Kind::Word(&["exact", "at_most", "any"]);

pub(super) const DATES: Kind = Kind::Word(&["load_time", "empty"]);

pub(super) const KINDS: Kind = Kind::Word(&[
    "mobile_money",
    "bank",
    "rtgs",
    "airtime",
    "bill_prepaid",
    "bill_postpaid",
]);
