//! Rows that did not pass validation, and are set aside with their load.

use std::ops::ControlFlow;

use super::aside::{SaidBy, withdraw};
use super::job::Load;
use super::shared::ByValues;
use crate::domain::{BatchId, LoadId, Tally};
use crate::journal::codec::insert::line_number;
use crate::journal::codec::values::currency_of;
use crate::journal::evidence::salt::{self, Salt};
use crate::journal::{Error, RejectedRow};
use crate::store::tables::{load, rejected};
use crate::store::{Column, Reads, Scan, Shape, Test, Value, Writes, shape};

shape! {
    /// A row as it is set aside.
    struct SetAside of rejected {
        load_id: LoadId, line: i64, nth: i64, batch_id: BatchId, reference: Option<String>, service_code: Option<String>,
        msisdn: Option<String>, account_number: Option<String>, amount_text: Option<String>, amount: Option<i64>,
        currency: Option<String>, errors: String, digest: [u8; 32], cells: Option<String>, salt: Salt,
    }
}
shape! {
    /// A row that was set aside, and what its file says of it.
    struct Said of rejected { line: i64, nth: i64, errors: String }
}
shape! {
    /// A row that was set aside, by what it holds.
    struct Known of rejected { digest: [u8; 32], load_id: LoadId, line: i64, nth: i64 }
}

/// Rows that are read before any of them is written.
const PAGE: usize = 1024;

/// What versions before 5 knew of a row that was set aside.
const PLAIN: [Column; 8] = [
    rejected::line,
    rejected::reference,
    rejected::service_code,
    rejected::msisdn,
    rejected::account_number,
    rejected::amount_text,
    rejected::amount,
    rejected::currency,
];

impl Load<'_> {
    /// Counts a row that did not pass.
    pub(in crate::journal) fn count_rejected(&mut self, row: &RejectedRow) {
        self.rejected.count += 1;
        if let Some(money) = row.money {
            self.rejected.amounts.add(money);
        }
    }

    /// Counts a row that is no payment.
    pub(in crate::journal) fn count_skipped(&mut self, row: &RejectedRow) {
        self.skipped.count += 1;
        if let Some(money) = row.money {
            self.skipped.amounts.add(money);
        }
    }

    pub(in crate::journal) fn reject(&mut self, row: &RejectedRow) -> Result<(), Error> {
        self.count_rejected(row);
        self.keep(row)?;
        Ok(())
    }

    /// Keeps a row; returns its line, and which row of that line it is.
    fn keep(&mut self, row: &RejectedRow) -> Result<(i64, i64), Error> {
        let full = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let line = line_number(row.line);
        let nth = self.nth(line)?;
        self.c.insert(&SetAside {
            load_id: self.load_id,
            line,
            nth,
            batch_id: self.batch_id,
            reference: full(&row.reference),
            service_code: full(&row.service_code),
            msisdn: full(&row.msisdn),
            account_number: full(&row.account_number),
            amount_text: full(&row.amount_text),
            amount: row.money.map(|money| money.amount.minor()),
            currency: full(&row.currency_code),
            errors: row.errors.clone(),
            digest: row.digest,
            cells: full(&row.cells),
            salt: salt::fresh()?,
        })?;
        Ok((line, nth))
    }

    /// Returns how many rows of a line are set aside already.
    fn nth(&mut self, line: i64) -> Result<i64, Error> {
        // While the rows pass by, a line beyond the newest one has none; nothing is looked up for it.
        let nth = match self.newest_set_aside {
            Some((newest, _)) if newest < line => 0,
            Some((newest, nth)) if newest == line => nth + 1,
            _ => {
                let of_line = Scan::of(&rejected::TABLE).at(&self.load_id).at(&line);
                let newest: Option<i64> = self.c.value(&of_line.descending(), rejected::nth)?;
                return Ok(newest.map_or(0, |newest| newest + 1));
            }
        };
        self.newest_set_aside = Some((line, nth));
        Ok(nth)
    }

    /// Keeps a row that is no payment.
    pub(in crate::journal) fn skip(&mut self, row: &RejectedRow) -> Result<(), Error> {
        self.count_skipped(row);
        let (line, nth) = self.keep(row)?;
        // It is withdrawn once the load is on the chain: see `withdraw_skipped`.
        self.no_payments.insert(line, nth);
        Ok(())
    }

    /// Records that the rows which are no payments are not paid: whoever loads the file has said so by its layout.
    pub(in crate::journal) fn withdraw_skipped(&self) -> Result<(), Error> {
        let mut last = (i64::MIN, i64::MIN);
        loop {
            let behind = vec![Value::Integer(last.0), Value::Integer(last.1)];
            let own = Scan::of(&rejected::TABLE).at(&self.load_id);
            let page: Vec<Said> = self.c.list(&own.after_all(behind).limit(PAGE))?;
            let Some(newest) = page.last() else {
                return Ok(());
            };
            last = (newest.line, newest.nth);
            for Said { line, nth, errors } in page {
                if self.no_payments.contains(line, nth) {
                    withdraw(
                        self.c,
                        self.batch_id,
                        (self.load_id, line, nth),
                        (SaidBy::Layout, &errors),
                        self.plan.now,
                    )?;
                }
            }
        }
    }

    /// Drops rows with errors, or that are no payments, that an earlier load of the batch has set aside already; returns what those
    /// with errors come to.
    pub(in crate::journal) fn drop_set_aside_before(&mut self) -> Result<Tally, Error> {
        let all = self.set_aside_as(false)?;
        self.drop_known()?;
        self.rejected = self.set_aside_as(false)?;
        self.skipped = self.set_aside_as(true)?;
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

    /// Drops as many rows of each kind as earlier loads of the batch have set aside.
    fn drop_known(&self) -> Result<(), Error> {
        // Rows of one kind stand together, those of this load behind those of earlier ones.
        let of_batch = || {
            Scan::by(&rejected::rejected_by_batch)
                .at(&self.batch_id)
                .only(rejected::digest, Test::Present)
        };
        let (mut kind, mut known) = (None, 0_u64);
        let mut page: Vec<Known> = self.c.list(&of_batch().limit(PAGE))?;
        while let Some(last) = page.last() {
            let behind = Shape::values(last)
                .into_iter()
                .map(Value::into_owned)
                .collect();
            for row in &page {
                if kind != Some(row.digest) {
                    (kind, known) = (Some(row.digest), 0);
                }
                if row.load_id != self.load_id {
                    known += 1;
                } else if known > 0 {
                    known -= 1;
                    let (load_id, line, nth) = (row.load_id, row.line, row.nth);
                    let one = Scan::of(&rejected::TABLE).at(&load_id).at(&line).at(&nth);
                    self.c.remove(&one)?;
                }
            }
            page = self.c.list(&of_batch().after_all(behind).limit(PAGE))?;
        }
        Ok(())
    }

    /// Returns what the rows come to that this load has set aside: those with errors, or those that are no payments.
    fn set_aside_as(&self, no_payments: bool) -> Result<Tally, Error> {
        let own = Scan::of(&rejected::TABLE).at(&self.load_id);
        let columns = [
            rejected::line,
            rejected::nth,
            rejected::amount,
            rejected::currency,
        ];
        let mut tally = Tally::default();
        self.c.each_row(&own, &columns, |row| {
            if self.no_payments.contains(row.get(0)?, row.get(1)?) == no_payments {
                tally.count += 1;
                if let Some(minor) = row.get::<Option<i64>>(2)? {
                    let currency = currency_of(&row.get::<String>(3)?)?;
                    tally.amounts.add_minor(currency, i128::from(minor));
                }
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(tally)
    }

    /// Returns whether an earlier load of the batch has set rows aside that nothing has taken the place of.
    pub(in crate::journal) fn has_set_aside_any(&self) -> Result<bool, Error> {
        let open = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .only(rejected::load_id, Test::is_not(&self.load_id))
            .only(rejected::digest, Test::Present)
            .only(rejected::replaced_by, Test::Absent);
        Ok(self.c.any(&open)?)
    }

    /// Returns whether the load with this digest, in the form of versions before 5, has set aside the rows with errors that this
    /// one has.
    pub(in crate::journal) fn has_set_aside_the_same(&self, digest: &str) -> Result<bool, Error> {
        let same = Scan::by(&load::load_by_digest)
            .at(&digest)
            .only(load::batch_id, Test::is(&self.batch_id));
        let Some(earlier) = self.c.value(&same, load::load_id)? else {
            return Ok(false);
        };
        let mut are_all_there = true;
        let (own, its) = (self.plain(self.load_id)?, self.plain(earlier)?);
        own.beside(its, |_, is_there| match is_there {
            true => ControlFlow::Continue(()),
            false => {
                are_all_there = false;
                ControlFlow::Break(())
            }
        })?;
        Ok(are_all_there)
    }

    /// Returns the rows that a load has set aside, as versions before 5 knew them.
    fn plain(&self, load_id: LoadId) -> Result<ByValues, Error> {
        let mut rows = ByValues::default();
        let of_load = Scan::of(&rejected::TABLE).at(&load_id);
        self.c.each_row(&of_load, &PLAIN, |row| {
            let values: Vec<Value<'_>> = (0..PLAIN.len())
                .map(|at| row.value(at))
                .collect::<Result<_, _>>()?;
            rows.push(&values, row.get(0)?)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }
}
