//! What the configuration says about rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::banks::BankDirectory;
use crate::dialect::ExtraType;
use crate::domain::{
    AccountFormat, Amount, Country, Currency, Money, Msisdn, PaymentKind, ServiceCode, WireZone,
};
use crate::ledger::limits::Limits;

/// What is known about one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRule {
    /// What kind of payment it makes.
    pub kind: PaymentKind,
    /// The only currency it pays; any when absent.
    pub currency: Option<Currency>,
    /// The smallest amount, in minor units of the row's currency.
    pub min: Option<Amount>,
    /// The largest amount, in minor units of the row's currency.
    pub max: Option<Amount>,
    /// What the accounts that it pays to look like; any of at least five characters when absent.
    pub account_format: Option<Arc<AccountFormat>>,
    /// Whether a mobile service pays to landlines and service numbers, too.
    pub takes_landlines: bool,
}

/// The rules that rows are checked by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The services by code. None at all means that no service is configured, and that every code is taken.
    pub services: BTreeMap<ServiceCode, ServiceRule>,
    /// The service of rows that name none.
    pub default_service: Option<ServiceCode>,
    /// The currency of rows that name none, unless their service has its own.
    pub default_currency: Option<Currency>,
    /// The country of rows that name none.
    pub default_country: Option<Country>,
    /// From these amounts on, each of its currency, an RTGS transfer needs a supporting document (section 4.5).
    pub document_thresholds: Vec<Money>,
    /// Where supporting documents lie. Without it they are not looked at.
    pub documents: Option<Documents>,
    /// The banks that there are. Without it every bank is taken.
    pub banks: Option<Arc<BankDirectory>>,
    /// Headers of files, and the columns of the contract they stand for.
    pub columns: BTreeMap<String, String>,
    /// The phone number that goes with a payment to a bank account where its row has none.
    pub bank_msisdn: Option<Msisdn>,
    /// The zone in which a day begins that a row is not to be posted before. Without it a row names the time with its offset.
    pub zone: Option<WireZone>,
    /// What this gateway's wire cannot carry.
    pub wire: WireRules,
    /// How much may be paid, and to whom.
    pub limits: Option<Arc<Limits>>,
    /// An earlier journal may have posted the rows: references that look like others, and accounts that do not look like those of
    /// their service, are taken, as the identifiers that were made from them must come out again.
    pub presumes_posted: bool,
}

/// What a gateway's dialect asks of rows: what cannot be written as it wants is its row's error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireRules {
    /// How many decimals the amounts of a service may have; those of the currency where it is not named.
    pub decimals: BTreeMap<String, u8>,
    /// What values of `extra.NAME` must be; texts where they are not named.
    pub extra_types: BTreeMap<String, ExtraType>,
    /// Further names of members of `extraData` that the program writes, in small letters.
    pub own_members: BTreeSet<String>,
    /// The only country that rows may name: posts tell the gateway of no other one.
    pub only_country: Option<Country>,
    /// Members that posts leave out, as the document writes them.
    pub left_out: BTreeSet<String>,
    /// Members of `extraData` that a payment to a bank may lack, as the document writes them.
    pub optional_bank_members: BTreeSet<String>,
}

/// Where supporting documents lie, and how large they may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    /// The absolute folder that relative paths start at.
    pub folder: String,
    /// The most bytes that a document may have.
    pub bytes_max: u64,
}

impl Rules {
    /// Returns whether a row needs no currency of its own.
    pub(super) fn always_has_currency(&self) -> bool {
        self.default_currency.is_some()
            || !self.services.is_empty()
                && self.services.values().all(|rule| rule.currency.is_some())
    }
}
