//! The signature of a request, over its exact bytes.

use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::Sha256;

use crate::dialect::{Algorithm, Encoding, Signing};
use crate::domain::Timestamp;
use crate::gateway::error::Error;

/// Signs requests.
pub(in crate::gateway) struct Signer {
    key: Key,
    header: HeaderName,
    encoding: Encoding,
    timestamp: Option<HeaderName>,
    clock: fn() -> Timestamp,
}

enum Key {
    Hmac(Box<Hmac<Sha256>>),
    Rsa(Box<RsaKeyPair>, SystemRandom),
}

impl Signer {
    /// Prepares a key.
    ///
    /// # Errors
    /// The key is none of the algorithm.
    pub(in crate::gateway) fn new(
        signing: &Signing,
        key: &[u8],
        clock: fn() -> Timestamp,
    ) -> Result<Self, Error> {
        let name = |text: &str| {
            HeaderName::try_from(text).map_err(|_| Error::Signing("its header is no header name"))
        };
        let key = match signing.algorithm {
            Algorithm::HmacSha256 if key.is_empty() => {
                return Err(Error::Signing("its key is empty"));
            }
            Algorithm::HmacSha256 => Key::Hmac(Box::new(
                Hmac::new_from_slice(key).map_err(|_| Error::Signing("its key is empty"))?,
            )),
            Algorithm::RsaSha256 => Key::Rsa(Box::new(rsa(key)?), SystemRandom::new()),
        };
        Ok(Self {
            key,
            header: name(&signing.header)?,
            encoding: signing.encoding,
            timestamp: signing.timestamp_header.as_deref().map(name).transpose()?,
            clock,
        })
    }

    /// Adds the headers that sign a body.
    ///
    /// # Errors
    /// The key is too short for the algorithm.
    pub(in crate::gateway) fn sign(
        &self,
        body: &[u8],
        headers: &mut HeaderMap,
    ) -> Result<(), Error> {
        let mut before = Vec::new();
        if let Some(name) = &self.timestamp {
            let seconds = ((self.clock)().as_millis() / 1_000).to_string();
            before = format!("{seconds}.").into_bytes();
            let value = HeaderValue::try_from(seconds).expect("digits are visible");
            headers.insert(name.clone(), value);
        }
        let signature = match &self.key {
            Key::Hmac(key) => {
                let mut mac = Hmac::clone(key);
                mac.update(&before);
                mac.update(body);
                mac.finalize().into_bytes().to_vec()
            }
            Key::Rsa(key, random) => {
                before.extend_from_slice(body);
                let mut signature = vec![0; key.public().modulus_len()];
                let signed = key.sign(&RSA_PKCS1_SHA256, random, &before, &mut signature);
                // It holds the password.
                secrecy::zeroize::Zeroize::zeroize(&mut before);
                signed.map_err(|_| Error::Signing("its key cannot sign with SHA-256"))?;
                signature
            }
        };
        let text = match self.encoding {
            Encoding::Base64 => BASE64.encode(&signature),
            Encoding::Hex => HEXLOWER.encode(&signature),
        };
        let mut value = HeaderValue::try_from(text).expect("letters and digits are visible");
        value.set_sensitive(true);
        headers.insert(self.header.clone(), value);
        Ok(())
    }
}

/// Reads a private key of PKCS #8 or PKCS #1, in PEM.
fn rsa(pem: &[u8]) -> Result<RsaKeyPair, Error> {
    let no_key = |_| Error::Signing("its key_file holds no private RSA key in PEM");
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| no_key(()))?;
    match key {
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        _ => return Err(no_key(())),
    }
    .map_err(|_| Error::Signing("its key_file holds no RSA key of 2048 to 4096 bits"))
}
