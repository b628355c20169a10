//! Values below `extraData` that are no texts.

use super::types::ExtraType;

impl ExtraType {
    /// Returns whether a value of a row is what is to be written, digit by digit as it stands.
    #[must_use]
    pub fn allows(self, value: &str) -> bool {
        let value = value.trim();
        match self {
            Self::Text => false,
            Self::Boolean => matches!(value, "true" | "false"),
            Self::Number => {
                let begins = |c: char| c == '-' || c.is_ascii_digit();
                value.starts_with(begins) && is_json(value)
            }
            Self::Object => {
                value.starts_with('{') && is_json(value) && !value.contains(['\n', '\r'])
            }
        }
    }

    /// Returns what a person is to write.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Boolean => "true or false",
            Self::Number => "a number such as 12 or 12.50",
            Self::Object => r#"a JSON object such as {"a":1}, on one line"#,
        }
    }
}

/// Returns whether a text is one JSON value. Members that are there twice are none: two readers would read two things.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<Once>(text).is_ok()
}

/// A JSON value whose objects have each member once.
struct Once;

impl<'de> serde::Deserialize<'de> for Once {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> serde::de::Visitor<'de> for Values {
    type Value = Once;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON without repeated members")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_str<E>(self, _: &str) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Once, A::Error> {
        while items.next_element::<Once>()?.is_some() {}
        Ok(Once)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<Once, A::Error> {
        let mut names = std::collections::BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name.to_lowercase()) {
                return Err(serde::de::Error::custom("a member appears twice"));
            }
            members.next_value::<Once>()?;
        }
        Ok(Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_it_stands_only_where_it_is_what_it_is_said_to_be() {
        for (of, value, allowed) in [
            (ExtraType::Boolean, "true", true),
            (ExtraType::Boolean, " false ", true),
            (ExtraType::Boolean, "TRUE", false),
            (ExtraType::Boolean, "1", false),
            (ExtraType::Number, "12", true),
            (ExtraType::Number, "-12.50", true),
            (ExtraType::Number, "1e3", true),
            (ExtraType::Number, "012", false),
            (ExtraType::Number, "1,000", false),
            (ExtraType::Number, "NaN", false),
            (ExtraType::Number, "12}", false),
            (ExtraType::Object, r#"{"a":[1,{"b":null}]}"#, true),
            (ExtraType::Object, r#"{"a":1,"A":2}"#, false),
            (ExtraType::Object, r#"{"a":1},"callbackUrl":"x""#, false),
            (ExtraType::Object, "[1]", false),
            (ExtraType::Object, "{", false),
            (ExtraType::Text, "x", false),
        ] {
            assert_eq!(of.allows(value), allowed, "{of:?} {value}");
        }
    }
}
