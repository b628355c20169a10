//! Rows of a file that were withdrawn.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::aside::withdrawal;
use super::corrections::late;
use super::job::Load;
use crate::domain::EvidenceId;
use crate::journal::{Error, LoadRefusal};
use crate::ledger::correction::Refusal;
use crate::ledger::likeness::of_reference;
use crate::store::tables::{instruction, rejected};
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// A row that was withdrawn.
    struct Withdrawn of rejected { reference: String, withdrawn: EvidenceId }
}

impl Load<'_> {
    /// Returns why the file is not loaded, if a new row has the reference of one that was withdrawn, and says not what it corrects.
    pub(in crate::journal) fn refuse_withdrawn(&self) -> Result<Option<LoadRefusal>, Error> {
        let mut withdrawn: BTreeMap<String, EvidenceId> = BTreeMap::new();
        let rows = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .only(rejected::withdrawn, Test::Present)
            .only(rejected::reference, Test::Present);
        self.c.each(&rows, |row: Withdrawn| {
            withdrawn.insert(of_reference(&row.reference), row.withdrawn);
            Ok::<_, Error>(())
        })?;
        if withdrawn.is_empty() {
            return Ok(None);
        }
        let mut errors = Vec::new();
        let rows = self.own_rows().only(instruction::reference, Test::Present);
        let columns = [instruction::seq, instruction::line, instruction::reference];
        self.c.each_row(&rows, &columns, |row| {
            let next = Ok::<_, Error>(ControlFlow::Continue(()));
            if !self.is_unnamed(row.get(0)?) {
                return next;
            }
            let Some(evidence_id) = withdrawn.get(&of_reference(&row.get::<String>(2)?)) else {
                return next;
            };
            let line: i64 = row.get(1)?;
            if let Some(withdrawal) = withdrawal(self.c, Some(*evidence_id))? {
                let refusal = Refusal::Withdrawn(withdrawal);
                errors.push(late(line.unsigned_abs(), "reference", refusal.to_string()));
            }
            next
        })?;
        Ok((!errors.is_empty()).then_some(LoadRefusal::Corrections(errors)))
    }
}
