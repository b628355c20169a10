//! Loading a file, all or nothing, in constant memory.
//!
//! Rows are inserted as they come; what only shows when all are seen (equal rows, a reference used twice, rows that an
//! earlier load brought) is found by SQLite's own sorter, which also lets the identifiers' index grow in order.

use std::sync::mpsc::Receiver;

use rusqlite::params;

use super::NEVER;
use super::blocks::Block;
use super::chain::{Chain, Chained};
use super::changed::changed;
use super::checked;
use super::corrections::Corrections;
use super::fingerprints::Key;
use super::held::hold_added;
use super::insert::{Insert, Placed};
use super::open;
use super::pin::{bind, purpose};
use super::prepare::{self, Preparer};
use super::recovery::open_recovery;
use super::row::{batch_id, corrupt, currency_of, service_id, service_of};
use super::sorted::Sorted;
use super::vouched::check_loads;
use crate::domain::{
    ContentDigest, Currency, Instruction, PayerTransactionId, ServiceCode, Tally, Written,
};
use crate::journal::{
    Error, Incoming, LateError, LoadPlan, LoadRefusal, LoadSummary, Loaded, RejectedRow,
};

/// Loads a file. Anything but [`Loaded::New`] leaves the journal as it was.
pub(super) fn load(
    c: &mut Chained,
    plan: &LoadPlan,
    rows: Receiver<Vec<Incoming>>,
) -> Result<Loaded, Error> {
    let outcome = Load::begin(c, plan).and_then(|load| match load {
        Ok(load) => load.take_in(rows),
        Err(refusal) => Ok(Loaded::Refused(refusal)),
    })?;
    if plan.dry_run || !matches!(outcome, Loaded::New(_)) {
        c.execute_batch("rollback")?;
    }
    Ok(outcome)
}

/// Amounts are divided by this before SQLite adds them up, so that their sum stays within 64 bits whatever they are.
const COARSE: i128 = 1_000_000;

pub(super) type ByService = Vec<(ServiceCode, Currency, Tally)>;

pub(super) struct Load<'a> {
    pub(super) c: &'a Chained,
    pub(super) plan: &'a LoadPlan,
    pub(super) batch_id: i64,
    pub(super) load_id: i64,
    /// Rows with a greater number are of this load.
    pub(super) base: i64,
    pub(super) existed: bool,
    /// An earlier journal may have posted its rows: ordered, or because this journal may have missed something.
    pub(super) presumes: bool,
    pub(super) rejected: Tally,
    pub(super) lanes: Vec<Lane>,
    /// What was computed while the rows passed: the digests of the instructions.
    pub(super) blocks: Vec<Block>,
    /// Rows were dropped or given another identifier since: what is said of the instructions is read from their table.
    pub(super) altered: bool,
    /// What the fingerprints are made with.
    pub(super) key: Key,
    /// Rows of the file that correct what the journal has.
    pub(super) corrections: Corrections,
}

/// What the rows of one service and one currency come to.
pub(super) struct Lane {
    service: ServiceCode,
    pub(super) service_id: i64,
    pub(super) currency: Currency,
    /// Its first row has this number, or a greater one.
    pub(super) first: i64,
    pub(super) priced: i64,
    pub(super) minor: i128,
    pub(super) unpriced: i64,
}

/// What a file holds beside payments.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) bad: u64,
    pub(super) bad_rows: ContentDigest,
    pub(super) ended: bool,
}

impl Seen {
    pub(super) fn take_bad(&mut self, row: &RejectedRow) {
        self.bad += 1;
        self.bad_rows.add(&row.digest);
    }

    /// Returns what tells the file from another one: the rows with errors are part of it.
    pub(super) fn digest(&self, of_rows: ContentDigest) -> String {
        let plain = self.plain_digest(of_rows);
        match self.bad {
            0 => plain,
            _ => format!("{plain}+{}", self.bad_rows.to_text()),
        }
    }

    /// The same as versions before 5 had it: of the rows with errors only their number was told.
    pub(super) fn plain_digest(&self, of_rows: ContentDigest) -> String {
        format!("{}+{}", of_rows.to_text(), self.bad)
    }
}

impl<'a> Load<'a> {
    pub(super) fn begin(
        c: &'a Chained,
        plan: &'a LoadPlan,
    ) -> Result<Result<Self, LoadRefusal>, Error> {
        let existing = batch_id(c, plan.batch.as_str())?;
        if let Some(batch_id) = existing {
            let originator: String = c.query_row(
                "select originator from batch where batch_id = ?1",
                [batch_id],
                |row| row.get(0),
            )?;
            if originator != plan.originator.as_str() {
                return Ok(Err(LoadRefusal::OtherOriginator(originator)));
            }
            let purpose = purpose(c, batch_id)?;
            if !purpose.agrees(plan.purpose) {
                return Ok(Err(LoadRefusal::OtherPurpose(purpose)));
            }
        }
        let now = plan.now.as_millis();
        let presumes = plan.presume_posted || open_recovery(c)?.is_some();
        let record = plan.repeats.as_ref().and_then(|plan| plan.record.as_ref());
        let on_record = match record {
            Some(path) => {
                let record = open::for_reading(path)?;
                check_loads(&record)?;
                Key::of(&record)?
            }
            None => None,
        };
        if plan.repeats.is_some() {
            check_loads(c)?;
        }
        if let Some(key) = on_record {
            key.keep(c)?;
        }
        let key = Key::made(c)?;
        let batch_id = match existing {
            Some(batch_id) => batch_id,
            None => {
                c.execute(
                    "insert into batch (name, originator, created_at) values (?1, ?2, ?3)",
                    params![plan.batch.as_str(), plan.originator.as_str(), now],
                )?;
                let batch_id = c.last_insert_rowid();
                Chain::begin(c, batch_id)?;
                batch_id
            }
        };
        c.mark(batch_id);
        checked::begin(c)?;
        if existing.is_none() {
            bind(c, batch_id, plan.purpose)?;
        }
        c.execute(
            "insert into load (batch_id, source, digest, loaded_at, accepted, rejected) values (?1, ?2, '', ?3, 0, 0)",
            params![batch_id, plan.source, now],
        )?;
        Ok(Ok(Self {
            c,
            plan,
            batch_id,
            load_id: c.last_insert_rowid(),
            base: c.query_row("select coalesce(max(seq), 0) from instruction", [], |row| {
                row.get(0)
            })?,
            existed: existing.is_some(),
            presumes,
            rejected: Tally::default(),
            lanes: Vec::new(),
            blocks: Vec::new(),
            altered: false,
            key,
            corrections: Corrections::default(),
        }))
    }

    fn take_in(mut self, rows: Receiver<Vec<Incoming>>) -> Result<Loaded, Error> {
        let mut seen = Seen::default();
        let mut insert = Insert::new(self.c)?;
        let preparer = Preparer::new(self.plan, (self.load_id, self.base), Some(self.key));
        let prepared = prepare::each(preparer, rows, |rows, ids| {
            self.block(&mut insert, rows, ids, &mut seen)
        })?;
        insert.flush()?;
        drop(insert);
        let bad = seen.bad;
        if !seen.ended {
            return Ok(Loaded::Refused(LoadRefusal::Unreadable));
        }
        let last = prepared.last();
        if last > self.base && self.c.last_insert_rowid() != last {
            return Err(corrupt("numbers of instructions that are not in sequence"));
        }
        self.blocks = prepared.passing.finish(last);
        if let Some(refusal) = self.too_much()? {
            return Ok(Loaded::Refused(refusal));
        }
        let (order, fingerprints) = (prepared.order, prepared.fingerprints);
        let digest = seen.digest(prepared.digest);
        if !self.plan.new_documents
            && let Some(loaded) = self.recalled(&digest)?
        {
            return Ok(loaded);
        }
        let plain = seen.plain_digest(prepared.digest);
        if bad > 0
            && !self.plan.new_documents
            && self.has_set_aside_the_same(&plain)?
            && let Some(loaded) = self.recalled(&plain)?
        {
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
        if self.existed {
            if bad > 0 {
                sorted.set_aside_before = self.drop_set_aside_before()?;
            }
            if !sorted.late.is_empty() && !skips {
                return Ok(Loaded::Refused(bad_rows(bad, sorted)));
            }
            if let Some(refusal) = self.compare(&sorted)? {
                return Ok(Loaded::Refused(refusal));
            }
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
            true => "",
            false => digest.as_str(),
        };
        self.finish(digest, sorted)
    }

    /// Refuses rows whose sum SQLite could not add up: every later command would fail at it.
    fn too_much(&self) -> Result<Option<LoadRefusal>, Error> {
        let mut total = self.rejected.amounts.clone();
        for lane in &self.lanes {
            total.add_minor(lane.currency, lane.minor);
        }
        self.corrections
            .replacing()
            .for_each(|money| total.add(money));
        if self.existed {
            let mut statement = self.c.prepare(&format!(
                "select currency, sum(amount / {COARSE}) from instruction
                 where batch_id = ?1 and seq <= ?2 and generation = 0 group by currency"
            ))?;
            let mut rows = statement.query([self.batch_id, self.base])?;
            while let Some(row) = rows.next()? {
                let currency = currency_of(&row.get::<_, String>(0)?)?;
                let coarse: Option<i64> = row.get(1)?;
                total.add_minor(currency, i128::from(coarse.unwrap_or(0)) * COARSE);
            }
        }
        Ok(total.is_beyond_counting().then(|| LoadRefusal::TooMuch {
            total: total.to_string(),
        }))
    }

    fn finish(self, digest: &str, sorted: Sorted) -> Result<Loaded, Error> {
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
        if let Some(refusal) = self.check_declared(&summary, &known) {
            return Ok(Loaded::Refused(refusal));
        }
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let open_total = self.plan.expect_total.filter(|_| summary.unpriced > 0);
        if self.plan.dry_run {
            return Ok(Loaded::New(summary));
        }
        self.c.execute(
            "update load set digest = ?2, accepted = ?3, rejected = ?4, total = ?5, total_currency = ?6 where load_id = ?1",
            params![
                self.load_id,
                digest,
                count(total.count),
                count(summary.rejected.count),
                open_total.map(|(_, amount)| amount.minor()),
                open_total.map(|(currency, _)| currency.code()),
            ],
        )?;
        self.begin_lives()?;
        self.carry_out_corrections()?;
        self.carry_out_replacements()?;
        if summary.mended + summary.replaced > 0 {
            summary.changed = changed(self.c, self.batch_id, self.base)?;
        }
        if self.existed {
            hold_added(self.c, self.batch_id, self.load_id)?;
        }
        // A copy that has lost it knows what was corrected as it was, and would take another correction for the first one; and
        // what failed may be paid by a row that was added.
        match summary.mended + summary.replaced {
            0 if self.existed && total.count > 0 => self.c.count_order()?,
            0 => {}
            _ => {
                let source = self.plan.source.as_str().into();
                self.c
                    .acted(self.batch_id, self.plan.now, "correct", source)?;
            }
        }
        Ok(Loaded::New(summary))
    }

    fn block(
        &mut self,
        insert: &mut Insert<'_>,
        rows: &[Incoming],
        ids: &[PayerTransactionId],
        seen: &mut Seen,
    ) -> Result<(), Error> {
        let mut ids = ids.iter();
        let mut next = || {
            ids.next()
                .ok_or_else(|| corrupt("a row without identifier"))
        };
        for row in rows {
            match row {
                Incoming::Good(row) if self.corrections.is_replacement_next() => {
                    let others = self.newest() - self.base;
                    self.corrections
                        .take_replacement(row.line, Some(row), others);
                }
                Incoming::Unpriced(row) if self.corrections.is_replacement_next() => {
                    let others = self.newest() - self.base;
                    self.corrections.take_replacement(row.line, None, others);
                }
                Incoming::Good(row) => {
                    let minor = row.money.amount.minor();
                    self.insert(insert, row, next()?, Some(minor))?;
                    self.corrections.take(row.line, Some(self.newest()));
                }
                Incoming::Unpriced(row) => {
                    self.insert(insert, row, next()?, None)?;
                    self.corrections.take(row.line, Some(self.newest()));
                }
                Incoming::Bad(row) => {
                    seen.take_bad(row);
                    // What it was to correct stays as it is.
                    match self.corrections.take(row.line, None) {
                        true => self.corrections.count_still_bad(row.money),
                        false => self.reject(row)?,
                    }
                }
                Incoming::Corrects(corrects) => self.corrections.announce(corrects),
                Incoming::End => seen.ended = true,
            }
        }
        Ok(())
    }

    fn insert<M: Written>(
        &mut self,
        insert: &mut Insert<'_>,
        row: &Instruction<M>,
        id: &PayerTransactionId,
        amount: Option<i64>,
    ) -> Result<(), Error> {
        let placed = Placed {
            batch_id: self.batch_id,
            load_id: self.load_id,
            service_id: self.count(row, amount)?,
        };
        self.note_document(row)?;
        insert.row(&placed, id, 0, self.plan.now.as_millis(), row, amount)
    }

    /// Returns the number of the instruction that was inserted last.
    pub(super) fn newest(&self) -> i64 {
        let counted = self.lanes.iter().map(|lane| lane.priced + lane.unpriced);
        self.base + counted.sum::<i64>()
    }

    /// Counts a row in its lane; returns its service's number.
    pub(super) fn count<M: Written>(
        &mut self,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<i64, Error> {
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

    /// Compares the file as a whole with what was declared: new rows, rejected ones, and those that were there before.
    pub(super) fn check_declared(
        &self,
        summary: &LoadSummary,
        unchanged: &Tally,
    ) -> Option<LoadRefusal> {
        let mut all = summary.total();
        all.add_all(&summary.rejected);
        all.add_all(unchanged);
        if let Some(expected) = self
            .plan
            .expect_count
            .filter(|expected| *expected != all.count)
        {
            return Some(LoadRefusal::Count {
                expected,
                found: all.count,
            });
        }
        // Compared once the rows without an amount have theirs.
        let (currency, amount) = self.plan.expect_total.filter(|_| summary.unpriced == 0)?;
        let others = all.amounts.iter().any(|(found, _)| found != currency);
        if all.amounts.minor(currency) == i128::from(amount.minor()) && !others {
            return None;
        }
        let expected = crate::domain::Money { amount, currency };
        Some(LoadRefusal::Total {
            expected: format!("{currency} {expected}"),
            found: all.amounts.to_string(),
        })
    }

    pub(super) fn summary(
        &self,
        late: Vec<LateError>,
        unchanged: u64,
    ) -> Result<LoadSummary, Error> {
        let (accepted, unpriced) = match self.altered {
            true => self.accepted("seq > ?1", self.base)?,
            false => self.passed(),
        };
        Ok(LoadSummary {
            accepted,
            unpriced,
            rejected: self.rejected.clone(),
            late,
            unchanged,
            ..LoadSummary::default()
        })
    }

    /// What the rows that passed add up to, and how many of them wait for their amount.
    fn passed(&self) -> (ByService, u64) {
        let mut accepted: ByService = self
            .lanes
            .iter()
            .map(|lane| {
                let mut tally = Tally::default();
                let rows = (lane.priced + lane.unpriced).unsigned_abs();
                tally.add_many(rows, lane.currency, lane.minor);
                (lane.service.clone(), lane.currency, tally)
            })
            .collect();
        accepted.sort_by(|(a, b, _), (c, d, _)| (a, b).cmp(&(c, d)));
        let unpriced = self.lanes.iter().map(|lane| lane.unpriced.unsigned_abs());
        (accepted, unpriced.sum())
    }

    /// The same of rows in the table.
    pub(super) fn accepted(
        &self,
        which: &'static str,
        bound: i64,
    ) -> Result<(ByService, u64), Error> {
        let mut statement = self.c.prepare(&format!(
            "select code, currency, count(*), coalesce(sum(amount), 0),
                 count(*) filter (where amount is null and not exists (select 1 from life where life.seq = instruction.seq)) from instruction join service using (service_id)
             where {which} group by code, currency order by code, currency"
        ))?;
        let mut rows = statement.query([bound])?;
        let (mut accepted, mut unpriced) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            unpriced += row.get::<_, i64>(4)?.unsigned_abs();
            let currency: Currency = currency_of(&row.get::<_, String>(1)?)?;
            let mut tally = Tally::default();
            tally.add_many(
                row.get::<_, i64>(2)?.unsigned_abs(),
                currency,
                i128::from(row.get::<_, i64>(3)?),
            );
            accepted.push((service_of(&row.get::<_, String>(0)?)?, currency, tally));
        }
        Ok((accepted, unpriced))
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
