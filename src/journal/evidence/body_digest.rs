//! What is kept of the body of a callback, so that a repeat is recognised, and a body can be held against it.

use sha2::{Digest as _, Sha256};

use super::encoding::Digest;
use super::salt::{Salt, Sealed};
use crate::store::{Error, Field, Value};

/// The digest of a body as it stands in the column `digest` of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum BodyDigest {
    /// Its SHA-256.
    Whole(Digest),
    /// 12 bytes of a SHA-256 over the salt of the row and that of the body, as many as a tag of IPsec has: nobody who sends a body knows
    /// the salt, so that these keep two of them apart as well. Once its person is forgotten, nobody can try out what it said.
    Salted([u8; 12]),
}

impl BodyDigest {
    /// Returns what is kept of a body beside the salt of its row.
    pub(in crate::journal) fn salted(body: &Digest, salt: &Salt) -> Self {
        let digest = Sha256::new()
            .chain_update("disburse/1 body")
            .chain_update(salt)
            .chain_update(body)
            .finalize();
        let (tag, _) = digest.split_first_chunk().expect("a digest is longer");
        Self::Salted(*tag)
    }

    pub(in crate::journal) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(digest) => digest,
            Self::Salted(tag) => tag,
        }
    }

    /// Returns whether it is that of a body; `None`: the salt is gone, because the person of the payment was forgotten.
    pub(in crate::journal) fn is_of(&self, body: &Digest, sealed: Sealed) -> Option<bool> {
        match (self, sealed) {
            (Self::Whole(known), _) => Some(known == body),
            (Self::Salted(_), Sealed::Salted(salt)) => Some(*self == Self::salted(body, &salt)),
            (Self::Salted(_), Sealed::Forgotten(_)) => None,
            (Self::Salted(_), Sealed::Plain) => Some(false),
        }
    }
}

impl Field for BodyDigest {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(self.bytes().into())
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        let odd = || Error::corrupt("an invalid digest of a callback");
        let Value::Bytes(bytes) = value else {
            return Err(odd());
        };
        match (bytes[..].try_into(), bytes[..].try_into()) {
            (Ok(digest), _) => Ok(Self::Whole(digest)),
            (_, Ok(tag)) => Ok(Self::Salted(tag)),
            _ => Err(odd()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_known_again_as_long_as_its_salt_is_there() {
        let (one, other) = ([1; 32], [2; 32]);
        let (salt, another) = ([3; 16], [4; 16]);
        let kept = BodyDigest::salted(&one, &salt);
        for (kept, body, sealed, expected) in [
            (BodyDigest::Whole(one), one, Sealed::Plain, Some(true)),
            (BodyDigest::Whole(one), other, Sealed::Plain, Some(false)),
            (
                BodyDigest::Whole(one),
                one,
                Sealed::Forgotten([5; 32]),
                Some(true),
            ),
            (kept, one, Sealed::Salted(salt), Some(true)),
            (kept, other, Sealed::Salted(salt), Some(false)),
            (kept, one, Sealed::Salted(another), Some(false)),
            (kept, one, Sealed::Forgotten([5; 32]), None),
            (kept, one, Sealed::Plain, Some(false)),
        ] {
            assert_eq!(kept.is_of(&body, sealed), expected, "{kept:?} {sealed:?}");
            assert_eq!(BodyDigest::from_value(kept.to_value()).unwrap(), kept);
        }
        assert!(BodyDigest::from_value(Value::Bytes(vec![0; 20].into())).is_err());
    }
}
