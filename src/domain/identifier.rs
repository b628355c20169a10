//! The identifier that the gateway knows a payment by.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The most characters that an identifier has, in any form.
pub const IDENTIFIER_MAX: usize = 48;

/// The identifier the gateway knows a payment by (section 2.3, `payerTransactionID`), as it stands on the wire.
///
/// [`super::IdentifierForm`] says what it looks like: 26 characters of Crockford base32, unless the dialect wants another form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayerTransactionId {
    /// Zeros behind the text: the order is that of the texts.
    bytes: [u8; IDENTIFIER_MAX],
    length: u8,
}

impl PayerTransactionId {
    /// Takes a text that a form has made.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let length = u8::try_from(text.len()).ok()?;
        let mut bytes = [0; IDENTIFIER_MAX];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        text.is_ascii().then_some(Self { bytes, length })
    }

    /// Returns the characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).expect("every form is ASCII")
    }
}

// The zeros behind the text tell nothing.
impl Hash for PayerTransactionId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
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
