//! A notice to an address of our own people, signed as Standard Webhooks has it. The gateway has no part in it: what leaves here is
//! a client that is as careful as those that pay.

use std::fmt;
use std::time::Duration;

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretSlice};
use sha2::Sha256;

use crate::gateway::error::Error;
use crate::gateway::transport::channel::{built, cause, hardened};
use crate::gateway::transport::tls;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Secrets are told by this.
const MARK: &str = "whsec_";
/// The bytes of a secret, at least and at most.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret that both sides know.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretSlice<u8>);

impl SigningSecret {
    /// Reads a secret: `whsec_` and base64 of 24 to 64 bytes. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let encoded = text.trim().strip_prefix(MARK)?;
        let bytes = BASE64.decode(encoded.as_bytes()).ok()?;
        SECRET_BYTES
            .contains(&bytes.len())
            .then(|| Self(bytes.into()))
    }

    /// Returns the signature of a message that leaves at this time, in seconds since 1970.
    fn sign(&self, id: &str, at: i64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret())
            .unwrap_or_else(|_| unreachable!("a key of any length will do"));
        mac.update(format!("{id}.{at}.{body}").as_bytes());
        format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()))
    }
}

/// Why a notice was not delivered. It names no address, and nothing of the answer but its status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// No answer came; whether the message arrived is not known.
    #[error("{0}")]
    NoAnswer(String),
    /// The receiver did not take it.
    #[error("the receiver answered with HTTP {0}")]
    Refused(u16),
}

/// An address that takes notices. Debug output shows its host alone: the rest may be what lets a message in.
pub struct Webhook {
    client: Client,
    url: Url,
    secret: SigningSecret,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.origin().ascii_serialization();
        f.debug_tuple("Webhook").field(&host).finish()
    }
}

impl Webhook {
    /// Makes a client for an address. Nothing is sent yet.
    ///
    /// # Errors
    /// There is no trust in any certificate to be had.
    pub fn new(url: Url, secret: SigningSecret) -> Result<Self, Error> {
        let encrypted = url.scheme() == "https";
        let builder = hardened(encrypted)
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            // Few leave, and seldom.
            .pool_max_idle_per_host(0)
            .no_proxy()
            .tls_backend_preconfigured(tls::config(None, encrypted)?);
        Ok(Self {
            client: built(builder)?,
            url,
            secret,
        })
    }

    /// Sends a message once; `at` is the time in seconds since 1970. The body of the answer is not read.
    ///
    /// # Errors
    /// It was not taken, or nobody knows.
    pub async fn send(&self, id: &str, at: i64, body: &str) -> Result<(), WebhookError> {
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header("webhook-id", id)
            .header("webhook-timestamp", at)
            .header("webhook-signature", self.secret.sign(id, at, body))
            .body(body.to_owned());
        let answer = request.send().await.map_err(|error| {
            let error = error.without_url();
            WebhookError::NoAnswer(cause(&error, CONNECT_WITHIN, ANSWER_WITHIN))
        })?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(WebhookError::Refused(answer.status().as_u16())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_standard_webhooks_has_its_signature() {
        // Of its own libraries' tests.
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            "{\"test\": 2432232314}",
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert!(!format!("{secret:?}").contains("MfKQ"));
    }

    #[test]
    fn a_secret_is_marked_and_long_enough() {
        let of = |bytes: usize| format!("whsec_{}", BASE64.encode(&vec![7; bytes]));
        for (text, is_one) in [
            (of(24), true),
            (of(64), true),
            (format!(" {}\n", of(32)), true),
            (of(23), false),
            (of(65), false),
            (of(32).replace("whsec_", ""), false),
            ("whsec_not base64".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(SigningSecret::parse(&text).is_some(), is_one, "{text}");
        }
    }
}
