//! Rows that are added and say not what they correct, beside the rejected rows of their batch. The rule is in
//! [`crate::ledger::mended`].

use rusqlite::params;

use super::job::Load;
use crate::domain::{Instruction, PaymentId};
use crate::journal::sqlite::codec::values::Stored;
use crate::journal::{CrossRowError, Error, LoadRefusal};
use crate::ledger::correction::{Corrects, RejectedName, has_error};
use crate::ledger::mended::{Meant, NewRow, OpenRow, OpenRows};
use crate::ledger::repeats::{may_be_same_person, reads_alike};
use crate::ledger::unread::is_unread;

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
    pub(in crate::journal::sqlite) fn find_mended(&mut self) -> Result<Option<LoadRefusal>, Error> {
        let (open, names) = self.open_rows()?;
        if names.is_empty() {
            return Ok(None);
        }
        let (mut found, mut unclear, mut count) = (Vec::new(), Vec::new(), 0_u64);
        let mut statement = self.c.prepare(
            "select seq from instruction where batch_id = ?1 and seq > ?2 and seq not in (select seq from temp.mended) order by seq",
        )?;
        let mut rows = statement.query((self.batch_id, self.base))?;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            let row = self.instruction(seq)?;
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
        }
        drop(rows);
        drop(statement);
        if count > 0 {
            return Ok(Some(LoadRefusal::MayBeMended(count, unclear)));
        }
        for (seq, line, name) in found {
            self.corrections.announce(&Corrects::Rejected(name));
            self.corrections.take(line, Some(seq));
            self.c
                .prepare_cached("insert into temp.mended values (?1)")?
                .execute([seq])?;
        }
        Ok(None)
    }

    /// The rejected rows of the batch that nothing has taken the place of, nor is named for by this file; those that were
    /// withdrawn, too: what comes back without a reference may be one of them.
    fn open_rows(&self) -> Result<(OpenRows, Vec<Named>), Error> {
        let mut taken = self.corrections.rejected_names();
        let mut statement = self.c.prepare(
            "select line, coalesce(reference, ''), errors, coalesce(msisdn, ''), coalesce(account_number, ''), digest,
                 withdrawn is not null from rejected
             where batch_id = ?1 and load_id <> ?2 and digest is not null and replaced_by is null order by load_id, line, nth",
        )?;
        let mut rows = statement.query(params![self.batch_id, self.load_id])?;
        let (mut open, mut names) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let digest: [u8; 32] = row.get(5)?;
            let name = RejectedName::of(&self.plan.batch, &digest);
            if let Some(count) = taken.get_mut(&name).filter(|count| **count > 0) {
                *count -= 1;
                continue;
            }
            let errors: String = row.get(2)?;
            let reference = row.get::<_, String>(1)?.trim().to_owned();
            let line = row.get::<_, i64>(0)?.unsigned_abs();
            open.push(OpenRow {
                line,
                reference: reference.clone(),
                // What was read of it may be a piece of another row's.
                reference_is_wrong: has_error(&errors, "reference") || is_unread(&errors),
                recipient: [row.get(3)?, row.get(4)?],
            });
            names.push(Named {
                line,
                name,
                reference,
                is_withdrawn: row.get(6)?,
            });
        }
        Ok((OpenRows::of(open), names))
    }

    /// Returns what is wrong with a row of the file that has the reference of a payment of the batch, and other content: where it
    /// is a rejected row whose reference was another row's, it needs one of its own, and the payment that has it is right.
    pub(in crate::journal::sqlite) fn has_anothers_reference(
        &self,
        seq: PaymentId,
        row: &Instruction<Stored>,
        (earlier, known): (PaymentId, &Instruction<Stored>),
    ) -> Result<Option<CrossRowError>, Error> {
        let Some(reference) = &row.reference else {
            return Ok(None);
        };
        // The payment may be what a rejected row has become already: then it is the one that was changed.
        let is_mended: bool = self
            .c
            .prepare_cached(
                "select exists (select 1 from rejected where batch_id = ?1 and replaced_by = ?2)",
            )?
            .query_row((self.batch_id, earlier), |row| row.get(0))?;
        if is_mended {
            return Ok(None);
        }
        let has_wrong = self.has_rejected_with_wrong(reference.as_str())?;
        let is_its_row = self.corrections.corrects(seq) || !may_be_same_person(row, known);
        if !has_wrong || !is_its_row {
            return Ok(None);
        }
        let file: String = self
            .c
            .prepare_cached(
                "select l.source from instruction i join load l using (load_id) where i.seq = ?1",
            )?
            .query_row([earlier], |row| row.get(0))?;
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
        let mut statement = self.c.prepare_cached(
            "select errors from rejected where batch_id = ?1 and reference = ?2 and load_id <> ?3 and replaced_by is null and withdrawn is null",
        )?;
        let mut rows = statement.query(params![self.batch_id, reference, self.load_id])?;
        while let Some(row) = rows.next()? {
            if has_error(&row.get::<_, String>(0)?, "reference") {
                return Ok(true);
            }
        }
        Ok(false)
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
