//! `POST /api/v1/oauth/token`: access tokens for a user name and a password (sections 2.1, 2.2 and 4.1).

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::sandbox::books::tokens::made_up;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::replies;

/// Answers a request for a token.
pub(in crate::sandbox) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    RawQuery(query): RawQuery,
) -> Response {
    match issue(&gateway, query.as_deref()) {
        Ok(body) => replies::json(body),
        Err((status, error, why)) => {
            let body = json!({"error": error, "error_description": why});
            replies::json_with(status, body.to_string())
        }
    }
}

type Refused = (StatusCode, &'static str, String);

fn issue(gateway: &Gateway, query: Option<&str>) -> Result<String, Refused> {
    let mut url = reqwest::Url::parse("http://sandbox.invalid/").expect("a constant address");
    url.set_query(query);
    let value = |name: &str| {
        let mut values = url.query_pairs().filter(|(key, _)| key == name);
        let first = values.next().map(|(_, value)| value.into_owned());
        if values.next().is_some() {
            return Err(invalid(format!("{name} is given more than once")));
        }
        first.filter(|value| !value.is_empty()).ok_or_else(|| {
            let why = format!("{name} is required");
            (StatusCode::BAD_REQUEST, "missing parameters", why)
        })
    };
    let grant_type = value("grant_type")?;
    value("client_id")?;
    if grant_type != "password" {
        return Err(invalid("grant_type must be password".to_owned()));
    }
    let (username, password) = (value("username")?, value("password")?);
    let known = gateway.options.credentials.as_ref();
    if known.is_some_and(|(user, secret)| *user != username || *secret != password) {
        let (_, error, _) = invalid(String::new());
        let why = "invalid credentials".to_owned();
        return Err((StatusCode::UNAUTHORIZED, error, why));
    }
    let lifetime = gateway.options.token_lifetime;
    Ok(json!({
        "token_type": "bearer",
        "expires_in": lifetime.as_secs(),
        "access_token": gateway.tokens.issue(gateway.now(), lifetime),
        "refresh_token": made_up(),
    })
    .to_string())
}

fn invalid(why: String) -> Refused {
    (StatusCode::BAD_REQUEST, "invalid_request", why)
}
