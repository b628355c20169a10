//! What is kept of a reply beside the words of the gateway.

use serde::Serialize;
use serde_json::Value;

use super::values::corrupt;
use crate::domain::ResponseDetails;
use crate::journal::Error;

/// What is kept of a reply beside the gateway's words, as JSON; `body`: one that could not be read.
pub(in crate::journal) fn detail_of(said: &ResponseDetails, body: Option<&str>) -> Option<String> {
    let detail = Detail {
        cause: Some(said.cause.as_str()).filter(|cause| !cause.is_empty()),
        http_status: said.http_status.filter(|status| *status != 200),
        body,
    };
    (detail != Detail::default())
        .then(|| serde_json::to_string(&detail).expect("texts and a number have a JSON form"))
}

/// Reads the detail of evidence, which is JSON; null where it has none.
pub(in crate::journal) fn parsed(detail: Option<&str>) -> Result<Value, Error> {
    match detail {
        None => Ok(Value::Null),
        Some(detail) => {
            serde_json::from_str(detail).map_err(|_| corrupt("a detail that is not JSON"))
        }
    }
}

#[derive(Default, PartialEq, Serialize)]
pub(in crate::journal) struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
}
