//! What people signed for a batch, as it stands on the chain.

use serde_json::Value;

use crate::domain::{EvidenceId, Timestamp};
use crate::journal::codec::events::{APPROVED, LOAD_SIGNED, ORDER_SIGNED, RULE_PINNED};
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, SignedFor, SignedText};
use crate::ledger::approval::text::value_of;
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, shape};

shape! {
    struct Kept of evidence { evidence_id: EvidenceId, at: Timestamp, detail: Option<String> }
}

impl Snapshot<'_> {
    /// Returns every text that somebody signed for the batch, and hands each to `put`.
    ///
    /// # Errors
    /// Faults of the journal, and of `put`.
    pub fn signed_texts<E: From<Error>>(
        &self,
        mut put: impl FnMut(SignedText) -> Result<(), E>,
    ) -> Result<(), E> {
        for (kind, what) in [
            (LOAD_SIGNED, SignedFor::Load),
            (APPROVED, SignedFor::Approval),
            (ORDER_SIGNED, SignedFor::Order),
        ] {
            for (evidence_id, at, detail) in self.of_kind(kind)? {
                let wrong = || {
                    corrupt(format!(
                        "a signature that cannot be read (evidence {evidence_id})"
                    ))
                };
                let detail: Value = serde_json::from_str(&detail).map_err(|_| wrong())?;
                let text = |name: &str| detail[name].as_str().map(str::to_owned);
                let (Some(text), Some(armour)) = (text("text"), text("signature")) else {
                    return Err(wrong().into());
                };
                put(SignedText {
                    what,
                    evidence_id,
                    at,
                    by: value_of(&text, "by").unwrap_or_default().to_owned(),
                    text,
                    armour,
                })?;
            }
        }
        Ok(())
    }

    /// Returns the files of allowed signers that the loads of the batch were made under, each once.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn allowed_signers(&self) -> Result<Vec<String>, Error> {
        let mut found: Vec<String> = Vec::new();
        for (_, _, detail) in self.of_kind(RULE_PINNED)? {
            let detail: Value = serde_json::from_str(&detail)
                .map_err(|_| corrupt("a rule of approval that cannot be read"))?;
            let signers = detail["signers"].as_str().unwrap_or_default();
            if !found.iter().any(|known| known == signers) {
                found.push(signers.to_owned());
            }
        }
        Ok(found)
    }

    fn of_kind(&self, kind: i64) -> Result<Vec<(EvidenceId, Timestamp, String)>, Error> {
        let rows = Scan::by(&evidence::about_batch)
            .at(&kind)
            .at(&self.batch_id);
        let found: Vec<Kept> = self.c.list(&rows)?;
        let parts = |row: Kept| (row.evidence_id, row.at, row.detail.unwrap_or_default());
        Ok(found.into_iter().map(parts).collect())
    }
}
