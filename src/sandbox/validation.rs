//! The fields of a post, judged one after another (section 7.2).

use super::codes::FAILURE;
use super::event::Post;
use super::faults::fnv;
use super::options::Service;
use super::request::{CallbackRequest, PostPacket};
use crate::domain::{Amount, AmountError, Money};

/// The longest `payerTransactionID` that is kept, in bytes.
pub(super) const ID_MAX: usize = 128;
/// The longest account number and callback address that are kept, in bytes.
const FIELD_MAX: usize = 2048;

/// Calling codes of the countries that the interface document names.
const CALLING_CODES: [(&str, &str); 6] = [
    ("KE", "254"),
    ("UG", "256"),
    ("TZ", "255"),
    ("NG", "234"),
    ("GH", "233"),
    ("RW", "250"),
];

/// Returns the valid post, or the code that refuses it.
pub(super) fn validate(
    packet: &PostPacket<'_>,
    bytes: &str,
    envelope_country: &str,
    services: &[Service],
) -> Result<Post, u16> {
    let service = services
        .iter()
        .find(|service| service.code == packet.service)
        .ok_or(167_u16)?;
    if !service.active {
        return Err(106);
    }
    let country = match packet.country.as_ref() {
        "" => envelope_country,
        country => country,
    };
    check_msisdn(&packet.msisdn, country)?;
    if packet.account.trim().is_empty() {
        return Err(120);
    }
    if packet.currency != service.currency.code() {
        return Err(115);
    }
    let amount = read_amount(packet, service)?;
    let callback = CallbackRequest::read(packet.extra).map_err(|_| FAILURE)?;
    if packet.account.len() > FIELD_MAX || callback.url.len() > FIELD_MAX {
        return Err(FAILURE);
    }
    let wanted = callback.wanted && !callback.url.is_empty();
    Ok(Post {
        id: packet.id.as_ref().into(),
        service: packet.service.as_ref().into(),
        money: Money {
            amount,
            currency: service.currency,
        },
        msisdn: packet.msisdn.as_ref().into(),
        account: packet.account.as_ref().into(),
        callback: wanted.then(|| callback.url.into_boxed_str()),
        digest: digest(bytes),
    })
}

/// Digest of a packet's bytes.
pub(super) fn digest(bytes: &str) -> u64 {
    fnv(0xcbf2_9ce4_8422_2325, bytes.as_bytes())
}

fn check_msisdn(msisdn: &str, country: &str) -> Result<(), u16> {
    if msisdn.trim().is_empty() {
        return Err(109);
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
        Err(110)
    }
}

fn read_amount(packet: &PostPacket<'_>, service: &Service) -> Result<Amount, u16> {
    let text = packet.amount.ok_or(111_u16)?.get();
    // Some clients send the number as a string.
    let text = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(text);
    match Amount::parse(text, service.currency) {
        Ok(amount) if amount > service.max => Err(231),
        Ok(amount) if amount < service.min => Err(232),
        Ok(amount) => Ok(amount),
        Err(AmountError::TooLarge) => Err(231),
        Err(_) => Err(111),
    }
}
