//! Loading a file, all or nothing, in constant memory.
//!
//! Rows are inserted as they come; what only shows when all are seen (equal rows, a reference used twice, rows that an
//! earlier load brought) is found when their identifiers are sorted, which also lets the identifiers' index grow in order.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;

use super::changed::changed;
use super::checked::Checked;
use super::corrections::Corrections;
use super::job::{Lane, Load, Seen};
use super::numbers::{Payments, Places};
use super::other_reading::{layout_changed, layout_missing, read_before};
use super::prepare::{self, Prepared, Preparer};
use super::sorted::Sorted;
use crate::domain::{
    AmountField, BatchId, BatchName, Currency, Instruction, LaneId, LoadId, Originator, PaymentId,
    ServiceCode, Tally, Timestamp,
};
use crate::journal::codec::catalog::{form_text, of_batch, purpose, scheme_in_use};
use crate::journal::codec::insert::{Insert, Placed};
use crate::journal::codec::values::NEVER;
use crate::journal::codec::values::{batch_id, corrupt, service_id, services};
use crate::journal::evidence::chain::Chain;
use crate::journal::forget::facts::has_forgotten;
use crate::journal::opening;
use crate::journal::recovery::begun;
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::recovery::noticed::open_recovery;
use crate::journal::recovery::on_chain;
use crate::journal::recovery::when_done;
use crate::journal::repeats::fingerprints::Key;
use crate::journal::repeats::vouched::check_loads;
use crate::journal::run::dates::other_dates;
use crate::journal::run::lanes::hold_added;
use crate::journal::run::pinned::bind;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRefusal, LoadRow, Loaded};
use crate::ledger::payer::Identifiers;
use crate::store::tables::{batch, instruction, load};
use crate::store::{Reads, Scan, Transact, Writes, shape};

shape! {
    /// A batch that begins.
    struct NewBatch of batch { name: BatchName, originator: Originator, created_at: Timestamp, identifier_form: Option<String> }
}
shape! {
    /// A load that begins.
    struct NewLoad of load {
        batch_id: BatchId, source: String, digest: String, loaded_at: Timestamp, accepted: i64, rejected: i64,
        layout: Option<String>, layout_digest: Option<String>, file_digest: Option<String>,
    }
}
shape! {
    /// What a load came to.
    struct EndedLoad of load {
        digest: String, accepted: i64, rejected: i64, total: Option<i64>, total_currency: Option<Currency>, payments: i64,
        identifiers: i64,
    }
}

/// Loads a file. Anything but [`Loaded::New`] leaves the journal as it was.
pub(in crate::journal) fn load(
    c: &mut WriteSession,
    plan: &LoadPlan,
    rows: Receiver<Vec<LoadRow>>,
) -> Result<Loaded, Error> {
    let outcome = Load::begin(c, plan).and_then(|load| match load {
        Ok(load) => load.take_in(rows),
        Err(refusal) => Ok(Loaded::Refused(refusal)),
    })?;
    if plan.dry_run || !matches!(outcome, Loaded::New(_)) {
        Transact::rollback(&**c)?;
    }
    Ok(outcome)
}

/// Behind the digest of a file with rows that were to correct others, and have errors again.
const STILL_BAD: &str = "still bad";

impl<'a> Load<'a> {
    pub(in crate::journal) fn begin(
        c: &'a WriteSession,
        plan: &'a LoadPlan,
    ) -> Result<Result<Self, LoadRefusal>, Error> {
        let existing = batch_id(c, plan.batch.as_str())?;
        if let Some(batch_id) = existing
            && let Some(refusal) = refuse_another(c, plan, batch_id)?
        {
            return Ok(Err(refusal));
        }
        for other_reading in [layout_changed, layout_missing, read_before, other_dates] {
            if let Some(refusal) = other_reading(c, plan, existing)? {
                return Ok(Err(refusal));
            }
        }
        on_chain::assert_as_recorded(c)?;
        // What it begins is told once it is certain that the file is loaded.
        let begins = plan.presume_posted
            && !plan.dry_run
            && begun::begins(c, existing, plan.purpose, false)?;
        if begins {
            begun::order(c, plan.now)?;
        }
        let presumes = plan.presume_posted || open_recovery(c)?.is_some();
        let (key, services_on_record) = on_record(c, plan)?;
        let (batch_id, scheme) = match existing {
            Some(batch_id) => (batch_id, scheme_in_use(c, batch_id, &plan.batch)?),
            None => (begin_batch(c, plan)?, plan.scheme()),
        };
        c.mark(batch_id);
        if existing.is_none() {
            bind(c, batch_id, plan.purpose)?;
        }
        let layout = plan.layout.as_ref();
        let load_id = Writes::append(
            c,
            &NewLoad {
                batch_id,
                source: plan.source.clone(),
                digest: String::new(),
                loaded_at: plan.now,
                accepted: 0,
                rejected: 0,
                layout: layout.map(|layout| layout.name.clone()),
                layout_digest: layout.map(|layout| layout.digest.clone()),
                file_digest: layout.map(|layout| layout.file.clone()),
            },
        )?;
        Ok(Ok(Self {
            c,
            plan,
            scheme,
            batch_id,
            load_id: LoadId::new(load_id),
            base: newest(c)?,
            existed: existing.is_some(),
            presumes,
            begins,
            rejected: Tally::default(),
            skipped: Tally::default(),
            lanes: Vec::new(),
            blocks: Vec::new(),
            altered: false,
            identifiers: Identifiers::default(),
            key,
            corrections: Corrections::default(),
            services_on_record,
            kept: Payments::default(),
            no_payments: Places::default(),
            newest_set_aside: Some((0, -1)),
            documents: Checked::default(),
        }))
    }

    fn take_in(mut self, rows: Receiver<Vec<LoadRow>>) -> Result<Loaded, Error> {
        let mut seen = Seen::default();
        let mut insert = Insert::new(self.c)?;
        let preparer = Preparer::new(
            self.plan,
            &self.scheme,
            (self.load_id, self.base),
            Some(self.key),
            &self.services_on_record,
        );
        let prepared = prepare::each(preparer, rows, |rows, ids| {
            self.block(&mut insert, rows, ids, &mut seen)
        })?;
        insert.flush()?;
        drop(insert);
        self.newest_set_aside = None;
        let bad = seen.bad;
        if !seen.ended {
            return Ok(Loaded::Refused(LoadRefusal::Unreadable));
        }
        let last = prepared.last().get();
        if last > self.base && newest(self.c)? != last {
            return Err(corrupt("numbers of instructions that are not in sequence"));
        }
        self.identifiers = prepared.identifiers;
        self.blocks = prepared.passing.finish(last);
        if let Some(refusal) = self.too_much()? {
            return Ok(Loaded::Refused(refusal));
        }
        let (order, fingerprints) = (
            prepared.order,
            prepared.fingerprints.zip(prepared.through_others),
        );
        let digest = seen.digest(prepared.digest);
        let plain = seen.plain_digest(prepared.digest);
        if let Some(loaded) = self.concluded((&digest, &plain), bad)? {
            return Ok(loaded);
        }
        if bad > 0 && !self.plan.skip_bad_rows {
            let mut sorted = self.sort_out(order)?;
            self.find_repeats(fingerprints, &mut sorted)?;
            return Ok(Loaded::Refused(bad_rows(bad, sorted)));
        }
        let mut sorted = self.sort_out(order)?;
        let skips = self.plan.skip_bad_rows;
        let is_added = self.existed && self.plan.amend;
        if !is_added && let Some(refusal) = self.refuse_corrections(&mut sorted)? {
            return Ok(Loaded::Refused(refusal));
        }
        if !sorted.anothers.is_empty() {
            return Ok(Loaded::Refused(LoadRefusal::Corrections(sorted.anothers)));
        }
        if self.existed
            && let Some(refusal) = self.refuse_change((bad, skips), is_added, &mut sorted)?
        {
            return Ok(Loaded::Refused(refusal));
        }
        if is_added && let Some(refusal) = self.refuse_corrections(&mut sorted)? {
            return Ok(Loaded::Refused(refusal));
        }
        self.find_repeats(fingerprints, &mut sorted)?;
        if !sorted.late.is_empty() && !skips {
            return Ok(Loaded::Refused(bad_rows(bad, sorted)));
        }
        // It is the file of another load already.
        let digest = match self.plan.new_documents {
            true => String::new(),
            // Not all of it is in the batch: said again, it is judged again.
            false if self.corrections.still_bad.count > 0 => format!("{digest}+{STILL_BAD}"),
            false => digest,
        };
        self.finish(&digest, sorted)
    }

    /// Returns what became of the file when it was loaded before: with the same bad rows, or with them set aside.
    fn loaded_before(
        &mut self,
        digest: &str,
        plain: &str,
        bad: u64,
    ) -> Result<Option<Loaded>, Error> {
        if let Some(loaded) = self.recalled(digest)? {
            return Ok(Some(loaded));
        }
        match bad > 0 && self.has_set_aside_the_same(plain)? {
            true => self.recalled(plain),
            false => Ok(None),
        }
    }

    /// Returns why the batch is not changed by the file, if it is not.
    fn refuse_change(
        &mut self,
        (bad, skips): (u64, bool),
        is_added: bool,
        sorted: &mut Sorted,
    ) -> Result<Option<LoadRefusal>, Error> {
        if bad + self.skipped.count > 0 {
            sorted.set_aside_before = self.drop_set_aside_before()?;
        }
        if !sorted.late.is_empty() && !skips {
            return Ok(Some(bad_rows(bad, std::mem::take(sorted))));
        }
        if is_added && let Some(refusal) = self.find_mended()? {
            return Ok(Some(refusal));
        }
        match self.compare(sorted)? {
            Some(refusal) => Ok(Some(refusal)),
            None => self.refuse_withdrawn(),
        }
    }

    fn finish(mut self, digest: &str, sorted: Sorted) -> Result<Loaded, Error> {
        let unchanged = sorted.unchanged.count;
        let mut summary = self.summary(sorted.late, unchanged)?;
        summary.unpriced += sorted.unpriced;
        (summary.new_documents, summary.kept_documents) =
            (sorted.new_documents, sorted.kept_documents);
        summary.alike = sorted.alike;
        summary.repeats = sorted.repeats;
        let mut known = sorted.unchanged;
        known.add_all(&sorted.set_aside_before);
        known.add_all(&self.corrections.still_bad);
        summary.mended = self.corrections.mended();
        summary.cancelled = self.kept_cancelled()?;
        summary.replaced = self.corrections.links().count() as u64;
        if self.is_checked_alone() {
            self.count_corrections(&mut summary);
        }
        let total = summary.total();
        if total.count + summary.rejected.count + known.count == 0 {
            return Ok(Loaded::Refused(LoadRefusal::NoRows));
        }
        if summary.unpriced > 0 && unchanged > 0 && self.plan.expect_total.is_some() {
            return Ok(Loaded::Refused(LoadRefusal::TotalOpen(summary.unpriced)));
        }
        if let Some(refusal) = self.check_declared(&summary, &known)? {
            return Ok(Loaded::Refused(refusal));
        }
        if let Some(refusal) = self.over_ceiling(&summary)? {
            return Ok(Loaded::Refused(refusal));
        }
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let open_total = self.plan.expect_total.filter(|_| summary.unpriced > 0);
        if self.plan.dry_run {
            return Ok(Loaded::New(summary));
        }
        let (payments, identifiers) = self.identifiers()?.to_stored();
        let one = Scan::of(&load::TABLE).at(&self.load_id);
        self.c.change(
            &one,
            &EndedLoad {
                digest: digest.to_owned(),
                accepted: count(total.count),
                // Whatever became of them, they are rows of the file.
                rejected: count(summary.rejected.count + summary.skipped.count),
                total: open_total.map(|(_, amount)| amount.minor()),
                total_currency: open_total.map(|(currency, _)| currency),
                payments,
                identifiers,
            },
        )?;
        self.begin_lives()?;
        self.withdraw_skipped()?;
        self.carry_out_corrections()?;
        self.carry_out_replacements()?;
        if summary.mended + summary.replaced > 0 {
            summary.changed = changed(self.c, self.batch_id, self.base)?;
        }
        if self.existed {
            hold_added(self.c, self.batch_id, self.load_id)?;
        }
        self.tell_orders(summary.mended + summary.replaced, total.count)?;
        self.tell_place()?;
        Ok(Loaded::New(summary))
    }

    /// Counts what a person ordered with this load.
    fn tell_orders(&self, corrected: u64, added: u64) -> Result<(), Error> {
        // A copy that has lost it knows what was corrected as it was, and would take another correction for the first one; and
        // what failed may be paid by a row that was added.
        match corrected {
            0 if self.existed && added > 0 => {
                let rows = self.touched()?;
                self.c
                    .count_order(self.batch_id, self.plan.now, "load --amend", &rows)?;
            }
            0 => {}
            _ => {
                let (source, rows) = (self.plan.source.as_str().into(), self.touched()?);
                let place = (self.batch_id, self.plan.now);
                self.c.act_upon(place, "correct", source, &rows, None)?;
            }
        }
        Ok(())
    }

    /// Tells the mark beside the journal, and the chain, what began or changed with this load.
    fn tell_place(&self) -> Result<(), Error> {
        let moved = when_done::judge_anew(self.c)?;
        let now = self.plan.now;
        match (self.begins, self.existed) {
            (true, _) => drop(begun::carry_out(self.c, now)?),
            (false, _) if moved => on_chain::tell_moved(self.c, now)?,
            (false, false) => on_chain::tell_new(self.c, self.batch_id, now)?,
            (false, true) => {}
        }
        Ok(())
    }

    /// The payments that came with this load.
    fn touched(&self) -> Result<Touched, Error> {
        let mut touched = Touched::default();
        self.c
            .each_row(&self.own_rows(), &[instruction::identifier], |row| {
                touched.add(&row.get::<String>(0)?);
                Ok::<_, Error>(ControlFlow::Continue(()))
            })?;
        Ok(touched)
    }

    fn block(
        &mut self,
        insert: &mut Insert<'_>,
        rows: &[LoadRow],
        prepared: &[Prepared],
        seen: &mut Seen,
    ) -> Result<(), Error> {
        let mut prepared = prepared.iter();
        let mut next = || {
            prepared
                .next()
                .ok_or_else(|| corrupt("a row without identifier"))
        };
        for row in rows {
            match row {
                LoadRow::Valid(row) if self.corrections.is_replacement_next() => {
                    let others = self.newest().get() - self.base;
                    self.corrections
                        .take_replacement(row.line, Some(row), others);
                }
                LoadRow::Unpriced(row) if self.corrections.is_replacement_next() => {
                    let others = self.newest().get() - self.base;
                    self.corrections.take_replacement(row.line, None, others);
                }
                LoadRow::Valid(row) => {
                    let minor = row.money.amount.minor();
                    self.insert(insert, row, next()?, Some(minor))?;
                    self.corrections.take(row.line, Some(self.newest()));
                }
                LoadRow::Unpriced(row) => {
                    self.insert(insert, row, next()?, None)?;
                    self.corrections.take(row.line, Some(self.newest()));
                }
                LoadRow::Invalid(row) => {
                    seen.take_bad(row);
                    // What it was to correct stays as it is.
                    match self.corrections.take(row.line, None) {
                        true => self.corrections.count_still_bad(row.money),
                        false => self.reject(row)?,
                    }
                }
                LoadRow::Skipped(row) => {
                    seen.take_skipped(row);
                    match self.corrections.take(row.line, None) {
                        true => self.corrections.count_still_bad(row.money),
                        false => self.skip(row)?,
                    }
                }
                LoadRow::Corrects(corrects) => self.corrections.announce(corrects),
                LoadRow::EndOfFile => seen.ended = true,
            }
        }
        Ok(())
    }

    /// Returns what the load comes to where nothing of it is to be sorted out.
    fn concluded(
        &mut self,
        (digest, plain): (&str, &str),
        bad: u64,
    ) -> Result<Option<Loaded>, Error> {
        if !self.plan.new_documents
            && let Some(loaded) = self.loaded_before(digest, plain, bad)?
        {
            return Ok(Some(loaded));
        }
        // The file itself is known still; whatever else is brought stands beside rows that nobody can compare any more.
        let is_closed = self.existed && has_forgotten(self.c, self.batch_id)?;
        Ok(is_closed.then_some(Loaded::Refused(LoadRefusal::Forgotten)))
    }

    fn insert<M: AmountField>(
        &mut self,
        insert: &mut Insert<'_>,
        row: &Instruction<M>,
        prepared: &Prepared,
        amount: Option<i64>,
    ) -> Result<(), Error> {
        let placed = Placed {
            batch_id: self.batch_id,
            load_id: self.load_id,
            service_id: self.count(row, amount)?,
            salt: prepared.salt,
        };
        self.note_document(row)?;
        insert.row(
            &placed,
            &prepared.id,
            0,
            self.plan.now.as_millis(),
            row,
            amount,
        )
    }

    /// Returns the number of the instruction that was inserted last.
    pub(in crate::journal) fn newest(&self) -> PaymentId {
        let counted = self.lanes.iter().map(|lane| lane.priced + lane.unpriced);
        PaymentId::new(self.base + counted.sum::<i64>())
    }

    /// Counts a row in its lane; returns its service's number.
    pub(in crate::journal) fn count<M: AmountField>(
        &mut self,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<LaneId, Error> {
        let (service, currency) = (&row.service, row.money.currency());
        // A file names a handful of services.
        let known = |lane: &Lane| lane.currency == currency && lane.service == *service;
        let at = match self.lanes.iter().position(known) {
            Some(at) => at,
            None => {
                let before: i64 = self
                    .lanes
                    .iter()
                    .map(|lane| lane.priced + lane.unpriced)
                    .sum();
                self.lanes.push(Lane {
                    first: self.base + before + 1,
                    service: service.clone(),
                    service_id: service_id(self.c, service)?,
                    currency,
                    priced: 0,
                    minor: 0,
                    unpriced: 0,
                });
                self.lanes.len() - 1
            }
        };
        let lane = &mut self.lanes[at];
        match amount {
            Some(minor) => {
                lane.priced += 1;
                lane.minor += i128::from(minor);
            }
            None => lane.unpriced += 1,
        }
        Ok(lane.service_id)
    }
}

fn bad_rows(rejected: u64, sorted: Sorted) -> LoadRefusal {
    LoadRefusal::BadRows {
        rejected,
        late: sorted.late,
        repeats: sorted.repeats,
        alike: sorted.alike,
    }
}

// The check constraint on due_at ties ended states to this value.
const _: () = assert!(NEVER == 9_223_372_036_854_775_807);

/// Returns why nothing is added to the batch of this name, if it is another's.
fn refuse_another(
    c: &WriteSession,
    plan: &LoadPlan,
    batch_id: BatchId,
) -> Result<Option<LoadRefusal>, Error> {
    let originator: String = of_batch(c, batch_id, batch::originator)?;
    if originator != plan.originator.as_str() {
        return Ok(Some(LoadRefusal::OtherOriginator(originator)));
    }
    let purpose = purpose(c, batch_id)?;
    Ok((!purpose.agrees(plan.purpose)).then_some(LoadRefusal::OtherPurpose(purpose)))
}

/// Returns the key of the fingerprints and the services of what is on record, once its loads were compared with the chain: of this
/// journal, or of the one that the rows are compared with.
fn on_record(c: &WriteSession, plan: &LoadPlan) -> Result<(Key, Vec<ServiceCode>), Error> {
    let mut services_on_record = Vec::new();
    if let Some(repeats) = &plan.repeats {
        match &repeats.record {
            Some(at) => {
                let keeper = opening::for_reading(at)?;
                let record = keeper.store();
                check_loads(record)?;
                services_on_record = services(record)?;
                if let Some(key) = Key::of(record)? {
                    key.keep(c)?;
                }
            }
            None => services_on_record = services(c)?,
        }
        check_loads(c)?;
    }
    Ok((Key::made(c)?, services_on_record))
}

fn begin_batch(c: &WriteSession, plan: &LoadPlan) -> Result<BatchId, Error> {
    let batch_id = Writes::append(
        c,
        &NewBatch {
            name: plan.batch.clone(),
            originator: plan.originator.clone(),
            created_at: plan.now,
            identifier_form: form_text(&plan.form),
        },
    )?;
    let batch_id = BatchId::new(batch_id);
    Chain::begin(c, batch_id)?;
    Ok(batch_id)
}

/// Returns the number of the newest instruction; 0 where there is none.
fn newest(c: &WriteSession) -> Result<i64, Error> {
    let newest = c.value(
        &Scan::of(&instruction::TABLE).descending(),
        instruction::seq,
    )?;
    Ok(newest.unwrap_or(0))
}
