//! Replies (section 2.4) and callbacks, read leniently in form and strictly in meaning.
//!
//! Codes may be numbers or numeric text, identifiers too; unknown members are ignored. A member that is there twice,
//! or a body that is cut off, makes the whole body unreadable: what it says is then unknown.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::PUSH_PAYMENT_STATUS;
use crate::domain::GatewayTransactionId;
use crate::gateway::text::clean;

/// Deeper bodies than this are not read; the interface needs five levels.
const DEPTH_MAX: usize = 32;

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
    /// `receiverNarration`.
    pub receiver_narration: Option<String>,
    /// `amount`, as it is written.
    pub amount: Option<String>,
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

/// What a callback brings.
#[derive(Debug)]
pub struct Pushed {
    /// `function`, when there is one.
    pub function: Option<String>,
    /// `payload.packet`.
    pub packet: Entry,
}

impl Pushed {
    /// Returns whether the function is that of a status callback, or not named.
    #[must_use]
    pub fn is_payment_status(&self) -> bool {
        self.function
            .as_deref()
            .is_none_or(|function| function == PUSH_PAYMENT_STATUS)
    }
}

/// Reads the reply to a post or a status query.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_envelope(body: &[u8]) -> Result<Envelope, Unreadable> {
    let raw: RawEnvelope<'_> = read_object(body)?;
    Ok(Envelope {
        auth: raw.auth_status.map(|Object(status)| auth(status)),
        entries: raw.results.map(Items::entries).unwrap_or_default(),
        receipt_number: raw.receipt_number.and_then(unwrapped),
    })
}

/// Reads a callback. Its credentials are not looked at.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_pushed(body: &[u8]) -> Result<Pushed, Unreadable> {
    let raw: RawPushed<'_> = read_object(body)?;
    let Object(payload) = raw.payload.ok_or(Unreadable::OtherForm)?;
    let mut packets = payload.packet.ok_or(Unreadable::OtherForm)?.entries();
    match (packets.pop(), packets.is_empty()) {
        (Some(packet), true) => Ok(Pushed {
            function: raw.function.and_then(plain),
            packet,
        }),
        _ => Err(Unreadable::OtherForm),
    }
}

#[derive(Deserialize)]
struct RawEnvelope<'a> {
    #[serde(borrow, default, rename = "authStatus")]
    auth_status: Option<Object<RawAuth<'a>>>,
    #[serde(borrow, default)]
    results: Option<Items<'a>>,
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
struct RawEntry<'a> {
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
}

#[derive(Deserialize)]
struct RawPushed<'a> {
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<Object<RawPayload<'a>>>,
}

#[derive(Deserialize)]
struct RawPayload<'a> {
    #[serde(borrow, default)]
    packet: Option<Items<'a>>,
}

pub(super) fn auth(raw: RawAuth<'_>) -> Status {
    Status {
        code: raw.code.and_then(code),
        description: raw.description.and_then(plain).unwrap_or_default(),
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

/// An array of entries; a single one stands for an array of one.
struct Items<'a>(Vec<RawEntry<'a>>);

impl Items<'_> {
    fn entries(self) -> Vec<Entry> {
        self.0.into_iter().map(entry).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
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
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_any(OneOrMany).map(Items)
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

fn entry(raw: RawEntry<'_>) -> Entry {
    Entry {
        id: raw.id.and_then(text).map(Cow::into_owned),
        status: Status {
            code: raw.code.and_then(code),
            description: raw.description.and_then(plain).unwrap_or_default(),
        },
        gateway_transaction_id: raw
            .gateway_transaction_id
            .and_then(text)
            // A refused payment has no transaction; gateways then say 0.
            .filter(|id| id.trim() != "0")
            .and_then(|id| GatewayTransactionId::parse(id.trim()).ok()),
        receipt_number: raw.receipt_number.and_then(unwrapped),
        receiver_narration: raw.receiver_narration.and_then(unwrapped),
        amount: raw.amount.and_then(plain),
    }
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

/// Returns a text fit to keep; `None` when it is empty.
pub(super) fn plain(raw: &RawValue) -> Option<String> {
    text(raw)
        .map(|text| clean(&text))
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

/// Returns a plain text, or the texts of a JSON array, which may be inside a text: `"[\"\"]"`.
fn unwrapped(raw: &RawValue) -> Option<String> {
    let list = |json: &str| -> Option<String> {
        let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        let texts: Vec<String> = items.into_iter().filter_map(plain).collect();
        Some(clean(&texts.join(", ")))
    };
    let unwrapped = if raw.get().starts_with('[') {
        list(raw.get())
    } else {
        text(raw).map(|text| {
            Some(text.trim())
                .filter(|text| text.starts_with('['))
                .and_then(list)
                .unwrap_or_else(|| clean(&text))
        })
    };
    unwrapped.filter(|text| !text.is_empty())
}
