//! `POST /api/v1/oauth/token`: access tokens for a user name and a password (sections 2.1, 2.2 and 4.1).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use tokio::time::Instant;

use super::replies;
use super::state::Gateway;
use super::store::fresh_identity;
use crate::domain::Timestamp;

/// How many tokens are good at once; the oldest make room.
const TOKENS_MAX: usize = 4096;

/// A token that was given out. The clock that a person may set only names its end, it does not decide it.
struct Issued {
    token: String,
    until: Instant,
    ends_at: Timestamp,
}

/// What is known of a token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is good.
    Good,
    /// It ended then.
    Expired(Timestamp),
    /// It was never given out, or before this process began.
    Unknown,
}

/// The tokens, the oldest first.
#[derive(Default)]
pub(super) struct Tokens(Mutex<VecDeque<Issued>>);

impl Tokens {
    fn issue(&self, gateway: &Gateway) -> String {
        let lifetime = gateway.options.token_lifetime;
        let issued = Issued {
            token: made_up(),
            until: Instant::now() + lifetime,
            ends_at: gateway.now().after(lifetime),
        };
        let token = issued.token.clone();
        let mut tokens = self.0.lock().expect("no holder of the tokens panics");
        if tokens.len() == TOKENS_MAX {
            tokens.pop_front();
        }
        tokens.push_back(issued);
        token
    }

    pub fn standing(&self, token: &str) -> Standing {
        let tokens = self.0.lock().expect("no holder of the tokens panics");
        match tokens.iter().rev().find(|issued| issued.token == token) {
            None => Standing::Unknown,
            Some(issued) if Instant::now() < issued.until => Standing::Good,
            Some(issued) => Standing::Expired(issued.ends_at),
        }
    }
}

/// Three random parts, as a JWT has them.
fn made_up() -> String {
    let part = || fresh_identity();
    format!("sandbox.{}{}.{}", part(), part(), part())
}

/// Answers a request for a token.
pub(super) async fn answer(
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
    Ok(json!({
        "token_type": "bearer",
        "expires_in": gateway.options.token_lifetime.as_secs(),
        "access_token": gateway.tokens.issue(gateway),
        "refresh_token": made_up(),
    })
    .to_string())
}

fn invalid(why: String) -> Refused {
    (StatusCode::BAD_REQUEST, "invalid_request", why)
}
