//! Rows that a person is shown before they are paid.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::found::{Found, Table};
use super::since::repeated_since;
use crate::domain::{AlikeId, BatchId, BatchName, LoadId, PaymentId, Timestamp};
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::values::corrupt;
use crate::journal::load::job::Load;
use crate::journal::load::sorted::Sorted;
use crate::journal::read::reader::Snapshot;
use crate::journal::writer::handle::Journal;
use crate::journal::{ALIKE_LINES, Alike, AlikeKind, Error, RepeatedLoad};
use crate::lifecycle::State;
use crate::store::tables::{alike, instruction, life, load, tally};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// Loads that rows look like, or repeat by permission, that are shown.
const SHOWN: usize = 20;

impl Load<'_> {
    /// Keeps what is to be seen before anything of the batch is paid.
    pub(in crate::journal) fn note(
        &self,
        record: &dyn Read,
        table: Table,
        kind: AlikeKind,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let loads = self.loads_of(record, table)?;
        for (load_id, other) in loads.into_iter().take(SHOWN) {
            let kind = match load_id {
                LoadId::SAME_FILE => AlikeKind::SameFile,
                LoadId::SAME_BILL => AlikeKind::SameBill,
                LoadId::SAME_REFERENCE => AlikeKind::SameReference,
                LoadId::SAME_NUMBER => AlikeKind::SameNumber,
                _ => kind,
            };
            let (lines, others) = self.lines_of(table, load_id)?;
            let paid = match kind {
                AlikeKind::Allowed | AlikeKind::OtherLoad | AlikeKind::OtherService
                    if self
                        .plan
                        .repeats
                        .as_ref()
                        .is_some_and(|plan| plan.record.is_none()) =>
                {
                    self.paid_among(table, load_id)?
                }
                _ => 0,
            };
            let alike = Alike {
                kind,
                file: self.plan.source.clone(),
                other,
                lines,
                paid,
                others,
            };
            if kind != AlikeKind::SameNumber {
                save(self.c, self.load_id, &alike)?;
            }
            sorted.alike.push(alike);
        }
        Ok(())
    }

    /// Counts the rows whose like is paid by now, in whichever generation.
    fn paid_among(&self, table: Table, load_id: LoadId) -> Result<u64, Error> {
        let (mut paid, mut last) = (0, None);
        Found::kept(self.c.scratch()?).each_of_load(table, load_id, |seq, other| {
            if last != Some(seq) && is_paid_by_now(self.c, other)? {
                last = Some(seq);
                paid += 1;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(paid)
    }

    /// Returns the first lines of what was found, and where they are like rows of the same file, the lines of those.
    fn lines_of(&self, table: Table, load_id: LoadId) -> Result<(Vec<u64>, Vec<u64>), Error> {
        let line_of = |seq: PaymentId| -> Result<Option<u64>, Error> {
            let own = Scan::of(&instruction::TABLE).at(&seq);
            let line: Option<i64> = self.c.value(&own, instruction::line)?;
            Ok(line.map(i64::unsigned_abs))
        };
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        Found::kept(self.c.scratch()?).each_of_load(table, load_id, |seq, other| {
            // A row may have been set aside since.
            if let Some(line) = line_of(seq)? {
                lines.push(line);
                if load_id.is_same_file() {
                    others.extend(line_of(other)?);
                }
            }
            Ok(match lines.len() < ALIKE_LINES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        if others.len() != lines.len() {
            others.clear();
        }
        Ok((lines, others))
    }
}

/// Returns whether a payment, or a retry of it, is paid.
fn is_paid_by_now(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    shape! {
        struct Latest of life { state: State, replaced_by: Option<PaymentId> }
    }
    let mut next = Some(seq);
    while let Some(seq) = next {
        let own = Scan::of(&life::TABLE).at(&seq);
        let Some(Latest { state, replaced_by }) = c.first(&own)? else {
            return Ok(false);
        };
        if state == State::Paid {
            return Ok(true);
        }
        if replaced_by.is_some_and(|later| later <= seq) {
            return Err(corrupt("a retry that is older than what it replaces"));
        }
        next = replaced_by;
    }
    Ok(false)
}

/// Returns the number that a kind is kept under.
fn number_of(kind: AlikeKind) -> i64 {
    let at = AlikeKind::ALL.iter().position(|known| *known == kind);
    i64::try_from(at.unwrap_or_default()).unwrap_or_default()
}

/// Returns lines as they are kept: earlier releases kept those of the rows alone.
fn lines_json(alike: &Alike) -> Value {
    match (alike.others.is_empty(), alike.paid) {
        (true, 0) => json!(alike.lines),
        (_, paid) => json!({"lines": alike.lines, "others": alike.others, "paid": paid}),
    }
}

/// Reads them: the lines of the rows, those of what they look like, and how many repeat what was paid.
fn lines_from(text: &str) -> Result<(Vec<u64>, Vec<u64>, u64), Error> {
    let bad = || corrupt("line numbers that cannot be read");
    // What is not there is no line.
    let list = |value: Option<Value>| match value {
        None => Ok(Vec::new()),
        Some(value) => serde_json::from_value::<Vec<u64>>(value).map_err(|_| bad()),
    };
    match serde_json::from_str(text).map_err(|_| bad())? {
        Value::Object(mut all) => Ok((
            list(all.remove("lines"))?,
            list(all.remove("others"))?,
            all.get("paid").and_then(Value::as_u64).unwrap_or_default(),
        )),
        lines => Ok((list(Some(lines))?, Vec::new(), 0)),
    }
}

shape! {
    /// What is kept of rows that are alike.
    struct Shown of alike {
        load_id: LoadId, kind: i64, batch: String, source: String, loaded_at: Timestamp, count: u64, lines: String,
    }
}

fn save(c: &dyn Write, load_id: LoadId, alike: &Alike) -> Result<(), Error> {
    c.append(&Shown {
        load_id,
        kind: number_of(alike.kind),
        batch: alike.other.batch.clone(),
        source: alike.other.source.clone(),
        loaded_at: alike.other.loaded_at,
        count: alike.other.rows,
        lines: lines_json(alike).to_string(),
    })?;
    Ok(())
}

impl Journal {
    /// Returns what of a batch a person should see before it is paid.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn alike(&self, batch: BatchName) -> Result<Vec<Alike>, Error> {
        self.read(move |c| alike(c, known_batch(c, &batch)?)).await
    }
}

impl Snapshot<'_> {
    /// Returns which rows of the batch repeat rows of other loads, as was allowed.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn repeats_allowed(&self) -> Result<Vec<Alike>, Error> {
        let mut found = alike(self.c, self.batch_id)?;
        found.retain(|alike| alike.kind == AlikeKind::Allowed);
        Ok(found)
    }
}

fn alike(c: &dyn Read, batch_id: BatchId) -> Result<Vec<Alike>, Error> {
    shape! {
        struct Kept of alike {
            alike_id: AlikeId, kind: i64, batch: String, source: String, loaded_at: Timestamp, count: i64, lines: String,
        }
    }
    shape! {
        struct File of load { load_id: LoadId, source: String }
    }
    let cancelled = State::Cancelled;
    let tallies = Scan::of(&tally::TABLE).at(&batch_id);
    let tallies = tallies.only(tally::state, Test::is(&cancelled));
    let has_cancelled = c.any(&tallies.only(tally::count, Test::at_least(&1_i64)))?;
    let mut all: Vec<(LoadId, String, Kept)> = Vec::new();
    c.each(
        &Scan::by(&load::load_by_batch).at(&batch_id),
        |file: File| {
            let own = Scan::by(&alike::alike_by_load).at(&file.load_id);
            for kept in c.list(&own)? {
                all.push((file.load_id, file.source.clone(), kept));
            }
            Ok::<_, Error>(())
        },
    )?;
    all.sort_by_key(|(.., kept)| kept.alike_id);
    let mut found = Vec::new();
    for (load_id, file, kept) in all {
        let kind = usize::try_from(kept.kind).ok();
        let kind = kind.and_then(|kind| AlikeKind::ALL.get(kind));
        let (lines, others, paid) = lines_from(&kept.lines)?;
        let kind = kind.ok_or_else(|| corrupt("an unknown kind of rows that are alike"))?;
        let mut alike = Alike {
            kind: *kind,
            file,
            other: RepeatedLoad {
                batch: kept.batch,
                source: kept.source,
                loaded_at: kept.loaded_at,
                rows: kept.count.unsigned_abs(),
            },
            lines,
            paid,
            others,
        };
        if has_cancelled {
            alike.leave_out(&cancelled_lines(c, batch_id, load_id, &alike)?);
        }
        if alike.other.rows > 0 {
            found.push(alike);
        }
    }
    found.extend(repeated_since(c, batch_id)?);
    Ok(found)
}

/// Returns which of these lines are of rows that were cancelled.
fn cancelled_lines(
    c: &dyn Read,
    batch_id: BatchId,
    load_id: LoadId,
    alike: &Alike,
) -> Result<BTreeSet<u64>, Error> {
    shape! {
        struct Line of instruction { load_id: LoadId, line: i64 }
    }
    let lines: BTreeSet<u64> = alike.lines.iter().chain(&alike.others).copied().collect();
    let cancelled = State::Cancelled;
    let of_batch = Scan::of(&life::TABLE).only(life::batch_id, Test::is(&batch_id));
    let cancelled = of_batch.only(life::state, Test::is(&cancelled));
    let mut found = BTreeSet::new();
    c.each_row(&cancelled, &[life::seq], |row| {
        let seq: PaymentId = row.get(0)?;
        let own: Option<Line> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
        if let Some(own) = own.filter(|own| own.load_id == load_id) {
            found.extend(lines.get(&own.line.unsigned_abs()));
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(found)
}
