//! The examples of requests.

use serde_json::{Map, Value, json};

use crate::dialect::{Dialect, EmptyExtra, Names, Operation};
use crate::domain::IdentifierForm;

/// Puts an example into the dialect.
pub(super) fn put(request: &mut Value, operation: Operation, dialect: &Dialect) {
    let call = dialect.call(operation);
    match &call.function {
        Some(function) => request["function"] = function.as_str().into(),
        None => leave_out(request, "function"),
    }
    let payload = &mut request["payload"];
    if call.authentication.is_some_and(|auth| !auth.body) {
        leave_out(payload, "credentials");
    }
    for packet in payload["packet"].as_array_mut().into_iter().flatten() {
        packet_of(packet, operation, dialect);
    }
    *request = renamed(request.take(), &dialect.names);
}

fn leave_out(of: &mut Value, name: &str) {
    of.as_object_mut().map(|members| members.remove(name));
}

fn packet_of(packet: &mut Value, operation: Operation, dialect: &Dialect) {
    let has_id = packet["payerTransactionID"]
        .as_str()
        .is_some_and(|id| !id.is_empty());
    if has_id && dialect.identifiers != IdentifierForm::DEFAULT {
        let made_up = dialect.identifiers.write(&[0x1E; 32]);
        packet["payerTransactionID"] = made_up.as_str().into();
    }
    match (operation, dialect.empty_extra) {
        (Operation::Post, _) => payment(packet, dialect),
        (Operation::Bill | Operation::Account, EmptyExtra::EmptyText) => {
            packet["extraData"] = "".into();
        }
        (Operation::Bill | Operation::Account, EmptyExtra::Omitted) => {
            leave_out(packet, "extraData");
        }
        _ => {}
    }
}

fn payment(packet: &mut Value, dialect: &Dialect) {
    for member in &dialect.left_out {
        match member.as_str() {
            "extraData" => {}
            member => {
                leave_out(&mut packet["extraData"], member);
                leave_out(packet, member);
            }
        }
    }
    let service = packet["serviceCode"].as_str().unwrap_or_default();
    // So many decimals that none of them is lost as a number.
    let amount = match dialect.decimals.get(service) {
        None => None,
        Some(0) => Some(("1500", json!(1500))),
        Some(1) => Some(("1500.5", json!(1500.5))),
        Some(2) => Some(("1500.25", json!(1500.25))),
        Some(3) => Some(("1500.125", json!(1500.125))),
        Some(_) => Some(("1500.0625", json!(1500.0625))),
    };
    match amount {
        Some((text, _)) if dialect.amount_as_text => packet["amount"] = text.into(),
        Some((_, number)) => packet["amount"] = number,
        None if dialect.amount_as_text => packet["amount"] = "1500.50".into(),
        None => {}
    }
    if dialect.extra_data_as_text == Some(true) {
        let extra = renamed(packet["extraData"].take(), &dialect.names);
        packet["extraData"] = extra.to_string().into();
    }
}

/// Gives members the dialect's names.
fn renamed(value: Value, names: &Names) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter();
            let members: Map<String, Value> = members
                .map(|(ours, value)| (names.theirs(&ours).to_owned(), renamed(value, names)))
                .collect();
            members.into()
        }
        Value::Array(items) => items
            .into_iter()
            .map(|item| renamed(item, names))
            .collect::<Vec<_>>()
            .into(),
        other => other,
    }
}
