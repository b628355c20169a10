//! Requests as they arrive, read leniently in form and exactly in content.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// JSON as it arrived.
pub(in crate::sandbox) type Raw = RawValue;

/// How much of a JSON error is told, in characters: it may quote the value it is about.
const ERROR_MAX: usize = 160;

/// The envelope of every operation.
#[derive(Deserialize)]
pub(in crate::sandbox) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub function: Cow<'a, str>,
    #[serde(borrow, default, rename = "countryCode")]
    pub country: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// `payload`.
#[derive(Deserialize)]
pub(in crate::sandbox) struct Payload<'a> {
    #[serde(borrow)]
    credentials: Option<&'a RawValue>,
    #[serde(borrow)]
    pub packet: Option<&'a RawValue>,
}

/// `payload.credentials`.
#[derive(Deserialize)]
pub(in crate::sandbox) struct Credentials<'a> {
    #[serde(borrow, default)]
    pub username: Cow<'a, str>,
    #[serde(borrow, default)]
    pub password: Cow<'a, str>,
}

impl<'a> Envelope<'a> {
    pub fn read(body: &'a [u8]) -> Result<Self, String> {
        let wrong = |why: &str| format!("The request is not valid JSON of the interface: {why}");
        let text = std::str::from_utf8(body).map_err(|_| wrong("it is not UTF-8"))?;
        object(text).map_err(|why| wrong(&why))
    }

    pub fn payload(&self) -> Result<Payload<'a>, String> {
        let payload = self.payload.ok_or("payload is missing")?;
        object(payload.get()).map_err(|why| format!("payload: {why}"))
    }
}

impl<'a> Payload<'a> {
    /// Returns the credentials, `None` when there are none.
    pub fn credentials(&self) -> Result<Option<Credentials<'a>>, String> {
        self.credentials
            .map(|raw| object(raw.get()).map_err(|why| format!("payload.credentials: {why}")))
            .transpose()
    }
}

/// One entry of `payload.packet` of a post (section 2.3). Members that decide nothing here are not read.
#[derive(Deserialize)]
pub(in crate::sandbox) struct PostPacket<'a> {
    #[serde(borrow, default, rename = "serviceCode")]
    pub service: Cow<'a, str>,
    #[serde(borrow, default, rename = "MSISDN")]
    pub msisdn: Cow<'a, str>,
    #[serde(borrow, default, rename = "accountNumber")]
    pub account: Cow<'a, str>,
    #[serde(borrow, default, rename = "payerTransactionID")]
    pub id: Cow<'a, str>,
    /// As written: a binary float would change it.
    #[serde(borrow)]
    pub amount: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "currencyCode")]
    pub currency: Cow<'a, str>,
    #[serde(borrow, default, rename = "countryCode")]
    pub country: Cow<'a, str>,
    #[serde(borrow, rename = "datePaymentReceived")]
    pub date: Option<Cow<'a, str>>,
    /// Some deployments take the reference here instead of in `extraData`.
    #[serde(rename = "supportDocument")]
    pub support_document: Option<Value>,
    #[serde(borrow, rename = "extraData")]
    pub extra: Option<&'a RawValue>,
}

/// One entry of `payload.packet` of a status query.
#[derive(Deserialize)]
pub(in crate::sandbox) struct QueryPacket<'a> {
    #[serde(borrow, default, rename = "payerTransactionID")]
    pub id: Cow<'a, str>,
}

/// One entry of `payload.packet` of a bill query, an account validation or a float query.
#[derive(Deserialize)]
pub(in crate::sandbox) struct AccountPacket<'a> {
    #[serde(borrow, default, rename = "serviceCode")]
    pub service: Cow<'a, str>,
    #[serde(borrow, default, rename = "accountNumber")]
    pub account: Cow<'a, str>,
    #[serde(borrow, default, rename = "payerTransactionID")]
    pub id: Cow<'a, str>,
}

/// The members of `extraData` that decide something here.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sandbox) struct Extra {
    #[serde(default)]
    pub push_to_originator: bool,
    #[serde(default)]
    pub callback_url: String,
    pub destination_bank_code: Option<Value>,
    pub destination_bank_name: Option<Value>,
    /// The same as the name in a sample request (section 2.3).
    pub destination_bank: Option<Value>,
    pub destination_account_name: Option<Value>,
    pub destination_account_no: Option<Value>,
    pub support_document: Option<Value>,
}

impl Extra {
    /// Reads `extraData`, an object or an object in an escaped string.
    pub fn read(extra: Option<&RawValue>) -> Result<Self, String> {
        match extra.map(RawValue::get) {
            None | Some("null" | "\"\"") => Ok(Self::default()),
            Some(text) if text.starts_with('"') => {
                let inner: String = serde_json::from_str(text).map_err(|error| brief(&error))?;
                object(inner.trim_start())
            }
            Some(text) => object(text),
        }
    }
}

/// Reads the packets with the bytes of each.
pub(in crate::sandbox) fn packets<'a, P: Deserialize<'a>>(
    packet: Option<&'a RawValue>,
) -> Result<Vec<(P, &'a str)>, String> {
    let packet = packet.ok_or("payload.packet is missing")?;
    let raw: Vec<&RawValue> = serde_json::from_str(packet.get())
        .map_err(|_| "payload.packet is not an array of objects".to_owned())?;
    if raw.is_empty() {
        return Err("payload.packet is empty".to_owned());
    }
    raw.into_iter()
        .map(|raw| match object(raw.get()) {
            Ok(packet) => Ok((packet, raw.get())),
            Err(why) => Err(format!("payload.packet: {why}")),
        })
        .collect()
}

/// Reads a JSON object. Without the look at its start, an array would do for its members in their order.
pub(in crate::sandbox) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| brief(&error))
    } else {
        Err("is not an object".to_owned())
    }
}

fn brief(error: &serde_json::Error) -> String {
    error.to_string().chars().take(ERROR_MAX).collect()
}
