//! Documents that the rows of a load name.

use super::checked::checked_digest;
use super::job::Load;
use super::sorted::Sorted;
use crate::domain::{Instruction, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::DOCUMENT_CHECKED;
use crate::journal::sqlite::evidence::chain::Evidence;
use rusqlite::{OptionalExtension, params};
use serde_json::json;

impl Load<'_> {
    /// Notes the document of the row that was counted last.
    pub(in crate::journal::sqlite) fn note_document<M>(
        &self,
        row: &Instruction<M>,
    ) -> Result<(), Error> {
        self.note_document_of(self.newest(), row)
    }

    /// The same of the instruction with this number.
    pub(in crate::journal::sqlite) fn note_document_of<M>(
        &self,
        seq: PaymentId,
        row: &Instruction<M>,
    ) -> Result<(), Error> {
        let Some(digest) = row.document.as_ref().and_then(|document| document.digest) else {
            return Ok(());
        };
        self.c
            .prepare_cached("insert into temp.checked values (?1, ?2)")?
            .execute(params![seq, &digest[..]])?;
        Ok(())
    }

    /// Lets the document of a row take the place of the one that was checked when an earlier load brought it, where it is to.
    pub(in crate::journal::sqlite) fn exchange_document(
        &self,
        seq: PaymentId,
        earlier: PaymentId,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        if !self.plan.new_documents {
            return Ok(());
        }
        let digest: Option<Vec<u8>> = self
            .c
            .prepare_cached("select digest from temp.checked where seq = ?1")?
            .query_row([seq], |row| row.get(0))
            .optional()?;
        let Some(digest) = digest else {
            return Ok(());
        };
        if checked_digest(self.c, earlier)?.as_ref() == Some(&digest) {
            return Ok(());
        }
        // What the file service has is what the first post names, and every later one.
        let waits: bool = self
            .c
            .prepare_cached(
                "select exists (select 1 from life where seq = ?1 and state = 0 and attempts = 0)
                     and not exists (select 1 from upload where seq = ?1)",
            )?
            .query_row([earlier], |row| row.get(0))?;
        if !waits {
            sorted.kept_documents += 1;
            return Ok(());
        }
        sorted.new_documents += 1;
        self.c
            .prepare_cached("insert into temp.checked values (?1, ?2)")?
            .execute(params![earlier, digest])?;
        Ok(())
    }

    /// Puts the documents of the rows that are left on the chain.
    pub(in crate::journal::sqlite) fn seal_documents(&self) -> Result<(), Error> {
        let mut statement = self.c.prepare(
            "select d.seq, d.digest from temp.checked as d join instruction as i on i.seq = d.seq order by d.seq",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let digest: [u8; 32] = row.get(1)?;
            let detail = json!({"sha256": data_encoding::HEXLOWER.encode(&digest)}).to_string();
            self.c.append(&Evidence {
                batch_id: self.batch_id,
                seq: row.get(0)?,
                at: self.plan.now,
                kind: (DOCUMENT_CHECKED, None, None),
                digest: Some(&digest),
                detail: Some(&detail),
                ..Evidence::default()
            })?;
        }
        Ok(())
    }
}
