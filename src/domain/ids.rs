//! Names and identifiers.

use std::fmt;
use std::sync::Arc;

use super::Text;

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

fn check(
    text: &str,
    max: usize,
    allowed: &'static str,
    accepts: impl Fn(char) -> bool,
) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    let length = text.chars().count();
    if length > max {
        return Err(IdError::TooLong { max, found: length });
    }
    match text.chars().find(|c| !accepts(*c)) {
        Some(found) => Err(IdError::Character { found, allowed }),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kept:ty, $max:literal, $allowed:literal, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($kept);

        impl $name {
            /// Validates the text.
            ///
            /// # Errors
            /// Says which limit the text breaks.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                check(text, $max, $allowed, $accepts)?;
                Ok(Self(text.into()))
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

name!(
    /// The name of a batch, at most 64 characters that are safe in a file name.
    BatchName, Arc<str>, 64, "letters, digits, '.', '_' and '-'",
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
);
name!(
    /// The name of the paying organisation; part of every identifier.
    Originator, Arc<str>, 64, "printable characters", |c| !c.is_control()
);
name!(
    /// The payer's own reference of one row, unique within its batch.
    Reference, Text, 128, "printable characters", |c| !c.is_control()
);
name!(
    /// The product code of a service (section 2.3, `serviceCode`); a lane of the run.
    ServiceCode, Text, 64, "letters, digits, '.', '_', ':' and '-'",
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':')
);
name!(
    /// The gateway's identifier of a payment, kept as text: it may exceed 2^53 (section 2.4).
    GatewayTransactionId, Text, 128, "printable characters", |c| !c.is_control()
);

#[cfg(test)]
mod tests {
    use super::*;

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
}
