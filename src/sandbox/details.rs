//! What a status reply and a callback say about a payment.

use std::fmt::Write;

use super::codes::{description, gateway_id, text};
use super::ledger::Acceptance;
use super::state::Gateway;
use super::verdict::Standing;

/// Writes an entry of a status reply; `standing` may be a lie.
pub(super) fn status_entry(
    out: &mut String,
    gateway: &Gateway,
    id: &str,
    code: u16,
    acceptance: Option<&Acceptance>,
) {
    head(out, id, code, acceptance);
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
    head(&mut out, &post.id, standing.code(), Some(acceptance));
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

fn head(out: &mut String, id: &str, code: u16, acceptance: Option<&Acceptance>) {
    let _ = write!(
        out,
        r#"{{"statusCode":{code},"statusDescription":"{}","payerTransactionID":"#,
        description(code)
    );
    text(out, id);
    let number = acceptance.map_or(0, |acceptance| gateway_id(acceptance.number));
    let _ = write!(out, r#","gatewayTransactionID":{number}"#);
}

fn proof(out: &mut String, gateway: &Gateway, code: u16, acceptance: &Acceptance) {
    if code != 140 {
        // Gateways of this family write "no receipt" as an array in a string.
        out.push_str(r#","receiptNumber":"[\"\"]","receiverNarration":"""#);
        return;
    }
    let post = &acceptance.post;
    let receipt = gateway.receipt(&post.id, acceptance.number);
    let _ = write!(
        out,
        r#","receiptNumber":"{receipt}","receiverNarration":"{receipt} confirmed: {} {} sent""#,
        post.money.currency, post.money
    );
}
