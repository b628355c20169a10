//! Replies (section 2.4) and callbacks, read leniently in form and strictly in meaning.
//!
//! Codes may be numbers or numeric text, identifiers too; unknown members are ignored. A member that is there twice,
//! or a body that is cut off, makes the whole body unreadable: what it says is then unknown.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::text::{clean, kept_whole};
use crate::domain::{GatewayTransactionId, Member, Named};
use crate::gateway::scrub::Scrub;

/// Deeper bodies than this are not read; the interface needs five levels.
const DEPTH_MAX: usize = 32;
/// A reply that lists more than this is not read: an entry takes more memory than the two bytes of an empty one.
pub(super) const ENTRIES_MAX: usize = 10_000;
/// The longest `receiverNarration` and `receiptNumber` that are kept whole, in bytes.
const WHOLE_MAX: usize = 64 * 1024;

/// Why a body says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is none.
    #[error("an empty reply")]
    Empty,
    /// It is no JSON.
    #[error("a reply that is not JSON")]
    NotJson,
    /// It ends too early.
    #[error("a truncated reply")]
    Truncated,
    /// It is nested more deeply than any reply needs.
    #[error("a reply nested too deeply")]
    TooDeep,
    /// It is JSON, but not the interface's: another form, or a member twice.
    #[error("a reply of another form")]
    OtherForm,
    /// It lists more than any request asks for.
    #[error("a reply with more than {ENTRIES_MAX} entries")]
    TooMany,
}

/// The reply to a post or to a status query.
#[derive(Debug)]
pub struct Envelope {
    /// `authStatus`; `None` when the reply has none.
    pub auth: Option<Status>,
    /// `results`, in the order they came.
    pub entries: Vec<Entry>,
    /// A `receiptNumber` beside the results.
    pub receipt_number: Option<String>,
}

/// A code with its text.
#[derive(Debug, PartialEq, Eq)]
pub struct Status {
    /// The code; `None` when there is none that can be read.
    pub code: Option<i32>,
    /// The text.
    pub description: String,
}

/// One entry of `results`, or the packet of a callback.
pub struct Entry {
    /// `payerTransactionID`, as it is.
    pub id: Option<String>,
    /// `statusCode` and `statusDescription`.
    pub status: Status,
    /// `gatewayTransactionID`.
    pub gateway_transaction_id: Option<GatewayTransactionId>,
    /// `receiptNumber`.
    pub receipt_number: Option<String>,
    /// `receiverNarration`, as it came.
    pub receiver_narration: Option<String>,
    /// What it names of the payment beside its identifier, as it is written.
    pub named: Vec<Named>,
    /// What of it was too long to be kept whole.
    pub cut: Option<String>,
}

// The narration may be a prepaid token.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("id", &self.id)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Reads the reply to a post or a status query, our secrets left out of it.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_envelope(body: &[u8], scrub: &Scrub) -> Result<Envelope, Unreadable> {
    let raw: RawEnvelope<'_> = read_object(body)?;
    let Items(items): Items<'_, ENTRIES_MAX> = raw.results.unwrap_or_default();
    if items.len() > ENTRIES_MAX {
        return Err(Unreadable::TooMany);
    }
    Ok(Envelope {
        auth: raw.auth_status.map(|Object(status)| auth(status, scrub)),
        entries: items.into_iter().map(|raw| entry(raw, scrub)).collect(),
        receipt_number: raw
            .receipt_number
            .and_then(|raw| receipt(raw, scrub, &mut None)),
    })
}

#[derive(Deserialize)]
struct RawEnvelope<'a> {
    #[serde(borrow, default, rename = "authStatus")]
    auth_status: Option<Object<RawAuth<'a>>>,
    #[serde(borrow, default)]
    results: Option<Items<'a, ENTRIES_MAX>>,
    #[serde(borrow, default, rename = "receiptNumber")]
    receipt_number: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct RawAuth<'a> {
    #[serde(borrow, default, rename = "authStatusCode")]
    code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "authStatusDescription")]
    description: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct RawEntry<'a> {
    #[serde(borrow, default, rename = "payerTransactionID")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusDescription")]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "gatewayTransactionID")]
    gateway_transaction_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "receiptNumber")]
    receipt_number: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "receiverNarration")]
    receiver_narration: Option<&'a RawValue>,
    #[serde(borrow, default)]
    amount: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "currencyCode")]
    currency_code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    currency: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "MSISDN")]
    msisdn: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "msisdn")]
    msisdn_in_small: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "accountNumber")]
    account: Option<&'a RawValue>,
}

pub(super) fn auth(raw: RawAuth<'_>, scrub: &Scrub) -> Status {
    status(raw.code, raw.description, scrub)
}

/// Reads a code and its text.
pub(super) fn status(
    number: Option<&RawValue>,
    description: Option<&RawValue>,
    scrub: &Scrub,
) -> Status {
    Status {
        code: number.and_then(code),
        description: description
            .and_then(|raw| plain(raw, scrub))
            .unwrap_or_default(),
    }
}

/// An object. A derived reader alone takes an array for one, member by member; the interface does not.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// An array of entries, or one that stands for an array of one. Of more than `MAX`, one more than that is kept: a body of
/// nothing but brackets is not allowed to take a hundred times its own memory.
#[derive(Default)]
struct Items<'a, const MAX: usize>(Vec<RawEntry<'a>>);

impl<'de: 'a, 'a, const MAX: usize> Deserialize<'de> for Items<'a, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany<const MAX: usize>;

        impl<'de, const MAX: usize> Visitor<'de> for OneOrMany<MAX> {
            type Value = Vec<RawEntry<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("entries")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
                RawEntry::deserialize(MapAccessDeserializer::new(members)).map(|one| vec![one])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(Object(entry)) = items.next_element()? {
                    entries.push(entry);
                    if entries.len() > MAX {
                        // The rest is read as what it is, and not kept.
                        while items.next_element::<IgnoredAny>()?.is_some() {}
                    }
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_any(OneOrMany::<MAX>).map(Items)
    }
}

pub(super) fn read_object<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Unreadable> {
    let body = bare(body)?;
    // Text as a whole, as members that nobody reads are not looked at for that.
    let read = str::from_utf8(body).ok().map(serde_json::from_str);
    match read {
        Some(Ok(Object(object))) => Ok(object),
        // Of a body that says nothing it is told whether it is JSON at all.
        Some(Err(_)) | None => Err(json(body).err().unwrap_or(Unreadable::OtherForm)),
    }
}

pub(super) fn read_raw(body: &[u8]) -> Result<&RawValue, Unreadable> {
    json(bare(body)?)
}

/// Returns what is to be parsed.
fn bare(body: &[u8]) -> Result<&[u8], Unreadable> {
    let body = body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(body)
        .trim_ascii();
    if body.is_empty() {
        return Err(Unreadable::Empty);
    }
    if is_deeper_than(body, DEPTH_MAX) {
        return Err(Unreadable::TooDeep);
    }
    Ok(body)
}

fn json(body: &[u8]) -> Result<&RawValue, Unreadable> {
    serde_json::from_slice(body).map_err(|error| {
        if error.is_eof() {
            Unreadable::Truncated
        } else {
            Unreadable::NotJson
        }
    })
}

// Checked before anything is parsed, so that no member, known or not, can be nested without bound.
fn is_deeper_than(body: &[u8], limit: usize) -> bool {
    // Almost no reply opens as many, and counting is quick.
    if memchr::memchr2_iter(b'{', b'[', body).count() <= limit {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in body {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

// A derived reader takes an array for an object, member by member; the interface does not.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Unreadable> {
    if raw.get().starts_with('{') {
        serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)
    } else {
        Err(Unreadable::OtherForm)
    }
}

/// Reads one entry, our secrets left out of it.
pub(super) fn entry(raw: RawEntry<'_>, scrub: &Scrub) -> Entry {
    let mut cut = None;
    Entry {
        id: raw.id.and_then(text).map(Cow::into_owned),
        status: status(raw.code, raw.description, scrub),
        gateway_transaction_id: raw
            .gateway_transaction_id
            .and_then(text)
            // A refused payment has no transaction; gateways then say 0.
            .filter(|id| id.trim() != "0")
            // An identifier that holds a secret is none that may be kept, or told again.
            .filter(|id| scrub.text(id) == *id)
            .and_then(|id| GatewayTransactionId::parse(id.trim()).ok()),
        receipt_number: raw
            .receipt_number
            .and_then(|raw| receipt(raw, scrub, &mut cut)),
        receiver_narration: raw
            .receiver_narration
            .and_then(|raw| whole(raw, "receiverNarration", scrub, &mut cut)),
        named: named(
            [
                (Member::Amount, raw.amount),
                (Member::Currency, raw.currency_code),
                (Member::Currency, raw.currency),
                (Member::Msisdn, raw.msisdn),
                (Member::Msisdn, raw.msisdn_in_small),
                (Member::Account, raw.account),
            ],
            scrub,
        ),
        cut,
    }
}

fn named(members: [(Member, Option<&RawValue>); 6], scrub: &Scrub) -> Vec<Named> {
    // A number that happens to have the digits of a password is compared all the same.
    let is_number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-., ".contains(&byte))
    };
    let read = |(member, raw): (Member, Option<&RawValue>)| {
        let raw = raw?;
        Some(Named {
            member,
            text: match text(raw)? {
                number if is_number(&number) => clean(&number),
                words => clean(&scrub.text(&words)),
            },
            is_number: !raw.get().starts_with('"'),
        })
    };
    members
        .into_iter()
        .filter_map(read)
        .filter(|named| !named.text.is_empty())
        .collect()
}

/// Returns a text, or a number digit by digit; `None` for anything else.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    match json.as_bytes().first()? {
        b'"' => match json.get(1..json.len() - 1) {
            // Read already as JSON: without an escape a text is what stands between its quotes.
            Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
            _ => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
        },
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(json)),
        _ => None,
    }
}

/// Returns a text fit to keep, without our secrets; `None` when it is empty.
pub(super) fn plain(raw: &RawValue, scrub: &Scrub) -> Option<String> {
    text(raw)
        // Before it is cut: half of a secret is not recognised.
        .map(|text| clean(&scrub.text(&text)))
        .filter(|text| !text.is_empty())
}

/// Returns a whole number that is not negative, written without sign, point, exponent or leading zero.
pub(super) fn code(raw: &RawValue) -> Option<i32> {
    let text = text(raw)?;
    let digits = text.trim();
    let canonical = digits.bytes().all(|b| b.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'));
    canonical.then(|| digits.parse().ok()).flatten()
}

/// Returns what came under a name, whatever its form, whole and as it is: it may be money. `None` when it says nothing.
fn whole(raw: &RawValue, name: &str, scrub: &Scrub, cut: &mut Option<String>) -> Option<String> {
    let json = raw.get();
    let said = match json.as_bytes().first()? {
        b'n' => return None,
        b'"' => text(raw)?,
        _ => Cow::Borrowed(json),
    };
    // An array of nothing, in a text or not, is nothing.
    let says = |c: char| !(c.is_whitespace() || c.is_control() || "[]{}\"\\,:".contains(c));
    if !said.contains(says) {
        return None;
    }
    let said = scrub.text(&said);
    if said.len() > WHOLE_MAX {
        *cut = Some(format!(
            "{name} is {} bytes long: the first {WHOLE_MAX} are kept",
            said.len()
        ));
    }
    Some(kept_whole(&said, WHOLE_MAX))
}

/// Returns a receipt: a text, or the texts of a JSON array, which may be inside a text: `"[\"\"]"`. Any other form is kept
/// as it came.
fn receipt(raw: &RawValue, scrub: &Scrub, cut: &mut Option<String>) -> Option<String> {
    let list = |json: &str| -> Option<String> {
        // As many as there can be of these in what is kept.
        if json.len() > WHOLE_MAX {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        let some = items.into_iter().filter(|raw| raw.get() != "null");
        let texts: Option<Vec<Cow<'_, str>>> = some.map(text).collect();
        let texts = texts?;
        let said: Vec<&str> = texts
            .iter()
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        Some(kept_whole(&scrub.text(&said.join(", ")), WHOLE_MAX))
    };
    let listed = if raw.get().starts_with('[') {
        list(raw.get())
    } else {
        text(raw).and_then(|text| list(Some(text.trim()).filter(|text| text.starts_with('['))?))
    };
    listed
        .or_else(|| whole(raw, "receiptNumber", scrub, cut))
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}
