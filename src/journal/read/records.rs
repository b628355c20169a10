//! Rows of files with where their payments stand, as a record of them begins.

use std::cell::RefCell;

use super::phrases::Phrases;
use crate::domain::{PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::instructions::{FoundInstruction, Instructions};
use crate::journal::codec::values::corrupt;
use crate::lifecycle::PaymentState;
use crate::store::tables::life;
use crate::store::{Beside, Column, Read, Scan, Shape};

/// A row of a file, and where its payment stands; where its life has not begun, it is new.
pub(in crate::journal) struct Record {
    pub(in crate::journal) instruction: FoundInstruction,
    pub(in crate::journal) life: PaymentState,
    pub(in crate::journal) settled_at: Option<Timestamp>,
    pub(in crate::journal) gateway_transaction_id: Option<String>,
    pub(in crate::journal) receipt_number: Option<String>,
    pub(in crate::journal) receiver_narration: Option<String>,
    pub(in crate::journal) status_description: Option<String>,
    pub(in crate::journal) application_id: Option<String>,
    pub(in crate::journal) replaced_by: Option<PaymentId>,
}

impl Record {
    /// Returns whether its amount is known.
    pub(in crate::journal) fn has_amount(&self) -> bool {
        self.instruction.row.instruction.money.amount.is_some()
    }
}

/// What a record has of a life, behind the columns of [`PaymentState`].
const OTHERS: [Column; 7] = [
    life::settled_at,
    life::gateway_transaction_id,
    life::receipt_number,
    life::receiver_narration,
    life::phrase_id,
    life::application_id,
    life::replaced_by,
];

/// Reads records.
pub(in crate::journal) struct Records<'c> {
    instructions: Instructions<'c>,
    lives: RefCell<Beside<'c>>,
    phrases: RefCell<Phrases<'c>>,
}

impl<'c> Records<'c> {
    pub(in crate::journal) fn of(c: &'c dyn Read) -> Self {
        let columns = [PaymentState::COLUMNS, &OTHERS].concat();
        Self {
            instructions: Instructions::of(c),
            lives: RefCell::new(Beside::of(c, &life::TABLE, &columns)),
            phrases: RefCell::new(Phrases::of(c)),
        }
    }

    /// Returns the record of one row.
    pub(in crate::journal) fn find(&self, seq: PaymentId) -> Result<Option<Record>, Error> {
        match self.instructions.find(seq)? {
            Some(found) => self.record(found).map(Some),
            None => Ok(None),
        }
    }

    /// Shows the records of rows, one after the other.
    pub(in crate::journal) fn each(
        &self,
        scan: &Scan<'_>,
        mut visit: impl FnMut(Record) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.instructions
            .each(scan, |found| visit(self.record(found)?))
    }

    fn record(&self, instruction: FoundInstruction) -> Result<Record, Error> {
        let mut lives = self.lives.borrow_mut();
        let Some(found) = lives.find(instruction.seq.get())? else {
            return Ok(Record {
                instruction,
                life: PaymentState::NEW,
                settled_at: None,
                gateway_transaction_id: None,
                receipt_number: None,
                receiver_narration: None,
                status_description: None,
                application_id: None,
                replaced_by: None,
            });
        };
        const AT: usize = PaymentState::COLUMNS.len();
        let status_description = match found.get(AT + 4)? {
            Some(number) => {
                let mut phrases = self.phrases.borrow_mut();
                let text = phrases.find(number)?;
                Some(
                    text.ok_or_else(|| corrupt("a phrase that is missing"))?
                        .to_owned(),
                )
            }
            None => None,
        };
        Ok(Record {
            instruction,
            life: PaymentState::read(&found)?,
            settled_at: found.get(AT)?,
            gateway_transaction_id: found.get(AT + 1)?,
            receipt_number: found.get(AT + 2)?,
            receiver_narration: found.get(AT + 3)?,
            status_description,
            application_id: found.get(AT + 5)?,
            replaced_by: found.get(AT + 6)?,
        })
    }
}
