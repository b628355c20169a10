//! Rows that are added and say not what they correct, beside the rejected rows of their batch. The rule is in
//! [`crate::ledger::mended`].

use std::ops::ControlFlow;

use super::job::Load;
use crate::domain::{EvidenceId, Instruction, LoadId, PaymentId};
use crate::journal::codec::catalog::of_payment;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::Stored;
use crate::journal::{CrossRowError, Error, LoadRefusal};
use crate::ledger::correction::{Corrects, RejectedName, has_error};
use crate::ledger::mended::{Meant, NewRow, OpenRow, OpenRows};
use crate::ledger::repeats::{may_be_same_person, reads_alike};
use crate::ledger::unread::is_unread;
use crate::store::tables::{instruction, load, rejected};
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// A rejected row that nothing has taken the place of.
    struct Open of rejected {
        line: i64, reference: Option<String>, errors: String, msisdn: Option<String>, account_number: Option<String>,
        digest: [u8; 32], withdrawn: Option<EvidenceId>,
    }
}

/// Rows that are named in a refusal.
const NAMED_MAX: usize = 1_000;

/// A rejected row, as a person knows it.
struct Named {
    line: u64,
    name: RejectedName,
    reference: String,
    /// It shall not be paid.
    is_withdrawn: bool,
}

impl Named {
    fn is_withdrawn_as(&self, row: &NewRow<'_>) -> bool {
        let is_alike = |reference| reads_alike(reference, &self.reference);
        self.is_withdrawn && row.reference.is_some_and(is_alike)
    }
}

impl Load<'_> {
    /// Finds which of the rows that are added take the place of rejected ones although they say it not; returns why the file is
    /// not loaded, if that cannot be told.
    pub(in crate::journal) fn find_mended(&mut self) -> Result<Option<LoadRefusal>, Error> {
        let (open, names) = self.open_rows()?;
        if names.is_empty() {
            return Ok(None);
        }
        let (mut found, mut unclear, mut count) = (Vec::new(), Vec::new(), 0_u64);
        Instructions::of(self.c).each(&self.own_rows(), |own| {
            let (seq, row) = (own.seq, own.row.instruction);
            if !self.is_unnamed(seq) {
                return Ok(());
            }
            let new = NewRow {
                line: row.line,
                reference: row.reference.as_ref().map(|reference| reference.as_str()),
                recipient: [row.msisdn.as_str(), &row.account_number],
            };
            match open.meant(&new) {
                Meant::Own => {}
                // By its reference it is refused: see `refuse_withdrawn`.
                Meant::Mends(at) | Meant::Unclear(at) if names[at].is_withdrawn_as(&new) => {}
                Meant::Mends(at) => found.push((seq, row.line, names[at].name.to_string())),
                Meant::Unclear(at) => {
                    count += 1;
                    if unclear.len() < NAMED_MAX {
                        unclear.push(told(&row, &names[at]));
                    }
                }
            }
            Ok(())
        })?;
        if count > 0 {
            return Ok(Some(LoadRefusal::MayBeMended(count, unclear)));
        }
        for (seq, line, name) in found {
            self.corrections.announce(&Corrects::Rejected(name));
            self.corrections.take(line, Some(seq));
        }
        Ok(None)
    }

    /// The rejected rows of the batch that nothing has taken the place of, nor is named for by this file; those that were
    /// withdrawn, too: what comes back without a reference may be one of them.
    fn open_rows(&self) -> Result<(OpenRows, Vec<Named>), Error> {
        let mut taken = self.corrections.rejected_names();
        let others = Scan::by(&load::load_by_batch)
            .at(&self.batch_id)
            .only(load::load_id, Test::is_not(&self.load_id));
        let (mut open, mut names) = (Vec::new(), Vec::new());
        for load_id in self.c.values::<LoadId>(&others, load::load_id)? {
            let of_load = Scan::of(&rejected::TABLE)
                .at(&load_id)
                .only(rejected::digest, Test::Present)
                .only(rejected::replaced_by, Test::Absent);
            self.c.each(&of_load, |row: Open| {
                let name = RejectedName::of(&self.plan.batch, &row.digest);
                if let Some(count) = taken.get_mut(&name).filter(|count| **count > 0) {
                    *count -= 1;
                    return Ok(());
                }
                let reference = row.reference.as_deref().unwrap_or_default().trim();
                let line = row.line.unsigned_abs();
                open.push(OpenRow {
                    line,
                    reference: reference.to_owned(),
                    // What was read of it may be a piece of another row's.
                    reference_is_wrong: has_error(&row.errors, "reference")
                        || is_unread(&row.errors),
                    recipient: [row.msisdn, row.account_number].map(Option::unwrap_or_default),
                });
                names.push(Named {
                    line,
                    name,
                    reference: reference.to_owned(),
                    is_withdrawn: row.withdrawn.is_some(),
                });
                Ok::<_, Error>(())
            })?;
        }
        Ok((OpenRows::of(open), names))
    }

    /// Returns what is wrong with a row of the file that has the reference of a payment of the batch, and other content: where it
    /// is a rejected row whose reference was another row's, it needs one of its own, and the payment that has it is right.
    pub(in crate::journal) fn has_anothers_reference(
        &self,
        seq: PaymentId,
        row: &Instruction<Stored>,
        (earlier, known): (PaymentId, &Instruction<Stored>),
    ) -> Result<Option<CrossRowError>, Error> {
        let Some(reference) = &row.reference else {
            return Ok(None);
        };
        // The payment may be what a rejected row has become already: then it is the one that was changed.
        let mended = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .only(rejected::replaced_by, Test::is(&earlier));
        let is_mended = self.c.any(&mended)?;
        if is_mended {
            return Ok(None);
        }
        let has_wrong = self.has_rejected_with_wrong(reference.as_str())?;
        let is_its_row = self.corrections.corrects(seq) || !may_be_same_person(row, known);
        if !has_wrong || !is_its_row {
            return Ok(None);
        }
        let file = self.source(of_payment(self.c, earlier, instruction::load_id)?)?;
        Ok(Some(CrossRowError {
            line: row.line,
            good_row: 0,
            column: "reference",
            message: format!(
                "{:?} is the reference of line {} of {file}, another row of this batch. Give this row a reference of its own if it is a payment of \
                 its own, and remove it if it is the same one",
                reference.as_str(),
                known.line
            ),
            digest: [0; 32],
        }))
    }

    /// Returns whether a rejected row has this reference, and that was wrong.
    fn has_rejected_with_wrong(&self, reference: &str) -> Result<bool, Error> {
        let open = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .only(rejected::reference, Test::is(&reference))
            .only(rejected::load_id, Test::is_not(&self.load_id))
            .only(rejected::replaced_by, Test::Absent)
            .only(rejected::withdrawn, Test::Absent);
        let mut has_wrong = false;
        self.c.each_row(&open, &[rejected::errors], |row| {
            has_wrong = has_error(&row.get::<String>(0)?, "reference");
            Ok::<_, Error>(match has_wrong {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(has_wrong)
    }
}

fn told(row: &Instruction<Stored>, rejected: &Named) -> CrossRowError {
    let Named { line, name, .. } = rejected;
    let became = match rejected.is_withdrawn {
        true => "rejected and withdrawn",
        false => "rejected",
    };
    CrossRowError {
        line: row.line,
        good_row: 0,
        column: "",
        message: format!(
            "may be the mended row of line {line}, which was {became} ({name}), or a new one"
        ),
        digest: [0; 32],
    }
}
