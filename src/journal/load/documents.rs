//! Documents that the rows of a load name.

use super::ascending::{Ascending, IsThere};
use super::checked::{Checked, DocumentDigest, checked_digest};
use super::job::Load;
use super::sorted::Sorted;
use crate::domain::{Instruction, PaymentId};
use crate::journal::Error;
use crate::journal::codec::events::DOCUMENT_CHECKED;
use crate::journal::evidence::chain::Evidence;
use crate::lifecycle::State;
use crate::store::tables::{life, upload};
use crate::store::{Reads, Scan, Test};
use serde_json::json;

impl Load<'_> {
    /// Notes the document of the row that was counted last.
    pub(in crate::journal) fn note_document<M>(
        &mut self,
        row: &Instruction<M>,
    ) -> Result<(), Error> {
        self.note_document_of(self.newest(), row)
    }

    /// The same of the instruction with this number.
    pub(in crate::journal) fn note_document_of<M>(
        &mut self,
        seq: PaymentId,
        row: &Instruction<M>,
    ) -> Result<(), Error> {
        match row.document.as_ref().and_then(|document| document.digest) {
            Some(digest) => self.documents.note(seq, &digest),
            None => Ok(()),
        }
    }

    /// Lets the documents of rows take the place of those that were checked when earlier loads brought them, where they are to.
    pub(in crate::journal) fn exchange_documents(
        &mut self,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        if !self.plan.new_documents {
            return Ok(());
        }
        let mut left = Checked::default();
        std::mem::take(&mut self.documents).each(|seq, earlier, digest| match earlier {
            Some(earlier) => self.exchange_document(earlier, &digest, &mut left, sorted),
            None => left.note(seq, &digest),
        })?;
        self.documents = left;
        Ok(())
    }

    fn exchange_document(
        &self,
        earlier: PaymentId,
        digest: &DocumentDigest,
        left: &mut Checked,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        if checked_digest(self.c, earlier)?.as_deref() == Some(&digest[..]) {
            return Ok(());
        }
        // What the file service has is what the first post names, and every later one.
        let unposted = Scan::of(&life::TABLE)
            .at(&earlier)
            .only(life::state, Test::is(&State::Ready))
            .only(life::attempts, Test::is(&0_i64));
        let waits =
            self.c.any(&unposted)? && !self.c.any(&Scan::of(&upload::TABLE).at(&earlier))?;
        if !waits {
            sorted.kept_documents += 1;
            return Ok(());
        }
        sorted.new_documents += 1;
        left.note(earlier, digest)
    }

    /// Puts the documents of the rows that are left on the chain.
    pub(in crate::journal) fn seal_documents(&mut self) -> Result<(), Error> {
        let mut instructions = Ascending::<IsThere>::of(self.c);
        std::mem::take(&mut self.documents).each(|seq, _, digest| {
            if instructions.find(seq)?.is_none() {
                return Ok(());
            }
            let detail = json!({"sha256": data_encoding::HEXLOWER.encode(&digest)}).to_string();
            self.c.append(&Evidence {
                batch_id: self.batch_id,
                seq,
                at: self.plan.now,
                kind: (DOCUMENT_CHECKED, None, None),
                digest: Some(&digest),
                detail: Some(&detail),
                ..Evidence::default()
            })
        })
    }
}
