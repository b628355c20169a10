//! What a callback must show beside its address, where the dialect says that the gateway shows it: a secret, or a signature.

use std::fmt;
use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::HeaderMap;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use spki::SubjectPublicKeyInfoRef;

use crate::dialect::{Algorithm, Callbacks, Encoding, Signing};

/// What every genuine callback shows.
#[derive(Clone, Default)]
pub struct Proof(Arc<Shown>);

#[derive(Default)]
struct Shown {
    secret: Option<(String, [u8; 32])>,
    signature: Option<(Signing, Key)>,
}

enum Key {
    Hmac(Box<Hmac<Sha256>>),
    Rsa(UnparsedPublicKey<Vec<u8>>),
}

/// Why callbacks cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The key of signatures is none.
    #[error("the key_file of callbacks.signing holds no {0}")]
    Key(&'static str),
    /// A file that is named was not read.
    #[error("the file of {0} was not read")]
    Missing(&'static str),
}

impl Proof {
    /// Prepares what is checked. `secret` and `key` are what the dialect's files hold.
    ///
    /// # Errors
    /// A key that is none of its algorithm.
    pub fn new(
        callbacks: &Callbacks,
        secret: Option<&SecretString>,
        key: Option<&[u8]>,
    ) -> Result<Self, ProofError> {
        let secret = match &callbacks.secret {
            None => None,
            Some((header, _)) => {
                let value = secret.ok_or(ProofError::Missing("callbacks.secret_file"))?;
                // The digests are compared: how long that takes tells nothing of the secret.
                let digest = Sha256::digest(value.expose_secret()).into();
                Some((header.clone(), digest))
            }
        };
        let signature = match &callbacks.signing {
            None => None,
            Some(signing) => {
                let key = key.ok_or(ProofError::Missing("callbacks.signing.key_file"))?;
                Some((signing.clone(), Key::new(signing.algorithm, key)?))
            }
        };
        Ok(Self(Arc::new(Shown { secret, signature })))
    }

    /// Returns whether a callback shows all of it.
    #[must_use]
    pub fn holds(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let header = |name: &str| headers.get(name).map(hyper::header::HeaderValue::as_bytes);
        let shows_secret = self.0.secret.as_ref().is_none_or(|(name, digest)| {
            let shown: [u8; 32] = Sha256::digest(header(name).unwrap_or_default()).into();
            shown == *digest
        });
        let is_signed = self.0.signature.as_ref().is_none_or(|(signing, key)| {
            let Some(signature) = header(&signing.header).and_then(|text| decoded(signing, text))
            else {
                return false;
            };
            let time = signing.timestamp_header.as_deref().map(header);
            match time {
                None => key.verifies(&[body], &signature),
                Some(Some(time)) => key.verifies(&[time, b".", body], &signature),
                Some(None) => false,
            }
        });
        shows_secret && is_signed
    }
}

fn decoded(signing: &Signing, text: &[u8]) -> Option<Vec<u8>> {
    match signing.encoding {
        Encoding::Base64 => BASE64.decode(text.trim_ascii()).ok(),
        Encoding::Hex => HEXLOWER_PERMISSIVE.decode(text.trim_ascii()).ok(),
    }
}

impl Key {
    fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self, ProofError> {
        match algorithm {
            Algorithm::HmacSha256 if key.is_empty() => Err(ProofError::Key("key")),
            Algorithm::HmacSha256 => Hmac::new_from_slice(key)
                .map(|mac| Self::Hmac(Box::new(mac)))
                .map_err(|_| ProofError::Key("key")),
            Algorithm::RsaSha256 => {
                let wrong = || ProofError::Key("public RSA key in PEM");
                let der = SubjectPublicKeyInfoDer::from_pem_slice(key).map_err(|_| wrong())?;
                let info = SubjectPublicKeyInfoRef::try_from(der.as_ref()).map_err(|_| wrong())?;
                let bytes = info.subject_public_key.as_bytes().ok_or_else(wrong)?;
                Ok(Self::Rsa(UnparsedPublicKey::new(
                    &RSA_PKCS1_2048_8192_SHA256,
                    bytes.to_vec(),
                )))
            }
        }
    }

    fn verifies(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        match self {
            Self::Hmac(key) => {
                let mut mac = Hmac::clone(key);
                for part in parts {
                    mac.update(part);
                }
                mac.verify_slice(signature).is_ok()
            }
            Self::Rsa(key) => key.verify(&parts.concat(), signature).is_ok(),
        }
    }
}

// It holds keys.
impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").finish_non_exhaustive()
    }
}
