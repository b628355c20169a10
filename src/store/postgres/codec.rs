//! Values as PostgreSQL has them.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use bytes::{Bytes, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::store::{Error, Value};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer(Width),
    Text,
    Bytes,
    /// A text that begins with the kind of the value: i, t or b.
    Any,
}

/// How wide a column of numbers is. What is compared with it, or written to it, is sent as the widest: the server narrows it, and refuses
/// what does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
    Eight,
}

impl Kind {
    /// Returns the type of what is sent for a column.
    pub(super) fn of_column(self) -> Type {
        match self {
            Self::Integer(_) => Type::INT8,
            Self::Text | Self::Any => Type::TEXT,
            Self::Bytes => Type::BYTEA,
        }
    }

    /// Returns the type of several values of a column.
    pub(super) fn of_list(self) -> Type {
        match self {
            Self::Integer(_) => Type::INT8_ARRAY,
            Self::Text | Self::Any => Type::TEXT_ARRAY,
            Self::Bytes => Type::BYTEA_ARRAY,
        }
    }
}

/// A parameter of a statement.
///
/// It tells nothing of itself in a debug text: the client writes parameters into its log.
pub(super) enum Param<'v> {
    Null,
    Integer(i64),
    Text(Cow<'v, str>),
    Bytes(&'v [u8]),
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<Cow<'v, str>>>),
    Lists(Vec<Option<&'v [u8]>>),
    /// As it is sent.
    Encoded(Bytes),
}

impl Param<'_> {
    /// Returns it as it is sent, with bytes of its own.
    pub(super) fn encoded(&self, of: &Type) -> Result<Param<'static>, Error> {
        let mut bytes = BytesMut::new();
        let is_null = self.to_sql(of, &mut bytes);
        match is_null.map_err(|error| Error::corrupt(error.to_string()))? {
            IsNull::Yes => Ok(Param::Null),
            IsNull::No => Ok(Param::Encoded(bytes.freeze())),
        }
    }
}

impl fmt::Debug for Param<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => number.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Bytes(bytes) => bytes.to_sql(ty, out),
            Self::Integers(numbers) => numbers.to_sql(ty, out),
            Self::Texts(texts) => texts.to_sql(ty, out),
            Self::Lists(lists) => lists.to_sql(ty, out),
            Self::Encoded(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
        }
    }

    // The types of parameters are those that the statement was prepared with, by the kinds of its columns.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Returns a value as a column of this kind has it.
pub(super) fn param<'v>(kind: Kind, value: &'v Value<'_>) -> Result<Param<'v>, Error> {
    Ok(match (kind, value) {
        (_, Value::Null) => Param::Null,
        (Kind::Integer(_), Value::Integer(number)) => Param::Integer(*number),
        (Kind::Text, Value::Text(text)) => Param::Text(escape(text)),
        (Kind::Bytes, Value::Bytes(bytes)) => Param::Bytes(bytes),
        (Kind::Any, value) => Param::Text(tagged(value).into()),
        (kind, value) => return Err(misplaced(kind, value)),
    })
}

/// Returns several values of a column as one list.
pub(super) fn list<'v, 'x: 'v>(
    kind: Kind,
    values: impl Iterator<Item = &'v Value<'x>>,
) -> Result<Param<'v>, Error> {
    Ok(match kind {
        Kind::Integer(_) => Param::Integers(
            values
                .map(|value| match value {
                    Value::Null => Ok(None),
                    Value::Integer(number) => Ok(Some(*number)),
                    value => Err(misplaced(kind, value)),
                })
                .collect::<Result<_, _>>()?,
        ),
        Kind::Text | Kind::Any => Param::Texts(
            values
                .map(|value| match param(kind, value)? {
                    Param::Text(text) => Ok(Some(text)),
                    _ => Ok(None),
                })
                .collect::<Result<_, Error>>()?,
        ),
        Kind::Bytes => Param::Lists(
            values
                .map(|value| match value {
                    Value::Null => Ok(None),
                    Value::Bytes(bytes) => Ok(Some(&**bytes)),
                    value => Err(misplaced(kind, value)),
                })
                .collect::<Result<_, _>>()?,
        ),
    })
}

/// Writes a value in the form that a binary COPY takes: its length, and its bytes.
pub(super) fn copy_value(kind: Kind, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut put = |bytes: &[u8]| {
        let length = i32::try_from(bytes.len()).map_err(|_| Error::Refused {
            what: "a value of more than 2 GB".into(),
        })?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(bytes);
        Ok::<_, Error>(())
    };
    match (kind, value) {
        (_, Value::Null) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        (Kind::Integer(width), Value::Integer(number)) => match width {
            Width::Two => put(&narrow::<i16>(*number)?.to_be_bytes())?,
            Width::Four => put(&narrow::<i32>(*number)?.to_be_bytes())?,
            Width::Eight => put(&number.to_be_bytes())?,
        },
        (Kind::Text, Value::Text(text)) => put(escape(text).as_bytes())?,
        (Kind::Bytes, Value::Bytes(bytes)) => put(bytes)?,
        (Kind::Any, value) => put(tagged(value).as_bytes())?,
        (kind, value) => return Err(misplaced(kind, value)),
    }
    Ok(())
}

fn narrow<N: TryFrom<i64>>(number: i64) -> Result<N, Error> {
    N::try_from(number).map_err(|_| Error::Refused {
        what: format!("the number {number}, which is out of range for its column").into(),
    })
}

fn misplaced(kind: Kind, value: &Value<'_>) -> Error {
    let wanted = match kind {
        Kind::Integer(_) => "a number belongs",
        Kind::Text | Kind::Any => "a text belongs",
        Kind::Bytes => "bytes belong",
    };
    Error::Refused {
        what: format!("{} where {wanted}", value.kind()).into(),
    }
}

/// The bytes of a column as they came.
pub(super) struct Raw<'r>(pub(super) &'r [u8]);

impl<'r> FromSql<'r> for Raw<'r> {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Reads what stands in a column of this kind.
pub(super) fn value(kind: Kind, raw: Option<Raw<'_>>) -> Result<Value<'_>, Error> {
    let Some(Raw(raw)) = raw else {
        return Ok(Value::Null);
    };
    let text = || std::str::from_utf8(raw).map_err(|_| Error::corrupt("a text that is not UTF-8"));
    match kind {
        Kind::Integer(_) => match *raw {
            [a, b] => Ok(Value::Integer(i16::from_be_bytes([a, b]).into())),
            [a, b, c, d] => Ok(Value::Integer(i32::from_be_bytes([a, b, c, d]).into())),
            _ => match raw.try_into() {
                Ok(bytes) => Ok(Value::Integer(i64::from_be_bytes(bytes))),
                Err(_) => Err(Error::corrupt(format!("a number of {} bytes", raw.len()))),
            },
        },
        Kind::Text => Ok(Value::Text(unescape(text()?)?)),
        Kind::Bytes => Ok(Value::Bytes(raw.into())),
        Kind::Any => untagged(text()?),
    }
}

/// Writes a text without the character U+0000, which PostgreSQL does not take; texts keep their order.
fn escape(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(0, 1, text.as_bytes()).is_none() {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => escaped.push_str("\u{1}\u{1}"),
            '\u{1}' => escaped.push_str("\u{1}\u{2}"),
            other => escaped.push(other),
        }
    }
    escaped.into()
}

fn unescape(text: &str) -> Result<Cow<'_, str>, Error> {
    if memchr::memchr(1, text.as_bytes()).is_none() {
        return Ok(text.into());
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\u{1}' => match characters.next() {
                Some('\u{1}') => '\0',
                Some('\u{2}') => '\u{1}',
                _ => return Err(Error::corrupt("a text with an invalid escape")),
            },
            other => other,
        });
    }
    Ok(plain.into())
}

/// Writes a value with its kind, for a column that holds values of several kinds.
pub(super) fn tagged(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => format!("i{number}"),
        Value::Text(text) => format!("t{}", escape(text)),
        Value::Bytes(bytes) => format!("b{}", data_encoding::HEXLOWER.encode(bytes)),
    }
}

fn untagged(text: &str) -> Result<Value<'_>, Error> {
    let otherwise = || Error::corrupt("a value without its kind");
    let mut characters = text.chars();
    match characters.next() {
        Some('i') => {
            let number = characters.as_str().parse().map_err(|_| otherwise())?;
            Ok(Value::Integer(number))
        }
        Some('t') => Ok(Value::Text(unescape(characters.as_str())?)),
        Some('b') => {
            let digits = characters.as_str().as_bytes();
            let bytes = data_encoding::HEXLOWER.decode(digits);
            Ok(Value::Bytes(bytes.map_err(|_| otherwise())?.into()))
        }
        _ => Err(otherwise()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_any_character_come_back_and_keep_their_order() {
        let mut texts = [
            "",
            "\0",
            "\0\0",
            "\0\u{1}",
            "\u{1}",
            "\u{1}\0",
            "\u{1}\u{1}",
            "\u{1}\u{2}",
            "\u{2}",
            "a",
            "a\0",
            "a\0b",
            "a\u{1}",
            "ab",
            "ä",
        ];
        texts.sort_unstable();
        for pair in texts.windows(2) {
            assert!(escape(pair[0]) < escape(pair[1]), "{pair:?}");
        }
        for text in texts {
            let escaped = escape(text);
            assert!(!escaped.contains('\0'));
            assert_eq!(unescape(&escaped).unwrap(), text);
        }
        assert!(unescape("\u{1}").is_err());
        assert!(unescape("\u{1}x").is_err());
    }

    #[test]
    fn a_value_of_any_kind_comes_back_as_it_was() {
        let values = [
            Value::Integer(i64::MIN),
            Value::Text("i5\0".into()),
            Value::Text("".into()),
            Value::Bytes(vec![0, 1, 255].into()),
            Value::Bytes(vec![].into()),
        ];
        for value in values {
            assert_eq!(untagged(&tagged(&value)).unwrap(), value);
        }
        for otherwise in ["", "x", "iüber", "b0", "i"] {
            assert!(untagged(otherwise).is_err(), "{otherwise}");
        }
    }

    #[test]
    fn a_parameter_shows_nothing_of_itself() {
        assert_eq!(format!("{:?}", Param::Text("0700000000".into())), "…");
    }
}
