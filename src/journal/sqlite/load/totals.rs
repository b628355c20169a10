//! What the rows of a load come to, and whether that is what was declared, and can be counted.

use super::job::{ByService, Load};
use crate::domain::{Amount, Currency, Money, Tally};
use crate::journal::sqlite::codec::values::{currency_of, service_of};
use crate::journal::{CrossRowError, Error, LoadRefusal, LoadSummary};
use crate::ledger::payer::Identifiers;

/// Amounts are divided by this before SQLite adds them up, so that their sum stays within 64 bits whatever they are.
const COARSE: i128 = 1_000_000;

impl Load<'_> {
    /// Refuses rows whose sum SQLite could not add up: every later command would fail at it.
    pub(in crate::journal::sqlite) fn too_much(&self) -> Result<Option<LoadRefusal>, Error> {
        let mut total = self.rejected.amounts.clone();
        for (currency, minor) in self.skipped.amounts.iter() {
            total.add_minor(currency, minor);
        }
        for lane in &self.lanes {
            total.add_minor(lane.currency, lane.minor);
        }
        self.corrections
            .replacing()
            .for_each(|money| total.add(money));
        if self.existed {
            let mut statement = self.c.prepare(&format!(
                "select currency, sum(amount / {COARSE}) from instruction
                 where batch_id = ?1 and seq <= ?2 and generation = 0 group by currency"
            ))?;
            let mut rows = statement.query((self.batch_id, self.base))?;
            while let Some(row) = rows.next()? {
                let currency = currency_of(&row.get::<_, String>(0)?)?;
                let coarse: Option<i64> = row.get(1)?;
                total.add_minor(currency, i128::from(coarse.unwrap_or(0)) * COARSE);
            }
        }
        Ok(total.is_beyond_counting().then(|| LoadRefusal::TooMuch {
            total: total.to_string(),
        }))
    }

    /// Refuses rows that take their batch over its ceiling. What failed or was cancelled before counts no more: should it be paid
    /// anew, the claim judges it. What an earlier journal may have posted is loaded whatever it comes to.
    pub(in crate::journal::sqlite) fn over_ceiling(
        &self,
        summary: &LoadSummary,
    ) -> Result<Option<LoadRefusal>, Error> {
        if self.plan.batch_ceilings.is_empty() || self.presumes {
            return Ok(None);
        }
        let mut total = summary.total().amounts;
        let mut statement = self.c.prepare_cached(
            "select currency, amount from tally where batch_id = ?1 and state not in (6, 7) and count > 0",
        )?;
        let mut rows = statement.query([self.batch_id])?;
        while let Some(row) = rows.next()? {
            let currency = currency_of(&row.get::<_, String>(0)?)?;
            total.add_minor(currency, i128::from(row.get::<_, i64>(1)?));
        }
        let over = self
            .plan
            .batch_ceilings
            .iter()
            .find_map(|(currency, ceiling)| {
                let minor = total.minor(*currency);
                (minor > i128::from(ceiling.minor())).then_some((*currency, minor, *ceiling))
            });
        let Some((currency, minor, ceiling)) = over else {
            return Ok(None);
        };
        let most = i64::try_from(minor).unwrap_or(i64::MAX);
        let total = Amount::from_minor(most).unwrap_or(ceiling);
        let money = |amount| Money { amount, currency };
        Ok(Some(LoadRefusal::OverCeiling {
            total: money(total),
            ceiling: money(ceiling),
        }))
    }

    /// Compares the file as a whole with what was declared: new rows, rejected ones, and those that were there before.
    pub(in crate::journal::sqlite) fn check_declared(
        &self,
        summary: &LoadSummary,
        unchanged: &Tally,
    ) -> Result<Option<LoadRefusal>, Error> {
        let mut all = summary.total();
        all.add_all(&summary.rejected);
        all.add_all(unchanged);
        if let Some(expected) = self
            .plan
            .expect_count
            .filter(|expected| *expected != all.count)
        {
            return Ok(Some(LoadRefusal::Count {
                expected,
                found: all.count,
            }));
        }
        // Compared once the rows without an amount have theirs.
        let declared = self.plan.expect_total.filter(|_| summary.unpriced == 0);
        let Some((currency, amount)) = declared else {
            return Ok(None);
        };
        let others = all.amounts.iter().any(|(found, _)| found != currency);
        if all.amounts.minor(currency) == i128::from(amount.minor()) && !others {
            return Ok(None);
        }
        let expected = crate::domain::Money { amount, currency };
        Ok(Some(LoadRefusal::Total {
            expected: format!("{currency} {expected}"),
            found: all.amounts.to_string(),
            unread: self.unread()?,
        }))
    }

    /// Counts the rows that are set aside and whose amounts cannot be read.
    fn unread(&self) -> Result<u64, Error> {
        let count: i64 = self.c.query_row(
            "select count(*) from rejected where load_id = ?1 and amount is null",
            [self.load_id],
            |row| row.get(0),
        )?;
        Ok(count.unsigned_abs())
    }

    pub(in crate::journal::sqlite) fn summary(
        &self,
        late: Vec<CrossRowError>,
        unchanged: u64,
    ) -> Result<LoadSummary, Error> {
        let (accepted, unpriced) = match self.altered {
            true => self.accepted("seq > ?1", self.base)?,
            false => self.passed(),
        };
        Ok(LoadSummary {
            accepted,
            unpriced,
            rejected: self.rejected.clone(),
            skipped: self.skipped.clone(),
            late,
            unchanged,
            ..LoadSummary::default()
        })
    }

    /// What the rows that passed add up to, and how many of them wait for their amount.
    fn passed(&self) -> (ByService, u64) {
        let mut accepted: ByService = self
            .lanes
            .iter()
            .map(|lane| {
                let mut tally = Tally::default();
                let rows = (lane.priced + lane.unpriced).unsigned_abs();
                tally.add_many(rows, lane.currency, lane.minor);
                (lane.service.clone(), lane.currency, tally)
            })
            .collect();
        accepted.sort_by(|(a, b, _), (c, d, _)| (a, b).cmp(&(c, d)));
        let unpriced = self.lanes.iter().map(|lane| lane.unpriced.unsigned_abs());
        (accepted, unpriced.sum())
    }

    /// Returns what tells the payments that this load brings from any others, but for those that take the place of earlier ones.
    pub(in crate::journal::sqlite) fn identifiers(&self) -> Result<Identifiers, Error> {
        if !self.altered {
            return Ok(self.identifiers);
        }
        let mut found = Identifiers::default();
        let mut statement = self
            .c
            .prepare("select identifier from instruction where seq > ?1 and generation = 0")?;
        let mut rows = statement.query([self.base])?;
        while let Some(row) = rows.next()? {
            found.add(&row.get::<_, String>(0)?);
        }
        Ok(found)
    }

    /// What rows in the table add up to, and how many of them wait for their amount.
    pub(in crate::journal::sqlite) fn accepted(
        &self,
        which: &'static str,
        bound: impl rusqlite::ToSql,
    ) -> Result<(ByService, u64), Error> {
        let mut statement = self.c.prepare(&format!(
            "select code, currency, count(*), coalesce(sum(amount), 0),
                 count(*) filter (where amount is null and not exists (select 1 from life where life.seq = instruction.seq)) from instruction join service using (service_id)
             where {which} group by code, currency order by code, currency"
        ))?;
        let mut rows = statement.query([bound])?;
        let (mut accepted, mut unpriced) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            unpriced += row.get::<_, i64>(4)?.unsigned_abs();
            let currency: Currency = currency_of(&row.get::<_, String>(1)?)?;
            let mut tally = Tally::default();
            tally.add_many(
                row.get::<_, i64>(2)?.unsigned_abs(),
                currency,
                i128::from(row.get::<_, i64>(3)?),
            );
            accepted.push((service_of(&row.get::<_, String>(0)?)?, currency, tally));
        }
        Ok((accepted, unpriced))
    }
}
