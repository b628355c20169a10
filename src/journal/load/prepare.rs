//! What is computed of the rows of a load before they are inserted; on a thread of its own when they are many.

use std::sync::mpsc::{Receiver, sync_channel};

use sha2::{Digest, Sha256};

use super::external_sort::{Entry, Order};
use crate::domain::{
    AmountField, ContentDigest, IdentifierScheme, Instruction, LoadId, PayerTransactionId,
    PaymentId, RowKey, ServiceCode,
};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::instruction_blocks::BlockHasher;
use crate::journal::evidence::salt::{self, Salt};
use crate::journal::repeats::fingerprints::{Collector, Key};
use crate::journal::{Error, LoadPlan, LoadRow};
use crate::ledger::correction::Corrects;
use crate::ledger::payer::Identifiers;

/// Blocks of rows that wait to be inserted: so many that no thread stands still while another one sorts.
const BLOCKS: usize = 16;

/// What was computed of an instruction.
#[derive(Clone, Copy)]
pub(in crate::journal) struct Prepared {
    pub(in crate::journal) id: PayerTransactionId,
    pub(in crate::journal) salt: Salt,
}

/// The rows of a load as they pass by.
pub(in crate::journal) struct Preparer {
    plan: LoadPlan,
    scheme: IdentifierScheme,
    base: i64,
    rows: u64,
    pub(in crate::journal) digest: ContentDigest,
    /// Those of its instructions.
    pub(in crate::journal) identifiers: Identifiers,
    pub(in crate::journal) order: Order,
    pub(in crate::journal) passing: BlockHasher,
    pub(in crate::journal) fingerprints: Option<Collector>,
    /// The fingerprints that the rows would have through the other services on record.
    pub(in crate::journal) through_others: Option<Collector>,
    services: Vec<ServiceCode>,
    /// What the next row corrects.
    corrects: Option<Corrects>,
    /// The digest is all that is asked for.
    content_only: bool,
}

impl Preparer {
    /// Begins; the first instruction becomes the one after number `base`.
    pub(in crate::journal) fn new(
        plan: &LoadPlan,
        scheme: &IdentifierScheme,
        (load_id, base): (LoadId, i64),
        key: Option<Key>,
        services: &[ServiceCode],
    ) -> Self {
        Self {
            plan: plan.clone(),
            scheme: scheme.clone(),
            base,
            rows: 0,
            digest: ContentDigest::default(),
            identifiers: Identifiers::default(),
            order: Order::new(&scheme.form),
            passing: BlockHasher::new(load_id, plan.now),
            fingerprints: key.map(Collector::new),
            through_others: key.map(Collector::new),
            services: services.to_vec(),
            corrects: None,
            content_only: false,
        }
    }

    /// Begins where nothing is to be inserted.
    pub(in crate::journal) fn of_content(plan: &LoadPlan) -> Self {
        Self {
            content_only: true,
            ..Self::new(plan, &plan.scheme(), (LoadId::NONE, 0), None, &[])
        }
    }

    /// Returns the number of the newest instruction.
    pub(in crate::journal) fn last(&self) -> PaymentId {
        PaymentId::new(self.base.saturating_add_unsigned(self.rows))
    }

    /// Takes in a block; returns what was computed of its instructions.
    fn block(&mut self, block: &[LoadRow]) -> Result<Vec<Prepared>, Error> {
        let mut all = Vec::with_capacity(block.len());
        for row in block {
            let prepared = match row {
                LoadRow::Valid(row) => self.row(row, Some(row.money.amount.minor()))?,
                LoadRow::Unpriced(row) => self.row(row, None)?,
                LoadRow::Corrects(corrects) => {
                    self.corrects = Some(corrects.clone());
                    continue;
                }
                LoadRow::Invalid(_) | LoadRow::Skipped(_) => {
                    self.corrects = None;
                    continue;
                }
                LoadRow::EndOfFile => continue,
            };
            all.extend(prepared);
        }
        Ok(all)
    }

    fn row<M: AmountField>(
        &mut self,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<Option<Prepared>, Error> {
        let hash = row.content_hash();
        let corrects = self.corrects.take();
        let replaces = matches!(corrects, Some(Corrects::Failed(_)));
        match corrects {
            None => self.digest.add(&hash),
            // What it corrects tells the file from one with the same rows.
            Some(corrects) => self.digest.add(
                &Sha256::new()
                    .chain_update(hash)
                    .chain_update(corrects.column())
                    .chain_update(corrects.written())
                    .finalize()
                    .into(),
            ),
        }
        // One that replaces a payment is inserted when all rows are seen.
        if self.content_only || replaces {
            return Ok(None);
        }
        let id = identifier(&self.scheme, &self.plan, row, hash, 0);
        self.order.push(Entry {
            id,
            place: self.rows,
            line: row.line,
        })?;
        if let Some(fingerprints) = &mut self.fingerprints {
            fingerprints.row(self.rows, row, amount)?;
        }
        if let Some(through_others) = &mut self.through_others {
            through_others.row_through_others(self.rows, row, amount, &self.services)?;
        }
        self.identifiers.add(id.as_str());
        self.rows += 1;
        let salt = salt::fresh()?;
        self.passing.take_in(self.last(), &id, row, amount, &salt);
        Ok(Some(Prepared { id, salt }))
    }
}

/// Prepares every block and hands it over with what was computed of its instructions.
pub(in crate::journal) fn each(
    mut preparer: Preparer,
    blocks: Receiver<Vec<LoadRow>>,
    mut insert: impl FnMut(&[LoadRow], &[Prepared]) -> Result<(), Error>,
) -> Result<Preparer, Error> {
    let Ok(first) = blocks.recv() else {
        return Ok(preparer);
    };
    // A file of one block is inserted before a thread has begun.
    if matches!(first.last(), Some(LoadRow::EndOfFile)) {
        for block in std::iter::once(first).chain(blocks) {
            let prepared_rows = preparer.block(&block)?;
            insert(&block, &prepared_rows)?;
        }
        return Ok(preparer);
    }
    let (sender, prepared) = sync_channel(BLOCKS);
    let prepare = move || {
        for block in std::iter::once(first).chain(blocks) {
            let prepared_rows = preparer.block(&block)?;
            if sender.send((block, prepared_rows)).is_err() {
                // The journal has failed, and says so itself.
                break;
            }
        }
        Ok(preparer)
    };
    let thread = std::thread::Builder::new()
        .name("load".into())
        .spawn(prepare)
        .map_err(|cause| Error::Scratch {
            cause: cause.to_string(),
        })?;
    for (block, prepared_rows) in prepared {
        insert(&block, &prepared_rows)?;
    }
    thread
        .join()
        .map_err(|_| corrupt("rows that cannot be prepared"))?
}

/// The identifier of a row: by its reference, or by its content and how many equal rows stand above it.
pub(in crate::journal) fn identifier<M>(
    scheme: &IdentifierScheme,
    plan: &LoadPlan,
    row: &Instruction<M>,
    hash: [u8; 32],
    above: u32,
) -> PayerTransactionId {
    let key = match &row.reference {
        Some(reference) => RowKey::Reference(reference),
        None => RowKey::Content { hash, above },
    };
    scheme.derive(&key, planted!(journal::first_generation(0, plan)))
}
