//! Callbacks.

use serde_json::Value;

use super::dialects::{Spoken, spoken};
use super::replies::{self, PASSWORD};
use crate::gateway::{Secrets, read_callbacks};
use crate::lifecycle::CodeTable;

/// A value, or the one that a text holds.
fn within(value: &Value) -> Value {
    let held = value
        .as_str()
        .and_then(|text| replies::value(text.as_bytes()));
    held.unwrap_or_else(|| value.clone())
}

/// Goes the way to the packet.
fn packet_of(spoken: &Spoken, body: &Value) -> Value {
    let path = &spoken.dialect.callbacks.packet;
    let found = path
        .iter()
        .fold(within(body), |value, name| within(spoken.of(&value, name)));
    match found {
        Value::Array(packets) => {
            assert_eq!(packets.len(), 1);
            packets[0].clone()
        }
        packet => packet,
    }
}

/// A callback says what its one packet says, about the identifier that stands there.
pub fn callback(bytes: &[u8]) {
    let (spoken, bytes) = spoken(bytes);
    let codes = CodeTable::default();
    let scrub = Secrets::new("acme", PASSWORD).scrub();
    let notices = match read_callbacks(bytes, spoken.dialect, &codes, &scrub) {
        Ok(notices) => notices,
        Err(error) => return super::assert_shown(&error.to_string(), 200),
    };
    let [notice] = &notices[..] else {
        panic!("{} packets", notices.len())
    };
    let body = replies::value(bytes).expect("what was read is JSON");
    let packet = packet_of(&spoken, &body);
    let function: String = spoken
        .of(&body, "function")
        .as_str()
        .map_or("", str::trim)
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    let functions = &spoken.dialect.callbacks.functions;
    let is_taken = functions.iter().any(|known| match known.split_once('*') {
        Some((_, end)) => function.contains(end),
        None => function == *known,
    });
    assert!(function.is_empty() || is_taken, "{function:?}");
    let code = replies::code(spoken.of(&packet, "statusCode")).expect("a code that can be read");
    assert_eq!(
        (notice.verdict.code, notice.verdict.class),
        (code, codes.of_status(code))
    );
    if let Value::String(id) = spoken.of(&packet, "payerTransactionID") {
        assert_eq!(notice.id.as_deref(), Some(id.as_str()));
    }
    for named in &notice.said.named {
        super::assert_shown(&named.text, 2_048);
    }
    replies::assert_said(&notice.said);
}
