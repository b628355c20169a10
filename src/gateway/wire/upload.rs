//! The reply to an upload (section 4.3). The interface does not show it, so that it is read for what any such reply must
//! say: whether the document was taken, and what it is called.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::renamed::Members;
use super::reply::{Unreadable, code, object, plain, read_raw, text};
use crate::dialect::Replies;
use crate::gateway::scrub::Scrub;

/// What a reply of success says after all.
#[derive(Debug, PartialEq, Eq)]
pub enum UploadReply {
    /// The document is taken; its reference, when the reply names one that can be used.
    Taken(Option<String>),
    /// A document is there already under this identifier; its reference.
    There(Option<String>),
    /// It is not taken.
    Refused,
}

/// Codes of the interface that say no, wherever they stand (sections 5 and 7.2).
const REFUSALS: [i32; 17] = [
    104, 106, 109, 110, 111, 115, 120, 132, 141, 146, 167, 174, 180, 216, 230, 231, 232,
];
/// Words of a `status` that say no.
const NO: [&str; 11] = [
    "error",
    "fail",
    "failed",
    "failure",
    "rejected",
    "refused",
    "declined",
    "denied",
    "invalid",
    "unsuccessful",
    "false",
];
/// The longest word that may be a reference, in bytes.
const REFERENCE_MAX: usize = 128;
/// There is such a document already, as HTTP says it.
const CONFLICT: i32 = 409;

/// Reads the body of a reply whose HTTP status says that the document was taken.
///
/// A body that is no object says nothing else than its status.
#[must_use]
pub fn read_upload(body: &[u8], scrub: &Scrub, replies: &Replies) -> UploadReply {
    let Some(levels) = Levels::of(body) else {
        return UploadReply::Taken(None);
    };
    let reference = named(body, scrub, replies).or_else(|| levels.reference(scrub));
    if is_refused(body, replies) {
        return UploadReply::Refused;
    }
    if levels
        .all()
        .any(|level| level.codes().any(|code| code == CONFLICT))
    {
        return UploadReply::There(reference);
    }
    match levels.all().any(RawUpload::refuses) {
        true => UploadReply::Refused,
        false => UploadReply::Taken(reference),
    }
}

/// Returns the reference that a body names, whatever else it says.
#[must_use]
pub fn document_reference(body: &[u8], scrub: &Scrub, replies: &Replies) -> Option<String> {
    named(body, scrub, replies).or_else(|| Levels::of(body)?.reference(scrub))
}

/// Returns the members of a reply, and of the object below its `data`.
fn members(body: &[u8]) -> Vec<(Cow<'_, str>, &RawValue)> {
    let Ok(raw) = read_raw(body) else {
        return Vec::new();
    };
    let Ok(Members(mut all)) = serde_json::from_str(raw.get()) else {
        return Vec::new();
    };
    let data = all.iter().find(|(name, _)| name == "data");
    if let Some(Members(below)) = data.and_then(|(_, data)| serde_json::from_str(data.get()).ok()) {
        all.extend(below);
    }
    all
}

/// Returns the reference under a name of the dialect's.
fn named(body: &[u8], scrub: &Scrub, replies: &Replies) -> Option<String> {
    if replies.document_reference.is_empty() {
        return None;
    }
    let all = members(body);
    let names = replies.document_reference.iter();
    names
        .flat_map(|name| all.iter().filter(move |(found, _)| found == name))
        .find_map(|(_, raw)| usable(raw, scrub))
}

/// Returns whether a reply says in the dialect's own way that the document was refused.
fn is_refused(body: &[u8], replies: &Replies) -> bool {
    if replies.upload_refused.is_empty() {
        return false;
    }
    let says = |(name, raw): &(Cow<'_, str>, &RawValue)| {
        let said = raw.get().trim_matches('"').trim();
        let mut refusals = replies.upload_refused.iter();
        refusals.any(|(member, value)| name == member && said.eq_ignore_ascii_case(value))
    };
    members(body).iter().any(says)
}

/// A reply, and the object below its `data`.
struct Levels<'a> {
    reply: RawUpload<'a>,
    below: Option<RawUpload<'a>>,
}

impl<'a> Levels<'a> {
    fn of(body: &'a [u8]) -> Option<Self> {
        let reply: RawUpload<'a> = read_raw(body).and_then(one).ok()?;
        let below = reply.data.and_then(|data| one(data).ok());
        Some(Self { reply, below })
    }

    fn all(&self) -> impl Iterator<Item = &RawUpload<'a>> {
        std::iter::once(&self.reply).chain(&self.below)
    }

    fn reference(&self, scrub: &Scrub) -> Option<String> {
        self.all()
            .find_map(|level| level.reference(scrub))
            .or_else(|| self.reply.data.and_then(|data| word(data, scrub)))
    }
}

/// Reads an object, or the one object of an array.
fn one<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Unreadable> {
    if raw.get().starts_with('[') {
        let [item]: [&RawValue; 1] =
            serde_json::from_str(raw.get()).map_err(|_| Unreadable::OtherForm)?;
        return object(item);
    }
    object(raw)
}

impl RawUpload<'_> {
    fn reference(&self, scrub: &Scrub) -> Option<String> {
        [self.reference, self.document_reference, self.id]
            .into_iter()
            .flatten()
            .find_map(|raw| usable(raw, scrub))
    }

    fn codes(&self) -> impl Iterator<Item = i32> {
        [self.error_code, self.status_code, self.status, self.code]
            .into_iter()
            .flatten()
            .filter_map(code)
    }

    fn refuses(&self) -> bool {
        let says = |raw: Option<&RawValue>, what: fn(&str) -> bool| {
            raw.is_some_and(|raw| what(raw.get().trim_matches('"').trim().to_lowercase().as_str()))
        };
        let auth = self
            .auth_status
            .and_then(|raw| object::<RawAuthCode<'_>>(raw).ok());
        let auth = auth.and_then(|auth| auth.code).and_then(code);
        says(self.success, |said| matches!(said, "false" | "0" | "no"))
            || says(self.status, |said| NO.contains(&said))
            || says(self.error, |said| {
                !matches!(said, "" | "null" | "false" | "0" | "none" | "[]" | "{}")
            })
            || says(self.error_code, |said| {
                let is_success = said.len() == 3 && said.starts_with('2');
                !is_success && !matches!(said, "null" | "none") && said.bytes().any(|b| b != b'0')
            })
            || self
                .codes()
                .chain(auth)
                .any(|code| matches!(code, 400..=599) || REFUSALS.contains(&code))
    }
}

/// Returns a reference as it stands; what was cleaned, cut or hidden on the way is not the reference any more.
fn usable(raw: &RawValue, scrub: &Scrub) -> Option<String> {
    plain(raw, scrub).filter(|kept| text(raw).is_some_and(|text| text.trim() == kept))
}

/// The same of a text that may be a sentence as well.
fn word(raw: &RawValue, scrub: &Scrub) -> Option<String> {
    let is_word =
        |said: &String| said.len() <= REFERENCE_MAX && !said.contains(char::is_whitespace);
    usable(raw, scrub).filter(is_word)
}

#[derive(Deserialize)]
struct RawUpload<'a> {
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    status_code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "errorCode")]
    error_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "authStatus")]
    auth_status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reference: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "documentReference")]
    document_reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawAuthCode<'a> {
    #[serde(borrow, default, rename = "authStatusCode")]
    code: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies() -> Replies {
        crate::dialect::Dialect::document().replies.clone()
    }

    fn read(body: &str) -> UploadReply {
        read_upload(body.as_bytes(), &Scrub::nothing(), &replies())
    }

    #[test]
    fn a_reply_of_success_that_says_no_is_a_refusal() {
        for body in [
            r#"{"success":false,"message":"not a PDF"}"#,
            r#"{"success":"false","data":{"reference":"D1"}}"#,
            r#"{"errorCode":400,"errorDescription":"corrupted"}"#,
            r#"{"errorCode":"E17"}"#,
            r#"{"errorCode":17,"reference":"D1"}"#,
            r#"{"error":"file too large"}"#,
            r#"{"error":true}"#,
            r#"{"error":{"code":1}}"#,
            r#"{"statusCode":422}"#,
            r#"{"statusCode":"500","reference":"D1"}"#,
            r#"{"statusCode":141,"statusDescription":"rejected"}"#,
            r#"{"status":"error"}"#,
            r#"{"status":"FAILED"}"#,
            r#"{"status":400}"#,
            r#"{"status":false}"#,
            r#"{"code":413}"#,
            r#"{"authStatus":{"authStatusCode":132},"data":null}"#,
            r#"{"data":{"success":false}}"#,
            r#"{"success":true,"data":{"status":"rejected","id":"D1"}}"#,
            r#"[{"success":false}]"#,
        ] {
            assert_eq!(read(body), UploadReply::Refused, "{body}");
        }
    }

    #[test]
    fn a_reference_is_found_wherever_it_stands() {
        let taken = |reference: &str| UploadReply::Taken(Some(reference.to_owned()));
        for (body, reference) in [
            (r#"{"reference":"D1","id":7}"#, "D1"),
            (r#"{"documentReference":" D1 "}"#, "D1"),
            (r#"{"id":900719925474099312345}"#, "900719925474099312345"),
            (
                r#"{"success":true,"statusCode":200,"data":{"reference":"D1"}}"#,
                "D1",
            ),
            (
                r#"{"data":{"documentReference":"D1"},"error":null,"errorCode":0}"#,
                "D1",
            ),
            (
                r#"{"status":"success","data":[{"id":17}],"error":false}"#,
                "17",
            ),
            (r#"{"status":201,"errorCode":"00","data":"D1"}"#, "D1"),
            (r#"{"success":"true","code":"200","data":17}"#, "17"),
            (r#"{"reference":"","data":{"id":"D1"}}"#, "D1"),
            (
                r#"{"authStatus":{"authStatusCode":131},"statusCode":139,"data":"D1"}"#,
                "D1",
            ),
            (r#"[{"reference":"D1"}]"#, "D1"),
        ] {
            assert_eq!(read(body), taken(reference), "{body}");
        }
        for body in [
            "",
            "OK",
            "<html>",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"data":null}"#,
            r#"{"data":"Document uploaded successfully"}"#,
            r#"{"data":{"name":"a.pdf"},"message":"uploaded"}"#,
            "{\"reference\":\"D\u{1b}1\"}",
            r#"{"reference":"a","reference":"b"}"#,
            r#"{"reference":["D1"]}"#,
        ] {
            assert_eq!(read(body), UploadReply::Taken(None), "{body}");
        }
    }

    #[test]
    fn a_document_that_is_there_is_named_as_such() {
        let refused = br#"{"success":false,"data":{"reference":"D1"}}"#;
        let reference = document_reference(refused, &Scrub::nothing(), &replies());
        assert_eq!(reference.as_deref(), Some("D1"));
        let there = |reference: Option<&str>| UploadReply::There(reference.map(str::to_owned));
        for (body, reference) in [
            (
                r#"{"success":false,"statusCode":409,"data":{"reference":"D1"}}"#,
                Some("D1"),
            ),
            (r#"{"errorCode":"409"}"#, None),
            (r#"{"status":409,"data":"D1"}"#, Some("D1")),
        ] {
            assert_eq!(read(body), there(reference), "{body}");
        }
    }

    #[test]
    fn a_reference_that_repeats_a_secret_is_none() {
        let scrub = crate::gateway::scrub::Secrets::new("acme", "hunter2/geheim").scrub();
        let read = |body: &str| read_upload(body.as_bytes(), &scrub, &replies());
        assert_eq!(
            read(r#"{"reference":"D-hunter2/geheim"}"#),
            UploadReply::Taken(None)
        );
        assert_eq!(
            read(r#"{"data":"hunter2\/geheim"}"#),
            UploadReply::Taken(None)
        );
    }
}
