//! `upload`: the supporting document of one payment.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::json;

use super::arguments::UploadArguments;
use super::session::Session;
use super::{Error, Verdict, gateway, operation, output};
use crate::domain::PayerTransactionId;

const PDF_START: &[u8] = b"%PDF-";

/// `disburse upload`.
pub(super) async fn upload(
    session: &Session,
    arguments: UploadArguments,
) -> Result<Verdict, Error> {
    let id = PayerTransactionId::parse(&arguments.id).ok_or_else(|| {
        Error::refused(format!(
            "--id {:?}: expected a payerTransactionID of 26 characters (section 2.5); nothing was sent",
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
    if session.common.json {
        output::json(&json!({
            "payer_transaction_id": id.as_str(),
            "reference": uploaded.reference,
            "reply": uploaded.reply,
        }));
        return Ok(Verdict::Done);
    }
    output::line(&format!("supportDocument: {}", uploaded.reference));
    if !uploaded.reply.is_empty() {
        output::line(&format!("reply: {}", uploaded.reply));
    }
    Ok(Verdict::Done)
}

/// Reads a file that begins as a PDF.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let refused = |what: String| {
        Error::refused(format!(
            "{}: {what} (section 2.5); nothing was sent",
            path.display()
        ))
    };
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(
            refused(format!("a document of more than {most} bytes")).hint(
                "make it smaller; document_bytes_max of the profile is the limit, where the file service takes more",
            ),
        );
    }
    if !bytes.starts_with(PDF_START) {
        let found = if bytes.is_empty() {
            "an empty file"
        } else {
            "a file that does not begin with %PDF-"
        };
        return Err(refused(format!("expected a PDF, found {found}"))
            .hint("the file service takes PDF only; print or export the document as PDF"));
    }
    Ok(bytes)
}
