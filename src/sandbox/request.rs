//! Requests as they arrive, read leniently in form and exactly in content.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// JSON as it arrived.
pub(super) type Raw = RawValue;

/// The envelope of every operation.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub function: Cow<'a, str>,
    #[serde(borrow, default, rename = "countryCode")]
    pub country: Cow<'a, str>,
    #[serde(borrow)]
    pub payload: Option<Payload<'a>>,
}

/// `payload`.
#[derive(Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub credentials: Option<Credentials<'a>>,
    #[serde(borrow)]
    pub packet: Option<&'a RawValue>,
}

/// `payload.credentials`.
#[derive(Deserialize)]
pub(super) struct Credentials<'a> {
    #[serde(borrow, default)]
    pub username: Cow<'a, str>,
    #[serde(borrow, default)]
    pub password: Cow<'a, str>,
}

/// One entry of `payload.packet` of a post (section 2.3). Members that decide nothing here are not read.
#[derive(Deserialize)]
pub(super) struct PostPacket<'a> {
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
    #[serde(borrow, rename = "extraData")]
    pub extra: Option<&'a RawValue>,
}

/// One entry of `payload.packet` of a status query.
#[derive(Deserialize)]
pub(super) struct QueryPacket<'a> {
    #[serde(borrow, default, rename = "payerTransactionID")]
    pub id: Cow<'a, str>,
}

/// The members of `extraData` that ask for a callback.
#[derive(Default, Deserialize)]
pub(super) struct CallbackRequest {
    #[serde(default, rename = "pushToOriginator")]
    pub wanted: bool,
    #[serde(default, rename = "callbackUrl")]
    pub url: String,
}

/// Reads the packets with the bytes of each.
pub(super) fn packets<'a, P: Deserialize<'a>>(
    packet: Option<&'a RawValue>,
) -> Result<Vec<(P, &'a str)>, String> {
    let packet = packet.ok_or("payload.packet is missing")?;
    let raw: Vec<&RawValue> = serde_json::from_str(packet.get())
        .map_err(|_| "payload.packet is not an array of objects".to_owned())?;
    if raw.is_empty() {
        return Err("payload.packet is empty".to_owned());
    }
    raw.into_iter()
        .map(|raw| match serde_json::from_str(raw.get()) {
            Ok(packet) => Ok((packet, raw.get())),
            Err(error) => Err(format!("payload.packet: {error}")),
        })
        .collect()
}

impl CallbackRequest {
    /// Reads `extraData`, an object or an object in an escaped string.
    pub fn read(extra: Option<&RawValue>) -> Result<Self, serde_json::Error> {
        match extra.map(RawValue::get) {
            None | Some("null" | "\"\"") => Ok(Self::default()),
            Some(text) if text.starts_with('"') => {
                serde_json::from_str(&serde_json::from_str::<String>(text)?)
            }
            Some(text) => serde_json::from_str(text),
        }
    }
}
