//! `POST /v4/remittance/payments/network-lookup` (sections 2.6, 4.4 and 7.4).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::domain::Country;
use crate::sandbox::books::tokens::Standing;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::body::{BODY_MAX, read_body};
use crate::sandbox::http::replies;
use crate::sandbox::http::request::object;
use crate::sandbox::rules::networks::plan_of;

/// The request's body.
#[derive(Deserialize)]
struct Inquiry {
    #[serde(default, rename = "countryCode")]
    country: String,
    #[serde(default)]
    number: String,
}

/// Answers a lookup. The token is judged first: without one nothing is said about the body.
pub(in crate::sandbox) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Response {
    let token = check_token(&gateway, request.headers());
    let body = match read_body(request.into_body(), BODY_MAX).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    match token {
        Ok(()) => found(&body),
        Err(message) => denied(&message),
    }
}

/// Answers a lookup of somebody who has been let in.
pub(in crate::sandbox) async fn answer_admitted(request: Request) -> Response {
    match read_body(request.into_body(), BODY_MAX).await {
        Ok(body) => found(&body),
        Err(reply) => reply,
    }
}

/// Tells somebody who is not let in so, as an expired token is told (section 7.4).
pub(in crate::sandbox) fn denied(message: &str) -> Response {
    let body = json!({"data": null, "message": message, "success": false, "statusCode": 131});
    replies::json_with(StatusCode::UNAUTHORIZED, body.to_string())
}

fn found(body: &[u8]) -> Response {
    match look_up(body) {
        Ok(body) => replies::json(body),
        Err(why) => {
            let body = json!({"errorCode": 400, "errorDescription": why});
            replies::json_with(StatusCode::BAD_REQUEST, body.to_string())
        }
    }
}

fn check_token(gateway: &Gateway, headers: &HeaderMap) -> Result<(), String> {
    let given = headers
        .get(AUTHORIZATION)
        .ok_or("the Authorization header is missing")?;
    let token = given
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or("the Authorization header holds no bearer token")?;
    match gateway.tokens.standing(token) {
        Standing::Good => Ok(()),
        Standing::Expired(at) => Err(format!("Token expired at {}", gateway.date(at))),
        Standing::Unknown => Err(format!(
            "Token is unknown: it expired before {}, or was never issued",
            gateway.date(gateway.now())
        )),
    }
}

fn look_up(body: &[u8]) -> Result<String, String> {
    let body = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8")?;
    let inquiry: Inquiry = object(body).map_err(|why| format!("the body: {why}"))?;
    if inquiry.country.is_empty() {
        return Err("countryCode is missing".to_owned());
    }
    if Country::from_code(&inquiry.country).is_none() {
        return Err("countryCode is not a two-letter ISO 3166 code".to_owned());
    }
    if inquiry.number.is_empty() {
        return Err("number is missing".to_owned());
    }
    let plan = plan_of(&inquiry.country).ok_or_else(|| {
        format!(
            "number: the networks of {} are not known here",
            inquiry.country
        )
    })?;
    let carrier = plan
        .carrier(&inquiry.number)
        .ok_or_else(|| format!("number is not a phone number of {}", plan.country))?;
    Ok(json!({"carrier": carrier, "timeZone": plan.time_zone}).to_string())
}
