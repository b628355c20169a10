//! Rows as a person looks for them who knows no batch: by reference, identifier, number or name; rejected rows too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::reader::{Reader, Snapshot};
use crate::domain::{
    BatchId, BatchName, EvidenceId, LaneId, LoadId, PayerTransactionId, PaymentId, Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::catalog::of_payment;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{batch_id, corrupt};
use crate::journal::load::aside::withdrawal;
use crate::ledger::correction::RejectedName;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::set_aside::Withdrawal;
use crate::store::tables::{batch, identifier, instruction, life, load, rejected};
use crate::store::{self, Column, Read, Reads, Row, Scan, Shape, Test, Value, shape};

/// Rows that are listed.
pub const FOUND_MAX: usize = 100;

/// The file that brought a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, without its folder.
    pub name: String,
    /// When it was loaded.
    pub loaded_at: Timestamp,
}

/// A rejected row, for a person who asks about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedFound {
    /// Its file.
    pub file: SourceFile,
    /// Its line there.
    pub line: u64,
    /// What it is known by.
    pub name: Option<RejectedName>,
    /// Its `reference`, as it was written; so are the others.
    pub reference: String,
    /// `customer_names`.
    pub customer_names: String,
    /// `service_code`.
    pub service_code: String,
    /// `msisdn`.
    pub msisdn: String,
    /// `amount`.
    pub amount: String,
    /// `currency_code`.
    pub currency_code: String,
    /// What is wrong with it.
    pub errors: String,
    /// The payment that took its place.
    pub replaced_by: Option<PayerTransactionId>,
    /// The decision that it is not paid.
    pub withdrawn: Option<Withdrawal>,
}

/// Where a row was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRow {
    /// Its batch.
    pub batch: BatchName,
    /// The payment that stands for it; `None` of a rejected row.
    pub id: Option<PayerTransactionId>,
    /// Of a rejected row, what it is known by.
    pub rejected: Option<RejectedName>,
}

/// By what a person looks for rows.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The number that they pay, its digits.
    Number(&'a str),
    /// A part of the customer's names, in any letter case.
    Names(&'a str),
    /// Their reference.
    Reference(&'a str),
}

impl Reader {
    /// Returns the batches in which a text names a payment or a rejected row, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches_with(&self, name: &PaymentName) -> Result<Vec<BatchName>, Error> {
        let (by_reference, by_identifier) = match name.by {
            By::Either => (true, true),
            By::Reference => (true, false),
            By::Identifier => (false, true),
        };
        let c = self.store();
        let mut batches: BTreeSet<BatchId> = BTreeSet::new();
        if by_reference {
            let named =
                Scan::of(&instruction::TABLE).only(instruction::reference, Test::is(&name.text));
            note_batches(c, &named, instruction::batch_id, &mut batches)?;
            let named = Scan::of(&rejected::TABLE).only(rejected::reference, Test::is(&name.text));
            note_batches(c, &named, rejected::batch_id, &mut batches)?;
        }
        if by_identifier {
            let named = Scan::of(&identifier::TABLE).at(&name.text);
            if let Some(seq) = c.value::<PaymentId>(&named, identifier::seq)? {
                let own = Scan::of(&instruction::TABLE).at(&seq);
                note_batches(c, &own, instruction::batch_id, &mut batches)?;
            }
            if let Some(rejected) = RejectedName::parse(&name.text) {
                let named = Scan::by(&batch::by_name).at(&rejected.batch);
                note_batches(c, &named, batch::batch_id, &mut batches)?;
            }
        }
        let mut names = Vec::with_capacity(batches.len());
        for batch_id in batches {
            names
                .extend(c.value::<BatchName>(&Scan::of(&batch::TABLE).at(&batch_id), batch::name)?);
        }
        Ok(names)
    }

    /// Returns the rows that are meant, oldest first, no more than [`FOUND_MAX`] and one; `batch`: of that one.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn rows_with(
        &self,
        wanted: Wanted<'_>,
        batch: Option<&BatchName>,
    ) -> Result<Vec<FoundRow>, Error> {
        let c = self.store();
        let only = match batch {
            Some(name) => match batch_id(c, name.as_str())? {
                Some(batch_id) => Some(batch_id),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let (wanted, mut names) = (Sought::of(wanted), Batches::of(c));
        let mut found = payments_with(c, &wanted, only.as_ref(), &mut names)?;
        found.extend(rejected_with(c, &wanted, only.as_ref(), &mut names)?);
        Ok(found)
    }
}

/// Notes the batches of rows.
fn note_batches(
    c: &dyn Read,
    rows: &Scan<'_>,
    column: Column,
    batches: &mut BTreeSet<BatchId>,
) -> Result<(), Error> {
    c.each_row(rows, &[column], |row| {
        batches.insert(row.get(0)?);
        Ok(ControlFlow::Continue(()))
    })
}

/// The names of batches by their numbers.
struct Batches<'c> {
    c: &'c dyn Read,
    known: BTreeMap<BatchId, Option<BatchName>>,
}

impl<'c> Batches<'c> {
    fn of(c: &'c dyn Read) -> Self {
        Self {
            c,
            known: BTreeMap::new(),
        }
    }

    fn find(&mut self, batch_id: BatchId) -> Result<Option<BatchName>, Error> {
        if let Some(known) = self.known.get(&batch_id) {
            return Ok(known.clone());
        }
        let own = Scan::of(&batch::TABLE).at(&batch_id);
        let name: Option<BatchName> = self.c.value(&own, batch::name)?;
        self.known.insert(batch_id, name.clone());
        Ok(name)
    }
}

/// What is looked for, as rows have it.
enum Sought {
    /// The digits.
    Number(String),
    /// In small letters.
    Names(String),
    Reference(String),
}

impl Sought {
    fn of(wanted: Wanted<'_>) -> Self {
        match wanted {
            Wanted::Number(digits) => Self::Number(digits.to_owned()),
            Wanted::Names(text) => Self::Names(text.to_lowercase()),
            Wanted::Reference(text) => Self::Reference(text.to_owned()),
        }
    }

    /// Returns whether it is in a row that has the columns of [`Looked`].
    fn is_in(&self, row: &dyn Row) -> Result<bool, store::Error> {
        let is =
            |value: Value<'_>, sought: &str| matches!(value, Value::Text(text) if text == sought);
        Ok(match self {
            Self::Number(digits) => {
                is(row.value(MSISDN)?, digits) || is(row.value(ACCOUNT)?, digits)
            }
            Self::Names(text) => match row.value(NAMES)? {
                Value::Text(names) => names.to_lowercase().contains(text),
                Value::Null | Value::Integer(_) | Value::Bytes(_) => false,
            },
            // The scan has these alone.
            Self::Reference(_) => true,
        })
    }

    fn is_in_rejected(&self, row: &LookedRejected) -> Result<bool, Error> {
        Ok(match self {
            Self::Number(digits) => {
                // What was refused may be written in any form: its last digits are the same.
                let written = |text: &Option<String>| {
                    let text = text.as_deref().unwrap_or_default();
                    text.replace([' ', '-'], "")
                };
                let both = format!("{}/{}", written(&row.msisdn), written(&row.account_number));
                let start = digits.char_indices().rev().nth(LAST_DIGITS - 1);
                both.contains(&digits[start.map_or(0, |(at, _)| at)..])
            }
            Self::Names(text) => {
                let names = names_in(row.cells.as_deref())?;
                !names.is_empty() && names.to_lowercase().contains(text)
            }
            Self::Reference(text) => row.reference.as_ref() == Some(text),
        })
    }
}

/// Digits at the end of a number by which it is found, whatever stands before them.
const LAST_DIGITS: usize = 9;

shape! {
    /// What a payment is looked for by.
    struct Looked of instruction {
        seq: PaymentId, batch_id: BatchId, identifier: PayerTransactionId, msisdn: String, account_number: Option<String>,
        customer_names: Option<String>, service_id: LaneId,
    }
}

/// Where it has the columns that are looked at.
const MSISDN: usize = 3;
const ACCOUNT: usize = 4;
const NAMES: usize = 5;

shape! {
    /// What a rejected row is looked for by.
    struct LookedRejected of rejected {
        batch_id: BatchId, digest: [u8; 32], msisdn: Option<String>, account_number: Option<String>, cells: Option<String>,
        reference: Option<String>,
    }
}

/// Returns the payments that are meant and that no retry replaces.
fn payments_with(
    c: &dyn Read,
    wanted: &Sought,
    only: Option<&BatchId>,
    names: &mut Batches<'_>,
) -> Result<Vec<FoundRow>, Error> {
    let rows = Scan::of(&instruction::TABLE);
    let rows = match only {
        Some(batch_id) => rows.only(instruction::batch_id, Test::is(batch_id)),
        None => rows,
    };
    let rows = match wanted {
        Sought::Reference(text) => rows.only(instruction::reference, Test::is(text)),
        Sought::Names(_) => rows.only(instruction::customer_names, Test::Present),
        Sought::Number(_) => rows,
    };
    let (mut found, services) = (Vec::new(), Instructions::of(c));
    c.each_row(&rows, Looked::COLUMNS, |row| {
        if !wanted.is_in(row)? {
            return Ok(ControlFlow::Continue(()));
        }
        let row = Looked::read(row)?;
        // What belongs to no service cannot be shown, and is not left out unseen.
        services.service(row.service_id)?;
        let own = Scan::of(&life::TABLE).at(&row.seq);
        let replaced_by: Option<Option<PaymentId>> = c.value(&own, life::replaced_by)?;
        if replaced_by.flatten().is_none()
            && let Some(batch) = names.find(row.batch_id)?
        {
            found.push(FoundRow {
                batch,
                id: Some(row.identifier),
                rejected: None,
            });
        }
        Ok::<_, Error>(until_full(&found))
    })?;
    Ok(found)
}

/// Returns the rejected rows that are meant and that nobody has mended.
fn rejected_with(
    c: &dyn Read,
    wanted: &Sought,
    only: Option<&BatchId>,
    names: &mut Batches<'_>,
) -> Result<Vec<FoundRow>, Error> {
    let rows = Scan::of(&rejected::TABLE)
        .only(rejected::replaced_by, Test::Absent)
        .only(rejected::digest, Test::Present);
    let rows = match only {
        Some(batch_id) => rows.only(rejected::batch_id, Test::is(batch_id)),
        None => rows,
    };
    let mut found = Vec::new();
    c.each_until(&rows, |row: LookedRejected| {
        if wanted.is_in_rejected(&row)?
            && let Some(batch) = names.find(row.batch_id)?
        {
            found.push(FoundRow {
                rejected: Some(RejectedName::of(&batch, &row.digest)),
                batch,
                id: None,
            });
        }
        Ok::<_, Error>(until_full(&found))
    })?;
    Ok(found)
}

fn until_full(found: &[FoundRow]) -> ControlFlow<()> {
    match found.len() > FOUND_MAX {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

impl Snapshot<'_> {
    /// Returns the file that brought a payment.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn file_of(&self, seq: PaymentId) -> Result<SourceFile, Error> {
        let load_id: LoadId = of_payment(self.c, seq, instruction::load_id)?;
        let file = file_of(self.c, load_id)?;
        file.ok_or_else(|| corrupt(format!("load {load_id} is missing")))
    }

    /// Returns the rejected rows of the batch that a text names, by their reference or by what they are known by.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn rejected_named(&self, name: &PaymentName) -> Result<Vec<RejectedFound>, Error> {
        let reference = (name.by != By::Identifier).then_some(&name.text);
        let known = RejectedName::parse(&name.text)
            .filter(|known| name.by != By::Reference && known.batch == self.batch);
        let is_meant = |row: &Rejected| {
            let is_known = |known: &RejectedName| {
                row.digest
                    .is_some_and(|digest| digest[..8] == known.digest[..])
            };
            row.reference.is_some() && row.reference.as_ref() == reference
                || known.as_ref().is_some_and(is_known)
        };
        let of_batch = Scan::by(&rejected::rejected_by_batch).at(&self.batch_id);
        first_rejected(self.c, &self.batch, &of_batch, is_meant)
    }

    /// Returns the rejected rows whose place a payment took.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn took_the_place_of(&self, seq: PaymentId) -> Result<Vec<RejectedFound>, Error> {
        let replaced = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .only(rejected::replaced_by, Test::is(&seq));
        first_rejected(self.c, &self.batch, &replaced, |_| true)
    }
}

shape! {
    /// A rejected row, as it is told.
    struct Rejected of rejected {
        load_id: LoadId, line: i64, nth: i64, digest: Option<[u8; 32]>, reference: Option<String>, service_code: Option<String>,
        msisdn: Option<String>, amount_text: Option<String>, currency: Option<String>, errors: String,
        replaced_by: Option<PaymentId>, withdrawn: Option<EvidenceId>, cells: Option<String>,
    }
}
shape! {
    struct File of load { source: String, loaded_at: Timestamp }
}

/// Returns the first rejected rows, in the order of their files, that are meant.
fn first_rejected(
    c: &dyn Read,
    batch: &BatchName,
    rows: &Scan<'_>,
    is_meant: impl Fn(&Rejected) -> bool,
) -> Result<Vec<RejectedFound>, Error> {
    // The index has them in another order.
    let mut first: BTreeMap<(LoadId, i64, i64), (SourceFile, Rejected)> = BTreeMap::new();
    c.each(rows, |row: Rejected| {
        let place = (row.load_id, row.line, row.nth);
        let is_before = first.last_key_value().is_none_or(|(last, _)| place < *last);
        if (is_before || first.len() < FOUND_MAX)
            && is_meant(&row)
            && let Some(file) = file_of(c, row.load_id)?
        {
            first.insert(place, (file, row));
        }
        if first.len() > FOUND_MAX {
            first.pop_last();
        }
        Ok::<_, Error>(())
    })?;
    let found = first.into_values();
    found
        .map(|(file, row)| rejected_found(c, batch, file, row))
        .collect()
}

/// Returns the rejected row of a load that stands on a line, behind so many others.
pub(in crate::journal) fn rejected_at(
    c: &dyn Read,
    batch: &BatchName,
    (load_id, line, nth): (LoadId, i64, i64),
) -> Result<Option<RejectedFound>, Error> {
    let own = Scan::of(&rejected::TABLE).at(&load_id).at(&line).at(&nth);
    match (c.first(&own)?, file_of(c, load_id)?) {
        (Some(row), Some(file)) => rejected_found(c, batch, file, row).map(Some),
        _ => Ok(None),
    }
}

fn rejected_found(
    c: &dyn Read,
    batch: &BatchName,
    file: SourceFile,
    row: Rejected,
) -> Result<RejectedFound, Error> {
    Ok(RejectedFound {
        file,
        line: row.line.unsigned_abs(),
        name: row.digest.map(|digest| RejectedName::of(batch, &digest)),
        reference: row.reference.unwrap_or_default(),
        service_code: row.service_code.unwrap_or_default(),
        msisdn: row.msisdn.unwrap_or_default(),
        amount: row.amount_text.unwrap_or_default(),
        currency_code: row.currency.unwrap_or_default(),
        errors: row.errors,
        replaced_by: match row.replaced_by {
            Some(seq) => c.value(
                &Scan::of(&instruction::TABLE).at(&seq),
                instruction::identifier,
            )?,
            None => None,
        },
        withdrawn: withdrawal(c, row.withdrawn)?,
        customer_names: names_in(row.cells.as_deref())?,
    })
}

fn file_of(c: &dyn Read, load_id: LoadId) -> Result<Option<SourceFile>, Error> {
    let found: Option<File> = c.first(&Scan::of(&load::TABLE).at(&load_id))?;
    Ok(found.map(|File { source, loaded_at }| SourceFile {
        name: source,
        loaded_at,
    }))
}

/// Returns the `customer_names` among the cells of a rejected row; empty where there are none.
pub(super) fn names_in(cells: Option<&str>) -> Result<String, Error> {
    let Some(cells) = cells.filter(|cells| !cells.is_empty()) else {
        return Ok(String::new());
    };
    let cells: serde_json::Value =
        serde_json::from_str(cells).map_err(|_| corrupt("cells that are not JSON"))?;
    Ok(cells["customer_names"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}
