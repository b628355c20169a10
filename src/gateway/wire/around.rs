//! The operations around the payments: bills, accounts, float, tokens, lookups, documents.

use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::reply::{
    RawAuth, Status, Unreadable, auth, code, object, plain, read_object, read_raw, text,
};
use crate::gateway::{LookupInquiry, NetworkOf};

/// The reply to a question about bills or an account.
pub struct AccountReply {
    /// `authStatus`; `None` when the reply has none, as a bare array.
    pub auth: Option<Status>,
    /// The entries, in the order they came.
    pub entries: Vec<AccountEntry>,
}

/// What a reply says of one account.
#[derive(PartialEq, Eq)]
pub struct AccountEntry {
    /// `serviceCode`.
    pub service: Option<String>,
    /// `accountNumber`.
    pub account: Option<String>,
    /// `statusCode` and `statusDescription`.
    pub status: Status,
    /// `dueAmount`, as it is written.
    pub due: Option<String>,
    /// `currency`.
    pub currency: Option<String>,
    /// `dueDate`, as it is written.
    pub due_date: String,
    /// `customerName`.
    pub customer_name: String,
}

/// The reply to a question about a float.
pub struct FloatReply {
    /// `authStatus`; `None` when the reply has none.
    pub auth: Option<Status>,
    /// The balances.
    pub entries: Vec<FloatEntry>,
}

/// What a reply says of one float.
#[derive(PartialEq, Eq)]
pub struct FloatEntry {
    /// `serviceCode`; most replies have none.
    pub service: Option<String>,
    /// `balance`, as it is written.
    pub balance: Option<String>,
    /// `floatAccountName`.
    pub account_name: String,
    /// `currencyCode`.
    pub currency: Option<String>,
}

/// The reply of the token endpoint.
pub enum TokenReply {
    /// A token (section 2.1).
    Issued(IssuedToken),
    /// None (section 2.2).
    Refused {
        /// `error`.
        error: String,
        /// `error_description`.
        description: String,
    },
}

/// A token as it came.
pub struct IssuedToken {
    /// `access_token`.
    pub access_token: SecretString,
    /// `expires_in`; `None` when it is missing or no number of seconds.
    pub lifetime: Option<Duration>,
    /// Whether `token_type` is `bearer`, or missing.
    pub is_bearer: bool,
}

/// The reply of the network lookup.
pub enum LookupReply {
    /// What it knows (section 2.6).
    Network(NetworkOf),
    /// The token has expired (section 7.4); what it says of it.
    Expired(String),
    /// Another error (section 7.4).
    Refused {
        /// `errorCode`, or `statusCode`.
        code: Option<i32>,
        /// `errorDescription`, or `message`.
        said: String,
    },
}

/// In a lookup: the token has expired. On payments the same number means "authenticated".
const TOKEN_EXPIRED: i32 = 131;

/// Reads the reply to a question about bills or an account: the usual envelope, or a bare array.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_accounts(body: &[u8]) -> Result<AccountReply, Unreadable> {
    let raw = read_raw(body)?;
    if raw.get().starts_with('[') {
        return Ok(AccountReply {
            auth: None,
            entries: listed(raw, account)?,
        });
    }
    let raw: RawReply<'_> = object(raw)?;
    let entries = raw.results.ok_or(Unreadable::OtherForm);
    let auth = raw.auth_status.map(auth_of).transpose()?;
    let entries = match (entries, &auth) {
        (Ok(results), _) => listed(results, account)?,
        // A refusal may come without results.
        (Err(_), Some(_)) => Vec::new(),
        (Err(error), None) => return Err(error),
    };
    Ok(AccountReply { auth, entries })
}

/// Reads the reply to a question about a float: results of the usual envelope, or one balance below `data`.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_float(body: &[u8]) -> Result<FloatReply, Unreadable> {
    let raw = read_raw(body)?;
    if raw.get().starts_with('[') {
        return Ok(FloatReply {
            auth: None,
            entries: listed(raw, float)?,
        });
    }
    let raw: RawReply<'_> = object(raw)?;
    let auth = raw.auth_status.map(auth_of).transpose()?;
    let denied = raw.success.is_some_and(|success| success.get() == "false");
    let data = raw.data.filter(|data| data.get() != "null" && !denied);
    let known =
        auth.is_some() || raw.results.is_some() || raw.data.is_some() || raw.success.is_some();
    let mut entries = match raw.results {
        Some(results) => listed(results, float)?,
        None => Vec::new(),
    };
    if let Some(data) = data.filter(|_| entries.is_empty()) {
        entries = listed(data, float)?;
    }
    match known {
        true => Ok(FloatReply { auth, entries }),
        false => Err(Unreadable::OtherForm),
    }
}

/// Reads the reply of the token endpoint.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_token(body: &[u8]) -> Result<TokenReply, Unreadable> {
    let raw: RawToken<'_> = read_object(body)?;
    if let Some(error) = raw.error.and_then(plain) {
        return Ok(TokenReply::Refused {
            error,
            description: raw.error_description.and_then(plain).unwrap_or_default(),
        });
    }
    let token = raw.access_token.filter(|raw| raw.get().starts_with('"'));
    let token = token.and_then(text).filter(|token| !token.is_empty());
    Ok(TokenReply::Issued(IssuedToken {
        access_token: SecretString::from(token.ok_or(Unreadable::OtherForm)?.into_owned()),
        lifetime: raw.expires_in.and_then(seconds),
        is_bearer: raw
            .token_type
            .and_then(plain)
            .is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")),
    }))
}

/// Reads the reply of the network lookup.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_lookup(body: &[u8]) -> Result<LookupReply, Unreadable> {
    let raw: RawLookup<'_> = read_object(body)?;
    let known = |raw: &RawValue| raw.get() != "null";
    if raw.error_code.is_some_and(known) || raw.error_description.is_some_and(known) {
        return Ok(LookupReply::Refused {
            code: raw.error_code.and_then(code),
            said: raw.error_description.and_then(plain).unwrap_or_default(),
        });
    }
    if let Some(carrier) = raw.carrier.and_then(plain) {
        return Ok(LookupReply::Network(NetworkOf {
            carrier,
            time_zone: raw.time_zone.and_then(plain).unwrap_or_default(),
        }));
    }
    let status = raw.status_code.and_then(code);
    let said = raw.message.and_then(plain).unwrap_or_default();
    match status {
        Some(TOKEN_EXPIRED) => Ok(LookupReply::Expired(said)),
        None if said.is_empty() => Err(Unreadable::OtherForm),
        code => Ok(LookupReply::Refused { code, said }),
    }
}

/// Writes the request of a network lookup.
#[must_use]
pub fn write_lookup(inquiry: &LookupInquiry) -> Vec<u8> {
    serde_json::to_vec(&LookupRequest {
        country_code: inquiry.country.code(),
        number: inquiry.number.as_str(),
    })
    .expect("the shape has text for keys")
}

/// Returns what the file service calls a document: its own reference, when the reply names one that can be used.
#[must_use]
pub fn document_reference(body: &[u8]) -> Option<String> {
    let raw: RawDocument<'_> = read_object(body).ok()?;
    // What was cleaned or cut on the way is not the reference any more.
    let usable =
        |raw: &RawValue| plain(raw).filter(|kept| text(raw).is_some_and(|t| t.trim() == kept));
    [raw.reference, raw.document_reference, raw.id]
        .into_iter()
        .flatten()
        .find_map(usable)
}

fn auth_of(raw: &RawValue) -> Result<Status, Unreadable> {
    object::<RawAuth<'_>>(raw).map(auth)
}

/// Reads an array of entries; a single one stands for an array of one.
fn listed<T>(
    raw: &RawValue,
    read: impl Fn(&RawValue) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    if raw.get().starts_with('{') {
        return Ok(vec![read(raw)?]);
    }
    let items: Vec<&RawValue> =
        serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)?;
    items.into_iter().map(read).collect()
}

fn account(raw: &RawValue) -> Result<AccountEntry, Unreadable> {
    let raw: RawAccount<'_> = object(raw)?;
    Ok(AccountEntry {
        service: raw.service.and_then(plain),
        account: raw.account.and_then(plain),
        status: Status {
            code: raw.code.and_then(code),
            description: raw.description.and_then(plain).unwrap_or_default(),
        },
        due: raw.due.and_then(plain),
        currency: raw.currency.and_then(plain),
        due_date: raw.due_date.and_then(plain).unwrap_or_default(),
        customer_name: raw.customer_name.and_then(plain).unwrap_or_default(),
    })
}

fn float(raw: &RawValue) -> Result<FloatEntry, Unreadable> {
    let raw: RawFloat<'_> = object(raw)?;
    Ok(FloatEntry {
        service: raw.service.and_then(plain),
        balance: raw.balance.and_then(plain),
        account_name: raw.account_name.and_then(plain).unwrap_or_default(),
        currency: raw.currency.and_then(plain),
    })
}

/// Reads whole seconds; more digits than a number holds are a very long time.
fn seconds(raw: &RawValue) -> Option<Duration> {
    let text = text(raw)?;
    let digits = text.trim();
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    whole.then(|| Duration::from_secs(digits.parse().unwrap_or(u64::MAX)))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LookupRequest<'a> {
    country_code: &'a str,
    number: &'a str,
}

#[derive(Deserialize)]
struct RawReply<'a> {
    #[serde(borrow, default, rename = "authStatus")]
    auth_status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    results: Option<&'a RawValue>,
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawAccount<'a> {
    #[serde(borrow, default, rename = "serviceCode")]
    service: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "accountNumber")]
    account: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusDescription")]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "dueAmount")]
    due: Option<&'a RawValue>,
    #[serde(borrow, default)]
    currency: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "dueDate")]
    due_date: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "customerName")]
    customer_name: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawFloat<'a> {
    #[serde(borrow, default, rename = "serviceCode")]
    service: Option<&'a RawValue>,
    #[serde(borrow, default)]
    balance: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "floatAccountName")]
    account_name: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "currencyCode")]
    currency: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawToken<'a> {
    #[serde(borrow, default)]
    token_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    expires_in: Option<&'a RawValue>,
    #[serde(borrow, default)]
    access_token: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error_description: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawLookup<'a> {
    #[serde(borrow, default)]
    carrier: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "timeZone")]
    time_zone: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    status_code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "errorCode")]
    error_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "errorDescription")]
    error_description: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawDocument<'a> {
    #[serde(borrow, default)]
    reference: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "documentReference")]
    document_reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}
