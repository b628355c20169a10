//! A dialect and its parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::members::Names;
use crate::domain::IdentifierForm;

/// What a change of a key touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Affects {
    /// The bytes that are sent: a batch keeps it.
    Requests,
    /// How replies and callbacks are read.
    Reading,
    /// Neither.
    Nothing,
}

/// An operation on the payment path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Payments are posted (section 4.2).
    Post,
    /// Their status is asked for.
    Status,
    /// Bills are asked for.
    Bill,
    /// A float's balance is asked for.
    Float,
    /// An account is validated.
    Account,
}

impl Operation {
    /// All of them, with the name of their table below `operations`, and the function that the document names.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Post, "post", "GATEWAY.postPayment"),
        (Self::Status, "status", "GATEWAY.queryPaymentStatus"),
        (Self::Bill, "bill", "GATEWAY.queryBill"),
        (Self::Float, "float", "GATEWAY.queryFloatBalance"),
        (Self::Account, "account", "GATEWAY.validateAccount"),
    ];
}

/// What a request shows of who we are (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// Whether `payload.credentials` is written.
    pub body: bool,
    /// What the `Authorization` header holds.
    pub header: Header,
}

/// What the `Authorization` header holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// There is no such header.
    Absent,
    /// A token of the token endpoint.
    Bearer,
    /// User name and password.
    Basic,
}

/// How an operation on the payment path is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The value of `function`; `None` writes no such member.
    pub function: Option<String>,
    /// The path below the base address; `None` is the profile's `payment_path`.
    pub path: Option<String>,
    /// The HTTP method.
    pub method: Method,
    /// `None`: credentials in the body, and a token with `payment_bearer`.
    pub authentication: Option<Authentication>,
}

/// How an operation beside the payment path is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The path below its address.
    pub path: String,
    /// The HTTP method.
    pub method: Method,
    /// What the `Authorization` header holds.
    pub header: Header,
}

/// The HTTP methods of requests that have a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// As the document has it.
    Post,
    /// Some deployments ask and post with it.
    Put,
}

/// What a value below `extraData` is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraType {
    /// A JSON text, as the row has it.
    Text,
    /// `true` or `false`.
    Boolean,
    /// A number, digit by digit.
    Number,
    /// A JSON object.
    Object,
}

/// What `extraData` is where it holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyExtra {
    /// `{}`.
    Object,
    /// `""`.
    EmptyText,
    /// The member is left out.
    Omitted,
}

/// How requests and callbacks are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signing {
    /// With what.
    pub algorithm: Algorithm,
    /// The key: bytes for HMAC, PEM for RSA.
    pub key_file: PathBuf,
    /// The header that holds the signature.
    pub header: String,
    /// How the signature is written.
    pub encoding: Encoding,
    /// The header that holds the time, in seconds since 1970. With it, `TIME.BODY` is signed; without it, the body.
    pub timestamp_header: Option<String>,
}

/// The algorithm of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// HMAC with SHA-256 and a shared key.
    HmacSha256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    RsaSha256,
}

/// How the bytes of a signature are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Base64 with padding.
    Base64,
    /// Small hexadecimal digits.
    Hex,
}

/// What replies say, and in which codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replies {
    /// Whether replies on the payment path carry `authStatus`. Without it, an entry counts by itself.
    pub has_auth_status: bool,
    /// `authStatusCode`: authenticated.
    pub authenticated: Vec<i32>,
    /// `authStatusCode`: not authenticated, nothing was executed.
    pub not_authenticated: Vec<i32>,
    /// The account exists.
    pub account_valid: Vec<i32>,
    /// It does not.
    pub account_invalid: Vec<i32>,
    /// Whoever keeps the account cannot say at present.
    pub account_unavailable: Vec<i32>,
    /// A bill was found.
    pub bill_found: Vec<i32>,
    /// There is no bill: nothing is due, or the account or the invoice does not exist.
    pub no_bill: Vec<i32>,
    /// Members of an upload's reply that name its document, before those that are known anyway.
    pub document_reference: Vec<String>,
    /// Members of an upload's reply and the values by which they say that it was refused.
    pub upload_refused: Vec<(String, String)>,
    /// A status code that means "no such transaction" where this is its exact description.
    pub not_found_words: Option<(i32, String)>,
    /// Whether the body of a server error is read. It ends no payment (section 7.5).
    pub server_errors: bool,
}

/// How callbacks come in, and what they are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callbacks {
    /// The functions that are taken, `*` for whatever comes before; any when there are none.
    pub functions: Vec<String>,
    /// Whether a callback may have several packets.
    pub may_be_several: bool,
    /// The names that lead to the packet, from the outside in; the body itself where there are none.
    pub packet: Vec<String>,
    /// Whether each payment has an address of its own.
    pub address_per_payment: bool,
    /// What the acknowledgement's body is.
    pub acknowledgement: Acknowledgement,
    /// A header that every callback carries, and the file that holds its value.
    pub secret: Option<(String, PathBuf)>,
    /// How callbacks are signed.
    pub signing: Option<Signing>,
}

/// The acknowledgement of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Its form.
    pub form: AcknowledgementForm,
    /// `statusCode`.
    pub code: i32,
    /// `statusDescription`.
    pub description: String,
    /// `authStatusCode`.
    pub auth_code: i32,
    /// Whether codes are written as texts.
    pub codes_as_text: bool,
}

/// The form of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcknowledgementForm {
    /// `authStatus` and `results`, as a reply of section 2.4 has them.
    Envelope,
    /// The members of `results` alone.
    Flat,
    /// No body: HTTP 200 says it.
    Empty,
}

/// How a deployment's wire differs from the interface document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What the dialect was written from, in words.
    pub written_from: String,
    pub(super) calls: BTreeMap<Operation, Call>,
    /// The operations that the gateway does not have.
    pub(super) absent: BTreeSet<Operation>,
    /// The path of the token endpoint.
    pub token_path: String,
    /// The network lookup.
    pub lookup: Beside,
    /// The upload of documents.
    pub upload: Beside,
    /// Whether the envelope's `countryCode` is the row's; the profile's otherwise.
    pub country_of_row: bool,
    /// The members' names.
    pub names: Names,
    /// What our identifiers look like.
    pub identifiers: IdentifierForm,
    /// Whether amounts are texts.
    pub amount_as_text: bool,
    /// How many decimals the amounts of a service have; those of the currency where the service is not named.
    pub decimals: BTreeMap<String, u8>,
    /// Whether `extraData` is a text that holds its object; `None` is what the profile says.
    pub extra_data_as_text: Option<bool>,
    /// What `extraData` is where it holds nothing.
    pub empty_extra: EmptyExtra,
    /// What values below `extraData` are; texts where they are not named.
    pub extra_types: BTreeMap<String, ExtraType>,
    /// The members of `extraData` that a payment to a bank must have, as the document writes them.
    pub required_bank_members: BTreeSet<String>,
    /// The members of a post that are not written, of [`super::LEAVABLE`].
    pub left_out: BTreeSet<String>,
    /// Fixed headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Headers whose values stand in files, as they are secret.
    pub header_files: BTreeMap<String, PathBuf>,
    /// How requests on the payment path are signed.
    pub signing: Option<Signing>,
    /// What replies say.
    pub replies: Replies,
    /// How callbacks come in.
    pub callbacks: Callbacks,
    /// Whether posts and queries count towards one limit at the gateway.
    pub shared_rate: bool,
    /// What differs from the document, by key: what is written, and what is read.
    pub(super) differing: BTreeMap<String, (Affects, Vec<String>)>,
}

impl Dialect {
    /// Returns how an operation is called.
    #[must_use]
    pub fn call(&self, operation: Operation) -> &Call {
        &self.calls[&operation]
    }

    /// Returns the name of an operation that this gateway does not have; `None` where it has it.
    #[must_use]
    pub fn lacks(&self, operation: Operation) -> Option<&'static str> {
        let of = |(known, name, _): &(Operation, &'static str, &str)| {
            (*known == operation).then_some(*name)
        };
        let is_absent = self.absent.contains(&operation);
        is_absent
            .then(|| Operation::ALL.iter().find_map(of))
            .flatten()
    }

    /// Returns whether posts have a member that some gateways do not take.
    #[must_use]
    pub fn writes(&self, member: &str) -> bool {
        !self.left_out.contains(member)
    }

    /// Returns whether some operation on the payment path carries a token; `by_default` is what the profile says.
    #[must_use]
    pub fn needs_token(&self, by_default: bool) -> bool {
        self.calls.values().any(|call| {
            call.authentication
                .map_or(by_default, |auth| auth.header == Header::Bearer)
        })
    }

    /// Returns whether the dialect itself says that an operation on the payment path carries a token.
    #[must_use]
    pub fn names_a_token(&self) -> bool {
        self.calls.values().any(|call| {
            call.authentication
                .is_some_and(|auth| auth.header == Header::Bearer)
        })
    }

    /// Returns two operations, with the name of the second one, that a gateway could not tell apart: they have one path, method
    /// and function. `payment_path` is the profile's.
    #[must_use]
    pub fn alike(&self, payment_path: &str) -> Option<(Operation, &'static str)> {
        let mut seen = std::collections::BTreeMap::new();
        let there = Operation::ALL
            .iter()
            .filter(|(operation, ..)| !self.absent.contains(operation));
        there.into_iter().find_map(|(operation, name, _)| {
            let call = self.call(*operation);
            let path = call.path.as_deref().unwrap_or(payment_path);
            let place = (as_served(path), call.method, call.function.as_deref());
            let same = seen.insert(place, *operation);
            same.map(|first| (first, *name))
        })
    }

    /// Returns whether nothing differs from the interface document.
    #[must_use]
    pub fn is_the_document(&self) -> bool {
        self.differing.is_empty()
    }
}

/// Returns a path as servers tell paths apart that are lenient: without letter case, empty segments, and what stands behind a `;`.
fn as_served(path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        let name = segment.split(';').next().unwrap_or_default();
        name.to_ascii_lowercase()
    });
    let segments: Vec<String> = segments.filter(|segment| !segment.is_empty()).collect();
    segments.join("/")
}

impl Callbacks {
    /// Returns whether a function is one of those that are taken.
    #[must_use]
    pub fn takes(&self, function: &str) -> bool {
        let is = |known: &String| match known.strip_prefix('*') {
            Some(end) => function.ends_with(end),
            None => function == known,
        };
        self.functions.is_empty() || self.functions.iter().any(is)
    }
}
