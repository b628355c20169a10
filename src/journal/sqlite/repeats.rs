//! Rows of a load that repeat rows of other loads. The rule is in [`crate::ledger::repeats`].
//!
//! What the fingerprints find is kept in tables of the connection's own until the whole file was looked at: memory does not
//! grow with what is found.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

use super::fingerprints::{Collector, Entry, Store, is_named, is_of_payment, place_of};
use super::joins::{has_open, join, join_open};
use super::load::Load;
use super::on_record::{OnRecord, Other, Which, loads_on_record, other};
use super::open;
use super::row::{PAYMENT_COLUMNS, PAYMENT_WIDTH, Stored, corrupt, stored_of};
use super::sorted::{LATE_MAX, Sorted};
use super::vouched::{Vouched, check_row};
use crate::domain::{ContentDigest, Instruction, Timestamp, Written};
use crate::journal::{
    ALIKE_MAX, AlikeKind, Error, LateError, REPEATED_LOADS, RepeatPlan, RepeatedLoad, Repeats,
};
use crate::ledger::repeats::{
    Likeness, References, Standing, is_of_failure, is_same_payment, is_watched, likeness,
    may_be_same_person, recipient,
};

/// In the place of a load on record: the file itself, by what rows of it have in common.
pub(super) const SAME_FILE: i64 = 0;
pub(super) const SAME_BILL: i64 = -1;
pub(super) const SAME_REFERENCE: i64 = -2;
/// Failures of one load that a row is watched for.
const WATCHED: usize = 16;

/// What is found while the fingerprints are compared: the row of the file, the load on record, its row.
pub(super) struct Found<'c> {
    c: &'c Connection,
}

/// The tables of what is found.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Repeat,
    Alike,
    Watched,
    /// Repeats of what failed by the word of a person: allowed, they are watched as well.
    ByWord,
}

impl Found<'_> {
    fn begin(c: &Connection) -> Result<Found<'_>, Error> {
        c.execute_batch(
            "drop table if exists temp.repeat; drop table if exists temp.alike_found; drop table if exists temp.watched_found;
             drop table if exists temp.by_word;
             create temp table repeat (seq integer, load_id integer, other integer, primary key (seq, load_id)) without rowid;
             create temp table alike_found (seq integer, load_id integer, other integer, primary key (seq, load_id)) without rowid;
             create temp table watched_found (seq integer, load_id integer, other integer, primary key (seq, other)) without rowid;
             create temp table by_word (seq integer, load_id integer, other integer, primary key (seq, other)) without rowid;",
        )?;
        Ok(Found { c })
    }

    pub(super) fn add(
        &self,
        table: Table,
        seq: i64,
        load_id: i64,
        other: i64,
    ) -> Result<(), Error> {
        let sql = match table {
            Table::Repeat => "insert or ignore into temp.repeat values (?1, ?2, ?3)",
            Table::Alike => "insert or ignore into temp.alike_found values (?1, ?2, ?3)",
            Table::Watched => "insert or ignore into temp.watched_found values (?1, ?2, ?3)",
            Table::ByWord => "insert or ignore into temp.by_word values (?1, ?2, ?3)",
        };
        self.c.prepare_cached(sql)?.execute([seq, load_id, other])?;
        Ok(())
    }

    fn number(&self, sql: &str) -> Result<u64, Error> {
        let number: i64 = self.c.query_row(sql, [], |row| row.get(0))?;
        Ok(number.unsigned_abs())
    }
}

/// Rows on record that are one and the same payment, as far as they decide about another one.
#[derive(Default)]
struct SamePayment {
    /// One that counts, with a reference and without.
    counting: [Option<Other>; 2],
    /// One that counts only where the batch has set rows aside, likewise.
    old: [Option<Other>; 2],
    failed: Vec<Other>,
}

/// What tells payments from one another whose hashes are the same: who receives, through which service, and the amount, which
/// may be open.
pub(super) type PaymentKey = (String, Option<i64>);

pub(super) fn payment_key(row: &Instruction<Stored>) -> PaymentKey {
    let (account, bank) = recipient(row);
    let to = format!("{} {} {bank} {account}", row.money.currency, row.service);
    (to, row.money.known().map(|amount| amount.minor()))
}

/// Where the rows come from that are compared.
pub(super) struct Sides<'a, 'b> {
    load: &'a Load<'b>,
    record: &'a Connection,
    plan: &'a RepeatPlan,
    pub(super) found: Found<'a>,
    alike: Counted,
    vouched: Vouched,
    /// The batch has set rows aside.
    has_set_aside: bool,
}

/// How many rows were found by load.
#[derive(Default)]
struct Counted(RefCell<BTreeMap<i64, u64>>);

impl Counted {
    fn get(&self, load_id: i64) -> u64 {
        self.0.borrow().get(&load_id).copied().unwrap_or_default()
    }

    fn count(&self, load_id: i64) {
        *self.0.borrow_mut().entry(load_id).or_default() += 1;
    }
}

impl Sides<'_, '_> {
    /// Returns the row of the file at an entry.
    pub(super) fn row(&self, entry: Entry) -> Result<(i64, Instruction<Stored>), Error> {
        let seq = self.load.base + 1 + place_of(entry);
        Ok((seq, self.load.instruction(seq)?))
    }

    /// Compares rows of the file with rows on record that may be of the same debt.
    fn compare(
        &self,
        load: OnRecord,
        entries: &[Entry],
        seqs: &[(i64, Entry)],
    ) -> Result<(), Error> {
        let load_id = load.load_id;
        // Rows with references on both sides are alike at most: what is paid every day is not read in full every day.
        let all_named = entries
            .iter()
            .all(|entry| is_of_payment(*entry) && is_named(*entry));
        let enough = all_named && self.alike.get(load_id) >= ALIKE_MAX;
        let mut others = Vec::new();
        for (seq, entry) in seqs {
            if enough && is_named(*entry) {
                continue;
            }
            if let Some(other) = load.other(self.record, &self.vouched, *seq)? {
                check_row(self.load.key, *entry, &other)?;
                others.push(other);
            }
        }
        // A corrected row is no repeat of what it replaces.
        others.retain(|other| !self.load.corrections.replaces(other.seq));
        if others.is_empty() {
            return Ok(());
        }
        if entries.first().is_some_and(|entry| is_of_payment(*entry)) {
            return self.compare_payments(load_id, entries, others);
        }
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            for other in &others {
                self.judge(
                    load_id,
                    (seq, &row),
                    other,
                    is_same_payment(&row, &other.row),
                )?;
            }
        }
        Ok(())
    }

    // Of many rows on record with the same recipient, amount and service one with a reference, and one without, stand for all.
    fn compare_payments(
        &self,
        load_id: i64,
        entries: &[Entry],
        others: Vec<Other>,
    ) -> Result<(), Error> {
        let now = self.load.plan.now;
        let mut payments: BTreeMap<PaymentKey, SamePayment> = BTreeMap::new();
        for other in others {
            let terms = self.plan.terms.of(&other.row.service);
            let same = payments.entry(payment_key(&other.row)).or_default();
            let place = usize::from(other.reference().is_none());
            if other.counts(now, &terms) {
                same.counting[place].get_or_insert(other);
            } else if other.counts(now, &terms.for_row(self.has_set_aside)) {
                same.old[place].get_or_insert(other);
            } else if other.standing == Standing::Failed && same.failed.len() < WATCHED {
                same.failed.push(other);
            }
        }
        for entry in entries {
            let (seq, row) = self.row(*entry)?;
            let (to, amount) = payment_key(&row);
            let of_account = (to.clone(), None)..=(to, Some(i64::MAX));
            for ((_, other_amount), same) in payments.range(of_account) {
                if amount.is_some() && other_amount.is_some() && amount != *other_amount {
                    continue;
                }
                let counting = same.counting.iter().chain(&same.old).flatten();
                for other in counting.chain(&same.failed) {
                    let is_same = is_same_payment(&row, &other.row);
                    self.judge(load_id, (seq, &row), other, is_same)?;
                }
            }
        }
        Ok(())
    }

    fn judge(
        &self,
        load_id: i64,
        (seq, row): (i64, &Instruction<Stored>),
        other: &Other,
        same_payment: bool,
    ) -> Result<(), Error> {
        // However the row was mended since it was refused: what a person changed of it makes no other debt of it.
        let terms = self.plan.terms.of(&row.service).for_row(self.has_set_aside);
        let reference = row.reference.as_ref().map(|reference| reference.as_str());
        let references = References::of(reference, other.reference());
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
        if is_watched(likeness, other.standing) {
            return self.found.add(Table::Watched, seq, load_id, other.seq);
        }
        if !other.counts(self.load.plan.now, &terms) {
            return Ok(());
        }
        match likeness {
            Likeness::None => Ok(()),
            Likeness::Alike => {
                self.alike.count(load_id);
                self.found.add(Table::Alike, seq, load_id, other.seq)
            }
            Likeness::Repeat => {
                if other.by_word {
                    self.found.add(Table::ByWord, seq, load_id, other.seq)?;
                }
                self.found.add(Table::Repeat, seq, load_id, other.seq)
            }
        }
    }
}

impl Load<'_> {
    pub(super) fn instruction(&self, seq: i64) -> Result<Instruction<Stored>, Error> {
        let mut statement = self.c.prepare_cached(&format!(
            "select {PAYMENT_COLUMNS} from instruction i join service s using (service_id) where seq = ?1"
        ))?;
        let mut rows = statement.query([seq])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a row vanished in its own load"))?;
        Ok(stored_of(row, 0)?.instruction)
    }

    /// Keeps the fingerprints of the file, and finds what of it repeats rows of other loads. Rows that do are set aside, where
    /// that is ordered, and are errors in `sorted` unless they are allowed.
    pub(super) fn find_repeats(
        &mut self,
        collector: Option<Collector>,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let Some(mut collector) = collector else {
            return Ok(());
        };
        if self.altered {
            collector = self.collect_again()?;
        }
        let mut store = Store::new(self.c, self.load_id, self.base + 1)?;
        let Some(plan) = &self.plan.repeats else {
            collector.each_slice(|slice| store.take(slice))?;
            return store.flush();
        };
        self.c.write_tallies()?;
        let reader = match &plan.record {
            Some(path) => Some(open::for_reading(path)?),
            None => None,
        };
        let record: &Connection = reader.as_ref().unwrap_or(self.c);
        let which = match reader {
            None => Which::Not(self.load_id),
            Some(_) => Which::All,
        };
        let has_set_aside = self.has_set_aside_any()?;
        let mut widest = plan.clone();
        widest.terms.default = widest.terms.default.for_row(has_set_aside);
        let loads = loads_on_record(record, &widest, (self.key, which), self.plan.now)?;
        let sides = Sides {
            load: self,
            record,
            plan,
            found: Found::begin(self.c)?,
            alike: Counted::default(),
            vouched: Vouched::default(),
            has_set_aside,
        };
        let recorded_open = has_open(record)?;
        collector.each_slice(|slice| {
            store.take(slice)?;
            sides.compare_file(slice)?;
            loads.iter().try_for_each(|load| {
                let mut compare =
                    |entries: &[Entry], seqs: &[(i64, Entry)]| sides.compare(*load, entries, seqs);
                join(record, load.load_id, slice, &mut compare)?;
                join_open(record, load.load_id, slice, recorded_open, &mut compare)
            })
        })?;
        store.flush()?;
        drop(store);
        self.conclude(record, plan, sorted)
    }

    /// Keeps the fingerprints of the rows that are left, once those that repeat others were set aside.
    fn store_again(&self) -> Result<(), Error> {
        self.c.execute(
            "delete from fingerprints where load_id = ?1",
            [self.load_id],
        )?;
        let mut store = Store::new(self.c, self.load_id, self.base + 1)?;
        self.collect_again()?
            .each_slice(|slice| store.take(slice))?;
        store.flush()
    }

    /// The fingerprints of the rows that are left, after some were dropped.
    fn collect_again(&self) -> Result<Collector, Error> {
        let mut collector = Collector::new(self.key);
        let mut statement = self.c.prepare(&format!(
            "select {PAYMENT_COLUMNS}, i.seq from instruction i cross join service s on s.service_id = i.service_id
             where i.seq > ?1 order by i.seq"
        ))?;
        let mut rows = statement.query([self.base])?;
        while let Some(row) = rows.next()? {
            let seq: i64 = row.get(PAYMENT_WIDTH)?;
            let row = stored_of(row, 0)?.instruction;
            let place = (seq - self.base - 1).unsigned_abs();
            collector.row(place, &row, row.money.written())?;
        }
        Ok(collector)
    }

    fn conclude(
        &mut self,
        record: &Connection,
        plan: &RepeatPlan,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let found = Found { c: self.c };
        let rows = found.number("select count(distinct seq) from temp.repeat")?;
        if rows > 0 {
            self.c.execute(
                "delete from temp.alike_found where seq in (select seq from temp.repeat)",
                [],
            )?;
            let repeats = self.repeats(record, rows)?;
            let allowed = plan.allowed.as_ref() == Some(&repeats.digest);
            if allowed {
                let (batch_id, now) = (self.batch_id, self.plan.now);
                let digest = repeats.digest.as_str().into();
                self.c
                    .acted(batch_id, now, "load --allow-repeats", digest)?;
                self.note(record, "temp.repeat", AlikeKind::Allowed, sorted)?;
            } else {
                self.refuse_repeats(record, sorted)?;
                if self.plan.skip_bad_rows {
                    self.store_again()?;
                }
                sorted.repeats = Some(Repeats {
                    allowed_other: plan.allowed.is_some(),
                    ..repeats
                });
            }
        }
        self.note(record, "temp.alike_found", AlikeKind::OtherLoad, sorted)?;
        self.c.execute(
            "insert or ignore into watched (seq, other, by_word)
             select seq, other, 0 from temp.watched_found where seq in (select seq from instruction)
             union all select seq, other, 1 from temp.by_word where seq in (select seq from instruction)",
            [],
        )?;
        Ok(())
    }

    /// Says which loads are repeated, and what tells this list from every other one.
    fn repeats(&self, record: &Connection, rows: u64) -> Result<Repeats, Error> {
        let mut digest = ContentDigest::default();
        let mut statement = self
            .c
            .prepare(
                "select seq, other, exists (select 1 from temp.by_word b where b.seq = r.seq and b.other = r.other)
                 from temp.repeat r order by seq, load_id",
            )?;
        let mut found = statement.query([])?;
        let mut current: Option<(i64, [u8; 32])> = None;
        while let Some(row) = found.next()? {
            let (seq, other): (i64, i64) = (row.get(0)?, row.get(1)?);
            let content = match current {
                Some((known, content)) if known == seq => content,
                _ => self.instruction(seq)?.content_hash(),
            };
            current = Some((seq, content));
            let id: String = record
                .prepare_cached("select identifier from instruction where seq = ?1")?
                .query_row([other], |row| row.get(0))?;
            // What was allowed while the other one was open says nothing of a person's decision, and the other way round.
            let by_word: &[u8] = match row.get(2)? {
                true => b"by word",
                false => b"",
            };
            digest.add(
                &Sha256::new()
                    .chain_update(content)
                    .chain_update(id)
                    .chain_update(by_word)
                    .finalize()
                    .into(),
            );
        }
        let digest: [u8; 32] = Sha256::digest(digest.to_text()).into();
        let mut loads = self.loads_of(record, "temp.repeat")?;
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
        })
    }

    /// Returns the loads in a table of what was found, the newest first, with how many rows of the file each concerns.
    pub(super) fn loads_of(
        &self,
        record: &Connection,
        table: &'static str,
    ) -> Result<Vec<(i64, RepeatedLoad)>, Error> {
        let mut statement = self.c.prepare(&format!(
            "select load_id, count(*) from {table} group by load_id order by load_id desc"
        ))?;
        let counted: Vec<(i64, i64)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let mut loads = Vec::with_capacity(counted.len());
        for (load_id, rows) in counted {
            loads.push((load_id, self.load_of(record, load_id, rows.unsigned_abs())?));
        }
        Ok(loads)
    }

    fn load_of(&self, record: &Connection, load_id: i64, rows: u64) -> Result<RepeatedLoad, Error> {
        let (c, load_id) = match load_id {
            ..=SAME_FILE => (self.c as &Connection, self.load_id),
            load_id => (record, load_id),
        };
        let found = c
            .prepare_cached(
                "select b.name, l.source, l.loaded_at from load l join batch b using (batch_id) where l.load_id = ?1",
            )?
            .query_row([load_id], |row| {
                Ok(RepeatedLoad {
                    batch: row.get(0)?,
                    source: row.get(1)?,
                    loaded_at: Timestamp::from_millis(row.get(2)?),
                    rows,
                })
            })
            .optional()?;
        found.ok_or_else(|| corrupt("rows without their load"))
    }

    /// Makes an error of every row that repeats another one.
    fn refuse_repeats(&mut self, record: &Connection, sorted: &mut Sorted) -> Result<(), Error> {
        let mut after = self.base;
        let vouched = Vouched::default();
        loop {
            // The newest load that has the debt; read in pages, as rows are removed meanwhile.
            let page: Vec<(i64, i64, i64)> = self
                .c
                .prepare_cached(
                    "select seq, max(load_id), other from temp.repeat where seq > ?1 group by seq order by seq limit 512",
                )?
                .query_map([after], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect::<Result<_, _>>()?;
            let Some((last, ..)) = page.last() else {
                return Ok(());
            };
            after = *last;
            for (seq, load_id, seq_of_other) in page {
                let other = other(record, &vouched, seq_of_other)?
                    .ok_or_else(|| corrupt("a row on record"))?;
                let load = self.load_of(record, load_id, 0)?;
                let row = self.instruction(seq)?;
                let error = LateError {
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

    fn forget_identifier(&self, seq: i64) -> Result<(), Error> {
        self.c
            .prepare_cached(
                "delete from identifier where identifier = (select identifier from instruction where seq = ?1) and seq = ?1",
            )?
            .execute([seq])?;
        Ok(())
    }
}

/// Says that a row repeats another one.
pub(super) fn told(row: &Instruction<Stored>, other: &Other, load: &RepeatedLoad) -> LateError {
    let whose = format!(
        "line {} of {} of batch {}, loaded {}, which is {}",
        other.row.line,
        load.source,
        load.batch,
        day(load.loaded_at),
        other.state_in_words()
    );
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
    LateError {
        good_row: 0,
        line: row.line,
        column,
        message,
        digest: row.content_hash(),
    }
}

/// The day of a load, as a person compares it with a calendar.
pub(super) fn day(at: Timestamp) -> String {
    let text = at.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
