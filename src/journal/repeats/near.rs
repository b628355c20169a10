//! A file that another load may have brought before, with amounts that were changed in all of its rows: no row of it repeats one there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::fingerprints::Entry;
use super::found::Table;
use super::joins::{count_accounts, join_open};
use super::on_record::OnRecord;
use super::sides::Sides;
use crate::domain::{LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::load::job::Load;
use crate::ledger::repeats::{has_near_amount, is_near_copy};
use crate::store::{Read, Reads};

/// Rows that are compared with one load: so many tell whether the others are alike, too.
const COMPARED_MAX: u64 = 512;

/// How many rows of a file go to recipients of each load on record.
#[derive(Default)]
pub(in crate::journal) struct InCommon {
    by_load: BTreeMap<LoadId, u64>,
}

impl InCommon {
    /// Counts those of a slice.
    pub(in crate::journal) fn count(
        &mut self,
        record: &dyn Read,
        loads: &[OnRecord],
        slice: &[Entry],
    ) -> Result<(), Error> {
        for load in loads {
            let rows = count_accounts(record, load.load_id, slice)?;
            *self.by_load.entry(load.load_id).or_default() += rows;
        }
        Ok(())
    }
}

impl Load<'_> {
    /// Looks among loads that no row repeats for those that pay mostly the same recipients nearly the same amounts.
    pub(in crate::journal) fn compare_near_amounts(
        &self,
        sides: &Sides<'_, '_>,
        loads: &[OnRecord],
        in_common: &InCommon,
    ) -> Result<(), Error> {
        let rows = self.c.count(&self.rows_of_file())?;
        let is_likely = |load: &&OnRecord| {
            let common = in_common.by_load.get(&load.load_id);
            is_near_copy(common.copied().unwrap_or(0), rows)
        };
        let likely = loads.iter().filter(is_likely);
        let likely: Vec<(OnRecord, Near)> = likely.map(|load| (*load, Near::default())).collect();
        if likely.is_empty() {
            return Ok(());
        }
        self.collect_rest()?.each_slice(|slice| {
            let mut open = likely.iter().filter(|(_, near)| !near.is_enough());
            open.try_for_each(|(load, near)| {
                let compare = |entries: &[Entry], seqs: &[(PaymentId, Entry)]| {
                    sides.compare_near(*load, (entries, seqs), near)
                };
                join_open(sides.record.c, load.load_id, slice, true, compare)
            })
        })?;
        for (load, near) in likely {
            if is_near_copy(near.pairs.borrow().len() as u64, near.compared.get()) {
                for (seq, other) in near.pairs.take() {
                    let table = Table::OtherAmount;
                    sides.found.add(table, seq, load.load_id, other)?;
                }
            }
        }
        Ok(())
    }
}

/// Rows whose like was found in one load.
#[derive(Default)]
struct Near {
    /// Rows that were compared.
    compared: Cell<u64>,
    /// Those with nearly the amount of one on record, and that one.
    pairs: RefCell<Vec<(PaymentId, PaymentId)>>,
}

impl Near {
    fn is_enough(&self) -> bool {
        self.compared.get() >= COMPARED_MAX
    }
}

impl Sides<'_, '_> {
    /// Compares rows of the file with rows on record of the same recipient and service.
    fn compare_near(
        &self,
        load: OnRecord,
        (entries, seqs): (&[Entry], &[(PaymentId, Entry)]),
        near: &Near,
    ) -> Result<(), Error> {
        if near.is_enough() {
            return Ok(());
        }
        let others = self.others(load, seqs, |_| true)?;
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            near.compared.set(near.compared.get() + 1);
            let like = others.iter().find(|other| {
                let row = other.counterpart(&row, self.load.key);
                has_near_amount(&row, &other.row)
                    && other.counts(self.load.plan.now, &self.terms(&row, other))
            });
            if let Some(like) = like {
                near.pairs.borrow_mut().push((seq, like.seq));
            }
        }
        Ok(())
    }
}
