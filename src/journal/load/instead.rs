//! New rows of an amendment that pay whom a row of the batch pays which the file leaves out. The rule is in
//! [`crate::ledger::amendment`].

use std::ops::ControlFlow;

use super::ascending::{Ascending, Stands};
use super::job::Load;
use super::numbers::Payments;
use super::shared::ByValues;
use crate::domain::{Instruction, LaneId, PaymentId};
use crate::journal::codec::values::{Stored, corrupt};
use crate::journal::{CrossRowError, Error, LoadRefusal};
use crate::ledger::amendment::{is_batch_again, may_stand_instead};
use crate::ledger::likeness::of_account;
use crate::ledger::repeats::is_same_account;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Column, Reads, Row, Scan, Value};

/// Rows that are named in a refusal.
const NAMED_MAX: usize = 50;

/// What is read of a row: its number, who receives it, and how.
const COLUMNS: [Column; 5] = [
    instruction::seq,
    instruction::account_number.or(instruction::msisdn),
    instruction::service_id,
    instruction::currency,
    instruction::amount,
];

/// Returns who receives a payment, as it is compared: without zeros in front, dashes and blanks.
fn recipient(row: &dyn Row) -> Result<String, Error> {
    let account: String = row.get(1)?;
    Ok(of_account(&account).into_owned())
}

impl Load<'_> {
    /// Returns why an amendment is not loaded, if a new row may be one that is left out, under another reference.
    pub(in crate::journal) fn stand_instead(
        &self,
        unchanged: u64,
        new: u64,
    ) -> Result<Option<LoadRefusal>, Error> {
        if new == 0 {
            return Ok(None);
        }
        if unchanged == 0 {
            return self.batch_again(new);
        }
        let mut named = Vec::new();
        for seq in self.left_out_with_recipients_of_new()?.iter() {
            if named.len() == NAMED_MAX {
                break;
            }
            if self.is_left_out(seq)?
                && let Some(error) = self.instead_of(seq)?
            {
                named.push(error);
            }
        }
        let pairs = named.len() as u64;
        Ok(may_stand_instead(unchanged, pairs).then_some(LoadRefusal::Instead(named)))
    }

    /// Returns the payments of the batch that the file has none of, and whom a new row pays through the same service.
    fn left_out_with_recipients_of_new(&self) -> Result<Payments, Error> {
        let (mut old, mut new) = (ByValues::default(), ByValues::default());
        let take = |rows: &mut ByValues, row: &dyn Row| -> Result<_, Error> {
            let recipient = Value::Text(recipient(row)?.into());
            rows.push(&[row.value(2)?, recipient], row.get(0)?)?;
            Ok(ControlFlow::Continue(()))
        };
        self.each_unnamed(&COLUMNS, |row| take(&mut new, row))?;
        self.each_row_before(|row| match self.kept.contains(row.get(0)?) {
            true => Ok(ControlFlow::Continue(())),
            false => take(&mut old, row),
        })?;
        let mut found = Payments::default();
        old.beside(new, |seq, has| {
            if has {
                found.insert(PaymentId::new(seq));
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Returns whether the file has no earlier generation of a row either.
    fn is_left_out(&self, seq: PaymentId) -> Result<bool, Error> {
        let mut later = seq;
        while let Some(seq) = self
            .c
            .value(&Scan::by(&life::predecessor).at(&later), life::seq)?
        {
            // A retry is younger than what it replaces. Whatever else is stored would never come to an end.
            if seq >= later {
                return Err(corrupt("a retry that is older than what it replaces"));
            }
            if self.kept.contains(seq) {
                return Ok(false);
            }
            later = seq;
        }
        Ok(true)
    }

    /// Names the first new row that pays the same account through the same service as a payment that is left out.
    fn instead_of(&self, old: PaymentId) -> Result<Option<CrossRowError>, Error> {
        let was = self.instruction(old)?;
        let mut left = None;
        self.c
            .each_row(&Scan::of(&instruction::TABLE).at(&old), &COLUMNS, |row| {
                left = Some((row.get::<LaneId>(2)?, recipient(row)?));
                Ok::<_, Error>(ControlFlow::Break(()))
            })?;
        let mut found = None;
        let mut looked_at = 0;
        self.each_unnamed(&COLUMNS, |row| {
            if Some((row.get(2)?, recipient(row)?)) != left {
                return Ok(ControlFlow::Continue(()));
            }
            looked_at += 1;
            let new = self.instruction(row.get(0)?)?;
            // An account of another bank is another one.
            if is_same_account(&new, &was) {
                found = Some(self.stands_instead(&new, old, &was)?);
            }
            Ok(match found.is_some() || looked_at == NAMED_MAX {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }

    fn stands_instead(
        &self,
        row: &Instruction<Stored>,
        old: PaymentId,
        was: &Instruction<Stored>,
    ) -> Result<CrossRowError, Error> {
        let (line, file) = self.place_of(old)?;
        let reference = was.reference.as_ref().map_or(String::new(), |reference| {
            format!(", reference {}", reference.as_str())
        });
        Ok(CrossRowError {
            line: row.line,
            good_row: 0,
            column: "",
            message: format!(
                "pays the same recipient through the same service as line {line} of {file}{reference}, which is left out"
            ),
            digest: [0; 32],
        })
    }

    /// Returns why an amendment is not loaded that has no row of the batch, if it is the batch under other references.
    fn batch_again(&self, new: u64) -> Result<Option<LoadRefusal>, Error> {
        let (mut old, mut own) = (ByValues::default(), ByValues::default());
        let take = |rows: &mut ByValues, row: &dyn Row| -> Result<_, Error> {
            let amount = row.value(4)?;
            // What waits for its amount is equal to nothing yet.
            if amount != Value::Null {
                let recipient = Value::Text(recipient(row)?.into());
                rows.push(&[recipient, row.value(3)?, amount], row.get(0)?)?;
            }
            Ok(ControlFlow::Continue(()))
        };
        self.each_unnamed(&COLUMNS, |row| take(&mut own, row))?;
        self.each_row_before(|row| take(&mut old, row))?;
        let mut equal = 0;
        own.beside(old, |_, has| {
            equal += u64::from(has);
            ControlFlow::Continue(())
        })?;
        Ok(is_batch_again(0, new, equal).then_some(LoadRefusal::BatchAgain(equal)))
    }

    /// Shows what stands for the rows of the batch: the newest generations, as they were corrected; what was withdrawn pays nobody.
    fn each_row_before(
        &self,
        mut visit: impl FnMut(&dyn Row) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let mut lives = Ascending::<Stands>::of(self.c);
        self.c.each_row(&self.rows_before(), &COLUMNS, |row| {
            let pays_nobody =
                |life: &Stands| life.state == State::Cancelled || life.replaced_by.is_some();
            match lives.find(row.get(0)?)?.is_some_and(pays_nobody) {
                true => Ok(ControlFlow::Continue(())),
                false => visit(row),
            }
        })
    }
}
