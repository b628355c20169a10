//! Supporting documents: which are to be uploaded, and what became of it.

use std::ops::ControlFlow;

use serde_json::json;

use crate::domain::{BatchName, DocumentPath, PayerTransactionId, PaymentId, Reference, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::batch_of;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::instructions::names_document;
use crate::journal::evidence::digests;
use crate::journal::load::checked::checked_digest;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{DocumentDue, Error, HistoryEntry, Upload};
use crate::ledger::document::EarlierUploads;
use crate::lifecycle::{RecordedEvent, State};
use crate::store::tables::{instruction, life, upload, upload_begun};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

impl Journal {
    /// Returns ready payments whose document is to be uploaded, in the order of the file, beyond the payment `after`.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn documents_due(
        &self,
        batch: BatchName,
        after: PaymentId,
        limit: usize,
    ) -> Result<Vec<DocumentDue>, Error> {
        self.read(move |c| documents_due(c, &batch, after, limit))
            .await
    }

    /// Notes that a document is about to be sent, and returns what is known of those that were sent before, and whether
    /// these bytes are none of them. `None`: these are not the bytes that were checked when the payment was loaded.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn begin_upload(
        &self,
        seq: PaymentId,
        digest: [u8; 32],
    ) -> Result<Option<(EarlierUploads, bool)>, Error> {
        self.ask_again(CommitMode::Shared, move |c| begin_upload(c, seq, &digest))
            .await
    }

    /// Forgets bytes that were begun to be sent, and that the file service has said not to have taken.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn forget_upload(&self, seq: PaymentId, digest: [u8; 32]) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| {
            c.remove(&Scan::of(&upload_begun::TABLE).at(&seq).at(&digest))?;
            Ok(())
        })
        .await
    }

    /// Records that the document of a payment is uploaded. What is on record already stays: a payment has one reference.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn record_upload(&self, seq: PaymentId, upload: Upload) -> Result<(), Error> {
        self.ask_again(CommitMode::Shared, move |c| record_upload(c, seq, &upload))
            .await
    }
}

shape! {
    /// A row that has a document.
    struct Documented of instruction {
        seq: PaymentId, identifier: PayerTransactionId, line: i64, reference: Option<Reference>, extra: Option<String>, document: String,
        document_folder: Option<String>,
    }
}

fn documents_due(
    c: &dyn Read,
    batch: &BatchName,
    after: PaymentId,
    limit: usize,
) -> Result<Vec<DocumentDue>, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut due = Vec::new();
    let rows = Scan::by(&instruction::instruction_with_document).at(&batch_id);
    c.each_until(&rows.after(&after), |row: Documented| {
        if due.len() >= limit {
            return Ok(ControlFlow::Break(()));
        }
        if is_to_be_uploaded(c, &row)? {
            due.push(DocumentDue {
                seq: row.seq,
                id: row.identifier,
                line: row.line.unsigned_abs(),
                reference: row.reference,
                path: DocumentPath {
                    written: row.document,
                    folder: row.document_folder.unwrap_or_default(),
                    digest: None,
                }
                .path(),
            });
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(due)
}

/// Returns whether a row with a document is ready, and neither its document is uploaded nor does it name one that was.
fn is_to_be_uploaded(c: &dyn Read, row: &Documented) -> Result<bool, Error> {
    let ready = State::Ready;
    let own = Scan::of(&life::TABLE).at(&row.seq);
    if !c.any(&own.only(life::state, Test::is(&ready)))?
        || c.any(&Scan::of(&upload::TABLE).at(&row.seq))?
    {
        return Ok(false);
    }
    Ok(!names_document(row.extra.as_deref())?)
}

shape! {
    /// Bytes that were begun to be sent.
    struct Begun of upload_begun { seq: PaymentId, digest: [u8; 32] }
}
shape! {
    /// What the file service took.
    struct Uploaded of upload {
        seq: PaymentId, at: Timestamp, digest: [u8; 32], bytes: u64, reference: String, reply: String,
    }
}

// What is there under an identifier may have come from here although the reply was lost: then it is known by its digest.
fn begin_upload(
    c: &dyn Write,
    seq: PaymentId,
    digest: &[u8; 32],
) -> Result<Option<(EarlierUploads, bool)>, Error> {
    if checked_digest(c, seq)?.is_some_and(|checked| checked != digest) {
        return Ok(None);
    }
    let begun = Scan::of(&upload_begun::TABLE).at(&seq);
    let begun: Vec<Vec<u8>> = c.values(&begun, upload_begun::digest)?;
    let earlier = EarlierUploads::of(digest, begun.iter().map(Vec::as_slice));
    let is_new = c.insert_new(&Begun {
        seq,
        digest: *digest,
    })?;
    Ok(Some((earlier, is_new)))
}

fn record_upload(c: &WriteSession, seq: PaymentId, upload: &Upload) -> Result<(), Error> {
    let is_new = c.insert_new(&Uploaded {
        seq,
        at: upload.at,
        digest: upload.digest,
        bytes: upload.bytes,
        reference: upload.reference.clone(),
        reply: upload.reply.clone(),
    })?;
    if is_new {
        let batch_id = batch_of(c, seq)?;
        c.with(|c, chain| digests::upload(c, chain, batch_id, seq, upload.at))?;
    }
    Ok(())
}

/// Adds the upload of a payment to its trail, before the first intent to post it.
pub(in crate::journal) fn add_to_trail(
    c: &dyn Read,
    seq: PaymentId,
    trail: &mut Vec<HistoryEntry>,
) -> Result<(), Error> {
    let found: Option<Uploaded> = c.first(&Scan::of(&upload::TABLE).at(&seq))?;
    let Some(upload) = found else {
        return Ok(());
    };
    let at = upload.at;
    let detail = json!({
        "sha256": data_encoding::HEXLOWER.encode(&upload.digest),
        "bytes": upload.bytes,
        "reference": upload.reference,
        "reply": upload.reply,
    });
    let place = trail
        .iter()
        .position(|entry| entry.at >= at)
        .unwrap_or(trail.len());
    trail.insert(
        place,
        HistoryEntry {
            at,
            event: None,
            fact: RecordedEvent::Note,
            kind: "document uploaded",
            anomaly: None,
            detail: Some(detail.to_string()),
        },
    );
    Ok(())
}
