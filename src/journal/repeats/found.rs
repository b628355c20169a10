//! What is found while the rows of a file are compared, in tables of the connection's own until the whole file was looked at:
//! memory does not grow with what is found. Nobody else names these tables here, so that another store may sort in another way.

use std::ops::ControlFlow;

use rusqlite::Connection;

use super::fingerprints::first_of;
use crate::domain::{LoadId, PaymentId};
use crate::journal::Error;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Read, Reads, Scan, Test};

/// Rows that are read at once.
const PAGE: usize = 4096;
/// Repeats that are shown at once.
const TOGETHER: usize = 512;

/// What is found while the fingerprints are compared: the row of the file, the load on record, its row.
pub(in crate::journal) struct Found<'c> {
    c: &'c Connection,
}

/// The tables of what is found.
#[derive(Clone, Copy)]
pub(in crate::journal) enum Table {
    Repeat,
    Alike,
    Watched,
    /// Repeats of what failed by the word of a person: allowed, they are watched as well.
    ByWord,
    /// The same recipient and amount through another service.
    OtherService,
    /// What a person withdrew.
    Withdrawn,
    /// The same recipient and service, and another amount.
    OtherAmount,
}

impl Table {
    const ALL: [Self; 7] = [
        Self::Repeat,
        Self::Alike,
        Self::Watched,
        Self::ByWord,
        Self::OtherService,
        Self::Withdrawn,
        Self::OtherAmount,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Repeat => "temp.repeat",
            Self::Alike => "temp.alike_found",
            Self::Watched => "temp.watched_found",
            Self::ByWord => "temp.by_word",
            Self::OtherService => "temp.other_service",
            Self::Withdrawn => "temp.withdrawn_found",
            Self::OtherAmount => "temp.other_amount",
        }
    }

    /// Beside the row of the file: of each load one row is enough, or each of its rows counts.
    fn counted_by(self) -> &'static str {
        match self {
            Self::Watched | Self::ByWord => "other",
            _ => "load_id",
        }
    }
}

impl<'c> Found<'c> {
    /// What the load under way has found so far.
    pub(in crate::journal) fn kept(c: &'c Connection) -> Self {
        Self { c }
    }

    /// Begins anew for a load.
    // In a transaction that never ends: nothing of it outlives the load.
    pub(in crate::journal) fn begin(c: &'c Connection) -> Result<Self, Error> {
        if !c.is_autocommit() {
            c.execute_batch("rollback")?;
        }
        c.execute_batch("begin")?;
        for table in Table::ALL {
            let (name, by) = (table.name(), table.counted_by());
            c.execute_batch(&format!(
                "drop table if exists {name};
                 create temp table {} (seq integer, load_id integer, other integer, primary key (seq, {by})) without rowid;",
                name.trim_start_matches("temp.")
            ))?;
        }
        Ok(Self { c })
    }

    pub(in crate::journal) fn add(
        &self,
        table: Table,
        seq: PaymentId,
        load_id: LoadId,
        other: PaymentId,
    ) -> Result<(), Error> {
        let sql = format!("insert or ignore into {} values (?1, ?2, ?3)", table.name());
        self.c
            .prepare_cached(&sql)?
            .execute((seq, load_id, other))?;
        Ok(())
    }

    /// Returns the loads on record that a table names.
    pub(in crate::journal) fn loads(&self, table: Table) -> Result<Vec<LoadId>, Error> {
        let sql = format!("select distinct load_id from {}", table.name());
        let mut statement = self.c.prepare(&sql)?;
        let loads = statement.query_map([], |row| row.get(0))?;
        Ok(loads.collect::<Result<_, _>>()?)
    }

    /// Returns the same, the newest first, with how many rows of the file each concerns.
    pub(in crate::journal) fn by_load(&self, table: Table) -> Result<Vec<(LoadId, u64)>, Error> {
        let mut statement = self.c.prepare(&format!(
            "select load_id, count(*) from {} group by load_id order by load_id desc",
            table.name()
        ))?;
        let counted = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
        })?;
        Ok(counted.collect::<Result<_, _>>()?)
    }

    /// Returns how many rows of the file a table has.
    pub(in crate::journal) fn rows(&self, table: Table) -> Result<u64, Error> {
        let sql = format!("select count(distinct seq) from {}", table.name());
        let number: i64 = self.c.query_row(&sql, [], |row| row.get(0))?;
        Ok(number.unsigned_abs())
    }

    /// Shows the rows of the file that a table has beside a load, each with the row there, in the order of the file.
    pub(in crate::journal) fn each_of_load(
        &self,
        table: Table,
        load_id: LoadId,
        mut visit: impl FnMut(PaymentId, PaymentId) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let mut statement = self.c.prepare(&format!(
            "select seq, other from {} where load_id = ?1 order by seq",
            table.name()
        ))?;
        let mut rows = statement.query([load_id])?;
        while let Some(row) = rows.next()? {
            if visit(row.get(0)?, row.get(1)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Shows the repeats in the order of the file, some at once: the row, what it repeats, and whether that failed by the word of a person.
    pub(in crate::journal) fn each_repeat(
        &self,
        mut visit: impl FnMut(&[(PaymentId, PaymentId, bool)]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut page = Vec::new();
        let mut statement = self.c.prepare(
            "select seq, other, exists (select 1 from temp.by_word b where b.seq = r.seq and b.other = r.other)
             from temp.repeat r order by seq, load_id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            page.push((row.get(0)?, row.get(1)?, row.get(2)?));
            if page.len() == TOGETHER {
                visit(&page)?;
                page.clear();
            }
        }
        visit(&page)
    }

    /// Shows each row of the file that a table has, with the row on record, in the order of both.
    pub(in crate::journal) fn each_pair(
        &self,
        table: Table,
        mut visit: impl FnMut(PaymentId, PaymentId) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sql = format!(
            "select seq, other from {} order by seq, other",
            table.name()
        );
        let mut statement = self.c.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            visit(row.get(0)?, row.get(1)?)?;
        }
        Ok(())
    }

    /// Shows the rows of the file that are looked at again before they leave, each with one of those that had failed, and whether that
    /// was the word of a person, in the order of all three.
    pub(in crate::journal) fn each_watched(
        &self,
        mut visit: impl FnMut(PaymentId, PaymentId, bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = self.c.prepare(
            "select seq, other, 0 from temp.watched_found union all select seq, other, 1 from temp.by_word order by 1, 2, 3",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            visit(row.get(0)?, row.get(1)?, row.get(2)?)?;
        }
        Ok(())
    }

    /// Returns repeats beyond a row, each with the newest load that has the debt, and the row there.
    pub(in crate::journal) fn newest_repeated(
        &self,
        after: PaymentId,
    ) -> Result<Vec<(PaymentId, LoadId, PaymentId)>, Error> {
        let mut statement = self.c.prepare_cached(
            "select seq, max(load_id), other from temp.repeat where seq > ?1 group by seq order by seq limit 512",
        )?;
        let page =
            statement.query_map([after], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(page.collect::<Result<_, _>>()?)
    }

    /// Leaves out of a table what repeats other rows.
    pub(in crate::journal) fn leave_out_repeats(&self, table: Table) -> Result<(), Error> {
        let sql = format!(
            "delete from {} where seq in (select seq from temp.repeat)",
            table.name()
        );
        self.c.execute(&sql, [])?;
        Ok(())
    }

    /// Forgets what was withdrawn with all of its load: that says nothing of one of its rows.
    pub(in crate::journal) fn leave_out_wholly_withdrawn(
        &self,
        record: &dyn Read,
    ) -> Result<(), Error> {
        for load_id in self.loads(Table::Withdrawn)? {
            if is_wholly_withdrawn(record, load_id)? {
                self.c.execute(
                    "delete from temp.withdrawn_found where load_id = ?1",
                    [load_id],
                )?;
            }
        }
        Ok(())
    }

    /// Walks along the rows of the file that a table has.
    pub(in crate::journal) fn walk(&self, table: Table) -> Walk<'c> {
        Walk {
            c: self.c,
            table,
            page: Vec::new(),
            at: 0,
            after: PaymentId::NONE,
            is_over: false,
        }
    }
}

/// The rows of the file that a table has, beside the file, whose rows are asked for in their order.
pub(in crate::journal) struct Walk<'c> {
    c: &'c Connection,
    table: Table,
    page: Vec<PaymentId>,
    at: usize,
    /// The page ends with this one.
    after: PaymentId,
    is_over: bool,
}

impl Walk<'_> {
    /// Returns whether the table has a row, which comes after the one that was asked for before.
    pub(in crate::journal) fn has(&mut self, seq: PaymentId) -> Result<bool, Error> {
        loop {
            self.at += self.page[self.at..].partition_point(|known| *known < seq);
            if let Some(known) = self.page.get(self.at) {
                return Ok(*known == seq);
            }
            if self.is_over {
                return Ok(false);
            }
            let mut statement = self.c.prepare_cached(&format!(
                "select distinct seq from {} where seq > ?1 order by seq limit {PAGE}",
                self.table.name()
            ))?;
            let page = statement.query_map([self.after], |row| row.get(0))?;
            self.page = page.collect::<Result<_, _>>()?;
            self.at = 0;
            match self.page.last() {
                Some(last) => self.after = *last,
                None => self.is_over = true,
            }
        }
    }
}

/// Returns whether every row of a load was cancelled.
fn is_wholly_withdrawn(c: &dyn Read, load_id: LoadId) -> Result<bool, Error> {
    let Some(first) = first_of(c, load_id)? else {
        return Ok(true);
    };
    let cancelled = State::Cancelled;
    let mut after: Option<PaymentId> = None;
    loop {
        let rows = Scan::of(&instruction::TABLE);
        let rows = match &after {
            None => rows.from(&first),
            Some(after) => rows.after(after),
        };
        let rows = rows.only(instruction::load_id, Test::is(&load_id));
        let page: Vec<PaymentId> = c.values(&rows.limit(PAGE), instruction::seq)?;
        let (Some(from), Some(to)) = (page.first(), page.last()) else {
            return Ok(true);
        };
        // Beside them those that are cancelled: rows of other loads between them are passed over.
        let between = Scan::of(&life::TABLE).from(from).up_to(to);
        let mut rest = &page[..];
        c.each_row(
            &between.only(life::state, Test::is(&cancelled)),
            &[life::seq],
            |row| {
                let seq: PaymentId = row.get(0)?;
                Ok::<_, Error>(match rest.split_first() {
                    Some((next, later)) if *next == seq => {
                        rest = later;
                        ControlFlow::Continue(())
                    }
                    Some((next, _)) if *next > seq => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                })
            },
        )?;
        if !rest.is_empty() {
            return Ok(false);
        }
        after = page.last().copied();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BatchId, LaneId};
    use crate::store::memory::Memory;
    use crate::store::{Transact, Writes, shape};

    shape! {
        struct Chunk of fingerprints { load_id: LoadId, least: i64, first_seq: PaymentId }
    }
    shape! {
        struct Row of instruction { seq: PaymentId, load_id: LoadId }
    }
    shape! {
        struct Life of life { seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64 }
    }

    fn life(seq: i64, state: State) -> Life {
        Life {
            seq: PaymentId::new(seq),
            batch_id: BatchId::new(1),
            service_id: LaneId::new(1),
            state,
            due_at: i64::MAX,
        }
    }

    #[test]
    fn a_walk_finds_what_a_table_has_over_all_its_pages() {
        let c = Connection::open_in_memory().unwrap();
        let found = Found::begin(&c).unwrap();
        let rows = 3 * i64::try_from(PAGE).unwrap() + 5;
        for seq in (1..=rows).filter(|seq| seq % 3 == 0) {
            for load in [7, 8] {
                let (seq, load_id) = (PaymentId::new(seq), LoadId::new(load));
                found.add(Table::Repeat, seq, load_id, seq).unwrap();
            }
        }
        let mut walk = found.walk(Table::Repeat);
        for seq in 1..=rows + 9 {
            let expected = seq % 3 == 0 && seq <= rows;
            assert_eq!(walk.has(PaymentId::new(seq)).unwrap(), expected, "{seq}");
        }
        assert!(!found.walk(Table::Alike).has(PaymentId::new(3)).unwrap());
        let mut behind = found.walk(Table::Repeat);
        assert!(behind.has(PaymentId::new(rows - rows % 3)).unwrap());
        assert_eq!(found.rows(Table::Repeat).unwrap(), rows.unsigned_abs() / 3);
    }

    #[test]
    fn a_load_is_wholly_withdrawn_when_each_of_its_rows_was() {
        let rows = 2 * i64::try_from(PAGE).unwrap() + 4;
        let c = Memory::default();
        let load_of = |seq: i64| LoadId::new(1 + i64::from(seq % 5 == 0));
        c.begin().unwrap();
        for load in [1, 2] {
            let chunk = Chunk {
                load_id: LoadId::new(load),
                least: 0,
                first_seq: PaymentId::new(1),
            };
            Writes::append(&c, &chunk).unwrap();
        }
        for seq in 1..=rows {
            let row = Row {
                seq: PaymentId::new(seq),
                load_id: load_of(seq),
            };
            c.insert(&row).unwrap();
            // Those of the other load have no life, or were paid.
            match (load_of(seq).get(), seq % 2) {
                (1, _) => c.insert(&life(seq, State::Cancelled)).unwrap(),
                (_, 0) => c.insert(&life(seq, State::Paid)).unwrap(),
                (..) => {}
            }
        }
        let is_whole = |load| is_wholly_withdrawn(&c, LoadId::new(load)).unwrap();
        assert_eq!([1, 2, 3].map(is_whole), [true, false, true]);
        let last = PaymentId::new(rows);
        let own = Scan::of(&life::TABLE).at(&last);
        c.set(&own, life::state, &State::Ready).unwrap();
        assert!(!is_whole(1));
        c.remove(&own).unwrap();
        assert!(!is_whole(1));
        c.commit().unwrap();
    }
}
