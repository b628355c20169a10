//! Rows of a file that were withdrawn.

use super::aside::withdrawal;
use super::corrections::late;
use super::job::Load;
use crate::domain::EvidenceId;
use crate::journal::{Error, LoadRefusal};
use crate::ledger::correction::Refusal;
use crate::ledger::likeness::of_reference;
use std::collections::BTreeMap;

impl Load<'_> {
    /// Returns why the file is not loaded, if a new row has the reference of one that was withdrawn, and says not what it corrects.
    pub(in crate::journal::sqlite) fn refuse_withdrawn(
        &self,
    ) -> Result<Option<LoadRefusal>, Error> {
        let mut withdrawn: BTreeMap<String, EvidenceId> = BTreeMap::new();
        let mut statement = self.c.prepare_cached(
            "select reference, withdrawn from rejected where batch_id = ?1 and withdrawn is not null and reference is not null",
        )?;
        let mut rows = statement.query([self.batch_id])?;
        while let Some(row) = rows.next()? {
            withdrawn.insert(of_reference(&row.get::<_, String>(0)?), row.get(1)?);
        }
        if withdrawn.is_empty() {
            return Ok(None);
        }
        let mut statement = self.c.prepare_cached(
            "select line, reference from instruction
             where batch_id = ?1 and seq > ?2 and reference is not null and seq not in (select seq from temp.mended) order by seq",
        )?;
        let mut rows = statement.query((self.batch_id, self.base))?;
        let mut errors = Vec::new();
        while let Some(row) = rows.next()? {
            let reference: String = row.get(1)?;
            let Some(evidence_id) = withdrawn.get(&of_reference(&reference)) else {
                continue;
            };
            let line: i64 = row.get(0)?;
            if let Some(withdrawal) = withdrawal(self.c, Some(*evidence_id))? {
                let refusal = Refusal::Withdrawn(withdrawal);
                errors.push(late(line.unsigned_abs(), "reference", refusal.to_string()));
            }
        }
        Ok((!errors.is_empty()).then_some(LoadRefusal::Corrections(errors)))
    }
}
