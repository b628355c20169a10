//! Rows of a load that repeat rows of other loads. The rule is in [`crate::ledger::repeats`].

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use super::ahead::expect_rows;
use super::fingerprints::{Collector, Entry, Store};
use super::found::{Found, Table};
use super::gathered::Gathered;
use super::joins::{has_open, join, join_open};
use super::near::InCommon;
use super::on_record::day;
use super::on_record::{OnRecord, Other, Record, Which, loads_on_record};
use super::sides::{Counted, Sides};
use super::vouched::Vouched;
use super::within::may_be_alike;
use crate::domain::{
    AmountField, BatchId, BatchName, ContentDigest, Instruction, LoadId, PayerTransactionId,
    PaymentId, Timestamp,
};
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{Stored, corrupt};
use crate::journal::load::job::Load;
use crate::journal::load::sorted::{LATE_MAX, Sorted};
use crate::journal::opening;
use crate::journal::payments::watched::watch_found;
use crate::journal::read::batch_status::standing;
use crate::journal::recovery::lost_batches::told_loaded;
use crate::journal::recovery::lost_orders::allow_repeats;
use crate::journal::recovery::noticed::open_recovery;
use crate::journal::recovery::when_done;
use crate::journal::{
    ALIKE_LINES, AlikeKind, ChangedRepeat, CrossRowError, Error, REPEATED_LOADS, RepeatPlan,
    RepeatedLoad, Repeats,
};
use crate::ledger::forgetting::forgotten;
use crate::ledger::payer::{CameBack, Identifiers, came_back, key};
use crate::ledger::repeats::{References, is_same_account, is_same_payment};
use crate::ledger::was_repeat::Repeated;
use crate::store::tables::{batch, fingerprints, identifier, instruction, load};
use crate::store::{Read, Reads, Scan, Test, Writes, shape};

/// What is let in, and shown.
const SHOWN: [(Table, AlikeKind); 4] = [
    (Table::Alike, AlikeKind::OtherLoad),
    (Table::OtherService, AlikeKind::OtherService),
    (Table::Withdrawn, AlikeKind::Withdrawn),
    (Table::OtherAmount, AlikeKind::OtherAmount),
];

/// Rows that repeat others, and differ from every one that they repeat.
#[derive(Default)]
struct Changed {
    current: Option<(PaymentId, Option<ChangedRepeat>)>,
    count: u64,
    /// Some row differs from one of those that it repeats.
    any: bool,
    shown: Vec<ChangedRepeat>,
}

impl Changed {
    /// Takes a row, and one that it repeats; those of one row come one after the other.
    fn compare(
        &mut self,
        (seq, shown): (PaymentId, &Instruction<Stored>),
        own: &Instruction<Stored>,
        other: &Instruction<Stored>,
    ) {
        let difference = (!is_same_payment(own, other)).then(|| ChangedRepeat {
            line: own.line,
            reference: shown
                .reference
                .as_ref()
                .map_or("", |name| name.as_str())
                .to_owned(),
            amounts: (own.money.digits() != other.money.digits())
                .then(|| (own.money.digits(), other.money.digits())),
            currency: own.money.currency(),
            other_recipient: !is_same_account(own, other),
        });
        self.any |= difference.is_some();
        match &mut self.current {
            Some((known, kept)) if *known == seq => {
                if difference.is_none() {
                    *kept = None;
                }
            }
            _ => {
                self.end();
                self.current = Some((seq, difference));
            }
        }
    }

    fn end(&mut self) {
        if let Some((_, Some(row))) = self.current.take() {
            self.count += 1;
            if self.shown.len() < ALIKE_LINES {
                self.shown.push(row);
            }
        }
    }

    fn is_nothing(&self) -> bool {
        !self.any
    }

    fn rows(&mut self) -> u64 {
        self.end();
        self.count
    }

    fn into_shown(mut self) -> Vec<ChangedRepeat> {
        self.end();
        self.shown
    }
}

impl Load<'_> {
    /// Returns a row of the journal; `None` where this load has dropped it, as an earlier one had brought it.
    pub(in crate::journal) fn instruction_if_there(
        &self,
        seq: PaymentId,
    ) -> Result<Option<Instruction<Stored>>, Error> {
        let found = Instructions::of(self.c).find(seq)?;
        Ok(found.map(|found| found.row.instruction))
    }

    pub(in crate::journal) fn instruction(
        &self,
        seq: PaymentId,
    ) -> Result<Instruction<Stored>, Error> {
        self.instruction_if_there(seq)?
            .ok_or_else(|| corrupt("a row that is missing from its own load"))
    }

    /// Keeps the fingerprints of the file, and finds what of it repeats rows of other loads. Rows that do are set aside, where
    /// that is ordered, and are errors in `sorted` unless they are allowed.
    pub(in crate::journal) fn find_repeats(
        &mut self,
        collectors: Option<(Collector, Collector)>,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let Some((mut collector, mut through_others)) = collectors else {
            return Ok(());
        };
        if self.altered {
            (collector, through_others) = self.collect_again()?;
        }
        let mut store = Store::new(self.c, self.load_id, self.base + 1);
        let Some(plan) = &self.plan.repeats else {
            return self.show_alike(&mut collector, store, sorted);
        };
        self.c.write_tallies()?;
        let reader = match &plan.record {
            Some(at) => Some(opening::for_reading(at)?),
            None => None,
        };
        let record: &dyn Read = match &reader {
            Some(reader) => reader.store(),
            None => self.c,
        };
        let which = match reader {
            None => Which::Not(self.load_id),
            Some(_) => Which::All,
        };
        let has_set_aside = self.has_set_aside_any()?;
        let mut widest = plan.clone();
        widest.terms.default = widest.terms.default.for_row(has_set_aside);
        let all = loads_on_record(record, &widest, (self.key, which), self.plan.now)?;
        let in_full = all.iter().filter(|load| !load.by_reference_alone);
        let loads: Vec<OnRecord> = in_full.copied().collect();
        let sides = self.sides(record, plan, has_set_aside)?;
        let recorded_open = has_open(record)?;
        let mut in_common = InCommon::default();
        collector.each_slice(|slice| {
            store.take(slice)?;
            sides.compare_file(slice)?;
            in_common.count(record, &loads, slice)?;
            let mut gathered = Gathered::of(&sides);
            all.iter().try_for_each(|load| {
                let mut compare = |entries: &[Entry], seqs: &[(PaymentId, Entry)]| {
                    gathered.take(*load, entries, seqs)
                };
                join(record, load.load_id, slice, &mut compare)?;
                join_open(record, load.load_id, slice, recorded_open, &mut compare)
            })?;
            gathered.compare()
        })?;
        store.flush()?;
        through_others.each_slice(|slice| {
            loads.iter().try_for_each(|load| {
                let mut compare = |entries: &[Entry], seqs: &[(PaymentId, Entry)]| {
                    sides.compare_through_others(*load, entries, seqs)
                };
                join(record, load.load_id, slice, &mut compare)?;
                join_open(record, load.load_id, slice, recorded_open, &mut compare)
            })
        })?;
        let others = self.compare_open_amounts(&sides, &loads)?;
        self.compare_near_amounts(&sides, &others, &in_common)?;
        sides.found.leave_out_wholly_withdrawn(record)?;
        self.find_withdrawn_rows(record, plan, &sides.found)?;
        self.conclude(record, plan, sorted)
    }

    /// Keeps the fingerprints of a rehearsal. It repeats nothing, but shows what a person must see of the file itself.
    fn show_alike(
        &self,
        collector: &mut Collector,
        mut store: Store<'_>,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let plan = RepeatPlan::default();
        let mut sides = None;
        collector.each_slice(|slice| {
            store.take(slice)?;
            if !may_be_alike(slice) {
                return Ok(());
            }
            let begun = match sides.take() {
                Some(begun) => begun,
                None => self.sides(self.c, &plan, false)?,
            };
            sides.insert(begun).compare_file(slice)
        })?;
        store.flush()?;
        match sides {
            Some(_) => self.note(self.c, Table::Alike, AlikeKind::OtherLoad, sorted),
            None => Ok(()),
        }
    }

    /// Begins to compare.
    fn sides<'a>(
        &'a self,
        record: &'a dyn Read,
        plan: &'a RepeatPlan,
        has_set_aside: bool,
    ) -> Result<Sides<'a, 'a>, Error> {
        Ok(Sides {
            load: self,
            own: Instructions::of(self.c),
            record: Record::of(record, Vouched::read_as(plan.reading.as_deref())),
            plan,
            found: Found::begin(self.c.scratch()?)?,
            alike: Counted::default(),
            through: Counted::default(),
            has_set_aside,
        })
    }

    /// Compares the other rows with open amounts of the loads that are repeated; returns those that are not.
    fn compare_open_amounts(
        &self,
        sides: &Sides<'_, '_>,
        loads: &[OnRecord],
    ) -> Result<Vec<OnRecord>, Error> {
        let repeats = sides.found.loads(Table::Repeat)?;
        let is_repeated = |load: &OnRecord| repeats.contains(&load.load_id);
        let (repeated, others): (Vec<OnRecord>, Vec<OnRecord>) =
            loads.iter().copied().partition(is_repeated);
        if !repeated.is_empty() {
            self.collect_rest()?.each_slice(|slice| {
                repeated.iter().try_for_each(|load| {
                    join_open(
                        sides.record.c,
                        load.load_id,
                        slice,
                        true,
                        |entries, seqs| sides.compare_amounts(*load, entries, seqs),
                    )
                })
            })?;
        }
        Ok(others)
    }

    /// The accounts of the rows that repeat nothing, as if their amounts were open: so they meet every row of the same account.
    pub(super) fn collect_rest(&self) -> Result<Collector, Error> {
        let mut collector = Collector::new(self.key);
        let mut repeats = Found::kept(self.c.scratch()?).walk(Table::Repeat);
        Instructions::of(self.c).each(&self.rows_of_file(), |found| {
            if repeats.has(found.seq)? {
                return Ok(());
            }
            let place = (found.seq.get() - self.base - 1).unsigned_abs();
            collector.row(place, &found.row.instruction, None)
        })?;
        Ok(collector)
    }

    /// The rows of the file, in its order.
    pub(in crate::journal) fn rows_of_file(&self) -> Scan<'_> {
        Scan::of(&instruction::TABLE).after(&self.base)
    }

    /// Keeps the fingerprints of the rows that are left, once those that repeat others were set aside.
    fn store_again(&self) -> Result<(), Error> {
        let own = Scan::by(&fingerprints::fingerprints_by_load).at(&self.load_id);
        self.c.remove(&own)?;
        let mut store = Store::new(self.c, self.load_id, self.base + 1);
        let (mut collector, _) = self.collect_again()?;
        collector.each_slice(|slice| store.take(slice))?;
        store.flush()
    }

    /// The fingerprints of the rows that are left, after some were dropped; and those through other services.
    fn collect_again(&self) -> Result<(Collector, Collector), Error> {
        let mut collector = Collector::new(self.key);
        let mut through_others = Collector::new(self.key);
        Instructions::of(self.c).each(&self.rows_of_file(), |found| {
            let row = found.row.instruction;
            let place = (found.seq.get() - self.base - 1).unsigned_abs();
            let amount = row.money.written();
            collector.row(place, &row, amount)?;
            through_others.row_through_others(place, &row, amount, &self.services_on_record)
        })?;
        Ok((collector, through_others))
    }

    fn conclude(
        &mut self,
        record: &dyn Read,
        plan: &RepeatPlan,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let found = Found::kept(self.c.scratch()?);
        if plan.record.is_none() {
            self.find_set_aside_repeats(record)?;
        }
        let rows = found.rows(Table::Repeat)?;
        if rows > 0 {
            for (table, _) in SHOWN {
                found.leave_out_repeats(table)?;
            }
            let repeats = self.repeats(record, rows)?;
            // Of what was left out then, the gateway says "not found" under the identifiers of this batch, and that proves nothing.
            let may_be_allowed = repeats.came_back != CameBack::WithoutRepeats;
            if may_be_allowed && plan.allowed.as_ref() == Some(&repeats.digest) {
                let place = (self.batch_id, self.plan.now);
                allow_repeats(self.c, place, &repeats.digest, PaymentId::new(self.base))?;
                when_done::watch_repeats(self.c, plan, self.plan.now)?;
                self.note(record, Table::Repeat, AlikeKind::Allowed, sorted)?;
            } else {
                self.refuse_repeats(record, sorted)?;
                if self.plan.skip_bad_rows {
                    self.store_again()?;
                }
                sorted.repeats = Some(Repeats {
                    allowed_other: plan.allowed.is_some() && may_be_allowed,
                    ..repeats
                });
            }
        }
        for (table, kind) in SHOWN {
            self.note(record, table, kind, sorted)?;
        }
        watch_found(self.c, self.plan.now)
    }

    /// Says which loads are repeated, and what tells this list from every other one.
    fn repeats(&self, record: &dyn Read, rows: u64) -> Result<Repeats, Error> {
        let (digest, mut changed) = self.list_of_repeats(record)?;
        let mut loads = self.loads_of(record, Table::Repeat)?;
        let in_file = self.c.count(&self.rows_of_file())?;
        let rest_lines = self.first_of_rest()?;
        let of_one = loads.iter().all(|(_, load)| load.batch == loads[0].1.batch);
        let whole = match loads.first() {
            Some((_, load)) if changed.is_nothing() && of_one && in_file == rows => {
                let batch =
                    BatchName::parse(&load.batch).map_err(|_| corrupt("an invalid batch name"))?;
                Some(standing(record, &batch)?.became())
            }
            _ => None,
        };
        let more_loads = loads.len().saturating_sub(REPEATED_LOADS) as u64;
        loads.truncate(REPEATED_LOADS);
        Ok(Repeats {
            rows,
            loads: loads.into_iter().map(|(_, load)| load).collect(),
            more_loads,
            digest: digest[..8]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            allowed_other: false,
            whole,
            came_back: self.came_back()?,
            rest: in_file.saturating_sub(rows),
            rest_lines,
            changed: changed.rows(),
            changed_rows: changed.into_shown(),
        })
    }

    /// Returns the lines of the first rows that repeat nothing.
    fn first_of_rest(&self) -> Result<Vec<u64>, Error> {
        let mut repeats = Found::kept(self.c.scratch()?).walk(Table::Repeat);
        let mut lines = Vec::new();
        let columns = [instruction::seq, instruction::line];
        self.c.each_row(&self.rows_of_file(), &columns, |row| {
            if !repeats.has(row.get(0)?)? {
                lines.push(row.get::<i64>(1)?.unsigned_abs());
            }
            Ok::<_, Error>(match lines.len() < ALIKE_LINES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        Ok(lines)
    }

    /// Expects rows of the file, each with one on record, where that is in this journal.
    fn expect_pairs(
        &self,
        pairs: impl Iterator<Item = (PaymentId, PaymentId)>,
    ) -> Result<(), Error> {
        let repeats = self.plan.repeats.as_ref();
        if repeats.is_some_and(|plan| plan.record.is_some()) {
            return Ok(());
        }
        let (own, others): (Vec<_>, Vec<_>) = pairs.unzip();
        expect_rows(self.c, &own, &others)
    }

    /// Goes through the rows that repeat others: returns what tells this list from every other one, and what else than the row was
    /// changed.
    fn list_of_repeats(&self, record: &dyn Read) -> Result<([u8; 32], Changed), Error> {
        let mut digest = ContentDigest::default();
        let rows_on_record = Instructions::of(record);
        let mut current: Option<(PaymentId, Instruction<Stored>)> = None;
        let mut changed = Changed::default();
        Found::kept(self.c.scratch()?).each_repeat(|page| {
            self.expect_pairs(page.iter().map(|(seq, other, _)| (*seq, *other)))?;
            for (seq, other, is_by_word) in page {
                let own = match current.take() {
                    Some((known, own)) if known == *seq => own,
                    _ => self.instruction(*seq)?,
                };
                let other = rows_on_record.find(*other)?;
                let other = other.ok_or_else(|| corrupt("a row without its instruction"))?;
                let (id, theirs) = (other.row.id, other.row.instruction);
                let hidden = theirs
                    .msisdn
                    .is_forgotten()
                    .then(|| forgotten(&own, |parts| self.key.pseudonym(parts)));
                changed.compare((*seq, &own), hidden.as_ref().unwrap_or(&own), &theirs);
                let content = own.content_hash();
                current = Some((*seq, own));
                // What was allowed while the other one was open says nothing of a person's decision, and the other way round.
                let by_word: &[u8] = if *is_by_word { b"by word" } else { b"" };
                digest.add(
                    &Sha256::new()
                        .chain_update(content)
                        .chain_update(id.as_str())
                        .chain_update(by_word)
                        .finalize()
                        .into(),
                );
            }
            Ok(())
        })?;
        let digest = Sha256::digest(digest.to_text()).into();
        Ok((digest, changed))
    }

    fn came_back(&self) -> Result<CameBack, Error> {
        let told = match self.existed
            || self
                .plan
                .repeats
                .as_ref()
                .is_some_and(|plan| plan.record.is_some())
        {
            true => None,
            false if open_recovery(self.c)?.is_none() => None,
            false => told_loaded(self.c)?.remove(&key(self.plan.batch.as_str())),
        };
        let (mut all, mut rest) = (Identifiers::default(), Identifiers::default());
        if told.is_some() {
            let mut repeats = Found::kept(self.c.scratch()?).walk(Table::Repeat);
            let first = Test::is(&0_i64);
            let rows = self.rows_of_file().only(instruction::generation, first);
            let columns = [instruction::seq, instruction::identifier];
            self.c.each_row(&rows, &columns, |row| {
                let identifier: PayerTransactionId = row.get(1)?;
                all.add(identifier.as_str());
                if !repeats.has(row.get(0)?)? {
                    rest.add(identifier.as_str());
                }
                Ok::<_, Error>(ControlFlow::Continue(()))
            })?;
        }
        Ok(came_back(told.map(|told| told.identifiers), all, rest))
    }

    /// Returns the loads in a table of what was found, the newest first, with how many rows of the file each concerns.
    pub(in crate::journal) fn loads_of(
        &self,
        record: &dyn Read,
        table: Table,
    ) -> Result<Vec<(LoadId, RepeatedLoad)>, Error> {
        let counted = Found::kept(self.c.scratch()?).by_load(table)?;
        let mut loads = Vec::with_capacity(counted.len());
        for (load_id, rows) in counted {
            loads.push((load_id, self.load_of(record, load_id, rows)?));
        }
        Ok(loads)
    }

    fn load_of(
        &self,
        record: &dyn Read,
        load_id: LoadId,
        rows: u64,
    ) -> Result<RepeatedLoad, Error> {
        shape! {
            struct Named of load { batch_id: BatchId, source: String, loaded_at: Timestamp }
        }
        let (c, load_id): (&dyn Read, LoadId) = match load_id.is_same_file() {
            true => (self.c, self.load_id),
            false => (record, load_id),
        };
        let found: Option<Named> = c.first(&Scan::of(&load::TABLE).at(&load_id))?;
        let found = found.ok_or_else(|| corrupt("rows without their load"))?;
        Ok(RepeatedLoad {
            batch: of_batch(c, found.batch_id, batch::name)?,
            source: found.source,
            loaded_at: found.loaded_at,
            rows,
        })
    }

    /// Makes an error of every row that repeats another one.
    fn refuse_repeats(&mut self, record: &dyn Read, sorted: &mut Sorted) -> Result<(), Error> {
        let mut after = PaymentId::new(self.base);
        let plan = self.plan.repeats.as_ref();
        let vouched = Vouched::read_as(plan.and_then(|plan| plan.reading.as_deref()));
        let on_record = Record::of(record, vouched);
        loop {
            // The newest load that has the debt; read in pages, as rows are removed meanwhile.
            let page = Found::kept(self.c.scratch()?).newest_repeated(after)?;
            let Some((last, ..)) = page.last() else {
                return Ok(());
            };
            after = *last;
            self.expect_pairs(page.iter().map(|(seq, _, other)| (*seq, *other)))?;
            for (seq, load_id, seq_of_other) in page {
                let other = on_record
                    .other(seq_of_other)?
                    .ok_or_else(|| corrupt("an earlier row that is missing"))?;
                let load = self.load_of(record, load_id, 0)?;
                let row = self.instruction(seq)?;
                let error = CrossRowError {
                    good_row: self.good_row(seq),
                    ..told(&row, &other, &load)
                };
                if self.plan.skip_bad_rows {
                    self.forget_identifier(seq)?;
                    self.set_aside(seq, &row, error, sorted)?;
                } else {
                    sorted.late.push(error);
                }
                // Where nothing is loaded, nobody reads more.
                if !self.plan.skip_bad_rows && sorted.late.len() >= LATE_MAX {
                    return Ok(());
                }
            }
        }
    }

    fn forget_identifier(&self, seq: PaymentId) -> Result<(), Error> {
        let own = Scan::of(&instruction::TABLE).at(&seq);
        if let Some(id) = self.c.value::<String>(&own, instruction::identifier)? {
            let known = Scan::of(&identifier::TABLE).at(&id);
            self.c
                .remove(&known.only(identifier::seq, Test::is(&seq)))?;
        }
        Ok(())
    }
}

/// Says that a row repeats another one.
pub(in crate::journal) fn told(
    row: &Instruction<Stored>,
    other: &Other,
    load: &RepeatedLoad,
) -> CrossRowError {
    let whose = Repeated {
        line: other.row.line,
        source: &load.source,
        batch: &load.batch,
        day: &day(load.loaded_at),
        state: other.state_in_words(),
    };
    let same = References::of(
        row.reference.as_ref().map(|reference| reference.as_str()),
        other.reference(),
    );
    let (column, message) = match (same, &row.reference) {
        (References::Same, Some(reference)) => (
            "reference",
            match other.reference() {
                Some(other) if other != reference.as_str() => format!(
                    "{:?} reads like {other:?}, the reference of {whose}",
                    reference.as_str()
                ),
                _ => format!("{:?} is the reference of {whose}", reference.as_str()),
            },
        ),
        _ if same == References::Differ || !is_same_payment(row, &other.row) => (
            "rejected_row",
            format!(
                "is that of a row which was rejected because it repeats {whose}; what was changed of it makes no other debt of it"
            ),
        ),
        _ if row.money.known() != other.row.money.known() => (
            "",
            format!(
                "same recipient and service as {whose}; one of them takes its amount from the bill, and not both have a reference"
            ),
        ),
        _ => (
            "",
            format!("same recipient, amount and service as {whose}, and not both have a reference"),
        ),
    };
    CrossRowError {
        good_row: 0,
        line: row.line,
        column,
        message,
        digest: row.content_hash(),
    }
}
