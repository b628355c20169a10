//! `POST /api/v1/transaction-documents`: supporting documents of RTGS transfers (sections 2.5 and 4.3).

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::sandbox::books::documents::Document;
use crate::sandbox::books::event::Event;
use crate::sandbox::faults::plan::Draw;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::http::body::read_body;
use crate::sandbox::http::replies;
use crate::sandbox::http::validation::ID_MAX;
use crate::sandbox::rules::pdf::{self, Flaw};

/// The largest upload, in bytes: the file with the form around it.
pub(in crate::sandbox) const UPLOAD_MAX: usize = 12 * 1024 * 1024;
/// How much of a file's name is kept, in characters.
const NAME_MAX: usize = 200;

type Refused = (StatusCode, String);

/// The fields of the form.
struct Form {
    id: String,
    name: String,
    file: Bytes,
}

/// Answers an upload.
pub(in crate::sandbox) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Response {
    let Ok(_seat) = gateway.uploads.acquire().await else {
        return replies::incomplete();
    };
    let (head, body) = request.into_parts();
    let of_form = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("multipart/form-data"));
    let body = match read_body(body, UPLOAD_MAX).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    if !of_form {
        let why = "the request is not multipart/form-data";
        return replies::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    }
    let form = match read_form(Request::from_parts(head, Body::from(body))).await {
        Ok(form) => form,
        Err((status, why)) => return replies::error(status, &why),
    };
    keep(&gateway, form)
}

async fn read_form(mut request: Request) -> Result<Form, Refused> {
    let bad = |why: String| (StatusCode::BAD_REQUEST, why);
    // The body is in memory already, and no larger than it may be.
    DefaultBodyLimit::disable().apply(&mut request);
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|error| bad(format!("the form cannot be read: {}", error.body_text())))?;
    let (mut id, mut file) = (None, None);
    loop {
        let unreadable = |error: axum::extract::multipart::MultipartError| {
            bad(format!("the form cannot be read: {}", error.body_text()))
        };
        let Some(field) = form.next_field().await.map_err(unreadable)? else {
            break;
        };
        let twice = |name| bad(format!("{name} is given more than once"));
        match field.name() {
            Some("payerTransactionId") => {
                let bytes = field.bytes().await.map_err(unreadable)?;
                let text = String::from_utf8(bytes.into())
                    .map_err(|_| bad("payerTransactionId is not UTF-8".to_owned()))?;
                if id.replace(text).is_some() {
                    return Err(twice("payerTransactionId"));
                }
            }
            Some("file") => {
                let name = printable(field.file_name().unwrap_or_default());
                let bytes = field.bytes().await.map_err(unreadable)?;
                if file.replace((name, bytes)).is_some() {
                    return Err(twice("file"));
                }
            }
            _ => {}
        }
    }
    let id = id
        .filter(|id| !id.is_empty())
        .ok_or_else(|| bad("payerTransactionId is missing".to_owned()))?;
    if id.len() > ID_MAX {
        return Err(bad(format!(
            "payerTransactionId is longer than {ID_MAX} bytes"
        )));
    }
    let (name, file) = file.ok_or_else(|| bad("file is missing".to_owned()))?;
    Ok(Form { id, name, file })
}

fn printable(name: &str) -> String {
    name.chars()
        .filter(|character| !character.is_control())
        .take(NAME_MAX)
        .collect()
}

fn keep(gateway: &Gateway, form: Form) -> Response {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    if let Err(flaw) = pdf::check(&form.file) {
        let (status, why) = match flaw {
            _ if form.file.is_empty() => (unprocessable, "file is empty"),
            Flaw::NotPdf => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "file is not a PDF: it does not begin with %PDF-",
            ),
            Flaw::Truncated => (
                unprocessable,
                "file is a damaged PDF: its end mark %%EOF is missing",
            ),
            Flaw::Encrypted => (
                unprocessable,
                "file is protected by a password: its trailer names /Encrypt",
            ),
        };
        return replies::error(status, why);
    }
    let mut book = gateway.book();
    let earlier = book.ledger.documents.of(&form.id);
    let status = match earlier {
        Some(_) => StatusCode::OK,
        None => StatusCode::CREATED,
    };
    if earlier.is_none() && book.ledger.documents.is_full() {
        return replies::error(unprocessable, "the sandbox keeps no further documents");
    }
    // The reference of an identifier never changes: a payment that names it may be under way.
    let reference = match earlier {
        Some(document) => document.reference.clone(),
        None => {
            let bits = gateway.plan.bits(Draw::Document, &form.id, 0);
            format!("DOC-{bits:016X}").into()
        }
    };
    let document = Document {
        reference,
        name: form.name.into(),
        size: form.file.len() as u64,
        sha256: HEXLOWER.encode(&Sha256::digest(&form.file)).into(),
    };
    let reply = json!({
        "reference": &document.reference,
        "payerTransactionId": &form.id,
        "fileName": &document.name,
        "size": document.size,
        "sha256": &document.sha256,
    });
    let id = form.id.as_str().into();
    if let Err(error) = book.record(Event::Uploaded { id, document }) {
        return replies::no_ledger(&error);
    }
    replies::json_with(status, reply.to_string())
}
