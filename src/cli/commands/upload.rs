//! `upload`: the supporting document of one payment.

use std::path::Path;

use serde_json::json;

use super::operation;
use crate::cli::Error;
use crate::cli::arguments::UploadArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::PayerTransactionId;
use crate::intake::{self, DocumentError};

/// `disburse upload`.
pub(in crate::cli) async fn upload(
    session: &Session,
    arguments: UploadArguments,
) -> Result<ExitStatus, Error> {
    let id = PayerTransactionId::parse(&arguments.id).ok_or_else(|| {
        Error::refused(format!(
            "--id {:?}: expected a payerTransactionID, such as 26 characters of base32 (section 2.5); nothing was sent",
            arguments.id
        ))
        .hint("payments.csv of the report, and `disburse explain`, name the identifier of every payment")
    })?;
    let uploaded = operation::against(session, arguments.sandbox, async |settings| {
        let most = u64::from(settings.profile.document_bytes_max.get());
        let bytes = read(&arguments.file, most)?;
        let name = arguments.file.file_name().unwrap_or_default();
        let documents = gateway::documents(settings)?;
        Ok(documents
            .upload(&id, &name.to_string_lossy(), bytes)
            .await?)
    })
    .await?;
    if uploaded.already {
        return Err(Error::refused(format!(
            "HTTP 409: the file service has a document under this identifier already, and took none now (section 4.3): {}",
            uploaded.reply
        ))
        .hint("a run knows what it sent itself; another document is taken once that one is removed there"));
    }
    if session.common.json {
        output::json(&json!({
            "payer_transaction_id": id.as_str(),
            "reference": uploaded.reference,
            "reply": uploaded.reply,
        }));
        return Ok(ExitStatus::Done);
    }
    output::line(&format!("supportDocument: {}", uploaded.reference));
    if !uploaded.reply.is_empty() {
        output::line(&format!("reply: {}", uploaded.reply));
    }
    Ok(ExitStatus::Done)
}

/// Reads a document whole, and checks that the file service can take it.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    intake::read_document(path, most).map_err(|error| {
        let refused = Error::refused(format!("{}: {error}; nothing was sent", path.display()));
        match error {
            DocumentError::TooLarge { .. } => refused.hint(
                "make it smaller; where the file service takes more, raise document_bytes_max of the profile",
            ),
            DocumentError::Pdf(_) => refused.hint(
                "the file service takes PDF only, without a password; print or export the document as PDF",
            ),
            DocumentError::Absent | DocumentError::Outside | DocumentError::LinkedOut | DocumentError::Irregular | DocumentError::Read(_) => refused,
        }
    })
}
