//! What makes an address unguessable.

use data_encoding::BASE64URL_NOPAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest, Sha256};

/// 192 bits: nobody tries so many.
const BYTES: usize = 24;

/// The secret part of the address of a page, made anew for every process.
#[derive(Clone)]
pub(super) struct Token {
    text: String,
    digest: [u8; 32],
}

// Whoever has it sees whom the batches pay.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Makes one of the system's random numbers.
    ///
    /// # Errors
    /// The system has none to give.
    pub(super) fn new() -> std::io::Result<Self> {
        let mut bytes = [0; BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
        Ok(Self::of(&BASE64URL_NOPAD.encode(&bytes)))
    }

    pub(super) fn of(text: &str) -> Self {
        Self {
            digest: Sha256::digest(text).into(),
            text: text.to_owned(),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether a text is this token. Digests are compared: how long that takes tells nothing of the token.
    pub(super) fn is(&self, text: &str) -> bool {
        <[u8; 32]>::from(Sha256::digest(text)) == self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_of_its_own_and_known_by_every_letter() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        let text = one.as_str();
        assert_eq!(text.len(), 32, "192 bits, six to a letter");
        assert!(one.is(text) && !other.is(text));
        for wrong in ["", &text[1..], &text.to_uppercase(), &format!("{text}A")] {
            assert!(!one.is(wrong) || wrong == text, "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "Token(..)");
    }
}
