//! The bodies of requests and replies: names, types, codes.

use serde_json::{Map, Value, json};

use super::table::{OPERATIONS, leave_out, schema};
use crate::dialect::{Dialect, EmptyExtra, ExtraType, LEAVABLE, Names, Operation};
use crate::domain::IdentifierForm;
use crate::sandbox::http::codes::{AUTHENTICATED, NOT_AUTHENTICATED};

/// The schemas whose members the dialect names, beside those of [`OPERATIONS`].
const NAMED: [&str; 9] = [
    "Credentials",
    "PaymentPacket",
    "ExtraData",
    "AuthStatus",
    "NothingDone",
    "PushPaymentStatus",
    "PushedPacket",
    "Acknowledgement",
    "Receipt",
];

/// Puts the schemas into the dialect. Names stay the document's, until [`rename`].
pub(super) fn put(document: &mut Value, dialect: &Dialect) {
    let schemas = &mut document["components"]["schemas"];
    for (operation, request, ..) in OPERATIONS {
        request_of(&mut schemas[request], operation, dialect);
    }
    payment(&mut schemas["PaymentPacket"], dialect);
    for member in LEAVABLE
        .into_iter()
        .filter(|member| !dialect.writes(member))
    {
        leave_out(&mut schemas["ExtraData"], member);
    }
    for (name, of) in &dialect.extra_types {
        let of = match of {
            ExtraType::Text => "string",
            ExtraType::Boolean => "boolean",
            ExtraType::Number => "number",
            ExtraType::Object => "object",
        };
        schemas["ExtraData"]["properties"][name] = json!({"type": of});
    }
    if dialect.identifiers != IdentifierForm::DEFAULT {
        schemas["PayerTransactionID"] = json!({
            "type": "string",
            "pattern": dialect.identifiers.pattern(),
            "description": "The caller's unique identifier",
        });
    }
    replies(schemas, dialect);
    if let (Some(name), Some(uploaded)) = (
        dialect.replies.document_reference.first(),
        schemas["Uploaded"].as_object_mut(),
    ) {
        uploaded["required"] = json!([name]);
        let members = uploaded["properties"].as_object_mut();
        members.map(|members| {
            let reference = members.remove("reference");
            reference.map(|reference| members.insert(name.clone(), reference))
        });
    }
}

/// Gives the members of requests, replies and callbacks the dialect's names.
pub(super) fn rename(document: &mut Value, names: &Names) {
    let schemas = &mut document["components"]["schemas"];
    let own = OPERATIONS
        .iter()
        .flat_map(|(_, request, reply, ..)| [*request, *reply]);
    for name in own.chain(NAMED) {
        if let Some(known) = schemas.get_mut(name) {
            renamed(known, names);
        }
    }
}

fn renamed(schema: &mut Value, names: &Names) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                renamed(value, names);
                match (key.as_str(), value) {
                    ("required", Value::Array(required)) => {
                        for name in required {
                            let ours = name.as_str().unwrap_or_default();
                            *name = names.theirs(ours).into();
                        }
                    }
                    ("properties", Value::Object(properties)) => {
                        *properties = titled(properties, names)
                    }
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| renamed(item, names)),
        _ => {}
    }
}

/// A member that is called otherwise takes the place of one that was there under that name.
fn titled(properties: &mut Map<String, Value>, names: &Names) -> Map<String, Value> {
    let all = std::mem::take(properties).into_iter();
    let (moved, mut kept): (Map<_, _>, Map<_, _>) =
        all.partition(|(ours, _)| names.theirs(ours) != ours);
    for (ours, value) in moved {
        kept.insert(names.theirs(&ours).to_owned(), value);
    }
    kept
}

fn request_of(schema: &mut Value, operation: Operation, dialect: &Dialect) {
    let call = dialect.call(operation);
    match &call.function {
        Some(function) => schema["properties"]["function"]["const"] = function.as_str().into(),
        None => leave_out(schema, "function"),
    }
    let payload = &mut schema["properties"]["payload"];
    if call.authentication.is_some_and(|auth| !auth.body) {
        leave_out(payload, "credentials");
    }
    if matches!(operation, Operation::Bill | Operation::Account) {
        let packet = &mut payload["properties"]["packet"]["items"];
        match dialect.empty_extra {
            EmptyExtra::Object => {}
            EmptyExtra::EmptyText => {
                packet["properties"]["extraData"] = json!({"const": ""});
                if let Some(required) = packet["required"].as_array_mut() {
                    required.push("extraData".into());
                }
            }
            EmptyExtra::Omitted => leave_out(packet, "extraData"),
        }
    }
}

fn payment(packet: &mut Value, dialect: &Dialect) {
    for member in LEAVABLE
        .into_iter()
        .filter(|member| !dialect.writes(member))
    {
        match member {
            "extraData" => {
                if let Some(required) = packet["required"].as_array_mut() {
                    required.retain(|required| required != member);
                }
            }
            member => leave_out(packet, member),
        }
    }
    let members = &mut packet["properties"];
    if dialect.amount_as_text {
        members["amount"] = json!({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"});
    }
    match dialect.extra_data_as_text {
        None => {}
        Some(false) => members["extraData"] = schema("ExtraData"),
        Some(true) => {
            members["extraData"] = json!({
                "description": "An object as an escaped string",
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": schema("ExtraData"),
            });
        }
    }
    let decimals: Vec<Value> = dialect
        .decimals
        .iter()
        .filter_map(|(service, decimals)| {
            let amount = match (dialect.amount_as_text, decimals) {
                (true, 0) => json!({"pattern": "^[0-9]+$"}),
                (true, decimals) => json!({"pattern": format!(r"^[0-9]+\.[0-9]{{{decimals}}}$")}),
                (false, 0) => json!({"type": "integer"}),
                // How a number is written, no schema can say.
                (false, _) => return None,
            };
            Some(json!({
                "if": {"properties": {"serviceCode": {"const": service}}},
                "then": {"properties": {"amount": amount}},
            }))
        })
        .collect();
    if !decimals.is_empty() {
        packet["allOf"] = decimals.into();
    }
}

/// Puts the dialect's codes into the replies, and takes out what they have not.
fn replies(schemas: &mut Value, dialect: &Dialect) {
    let replies = &dialect.replies;
    let of = |codes: &[i32], document: i32| codes.first().copied().unwrap_or(document);
    for name in ["AuthStatus", "NothingDone"] {
        let auth = &mut schemas[name];
        let codes = [
            (
                i32::from(AUTHENTICATED),
                of(&replies.authenticated, i32::from(AUTHENTICATED)),
            ),
            (
                i32::from(NOT_AUTHENTICATED),
                of(&replies.not_authenticated, i32::from(NOT_AUTHENTICATED)),
            ),
        ];
        exchange(auth, "authStatusCode", &codes);
    }
    let not_found = replies
        .not_found_words
        .as_ref()
        .map_or(143, |(code, _)| *code);
    exchange(
        &mut schemas["StatusReply"],
        "statusCode",
        &[(143, not_found)],
    );
    exchange(
        &mut schemas["BillReply"],
        "statusCode",
        &[(308, of(&replies.bill_found, 308))],
    );
    let account = [
        (307, of(&replies.account_valid, 307)),
        (306, of(&replies.account_invalid, 306)),
        (301, of(&replies.account_unavailable, 301)),
    ];
    exchange(&mut schemas["AccountReply"], "statusCode", &account);
    if !replies.has_auth_status {
        let own = OPERATIONS.iter().map(|(_, _, reply, ..)| *reply);
        for name in own.chain(["NothingDone"]) {
            leave_out(&mut schemas[name], "authStatus");
        }
        schemas
            .as_object_mut()
            .map(|schemas| schemas.remove("AuthStatus"));
    }
}

/// Exchanges codes wherever a member lists them.
fn exchange(schema: &mut Value, member: &str, codes: &[(i32, i32)]) {
    match schema {
        Value::Object(members) => {
            let listed = members
                .get_mut("properties")
                .and_then(|properties| properties.get_mut(member));
            if let Some(Value::Array(listed)) = listed.and_then(|member| member.get_mut("enum")) {
                let mut exchanged: Vec<Value> = Vec::new();
                for code in listed.drain(..) {
                    let theirs = codes.iter().find(|(ours, _)| code == *ours);
                    let code = theirs.map_or(code, |(_, theirs)| (*theirs).into());
                    if !exchanged.contains(&code) {
                        exchanged.push(code);
                    }
                }
                *listed = exchanged;
            }
            members
                .values_mut()
                .for_each(|value| exchange(value, member, codes));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| exchange(item, member, codes)),
        _ => {}
    }
}
