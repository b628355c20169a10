//! `GATEWAY.queryBill`: what is due on the account of a postpaid service.

use std::fmt::Write;
use std::time::Duration;

use axum::response::Response;

use crate::domain::{PaymentKind, Totals};
use crate::sandbox::faults::plan::Draw;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::codes::{
    AUTHENTICATED, FAILURE, Refusal, description, envelope_head, refusal, text,
};
use crate::sandbox::http::replies;
use crate::sandbox::http::request::{AccountPacket, Raw, packets};
use crate::sandbox::options::Service;
use crate::sandbox::rules::accounts::{BillAccount, bill_account};

/// How long after the question a bill falls due.
const DUE_AFTER: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// What the digits of an account are multiplied with, and what every bill has besides, in hundredths.
const PER_DIGITS: i128 = 1_000;
const BASE: i128 = 25_050;
/// Customers, all made up.
const CUSTOMERS: [&str; 8] = [
    "Achieng Wanjala",
    "Baraka Mwendwa",
    "Chebet Kirui",
    "Faraja Stores",
    "Imani Kamande",
    "Makena Njagi",
    "Tumaini Academy",
    "Zuri Otieno",
];

/// Answers a bill query about one or several accounts.
pub(in crate::sandbox) fn answer(gateway: &Gateway, packet: Option<&Raw>) -> Response {
    let packets = match packets::<AccountPacket<'_>>(packet) {
        Ok(packets) => packets,
        Err(why) => return replies::json(refusal(FAILURE, &why)),
    };
    let due_date = gateway.date(gateway.now().after(DUE_AFTER));
    let due_day = due_date.split(' ').next().unwrap_or_default();
    let mut out = String::with_capacity(128 + 384 * packets.len());
    envelope_head(&mut out, AUTHENTICATED, description(AUTHENTICATED));
    for (index, (packet, _)) in packets.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let found = look_up(gateway, packet);
        let (code, why) = match &found {
            Ok(_) => (308, None),
            Err(refusal) => (refusal.code, refusal.why.as_deref()),
        };
        let _ = write!(out, r#"{{"statusCode":{code},"statusDescription":"#);
        text(&mut out, why.unwrap_or_else(|| description(code)));
        out.push_str(r#","accountNumber":"#);
        text(&mut out, &packet.account);
        out.push_str(r#","serviceCode":"#);
        text(&mut out, &packet.service);
        out.push_str(r#","payerTransactionID":"#);
        text(&mut out, &packet.id);
        if let Ok(bill) = found {
            let _ = write!(
                out,
                r#","serviceID":{},"dueDate":"{due_day} 00:00:00","dueAmount":{},"currency":"{}","customerName":"{}","responseExtraData":"""#,
                bill.service_id, bill.amount, bill.currency, bill.customer
            );
        }
        out.push('}');
    }
    out.push_str("]}");
    replies::json(out)
}

/// A bill that is due.
struct Bill {
    service_id: usize,
    /// Decimal digits.
    amount: String,
    currency: &'static str,
    customer: &'static str,
}

fn look_up(gateway: &Gateway, packet: &AccountPacket<'_>) -> Result<Bill, Refusal> {
    let services = gateway.services();
    let index = services
        .iter()
        .position(|service| service.code == packet.service)
        .ok_or(167_u16)?;
    let service = &services[index];
    if !service.active {
        return Err(106.into());
    }
    if service.kind != PaymentKind::BillPostpaid {
        return Err(Refusal::of_field(
            "serviceCode is not the code of a postpaid service: it has no bills",
        ));
    }
    if packet.account.trim().is_empty() {
        return Err(120.into());
    }
    match bill_account(&packet.account) {
        BillAccount::Invalid => Err(306.into()),
        BillAccount::Settled => Err(309.into()),
        BillAccount::Due(digits) => {
            let pick = gateway.plan.bits(Draw::Name, &packet.account, 0) % CUSTOMERS.len() as u64;
            Ok(Bill {
                service_id: index + 1,
                amount: due(service, digits),
                currency: service.currency.code(),
                customer: CUSTOMERS[usize::try_from(pick).unwrap_or(0)],
            })
        }
    }
}

/// The amount due, in the decimals that the service's currency has.
fn due(service: &Service, digits: u32) -> String {
    let hundredths = i128::from(digits) * PER_DIGITS + BASE;
    let currency = service.currency;
    let minor = match currency.exponent() {
        0 => hundredths / 100,
        exponent => hundredths * 10_i128.pow(u32::from(exponent.saturating_sub(2))),
    };
    let mut total = Totals::default();
    total.add_minor(currency, minor);
    total.decimals().into_values().collect()
}
