//! The immutable instruction to pay.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::{
    Amount, Country, Currency, Money, Msisdn, PayerTransactionId, Reference, ServiceCode, Text,
    Timestamp,
};

/// What kind of payment a service makes (section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaymentKind {
    /// Payout, refund or bulk disbursement to a mobile wallet.
    MobileMoney,
    /// Payout to a bank account.
    Bank,
    /// High-value interbank transfer.
    Rtgs,
    /// Airtime or data.
    Airtime,
    /// Prepaid bill, such as electricity tokens.
    BillPrepaid,
    /// Postpaid bill.
    BillPostpaid,
}

impl PaymentKind {
    /// Every kind with its name in the configuration.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::MobileMoney, "mobile_money"),
        (Self::Bank, "bank"),
        (Self::Rtgs, "rtgs"),
        (Self::Airtime, "airtime"),
        (Self::BillPrepaid, "bill_prepaid"),
        (Self::BillPostpaid, "bill_postpaid"),
    ];

    /// Returns whether the recipient's account is the phone number itself when a row names no account (section 1).
    #[must_use]
    pub fn account_defaults_to_msisdn(self) -> bool {
        matches!(self, Self::MobileMoney | Self::Airtime)
    }
}

/// The text names no kind of payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of mobile_money, bank, rtgs, airtime, bill_prepaid, bill_postpaid")]
pub struct UnknownKind;

impl FromStr for PaymentKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(kind, _)| *kind)
            .ok_or(UnknownKind)
    }
}

impl fmt::Display for PaymentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(
            Self::ALL
                .iter()
                .find(|(kind, _)| kind == self)
                .map_or("", |(_, name)| name),
        )
    }
}

/// One valid row of a batch file: whom to pay, how much, and what the gateway is told about it.
///
/// Optional texts of section 2.3 are empty strings when unused, as on the wire.
///
/// `M` is what the row says of the amount: [`Money`], or with [`Unpriced`] the currency alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Instruction<M = Money> {
    /// The line of the file the row begins at, 1-based; 0 when it comes from no file.
    pub line: u64,
    /// The payer's own reference.
    pub reference: Option<Reference>,
    /// `serviceCode`.
    pub service: ServiceCode,
    /// `MSISDN`.
    pub msisdn: Msisdn,
    /// `accountNumber`.
    pub account_number: Text,
    /// `amount` and `currencyCode`.
    pub money: M,
    /// `countryCode`.
    pub country: Country,
    /// `narration`.
    pub narration: Text,
    /// `customerNames`.
    pub customer_names: Text,
    /// `invoiceNumber`.
    pub invoice_number: Text,
    /// `paymentMode`.
    pub payment_mode: Text,
    /// `hubID`.
    pub hub_id: Text,
    /// Members of `extraData`, in the order they are sent; the bank columns are among them. See [`Instruction::supplied`].
    pub extra: Vec<(String, String)>,
    /// The supporting document.
    pub document: Option<DocumentPath>,
}

/// The account that a bank payment goes to, out of the members of `extraData` (section 2.3); all empty of other payments.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct BankAccount<'a> {
    /// `destinationBankCode`.
    pub bank_code: &'a str,
    /// `destinationBankName`.
    pub bank_name: &'a str,
    /// `destinationAccountName`.
    pub account_name: &'a str,
    /// `destinationAccountNo`.
    pub account_number: &'a str,
}

impl<'a> BankAccount<'a> {
    /// Finds the account among the members of `extraData`.
    #[must_use]
    pub fn among(extra: &'a [(String, String)]) -> Self {
        let member = |name: &str| {
            let found = extra.iter().find(|(member, _)| member == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        Self {
            bank_code: member("destinationBankCode"),
            bank_name: member("destinationBankName"),
            account_name: member("destinationAccountName"),
            account_number: member("destinationAccountNo"),
        }
    }
}

/// Where a payment's supporting document lies (section 2.5).
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentPath {
    /// The path as the row has it: part of the row's content, wherever its file lies.
    pub written: String,
    /// The folder that a relative path starts at, absolute; empty for the working directory.
    pub folder: String,
    /// SHA-256 of the file as it was checked; `None` where it was not looked at.
    pub digest: Option<[u8; 32]>,
}

impl DocumentPath {
    /// Returns the path to open, from whatever folder the program runs in.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(&self.folder).join(&self.written)
    }
}

// The names of documents may be names of people.
impl fmt::Debug for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DocumentPath")
    }
}

/// A row of a postpaid service that leaves the amount to the bill (`GATEWAY.queryBill`, section 1).
///
/// It is a type of its own, so that nothing without an amount can be posted.
pub type Unpriced = Instruction<Currency>;

/// What a row says of the amount.
pub trait AmountField {
    /// Returns the currency.
    fn currency(&self) -> Currency;
    /// Returns the digits of the amount, none when the row has no amount.
    fn digits(&self) -> String;
    /// Returns the amount that would be posted, `None` while it waits for its bill.
    fn known(&self) -> Option<Amount>;
}

impl AmountField for Money {
    fn currency(&self) -> Currency {
        self.currency
    }

    fn digits(&self) -> String {
        self.to_string()
    }

    fn known(&self) -> Option<Amount> {
        Some(self.amount)
    }
}

impl AmountField for Currency {
    fn currency(&self) -> Currency {
        *self
    }

    fn digits(&self) -> String {
        String::new()
    }

    fn known(&self) -> Option<Amount> {
        None
    }
}

impl<M: AmountField> Instruction<M> {
    /// Returns SHA-256 over every field but the line: equal rows have equal hashes, whatever folder their file lies in.
    ///
    /// The amount counts as the row has it: a row without one keeps its hash whatever its bill says.
    #[must_use]
    pub fn content_hash(&self) -> [u8; 32] {
        // In one piece: the digest of many small ones costs more than their bytes.
        let mut bytes = Vec::with_capacity(512);
        let mut part = |text: &str| {
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        part(self.reference.as_ref().map_or("", Reference::as_str));
        part(self.service.as_str());
        part(self.msisdn.as_str());
        part(&self.account_number);
        part(&self.money.digits());
        part(self.money.currency().code());
        part(self.country.code());
        part(&self.narration);
        part(&self.customer_names);
        part(&self.invoice_number);
        part(&self.payment_mode);
        part(&self.hub_id);
        part(
            self.document
                .as_ref()
                .map_or("", |document| document.written.as_str()),
        );
        // What a directory says today is no part of what the row says.
        let own = |(name, _): &&(String, String)| !name.starts_with(SUPPLIED);
        for (name, value) in self.extra.iter().filter(own) {
            part(name);
            part(value);
        }
        Sha256::digest(&bytes).into()
    }
}

/// The columns of a batch file that become members of `extraData` of another name (section 2.3), in the order they are sent.
pub const BANK_MEMBERS: [(&str, &str); 4] = [
    ("bank_code", "destinationBankCode"),
    ("bank_name", "destinationBankName"),
    ("bank_account_name", "destinationAccountName"),
    ("bank_account_number", "destinationAccountNo"),
];

impl<M: AmountField> Instruction<M> {
    /// Returns the row as a batch file has it: its cells that are not empty, by the names of their columns.
    #[must_use]
    pub fn cells(&self) -> Vec<(String, String)> {
        let digits = self.money.digits();
        // What follows from another cell is left out: it is to follow when that one is mended.
        let follows = |account: &str| {
            let is_bank_account =
                |(name, value): &(String, String)| name == BANK_MEMBERS[3].1 && value == account;
            account == self.msisdn.as_str() || self.extra.iter().any(is_bank_account)
        };
        let account = Some(self.account_number.as_str())
            .filter(|account| !follows(account))
            .unwrap_or_default();
        let named = [
            (
                "reference",
                self.reference.as_ref().map_or("", Reference::as_str),
            ),
            ("service_code", self.service.as_str()),
            ("msisdn", self.msisdn.as_str()),
            ("account_number", account),
            ("amount", digits.as_str()),
            ("currency_code", self.money.currency().code()),
            ("country_code", self.country.code()),
            ("narration", self.narration.as_str()),
            ("customer_names", self.customer_names.as_str()),
            ("invoice_number", self.invoice_number.as_str()),
            ("payment_mode", self.payment_mode.as_str()),
            ("hub_id", self.hub_id.as_str()),
            (
                "document",
                self.document
                    .as_ref()
                    .map_or("", |document| document.written.as_str()),
            ),
        ];
        let mut cells: Vec<(String, String)> = named
            .into_iter()
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
            .collect();
        // What a directory adds is added again.
        let own = |(name, _): &&(String, String)| !name.starts_with(SUPPLIED);
        for (name, value) in self.extra.iter().filter(own) {
            let column = BANK_MEMBERS.iter().find(|(_, member)| member == name);
            let column = match column {
                Some((column, _)) => (*column).to_owned(),
                None if name == DATE_RECEIVED => "date_payment_received".to_owned(),
                None if name == NOT_BEFORE => "not_before".to_owned(),
                None => format!("extra.{name}"),
            };
            cells.push((column, value.clone()));
        }
        // Who mends the row answers for it in the same message.
        cells.extend(
            self.origin()
                .map(|origin| ("origin".to_owned(), origin.to_owned())),
        );
        cells
    }
}

/// The name, in `extra`, of the `datePaymentReceived` that a row has in a column: part of the row, and no member of `extraData`. No row
/// can write a member of that name.
pub const DATE_RECEIVED: &str = "\u{1f}datePaymentReceived";

/// The name, in `extra`, of the time before which a row is not to be posted: part of the row, and no member of `extraData`.
pub const NOT_BEFORE: &str = "\u{1f}notBefore";

/// The name, in `extra`, of what the message called a row that it came in: never sent, and no part of the row's identity, as the same
/// payment may come in a message of another name.
pub const ORIGIN: &str = "\t\u{1f}origin";

/// The member of `extraData` that names a document which the file service has.
pub const SUPPORT_DOCUMENT: &str = "supportDocument";

/// What in the name of a member of `extra` says that it is none of `extraData`.
const INNER: char = '\u{1f}';

/// Stands in front of the name of a member of `extra` that does not come from the row. No row can write it.
const SUPPLIED: char = '\t';

/// Returns the name that a member of `extra` is sent with; `None` for what is no part of `extraData`.
#[must_use]
pub fn sent_name(name: &str) -> Option<&str> {
    (!name.contains(INNER)).then(|| name.trim_start_matches(SUPPLIED))
}

/// Returns whether one of these members of `extra` names a document that was uploaded before: then its file is not sent.
pub fn names_document<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    names
        .into_iter()
        .any(|name| sent_name(name) == Some(SUPPORT_DOCUMENT))
}

impl<M> Instruction<M> {
    /// Returns whether the row names a document that was uploaded before.
    #[must_use]
    pub fn names_document(&self) -> bool {
        names_document(self.extra.iter().map(|(name, _)| name.as_str()))
    }

    /// Returns the name, for `extra`, of a member that does not come from the row: it is sent, and is no part of the row's
    /// identity.
    #[must_use]
    pub fn supplied(name: &str) -> String {
        format!("{SUPPLIED}{name}")
    }

    /// Returns what the row says of `datePaymentReceived`, as the wire has it.
    #[must_use]
    pub fn date_received(&self) -> Option<&str> {
        self.inner(DATE_RECEIVED)
    }

    /// Returns the time before which the row is not to be posted, as it is kept: RFC 3339.
    #[must_use]
    pub fn not_before_text(&self) -> Option<&str> {
        self.inner(NOT_BEFORE)
    }

    /// Returns the time before which the row is not to be posted; one that cannot be read is as late as can be.
    #[must_use]
    pub fn not_before(&self) -> Option<Timestamp> {
        let text = self.not_before_text()?;
        Some(Timestamp::parse(text).unwrap_or(Timestamp::from_millis(i64::MAX)))
    }

    /// Returns what the message called the row that it came in, as [`crate::domain::Origin`] writes it.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.inner(ORIGIN)
    }

    fn inner(&self, wanted: &str) -> Option<&str> {
        let found = self.extra.iter().find(|(name, _)| name == wanted);
        found.map(|(_, text)| text.as_str())
    }

    /// Returns the members of `extraData` by the names they are sent with.
    pub fn extra_members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.extra
            .iter()
            .filter_map(|(name, value)| Some((sent_name(name)?, value.as_str())))
    }

    /// Returns the row with something else in the place of what it says of the amount.
    #[must_use]
    pub fn with_money<N>(self, money: N) -> Instruction<N> {
        Instruction {
            line: self.line,
            reference: self.reference,
            service: self.service,
            msisdn: self.msisdn,
            account_number: self.account_number,
            money,
            country: self.country,
            narration: self.narration,
            customer_names: self.customer_names,
            invoice_number: self.invoice_number,
            payment_mode: self.payment_mode,
            hub_id: self.hub_id,
            extra: self.extra,
            document: self.document,
        }
    }
}

// Numbers and accounts stay out of logs.
impl<M> fmt::Debug for Instruction<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instruction")
            .field("line", &self.line)
            .field("service", &self.service.as_str())
            .field("msisdn", &self.msisdn)
            .finish_non_exhaustive()
    }
}

/// An instruction with its identifier and the date it carries on the wire. It never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// `payerTransactionID`.
    pub id: PayerTransactionId,
    /// 0, and one more for every retry that an operator orders of a proven failure.
    pub generation: u32,
    /// `datePaymentReceived`: the same however often the payment is sent.
    pub received_at: Timestamp,
    /// The row.
    pub instruction: Instruction,
}
