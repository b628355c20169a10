//! The upload of supporting documents (sections 2.5 and 4.3).

use std::fmt;

use reqwest::header::AUTHORIZATION;
use reqwest::multipart::{Form, Part};

use super::authorization::{Authorizer, Shown};
use crate::dialect::Replies;
use crate::domain::PayerTransactionId;
use crate::gateway::error::Error;
use crate::gateway::operations::{OperationError, Uploaded};
use crate::gateway::profile::Profile;
use crate::gateway::scrub::Scrub;
use crate::gateway::transport::channel::{Answer, Broken};
use crate::gateway::transport::endpoint::{Endpoint, Place, body};
use crate::gateway::transport::path::method;
use crate::gateway::wire::text::{clean, printable};
use crate::gateway::wire::{UploadReply, document_reference, is_token_expired, read_upload};

const PLACE: Place = Place {
    name: "the document upload",
    key: "file_service_url",
    section: "4.3",
};
/// The longest reply that is kept, in bytes.
const REPLY_MAX: usize = 64 * 1024;
/// The longest file name that is sent, in characters.
const FILE_NAME_MAX: usize = 100;

/// The document upload. It may be shared between tasks.
pub struct DocumentClient {
    endpoint: Endpoint,
    authorizer: Authorizer,
    replies: Replies,
}

impl DocumentClient {
    /// Builds the client. Nothing is sent yet.
    ///
    /// # Errors
    /// `file_service_url` is not set or not safe; the rest as [`crate::gateway::HttpGateway::new`].
    pub fn new(profile: &Profile) -> Result<Self, Error> {
        let address = profile.file_service_url.as_ref();
        let operation = &profile.dialect.upload;
        Ok(Self {
            endpoint: Endpoint::new(
                profile,
                PLACE,
                address,
                &operation.path,
                method(operation.method),
            )?,
            authorizer: Authorizer::new(profile, operation.header, None)?,
            replies: profile.dialect.replies.clone(),
        })
    }

    /// Uploads the document of one payment. Whether uploads carry a token is not shown: they carry what the dialect says, by
    /// itself nothing. Where a token had expired, it is renewed once, and the upload made once more: it moves no money.
    ///
    /// # Errors
    /// [`OperationError::Refused`] with the file service's words when it does not take the document;
    /// [`OperationError::Unavailable`] when the same upload may be made again.
    pub async fn upload(
        &self,
        id: &PayerTransactionId,
        file_name: &str,
        bytes: Vec<u8>,
    ) -> Result<Uploaded, OperationError> {
        let shown = self.authorizer.shown().await?;
        let answer = self.send(id, file_name, bytes.clone(), &shown).await?;
        let expired = answer.status == 401 || is_token_expired(body(&answer));
        let answer = match expired && self.authorizer.found_expired(&shown).await {
            true => {
                let shown = self.authorizer.shown().await?;
                self.send(id, file_name, bytes, &shown).await?
            }
            false => answer,
        };
        let secrets = self.authorizer.secrets(&self.endpoint.secrets);
        judged(id, &answer, &secrets.scrub(), &self.replies)
    }

    async fn send(
        &self,
        id: &PayerTransactionId,
        file_name: &str,
        bytes: Vec<u8>,
        shown: &Shown,
    ) -> Result<Answer, OperationError> {
        let size = bytes.len();
        let file = Part::bytes(bytes)
            .file_name(safe_name(file_name))
            .mime_str("application/pdf")
            .expect("application/pdf is a media type");
        let form = Form::new()
            .text("payerTransactionId", id.as_str().to_owned())
            .part("file", file);
        let mut request = self.endpoint.post().multipart(form);
        if let Some(header) = shown.header() {
            request = request.header(AUTHORIZATION, header);
        }
        let answer = self.endpoint.send(request).await?;
        tracing::debug!(%id, size, status = answer.status, "uploaded a document");
        Ok(answer)
    }
}

/// Tells a reply: by its status, and one of success by what its body says as well.
pub(in crate::gateway) fn judged(
    id: &PayerTransactionId,
    answer: &Answer,
    scrub: &Scrub,
    replies: &Replies,
) -> Result<Uploaded, OperationError> {
    let status = answer.status;
    let uploaded = |reference: Option<String>, body: &[u8], already| Uploaded {
        reference: reference.unwrap_or_else(|| id.as_str().to_owned()),
        reply: printable(&scrub.text(&String::from_utf8_lossy(body)), REPLY_MAX),
        already,
    };
    let said = |body: &[u8]| clean(&scrub.text(&String::from_utf8_lossy(body)));
    match (status, &answer.body) {
        (200..=299, Ok(body)) => match read_upload(body, scrub, replies) {
            UploadReply::Taken(reference) => Ok(uploaded(reference, body, false)),
            UploadReply::There(reference) => Ok(uploaded(reference, body, true)),
            UploadReply::Refused => Err(refused(status, &said(body))),
        },
        (409, Ok(body)) => Ok(uploaded(document_reference(body, scrub, replies), body, true)),
        // It is taken, whatever else it goes on to say.
        (200..=299, Err(Broken::TooLarge(limit))) => Ok(Uploaded {
            reference: id.as_str().to_owned(),
            reply: format!("a reply larger than {limit} bytes"),
            already: false,
        }),
        (401 | 403, body) => Err(OperationError::Credentials {
            section: "4.3",
            what: format!(
                "HTTP {status}: the file service did not let us in; the interface shows no credentials for uploads {}",
                said(body.as_deref().unwrap_or_default())
            )
            .trim_end()
            .to_owned(),
        }),
        (404 | 405 | 408 | 429, _) => Err(PLACE.unusable(answer, "")),
        (400..=499, Ok(body)) => Err(refused(status, &said(body))),
        (_, body) => {
            let cause = body.as_ref().err().map(ToString::to_string);
            Err(PLACE.unusable(answer, &cause.unwrap_or_default()))
        }
    }
}

fn refused(status: u16, said: &str) -> OperationError {
    let what = format!("HTTP {status}: the file service does not take the document");
    OperationError::Refused {
        section: "4.3",
        what: match said {
            "" => what,
            said => format!("{what}: {said}"),
        },
    }
}

/// Returns a name that every server reads alike: plain characters, without folders, ending in `.pdf`.
fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or("");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = last
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .take(FILE_NAME_MAX)
        .collect();
    let is_pdf = name.len() > 4 && name.to_ascii_lowercase().ends_with(".pdf");
    match name.as_str() {
        "" => "document.pdf".to_owned(),
        _ if is_pdf => name,
        _ => format!("{name}.pdf"),
    }
}

impl fmt::Debug for DocumentClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentClient")
            .field("endpoint", &self.endpoint.url().as_str())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_plain_and_ends_in_pdf() {
        for (name, expected) in [
            ("statement.pdf", "statement.pdf"),
            ("Statement.PDF", "Statement.PDF"),
            (
                "/srv/x/board resolution (1).pdf",
                "board_resolution__1_.pdf",
            ),
            ("C:\\docs\\a.pdf", "a.pdf"),
            ("a\"\r\nx: y.pdf", "a___x__y.pdf"),
            ("vertrag-ü", "vertrag-_.pdf"),
            ("", "document.pdf"),
            ("..", "...pdf"),
        ] {
            assert_eq!(safe_name(name), expected, "{name}");
        }
        assert!(safe_name(&"x".repeat(9_999)).len() <= FILE_NAME_MAX + 4);
    }
}
