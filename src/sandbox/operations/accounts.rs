//! `GATEWAY.validateAccount`: which accounts there are. Made up, and decided by the number alone.

use std::fmt::Write;

use axum::response::Response;

use crate::domain::PaymentKind;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::codes::{
    AUTHENTICATED, FAILURE, description, envelope_head, refusal, text,
};
use crate::sandbox::http::replies;
use crate::sandbox::http::request::{AccountPacket, Raw, packets};
use crate::sandbox::options::Service;
use crate::sandbox::rules::accounts::{BillAccount, bill_account, is_meter};

/// Answers `GATEWAY.validateAccount`.
pub(in crate::sandbox) fn answer(gateway: &Gateway, packet: Option<&Raw>) -> Response {
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
