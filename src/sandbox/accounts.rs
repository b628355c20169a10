//! Which accounts there are: meters, bills, wallets and bank accounts. Made up, and decided by the number alone.

use std::fmt::Write;

use axum::response::Response;

use super::codes::{AUTHENTICATED, FAILURE, description, envelope_head, refusal, text};
use super::options::Service;
use super::replies;
use super::request::{AccountPacket, Raw, packets};
use super::state::Gateway;
use crate::domain::PaymentKind;

/// How many digits a prepaid meter has.
const METER_DIGITS: usize = 11;
/// How many digits the account of a bill has at least.
const BILL_DIGITS_MIN: usize = 5;

/// What a biller says of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BillAccount {
    /// There is no such account.
    Invalid,
    /// Nothing is due.
    Settled,
    /// A bill is due; the last four digits of the account decide how much.
    Due(u32),
}

/// Asks the biller of postpaid services.
pub(super) fn bill_account(account: &str) -> BillAccount {
    let digits = account.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || account.len() < BILL_DIGITS_MIN {
        return BillAccount::Invalid;
    }
    match account[account.len() - 4..].parse() {
        Ok(0) | Err(_) => BillAccount::Settled,
        Ok(last) => BillAccount::Due(last),
    }
}

/// Whether an electricity company has this meter.
pub(super) fn is_meter(account: &str) -> bool {
    account.len() == METER_DIGITS && account.bytes().all(|byte| byte.is_ascii_digit())
}

/// Answers `GATEWAY.validateAccount`.
pub(super) fn answer(gateway: &Gateway, packet: Option<&Raw>) -> Response {
    let packets = match packets::<AccountPacket<'_>>(packet) {
        Ok(packets) => packets,
        Err(why) => return replies::json(refusal(FAILURE, &why)),
    };
    let mut out = String::with_capacity(128 + 192 * packets.len());
    envelope_head(&mut out, AUTHENTICATED, description(AUTHENTICATED));
    for (index, (packet, _)) in packets.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let services = gateway.services();
        let service = services.iter().find(|s| s.code == packet.service);
        let code = validity(service, &packet.account);
        let _ = write!(
            out,
            r#"{{"statusCode":{code},"statusDescription":"{}","serviceCode":"#,
            description(code)
        );
        text(&mut out, &packet.service);
        out.push_str(r#","accountNumber":"#);
        text(&mut out, &packet.account);
        out.push_str(r#","payerTransactionID":"#);
        text(&mut out, &packet.id);
        out.push('}');
    }
    out.push_str("]}");
    replies::json(out)
}

fn validity(service: Option<&Service>, account: &str) -> u16 {
    let Some(service) = service else { return 167 };
    if !service.active {
        return 301;
    }
    if account.trim().is_empty() {
        return 120;
    }
    let digits = account.bytes().all(|byte| byte.is_ascii_digit());
    let known = match service.kind {
        PaymentKind::MobileMoney | PaymentKind::Airtime => {
            digits && (10..=15).contains(&account.len()) && !account.starts_with('0')
        }
        PaymentKind::Bank | PaymentKind::Rtgs => {
            (5..=34).contains(&account.len())
                && account.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
        PaymentKind::BillPrepaid => is_meter(account),
        PaymentKind::BillPostpaid => bill_account(account) != BillAccount::Invalid,
    };
    if known { 307 } else { 306 }
}
