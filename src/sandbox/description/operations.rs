//! Paths, methods, headers and credentials.

use serde_json::{Map, Value, json};

use super::examples;
use super::table::{OPERATIONS, schema};
use crate::dialect::{Beside, Call, Dialect, Encoding, Header, Method, Operation, Signing};
use crate::sandbox::dialect::PAYMENTS;

const TOKEN: &str = "/api/v1/oauth/token";
const LOOKUP: &str = "/v4/remittance/payments/network-lookup";
const UPLOAD: &str = "/api/v1/transaction-documents";

/// Operations that share a path and a method.
struct Group {
    path: String,
    method: Method,
    /// Their places in [`OPERATIONS`].
    of: Vec<usize>,
}

/// Puts the operations where the dialect has them.
pub(super) fn put(document: &mut Value, dialect: &Dialect) {
    let mut paths = match document["paths"].take() {
        Value::Object(paths) => paths,
        _ => Map::new(),
    };
    let payments = paths.remove(PAYMENTS).unwrap_or_default()["post"].take();
    let [token, mut lookup, mut upload] =
        [TOKEN, LOOKUP, UPLOAD].map(|path| paths.remove(path).unwrap_or_default()["post"].take());
    let denied = lookup["responses"]["401"].clone();
    add(&mut paths, &dialect.token_path, Method::Post, token);
    for (beside, operation) in [
        (&dialect.lookup, &mut lookup),
        (&dialect.upload, &mut upload),
    ] {
        let Beside {
            path,
            method,
            header,
        } = beside;
        secure(operation, &[*header]);
        require_headers(operation, dialect);
        if *header != Header::Absent || !headers(dialect).is_empty() {
            operation["responses"]["401"] = denied.clone();
        }
        add(&mut paths, path, *method, operation.take());
    }
    let mut shared = 0;
    for group in groups(dialect) {
        if group.of.len() > 1 {
            shared += 1;
        }
        let operation = group.operation(payments.clone(), shared, dialect);
        group.describe(&mut document["components"]["schemas"], shared, dialect);
        add(&mut paths, &group.path, group.method, operation);
    }
    if shared == 0 {
        let schemas = document["components"]["schemas"].as_object_mut();
        schemas.map(|schemas| {
            schemas.remove("FunctionCall");
            schemas.remove("FunctionReply")
        });
    }
    let calls = Operation::ALL.map(|(operation, ..)| header_of(dialect.call(operation)));
    if [dialect.lookup.header, dialect.upload.header]
        .iter()
        .chain(&calls)
        .any(|header| *header == Header::Basic)
    {
        document["components"]["securitySchemes"]["basic"] =
            json!({"type": "http", "scheme": "basic"});
    }
    document["paths"] = paths.into();
}

fn add(paths: &mut Map<String, Value>, path: &str, method: Method, operation: Value) {
    let method = match method {
        Method::Post => "post",
        Method::Put => "put",
    };
    paths.entry(path).or_insert_with(|| json!({}))[method] = operation;
}

fn groups(dialect: &Dialect) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, (operation, ..)) in OPERATIONS.iter().enumerate() {
        let call = dialect.call(*operation);
        let path = call.path.as_deref().unwrap_or(PAYMENTS);
        let known = groups
            .iter_mut()
            .find(|group| group.path == path && group.method == call.method);
        match known {
            Some(group) => group.of.push(place),
            None => groups.push(Group {
                path: path.to_owned(),
                method: call.method,
                of: vec![place],
            }),
        }
    }
    groups
}

impl Group {
    /// Returns the operation that stands for the group. `nth` is its number among those of several.
    fn operation(&self, mut operation: Value, nth: usize, dialect: &Dialect) -> Value {
        let own = self.of.iter().map(|place| OPERATIONS[*place]);
        if self.of.len() < OPERATIONS.len() {
            let ids: Vec<&str> = own.clone().map(|(.., id, _)| id).collect();
            let titles: Vec<&str> = own.clone().map(|(.., title)| title).collect();
            operation["operationId"] = ids.join("_").into();
            operation["summary"] = titles.join("; ").into();
            if let Some(members) = operation.as_object_mut() {
                members.remove("description");
            }
        }
        let content = &mut operation["requestBody"]["content"]["application/json"];
        content["schema"] = match self.of[..] {
            [place] => schema(OPERATIONS[place].1),
            _ => schema(&numbered("FunctionCall", nth)),
        };
        if let Some(all) = content["examples"].as_object_mut() {
            all.retain(|name, _| own.clone().any(|(.., id, _)| id == name));
            for (operation, _, _, id, _) in own.clone() {
                examples::put(&mut all[id]["value"], operation, dialect);
            }
        }
        let reply = match self.of[..] {
            [place] => json!({"anyOf": [schema("NothingDone"), schema(OPERATIONS[place].2)]}),
            _ => schema(&numbered("FunctionReply", nth)),
        };
        let responses = &mut operation["responses"];
        responses["200"]["content"]["application/json"]["schema"] = reply;
        if !dialect.replies.has_auth_status {
            responses["200"]["description"] =
                "The request was read; the body says what became of it. Without results: the request does not follow the interface, nothing was done.".into();
            responses["401"] = json!({
                "description": "Wrong credentials, nothing was done",
                "content": {"application/json": {"schema": schema("NothingDone")}},
            });
        }
        if !own.clone().any(|(of, ..)| of == Operation::Post)
            && let Some(members) = operation.as_object_mut()
        {
            members.remove("callbacks");
        }
        let headers: Vec<Header> = own.map(|(of, ..)| header_of(dialect.call(of))).collect();
        secure(&mut operation, &headers);
        require_headers(&mut operation, dialect);
        require_signature(&mut operation, dialect.signing.as_ref());
        operation
    }

    /// Describes what a group of several sends and gets.
    fn describe(&self, schemas: &mut Value, nth: usize, dialect: &Dialect) {
        if self.of.len() == 1 {
            return;
        }
        let own = || self.of.iter().map(|place| OPERATIONS[*place]);
        let one_of: Vec<Value> = own().map(|(_, request, ..)| schema(request)).collect();
        let functions: Option<Map<String, Value>> = own()
            .map(|(of, request, ..)| {
                let function = dialect.call(of).function.clone()?;
                Some((function, schema(request)["$ref"].clone()))
            })
            .collect();
        let mut call = json!({"oneOf": one_of});
        if let Some(mapping) = functions {
            let name = dialect.names.theirs("function");
            call["discriminator"] = json!({"propertyName": name, "mapping": mapping});
        }
        schemas[numbered("FunctionCall", nth)] = call;
        let replies = own().map(|(_, _, reply, ..)| schema(reply));
        let any_of: Vec<Value> = [schema("NothingDone")].into_iter().chain(replies).collect();
        schemas[numbered("FunctionReply", nth)] = json!({"anyOf": any_of});
    }
}

fn numbered(name: &str, nth: usize) -> String {
    match nth {
        0 | 1 => name.to_owned(),
        _ => format!("{name}{nth}"),
    }
}

/// What the header of an operation on the payment path shows. The document's bearer header is taken and ignored.
fn header_of(call: &Call) -> Header {
    call.authentication
        .map_or(Header::Absent, |authentication| authentication.header)
}

/// Names what the `Authorization` header may hold: one of several where operations share a path.
fn secure(operation: &mut Value, headers: &[Header]) {
    let Some(members) = operation.as_object_mut() else {
        return;
    };
    members.remove("security");
    let mut ways: Vec<Value> = Vec::new();
    for header in headers {
        let way = match header {
            Header::Absent => json!({}),
            Header::Bearer => json!({"bearer": []}),
            Header::Basic => json!({"basic": []}),
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    if ways != [json!({})] {
        members.insert("security".to_owned(), ways.into());
    }
}

/// The headers of every request, with what they hold.
fn headers(dialect: &Dialect) -> Vec<Value> {
    let open = dialect.headers.iter();
    let open = open.map(|(name, value)| header(name, &json!({"type": "string", "const": value})));
    let secret = dialect.header_files.keys();
    let secret = secret.map(|name| header(name, &json!({"type": "string", "minLength": 1})));
    open.chain(secret).collect()
}

fn header(name: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "header", "required": true, "schema": schema})
}

fn require_headers(operation: &mut Value, dialect: &Dialect) {
    require(operation, headers(dialect));
}

/// Names the headers of a signature.
pub(super) fn require_signature(operation: &mut Value, signing: Option<&Signing>) {
    let Some(signing) = signing else {
        return;
    };
    let pattern = match signing.encoding {
        Encoding::Base64 => "^[A-Za-z0-9+/]+={0,2}$",
        Encoding::Hex => "^([0-9a-f]{2})+$",
    };
    let mut needed = vec![header(
        &signing.header,
        &json!({"type": "string", "pattern": pattern}),
    )];
    let time = json!({"type": "string", "pattern": "^[0-9]+$"});
    needed.extend(
        signing
            .timestamp_header
            .as_ref()
            .map(|name| header(name, &time)),
    );
    require(operation, needed);
}

/// Names the header that holds a secret.
pub(super) fn require_secret(operation: &mut Value, name: &str) {
    let secret = header(name, &json!({"type": "string", "minLength": 1}));
    require(operation, vec![secret]);
}

fn require(operation: &mut Value, headers: Vec<Value>) {
    if headers.is_empty() {
        return;
    }
    let parameters = &mut operation["parameters"];
    let mut all = parameters.as_array().cloned().unwrap_or_default();
    all.extend(headers);
    *parameters = all.into();
}
