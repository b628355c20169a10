//! Rows that a person is shown before they are paid.

use rusqlite::{Connection, params};

use super::load::Load;
use super::repeats::{SAME_BILL, SAME_FILE, SAME_REFERENCE};
use super::row::corrupt;
use super::run::known_batch;
use super::sorted::Sorted;
use super::turns::Manner;
use super::writer::Journal;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{ALIKE_LINES, Alike, AlikeKind, Error, RepeatedLoad};

/// Loads that rows look like, or repeat by permission, that are shown.
const SHOWN: usize = 20;

impl Load<'_> {
    /// Keeps what is to be seen before anything of the batch is paid.
    pub(super) fn note(
        &self,
        record: &Connection,
        table: &'static str,
        kind: AlikeKind,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let loads = self.loads_of(record, table)?;
        for (load_id, other) in loads.into_iter().take(SHOWN) {
            let kind = match load_id {
                SAME_FILE => AlikeKind::SameFile,
                SAME_BILL => AlikeKind::SameBill,
                SAME_REFERENCE => AlikeKind::SameReference,
                _ => kind,
            };
            let lines: Vec<u64> = self
                .c
                .prepare(&format!(
                    "select i.line from {table} t cross join instruction i on i.seq = t.seq where t.load_id = ?1 order by i.seq limit {ALIKE_LINES}"
                ))?
                .query_map([load_id], |row| row.get::<_, i64>(0))?
                .map(|line| Ok(line?.unsigned_abs()))
                .collect::<Result<_, Error>>()?;
            let file = self.plan.source.clone();
            let alike = Alike {
                kind,
                file,
                other,
                lines,
            };
            save(self.c, self.load_id, &alike)?;
            sorted.alike.push(alike);
        }
        Ok(())
    }
}

fn save(c: &Connection, load_id: i64, alike: &Alike) -> Result<(), Error> {
    let kind = AlikeKind::ALL.iter().position(|kind| *kind == alike.kind);
    let lines = serde_json::to_string(&alike.lines).map_err(|_| corrupt("lines"))?;
    c.prepare_cached(
        "insert into alike (load_id, kind, batch, source, loaded_at, count, lines) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        load_id,
        i64::try_from(kind.unwrap_or_default()).unwrap_or_default(),
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
        self.ask(Manner::Alone, move |c| alike(c, known_batch(c, &batch)?))
            .await
    }
}

fn alike(c: &Connection, batch_id: i64) -> Result<Vec<Alike>, Error> {
    let mut statement = c.prepare_cached(
        "select a.kind, l.source, a.batch, a.source, a.loaded_at, a.count, a.lines
         from load l cross join alike a on a.load_id = l.load_id where l.batch_id = ?1 order by a.alike_id",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: i64 = row.get(0)?;
        let kind = usize::try_from(kind)
            .ok()
            .and_then(|kind| AlikeKind::ALL.get(kind));
        let lines: String = row.get(6)?;
        found.push(Alike {
            kind: *kind.ok_or_else(|| corrupt("rows that are alike"))?,
            file: row.get(1)?,
            other: RepeatedLoad {
                batch: row.get(2)?,
                source: row.get(3)?,
                loaded_at: Timestamp::from_millis(row.get(4)?),
                rows: row.get::<_, i64>(5)?.unsigned_abs(),
            },
            lines: serde_json::from_str(&lines).map_err(|_| corrupt("lines"))?,
        });
    }
    Ok(found)
}
