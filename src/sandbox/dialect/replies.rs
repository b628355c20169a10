//! What the sandbox says, put into a dialect.

use serde_json::value::RawValue;

use super::json::{Members, array, object, raw};
use crate::dialect::{Dialect, Operation};
use crate::sandbox::http::codes::{AUTHENTICATED, NOT_AUTHENTICATED};

/// Where a reply ends up.
pub(in crate::sandbox) struct Said {
    /// The body.
    pub body: String,
    /// Whether the HTTP status has to say that nobody was let in, as the body has no place for it.
    pub is_denied: bool,
}

/// Puts a reply on the payment path into the dialect; a body that is no JSON of ours stays as it is.
pub(in crate::sandbox) fn reply(dialect: &Dialect, operation: Operation, body: &str) -> Said {
    translated(dialect, operation, body).unwrap_or_else(|_| Said {
        body: body.to_owned(),
        is_denied: false,
    })
}

fn translated(dialect: &Dialect, operation: Operation, body: &str) -> Result<Said, String> {
    let mut is_denied = false;
    if body.trim_start().starts_with('[') {
        return Ok(Said {
            body: raw(&entries(dialect, operation, body)?).get().to_owned(),
            is_denied,
        });
    }
    let mut members = object(body)?;
    if let Some(results) = members.get("results") {
        let entries = entries(dialect, operation, results.get())?;
        members.insert("results".to_owned(), raw(&entries));
    }
    if let Some(auth) = members.remove("authStatus") {
        let mut auth = object(auth.get())?;
        let code = auth
            .get("authStatusCode")
            .and_then(|raw| raw.get().parse::<u16>().ok());
        let replies = &dialect.replies;
        is_denied = code == Some(NOT_AUTHENTICATED) && !replies.has_auth_status;
        let theirs = match code {
            Some(AUTHENTICATED) => replies.authenticated.first().copied(),
            Some(NOT_AUTHENTICATED) => replies.not_authenticated.first().copied(),
            code => code.map(i32::from),
        };
        auth.extend(theirs.map(|code| ("authStatusCode".to_owned(), raw(&code))));
        if replies.has_auth_status {
            members.insert("authStatus".to_owned(), raw(&named(dialect, auth)));
        }
    }
    Ok(Said {
        body: raw(&named(dialect, members)).get().to_owned(),
        is_denied,
    })
}

fn entries(dialect: &Dialect, operation: Operation, body: &str) -> Result<Vec<Members>, String> {
    let mut out = Vec::new();
    for entry in array(body)? {
        let mut entry = object(entry.get())?;
        let code = entry
            .get("statusCode")
            .and_then(|raw| raw.get().parse::<u16>().ok());
        if let Some(code) = code {
            let (code, words) = coded(dialect, operation, code);
            entry.insert("statusCode".to_owned(), raw(&code));
            entry.extend(words.map(|words| ("statusDescription".to_owned(), raw(words))));
        }
        out.push(named(dialect, entry));
    }
    Ok(out)
}

/// Returns the dialect's code, and its words where they are its own.
fn coded(dialect: &Dialect, operation: Operation, code: u16) -> (i32, Option<&str>) {
    let replies = &dialect.replies;
    let of = |codes: &[i32]| codes.first().copied().unwrap_or_else(|| i32::from(code));
    match (operation, code) {
        (Operation::Status, 143) => match &replies.not_found_words {
            Some((code, words)) => (*code, Some(words)),
            None => (143, None),
        },
        (Operation::Account, 307) => (of(&replies.account_valid), None),
        (Operation::Account, 306) => (of(&replies.account_invalid), None),
        (Operation::Account, 301) => (of(&replies.account_unavailable), None),
        (Operation::Bill, 308) => (of(&replies.bill_found), None),
        _ => (i32::from(code), None),
    }
}

fn named(dialect: &Dialect, members: Members) -> Members {
    let members = members.into_iter();
    members
        .map(|(ours, value)| (dialect.names.theirs(&ours).to_owned(), value))
        .collect()
}

/// Puts the reply to an upload into the dialect.
pub(in crate::sandbox) fn uploaded(dialect: &Dialect, body: &str) -> String {
    let (Ok(mut members), Some(name)) = (object(body), dialect.replies.document_reference.first())
    else {
        return body.to_owned();
    };
    if let Some(reference) = members.remove("reference") {
        members.insert(name.clone(), reference);
    }
    raw(&members).get().to_owned()
}

/// Puts a callback into the dialect.
pub(in crate::sandbox) fn callback(dialect: &Dialect, body: &str) -> String {
    put(dialect, body).unwrap_or_else(|_| body.to_owned())
}

fn put(dialect: &Dialect, body: &str) -> Result<String, String> {
    let mut envelope = object(body)?;
    let mut payload = object(envelope.remove("payload").ok_or("payload")?.get())?;
    let packet = named(
        dialect,
        object(payload.remove("packet").ok_or("packet")?.get())?,
    );
    let callbacks = &dialect.callbacks;
    let mut within: Box<RawValue> = raw(&packet);
    // From the inside out; what stands beside the packet in the document stands beside it here.
    for (depth, name) in callbacks.packet.iter().enumerate().rev() {
        let mut around = Members::new();
        if depth == 0 {
            around.append(&mut envelope);
            let function = callbacks
                .functions
                .iter()
                .find(|known| !known.starts_with('*'));
            around.extend(function.map(|function| ("function".to_owned(), raw(function))));
        }
        around.insert(name.clone(), within);
        within = raw(&named(dialect, around));
    }
    Ok(within.get().to_owned())
}
