//! What is kept of a reply beside the words of the gateway.

use serde::Serialize;

use crate::domain::ResponseDetails;

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

#[derive(Default, PartialEq, Serialize)]
pub(in crate::journal) struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
}
