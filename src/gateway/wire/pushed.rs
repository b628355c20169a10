//! Callbacks (section 6): the packet wherever the dialect has it, as an object, an array, or a text that holds one of them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::renamed::{Members, words_of};
use super::reply::{
    ENTRIES_MAX, Entry, Object, RawEntry, Unreadable, entry, plain, read_object, read_raw,
};
use crate::dialect::{Callbacks, Names, Place};
use crate::gateway::scrub::Scrub;

/// What a callback brings.
#[derive(Debug)]
pub struct CallbackBody {
    /// `function`, when there is one.
    pub function: Option<String>,
    /// The packets, in the order they came; at least one.
    pub packets: Vec<Entry>,
}

/// Reads a callback, our secrets left out of it. Its credentials are not looked at.
///
/// # Errors
/// Says why the body says nothing.
pub fn read_pushed(
    body: &[u8],
    callbacks: &Callbacks,
    names: &Names,
    scrub: &Scrub,
) -> Result<CallbackBody, Unreadable> {
    // Nearly every callback is one object in the document's place: read at once.
    if names.are_the_documents()
        && callbacks.packet == IN_THE_DOCUMENT
        && let Ok(Document { function, payload }) = read_object(body)
    {
        return Ok(CallbackBody {
            function: function.and_then(|raw| plain(raw, scrub)),
            packets: vec![entry(payload.0.packet.0, scrub)],
        });
    }
    let raw = read_raw(body)?;
    let mut packets = Vec::new();
    descend(raw, &callbacks.packet, names, scrub, &mut packets)?;
    let is_flat = callbacks.packet.is_empty();
    if packets.is_empty() || is_flat && !speaks_of_one(raw, &packets, names) {
        return Err(Unreadable::OtherForm);
    }
    // A text that holds all of it has no function beside it.
    let function = match raw.get().starts_with('"') {
        true => None,
        false => named(raw, names.theirs("function"))?,
    };
    Ok(CallbackBody {
        function: function.and_then(|raw| plain(raw, scrub)),
        packets,
    })
}

/// Returns whether a body without anything around its packets names its payments itself, and says nothing else further inside: a
/// callback that quotes another payment, or another state, could be taken for a word about this one.
fn speaks_of_one(raw: &RawValue, packets: &[Entry], names: &Names) -> bool {
    let text: Result<String, _> = serde_json::from_str(raw.get());
    let body = text.as_deref().unwrap_or(raw.get());
    let Ok(body) = serde_json::from_str::<Value>(body) else {
        return false;
    };
    let ids: Vec<Option<&str>> = packets.iter().map(|packet| packet.id.as_deref()).collect();
    let outermost: Vec<&Value> = match &body {
        Value::Array(items) => items.iter().collect(),
        body => vec![body],
    };
    let (id, code) = (
        names.theirs("payerTransactionID"),
        names.theirs("statusCode"),
    );
    ids.len() == outermost.len()
        && outermost.into_iter().zip(ids).all(|(packet, own)| {
            let within = packet
                .as_object()
                .into_iter()
                .flat_map(|members| members.values());
            own.is_some()
                && within
                    .into_iter()
                    .all(|value| is_silent(value, (id, code), own))
        })
}

/// Returns whether nothing in a value names another payment, or any state.
fn is_silent(value: &Value, (id, code): (&str, &str), own: Option<&str>) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(name, value)| {
            let is_own = || value.as_str().is_some_and(|text| Some(text) == own);
            name != code && (name != id || is_own()) && is_silent(value, (id, code), own)
        }),
        Value::Array(items) => items.iter().all(|item| is_silent(item, (id, code), own)),
        _ => true,
    }
}

/// Where the document has the packet.
const IN_THE_DOCUMENT: [&str; 2] = ["payload", "packet"];

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Object<Payload<'a>>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    packet: Object<RawEntry<'a>>,
}

/// Goes the way to the packet, and reads it.
fn descend(
    raw: &RawValue,
    path: &[String],
    names: &Names,
    scrub: &Scrub,
    packets: &mut Vec<Entry>,
) -> Result<(), Unreadable> {
    if raw.get().starts_with('"') {
        let text: String = serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)?;
        // A text within a text is none of the interface's: it would go on without end.
        if !text.trim_start().starts_with(['{', '[']) {
            return Err(Unreadable::OtherForm);
        }
        let within = read_raw(text.as_bytes())?;
        return descend(within, path, names, scrub, packets);
    }
    match path.split_first() {
        Some((name, rest)) => {
            let within = named(raw, names.theirs(name))?.ok_or(Unreadable::OtherForm)?;
            descend(within, rest, names, scrub, packets)
        }
        None if raw.get().starts_with('[') => {
            let items: Vec<&RawValue> =
                serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)?;
            if items.len() > ENTRIES_MAX {
                return Err(Unreadable::TooMany);
            }
            for item in items {
                packets.push(packet(item, names, scrub)?);
            }
            Ok(())
        }
        None => {
            packets.push(packet(raw, names, scrub)?);
            Ok(())
        }
    }
}

fn packet(raw: &RawValue, names: &Names, scrub: &Scrub) -> Result<Entry, Unreadable> {
    let renamed = words_of(Place::Packet, raw.get().as_bytes(), names);
    let read: Result<Object<RawEntry<'_>>, _> = serde_json::from_slice(&renamed);
    let Object(read) = read.map_err(|_| Unreadable::OtherForm)?;
    Ok(entry(read, scrub))
}

/// Returns a member of an object. One that is there twice makes the object unreadable.
fn named<'a>(raw: &'a RawValue, name: &str) -> Result<Option<&'a RawValue>, Unreadable> {
    if !raw.get().starts_with('{') {
        return match raw.get().starts_with('[') {
            true => Ok(None),
            false => Err(Unreadable::OtherForm),
        };
    }
    let Members(members) = serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)?;
    let mut found = members.into_iter().filter(|(known, _)| known == name);
    let first = found.next();
    match found.next() {
        Some(_) => Err(Unreadable::OtherForm),
        None => Ok(first.map(|(_, raw)| raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Values, build};

    #[test]
    fn a_flat_callback_names_its_payment_and_speaks_of_nothing_else() {
        let values: Values = [
            ("callbacks.packet", ""),
            ("members.payerTransactionID", "ref"),
            ("members.statusCode", "code"),
        ]
        .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]))
        .into();
        let dialect = build(&values, std::path::Path::new("")).unwrap();
        for (body, is_read) in [
            (r#"{"ref":"A","code":140}"#, true),
            (r#"[{"ref":"A","code":140}]"#, true),
            (
                r#"{"ref":"A","code":140,"request":{"ref":"A","amount":1}}"#,
                true,
            ),
            // By its address alone nobody knows which payment a quotation is of.
            (r#"{"code":140}"#, false),
            (r#"{"items":[{"ref":"B","code":141}],"code":141}"#, false),
            (r#"{"ref":"A","code":140,"original":{"ref":"B"}}"#, false),
            (
                r#"{"ref":"A","code":140,"items":[{"ref":"A","code":141}]}"#,
                false,
            ),
            (r#"{"ref":"A","code":140,"deep":[{"x":{"code":1}}]}"#, false),
        ] {
            let read = read_pushed(
                body.as_bytes(),
                &dialect.callbacks,
                &dialect.names,
                &Scrub::nothing(),
            );
            assert_eq!(read.is_ok(), is_read, "{body}");
        }
    }
}
