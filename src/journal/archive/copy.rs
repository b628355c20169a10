//! One batch copied table by table, inside one read of the journal: a run beside it goes on, and the copy is of one moment.

use std::path::Path;

use rusqlite::Connection;

use super::tables::{Goes, TABLES};
use crate::domain::{BatchId, BatchName};
use crate::journal::codec::catalog::name;
use crate::journal::codec::values::batch_id;
use crate::journal::evidence::chain::head;
use crate::journal::schema::open::{self, Missing};
use crate::journal::{CopiedBatch, Error, FileOnly, Location};
use crate::store;

/// Under this name `meta` has the number of the batch that a journal is the archive of.
pub(in crate::journal) const ARCHIVE: &str = open::ARCHIVE;

/// The batch, and the numbers between which its instructions lie; whether its evidence speaks of recoveries, which then go along.
const WANTED: &str = "
     create temp table wanted (batch_id integer not null, first integer, last integer) strict;
     create temp table told (told integer not null) strict;
     create temp table beside (seq integer primary key) strict;";

/// Rows of other batches that failed rows of this one are held against, or that are held against them, in all their generations.
const BESIDE: &str = "
     insert into temp.beside (seq)
     with recursive member (seq) as (
         select w.other from source.watched w cross join source.instruction i on i.seq = w.seq where i.batch_id = ?1
         union select w.seq from source.watched w cross join source.instruction i on i.seq = w.other where i.batch_id = ?1
         union select l.replaced_by from member m cross join source.life l on l.seq = m.seq where l.replaced_by is not null
         union select l.seq from member m cross join source.life l on l.replaced_by = m.seq where l.replaced_by is not null)
     select m.seq from member m cross join source.instruction i on i.seq = m.seq where i.batch_id <> ?1";

/// Copies one batch of a journal into a new one, which is read only. Whoever gives the file its name syncs it first: that is done here.
///
/// # Errors
/// [`Error::UnknownBatch`]; [`Error::NotInAFile`]; [`Error::Open`] when the copy cannot be written. What is there of it then is to be
/// removed.
pub fn copy_batch(journal: &Location, batch: &BatchName, to: &Path) -> Result<CopiedBatch, Error> {
    let journal = journal.file_for(FileOnly::Archive)?;
    let source = open::absolute(journal)?;
    let source = source.to_str().ok_or_else(|| Error::Open {
        path: journal.into(),
        cause: "its name is not UTF-8".into(),
    })?;
    let c = open::for_writing(to, Missing::Aside)?;
    let copied = attached(&c, source, batch).map_err(of_copy(to))?;
    // No log beside it: the file alone is the journal.
    c.execute_batch("pragma journal_mode = delete")
        .map_err(|error| of_copy(to)(error.into()))?;
    drop(c);
    std::fs::File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(|cause| Error::Open {
            path: to.into(),
            cause: cause.to_string(),
        })?;
    Ok(copied)
}

fn attached(c: &Connection, source: &str, batch: &BatchName) -> Result<CopiedBatch, Error> {
    c.execute("attach database ?1 as source", [source])?;
    c.execute_batch(WANTED)?;
    // Nothing is written to the journal, so that its lock is that of a reader. The first read begins the moment of the copy.
    c.execute_batch("begin")?;
    let copied = copied(c, batch)?;
    c.execute_batch("commit; detach database source")?;
    Ok(copied)
}

fn copied(c: &Connection, batch: &BatchName) -> Result<CopiedBatch, Error> {
    let wanted: BatchId = {
        let mut found = c.prepare("select batch_id from source.batch where name = ?1")?;
        let mut rows = found.query([batch.as_str()])?;
        match rows.next()? {
            Some(row) => row.get(0)?,
            None => {
                return Err(Error::UnknownBatch {
                    name: batch.to_string(),
                });
            }
        }
    };
    c.execute(
        "insert into temp.wanted select ?1, min(seq), max(seq) from source.instruction where batch_id = ?1",
        [wanted],
    )?;
    c.execute(
        "insert into temp.told select exists (select 1 from source.evidence where seq = 0 and event in (50, 51, 84) and batch_id = ?1)",
        [wanted],
    )?;
    c.execute(BESIDE, [wanted])?;
    // Its own name is that of the schema's first row; it is the one that the batch comes from.
    c.execute("delete from main.meta", [])?;
    for (table, goes) in &TABLES {
        if let Goes::Rows(rows) = goes {
            fill(c, table, rows)?;
        }
        #[cfg(debug_assertions)]
        crate::failpoints::pass("in-archive-copy");
    }
    c.execute(
        "insert into main.meta (key, value) values (?1, ?2)",
        (ARCHIVE, wanted),
    )?;
    let count = |sql: &str| -> Result<u64, Error> {
        let count: i64 = c.query_row(sql, [], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    };
    let found = batch_id(c, batch.as_str())?.unwrap_or(wanted);
    Ok(CopiedBatch {
        head: head(c, found)?,
        instructions: count(
            "select count(*) from main.instruction where batch_id = (select batch_id from temp.wanted)",
        )?,
        beside: count("select count(*) from temp.beside")?,
        journal: name(c)?,
    })
}

/// Copies the rows of a table, column by column: a journal that was brought up may have them in another order.
fn fill(c: &Connection, table: &str, rows: &str) -> Result<(), Error> {
    let columns: Vec<String> = c
        .prepare("select name from pragma_table_info(?1, 'main') order by cid")?
        .query_map([table], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let into = columns.join(", ");
    let from: Vec<String> = columns.iter().map(|column| format!("t.{column}")).collect();
    c.execute(
        &format!(
            "insert into main.{table} ({into}) select {} {rows}",
            from.join(", ")
        ),
        [],
    )?;
    Ok(())
}

/// What cannot be written is told of the copy: nothing is wrong with the journal.
fn of_copy(to: &Path) -> impl Fn(Error) -> Error + '_ {
    move |error| match &error {
        Error::Storage {
            cause: cause @ store::Error::Full { .. },
        } => Error::Open {
            path: to.into(),
            cause: cause.to_string(),
        },
        _ => error,
    }
}
