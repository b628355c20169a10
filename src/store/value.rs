//! What a column holds, and what domain values make of it.

use std::borrow::Cow;

use super::Error;

/// What stands in one column of one row.
///
/// Values are ordered as every store orders them: nothing, integers, texts by their bytes, bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A number, a time in milliseconds, an amount in minor units.
    Integer(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// Bytes: a digest, a salt.
    Bytes(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// Returns it with texts of its own.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }

    /// Returns the same value, borrowed from this one.
    #[must_use]
    pub fn as_ref(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        }
    }

    /// Returns what kind of value it is, for whoever reads an error.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Integer(_) => "an integer",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// A domain value that stands in one column.
pub trait Field: Sized {
    /// Returns what stands in the column.
    fn to_value(&self) -> Value<'_>;

    /// Reads it back.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for what [`Self::to_value`] never writes.
    fn from_value(value: Value<'_>) -> Result<Self, Error>;
}
