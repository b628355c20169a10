//! The reply that says that a callback is on disk.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Response, header};
use serde_json::Value;

use crate::dialect::{Acknowledgement, AcknowledgementForm, Dialect};
use crate::domain::PayerTransactionId;

const DESCRIPTION: &str = "Authentication was successful";

/// Writes the reply as the dialect has it; the document's is 188 in an envelope that says 131.
pub(super) fn reply(
    dialect: &Dialect,
    id: PayerTransactionId,
    gateway_id: Option<&str>,
) -> Response<Full<Bytes>> {
    let acknowledgement = &dialect.callbacks.acknowledgement;
    let Some(body) = body(dialect, acknowledgement, id, gateway_id) else {
        return Response::new(Full::default());
    };
    let mut reply = Response::new(Full::from(body));
    reply.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    reply
}

fn body(
    dialect: &Dialect,
    acknowledgement: &Acknowledgement,
    id: PayerTransactionId,
    gateway_id: Option<&str>,
) -> Option<String> {
    let text = |text: &str| Value::from(text).to_string();
    let code = |code: i32| match acknowledgement.codes_as_text {
        true => text(&code.to_string()),
        false => code.to_string(),
    };
    // In the order of the document.
    let object = |members: &[(&str, String)]| {
        let members = members.iter();
        let written: Vec<String> = members
            .map(|(ours, value)| format!("{}:{value}", text(dialect.names.theirs(ours))))
            .collect();
        format!("{{{}}}", written.join(","))
    };
    let receipt = object(&[
        ("payerTransactionID", text(id.as_str())),
        ("gatewayTransactionID", text(gateway_id.unwrap_or(""))),
        ("statusCode", code(acknowledgement.code)),
        ("statusDescription", text(&acknowledgement.description)),
    ]);
    match acknowledgement.form {
        AcknowledgementForm::Empty => None,
        AcknowledgementForm::Flat => Some(receipt),
        AcknowledgementForm::Envelope => {
            let auth = object(&[
                ("authStatusCode", code(acknowledgement.auth_code)),
                ("authStatusDescription", text(DESCRIPTION)),
            ]);
            Some(object(&[("authStatus", auth), ("results", receipt)]))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dialect::{Values, build, find};

    fn said(lines: &[(&str, &str)]) -> Option<String> {
        let values: Values = lines
            .iter()
            .map(|(name, value)| {
                assert!(find(name).is_some(), "{name}");
                ((*name).to_owned(), vec![(*value).to_owned()])
            })
            .collect();
        let dialect = build(&values, Path::new("")).unwrap();
        let id = PayerTransactionId::parse("D6XG76YFHSD4N4GSMC3R7K7EGS").unwrap();
        let acknowledgement = &dialect.callbacks.acknowledgement;
        body(&dialect, acknowledgement, id, Some("7"))
    }

    #[test]
    fn the_acknowledgement_is_the_dialects() {
        let receipt = r#"{"payerTransactionID":"D6XG76YFHSD4N4GSMC3R7K7EGS","gatewayTransactionID":"7","statusCode":188,"statusDescription":"Response was received"}"#;
        let envelope = format!(
            r#"{{"authStatus":{{"authStatusCode":131,"authStatusDescription":"{DESCRIPTION}"}},"results":{receipt}}}"#
        );
        assert_eq!(said(&[]), Some(envelope));
        let form = ("callbacks.acknowledgement.form", "flat");
        assert_eq!(said(&[form]).as_deref(), Some(receipt));
        assert_eq!(said(&[("callbacks.acknowledgement.form", "empty")]), None);
        let renamed = said(&[
            form,
            ("callbacks.acknowledgement.codes", "text"),
            ("callbacks.acknowledgement.code", "200"),
            ("callbacks.acknowledgement.description", "ok"),
            ("members.gatewayTransactionID", "beepTransactionID"),
        ]);
        let expected = r#"{"payerTransactionID":"D6XG76YFHSD4N4GSMC3R7K7EGS","beepTransactionID":"7","statusCode":"200","statusDescription":"ok"}"#;
        assert_eq!(renamed.as_deref(), Some(expected));
    }
}
