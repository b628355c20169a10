//! What tells that a request came to a payment after all, wherever in a reply it stands.

use serde_json::Value;

use super::reply::read_raw;

/// The members by which a gateway names a payment that it has: section 2.4 has both.
const NAMES: [&str; 2] = ["gatewayTransactionID", "receiptNumber"];

/// Returns whether a body names a transaction of the gateway, or a receipt, under whatever member and at whatever depth. A refused payment
/// has none; gateways then say 0, or nothing.
#[must_use]
pub fn names_a_transaction(body: &[u8]) -> bool {
    match read_raw(body).map(|raw| serde_json::from_str(raw.get())) {
        Ok(Ok(value)) => is_named_in(&value),
        // What its reader passes over may hold anything.
        Ok(Err(_)) => true,
        Err(_) => false,
    }
}

fn is_named_in(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_named_in),
        Value::Object(members) => members.iter().any(|(name, value)| {
            let names = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
            names && is_something(value) || is_named_in(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.to_string() != "0",
        Value::String(text) => !["", "0"].contains(&text.trim()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_found_wherever_it_stands() {
        for (body, is_named) in [
            (r#"{"results":[]}"#, false),
            (r#"{"results":[{"gatewayTransactionID":0}]}"#, false),
            (
                r#"{"results":[{"gatewayTransactionID":"0","receiptNumber":" "}]}"#,
                false,
            ),
            (
                r#"{"results":[{"gatewayTransactionID":null,"receiptNumber":{}}]}"#,
                false,
            ),
            (r#"{"results":[{"gatewayTransactionID":7}]}"#, true),
            (r#"{"result":{"one":[{"GatewayTransactionId":"7"}]}}"#, true),
            (r#"{"receiptNumber":"R7"}"#, true),
            (r#"{"odd":"\ud800","receiptNumber":"R7"}"#, true),
            (r#"{"odd":1e999,"results":[]}"#, true),
            (r#"{"receiptNumber":"R7""#, false),
            ("", false),
        ] {
            assert_eq!(names_a_transaction(body.as_bytes()), is_named, "{body}");
        }
    }
}
