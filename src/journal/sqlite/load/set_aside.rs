//! Rows that did not pass validation, and are set aside with their load.

use rusqlite::{Connection, params};

use super::aside::{SaidBy, withdraw};
use super::job::Load;
use crate::domain::{LoadId, Tally};
use crate::journal::sqlite::codec::insert::line_number;
use crate::journal::sqlite::codec::values::currency_of;
use crate::journal::sqlite::evidence::salt;
use crate::journal::{Error, RejectedRow};

impl Load<'_> {
    /// Counts a row that did not pass.
    pub(in crate::journal::sqlite) fn count_rejected(&mut self, row: &RejectedRow) {
        self.rejected.count += 1;
        if let Some(money) = row.money {
            self.rejected.amounts.add(money);
        }
    }

    /// Counts a row that is no payment.
    pub(in crate::journal::sqlite) fn count_skipped(&mut self, row: &RejectedRow) {
        self.skipped.count += 1;
        if let Some(money) = row.money {
            self.skipped.amounts.add(money);
        }
    }

    pub(in crate::journal::sqlite) fn reject(&mut self, row: &RejectedRow) -> Result<(), Error> {
        self.count_rejected(row);
        self.keep(row)
    }

    fn keep(&self, row: &RejectedRow) -> Result<(), Error> {
        let full = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        self.c
            .prepare_cached(
                "insert into rejected (load_id, line, nth, batch_id, reference, service_code, msisdn, account_number,
                     amount_text, amount, currency, errors, digest, cells, salt)
                 values (?1, ?2, (select coalesce(max(nth) + 1, 0) from rejected where load_id = ?1 and line = ?2),
                     ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?
            .execute(params![
                self.load_id,
                line_number(row.line),
                self.batch_id,
                full(&row.reference),
                full(&row.service_code),
                full(&row.msisdn),
                full(&row.account_number),
                full(&row.amount_text),
                row.money.map(|money| money.amount.minor()),
                full(&row.currency_code),
                row.errors,
                &row.digest[..],
                full(&row.cells),
                &salt::fresh()?[..],
            ])?;
        Ok(())
    }

    /// Keeps a row that is no payment.
    pub(in crate::journal::sqlite) fn skip(&mut self, row: &RejectedRow) -> Result<(), Error> {
        self.count_skipped(row);
        self.keep(row)?;
        // It is withdrawn once the load is on the chain: see `withdraw_skipped`.
        self.c
            .prepare_cached("insert into temp.skipped select max(nth), ?2 from rejected where load_id = ?1 and line = ?2")?
            .execute((self.load_id, line_number(row.line)))?;
        Ok(())
    }

    /// Records that the rows which are no payments are not paid: whoever loads the file has said so by its layout.
    pub(in crate::journal::sqlite) fn withdraw_skipped(&self) -> Result<(), Error> {
        let places: Vec<(i64, i64, String)> = self
            .c
            .prepare("select line, nth, errors from rejected where load_id = ?1 and (nth, line) in (select nth, line from temp.skipped) order by line, nth")?
            .query_map([self.load_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        for (line, nth, reason) in places {
            withdraw(
                self.c,
                self.batch_id,
                (self.load_id, line, nth),
                (SaidBy::Layout, &reason),
                self.plan.now,
            )?;
        }
        Ok(())
    }

    /// Drops rows with errors, or that are no payments, that an earlier load of the batch has set aside already; returns what those
    /// with errors come to.
    pub(in crate::journal::sqlite) fn drop_set_aside_before(&mut self) -> Result<Tally, Error> {
        let all = set_aside(self.c, self.load_id, false)?;
        self.c.execute(
            "delete from rejected where load_id = ?1 and (line, nth) in (
                 select line, nth from (
                     select line, nth, digest, row_number() over (partition by digest order by line, nth) as number
                     from rejected where load_id = ?1) as own
                 where number <= (select count(*) from rejected as earlier
                     where earlier.batch_id = ?2 and earlier.digest = own.digest and earlier.load_id <> ?1))",
            params![self.load_id, self.batch_id],
        )?;
        self.rejected = set_aside(self.c, self.load_id, false)?;
        self.skipped = set_aside(self.c, self.load_id, true)?;
        let mut tally = Tally {
            count: all.count - self.rejected.count,
            ..Tally::default()
        };
        for (currency, minor) in all.amounts.iter() {
            tally
                .amounts
                .add_minor(currency, minor - self.rejected.amounts.minor(currency));
        }
        Ok(tally)
    }

    /// Returns whether an earlier load of the batch has set rows aside that nothing has taken the place of.
    pub(in crate::journal::sqlite) fn has_set_aside_any(&self) -> Result<bool, Error> {
        Ok(self.c.query_row(
            "select exists (select 1 from rejected where batch_id = ?1 and load_id <> ?2 and digest is not null and replaced_by is null)",
            (self.batch_id, self.load_id),
            |row| row.get(0),
        )?)
    }

    /// Returns whether the load with this digest, in the form of versions before 5, has set aside the rows with errors that this
    /// one has.
    pub(in crate::journal::sqlite) fn has_set_aside_the_same(
        &self,
        digest: &str,
    ) -> Result<bool, Error> {
        let columns =
            "line, reference, service_code, msisdn, account_number, amount_text, amount, currency";
        Ok(self.c.query_row(
            &format!(
                "select exists (select 1 from load where batch_id = ?2 and digest = ?3)
                     and not exists (select {columns} from rejected where load_id = ?1
                         except select {columns} from rejected where load_id =
                             (select load_id from load where batch_id = ?2 and digest = ?3 limit 1))"
            ),
            params![self.load_id, self.batch_id, digest],
            |row| row.get(0),
        )?)
    }
}

/// Prepares for the rows of a load that are no payments.
pub(in crate::journal::sqlite) fn begin(c: &Connection) -> Result<(), Error> {
    Ok(c.execute_batch(
        "create temp table if not exists skipped (nth integer not null, line integer not null, primary key (line, nth)); delete from temp.skipped;",
    )?)
}

/// Returns what the rows come to that a load has set aside: those with errors, or those that are no payments.
fn set_aside(c: &Connection, load_id: LoadId, skipped: bool) -> Result<Tally, Error> {
    let mut statement = c.prepare_cached(
        "select count(*), currency, sum(amount) from rejected
         where load_id = ?1 and ((nth, line) in (select nth, line from temp.skipped)) = ?2 group by iif(amount is null, null, currency)",
    )?;
    let mut rows = statement.query(params![load_id, skipped])?;
    let mut tally = Tally::default();
    while let Some(row) = rows.next()? {
        tally.count += row.get::<_, i64>(0)?.unsigned_abs();
        if let Some(minor) = row.get::<_, Option<i64>>(2)? {
            let currency = currency_of(&row.get::<_, String>(1)?)?;
            tally.amounts.add_minor(currency, i128::from(minor));
        }
    }
    Ok(tally)
}
