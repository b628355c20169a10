//! What requests and callbacks show beside their content: fixed headers, credentials, signatures.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::Sha256;

use crate::dialect::{Algorithm, Dialect, Encoding, Header, Signing};
use crate::domain::Timestamp;
use crate::sandbox::books::tokens::{Standing, Tokens};

/// The keys of a dialect, as the sandbox knows them.
#[derive(Clone, Default)]
pub struct Seals {
    /// Secret headers of requests, by name.
    pub headers: Vec<(String, String)>,
    /// What requests are signed with: the shared key, or the client's private key in PEM.
    pub signing: Option<Vec<u8>>,
    /// The secret of callbacks.
    pub callback_secret: Option<String>,
    /// The shared key of callbacks.
    pub callback_signing: Option<Vec<u8>>,
}

/// Who a request showed to be by its `Authorization` header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nobody: the header is not asked for.
    Nothing,
    /// User name and password.
    Pair(String, String),
    /// The holder of a token.
    Token,
}

impl Seals {
    /// Judges the fixed headers of a request.
    pub(in crate::sandbox) fn check_headers(
        &self,
        dialect: &Dialect,
        headers: &HeaderMap,
    ) -> Result<(), String> {
        let open = dialect.headers.iter();
        let open = open.map(|(name, value)| (name.as_str(), value.as_str()));
        let secret = self.headers.iter();
        let secret = secret.map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in open.chain(secret) {
            let shown = headers.get(name).map(HeaderValue::as_bytes);
            if shown != Some(value.as_bytes()) {
                return Err(format!("the header {name} is missing or wrong"));
            }
        }
        Ok(())
    }

    /// Judges the signature of a request.
    pub(super) fn check_signature(
        &self,
        dialect: &Dialect,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), String> {
        let (Some(signing), Some(key)) = (&dialect.signing, &self.signing) else {
            return Ok(());
        };
        let wrong = || format!("the signature in {} is missing or wrong", signing.header);
        let shown = headers
            .get(signing.header.as_str())
            .map(HeaderValue::as_bytes);
        let shown = shown.ok_or_else(wrong)?;
        let shown = match signing.encoding {
            Encoding::Base64 => BASE64.decode(shown),
            Encoding::Hex => HEXLOWER.decode(shown),
        };
        let shown = shown.map_err(|_| wrong())?;
        let mut signed = Vec::new();
        if let Some(name) = &signing.timestamp_header {
            let time = headers.get(name.as_str()).ok_or_else(wrong)?;
            signed.extend_from_slice(time.as_bytes());
            signed.push(b'.');
        }
        signed.extend_from_slice(body);
        let holds = match signing.algorithm {
            Algorithm::HmacSha256 => mac(key, &signed) == shown,
            Algorithm::RsaSha256 => public(key).is_some_and(|public| {
                UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
                    .verify(&signed, &shown)
                    .is_ok()
            }),
        };
        holds.then_some(()).ok_or_else(wrong)
    }

    /// Returns the headers of a callback.
    pub(in crate::sandbox) fn of_callback(
        &self,
        dialect: &Dialect,
        body: &str,
        now: Timestamp,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: &str| {
            if let (Ok(name), Ok(value)) = (name.parse(), value.parse()) {
                headers.push((name, value));
            }
        };
        if let (Some((name, _)), Some(secret)) = (&dialect.callbacks.secret, &self.callback_secret)
        {
            add(name, secret);
        }
        if let (Some(signing), Some(key)) = (&dialect.callbacks.signing, &self.callback_signing)
            && signing.algorithm == Algorithm::HmacSha256
        {
            let (signed, time) = timed(signing, body, now);
            if let (Some(name), Some(time)) = (&signing.timestamp_header, &time) {
                add(name, time);
            }
            let code = mac(key, signed.as_bytes());
            let text = match signing.encoding {
                Encoding::Base64 => BASE64.encode(&code),
                Encoding::Hex => HEXLOWER.encode(&code),
            };
            add(&signing.header, &text);
        }
        headers
    }
}

/// Returns what is signed, and the time in it.
fn timed(signing: &Signing, body: &str, now: Timestamp) -> (String, Option<String>) {
    match signing.timestamp_header {
        None => (body.to_owned(), None),
        Some(_) => {
            let time = (now.as_millis() / 1_000).to_string();
            (format!("{time}.{body}"), Some(time))
        }
    }
}

fn mac(key: &[u8], signed: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(signed);
    mac.finalize().into_bytes().to_vec()
}

/// The public half of the client's private key.
fn public(pem: &[u8]) -> Option<Vec<u8>> {
    let pair = match PrivateKeyDer::from_pem_slice(pem).ok()? {
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        _ => return None,
    };
    Some(pair.ok()?.public_key().as_ref().to_vec())
}

/// Judges the `Authorization` header of an operation beside the payment path; returns user name and password where it shows
/// them.
pub(in crate::sandbox) fn authorized(
    header: Header,
    headers: &HeaderMap,
    tokens: &Tokens,
) -> Result<Option<(String, String)>, String> {
    Ok(match authorization(header, headers, tokens)? {
        Shown::Pair(user, password) => Some((user, password)),
        Shown::Nothing | Shown::Token => None,
    })
}

/// Reads the `Authorization` header that an operation asks for.
pub(super) fn authorization(
    header: Header,
    headers: &HeaderMap,
    tokens: &Tokens,
) -> Result<Shown, String> {
    if header == Header::Absent {
        return Ok(Shown::Nothing);
    }
    let given = headers
        .get(AUTHORIZATION)
        .and_then(|given| given.to_str().ok())
        .ok_or("the Authorization header is missing")?;
    let (scheme, content) = given
        .split_once(' ')
        .ok_or("the Authorization header has no scheme")?;
    match header {
        Header::Basic if scheme.eq_ignore_ascii_case("basic") => {
            let pair = BASE64.decode(content.as_bytes()).ok();
            let pair = pair.and_then(|pair| String::from_utf8(pair).ok());
            let pair = pair.as_deref().and_then(|pair| pair.split_once(':'));
            let (user, password) = pair.ok_or("the Authorization header has no password")?;
            Ok(Shown::Pair(user.to_owned(), password.to_owned()))
        }
        Header::Bearer if scheme.eq_ignore_ascii_case("bearer") => {
            match tokens.standing(content.trim()) {
                Standing::Good => Ok(Shown::Token),
                Standing::Expired(_) | Standing::Unknown => Err("the token has expired".to_owned()),
            }
        }
        _ => Err("the Authorization header has the wrong scheme".to_owned()),
    }
}
