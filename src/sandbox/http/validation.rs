//! The fields of a post, judged one after another (sections 2.3, 4.5 and 7.2).

use std::collections::BTreeSet;

use serde_json::Value;

use super::codes::Refusal;
use super::request::{Extra, PostPacket};
use crate::domain::{Amount, AmountError, Country, Money, PaymentKind};
use crate::sandbox::books::documents::Documents;
use crate::sandbox::books::event::Post;
use crate::sandbox::faults::plan::fnv;
use crate::sandbox::options::Service;
use crate::sandbox::rules::accounts::{BillAccount, bill_account};

/// The longest `payerTransactionID` that is kept, in bytes.
pub(in crate::sandbox) const ID_MAX: usize = 128;
/// The longest account number and callback address that are kept, in bytes.
const FIELD_MAX: usize = 2048;
/// From how many cents of KES on an RTGS transfer needs a supporting document (section 8).
const DOCUMENT_FROM_MINOR: i64 = 100_000_000;

/// Calling codes of the countries that the interface document names.
const CALLING_CODES: [(&str, &str); 6] = [
    ("KE", "254"),
    ("UG", "256"),
    ("TZ", "255"),
    ("NG", "234"),
    ("GH", "233"),
    ("RW", "250"),
];

/// Returns the valid post, or what refuses it.
pub(in crate::sandbox) fn validate(
    packet: &PostPacket<'_>,
    bytes: &str,
    services: &[Service],
    documents: &Documents,
    required_of_banks: &BTreeSet<String>,
) -> Result<Post, Refusal> {
    let service = services
        .iter()
        .find(|service| service.code == packet.service)
        .ok_or(167_u16)?;
    if !service.active {
        return Err(106.into());
    }
    check_country(&packet.country)?;
    check_msisdn(&packet.msisdn, &packet.country)?;
    if packet.account.trim().is_empty() {
        return Err(120.into());
    }
    if packet.currency != service.currency.code() {
        return Err(115.into());
    }
    let money = Money {
        amount: read_amount(packet, service)?,
        currency: service.currency,
    };
    check_date(packet.date.as_deref())?;
    let extra =
        Extra::read(packet.extra).map_err(|why| Refusal::of_field(format!("extraData: {why}")))?;
    for (name, text) in [
        ("accountNumber", packet.account.as_ref()),
        ("extraData.callbackUrl", &extra.callback_url),
    ] {
        if text.len() > FIELD_MAX {
            return Err(Refusal::of_field(format!(
                "{name} is longer than {FIELD_MAX} bytes"
            )));
        }
    }
    match service.kind {
        PaymentKind::MobileMoney | PaymentKind::Airtime | PaymentKind::BillPrepaid => {}
        PaymentKind::Bank => check_bank(&extra, required_of_banks)?,
        PaymentKind::Rtgs => {
            check_bank(&extra, required_of_banks)?;
            check_document(packet, &extra, money, documents)?;
        }
        PaymentKind::BillPostpaid => match bill_account(&packet.account) {
            BillAccount::Due(_) => {}
            BillAccount::Invalid | BillAccount::Settled => return Err(146.into()),
        },
    }
    let wanted = extra.push_to_originator && !extra.callback_url.is_empty();
    Ok(Post {
        id: packet.id.as_ref().into(),
        service: packet.service.as_ref().into(),
        kind: service.kind,
        money,
        msisdn: packet.msisdn.as_ref().into(),
        account: packet.account.as_ref().into(),
        callback: wanted.then(|| extra.callback_url.into_boxed_str()),
        digest: digest(bytes),
    })
}

/// Judges the identifier by itself: without one there is nothing to keep a refusal under.
pub(in crate::sandbox) fn check_id(id: &str) -> Result<(), Refusal> {
    match id.len() {
        0 => Err(Refusal::of_field("payerTransactionID is missing")),
        1..=ID_MAX => Ok(()),
        _ => Err(Refusal::of_field(format!(
            "payerTransactionID is longer than {ID_MAX} bytes"
        ))),
    }
}

/// Digest of a packet's bytes.
pub(in crate::sandbox) fn digest(bytes: &str) -> u64 {
    fnv(0xcbf2_9ce4_8422_2325, bytes.as_bytes())
}

/// Judges `countryCode`, of a packet or of the request.
pub(in crate::sandbox) fn check_country(code: &str) -> Result<(), Refusal> {
    if code.is_empty() {
        Err(Refusal::of_field("countryCode is missing"))
    } else if Country::from_code(code).is_none() {
        Err(Refusal::of_field(
            "countryCode is not a two-letter ISO 3166 code",
        ))
    } else {
        Ok(())
    }
}

fn check_msisdn(msisdn: &str, country: &str) -> Result<(), Refusal> {
    if msisdn.trim().is_empty() {
        return Err(109.into());
    }
    let digits = msisdn.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = CALLING_CODES
        .iter()
        .find(|(code, _)| *code == country)
        .map_or("", |(_, prefix)| prefix);
    let international = !msisdn.starts_with('0') && msisdn.starts_with(prefix);
    if digits && international && (10..=15).contains(&msisdn.len()) {
        Ok(())
    } else {
        Err(110.into())
    }
}

fn read_amount(packet: &PostPacket<'_>, service: &Service) -> Result<Amount, Refusal> {
    let text = packet.amount.ok_or(111_u16)?.get();
    // Some clients send the number as a string.
    let text = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(text);
    match Amount::parse(text, service.currency) {
        Ok(amount) if amount > service.max => Err(231.into()),
        Ok(amount) if amount < service.min => Err(232.into()),
        Ok(amount) => Ok(amount),
        Err(AmountError::TooLarge) => Err(231.into()),
        Err(_) => Err(111.into()),
    }
}

/// Takes `yyyy-mm-dd hh:mm:ss`, or the empty text that section 2.3 has seen in a request for airtime.
fn check_date(date: Option<&str>) -> Result<(), Refusal> {
    let date = date.ok_or_else(|| Refusal::of_field("datePaymentReceived is missing"))?;
    // The parser alone would take fields without their leading zeros.
    let form = "0000-00-00 00:00:00".bytes();
    let exact = date.len() == form.len()
        && date
            .bytes()
            .zip(form)
            .all(|(found, expected)| match expected {
                b'0' => found.is_ascii_digit(),
                mark => found == mark,
            })
        && jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", date).is_ok();
    if date.is_empty() || exact {
        Ok(())
    } else {
        Err(Refusal::of_field(
            "datePaymentReceived is not a date of the form yyyy-mm-dd hh:mm:ss",
        ))
    }
}

fn check_bank(extra: &Extra, required: &BTreeSet<String>) -> Result<(), Refusal> {
    let name = extra.destination_bank_name.as_ref();
    for (key, value) in [
        ("destinationBankCode", extra.destination_bank_code.as_ref()),
        (
            "destinationBankName",
            name.or(extra.destination_bank.as_ref()),
        ),
        (
            "destinationAccountName",
            extra.destination_account_name.as_ref(),
        ),
        (
            "destinationAccountNo",
            extra.destination_account_no.as_ref(),
        ),
    ] {
        match value {
            Some(Value::String(text)) if !text.trim().is_empty() => {}
            Some(Value::Number(_)) => {}
            None | Some(Value::Null | Value::String(_)) if !required.contains(key) => {}
            None | Some(Value::Null | Value::String(_)) => {
                return Err(Refusal::of_field(format!("extraData.{key} is missing")));
            }
            Some(_) => return Err(Refusal::of_field(format!("extraData.{key} is not a text"))),
        }
    }
    Ok(())
}

/// Section 4.5: without its document a large transfer is rejected outright (141).
fn check_document(
    packet: &PostPacket<'_>,
    extra: &Extra,
    money: Money,
    documents: &Documents,
) -> Result<(), Refusal> {
    if money.currency.code() != "KES" || money.amount.minor() < DOCUMENT_FROM_MINOR {
        return Ok(());
    }
    let rejected = |why: &str| Refusal {
        code: 141,
        why: Some(format!("Payment rejected: {why}")),
    };
    let named = [&extra.support_document, &packet.support_document];
    let mut named = named
        .into_iter()
        .filter_map(Option::as_ref)
        .filter(|value| !matches!(value, Value::Null) && value.as_str() != Some(""));
    let Some(reference) = named.next() else {
        return Err(rejected(
            "supportDocument is missing for an amount of KES 1,000,000 and above",
        ));
    };
    if named.any(|other| other != reference) {
        return Err(rejected(
            "supportDocument in extraData and in the packet differ",
        ));
    }
    let Some(document) = documents.of(&packet.id) else {
        return Err(rejected(
            "no document was uploaded under this payerTransactionID",
        ));
    };
    if reference.as_str() == Some(&*document.reference) {
        Ok(())
    } else {
        Err(rejected(
            "supportDocument is not the reference of the document that was uploaded under this payerTransactionID",
        ))
    }
}
