//! What a reply says that has no entry about a payment: it decides nothing, and a person wants to read it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::reply::{code, object, plain, read_object};
use super::text::clean;
use crate::gateway::scrub::Scrub;

/// The members in which gateways write why they refuse a request as a whole; section 5 has the first two.
#[derive(Deserialize)]
struct RawWords<'a> {
    #[serde(borrow, default, rename = "authStatus")]
    auth_status: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "authStatusDescription")]
    auth_description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    status_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusDescription")]
    status_description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "errorMessage")]
    error_message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Returns what a body says as a whole, our secrets left out of it; empty when it says nothing that can be read.
pub fn read_words(body: &[u8], scrub: &Scrub) -> String {
    let Ok(outer) = read_object::<RawWords<'_>>(body) else {
        return String::new();
    };
    let mut said = Vec::new();
    // The same members, where they stand in authStatus.
    if let Some(Ok(auth)) = outer.auth_status.map(object::<RawWords<'_>>) {
        add_all(&mut said, &auth, scrub);
    }
    add_all(&mut said, &outer, scrub);
    // Together they are no longer than one of them may be.
    clean(&said.join("; "))
}

fn add_all(said: &mut Vec<String>, words: &RawWords<'_>, scrub: &Scrub) {
    add(said, words.auth_description, scrub);
    if let Some(code) = words.status_code.and_then(code) {
        said.push(format!("statusCode {code}"));
    }
    for member in [
        words.status_description,
        words.description,
        words.message,
        words.error_message,
        words.error,
    ] {
        add(said, member, scrub);
    }
}

fn add(said: &mut Vec<String>, member: Option<&RawValue>, scrub: &Scrub) {
    if let Some(text) = member.and_then(|raw| plain(raw, scrub))
        && !said.contains(&text)
    {
        said.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::scrub::Secrets;

    #[test]
    fn the_words_of_a_refusal_are_read_wherever_they_stand_and_hold_no_secret() {
        let scrub = Secrets::new("acme", "correct horse battery").scrub();
        for (body, expected) in [
            (
                r#"{"authStatus":{"authStatusCode":131,"authStatusDescription":"API call processed"},"statusCode":232,"statusDescription":"Above the limit"}"#,
                "API call processed; statusCode 232; Above the limit",
            ),
            (
                r#"{"authStatus":{"authStatusCode":131,"statusCode":"106","message":"Service inactive"}}"#,
                "statusCode 106; Service inactive",
            ),
            (
                r#"{"message":"Maintenance until 06:00"}"#,
                "Maintenance until 06:00",
            ),
            (
                r#"{"success":false,"description":"Bad packet","message":"Bad packet"}"#,
                "Bad packet",
            ),
            (
                r#"{"results":"none","error":"No such function"}"#,
                "No such function",
            ),
            (
                r#"{"errorMessage":"password correct horse battery is wrong"}"#,
                "password [hidden] is wrong",
            ),
            (r#"{"message":{"text":"an object"},"description":7}"#, "7"),
            (r#"{"message":"\u001b[2JDone"}"#, "[2JDone"),
            (r#"{"results":[]}"#, ""),
            // A member twice: nobody knows which of them holds.
            (r#"{"message":"a","message":"b"}"#, ""),
            ("<html>message</html>", ""),
            ("", ""),
        ] {
            assert_eq!(read_words(body.as_bytes(), &scrub), expected, "{body}");
        }
        let long = format!(r#"{{"message":"{0}","error":"{0}b"}}"#, "a".repeat(100_000));
        assert!(read_words(long.as_bytes(), &scrub).len() < 5_000);
    }
}
