//! Bearer tokens (section 4.1): asked for one at a time, renewed ahead of their expiry, and never shown.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{CONTENT_LENGTH, HeaderValue};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use crate::gateway::error::Error;
use crate::gateway::operations::OperationError;
use crate::gateway::profile::Profile;
use crate::gateway::scrub::Secrets;
use crate::gateway::transport::channel::Answer;
use crate::gateway::transport::endpoint::{Endpoint, Place, body};
use crate::gateway::wire::{TokenReply, Unreadable, read_token};

const PLACE: Place = Place {
    name: "the token endpoint",
    key: "auth_url",
    section: "4.1",
};

/// How long a token counts whose lifetime is missing, zero or unreadable.
const LIFETIME_UNKNOWN: Duration = Duration::from_secs(60);
/// Longer lifetimes than this are cut to it.
const LIFETIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How far ahead of its expiry a token is renewed, at least.
const AHEAD_MIN: Duration = Duration::from_secs(5);
/// How long a failure is the answer for everybody who asks: a dead endpoint is not stormed.
const FAILURE_KEPT: Duration = Duration::from_secs(1);
/// The same after wrong credentials: repetition may lock the account.
const REFUSAL_KEPT: Duration = Duration::from_secs(10);
/// As many tokens in a row that are expired when they come tell that the endpoint and the gateway do not belong together.
const EXPIRED_MAX: u32 = 2;
/// Longer tokens than this are none, in bytes.
const TOKEN_MAX: usize = 16 * 1024;

/// A token. It does not print.
#[derive(Clone)]
pub struct Bearer {
    header: HeaderValue,
    // Tells it from its successor, even where the endpoint issues the same token again.
    serial: u64,
    lifetime: Option<Duration>,
}

impl Bearer {
    /// Returns the lifetime that the endpoint stated; `None` when it stated none.
    #[must_use]
    pub fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }

    /// Returns the value of the `Authorization` header, marked as sensitive.
    pub(in crate::gateway) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer([hidden])")
    }
}

/// The token endpoint. Clones share one token.
#[derive(Clone)]
pub struct TokenClient(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    client_id: String,
    username: String,
    password: SecretString,
    // Held while a token is asked for: whoever waits finds what came of it.
    held: Mutex<Held>,
    /// Tokens in a row that were found expired on the payment path, none of them accepted there before.
    expired: AtomicU32,
    /// The serial of the last one.
    expired_serial: AtomicU64,
}

#[derive(Default)]
struct Held {
    current: Option<Current>,
    failure: Option<(OperationError, Instant)>,
    issued: u64,
}

struct Current {
    bearer: Bearer,
    renew_at: Instant,
    expires_at: Instant,
}

impl Held {
    fn valid(&self, now: Instant) -> Option<Bearer> {
        let current = self.current.as_ref()?;
        (now < current.expires_at).then(|| current.bearer.clone())
    }

    fn fresh(&self, now: Instant) -> Option<Bearer> {
        let current = self.current.as_ref()?;
        (now < current.renew_at).then(|| current.bearer.clone())
    }
}

impl TokenClient {
    /// Builds the client. Nothing is sent yet.
    ///
    /// # Errors
    /// `auth_url` is not set or not safe; the rest as [`crate::gateway::HttpGateway::new`].
    pub fn new(profile: &Profile) -> Result<Self, Error> {
        Ok(Self(Arc::new(Inner {
            endpoint: Endpoint::new(
                profile,
                PLACE,
                profile.auth_url.as_ref(),
                &profile.dialect.token_path,
                Method::POST,
            )?,
            client_id: profile.client_id.clone(),
            username: profile.username.clone(),
            password: profile.password.clone(),
            held: Mutex::default(),
            expired: AtomicU32::new(0),
            expired_serial: AtomicU64::new(0),
        })))
    }

    /// Returns what the other side may repeat and nobody may read: the password, and every token that was issued.
    pub(in crate::gateway) fn secrets(&self) -> &Secrets {
        &self.0.endpoint.secrets
    }

    /// Returns a token that is valid for some time yet. However many tasks wait, one request is under way.
    ///
    /// # Errors
    /// The endpoint cannot be reached, says no, or sends what the interface does not know. The same error is given to
    /// everybody who waits, and for a moment longer.
    pub async fn bearer(&self) -> Result<Bearer, OperationError> {
        let mut held = self.0.held.lock().await;
        let now = Instant::now();
        if let Some(bearer) = held.fresh(now) {
            return Ok(bearer);
        }
        if let Some((error, until)) = &held.failure
            && now < *until
        {
            let error = error.clone();
            // A renewal ahead of its time may fail: what is held still counts.
            return held.valid(now).ok_or(error);
        }
        match self.0.request().await {
            Ok(issued) => {
                held.issued += 1;
                let lifetime = counted(issued.lifetime);
                let bearer = Bearer {
                    header: issued.header,
                    serial: held.issued,
                    lifetime: issued.lifetime,
                };
                // From before the request: the endpoint began to count later than that.
                held.current = Some(Current {
                    bearer: bearer.clone(),
                    renew_at: now + lifetime.saturating_sub(ahead(lifetime)),
                    expires_at: now + lifetime,
                });
                held.failure = None;
                tracing::debug!(lifetime_s = lifetime.as_secs(), "a token was issued");
                Ok(bearer)
            }
            Err(error) => {
                let kept = match error {
                    OperationError::Credentials { .. } => REFUSAL_KEPT,
                    _ => FAILURE_KEPT,
                };
                let now = Instant::now();
                held.failure = Some((error.clone(), now + kept));
                tracing::debug!("no token was issued");
                held.valid(now).ok_or(error)
            }
        }
    }

    /// Notes that a token was found expired on the payment path: the next request asks for a new one. Returns whether that
    /// may help: a token that was renewed for this very reason, and not accepted either, is no better renewed again.
    pub(in crate::gateway) async fn found_expired(&self, bearer: &Bearer) -> bool {
        self.invalidate(bearer).await;
        let (serial, counted) = (&self.0.expired_serial, &self.0.expired);
        // Whoever meets it with the same token speaks of the same expiry.
        if serial.fetch_max(bearer.serial, Ordering::SeqCst) < bearer.serial {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        counted.load(Ordering::SeqCst) < EXPIRED_MAX
    }

    /// Notes that a token was accepted on the payment path.
    pub(in crate::gateway) fn found_valid(&self) {
        if self.0.expired.load(Ordering::Relaxed) > 0 {
            self.0.expired.store(0, Ordering::SeqCst);
        }
    }

    /// Drops a token that was found expired, unless it has been renewed since; the next request asks for a new one.
    pub async fn invalidate(&self, bearer: &Bearer) {
        let mut held = self.0.held.lock().await;
        if held
            .current
            .as_ref()
            .is_some_and(|current| current.bearer.serial == bearer.serial)
        {
            held.current = None;
        }
    }
}

// The rest is the password.
impl fmt::Debug for TokenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenClient")
            .field("endpoint", &self.0.endpoint.url().as_str())
            .finish_non_exhaustive()
    }
}

struct Issued {
    header: HeaderValue,
    lifetime: Option<Duration>,
}

impl Inner {
    async fn request(&self) -> Result<Issued, OperationError> {
        let request = self
            .endpoint
            .post_with(&self.query())
            // Some servers refuse a POST that does not say that it has no body (411).
            .header(CONTENT_LENGTH, "0");
        let answer = self.endpoint.send(request).await?;
        judged(&answer, &self.endpoint.secrets)
    }

    /// Writes the query of section 4.1, the password in it: it is never logged, and in no error.
    fn query(&self) -> Zeroizing<String> {
        let mut url = self.endpoint.url().clone();
        url.query_pairs_mut()
            .append_pair("grant_type", "password")
            .append_pair("client_id", &self.client_id)
            .append_pair("username", &self.username)
            .append_pair("password", self.password.expose_secret());
        let form = Zeroizing::new(url.query().unwrap_or_default().to_owned());
        // A plus stands for a blank in forms only; every server reads %20. A plus itself is %2B already.
        Zeroizing::new(form.replace('+', "%20"))
    }
}

/// Reads a reply. The tokens in it are secrets from now on.
fn judged(answer: &Answer, secrets: &Secrets) -> Result<Issued, OperationError> {
    let status = answer.status;
    if !matches!(status, 200..=299 | 400..=499) || matches!(status, 408 | 429) {
        return Err(PLACE.unusable(answer, ""));
    }
    match read_token(body(answer), &secrets.scrub()) {
        Ok(TokenReply::Refused { error, description }) => {
            Err(refused(status, &error, &description))
        }
        Ok(TokenReply::Issued(issued)) if status < 300 => {
            let tokens = [Some(&issued.access_token), issued.refresh_token.as_ref()];
            for token in tokens.into_iter().flatten() {
                secrets.add(token.expose_secret());
            }
            if !issued.is_bearer {
                return Err(unreadable("a token whose token_type is not bearer"));
            }
            let header = header(issued.access_token.expose_secret())
                .ok_or_else(|| unreadable("an access_token that no header can carry"))?;
            Ok(Issued {
                header,
                lifetime: issued.lifetime,
            })
        }
        Ok(TokenReply::Issued(_)) => Err(PLACE.unusable(answer, "")),
        // The words of the body stand in section 2.1.
        Err(error) if status < 300 && answer.body.is_ok() => Err(unreadable(&match error {
            Unreadable::OtherForm => "a reply without an access_token".to_owned(),
            _ => error.to_string(),
        })),
        Err(error) => Err(PLACE.unusable(answer, &broken(answer, &error))),
    }
}

/// Tells an error body (section 2.2) in plain words.
fn refused(status: u16, error: &str, description: &str) -> OperationError {
    let words = match description {
        "" => error.to_owned(),
        _ => format!("{error}: {description}"),
    };
    match error {
        "missing parameters" => OperationError::Refused {
            section: "2.2",
            what: format!(
                "the token endpoint (section 4.1) says that a parameter is missing ({words}); check username, password \
                and client_id"
            ),
        },
        "invalid_request" | "invalid_grant" | "invalid_client" | "unauthorized_client" => {
            OperationError::Credentials {
                section: "2.2",
                what: format!(
                    "the token endpoint (section 4.1) does not accept the credentials ({words}); check username, password and client_id before another attempt"
                ),
            }
        }
        _ if matches!(status, 401 | 403) => OperationError::Credentials {
            section: "2.2",
            what: format!(
                "HTTP {status}, the token endpoint (section 4.1) did not let us in ({words}); check username, password and client_id before another attempt"
            ),
        },
        _ => OperationError::Refused {
            section: "2.2",
            what: format!("the token endpoint (section 4.1) issues no token ({words})"),
        },
    }
}

/// Reads a reply, for who has no connection.
#[cfg(any(test, feature = "fuzzing"))]
pub(in crate::gateway) fn read(answer: &Answer, password: &str) -> Result<Bearer, OperationError> {
    judged(answer, &Secrets::new("", password)).map(|issued| Bearer {
        header: issued.header,
        serial: 0,
        lifetime: issued.lifetime,
    })
}

fn broken(answer: &Answer, error: &Unreadable) -> String {
    match &answer.body {
        Err(cause) => cause.to_string(),
        Ok(_) => error.to_string(),
    }
}

fn unreadable(what: &str) -> OperationError {
    OperationError::Unreadable {
        section: "2.1",
        what: format!("{what} from the token endpoint"),
    }
}

fn header(token: &str) -> Option<HeaderValue> {
    let fits = !token.is_empty() && token.len() <= TOKEN_MAX;
    if !fits || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    // Hidden in debug output of every layer below.
    header.set_sensitive(true);
    Some(header)
}

/// Returns how long a token counts whose stated lifetime is this.
fn counted(stated: Option<Duration>) -> Duration {
    match stated {
        Some(lifetime) if !lifetime.is_zero() => lifetime.min(LIFETIME_MAX),
        _ => LIFETIME_UNKNOWN,
    }
}

/// Returns how far ahead of its expiry a token is renewed: a tenth of its lifetime, some seconds, half of a short life.
fn ahead(lifetime: Duration) -> Duration {
    (lifetime / 10).max(AHEAD_MIN).min(lifetime / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_at_nine_tenths_and_some_seconds_ahead() {
        for (stated, counted_s, renewed_s) in [
            (Some(3_600), 3_600, 3_240),
            (Some(60), 60, 54),
            (Some(20), 20, 15),
            (Some(6), 6, 3),
            (Some(0), 60, 54),
            (None, 60, 54),
            (Some(u64::MAX), 86_400, 77_760),
        ] {
            let lifetime = counted(stated.map(Duration::from_secs));
            assert_eq!(lifetime.as_secs(), counted_s, "{stated:?}");
            let renewed = lifetime - ahead(lifetime);
            assert_eq!(renewed.as_secs(), renewed_s, "{stated:?}");
        }
        // A life of one second leaves half of it.
        assert_eq!(ahead(Duration::from_secs(1)), Duration::from_millis(500));
    }

    #[test]
    fn only_what_a_header_can_carry_is_a_token() {
        assert!(header("aaa.bbb-_~+/=").is_some());
        for token in [
            "",
            "a b",
            "a\r\nb",
            "ü",
            "\u{7f}",
            &"a".repeat(TOKEN_MAX + 1),
        ] {
            assert!(header(token).is_none(), "{token:.9}");
        }
        assert_eq!(format!("{:?}", header("secret").unwrap()), "Sensitive");
    }
}
