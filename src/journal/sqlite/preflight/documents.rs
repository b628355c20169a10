//! Supporting documents: which are to be uploaded, and what became of it.

use rusqlite::{Connection, params};
use serde_json::json;

use crate::domain::{BatchName, DocumentPath, PaymentId, Reference, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::batch_of;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{corrupt, identifier_of};
use crate::journal::sqlite::evidence::digests;
use crate::journal::sqlite::load::checked::checked_digest;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{DocumentDue, Error, HistoryEntry, Upload};
use crate::ledger::document::EarlierUploads;
use crate::lifecycle::RecordedEvent;

/// Holds for an instruction `i` that may be posted as far as its document goes: it has none, or names a reference of its
/// own, or the file service has it.
// The columns are tried in the order of their price: most rows have no document.
pub(in crate::journal::sqlite) const DOCUMENT_IS_THERE: &str = "(i.document is null or exists (select 1 from upload u where u.seq = i.seq) \
     or exists (select 1 from json_each(i.extra) where value ->> 0 = 'supportDocument'))";

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
        self.ask(CommitMode::Shared, move |c| {
            documents_due(c, &batch, after, limit)
        })
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
        self.ask(CommitMode::Shared, move |c| begin_upload(c, seq, &digest))
            .await
    }

    /// Forgets bytes that were begun to be sent, and that the file service has said not to have taken.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn forget_upload(&self, seq: PaymentId, digest: [u8; 32]) -> Result<(), Error> {
        self.ask(CommitMode::Shared, move |c| {
            c.prepare_cached("delete from upload_begun where seq = ?1 and digest = ?2")?
                .execute(params![seq, &digest[..]])?;
            Ok(())
        })
        .await
    }

    /// Records that the document of a payment is uploaded. What is on record already stays: a payment has one reference.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn record_upload(&self, seq: PaymentId, upload: Upload) -> Result<(), Error> {
        self.ask(CommitMode::Shared, move |c| record_upload(c, seq, &upload))
            .await
    }
}

/// Ready payments of batch ?1 beyond ?2 whose document is to be uploaded.
pub(in crate::journal::sqlite) fn without_upload() -> String {
    format!(
        "select i.seq, i.identifier, i.line, i.reference, i.document, i.document_folder
         from instruction i indexed by instruction_with_document cross join life l on l.seq = i.seq
         where i.batch_id = ?1 and i.document is not null and i.seq > ?2 and l.state = 0 and not {DOCUMENT_IS_THERE}
         order by i.seq limit ?3"
    )
}

fn documents_due(
    c: &Connection,
    batch: &BatchName,
    after: PaymentId,
    limit: usize,
) -> Result<Vec<DocumentDue>, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut statement = c.prepare_cached(&without_upload())?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![batch_id, after, limit])?;
    let mut due = Vec::new();
    while let Some(row) = rows.next()? {
        let reference: Option<String> = row.get(3)?;
        due.push(DocumentDue {
            seq: row.get(0)?,
            id: identifier_of(&row.get::<_, String>(1)?)?,
            line: row.get::<_, i64>(2)?.unsigned_abs(),
            reference: reference
                .map(|text| Reference::parse(&text).map_err(|_| corrupt("a reference")))
                .transpose()?,
            path: DocumentPath {
                written: row.get(4)?,
                folder: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
                digest: None,
            }
            .path(),
        });
    }
    Ok(due)
}

// What is there under an identifier may have come from here although the reply was lost: then it is known by its digest.
fn begin_upload(
    c: &Connection,
    seq: PaymentId,
    digest: &[u8; 32],
) -> Result<Option<(EarlierUploads, bool)>, Error> {
    if checked_digest(c, seq)?.is_some_and(|checked| checked != digest) {
        return Ok(None);
    }
    let mut statement = c.prepare_cached("select digest from upload_begun where seq = ?1")?;
    let begun: Vec<Vec<u8>> = statement
        .query_map([seq], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let earlier = EarlierUploads::of(digest, begun.iter().map(Vec::as_slice));
    let added = c
        .prepare_cached(
            "insert into upload_begun (seq, digest) values (?1, ?2) on conflict do nothing",
        )?
        .execute(params![seq, &digest[..]])?;
    Ok(Some((earlier, added > 0)))
}

fn record_upload(c: &WriteSession, seq: PaymentId, upload: &Upload) -> Result<(), Error> {
    let inserted = c
        .prepare_cached(
        "insert into upload (seq, at, digest, bytes, reference, reply) values (?1, ?2, ?3, ?4, ?5, ?6)
         on conflict do nothing",
    )?
    .execute(params![
        seq,
        upload.at.as_millis(),
        &upload.digest[..],
        i64::try_from(upload.bytes).unwrap_or(i64::MAX),
        upload.reference,
        upload.reply,
    ])?;
    if inserted > 0 {
        let batch_id = batch_of(c, seq)?;
        c.with(|c, chain| digests::upload(c, chain, batch_id, seq, upload.at))?;
    }
    Ok(())
}

/// Adds the upload of a payment to its trail, before the first intent to post it.
pub(in crate::journal::sqlite) fn add_to_trail(
    c: &Connection,
    seq: PaymentId,
    trail: &mut Vec<HistoryEntry>,
) -> Result<(), Error> {
    let mut statement =
        c.prepare_cached("select at, digest, bytes, reference, reply from upload where seq = ?1")?;
    let mut rows = statement.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(());
    };
    let at = Timestamp::from_millis(row.get(0)?);
    let digest: Vec<u8> = row.get(1)?;
    let detail = json!({
        "sha256": data_encoding::HEXLOWER.encode(&digest),
        "bytes": row.get::<_, i64>(2)?,
        "reference": row.get::<_, String>(3)?,
        "reply": row.get::<_, String>(4)?,
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
