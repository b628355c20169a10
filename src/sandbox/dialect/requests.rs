//! A request in a dialect: which operation it asks for, whether it keeps to the dialect, and its body in the document's words.

use axum::http::{HeaderMap, Method};
use serde_json::value::RawValue;

use super::json::{Members, array, object, raw};
use super::seals::{Seals, Shown, authorization};
use crate::dialect::{
    self, Dialect, EmptyExtra, ExtraType, Header, LEAVABLE, MEMBERS, Operation, Place,
};
use crate::domain::IdentifierForm;
use crate::sandbox::books::tokens::Tokens;

/// The path of every payment function, where the dialect names none.
pub(in crate::sandbox) const PAYMENTS: &str = "/v1/global-api/payments";

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Asked {
    /// An operation on the payment path: one of these, by its function.
    Payments,
    /// A token.
    Token,
    /// A lookup.
    Lookup,
    /// An upload.
    Upload,
}

/// A request that was judged.
#[derive(Debug)]
pub(in crate::sandbox) enum Judged {
    /// It keeps to the dialect.
    Asks {
        /// What it asks for.
        operation: Operation,
        /// Its body in the document's words.
        body: Vec<u8>,
        /// It needs no credentials in its body: a token has said who it is, or nothing is to say it.
        is_admitted: bool,
    },
    /// It shows nobody, or somebody else: nothing is done.
    NotAuthenticated(String),
    /// It breaks the dialect.
    Breaks(String),
}

impl Asked {
    /// Returns what a path and a method ask for.
    pub(in crate::sandbox) fn of(dialect: &Dialect, method: &Method, path: &str) -> Option<Self> {
        at(dialect, path)
            .find(|(taken, _)| taken == method)
            .map(|(_, asked)| asked)
    }

    /// Returns the methods that a path takes.
    pub(in crate::sandbox) fn methods(dialect: &Dialect, path: &str) -> Vec<Method> {
        let mut methods: Vec<Method> = Vec::new();
        for (method, _) in at(dialect, path) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }
}

/// Returns what may be asked for at a path, and by which method.
fn at(dialect: &Dialect, path: &str) -> impl Iterator<Item = (Method, Asked)> {
    let method = |of: dialect::Method| match of {
        dialect::Method::Post => Method::POST,
        dialect::Method::Put => Method::PUT,
    };
    let calls = Operation::ALL.iter().map(|(of, ..)| dialect.call(*of));
    let mut all: Vec<(Method, Asked)> = calls
        .filter(|call| call.path.as_deref().unwrap_or(PAYMENTS) == path)
        .map(|call| (method(call.method), Asked::Payments))
        .collect();
    let (lookup, upload) = (&dialect.lookup, &dialect.upload);
    let beside = [
        (&dialect.token_path, Method::POST, Asked::Token),
        (&lookup.path, method(lookup.method), Asked::Lookup),
        (&upload.path, method(upload.method), Asked::Upload),
    ];
    let beside = beside.into_iter().filter(|(known, ..)| *known == path);
    all.extend(beside.map(|(_, method, asked)| (method, asked)));
    all.into_iter()
}

/// Judges a request on the payment path.
pub(in crate::sandbox) fn judge(
    dialect: &Dialect,
    seals: &Seals,
    tokens: &Tokens,
    (method, path, headers): (&Method, &str, &HeaderMap),
    body: &[u8],
) -> Judged {
    if let Err(why) = seals.check_headers(dialect, headers) {
        return Judged::Breaks(why);
    }
    if let Err(why) = seals.check_signature(dialect, headers, body) {
        return Judged::NotAuthenticated(why);
    }
    let read = str::from_utf8(body).map_err(|_| "the body is not UTF-8".to_owned());
    let envelope = match read.and_then(|text| renamed(dialect, Place::Envelope, object(text)?)) {
        Ok(envelope) => envelope,
        Err(why) => {
            return Judged::Breaks(format!(
                "The request is not valid JSON of the interface: {why}"
            ));
        }
    };
    let operation = match operation(dialect, method, path, &envelope) {
        Ok(operation) => operation,
        Err(why) => return Judged::Breaks(why),
    };
    let by_default = dialect::Authentication {
        body: true,
        header: Header::Absent,
    };
    let wanted = dialect.call(operation).authentication.unwrap_or(by_default);
    let shown = match authorization(wanted.header, headers, tokens) {
        Ok(shown) => shown,
        Err(why) => return Judged::NotAuthenticated(why),
    };
    match body_of(dialect, operation, envelope, wanted.body, &shown) {
        Ok(body) => Judged::Asks {
            operation,
            body,
            is_admitted: !wanted.body && !matches!(shown, Shown::Pair(..)),
        },
        Err(why) => Judged::Breaks(why),
    }
}

/// Finds the operation by its path, and by its function where several share one.
fn operation(
    dialect: &Dialect,
    method: &Method,
    path: &str,
    envelope: &Members,
) -> Result<Operation, String> {
    let function: Option<String> = envelope
        .get("function")
        .map(|raw| serde_json::from_str(raw.get()).map_err(|_| "function is not a text"))
        .transpose()?;
    let fits = |operation: Operation| {
        let call = dialect.call(operation);
        let is_method = match call.method {
            dialect::Method::Post => *method == Method::POST,
            dialect::Method::Put => *method == Method::PUT,
        };
        dialect.lacks(operation).is_none()
            && is_method
            && call.path.as_deref().unwrap_or(PAYMENTS) == path
            && call.function == function
    };
    let mut found = Operation::ALL
        .iter()
        .map(|(of, ..)| *of)
        .filter(|of| fits(*of));
    match (found.next(), found.next()) {
        (Some(operation), None) => Ok(operation),
        (Some(_), Some(_)) => {
            Err("the dialect has two operations at this path without a function".to_owned())
        }
        (None, _) => Err(match function {
            Some(function) => format!(
                "Unknown function {} at this path",
                function.chars().take(64).collect::<String>()
            ),
            None => "function is missing".to_owned(),
        }),
    }
}

/// Returns members under the document's names; the document's name of one that is called otherwise here is unknown.
fn renamed(dialect: &Dialect, place: Place, members: Members) -> Result<Members, String> {
    let mut out = Members::new();
    for (theirs, value) in members {
        let known = |ours: &&&str| place.has(ours);
        let ours = MEMBERS
            .iter()
            .filter(known)
            .find(|ours| dialect.names.theirs(ours) == theirs)
            .map(|ours| (*ours).to_owned());
        let ours = match ours {
            Some(ours) => ours,
            None if place.has(&theirs) && MEMBERS.contains(&theirs.as_str()) => {
                let expected = dialect.names.theirs(&theirs);
                return Err(format!("{theirs} is called {expected} here"));
            }
            None => theirs,
        };
        out.insert(ours, value);
    }
    Ok(out)
}

/// Writes the body in the document's words.
fn body_of(
    dialect: &Dialect,
    operation: Operation,
    mut envelope: Members,
    has_credentials: bool,
    shown: &Shown,
) -> Result<Vec<u8>, String> {
    let payload = envelope.remove("payload").ok_or("payload is missing")?;
    let mut payload = renamed(
        dialect,
        Place::Payload,
        object(payload.get()).map_err(|why| format!("payload {why}"))?,
    )?;
    let credentials = match (payload.remove("credentials"), has_credentials) {
        (Some(credentials), true) => {
            let pair = object(credentials.get())?;
            Some(raw(&renamed(dialect, Place::Credentials, pair)?))
        }
        (None, true) => return Err("payload.credentials is missing".to_owned()),
        (Some(_), false) => return Err("payload.credentials does not belong here".to_owned()),
        (None, false) => match shown {
            Shown::Pair(user, password) => {
                let pair = serde_json::json!({"username": user, "password": password});
                Some(raw(&pair))
            }
            Shown::Token | Shown::Nothing => None,
        },
    };
    let packets = payload
        .remove("packet")
        .ok_or("payload.packet is missing")?;
    let mut written = Vec::new();
    for packet in array(packets.get()).map_err(|why| format!("payload.packet {why}"))? {
        let packet = object(packet.get()).map_err(|why| format!("payload.packet: {why}"))?;
        written.push(packet_of(
            dialect,
            operation,
            renamed(dialect, Place::Packet, packet)?,
            &envelope,
        )?);
    }
    let (_, _, function) = Operation::ALL
        .iter()
        .find(|(known, ..)| *known == operation)
        .expect("every operation is in the table");
    envelope.insert("function".to_owned(), raw(*function));
    payload.extend(credentials.map(|credentials| ("credentials".to_owned(), credentials)));
    payload.insert("packet".to_owned(), raw(&written));
    envelope.insert("payload".to_owned(), raw(&payload));
    Ok(raw(&envelope).get().as_bytes().to_vec())
}

/// Judges the types of one packet, and writes it as the document has it.
fn packet_of(
    dialect: &Dialect,
    operation: Operation,
    mut packet: Members,
    envelope: &Members,
) -> Result<Members, String> {
    if operation == Operation::Post {
        put_in(dialect, &mut packet, envelope)?;
        check_amount(dialect, &packet)?;
        check_identifier(dialect, &packet)?;
        if dialect.country_of_row {
            let of = |members: &Members| members.get("countryCode").map(|raw| raw.get().to_owned());
            if of(&packet) != of(envelope) {
                return Err("countryCode of the packet is not that of the request".to_owned());
            }
        }
    }
    let extra = packet.remove("extraData");
    let extra = match (operation, extra) {
        (Operation::Post, Some(extra)) => Some(extra_of(dialect, &extra)?),
        (Operation::Bill | Operation::Account, extra) => {
            let found = extra.as_deref().map(RawValue::get);
            let expected = match dialect.empty_extra {
                EmptyExtra::Object => Some("{}"),
                EmptyExtra::EmptyText => Some("\"\""),
                EmptyExtra::Omitted => None,
            };
            if found != expected {
                return Err("extraData has another form than the dialect's".to_owned());
            }
            extra
        }
        (_, extra) => extra,
    };
    packet.extend(extra.map(|extra| ("extraData".to_owned(), extra)));
    Ok(packet)
}

/// Puts in what posts leave out here, as the document has it, and refuses what does not belong in them.
fn put_in(dialect: &Dialect, packet: &mut Members, envelope: &Members) -> Result<(), String> {
    for member in &dialect.left_out {
        let is_in_extra = Place::Extra.has(member);
        let may_be_there = is_in_extra || member == "extraData";
        if !may_be_there && packet.contains_key(member) {
            return Err(format!("{member} does not belong in a post here"));
        }
        let value = match member.as_str() {
            _ if is_in_extra => continue,
            "extraData" if packet.contains_key(member) => continue,
            "extraData" if dialect.extra_data_as_text == Some(true) => raw("{}"),
            "extraData" => raw(&Members::new()),
            "countryCode" => envelope
                .get("countryCode")
                .cloned()
                .ok_or("countryCode is missing")?,
            _ => raw(""),
        };
        packet.insert(member.clone(), value);
    }
    Ok(())
}

fn check_identifier(dialect: &Dialect, packet: &Members) -> Result<(), String> {
    let id: Option<String> = packet
        .get("payerTransactionID")
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    // With the document's form whatever a client makes is taken, as the document names none.
    let is_free = dialect.identifiers == IdentifierForm::DEFAULT;
    match id {
        Some(id) if !is_free && !dialect.identifiers.has(&id) => Err(format!(
            "payerTransactionID does not have the form {}",
            dialect.identifiers
        )),
        _ => Ok(()),
    }
}

fn check_amount(dialect: &Dialect, packet: &Members) -> Result<(), String> {
    let amount = packet.get("amount").ok_or("amount is missing")?.get();
    if amount.starts_with('"') != dialect.amount_as_text {
        return Err("amount has another type than the dialect's".to_owned());
    }
    let service: String = packet
        .get("serviceCode")
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let decimals = dialect
        .decimals
        .get(&service)
        .map(|decimals| usize::from(*decimals));
    let fraction = amount
        .trim_matches('"')
        .split_once('.')
        .map_or(0, |(_, end)| end.len());
    match decimals {
        Some(decimals) if decimals != fraction => Err(format!("amount has {fraction} decimals")),
        _ => Ok(()),
    }
}

/// Judges the form of `extraData` and its values, and writes it as the document has it.
fn extra_of(dialect: &Dialect, extra: &RawValue) -> Result<Box<RawValue>, String> {
    let is_text = extra.get().starts_with('"');
    if dialect
        .extra_data_as_text
        .is_some_and(|wanted| wanted != is_text)
    {
        return Err("extraData has another form than the dialect's".to_owned());
    }
    let text: String = match is_text {
        true => serde_json::from_str(extra.get()).map_err(|error| error.to_string())?,
        false => extra.get().to_owned(),
    };
    let members = object(&text).map_err(|why| format!("extraData {why}"))?;
    let mut refused = LEAVABLE
        .into_iter()
        .filter(|name| Place::Extra.has(name))
        .filter(|name| !dialect.writes(name) && members.contains_key(dialect.names.theirs(name)));
    if let Some(name) = refused.next() {
        return Err(format!("extraData.{name} does not belong in a post here"));
    }
    for (name, value) in &members {
        let is_right = match dialect.extra_types.get(name) {
            None => continue,
            Some(ExtraType::Text) => value.get().starts_with('"'),
            Some(of) => of.allows(value.get()),
        };
        if !is_right {
            return Err(format!(
                "extraData.{name} has another type than the dialect's"
            ));
        }
    }
    Ok(raw(&renamed(dialect, Place::Extra, members)?))
}
