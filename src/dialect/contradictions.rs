//! What of a dialect contradicts the rest of it, or the document: headers of the client itself, and codes with two meanings.

use std::collections::{BTreeMap, BTreeSet};

use super::types::Dialect;

/// A contradiction, at the key where it shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: expected {expected}")]
pub struct Problem {
    /// The key.
    pub key: String,
    /// What was expected there, as it goes with the rest.
    pub expected: String,
}

pub(super) fn problem(key: &str, expected: impl Into<String>) -> Problem {
    Problem {
        key: key.to_owned(),
        expected: expected.into(),
    }
}

/// Headers that the client writes itself, or that say where a request ends.
const OWN_HEADERS: [&str; 21] = [
    "cookie",
    "forwarded",
    "proxy-authorization",
    "proxy-connection",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// Refuses headers that are not names, those that the client writes itself, and two of one name.
pub(super) fn check_headers(dialect: &Dialect) -> Result<(), Problem> {
    let fixed = dialect.headers.keys().map(|name| ("headers", name));
    let secret = dialect
        .header_files
        .keys()
        .map(|name| ("header_files", name));
    let signed = dialect.signing.iter().flat_map(|signing| {
        let header = Some(("signing.header", &signing.header));
        let time = signing.timestamp_header.as_ref();
        header
            .into_iter()
            .chain(time.map(|name| ("signing.timestamp_header", name)))
    });
    let mut seen = BTreeSet::new();
    for (table, name) in fixed.chain(secret).chain(signed) {
        let key = match table {
            "headers" | "header_files" => format!("{table}.{name}"),
            key => key.to_owned(),
        };
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !name.bytes().all(is_token) {
            return Err(problem(&key, "the name of a header, such as X-Api-Key"));
        }
        let small = name.to_lowercase();
        if OWN_HEADERS.contains(&small.as_str()) {
            return Err(problem(
                &key,
                "another header: this one is written by disburse",
            ));
        }
        if !seen.insert(small) {
            return Err(problem(&key, "a header that is named once"));
        }
    }
    Ok(())
}

/// The codes that say something of payments, accounts or bills, or of whatever went wrong (sections 7.2 to 7.4): as an answer to who
/// asks, each would turn a payment that arrived into one that was never sent, or the other way.
const OF_THE_DOCUMENT: [i32; 33] = [
    104, 106, 109, 110, 111, 115, 120, 139, 140, 141, 143, 146, 148, 167, 174, 178, 180, 183, 216,
    217, 219, 229, 230, 231, 232, 301, 306, 307, 308, 309, 188, 142, 147,
];

/// Refuses a code that would mean two things, or that would prove by itself what the document leaves open (section 7.2).
pub(super) fn check_codes(dialect: &Dialect) -> Result<(), Problem> {
    let replies = &dialect.replies;
    let groups = [
        ("replies.authenticated", &replies.authenticated),
        ("replies.not_authenticated", &replies.not_authenticated),
    ];
    if replies.has_auth_status && replies.authenticated.is_empty() {
        let expected = r#"at least one code, or auth_status = "absent""#;
        return Err(problem("replies.authenticated", expected));
    }
    one_meaning(&groups)?;
    // What the document says of them cannot be turned around: a payment that arrived would count as never sent.
    for (key, codes, other) in [
        ("replies.authenticated", &replies.authenticated, 132),
        ("replies.not_authenticated", &replies.not_authenticated, 131),
    ] {
        let is_taken = |code: &i32| *code == other || OF_THE_DOCUMENT.contains(code);
        if codes.iter().any(is_taken) {
            let expected = "codes that have no other meaning in the document (131 means authenticated, 132 not authenticated, 104 and 174 a failure of any kind; others are about payments)";
            return Err(problem(key, expected));
        }
    }
    one_meaning(&[
        ("replies.account_valid", &replies.account_valid),
        ("replies.account_invalid", &replies.account_invalid),
        ("replies.account_unavailable", &replies.account_unavailable),
    ])?;
    one_meaning(&[
        ("replies.bill_found", &replies.bill_found),
        ("replies.no_bill", &replies.no_bill),
    ])?;
    // 104 and 174 are failures of any kind; the rest has a meaning in the document.
    if let Some((code, _)) = &replies.not_found_words
        && ![104, 174].contains(code)
    {
        let expected = "104 or 174, the codes for failures of any kind; what another code means belongs in [status_codes] of the configuration";
        return Err(problem("replies.not_found_code", expected));
    }
    Ok(())
}

fn one_meaning(groups: &[(&str, &Vec<i32>)]) -> Result<(), Problem> {
    let mut seen: BTreeMap<i32, &str> = BTreeMap::new();
    for (key, codes) in groups {
        for code in *codes {
            if let Some(other) = seen.insert(*code, key) {
                return Err(problem(
                    key,
                    format!("another code than {code}, which {other} has"),
                ));
            }
        }
    }
    Ok(())
}
