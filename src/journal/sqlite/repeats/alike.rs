//! Rows that a person is shown before they are paid.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::domain::{BatchId, BatchName, LoadId, Timestamp};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::load::job::Load;
use crate::journal::sqlite::load::sorted::Sorted;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{ALIKE_LINES, Alike, AlikeKind, Error, RepeatedLoad};

/// Loads that rows look like, or repeat by permission, that are shown.
const SHOWN: usize = 20;

impl Load<'_> {
    /// Keeps what is to be seen before anything of the batch is paid.
    pub(in crate::journal::sqlite) fn note(
        &self,
        record: &Connection,
        table: &'static str,
        kind: AlikeKind,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let loads = self.loads_of(record, table)?;
        for (load_id, other) in loads.into_iter().take(SHOWN) {
            let kind = match load_id {
                LoadId::SAME_FILE => AlikeKind::SameFile,
                LoadId::SAME_BILL => AlikeKind::SameBill,
                LoadId::SAME_REFERENCE => AlikeKind::SameReference,
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
            save(self.c, self.load_id, &alike)?;
            sorted.alike.push(alike);
        }
        Ok(())
    }

    /// Counts the rows whose like is paid by now, in whichever generation.
    fn paid_among(&self, table: &'static str, load_id: LoadId) -> Result<u64, Error> {
        let count: i64 = self.c.query_row(
            &format!("with recursive generation (seq, latest) as (
                 select r.seq, r.other from {table} r where r.load_id = ?1
                 union all select g.seq, l.replaced_by from generation g join life l on l.seq = g.latest where l.replaced_by is not null)
             select count(distinct g.seq) from generation g join life l on l.seq = g.latest where l.state = 5"),
            [load_id],
            |row| row.get(0),
        )?;
        Ok(count.unsigned_abs())
    }

    /// Returns the first lines of what was found, and where they are like rows of the same file, the lines of those.
    fn lines_of(&self, table: &str, load_id: LoadId) -> Result<(Vec<u64>, Vec<u64>), Error> {
        let is_same_file = load_id.is_same_file();
        let mut statement = self.c.prepare(&format!(
            "select i.line, o.line from {table} t cross join instruction i on i.seq = t.seq
             left join instruction o on ?2 and o.seq = t.other where t.load_id = ?1 order by i.seq limit {ALIKE_LINES}"
        ))?;
        let mut rows = statement.query(params![load_id, is_same_file])?;
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            lines.push(row.get::<_, i64>(0)?.unsigned_abs());
            others.extend(row.get::<_, Option<i64>>(1)?.map(i64::unsigned_abs));
        }
        if others.len() != lines.len() {
            others.clear();
        }
        Ok((lines, others))
    }
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
    let bad = || corrupt("lines");
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

fn save(c: &Connection, load_id: LoadId, alike: &Alike) -> Result<(), Error> {
    let lines = lines_json(alike).to_string();
    c.prepare_cached(
        "insert into alike (load_id, kind, batch, source, loaded_at, count, lines) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        load_id,
        number_of(alike.kind),
        alike.other.batch,
        alike.other.source,
        alike.other.loaded_at.as_millis(),
        i64::try_from(alike.other.rows).unwrap_or(i64::MAX),
        lines,
    ])?;
    Ok(())
}

impl Journal {
    /// Returns what of a batch a person should see before it is paid.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn alike(&self, batch: BatchName) -> Result<Vec<Alike>, Error> {
        self.ask(CommitMode::Alone, move |c| {
            alike(c, known_batch(c, &batch)?)
        })
        .await
    }
}

fn alike(c: &Connection, batch_id: BatchId) -> Result<Vec<Alike>, Error> {
    let mut statement = c.prepare_cached(
        "select a.kind, l.source, a.batch, a.source, a.loaded_at, a.count, a.lines, l.load_id
         from load l cross join alike a on a.load_id = l.load_id where l.batch_id = ?1 order by a.alike_id",
    )?;
    let has_cancelled: bool = c
        .prepare_cached(
            "select exists (select 1 from tally where batch_id = ?1 and state = 7 and count > 0)",
        )?
        .query_row([batch_id], |row| row.get(0))?;
    let mut rows = statement.query([batch_id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: i64 = row.get(0)?;
        let kind = usize::try_from(kind)
            .ok()
            .and_then(|kind| AlikeKind::ALL.get(kind));
        let (lines, others, paid) = lines_from(&row.get::<_, String>(6)?)?;
        let kind = kind.ok_or_else(|| corrupt("rows that are alike"))?;
        let mut alike = Alike {
            kind: *kind,
            file: row.get(1)?,
            other: RepeatedLoad {
                batch: row.get(2)?,
                source: row.get(3)?,
                loaded_at: Timestamp::from_millis(row.get(4)?),
                rows: row.get::<_, i64>(5)?.unsigned_abs(),
            },
            lines,
            paid,
            others,
        };
        if has_cancelled {
            let cancelled = cancelled(c, batch_id, row.get(7)?, &alike)?;
            alike.leave_out(&cancelled);
        }
        if alike.other.rows > 0 {
            found.push(alike);
        }
    }
    Ok(found)
}

/// Returns which of these lines are of rows that were cancelled.
fn cancelled(
    c: &Connection,
    batch_id: BatchId,
    load_id: LoadId,
    alike: &Alike,
) -> Result<BTreeSet<u64>, Error> {
    let lines: Vec<u64> = [&alike.lines[..], &alike.others].concat();
    c.prepare_cached(
        "select i.line from life l cross join instruction i on i.seq = l.seq
         where l.batch_id = ?1 and l.state = 7 and i.load_id = ?2 and i.line in (select value from json_each(?3))",
    )?
    .query_map(params![batch_id, load_id, json!(lines).to_string()], |row| {
        row.get::<_, i64>(0)
    })?
    .map(|line| Ok(line?.unsigned_abs()))
    .collect()
}
