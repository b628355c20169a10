//! Names and identifiers.

use std::fmt;
use std::sync::Arc;

use data_encoding::{Encoding, Specification};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// Why a text is not a name or an identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("must not be empty")]
    Empty,
    /// The text is longer than allowed.
    #[error("must have at most {max} characters, found {found}")]
    TooLong {
        /// The limit, in characters.
        max: usize,
        /// What was found, in characters.
        found: usize,
    },
    /// A character that is not allowed.
    #[error("must not contain {found:?}; allowed are {allowed}")]
    Character {
        /// The offending character.
        found: char,
        /// The allowed set, in words.
        allowed: &'static str,
    },
}

fn checked(
    text: &str,
    max: usize,
    allowed: &'static str,
    accepts: impl Fn(char) -> bool,
) -> Result<Arc<str>, IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    let length = text.chars().count();
    if length > max {
        return Err(IdError::TooLong { max, found: length });
    }
    match text.chars().find(|c| !accepts(*c)) {
        Some(found) => Err(IdError::Character { found, allowed }),
        None => Ok(text.into()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $max:literal, $allowed:literal, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates the text.
            ///
            /// # Errors
            /// Says which limit the text breaks.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                checked(text, $max, $allowed, $accepts).map(Self)
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name!(
    /// The name of a batch, at most 64 characters that are safe in a file name.
    BatchName, 64, "letters, digits, '.', '_' and '-'",
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
);
name!(
    /// The name of the paying organisation; part of every identifier.
    Originator, 64, "printable characters", |c| !c.is_control()
);
name!(
    /// The payer's own reference of one row, unique within its batch.
    Reference, 128, "printable characters", |c| !c.is_control()
);
name!(
    /// The product code of a service (section 2.3, `serviceCode`); a lane of the run.
    ServiceCode, 64, "letters, digits, '.', '_', ':' and '-'",
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':')
);
name!(
    /// The gateway's identifier of a payment, kept as text: it may exceed 2^53 (section 2.4).
    GatewayTransactionId, 128, "printable characters", |c| !c.is_control()
);

/// What tells one row of a batch from every other: its reference, or its content and how many equal rows stand above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey<'a> {
    /// The row has a reference.
    Reference(&'a Reference),
    /// The row has none.
    Content {
        /// SHA-256 over the row's fields, see [`super::Instruction::content_hash`].
        hash: [u8; 32],
        /// How many equal rows stand above this one in the file.
        above: u32,
    },
    /// The row corrects a payment that has failed.
    Corrected {
        /// The payment that failed.
        predecessor: PayerTransactionId,
        /// SHA-256 over the corrected row's fields.
        hash: [u8; 32],
    },
}

impl RowKey<'_> {
    /// Returns the key of the retry of a payment without a reference: among equal rows its identifier tells which one it is.
    #[must_use]
    pub fn of_predecessor(id: PayerTransactionId) -> Self {
        let mut hash = [0; 32];
        hash[..26].copy_from_slice(&id.0);
        Self::Content { hash, above: 0 }
    }
}

/// The identifier the gateway knows a payment by (section 2.3, `payerTransactionID`).
///
/// 26 characters of Crockford base32 over the first 130 bits of SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayerTransactionId([u8; 26]);

const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Which bytes are among them: a million identifiers are read back for one report.
const IS_CROCKFORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < CROCKFORD.len() {
        table[CROCKFORD.as_bytes()[at] as usize] = true;
        at += 1;
    }
    table
};

static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification.symbols.push_str(CROCKFORD);
    specification
        .encoding()
        .expect("32 distinct ASCII symbols make an encoding")
});

impl PayerTransactionId {
    /// Derives the identifier of the retry of a payment.
    #[must_use]
    pub fn of_retry(
        self,
        originator: &Originator,
        batch: &BatchName,
        reference: Option<&Reference>,
        generation: u32,
    ) -> Self {
        let next = generation.saturating_add(1);
        if let Some(reference) = reference {
            let key = RowKey::Reference(reference);
            // Once a row was corrected, its reference no longer tells what is paid.
            if Self::derive(originator, batch, &key, generation) == self {
                return Self::derive(originator, batch, &key, next);
            }
        }
        Self::derive(originator, batch, &RowKey::of_predecessor(self), next)
    }

    /// Derives the identifier. The same arguments give the same identifier on every machine, for ever.
    #[must_use]
    pub fn derive(
        originator: &Originator,
        batch: &BatchName,
        key: &RowKey<'_>,
        generation: u32,
    ) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(b"disburse/payerTransactionID/1");
        let mut part = |part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part);
        };
        part(originator.as_str().as_bytes());
        part(batch.as_str().as_bytes());
        match key {
            RowKey::Reference(reference) => {
                part(b"reference");
                part(reference.as_str().as_bytes());
            }
            RowKey::Content { hash, above } => {
                part(b"content");
                part(hash);
                part(&above.to_be_bytes());
            }
            RowKey::Corrected { predecessor, hash } => {
                part(b"corrected");
                part(&predecessor.0);
                part(hash);
            }
        }
        part(&generation.to_be_bytes());
        let digest = Sha256::digest(&bytes);
        // 20 bytes are 160 bits, 32 characters without padding; the first 26 of them are the first 130 bits.
        let mut text = [0_u8; 32];
        BASE32.encode_mut(&digest[..20], &mut text);
        let mut id = [0_u8; 26];
        id.copy_from_slice(&text[..26]);
        Self(id)
    }

    /// Reads an identifier back; `None` unless it has the form [`Self::derive`] gives it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes().try_into().ok()?;
        Self::is_one(text).then_some(Self(bytes))
    }

    /// Returns whether [`Self::parse`] takes the text.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.len() == 26 && text.bytes().all(|byte| IS_CROCKFORD[usize::from(byte)])
    }

    /// Returns the 26 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the symbols are ASCII")
    }
}

impl fmt::Display for PayerTransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PayerTransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(originator: &str, batch: &str, reference: &str, generation: u32) -> PayerTransactionId {
        PayerTransactionId::derive(
            &Originator::parse(originator).unwrap(),
            &BatchName::parse(batch).unwrap(),
            &RowKey::Reference(&Reference::parse(reference).unwrap()),
            generation,
        )
    }

    // The expected text was computed with another program (Python's hashlib and integer arithmetic).
    #[test]
    fn an_identifier_never_changes_between_releases() {
        assert_eq!(
            id("acme", "payroll-2026-11", "EMP-1", 0).as_str(),
            "D6XG76YFHSD4N4GSMC3R7K7EGS"
        );
    }

    #[test]
    fn every_argument_counts_and_none_can_borrow_from_its_neighbour() {
        let base = id("acme", "payroll", "EMP-1", 0);
        for other in [
            id("acmep", "ayroll", "EMP-1", 0),
            id("acme", "payroll2", "EMP-1", 0),
            id("acme", "payroll", "EMP-2", 0),
            id("acme", "payroll", "EMP-1", 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn a_reference_and_a_content_of_the_same_bytes_differ() {
        let originator = Originator::parse("acme").unwrap();
        let batch = BatchName::parse("b").unwrap();
        let above = |above| RowKey::Content {
            hash: [7; 32],
            above,
        };
        let first = PayerTransactionId::derive(&originator, &batch, &above(0), 0);
        let second = PayerTransactionId::derive(&originator, &batch, &above(1), 0);
        assert_ne!(first, second);
    }

    #[test]
    fn names_are_refused_with_their_reason() {
        assert_eq!(BatchName::parse(""), Err(IdError::Empty));
        assert!(matches!(
            BatchName::parse("a/b"),
            Err(IdError::Character { found: '/', .. })
        ));
        assert!(matches!(
            BatchName::parse(&"x".repeat(65)),
            Err(IdError::TooLong { found: 65, .. })
        ));
        assert!(Reference::parse("Mei/2026 #4 ü").is_ok());
    }

    proptest! {
        #[test]
        fn identifiers_survive_text(reference in "[ -~]{1,128}", generation in 0_u32..9) {
            let id = id("acme", "b", &reference, generation);
            prop_assert_eq!(PayerTransactionId::parse(id.as_str()), Some(id));
            prop_assert_eq!(id.as_str().len(), 26);
        }
    }
}
