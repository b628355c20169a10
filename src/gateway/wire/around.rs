//! The operations around the payments: bills, accounts, float, tokens, lookups, documents.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use serde::de::{IgnoredAny, SeqAccess, Visitor};

use super::reply::{
    ENTRIES_MAX, RawAuth, Status, Unreadable, auth, code, object, plain, read_object, read_raw,
    status, text,
};
use crate::gateway::operations::{LookupInquiry, NetworkOf};
use crate::gateway::scrub::Scrub;

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
    /// `refresh_token`: not used, and as secret.
    pub refresh_token: Option<SecretString>,
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
pub fn read_accounts(body: &[u8], scrub: &Scrub) -> Result<AccountReply, Unreadable> {
    let raw = read_raw(body)?;
    if raw.get().starts_with('[') {
        return Ok(AccountReply {
            auth: None,
            entries: listed(raw, |raw| account(raw, scrub))?,
        });
    }
    let raw: RawReply<'_> = object(raw)?;
    let entries = raw.results.ok_or(Unreadable::OtherForm);
    let auth = raw.auth_status.map(|raw| auth_of(raw, scrub)).transpose()?;
    let entries = match (entries, &auth) {
        (Ok(results), _) => listed(results, |raw| account(raw, scrub))?,
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
pub fn read_float(body: &[u8], scrub: &Scrub) -> Result<FloatReply, Unreadable> {
    let raw = read_raw(body)?;
    if raw.get().starts_with('[') {
        return Ok(FloatReply {
            auth: None,
            entries: listed(raw, |raw| float(raw, scrub))?,
        });
    }
    let raw: RawReply<'_> = object(raw)?;
    let auth = raw.auth_status.map(|raw| auth_of(raw, scrub)).transpose()?;
    let denied = raw.success.is_some_and(|success| success.get() == "false");
    let data = raw.data.filter(|data| data.get() != "null" && !denied);
    let known =
        auth.is_some() || raw.results.is_some() || raw.data.is_some() || raw.success.is_some();
    let mut entries = match raw.results {
        Some(results) => listed(results, |raw| float(raw, scrub))?,
        None => Vec::new(),
    };
    if let Some(data) = data.filter(|_| entries.is_empty()) {
        entries = listed(data, |raw| float(raw, scrub))?;
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
pub fn read_token(body: &[u8], scrub: &Scrub) -> Result<TokenReply, Unreadable> {
    let raw: RawToken<'_> = read_object(body)?;
    if let Some(error) = raw.error.and_then(|raw| plain(raw, scrub)) {
        return Ok(TokenReply::Refused {
            error,
            description: raw
                .error_description
                .and_then(|raw| plain(raw, scrub))
                .unwrap_or_default(),
        });
    }
    let token = raw.access_token.filter(|raw| raw.get().starts_with('"'));
    let token = token.and_then(text).filter(|token| !token.is_empty());
    Ok(TokenReply::Issued(IssuedToken {
        access_token: SecretString::from(token.ok_or(Unreadable::OtherForm)?.into_owned()),
        refresh_token: raw
            .refresh_token
            .and_then(text)
            .map(|token| SecretString::from(token.into_owned())),
        lifetime: raw.expires_in.and_then(seconds),
        is_bearer: raw
            .token_type
            .and_then(|raw| plain(raw, scrub))
            .is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")),
    }))
}

/// Reads the reply of the network lookup.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_lookup(body: &[u8], scrub: &Scrub) -> Result<LookupReply, Unreadable> {
    let raw: RawLookup<'_> = read_object(body)?;
    let known = |raw: &RawValue| raw.get() != "null";
    if raw.error_code.is_some_and(known) || raw.error_description.is_some_and(known) {
        return Ok(LookupReply::Refused {
            code: raw.error_code.and_then(code),
            said: raw
                .error_description
                .and_then(|raw| plain(raw, scrub))
                .unwrap_or_default(),
        });
    }
    if let Some(carrier) = raw.carrier.and_then(|raw| plain(raw, scrub)) {
        return Ok(LookupReply::Network(NetworkOf {
            carrier,
            time_zone: raw
                .time_zone
                .and_then(|raw| plain(raw, scrub))
                .unwrap_or_default(),
        }));
    }
    let status = raw.status_code.and_then(code);
    let said = raw
        .message
        .and_then(|raw| plain(raw, scrub))
        .unwrap_or_default();
    match status {
        Some(TOKEN_EXPIRED) => Ok(LookupReply::Expired(said)),
        None if said.is_empty() => Err(Unreadable::OtherForm),
        code => Ok(LookupReply::Refused { code, said }),
    }
}

/// Returns whether a body says that the token has expired (section 7.4): where it came with a request that asks for no
/// authentication but a token's, and where the same number would mean "authenticated".
#[must_use]
pub fn is_token_expired(body: &[u8]) -> bool {
    let Ok(raw) = read_object::<RawExpiry<'_>>(body) else {
        return false;
    };
    let known = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get() != "null");
    let denied = raw
        .success
        .is_some_and(|raw| text(raw).map_or(raw.get() == "false", |text| text.trim() == "false"));
    let speaks_of_payments = known(raw.auth_status) || known(raw.results) || known(raw.data);
    denied && raw.status_code.and_then(code) == Some(TOKEN_EXPIRED) && !speaks_of_payments
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

fn auth_of(raw: &RawValue, scrub: &Scrub) -> Result<Status, Unreadable> {
    object::<RawAuth<'_>>(raw).map(|raw| auth(raw, scrub))
}

/// Reads an array of entries; a single one stands for an array of one.
fn listed<T>(
    raw: &RawValue,
    read: impl Fn(&RawValue) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    if raw.get().starts_with('{') {
        return Ok(vec![read(raw)?]);
    }
    let Items(items) = serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)?;
    if items.len() > ENTRIES_MAX {
        return Err(Unreadable::TooMany);
    }
    items.into_iter().map(read).collect()
}

/// The items of an array; of too many, one more than there may be.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;

        impl<'de> Visitor<'de> for Bounded {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("entries")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Items<'de>, A::Error> {
                let mut kept = Vec::new();
                while let Some(item) = items.next_element()? {
                    kept.push(item);
                    if kept.len() > ENTRIES_MAX {
                        while items.next_element::<IgnoredAny>()?.is_some() {}
                    }
                }
                Ok(Items(kept))
            }
        }

        deserializer.deserialize_seq(Bounded)
    }
}

fn account(raw: &RawValue, scrub: &Scrub) -> Result<AccountEntry, Unreadable> {
    let raw: RawAccount<'_> = object(raw)?;
    Ok(AccountEntry {
        service: raw.service.and_then(compared),
        account: raw.account.and_then(compared),
        status: status(raw.code, raw.description, scrub),
        due: raw.due.and_then(|raw| number(raw, scrub)),
        currency: raw.currency.and_then(|raw| plain(raw, scrub)),
        due_date: raw
            .due_date
            .and_then(|raw| plain(raw, scrub))
            .unwrap_or_default(),
        customer_name: raw
            .customer_name
            .and_then(|raw| plain(raw, scrub))
            .unwrap_or_default(),
    })
}

fn float(raw: &RawValue, scrub: &Scrub) -> Result<FloatEntry, Unreadable> {
    let raw: RawFloat<'_> = object(raw)?;
    Ok(FloatEntry {
        service: raw.service.and_then(compared),
        balance: raw.balance.and_then(|raw| number(raw, scrub)),
        account_name: raw
            .account_name
            .and_then(|raw| plain(raw, scrub))
            .unwrap_or_default(),
        currency: raw.currency.and_then(|raw| plain(raw, scrub)),
    })
}

/// Returns a text that is compared with ours and not kept.
fn compared(raw: &RawValue) -> Option<String> {
    plain(raw, &Scrub::nothing())
}

/// Returns an amount as it is written. One that happens to have the digits of a password is an amount all the same.
fn number(raw: &RawValue, scrub: &Scrub) -> Option<String> {
    let is_number = |text: &String| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte))
    };
    compared(raw)
        .filter(is_number)
        .or_else(|| plain(raw, scrub))
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
    refresh_token: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error_description: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawExpiry<'a> {
    #[serde(borrow, default, rename = "authStatus")]
    auth_status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    results: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    status_code: Option<&'a RawValue>,
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
