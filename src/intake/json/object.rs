//! The members of one object, numbers as they were written.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Calls `each` with name and raw text of every member.
///
/// # Errors
/// The text is not one JSON object.
pub(in super::super) fn members(
    text: &str,
    each: &mut dyn FnMut(&str, &str),
) -> Result<(), serde_json::Error> {
    // Two members of the same name are the caller's to find: names are mapped to columns first.
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_map(Members(each))?;
    deserializer.end()
}

struct Members<'a>(&'a mut dyn FnMut(&str, &str));

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            let raw: &RawValue = map.next_value()?;
            (self.0)(&name, raw.get());
        }
        Ok(())
    }
}

/// A member's name, borrowed when it has no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Self::Value, E> {
        Err(E::custom("a name that is no text"))
    }
}

/// What a member holds.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Value<'a> {
    /// `null`.
    Absent,
    /// A text, or the digits of a number exactly as they were written.
    Text(Cow<'a, str>),
    /// Anything else, by its name.
    Unfit(&'static str),
}

/// Reads a member's raw text.
pub(in super::super) fn value(raw: &str) -> Value<'_> {
    match raw.as_bytes() {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => {
            Value::Text(Cow::Borrowed(&raw[1..raw.len() - 1]))
        }
        [b'"', ..] => serde_json::from_str::<String>(raw)
            .map_or(Value::Unfit("half a character"), |text| {
                Value::Text(Cow::Owned(text))
            }),
        [b'-' | b'0'..=b'9', ..] => Value::Text(Cow::Borrowed(raw)),
        b"null" => Value::Absent,
        b"true" | b"false" => Value::Unfit("a boolean"),
        [b'[', ..] => Value::Unfit("an array"),
        _ => Value::Unfit("an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, serde_json::Error> {
        let mut found = Vec::new();
        members(text, &mut |name, raw| {
            found.push((name.to_owned(), raw.to_owned()))
        })?;
        Ok(found)
    }

    #[test]
    fn numbers_keep_their_digits_and_names_their_order() {
        let found =
            read(r#"{"b": 1500.50, "\u0061": 123456789012345678901234567890, "b":"x"}"#).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert_eq!(found[0].1, "1500.50");
        assert_eq!(found[1].1, "123456789012345678901234567890");
    }

    #[test]
    fn values_are_texts_or_unfit() {
        let text = |text: &'static str| Value::Text(Cow::Borrowed(text));
        for (raw, expected) in [
            ("null", Value::Absent),
            ("\"\"", text("")),
            (r#""a\"b\u00e9""#, text("a\"bé")),
            ("-1.50", text("-1.50")),
            ("true", Value::Unfit("a boolean")),
            ("[1]", Value::Unfit("an array")),
            ("{}", Value::Unfit("an object")),
            (r#""\ud800""#, Value::Unfit("half a character")),
        ] {
            assert_eq!(value(raw), expected, "{raw}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [
            "",
            "[]",
            "1",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1} 2",
            "{a:1}",
            "{\"a\":01}",
            "{\"a\":NaN}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
