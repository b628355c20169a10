//! Float accounts: `GATEWAY.queryFloatBalance`, and the control that puts money into one.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::Amount;
use crate::sandbox::books::event::Event;
use crate::sandbox::books::verdict::FloatAccount;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::body::{BODY_MAX, read_body};
use crate::sandbox::http::codes::{
    AUTHENTICATED, FAILURE, description, envelope_head, refusal, text,
};
use crate::sandbox::http::replies;
use crate::sandbox::http::request::{AccountPacket, Raw, object, packets};

/// Answers a query about the balances of one or several services.
pub(in crate::sandbox) fn answer(gateway: &Gateway, packet: Option<&Raw>) -> Response {
    let packets = match packets::<AccountPacket<'_>>(packet) {
        Ok(packets) => packets,
        Err(why) => return replies::json(refusal(FAILURE, &why)),
    };
    let floats = gateway.book().ledger.floats();
    let mut out = String::with_capacity(128 + 192 * packets.len());
    envelope_head(&mut out, AUTHENTICATED, description(AUTHENTICATED));
    for (index, (packet, _)) in packets.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(r#"{"serviceCode":"#);
        text(&mut out, &packet.service);
        match floats.iter().find(|float| float.service == packet.service) {
            Some(float) => {
                let _ = write!(
                    out,
                    r#","balance":{},"currencyCode":"{}","floatAccountName":"#,
                    float.available, float.currency
                );
                text(&mut out, &format!("{} float", float.service));
                out.push('}');
            }
            None => {
                let _ = write!(
                    out,
                    r#","statusCode":167,"statusDescription":"{}"}}"#,
                    description(167)
                );
            }
        }
    }
    out.push_str("]}");
    replies::json(out)
}

/// The body of `POST /sandbox/float`.
#[derive(Deserialize)]
struct TopUp<'a> {
    #[serde(rename = "serviceCode")]
    service: String,
    /// As written: a binary float would change it.
    #[serde(borrow)]
    amount: &'a RawValue,
}

/// Answers `POST /sandbox/float`.
pub(in crate::sandbox) async fn top_up(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Response {
    let body = match read_body(request.into_body(), BODY_MAX).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    let bad = |why: &str| replies::error(StatusCode::BAD_REQUEST, why);
    let Ok(body) = std::str::from_utf8(&body) else {
        return bad("the body is not UTF-8");
    };
    let wanted: TopUp<'_> = match object(body) {
        Ok(wanted) => wanted,
        Err(why) => return bad(&format!("the body: {why}")),
    };
    match put(&gateway, &wanted) {
        Ok(float) => {
            let body = serde_json::json!({
                "serviceCode": float.service,
                "balance": float.available,
                "currencyCode": float.currency.code(),
            });
            replies::json(body.to_string())
        }
        Err(reply) => reply,
    }
}

// The reply stands for what went wrong.
#[allow(clippy::result_large_err)]
fn put(gateway: &Gateway, wanted: &TopUp<'_>) -> Result<FloatAccount, Response> {
    let service = gateway
        .services()
        .iter()
        .find(|service| service.code == wanted.service)
        .ok_or_else(|| {
            replies::error(
                StatusCode::NOT_FOUND,
                "serviceCode: the sandbox has no such service",
            )
        })?;
    let written = wanted.amount.get();
    let digits = written
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(written);
    let amount = Amount::parse(digits, service.currency).map_err(|error| {
        let why = format!(
            "amount: expected an amount of {} ({error})",
            service.currency
        );
        replies::error(StatusCode::UNPROCESSABLE_ENTITY, &why)
    })?;
    let mut book = gateway.book();
    book.record(Event::FloatAdded {
        service: service.code.as_str().into(),
        minor: amount.minor(),
    })
    .map_err(|error| replies::no_ledger(&error))?;
    let floats = book.ledger.floats().into_iter();
    let mut of_service = floats.filter(|float| float.service == service.code);
    of_service.next().ok_or_else(replies::not_found)
}
