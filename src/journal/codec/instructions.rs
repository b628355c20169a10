//! Instructions as the store has them, with the codes of their services.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::values::{StoredRow, corrupt, row_of};
use crate::domain::{self, BatchId, LaneId, LoadId, Payment, PaymentId, ServiceCode};
use crate::journal::Error;
use crate::store::tables::{instruction, service};
use crate::store::{Column, Read, Reads, Row, Scan};

/// What is read of an instruction: its service, then what [`row_of`] reads in its order, then where it belongs.
pub(in crate::journal) const COLUMNS: [Column; 23] = [
    instruction::service_id,
    instruction::line,
    instruction::identifier,
    instruction::reference,
    instruction::generation,
    instruction::received_at,
    instruction::msisdn,
    instruction::account_number,
    instruction::amount,
    instruction::currency,
    instruction::country,
    instruction::narration,
    instruction::customer_names,
    instruction::invoice_number,
    instruction::payment_mode,
    instruction::hub_id,
    instruction::extra,
    instruction::document,
    instruction::document_folder,
    instruction::as_due,
    instruction::seq,
    instruction::batch_id,
    instruction::load_id,
];

/// Where the number of the instruction stands among them.
pub(in crate::journal) const SEQ: usize = 20;
/// Where that of its batch stands.
pub(in crate::journal) const BATCH: usize = 21;

/// Returns whether the extra data of a row, as it is stored, names a document that was uploaded before.
pub(in crate::journal) fn names_document(extra: Option<&str>) -> Result<bool, Error> {
    let Some(extra) = extra else {
        return Ok(false);
    };
    let members: Vec<(String, String)> =
        serde_json::from_str(extra).map_err(|_| corrupt("extra data that is not JSON"))?;
    Ok(domain::names_document(
        members.iter().map(|(name, _)| name.as_str()),
    ))
}

/// An instruction, and where it belongs.
pub(in crate::journal) struct FoundInstruction {
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) batch_id: BatchId,
    pub(in crate::journal) load_id: LoadId,
    pub(in crate::journal) lane: LaneId,
    pub(in crate::journal) row: StoredRow,
}

impl FoundInstruction {
    /// Returns the payment; one without an amount is none.
    pub(in crate::journal) fn payment(self) -> Result<Payment, Error> {
        self.row
            .payment()
            .ok_or_else(|| corrupt("a payment without an amount"))
    }
}

/// Reads instructions; the code of a service is looked up once.
pub(in crate::journal) struct Instructions<'c> {
    c: &'c dyn Read,
    services: RefCell<BTreeMap<LaneId, ServiceCode>>,
}

impl<'c> Instructions<'c> {
    pub(in crate::journal) fn of(c: &'c dyn Read) -> Self {
        Self {
            c,
            services: RefCell::default(),
        }
    }

    /// Shows instructions, one after the other, until `visit` breaks off.
    pub(in crate::journal) fn each_until(
        &self,
        scan: &Scan<'_>,
        mut visit: impl FnMut(FoundInstruction) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        self.c
            .each_row(scan, &COLUMNS, |row| visit(self.read(row)?))
    }

    /// Reads a row that has [`COLUMNS`].
    pub(in crate::journal) fn read(&self, row: &dyn Row) -> Result<FoundInstruction, Error> {
        let lane = row.get(0)?;
        Ok(FoundInstruction {
            seq: row.get(SEQ)?,
            batch_id: row.get(BATCH)?,
            load_id: row.get(22)?,
            lane,
            row: row_of(row, 0, self.service(lane)?)?,
        })
    }

    /// Shows all of them.
    pub(in crate::journal) fn each(
        &self,
        scan: &Scan<'_>,
        mut visit: impl FnMut(FoundInstruction) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.each_until(scan, |found| {
            visit(found)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Returns the first of them.
    pub(in crate::journal) fn first(
        &self,
        scan: &Scan<'_>,
    ) -> Result<Option<FoundInstruction>, Error> {
        let mut first = None;
        self.each_until(scan, |found| {
            first = Some(found);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// Returns one by its number.
    pub(in crate::journal) fn find(
        &self,
        seq: PaymentId,
    ) -> Result<Option<FoundInstruction>, Error> {
        self.first(&Scan::of(&instruction::TABLE).at(&seq))
    }

    /// Returns the payment with that number, which is there and has an amount.
    pub(in crate::journal) fn payment(&self, seq: PaymentId) -> Result<Payment, Error> {
        let found = self.find(seq)?;
        let found = found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
        found.payment()
    }

    /// Returns the code of a service.
    pub(in crate::journal) fn service(&self, lane: LaneId) -> Result<ServiceCode, Error> {
        if let Some(code) = self.services.borrow().get(&lane) {
            return Ok(code.clone());
        }
        let one = Scan::of(&service::TABLE).at(&lane);
        let code: Option<ServiceCode> = self.c.value(&one, service::code)?;
        let code = code.ok_or_else(|| corrupt("a payment without a service"))?;
        self.services.borrow_mut().insert(lane, code.clone());
        Ok(code)
    }
}
