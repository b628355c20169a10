//! Callbacks.

use serde_json::Value;

use super::replies::{self, PASSWORD};
use crate::gateway::{Secrets, read_callback};
use crate::lifecycle::CodeTable;

/// A value, or the one that a text holds.
fn within(value: &Value) -> Value {
    let held = value
        .as_str()
        .and_then(|text| replies::value(text.as_bytes()));
    held.unwrap_or_else(|| value.clone())
}

/// A callback says what its one packet says, about the identifier that stands there.
pub fn callback(bytes: &[u8]) {
    let codes = CodeTable::default();
    let scrub = Secrets::new("acme", PASSWORD).scrub();
    let notice = match read_callback(bytes, &codes, &scrub) {
        Ok(notice) => notice,
        Err(error) => return super::assert_shown(&error.to_string(), 200),
    };
    let body = replies::value(bytes).expect("what was read is JSON");
    let packet = match within(&within(&within(&body)["payload"])["packet"]) {
        Value::Array(packets) => {
            assert_eq!(packets.len(), 1);
            packets[0].clone()
        }
        packet => packet,
    };
    let function: String = body["function"]
        .as_str()
        .map_or("", str::trim)
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    assert!(
        function.is_empty() || function.contains("pushPaymentStatus"),
        "{function:?}"
    );
    let code = replies::code(&packet["statusCode"]).expect("a code that can be read");
    assert_eq!(
        (notice.verdict.code, notice.verdict.class),
        (code, codes.of_status(code))
    );
    if let Value::String(id) = &packet["payerTransactionID"] {
        assert_eq!(notice.id.as_deref(), Some(id.as_str()));
    }
    for named in &notice.said.named {
        super::assert_shown(&named.text, 2_048);
    }
    replies::assert_said(&notice.said);
}
