//! The payments of a batch that a run is going to post.

use std::ops::ControlFlow;

use super::reader::Snapshot;
use crate::domain::{Country, Payment, PaymentId};
use crate::journal::Error;
use crate::journal::codec::instructions::{COLUMNS, Instructions, SEQ};
use crate::journal::codec::values::{corrupt, country_of, members_of};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Column, Reads, Scan, Test, Value};

/// What of a row decides whether requests by the interface document can carry it.
#[derive(Debug)]
pub struct Outline<'r> {
    /// Its `payerTransactionID`.
    pub identifier: &'r str,
    /// The country of its number.
    pub country: Country,
    /// Members of `extraData`, by the names they have in the journal.
    pub extra: &'r [(String, String)],
}

/// The columns of an outline.
const OUTLINE: [Column; 3] = [
    instruction::identifier,
    instruction::country,
    instruction::extra,
];

impl Snapshot<'_> {
    /// Returns whether a row of the batch, wherever it stands, is one that is looked for. It reads three columns, in less than half of the
    /// time that [whole rows](Self::each_ready) take.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn any_outline(
        &self,
        mut is_looked_for: impl FnMut(&Outline<'_>) -> bool,
    ) -> Result<bool, Error> {
        let mut is_found = false;
        let rows =
            Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&self.batch_id));
        self.c.each_row(&rows, &OUTLINE, |row| {
            let [identifier, country, extra] = [0, 1, 2].map(|at| row.value(at));
            let (Value::Text(identifier), Value::Text(country)) = (identifier?, country?) else {
                return Err(corrupt("a row without identifier or country"));
            };
            let extra = match extra? {
                Value::Text(text) => members_of(&text)?,
                _ => Vec::new(),
            };
            is_found = is_looked_for(&Outline {
                identifier: &identifier,
                country: country_of(&country)?,
                extra: &extra,
            });
            Ok(match is_found {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(is_found)
    }

    /// Tells every payment that is ready, in the order of the files, until the visitor breaks off.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn each_ready(
        &self,
        mut visit: impl FnMut(&Payment) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.each_ready_numbered(|_, payment| visit(payment))
    }

    /// Tells the same, each with the number of its row.
    pub(super) fn each_ready_numbered(
        &self,
        mut visit: impl FnMut(PaymentId, &Payment) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let instructions = Instructions::of(self.c);
        let mut lives = Beside::of(self.c, &life::TABLE, &[life::state]);
        let rows =
            Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&self.batch_id));
        self.c.each_row(&rows, &COLUMNS, |row| {
            let seq: PaymentId = row.get(SEQ)?;
            let state: Option<State> = match lives.find(seq.get())? {
                Some(life) => life.get(0)?,
                None => None,
            };
            if state.is_some_and(|state| state != State::Ready) {
                return Ok(ControlFlow::Continue(()));
            }
            // What has no amount is not posted.
            let Some(payment) = instructions.read(row)?.row.payment() else {
                return Ok(ControlFlow::Continue(()));
            };
            Ok::<_, Error>(visit(seq, &payment))
        })
    }
}
