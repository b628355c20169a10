//! Whether a file may be added to the batch that has its name: what of it is new there, and what of the batch it leaves out. The
//! rule is in [`crate::ledger::amendment`].

use std::ops::ControlFlow;

use super::ascending::{Ascending, Stands};
use super::job::{FIRST, Load};
use super::shared::ByValues;
use super::sorted::Sorted;
use crate::domain::PaymentId;
use crate::journal::{Difference, Error, LoadRefusal};
use crate::ledger::amendment::{self, Amendment};
use crate::lifecycle::State;
use crate::store::tables::{instruction, rejected};
use crate::store::{Column, Reads, Row, Scan, Test, Value};

/// Rows of each kind that are shown.
const EXAMPLES_MAX: usize = 10;

/// What rows are compared by that may be of the same person: those with an account that is not the number itself.
const PERSON: [Column; 3] = [
    instruction::seq,
    instruction::msisdn,
    instruction::account_number,
];

impl Load<'_> {
    /// Returns why the file may not be added to the batch that has its name.
    pub(in crate::journal) fn compare(
        &self,
        sorted: &Sorted,
    ) -> Result<Option<LoadRefusal>, Error> {
        let (mut new, mut unnamed) = (0, 0);
        self.c
            .each_row(&self.own_rows(), &[instruction::seq], |row| {
                new += 1;
                unnamed += u64::from(self.is_unnamed(row.get(0)?));
                Ok::<_, Error>(ControlFlow::Continue(()))
            })?;
        if self.plan.amend && sorted.changed == 0 && !self.is_ambiguous(unnamed, sorted)? {
            return self.stand_instead(sorted.unchanged.count, unnamed);
        }
        let before = self.c.count(&self.first_rows_before())?;
        let same = new + self.rejected.count == 0 && sorted.unchanged.count == before;
        if self.plan.new_documents && same {
            return Ok(None);
        }
        let mut difference = Difference {
            new,
            changed: sorted.changed,
            changed_person: sorted.changed_person,
            unchanged: sorted.unchanged.count,
            gone: before.saturating_sub(sorted.unchanged.count + sorted.changed),
            rejected: self.rejected.count,
            examples: sorted.examples.clone(),
        };
        let gone = self.examples("gone", &self.first_rows_before(), |seq| {
            !self.kept.contains(seq)
        })?;
        let new = self.examples("new", &self.own_rows(), |_| true)?;
        difference.examples.extend(gone.into_iter().chain(new));
        Ok(Some(if self.plan.amend && sorted.changed == 0 {
            LoadRefusal::Ambiguous(difference)
        } else {
            LoadRefusal::OtherContent(difference)
        }))
    }

    /// The rows of the batch as earlier loads brought them.
    fn first_rows_before(&self) -> Scan<'_> {
        self.rows_before()
            .only(instruction::generation, Test::is(&FIRST))
    }

    /// Returns whether a row that is new in an amendment, and says not what it corrects, may be a mended one.
    fn is_ambiguous(&self, new: u64, sorted: &Sorted) -> Result<bool, Error> {
        if new == 0 {
            return Ok(false);
        }
        let count = |so_far: &mut (u64, u64), row: &dyn Row| -> Result<_, Error> {
            so_far.0 += 1;
            so_far.1 += u64::from(row.value(1)? == Value::Null);
            Ok(ControlFlow::Continue(()))
        };
        let (mut gone, mut own) = ((0, 0), (0, 0));
        let columns = [instruction::seq, instruction::reference];
        self.each_gone(&columns, |row| count(&mut gone, row))?;
        if gone.0 == 0 {
            return Ok(false);
        }
        self.each_unnamed(&columns, |row| count(&mut own, row))?;
        let rejected = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .only(rejected::load_id, Test::is_not(&self.load_id));
        let mut amendment = Amendment {
            new,
            new_nameless: own.1,
            gone: gone.0,
            gone_nameless: gone.1,
            unchanged: sorted.unchanged.count,
            rejected_before: self.c.count(&rejected)?,
            same_recipient: false,
        };
        // Only what could be let in is compared row by row.
        if !amendment::is_ambiguous(&amendment) {
            amendment.same_recipient = self.pays_whom_gone_rows_pay()?;
        }
        Ok(amendment::is_ambiguous(&amendment))
    }

    /// Returns whether a new row has the account of a row that is gone, at the same number.
    fn pays_whom_gone_rows_pay(&self) -> Result<bool, Error> {
        let take = |people: &mut ByValues, row: &dyn Row| -> Result<_, Error> {
            let person = [row.value(1)?, row.value(2)?];
            // An account that is the number itself is left out in its column: it is the same as no other.
            if person[1] != Value::Null {
                people.push(&person, 0)?;
            }
            Ok(ControlFlow::Continue(()))
        };
        let (mut gone, mut new) = (ByValues::default(), ByValues::default());
        self.each_unnamed(&PERSON, |row| take(&mut new, row))?;
        self.each_gone(&PERSON, |row| take(&mut gone, row))?;
        let mut found = false;
        gone.beside(new, |_, has| {
            found = has;
            match has {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(found)
    }

    /// Shows columns of the rows of the batch that the file leaves out, the first of them their number. Nobody is paid by what was
    /// withdrawn.
    fn each_gone(
        &self,
        columns: &[Column],
        mut visit: impl FnMut(&dyn Row) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let mut lives = Ascending::<Stands>::of(self.c);
        self.c.each_row(&self.first_rows_before(), columns, |row| {
            let seq = row.get(0)?;
            let is_cancelled = |life: &Stands| life.state == State::Cancelled;
            if self.kept.contains(seq) || lives.find(seq)?.is_some_and(is_cancelled) {
                return Ok(ControlFlow::Continue(()));
            }
            visit(row)
        })
    }

    /// Shows columns of the new rows that say not what they correct, the first of them their number.
    pub(in crate::journal) fn each_unnamed(
        &self,
        columns: &[Column],
        mut visit: impl FnMut(&dyn Row) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        self.c.each_row(&self.own_rows(), columns, |row| {
            match self.is_unnamed(row.get(0)?) {
                true => visit(row),
                false => Ok(ControlFlow::Continue(())),
            }
        })
    }

    /// Names some of the rows that are meant.
    fn examples(
        &self,
        what: &str,
        rows: &Scan<'_>,
        is_meant: impl Fn(PaymentId) -> bool,
    ) -> Result<Vec<String>, Error> {
        let mut examples = Vec::new();
        let columns = [instruction::seq, instruction::line, instruction::reference];
        self.c.each_row(rows, &columns, |row| {
            if is_meant(row.get(0)?) {
                let line: i64 = row.get(1)?;
                let reference: Option<String> = row.get(2)?;
                let label = match reference.as_deref() {
                    None | Some("") => String::new(),
                    Some(reference) => format!(", reference {reference}"),
                };
                examples.push(format!("{what}: line {line}{label}"));
            }
            Ok::<_, Error>(match examples.len() < EXAMPLES_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        Ok(examples)
    }
}
