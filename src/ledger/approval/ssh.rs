//! Public keys and signatures as OpenSSH writes them (its PROTOCOL and PROTOCOL.sshsig), and what a signature proves.
//!
//! Only public halves are read here. What signs is a program of the operator's.

use data_encoding::{BASE64, BASE64_NOPAD};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use sha2::{Digest, Sha256, Sha512};

/// The namespace of our signatures: one that was made for something else never fits.
pub const NAMESPACE: &str = "disburse";

/// A signature in its armour is never longer: RSA with 16384 bits has 6 kB.
pub const ARMOUR_MAX: usize = 16 * 1024;

/// What every signature and everything that is signed begins with.
const MAGIC: &[u8] = b"SSHSIG";

/// The kinds of keys whose signatures are understood.
pub const KINDS: [&str; 6] = [
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
];

/// Why a key or a signature is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The key's kind is unknown or not supported.
    #[error(
        "keys of the kind {0:?} are not supported; use one of ssh-ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, ssh-rsa, or a hardware key (ed25519-sk, ecdsa-sk)"
    )]
    Kind(String),
    /// Its bytes are not those of a key.
    #[error("this is no public key: {0}")]
    Key(&'static str),
    /// Its text is not that of a signature.
    #[error("this is no SSH signature: {0}")]
    Signature(&'static str),
    /// It was made for another purpose.
    #[error(
        "the signature was made in the namespace {0:?}; make it with `ssh-keygen -Y sign -n disburse`"
    )]
    Namespace(String),
    /// It does not fit the text.
    #[error("the signature is not over this text, or was made by another key than it names")]
    Mismatch,
    /// A hardware key signed without being touched.
    #[error("the hardware key signed without being touched")]
    NotTouched,
}

/// Reads length-prefixed fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn field(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.field()?).ok()
    }

    /// A positive whole number, without the zero that keeps it positive.
    fn natural(&mut self) -> Option<&'a [u8]> {
        let bytes = self.field()?;
        match bytes {
            [0, rest @ ..] => Some(rest),
            [first, ..] if *first < 0x80 => Some(bytes),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A public key: its kind and its bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey {
    kind: &'static str,
    blob: Vec<u8>,
}

impl PublicKey {
    /// Reads the two fields of a key: its kind and its bytes as base64.
    ///
    /// # Errors
    /// [`Error::Kind`], [`Error::Key`].
    pub fn of_fields(kind: &str, base64: &str) -> Result<Self, Error> {
        let blob = BASE64
            .decode(base64.as_bytes())
            .map_err(|_| Error::Key("its second field is not base64"))?;
        let key = Self::of_blob(blob)?;
        match key.kind == kind {
            true => Ok(key),
            false => Err(Error::Key("its bytes are of another kind than it says")),
        }
    }

    /// Reads the line of a public key file.
    ///
    /// # Errors
    /// [`Error::Kind`], [`Error::Key`].
    pub fn of_line(line: &str) -> Result<Self, Error> {
        let mut fields = line.split_ascii_whitespace();
        match (fields.next(), fields.next()) {
            (Some(kind), Some(base64)) => Self::of_fields(kind, base64),
            _ => Err(Error::Key("it has fewer than two fields")),
        }
    }

    fn of_blob(blob: Vec<u8>) -> Result<Self, Error> {
        let kind = Fields(&blob)
            .text()
            .ok_or(Error::Key("its bytes are cut off"))?;
        let kind = KINDS
            .into_iter()
            .find(|known| *known == kind)
            .ok_or_else(|| Error::Kind(kind.chars().take(64).collect()))?;
        let key = Self { kind, blob };
        match key.parts() {
            Some(_) => Ok(key),
            None => Err(Error::Key("its bytes are not those of its kind")),
        }
    }

    /// Returns what the key is made of.
    fn parts(&self) -> Option<Parts<'_>> {
        let mut fields = Fields(&self.blob);
        fields.text()?;
        let parts = match self.kind {
            "ssh-ed25519" => Parts::Edwards {
                key: fields.field()?,
                application: None,
            },
            "sk-ssh-ed25519@openssh.com" => Parts::Edwards {
                key: fields.field()?,
                application: Some(fields.field()?),
            },
            "ssh-rsa" => Parts::Rsa {
                e: fields.natural()?,
                n: fields.natural()?,
            },
            kind => {
                let curve = fields.text()?;
                let point = fields.field()?;
                let is_wide = kind == "ecdsa-sha2-nistp384";
                if curve != if is_wide { "nistp384" } else { "nistp256" } {
                    return None;
                }
                let application = match kind.starts_with("sk-") {
                    true => Some(fields.field()?),
                    false => None,
                };
                Parts::Curve {
                    point,
                    is_wide,
                    application,
                }
            }
        };
        fields.is_empty().then_some(parts)
    }

    /// Returns its fingerprint, as `ssh-keygen -l` prints it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!(
            "SHA256:{}",
            BASE64_NOPAD.encode(&Sha256::digest(&self.blob))
        )
    }
}

/// What a key is made of.
enum Parts<'a> {
    Edwards {
        key: &'a [u8],
        application: Option<&'a [u8]>,
    },
    Rsa {
        e: &'a [u8],
        n: &'a [u8],
    },
    Curve {
        point: &'a [u8],
        is_wide: bool,
        application: Option<&'a [u8]>,
    },
}

/// A signature, read and not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    key: PublicKey,
    namespace: String,
    hash: Hash,
    algorithm: String,
    bytes: Vec<u8>,
    /// Of a hardware key: flags and counter.
    touched: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha512,
}

impl Signature {
    /// Reads a signature in its armour.
    ///
    /// # Errors
    /// [`Error::Signature`], and what is wrong with its key.
    pub fn parse(armour: &str) -> Result<Self, Error> {
        if armour.len() > ARMOUR_MAX {
            return Err(Error::Signature("it is longer than 16 KiB"));
        }
        let mut lines = armour.trim().lines().map(str::trim_end);
        if lines.next() != Some("-----BEGIN SSH SIGNATURE-----") {
            return Err(Error::Signature(
                "its first line is not -----BEGIN SSH SIGNATURE-----",
            ));
        }
        let mut base64 = String::with_capacity(armour.len());
        loop {
            match lines.next() {
                None => return Err(Error::Signature("it is cut off")),
                Some("-----END SSH SIGNATURE-----") => break,
                Some(line) => base64.push_str(line),
            }
        }
        if lines.next().is_some() {
            return Err(Error::Signature("something follows it"));
        }
        let blob = BASE64
            .decode(base64.as_bytes())
            .map_err(|_| Error::Signature("it is not base64"))?;
        Self::of_blob(&blob)
    }

    fn of_blob(blob: &[u8]) -> Result<Self, Error> {
        let cut = || Error::Signature("its bytes are cut off");
        let mut fields = Fields(blob);
        if fields.take(MAGIC.len()) != Some(MAGIC) || fields.number() != Some(1) {
            return Err(Error::Signature("it is of another format or version"));
        }
        let key = PublicKey::of_blob(fields.field().ok_or_else(cut)?.to_vec())?;
        let namespace = fields.text().ok_or_else(cut)?.to_owned();
        if !fields.field().ok_or_else(cut)?.is_empty() {
            return Err(Error::Signature("a field is filled that is reserved"));
        }
        let hash = match fields.text() {
            Some("sha256") => Hash::Sha256,
            Some("sha512") => Hash::Sha512,
            _ => {
                return Err(Error::Signature(
                    "it is over another digest than SHA-256 and SHA-512",
                ));
            }
        };
        let mut inner = Fields(fields.field().ok_or_else(cut)?);
        if !fields.is_empty() {
            return Err(Error::Signature("bytes follow it"));
        }
        let algorithm = inner.text().ok_or_else(cut)?.to_owned();
        let bytes = inner.field().ok_or_else(cut)?.to_vec();
        Ok(Self {
            key,
            namespace,
            hash,
            algorithm,
            bytes,
            touched: inner.0.to_vec(),
        })
    }

    /// Returns the key that it names.
    #[must_use]
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Verifies that its key made it, for us, over this text.
    ///
    /// # Errors
    /// [`Error::Namespace`], [`Error::NotTouched`], [`Error::Mismatch`].
    pub fn verify(&self, text: &[u8]) -> Result<(), Error> {
        if self.namespace != NAMESPACE {
            return Err(Error::Namespace(self.namespace.chars().take(64).collect()));
        }
        let signed = self.signed(text);
        let parts = self.key.parts().ok_or(Error::Mismatch)?;
        match parts {
            Parts::Edwards { key, application } => {
                let signed = self.message(signed, application)?;
                self.is_of(self.key.kind)?;
                verify(&signature::ED25519, key, &signed, &self.bytes)
            }
            Parts::Rsa { e, n } => {
                self.message(signed.clone(), None)?;
                let algorithm = match self.algorithm.as_str() {
                    "rsa-sha2-256" => &signature::RSA_PKCS1_2048_8192_SHA256,
                    "rsa-sha2-512" => &signature::RSA_PKCS1_2048_8192_SHA512,
                    _ => return Err(Error::Mismatch),
                };
                RsaPublicKeyComponents { n, e }
                    .verify(algorithm, &signed, &self.bytes)
                    .map_err(|_| Error::Mismatch)
            }
            Parts::Curve {
                point,
                is_wide,
                application,
            } => {
                let signed = self.message(signed, application)?;
                self.is_of(self.key.kind)?;
                let (algorithm, width): (&signature::EcdsaVerificationAlgorithm, _) = match is_wide
                {
                    true => (&signature::ECDSA_P384_SHA384_FIXED, 48),
                    false => (&signature::ECDSA_P256_SHA256_FIXED, 32),
                };
                let bytes = fixed(&self.bytes, width).ok_or(Error::Mismatch)?;
                verify(algorithm, point, &signed, &bytes)
            }
        }
    }

    fn is_of(&self, kind: &str) -> Result<(), Error> {
        match self.algorithm == kind {
            true => Ok(()),
            false => Err(Error::Mismatch),
        }
    }

    /// Returns what is signed in place of the text: its digest, and for what it was made.
    fn signed(&self, text: &[u8]) -> Vec<u8> {
        let (name, digest): (&str, Vec<u8>) = match self.hash {
            Hash::Sha256 => ("sha256", Sha256::digest(text).to_vec()),
            Hash::Sha512 => ("sha512", Sha512::digest(text).to_vec()),
        };
        let mut signed = MAGIC.to_vec();
        for field in [self.namespace.as_bytes(), b"", name.as_bytes(), &digest] {
            push(&mut signed, field);
        }
        signed
    }

    /// Returns what the key itself signs: a hardware key adds its application, and that it was touched.
    fn message(&self, signed: Vec<u8>, application: Option<&[u8]>) -> Result<Vec<u8>, Error> {
        let Some(application) = application else {
            return match self.touched.is_empty() {
                true => Ok(signed),
                false => Err(Error::Mismatch),
            };
        };
        let [flags, _, _, _, _] = self.touched[..] else {
            return Err(Error::Mismatch);
        };
        if flags & 1 == 0 {
            return Err(Error::NotTouched);
        }
        let mut message = Sha256::digest(application).to_vec();
        message.extend_from_slice(&self.touched);
        message.extend_from_slice(&Sha256::digest(&signed));
        Ok(message)
    }
}

fn verify(
    algorithm: &'static dyn signature::VerificationAlgorithm,
    key: &[u8],
    signed: &[u8],
    bytes: &[u8],
) -> Result<(), Error> {
    UnparsedPublicKey::new(algorithm, key)
        .verify(signed, bytes)
        .map_err(|_| Error::Mismatch)
}

/// Returns the two numbers of a signature over a curve, each at its full width.
fn fixed(bytes: &[u8], width: usize) -> Option<Vec<u8>> {
    let mut fields = Fields(bytes);
    let mut fixed = Vec::with_capacity(2 * width);
    for _ in 0..2 {
        let number = fields.natural()?;
        fixed.resize(fixed.len() + width.checked_sub(number.len())?, 0);
        fixed.extend_from_slice(number);
    }
    fields.is_empty().then_some(fixed)
}

fn push(out: &mut Vec<u8>, field: &[u8]) {
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(field);
}

/// Keys for tests, and signatures by them.
#[cfg(test)]
pub(crate) mod made_up {
    use super::{MAGIC, push};
    use data_encoding::BASE64;
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use sha2::{Digest, Sha512};

    fn pair(number: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[number; 32]).unwrap()
    }

    fn blob(number: u8) -> Vec<u8> {
        let mut blob = Vec::new();
        push(&mut blob, b"ssh-ed25519");
        push(&mut blob, pair(number).public_key().as_ref());
        blob
    }

    /// The kind and the bytes of the public key with this number.
    pub(crate) fn public(number: u8) -> String {
        format!("ssh-ed25519 {}", BASE64.encode(&blob(number)))
    }

    /// A signature by the key with this number.
    pub(crate) fn sign(number: u8, namespace: &str, text: &str) -> String {
        let mut signed = MAGIC.to_vec();
        let digest = Sha512::digest(text.as_bytes());
        for field in [namespace.as_bytes(), b"", b"sha512", &digest] {
            push(&mut signed, field);
        }
        let mut inner = Vec::new();
        push(&mut inner, b"ssh-ed25519");
        push(&mut inner, pair(number).sign(&signed).as_ref());
        let mut whole = MAGIC.to_vec();
        whole.extend_from_slice(&1_u32.to_be_bytes());
        for field in [
            &blob(number)[..],
            namespace.as_bytes(),
            b"",
            b"sha512",
            &inner,
        ] {
            push(&mut whole, field);
        }
        format!(
            "-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n",
            BASE64.encode(&whole)
        )
    }
}

#[cfg(test)]
mod tests;
