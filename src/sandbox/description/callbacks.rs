//! Callbacks and their acknowledgement.

use serde_json::{Map, Value, json};

use super::operations::{require_secret, require_signature};
use super::table::{leave_out, schema};
use crate::dialect::{Acknowledgement, AcknowledgementForm, Dialect};

/// Where the document finds the address of a payment's callbacks.
const ADDRESS: [&str; 5] = ["payload", "packet", "0", "extraData", "callbackUrl"];

/// Puts callbacks into the dialect.
pub(super) fn put(document: &mut Value, dialect: &Dialect) {
    let schemas = &mut document["components"]["schemas"];
    pushed(schemas, dialect);
    acknowledgement(schemas, &dialect.callbacks.acknowledgement);
    let paths = document["paths"].as_object_mut();
    let operations = paths
        .into_iter()
        .flat_map(Map::values_mut)
        .filter_map(Value::as_object_mut);
    for operation in operations.flat_map(Map::values_mut) {
        // A registered address stands in no request.
        if !dialect.writes("callbackUrl") {
            operation
                .as_object_mut()
                .map(|operation| operation.remove("callbacks"));
        } else if let Some(callback) = operation.pointer_mut("/callbacks/paymentStatus") {
            *callback = at(callback.take(), dialect);
        }
    }
}

fn at(callback: Value, dialect: &Dialect) -> Value {
    let address = ADDRESS.map(|name| dialect.names.theirs(name));
    let address = format!("{{$request.body#/{}}}", address.join("/"));
    let Value::Object(addresses) = callback else {
        return callback;
    };
    let mut path = addresses
        .into_iter()
        .next()
        .map(|(_, path)| path)
        .unwrap_or_default();
    let operation = &mut path["post"];
    if let Some((name, _)) = &dialect.callbacks.secret {
        require_secret(operation, name);
    }
    require_signature(operation, dialect.callbacks.signing.as_ref());
    let stored = &mut operation["responses"]["200"];
    match dialect.callbacks.acknowledgement.form {
        AcknowledgementForm::Envelope => {}
        AcknowledgementForm::Flat => {
            stored["content"]["application/json"]["schema"] = schema("Receipt");
        }
        AcknowledgementForm::Empty => {
            stored
                .as_object_mut()
                .map(|stored| stored.remove("content"));
        }
    }
    json!({address: path})
}

/// Puts the packet where the dialect has it.
fn pushed(schemas: &mut Value, dialect: &Dialect) {
    let callbacks = &dialect.callbacks;
    let mut around = schemas["PushPaymentStatus"].take();
    let own = callbacks
        .functions
        .iter()
        .find(|known| !known.starts_with('*'));
    if let Some(own) = own {
        around["properties"]["function"]["const"] = own.as_str().into();
    }
    let path: Vec<&str> = callbacks.packet.iter().map(String::as_str).collect();
    schemas["PushPaymentStatus"] = match path[..] {
        ["payload", "packet"] => around,
        [] => schema("PushedPacket"),
        [outermost, ref within @ ..] => {
            let inner = within
                .iter()
                .rev()
                .fold(schema("PushedPacket"), |inner, name| {
                    json!({
                        "type": "object",
                        "required": [name],
                        "additionalProperties": false,
                        "properties": {*name: inner},
                    })
                });
            leave_out(&mut around, "payload");
            if let Some(required) = around["required"].as_array_mut() {
                required.push(outermost.into());
            }
            around["properties"][outermost] = inner;
            around
        }
    };
}

fn acknowledgement(schemas: &mut Value, said: &Acknowledgement) {
    let code = |code: i32| match said.codes_as_text {
        true => Value::from(code.to_string()),
        false => code.into(),
    };
    let receipt = &mut schemas["Receipt"]["properties"];
    receipt["statusCode"]["const"] = code(said.code);
    receipt["statusDescription"]["const"] = said.description.as_str().into();
    let auth = &mut schemas["Acknowledgement"]["properties"]["authStatus"]["properties"];
    auth["authStatusCode"]["const"] = code(said.auth_code);
    let unused: &[&str] = match said.form {
        AcknowledgementForm::Envelope => &[],
        AcknowledgementForm::Flat => &["Acknowledgement"],
        AcknowledgementForm::Empty => &["Acknowledgement", "Receipt"],
    };
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.retain(|name, _| !unused.contains(&name.as_str()));
    }
}
