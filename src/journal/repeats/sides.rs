//! Rows of a file beside rows on record that may be of the same debt: they are compared, and what is found is kept.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::ahead::expect_rows;
use super::fingerprints::{Entry, is_named, is_of_payment, place_of};
pub(in crate::journal) use super::found::{Found, Table};
use super::on_record::check_row;
use super::on_record::{OnRecord, Other, Record};
use crate::domain::{AmountField, Instruction, LoadId, PaymentId};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{Stored, corrupt};
use crate::journal::load::job::Load;
use crate::journal::{ALIKE_MAX, Error, RepeatPlan};
use crate::ledger::forgetting::forgotten;
use crate::ledger::repeats::{
    Likeness, References, Standing, Terms, is_of_failure, is_of_withdrawn, is_same_payment,
    is_same_through_another_service, is_watched, likeness, likeness_across_services,
    may_be_same_person, may_have_other_amount, recipient,
};

/// Failures of one load that a row is watched for.
const WATCHED: usize = 16;

/// Rows on record that are one and the same payment, as far as they decide about another one.
#[derive(Default)]
struct SamePayment {
    /// One that counts, with a reference and without.
    counting: [Option<Other>; 2],
    failed: Vec<Other>,
    /// One that has failed beyond those: nobody would look at it before a row leaves, so it is a repeat.
    unwatched: Option<Other>,
    /// One that a person has withdrawn, with a reference and without.
    withdrawn: [Option<Other>; 2],
}

/// What tells payments from one another whose hashes are the same: who receives, through which service, and the amount, which
/// may be open.
pub(in crate::journal) type PaymentKey = (String, Option<i64>);

pub(in crate::journal) fn payment_key(row: &Instruction<Stored>) -> PaymentKey {
    let (account, bank) = recipient(row);
    let to = format!("{} {} {bank} {account}", row.money.currency, row.service);
    (to, row.money.known().map(|amount| amount.minor()))
}

/// Where the rows come from that are compared.
pub(in crate::journal) struct Sides<'a, 'b> {
    pub(in crate::journal) load: &'a Load<'b>,
    /// Its rows.
    pub(in crate::journal) own: Instructions<'a>,
    pub(in crate::journal) record: Record<'a>,
    pub(in crate::journal) plan: &'a RepeatPlan,
    pub(in crate::journal) found: Found<'a>,
    pub(in crate::journal) alike: Counted,
    /// The same, through another service.
    pub(in crate::journal) through: Counted,
    /// The batch has set rows aside.
    pub(in crate::journal) has_set_aside: bool,
}

/// How many rows were found by load.
#[derive(Default)]
pub(in crate::journal) struct Counted(RefCell<BTreeMap<LoadId, u64>>);

impl Counted {
    fn get(&self, load_id: LoadId) -> u64 {
        self.0.borrow().get(&load_id).copied().unwrap_or_default()
    }

    fn count(&self, load_id: LoadId) {
        *self.0.borrow_mut().entry(load_id).or_default() += 1;
    }
}

impl Sides<'_, '_> {
    fn seq(&self, entry: Entry) -> PaymentId {
        PaymentId::new(self.load.base + 1 + place_of(entry))
    }

    /// Returns the row of the file at an entry.
    pub(in crate::journal) fn row(
        &self,
        entry: Entry,
    ) -> Result<(PaymentId, Instruction<Stored>), Error> {
        let seq = self.seq(entry);
        let found = self.own.find(seq)?;
        let found = found.ok_or_else(|| corrupt("a row that is missing from its own load"))?;
        Ok((seq, found.row.instruction))
    }

    /// Returns which rows on record are to be read for these of the file.
    // Rows with references on both sides are alike at most: what is paid every day is not read in full every day.
    fn is_wanted(&self, load: OnRecord, entries: &[Entry]) -> impl Fn(Entry) -> bool + use<> {
        let all_named = entries
            .iter()
            .all(|entry| is_of_payment(*entry) && is_named(*entry));
        let enough = all_named && self.alike.get(load.load_id) >= ALIKE_MAX;
        let by_reference_alone = load.by_reference_alone;
        move |known| {
            let is_known = enough && is_named(known);
            !(is_known || by_reference_alone && is_of_payment(known))
        }
    }

    /// Tells the store which rows are about to be compared.
    pub(in crate::journal) fn expect<'g>(
        &self,
        groups: impl Iterator<Item = (OnRecord, &'g [Entry], &'g [(PaymentId, Entry)])>,
    ) -> Result<(), Error> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (load, entries, seqs) in groups {
            let is_wanted = self.is_wanted(load, entries);
            let before = others.len();
            let wanted = seqs.iter().filter(|(_, entry)| is_wanted(*entry));
            others.extend(wanted.map(|(seq, _)| *seq));
            if others.len() > before {
                own.extend(entries.iter().map(|entry| self.seq(*entry)));
            }
        }
        expect_rows(self.load.c, &own, &others)
    }

    /// Compares rows of the file with rows on record that may be of the same debt.
    pub(in crate::journal) fn compare(
        &self,
        load: OnRecord,
        entries: &[Entry],
        seqs: &[(PaymentId, Entry)],
    ) -> Result<(), Error> {
        let load_id = load.load_id;
        let others = self.others(load, seqs, self.is_wanted(load, entries))?;
        if others.is_empty() {
            return Ok(());
        }
        if entries.first().is_some_and(|entry| is_of_payment(*entry)) {
            return self.compare_payments(load_id, entries, others);
        }
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            for other in &others {
                let row = other.counterpart(&row, self.load.key);
                let is_same = is_same_payment(&row, &other.row);
                self.judge(load_id, (seq, &row), other, is_same)?;
            }
        }
        Ok(())
    }

    /// Returns a row of the file as it is, and as it is compared with rows whose persons were forgotten, where there are any.
    fn views(
        &self,
        row: Instruction<Stored>,
        others: bool,
    ) -> impl Iterator<Item = Instruction<Stored>> {
        let key = self.load.key;
        let hidden = others.then(|| forgotten(&row, |parts| key.pseudonym(parts)));
        std::iter::once(row).chain(hidden)
    }

    /// Reads the rows on record whose entries are wanted.
    pub(super) fn others(
        &self,
        load: OnRecord,
        seqs: &[(PaymentId, Entry)],
        is_wanted: impl Fn(Entry) -> bool,
    ) -> Result<Vec<Other>, Error> {
        let mut others = Vec::new();
        for (seq, entry) in seqs.iter().filter(|(_, entry)| is_wanted(*entry)) {
            let Some(other) = load.other(&self.record, *seq)? else {
                continue;
            };
            check_row(self.load.key, *entry, &other)?;
            // A corrected row is no repeat of what it replaces.
            if !self.load.corrections.replaces(other.seq) {
                others.push(other);
            }
        }
        Ok(others)
    }

    /// Returns the terms for a row of the file and one on record.
    // Of a batch that has set rows aside each row may be one of those, however it was mended since: what a person changed of it
    // makes no other debt of it.
    pub(super) fn terms(&self, row: &Instruction<Stored>, other: &Other) -> Terms {
        let terms = self.plan.terms.between(&row.service, &other.row.service);
        terms.for_row(self.has_set_aside)
    }

    /// Looks among rows on record for those that pay what rows of the file pay, through another service; `entries` are those
    /// that the rows of the file would have there.
    pub(in crate::journal) fn compare_through_others(
        &self,
        load: OnRecord,
        entries: &[Entry],
        seqs: &[(PaymentId, Entry)],
    ) -> Result<(), Error> {
        let all_named = entries.iter().all(|entry| is_named(*entry));
        let mut others: BTreeMap<PaymentKey, [Option<Other>; 2]> = BTreeMap::new();
        // Rows with references on both sides are alike at most: enough of them are shown.
        let enough = all_named && self.through.get(load.load_id) >= ALIKE_MAX;
        for other in self.others(load, seqs, |known| !(enough && is_named(known)))? {
            if matches!(other.standing, Standing::Failed | Standing::Cancelled) {
                continue;
            }
            // Of many such rows one with a reference, and one without, stand for all: whichever counts longest.
            let place = usize::from(other.reference().is_none());
            let same = others.entry(payment_key(&other.row)).or_default();
            let lasts = |other: &Other| (other.standing, other.newest);
            if same[place]
                .as_ref()
                .is_none_or(|known| lasts(known) < lasts(&other))
            {
                same[place] = Some(other);
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            for other in others.values().flatten().flatten() {
                let row = other.counterpart(&row, self.load.key);
                let reference = row.reference.as_ref().map(|reference| reference.as_str());
                let terms = self.terms(&row, other);
                let references = References::of(reference, other.reference());
                if is_same_through_another_service(&row, &other.row)
                    && likeness_across_services(references, &terms) == Likeness::Alike
                    && other.counts(self.load.plan.now, &terms)
                {
                    self.through.count(load.load_id);
                    self.found
                        .add(Table::OtherService, seq, load.load_id, other.seq)?;
                }
            }
        }
        Ok(())
    }

    /// Looks in a load that other rows of the file repeat for rows whose amount may have been changed; `entries` and `seqs` are of
    /// the same recipient and service.
    pub(in crate::journal) fn compare_amounts(
        &self,
        load: OnRecord,
        entries: &[Entry],
        seqs: &[(PaymentId, Entry)],
    ) -> Result<(), Error> {
        let all_named = entries.iter().all(|entry| is_named(*entry));
        for other in self.others(load, seqs, |known| !(all_named && is_named(known)))? {
            for entry in entries {
                let (seq, row) = self.row(*entry)?;
                let row = other.counterpart(&row, self.load.key);
                let reference = row.reference.as_ref().map(|reference| reference.as_str());
                let references = References::of(reference, other.reference());
                if may_have_other_amount(references, &row, &other.row)
                    && other.counts(self.load.plan.now, &self.terms(&row, &other))
                {
                    self.found
                        .add(Table::OtherAmount, seq, load.load_id, other.seq)?;
                }
            }
        }
        Ok(())
    }

    // Of many rows on record with the same recipient, amount and service one with a reference, and one without, stand for all.
    fn compare_payments(
        &self,
        load_id: LoadId,
        entries: &[Entry],
        others: Vec<Other>,
    ) -> Result<(), Error> {
        let now = self.load.plan.now;
        let mut payments: BTreeMap<PaymentKey, SamePayment> = BTreeMap::new();
        let some_forgotten = others.iter().any(|other| other.row.msisdn.is_forgotten());
        for other in others {
            let terms = self.terms(&other.row, &other);
            let same = payments.entry(payment_key(&other.row)).or_default();
            let place = usize::from(other.reference().is_none());
            if other.counts(now, &terms) {
                same.counting[place].get_or_insert(other);
            } else if other.standing == Standing::Failed {
                match same.failed.len() < WATCHED {
                    true => same.failed.push(other),
                    false => drop(same.unwatched.get_or_insert(other)),
                }
            } else if other.standing == Standing::Cancelled {
                same.withdrawn[place].get_or_insert(other);
            }
        }
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            for row in self.views(row, some_forgotten) {
                self.judge_payments(load_id, (seq, &row), &payments)?;
            }
        }
        Ok(())
    }

    fn judge_payments(
        &self,
        load_id: LoadId,
        (seq, row): (PaymentId, &Instruction<Stored>),
        payments: &BTreeMap<PaymentKey, SamePayment>,
    ) -> Result<(), Error> {
        let (to, amount) = payment_key(row);
        let of_account = (to.clone(), None)..=(to, Some(i64::MAX));
        for ((_, other_amount), same) in payments.range(of_account) {
            if amount.is_some() && other_amount.is_some() && amount != *other_amount {
                continue;
            }
            let seen = same.counting.iter().chain(&same.withdrawn).flatten();
            for other in seen.chain(&same.failed) {
                let is_same = is_same_payment(row, &other.row);
                self.judge(load_id, (seq, row), other, is_same)?;
            }
            if let Some(other) = &same.unwatched {
                let is_same = is_same_payment(row, &other.row);
                if self.judge(load_id, (seq, row), other, is_same)? {
                    self.found.add(Table::Repeat, seq, load_id, other.seq)?;
                }
            }
        }
        Ok(())
    }

    /// Judges a row by one on record; returns whether it is watched.
    fn judge(
        &self,
        load_id: LoadId,
        (seq, row): (PaymentId, &Instruction<Stored>),
        other: &Other,
        same_payment: bool,
    ) -> Result<bool, Error> {
        if self.load.is_told_apart((seq, row), other)? {
            return Ok(false);
        }
        let terms = self.terms(row, other);
        let reference = row.reference.as_ref().map(|reference| reference.as_str());
        let references = References::of(reference, other.reference());
        let terms = self.plan.terms.by_references(terms, references);
        let likeness = match other.is_retried() {
            // Its reference comes again because it had failed.
            true if is_of_failure(
                references,
                same_payment,
                may_be_same_person(row, &other.row),
                &terms,
            ) =>
            {
                Likeness::Repeat
            }
            _ => likeness(references, same_payment, &terms),
        };
        let age = self.load.plan.now.since(other.newest);
        if is_of_withdrawn(likeness, other.is_withdrawn, age, &terms) {
            self.found.add(Table::Withdrawn, seq, load_id, other.seq)?;
        }
        if is_watched(likeness, other.standing) {
            self.found.add(Table::Watched, seq, load_id, other.seq)?;
            return Ok(true);
        }
        if !other.counts(self.load.plan.now, &terms) {
            return Ok(false);
        }
        match likeness {
            Likeness::None => {}
            Likeness::Alike => {
                self.alike.count(load_id);
                self.found.add(Table::Alike, seq, load_id, other.seq)?;
            }
            Likeness::Repeat => {
                if other.by_word {
                    self.found.add(Table::ByWord, seq, load_id, other.seq)?;
                }
                self.found.add(Table::Repeat, seq, load_id, other.seq)?;
            }
        }
        Ok(false)
    }
}
