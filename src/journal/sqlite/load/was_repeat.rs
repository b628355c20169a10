//! Mended rows whose rejected ones were set aside as repeats: repeats they stay, whatever was mended of them. The rule is in
//! [`crate::ledger::was_repeat`].

use rusqlite::{Connection, params};

use super::job::Load;
use crate::journal::Error;
use crate::journal::sqlite::repeats::on_record::other;
use crate::journal::sqlite::repeats::sides::{Found, Table};
use crate::journal::sqlite::repeats::vouched::Vouched;
use crate::ledger::repeats::{Standing, Terms, counts};
use crate::ledger::was_repeat::was_repeat;

impl Load<'_> {
    /// Finds the rows of the file that take the place of repeats, beside those that are found by what stands in them.
    pub(in crate::journal::sqlite) fn find_set_aside_repeats(
        &self,
        record: &Connection,
    ) -> Result<(), Error> {
        let mut any = false;
        for ((load_id, line, nth), seq) in self.corrections.mended_rows() {
            // An earlier load brought it, and judged it.
            if seq.get() <= self.base {
                continue;
            }
            let errors: String = self
                .c
                .prepare_cached(
                    "select errors from rejected where load_id = ?1 and line = ?2 and nth = ?3",
                )?
                .query_row((load_id, line, nth), |row| row.get(0))?;
            let Some(was) = was_repeat(&errors) else {
                continue;
            };
            if !any {
                self.c.execute_batch(
                    "drop table if exists temp.was_repeat;
                     create temp table was_repeat (load_id integer, line integer, seq integer, primary key (load_id, line, seq)) without rowid;",
                )?;
                any = true;
            }
            for (line, source) in was.places {
                self.c
                    .prepare_cached(
                        "insert or ignore into temp.was_repeat select l.load_id, ?3, ?4 from load l join batch b using (batch_id)
                         where b.name = ?1 and l.source = ?2 and l.load_id <> ?5",
                    )?
                    .execute(params![was.batch, source, line.cast_signed(), seq, self.load_id])?;
            }
        }
        match any {
            true => self.judge_set_aside_repeats(record),
            false => Ok(()),
        }
    }

    fn judge_set_aside_repeats(&self, record: &Connection) -> Result<(), Error> {
        // All of them are found in one pass: rows are not to be had by their lines.
        let mut statement = self.c.prepare(
            "select w.seq, i.load_id, i.seq from instruction i cross join temp.was_repeat w on w.load_id = i.load_id and w.line = i.line
             where i.seq <= ?1",
        )?;
        let mut rows = statement.query([self.base])?;
        let (found, vouched) = (Found { c: self.c }, Vouched::default());
        // What a person changed of it, and time, make no other debt of it.
        let terms = Terms::default().for_row(true);
        while let Some(row) = rows.next()? {
            let (seq, load_id, seq_of_other) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let Some(other) = other(record, &vouched, seq_of_other)? else {
                continue;
            };
            if counts(other.standing, self.plan.now.since(other.newest), &terms) {
                if other.by_word {
                    found.add(Table::ByWord, seq, load_id, other.seq)?;
                }
                found.add(Table::Repeat, seq, load_id, other.seq)?;
            } else if other.standing == Standing::Failed {
                found.add(Table::Watched, seq, load_id, other.seq)?;
            }
        }
        Ok(())
    }
}
