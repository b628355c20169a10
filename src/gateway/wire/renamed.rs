//! What a deployment calls otherwise, put into the document's words, so that one reader reads all of them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::reply::ENTRIES_MAX;
use crate::dialect::{Names, Place};

/// Below this depth nothing is renamed; the interface needs five levels.
const DEPTH_MAX: usize = 8;
/// An object with more members than this is left as it is: no reply has as many.
const MEMBERS_MAX: usize = 1_000;

/// Stands for a body that cannot be renamed: no reader takes it. Read under the document's names it would say something else.
const UNREADABLE: &[u8] = b"null";

/// Returns the body of a reply with the document's names of its members. What is neither an object nor an array stays as it is:
/// no reader takes it. What a payment is told in, such as a narration, is left as it is.
#[must_use]
pub fn in_our_words<'b>(body: &'b [u8], names: &Names) -> Cow<'b, [u8]> {
    words_of(Place::Reply, body, names)
}

/// The same of what stands in a place.
pub(super) fn words_of<'b>(place: Place, body: &'b [u8], names: &Names) -> Cow<'b, [u8]> {
    if names.are_the_documents() {
        return Cow::Borrowed(body);
    }
    // As its reader trims it.
    let trimmed = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let trimmed = trimmed.trim_ascii();
    if !matches!(trimmed.first(), Some(b'{' | b'[')) {
        return Cow::Borrowed(body);
    }
    let mut out = Vec::with_capacity(body.len());
    let renamed = serde_json::from_slice::<&RawValue>(trimmed)
        .ok()
        .and_then(|raw| write(raw, (place, names), 0, &mut out));
    match renamed {
        Some(()) => Cow::Owned(out),
        None => Cow::Borrowed(UNREADABLE),
    }
}

/// Writes a value with the document's names; `None` where it is too large to be a reply.
fn write(
    raw: &RawValue,
    (place, names): (Place, &Names),
    depth: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let json = raw.get();
    match json.as_bytes().first()? {
        b'{' if depth < DEPTH_MAX => {
            let Members(members) = serde_json::from_str(json).ok()?;
            out.push(b'{');
            let mut first = true;
            for (theirs, value) in members {
                // The document's name of a member that is called otherwise here says nothing that is known.
                let Some(ours) = names.ours(place, &theirs) else {
                    continue;
                };
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                serde_json::to_writer(&mut *out, ours).ok()?;
                out.push(b':');
                match place.within(ours) {
                    Some(place) => write(value, (place, names), depth + 1, out)?,
                    None => out.extend_from_slice(value.get().as_bytes()),
                }
            }
            out.push(b'}');
        }
        b'[' if depth < DEPTH_MAX => {
            let Items(items) = serde_json::from_str(json).ok()?;
            out.push(b'[');
            for (index, item) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, (place, names), depth + 1, out)?;
            }
            out.push(b']');
        }
        _ => out.extend_from_slice(json.as_bytes()),
    }
    Some(())
}

/// The members of an object as they came, doubled ones too: their reader refuses those.
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Listed;

        impl<'de> Visitor<'de> for Listed {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                    if members.len() > MEMBERS_MAX {
                        return Err(serde::de::Error::custom("more members than any reply has"));
                    }
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Listed)
    }
}

/// A member's name, borrowed where it has no escape.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// The items of an array; more than any reply lists are refused.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Listed;

        impl<'de> Visitor<'de> for Listed {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Items<'de>, A::Error> {
                let mut kept = Vec::new();
                while let Some(item) = items.next_element()? {
                    kept.push(item);
                    if kept.len() > ENTRIES_MAX {
                        return Err(serde::de::Error::custom("more entries than any reply has"));
                    }
                }
                Ok(Items(kept))
            }
        }

        deserializer.deserialize_seq(Listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Values, build};

    fn names(pairs: &[(&str, &str)]) -> Names {
        let values: Values = pairs
            .iter()
            .map(|(ours, theirs)| (format!("members.{ours}"), vec![(*theirs).to_owned()]))
            .collect();
        build(&values, std::path::Path::new("")).unwrap().names
    }

    fn read(body: &str, pairs: &[(&str, &str)]) -> String {
        let names = names(pairs);
        let body = in_our_words(body.as_bytes(), &names);
        String::from_utf8(body.into_owned()).unwrap()
    }

    #[test]
    fn members_are_renamed_where_the_interface_has_them_and_nowhere_else() {
        let beep = [("gatewayTransactionID", "beepTransactionID")];
        for (body, expected) in [
            (
                r#"{"results":[{"beepTransactionID":7,"statusCode":140}]}"#,
                r#"{"results":[{"gatewayTransactionID":7,"statusCode":140}]}"#,
            ),
            // A number of another kind that has the document's name is not ours.
            (
                r#"{"results":[{"gatewayTransactionID":1,"beepTransactionID":2}]}"#,
                r#"{"results":[{"gatewayTransactionID":2}]}"#,
            ),
            // Doubled members stay doubled, digits as they are.
            (
                r#"{ "results" : [ {"beepTransactionID":900719925474099312345 ,"beepTransactionID":2} ] }"#,
                r#"{"results":[{"gatewayTransactionID":900719925474099312345,"gatewayTransactionID":2}]}"#,
            ),
            // What a narration holds is money, and not looked into.
            (
                r#"{"results":[{"receiverNarration":{"beepTransactionID":1}}]}"#,
                r#"{"results":[{"receiverNarration":{"beepTransactionID":1}}]}"#,
            ),
            ("[1,2", "null"),
            ("{\"results\":[", "null"),
            (
                "\u{c}{\"beepTransactionID\":1}",
                "{\"gatewayTransactionID\":1}",
            ),
            ("<html>", "<html>"),
            ("", ""),
        ] {
            assert_eq!(read(body, &beep), expected, "{body}");
        }
        let many = format!("{{{}\"a\":1}}", "\"b\":1,".repeat(MEMBERS_MAX));
        assert_eq!(read(&many, &beep), "null");
    }

    #[test]
    fn one_name_may_stand_for_members_of_different_places() {
        let renamed = [
            ("packet", "items"),
            ("results", "items"),
            ("authStatusCode", "code"),
            ("authStatusDescription", "text"),
            ("statusCode", "code"),
            ("statusDescription", "text"),
            ("accountNumber", "account"),
            ("destinationAccountNo", "account"),
        ];
        assert_eq!(
            read(
                r#"{"authStatus":{"code":131,"text":"in"},"items":[{"code":140,"text":"paid","account":"7","packet":1,"destinationAccountNo":2}]}"#,
                &renamed
            ),
            r#"{"authStatus":{"authStatusCode":131,"authStatusDescription":"in"},"results":[{"statusCode":140,"statusDescription":"paid","accountNumber":"7","packet":1,"destinationAccountNo":2}]}"#
        );
    }

    #[test]
    fn names_of_whole_objects_lead_to_what_is_in_them() {
        let renamed = [
            ("results", "items"),
            ("authStatus", "auth"),
            ("authStatusCode", "code"),
            ("statusCode", "state"),
        ];
        assert_eq!(
            read(
                r#"{"auth":{"code":131},"items":[{"state":"140"}]}"#,
                &renamed
            ),
            r#"{"authStatus":{"authStatusCode":131},"results":[{"statusCode":"140"}]}"#
        );
    }
}
