//! A file that another load may have brought before, with amounts that were changed in all of its rows: no row of it repeats one there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::fingerprints::Entry;
use super::found::Table;
use super::joins::{count_accounts, join_open};
use super::on_record::{OnRecord, Other};
use super::sides::Sides;
use crate::domain::{AmountField, Instruction, LoadId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::values::Stored;
use crate::journal::load::job::Load;
use crate::ledger::repeats::{has_near_amount, is_near_copy, is_near_total, is_same_account};
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
            for (seq, other) in near.into_shown() {
                let table = Table::OtherAmount;
                sides.found.add(table, seq, load.load_id, other)?;
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
    near: RefCell<Vec<(PaymentId, PaymentId)>>,
    /// Those with any other amount than one on record, and that one.
    others: RefCell<Vec<(PaymentId, PaymentId)>>,
    /// What those that have one on record come to, and what those on record come to.
    sums: Cell<(i128, i128)>,
    paired: Cell<u64>,
}

impl Near {
    fn is_enough(&self) -> bool {
        self.compared.get() >= COMPARED_MAX
    }

    /// Returns the rows that are shown: those with nearly the amount, where they are most; or all with another one, where that makes no
    /// difference to the total.
    fn into_shown(self) -> Vec<(PaymentId, PaymentId)> {
        let compared = self.compared.get();
        let (near, (own, others)) = (self.near.into_inner(), self.sums.get());
        if is_near_copy(near.len() as u64, compared) {
            return near;
        }
        match is_near_copy(self.paired.get(), compared) && is_near_total(own, others) {
            true => self.others.into_inner(),
            false => Vec::new(),
        }
    }

    /// Takes in a row, and those of its recipient on record.
    fn add(&self, (seq, row): (PaymentId, &Instruction<Stored>), others: &[&Other]) {
        self.compared.set(self.compared.get() + 1);
        let near = others.iter().find(|other| has_near_amount(row, &other.row));
        if let Some(near) = near {
            self.near.borrow_mut().push((seq, near.seq));
        }
        let known = |other: &&&Other| other.row.money.known().is_some();
        let (Some(first), Some(own)) = (others.iter().find(known), row.money.known()) else {
            return;
        };
        let other = first.row.money.known().map_or(0, |amount| amount.minor());
        let (own_sum, other_sum) = self.sums.get();
        let sums = (
            own_sum + i128::from(own.minor()),
            other_sum + i128::from(other),
        );
        self.sums.set(sums);
        self.paired.set(self.paired.get() + 1);
        if own.minor() != other {
            self.others.borrow_mut().push((seq, first.seq));
        }
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
            let now = self.load.plan.now;
            let counting = others.iter().filter(|other| {
                let row = other.counterpart(&row, self.load.key);
                is_same_account(&row, &other.row) && other.counts(now, &self.terms(&row, other))
            });
            near.add((seq, &row), &counting.collect::<Vec<_>>());
        }
        Ok(())
    }
}
