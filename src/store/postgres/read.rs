//! Reading: rows in pages, each a statement of its own, so that whoever is shown one may ask for others.

use std::ops::ControlFlow;

use super::ahead::{Ahead, BY_KEYS};
use super::codec::Kind;
use super::columns::{kinds_of, order_of};
use super::expected;
use super::known::{Columns, Key, Shown, passes};
use super::link::Request;
use super::own::{Group, Own};
use super::pending::Leaving;
use super::rows::{PAGE, columns_of, value_of};
use super::statement;
use super::store::{Phase, Postgres};
use crate::store::{Column, Error, Read, Row, Scan, Transact as _, Value};

/// Rows that are expected by one statement at most.
const EXPECTED_MAX: usize = 1_000;

/// Rows that came, and what their columns hold.
struct Page<'k> {
    row: tokio_postgres::Row,
    kinds: &'k [Kind],
    /// How many columns were asked for: behind them stands the place of the row in its order.
    width: usize,
}

impl Row for Page<'_> {
    fn width(&self) -> usize {
        self.width
    }

    fn value(&self, at: usize) -> Result<Value<'_>, Error> {
        value_of(&self.row, self.kinds, at)
    }
}

impl Postgres {
    /// Reads the next rows of a scan behind a place; their places stand behind the columns that are asked for.
    fn page(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        read_up_to: Option<&[Value<'_>]>,
        rows: usize,
    ) -> Result<Vec<tokio_postgres::Row>, Error> {
        let statement = statement::page(scan, columns, read_up_to, rows)?;
        self.query(&self.waiting(scan.table), &statement)
    }

    /// Returns the row that has a key, as a transaction that writes knows it or reads it now.
    fn row_of(&self, scan: &Scan<'_>, key: Key) -> Result<Option<Columns>, Error> {
        let table = scan.table;
        if let Some(known) = self.known.borrow().get(table, &key) {
            return Ok(known.cloned());
        }
        let leaving = match self.pending.borrow().touches(table, &key) {
            true => None,
            false => Some(Leaving::nothing()),
        };
        let leaving = leaving.unwrap_or_else(|| self.waiting(table));
        let mut whole = Scan::of(table);
        whole.at.clone_from(&scan.at);
        let columns = table.every_column();
        let statement = statement::page(&whole, &columns, None, 1)?;
        let rows = self.query(&leaving, &statement)?;
        let kinds = kinds_of(table, &columns)?;
        let row = rows
            .first()
            .map(|row| columns_of(row, &kinds))
            .transpose()?;
        self.known.borrow_mut().put(table, key, row.clone());
        Ok(row)
    }

    /// Returns whether a scan would be answered by what is known, or waits to be written.
    fn is_known(&self, scan: &Scan<'_>) -> bool {
        let known = self.known.borrow();
        match Key::of_scan(scan) {
            None => known.answer(scan).is_some(),
            Some(key) => {
                known.get(scan.table, &key).is_some()
                    || self.pending.borrow().touches(scan.table, &key)
            }
        }
    }

    /// Knows rows again that this writer has written, where nobody has written them since; returns the scans of the others.
    pub(super) fn confirm<'s>(&self, own: &[Group<'s>]) -> Result<Vec<&'s Scan<'s>>, Error> {
        let checks = own.iter().flat_map(|group| {
            let parts = group.keys.chunks(BY_KEYS);
            parts.map(|keys| statement::written_by(Own::TABLE, keys, &group.transaction))
        });
        let checks: Vec<_> = checks.collect::<Result<_, _>>()?;
        let mut parts = own.iter().flat_map(|group| {
            let scans = group.scans.chunks(BY_KEYS);
            scans
                .zip(group.keys.chunks(BY_KEYS))
                .zip(group.rows.chunks(BY_KEYS))
        });
        let mut changed = Vec::new();
        let requests = checks.iter().map(Request::Rows).collect();
        // What waits to be written is known.
        self.send_each(&[], requests, &mut |_, answer| {
            let Some(((scans, keys), rows)) = parts.next() else {
                return Err(Error::corrupt("an answer to nothing"));
            };
            let count: Option<i64> = answer.rows().first().and_then(|row| row.try_get(0).ok());
            if count != i64::try_from(rows.len()).ok() {
                changed.extend(scans);
                return Ok(());
            }
            let mut known = self.known.borrow_mut();
            for (key, row) in keys.iter().zip(rows) {
                known.put(Own::TABLE, Key::of(key.iter()), Some(Columns::clone(row)));
            }
            Ok(())
        })?;
        Ok(changed)
    }

    /// Returns the rows of a scan that was expected.
    fn answer(&self, scan: &Scan<'_>) -> Option<Vec<Columns>> {
        self.known.borrow().answer(scan).map(<[_]>::to_vec)
    }

    /// Shows all rows of a scan, a page after the other.
    fn pass(
        &self,
        (scan, most): (&Scan<'_>, usize),
        (columns, kinds, width): (&[Column], &[Kind], usize),
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut left = scan.limit.unwrap_or(usize::MAX).min(most);
        let mut place: Option<Vec<Value<'static>>> = None;
        let mut wanted = match scan.limit {
            Some(_) => PAGE.1,
            None => PAGE.0,
        };
        while left > 0 {
            let asked = wanted.min(left);
            let rows = self.page(scan, columns, place.as_deref(), asked)?;
            let is_last = rows.len() < asked;
            left -= rows.len();
            wanted = (wanted * 8).min(PAGE.1);
            for row in rows {
                let page = Page { row, kinds, width };
                if visit(&page).is_break() {
                    return Ok(());
                }
                let place = place.insert(Vec::new());
                for at in width..kinds.len() {
                    place.push(value_of(&page.row, kinds, at)?.into_owned());
                }
            }
            if is_last {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Read for Postgres {
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if let Phase::Writing(_) = self.phase.get() {
            self.habits.borrow_mut().note(scan);
            self.foresight.borrow_mut().note(scan);
        }
        if let Phase::Writing(_) = self.phase.get()
            && let Some(key) = Key::of_scan(scan)
        {
            if let Some(row) = self.row_of(scan, key)?
                && scan.limit != Some(0)
                && passes(scan, &row)
            {
                let _ = visit(&Shown { row: &row, columns });
            }
            return Ok(());
        }
        if let Phase::Writing(_) = self.phase.get()
            && let Some(rows) = self.answer(scan)
        {
            let mut rows = rows.iter();
            let _ = rows.try_for_each(|row| visit(&Shown { row, columns }));
            return Ok(());
        }
        let order = order_of(scan.table, scan.index);
        let is_one = scan.index.is_none() && scan.at.len() >= order.len();
        let most = if is_one { 1 } else { usize::MAX };
        let is_long = scan.limit.unwrap_or(usize::MAX).min(most) > PAGE.0;
        let mut read = columns.to_vec();
        if is_long {
            read.extend(order);
        }
        let kinds = kinds_of(scan.table, &read)?;
        // What is written meanwhile stays out of a pass over several pages.
        let begins = self.phase.get() == Phase::Idle && is_long;
        if begins {
            self.begin_passing()?;
        }
        let passed = self.pass((scan, most), (&read, &kinds, columns.len()), visit);
        if begins {
            let ended = self.rollback();
            return passed.and(ended);
        }
        passed
    }

    fn expect(&self, wanted: &[Scan<'_>]) -> Result<(), Error> {
        let Phase::Writing(_) = self.phase.get() else {
            return Ok(());
        };
        let unknown = wanted.iter().filter(|scan| !self.is_known(scan));
        let (own, mut others) = self.own.borrow().part(unknown.collect());
        others.extend(self.confirm(&own)?);
        for wanted in others.chunks(EXPECTED_MAX) {
            let ahead = Ahead::of(wanted.iter().copied());
            let waiting: Vec<_> = ahead.tables().map(|table| self.waiting(table)).collect();
            let statements = ahead.statements()?;
            let requests = statements.iter().map(Request::Rows).collect();
            self.send_each(&waiting, requests, &mut |at, answer| {
                ahead.note(at, answer, &mut self.known.borrow_mut())
            })?;
        }
        Ok(())
    }

    fn come_to(&self, numbers: &[i64], nth: usize) -> Result<(), Error> {
        let Phase::Writing(_) = self.phase.get() else {
            return Ok(());
        };
        let foreseen = self.foresight.borrow_mut().come_to(numbers, nth);
        if foreseen.is_fresh {
            let mut known = self.known.borrow_mut();
            let tables = foreseen.scans.iter().map(|scan| scan.table);
            tables.for_each(|table| known.forget_answers(table));
        }
        self.expect(&foreseen.scans)
    }

    fn misfits(&self) -> Result<Vec<String>, Error> {
        expected::misfits(self)
    }

    fn damage(&self) -> Result<Vec<String>, Error> {
        expected::damage(self)
    }

    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        let statement = statement::count(scan)?;
        let rows = self.query(&self.waiting(scan.table), &statement)?;
        let count = rows.first().and_then(|row| row.try_get(0).ok());
        let count: i64 = count.ok_or_else(|| Error::corrupt("no count"))?;
        u64::try_from(count).map_err(|_| Error::corrupt("a negative count"))
    }
}

/// Returns how the server finds the rows of a scan, in its own words.
#[cfg(test)]
pub(super) fn plan_of(store: &Postgres, scan: &Scan<'_>) -> Result<String, Error> {
    let order = order_of(scan.table, scan.index);
    let mut statement = statement::page(scan, &order, None, 16)?;
    statement.text.insert_str(0, "explain ");
    let rows = store.query(&Leaving::nothing(), &statement)?;
    let lines = rows
        .iter()
        .filter_map(|row| row.try_get::<_, String>(0).ok());
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns how many pages the server looks at for the rows of a scan.
#[cfg(test)]
pub(super) fn pages_of(store: &Postgres, scan: &Scan<'_>) -> Result<u64, Error> {
    let order = order_of(scan.table, scan.index);
    let mut statement = statement::page(scan, &order, None, 16)?;
    statement.text.insert_str(
        0,
        "explain (analyze, buffers, timing off, costs off, summary off) ",
    );
    let rows = store.query(&Leaving::nothing(), &statement)?;
    let lines = rows
        .iter()
        .filter_map(|row| row.try_get::<_, String>(0).ok());
    let pages = lines.filter_map(|line| line.split("shared hit=").nth(1)?.parse().ok());
    Ok(pages.max().unwrap_or(0))
}
