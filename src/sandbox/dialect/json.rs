//! JSON whose members are renamed and moved, its numbers digit by digit as they came.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The members of an object, by name.
pub(super) type Members = BTreeMap<String, Box<RawValue>>;

/// Reads an object. A member that is there twice is an error of the other side.
pub(super) fn object(text: &str) -> Result<Members, String> {
    if !text.trim_start().starts_with('{') {
        return Err("is not an object".to_owned());
    }
    // A map keeps the last of two: how many names there are tells.
    let members: Members = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let names: Names = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match names.0 == members.len() {
        true => Ok(members),
        false => Err("has a member twice".to_owned()),
    }
}

/// How many members an object has, doubled ones counted twice.
struct Names(usize);

impl<'de> serde::Deserialize<'de> for Names {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counted;

        impl<'de> serde::de::Visitor<'de> for Counted {
            type Value = Names;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<Names, A::Error> {
                let mut count = 0;
                while members
                    .next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?
                    .is_some()
                {
                    count += 1;
                }
                Ok(Names(count))
            }
        }

        deserializer.deserialize_map(Counted)
    }
}

/// Reads the items of an array.
pub(super) fn array(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    serde_json::from_str(text).map_err(|_| "is not an array".to_owned())
}

/// Returns a value as it is written.
pub(super) fn raw(value: &(impl serde::Serialize + ?Sized)) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("texts, numbers and their maps have a JSON form")
}
