//! What a status reply and a callback say about a payment.

use std::fmt::Write;

use super::books::ledger::Acceptance;
use super::books::verdict::Standing;
use super::gateway::Gateway;
use super::http::codes::{description, gateway_id, text};
use super::rules::accounts::lacks_meter;
use crate::domain::PaymentKind;

/// What a kilowatt-hour costs, in minor units.
const UNIT_PRICE_MINOR: i64 = 2_500;

/// Writes an entry of a status reply; `standing` may be a lie.
pub(super) fn status_entry(
    out: &mut String,
    gateway: &Gateway,
    id: &str,
    code: u16,
    why: Option<&str>,
    acceptance: Option<&Acceptance>,
) {
    head(out, id, code, why, acceptance);
    let Some(acceptance) = acceptance else {
        out.push('}');
        return;
    };
    proof(out, gateway, code, acceptance);
    let post = &acceptance.post;
    out.push_str(r#","MSISDN":"#);
    text(out, &post.msisdn);
    out.push_str(r#","accountNumber":"#);
    text(out, &post.account);
    let _ = write!(out, r#","amount":{},"serviceCode":"#, post.money);
    text(out, &post.service);
    let _ = write!(out, r#","dateCreated":"{}"}}"#, gateway.date(acceptance.at));
}

/// Returns the body of a callback.
pub(super) fn callback_body(
    gateway: &Gateway,
    standing: Standing,
    acceptance: &Acceptance,
) -> String {
    let post = &acceptance.post;
    let mut out = String::with_capacity(640);
    out.push_str(
        r#"{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE","payload":{"packet":"#,
    );
    head(&mut out, &post.id, standing.code(), None, Some(acceptance));
    proof(&mut out, gateway, standing.code(), acceptance);
    out.push_str(r#","msisdn":"#);
    text(&mut out, &post.msisdn);
    out.push_str(r#","serviceCode":"#);
    text(&mut out, &post.service);
    let _ = write!(
        out,
        r#","paymentDate":"{}","extraData":{{}}}},"credentials":{{"username":"sandbox","password":""}}}}}}"#,
        gateway.date(acceptance.at)
    );
    out
}

fn head(out: &mut String, id: &str, code: u16, why: Option<&str>, acceptance: Option<&Acceptance>) {
    let _ = write!(out, r#"{{"statusCode":{code},"statusDescription":"#);
    let no_meter = code == 180 && acceptance.is_some_and(|a| lacks_meter(&a.post));
    let why = why.or(no_meter.then_some("Meter not found"));
    text(out, why.unwrap_or_else(|| description(code)));
    out.push_str(r#","payerTransactionID":"#);
    text(out, id);
    let number = acceptance.map_or(0, |acceptance| gateway_id(acceptance.number));
    let _ = write!(out, r#","gatewayTransactionID":{number}"#);
}

fn proof(out: &mut String, gateway: &Gateway, code: u16, acceptance: &Acceptance) {
    let post = &acceptance.post;
    if code == 148 {
        let application = gateway.application(&post.id, acceptance.number);
        let _ = write!(
            out,
            r#","receiptNumber":"{application}","receiverNarration":"""#
        );
        return;
    }
    if code != 140 {
        // Gateways of this family write "no receipt" as an array in a string.
        out.push_str(r#","receiptNumber":"[\"\"]","receiverNarration":"""#);
        return;
    }
    let receipt = gateway.receipt(&post.id, acceptance.number);
    let _ = write!(out, r#","receiptNumber":"{receipt}","receiverNarration":"#);
    let narration = match post.kind {
        PaymentKind::BillPrepaid => {
            let token = gateway.prepaid_token(&post.id);
            format!(
                r#"["Token: {token}","Units: {} kWh"]"#,
                units(post.money.amount.minor())
            )
        }
        _ => format!(
            "{receipt} confirmed: {} {} sent",
            post.money.currency, post.money
        ),
    };
    text(out, &narration);
}

/// Electricity for an amount, in kilowatt-hours with two decimals.
fn units(minor: i64) -> String {
    let hundredths = i128::from(minor) * 100 / i128::from(UNIT_PRICE_MINOR);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
