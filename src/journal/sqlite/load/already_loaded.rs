//! A file that is loaded again: told by its digest, before any of its rows is looked at a second time.

use std::sync::mpsc::Receiver;

use rusqlite::params;

use super::job::{Load, Seen};
use super::prepare::{self, Preparer};
use crate::domain::{Currency, LoadId, ServiceCode, Tally};
use crate::journal::sqlite::codec::values::currency_of;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRefusal, LoadRow, LoadSummary, Loaded};

/// Tells whether the file is in its batch already; `None` when it is not, or when that takes a load to find out.
pub(in crate::journal::sqlite) fn recall(
    c: &mut WriteSession,
    plan: &LoadPlan,
    rows: Receiver<Vec<LoadRow>>,
) -> Result<Option<Loaded>, Error> {
    let found = match Load::begin(c, plan)? {
        Ok(load) => load.recall(rows),
        Err(refusal) => Ok(Some(Loaded::Refused(refusal))),
    }?;
    c.execute_batch("rollback")?;
    Ok(found)
}

impl Load<'_> {
    fn recall(mut self, rows: Receiver<Vec<LoadRow>>) -> Result<Option<Loaded>, Error> {
        if !self.existed {
            return Ok(None);
        }
        let mut seen = Seen::default();
        let hashed = prepare::each(Preparer::of_content(self.plan), rows, |rows, _| {
            for row in rows {
                match row {
                    LoadRow::Valid(row) => {
                        self.count(row, Some(row.money.amount.minor()))?;
                    }
                    LoadRow::Unpriced(row) => {
                        self.count(row, None)?;
                    }
                    LoadRow::Invalid(row) => {
                        seen.take_bad(row);
                        self.count_rejected(row);
                    }
                    LoadRow::Skipped(row) => {
                        seen.take_skipped(row);
                        self.count_skipped(row);
                    }
                    // The digest has it.
                    LoadRow::Corrects(_) => {}
                    LoadRow::EndOfFile => seen.ended = true,
                }
            }
            Ok(())
        })?;
        if !seen.ended {
            return Ok(Some(Loaded::Refused(LoadRefusal::Unreadable)));
        }
        self.recalled(&seen.digest(hashed.digest))
    }

    /// Returns what to say of a file with this digest when it is in the batch already.
    pub(in crate::journal::sqlite) fn recalled(
        &self,
        digest: &str,
    ) -> Result<Option<Loaded>, Error> {
        if !self.existed || !self.has_loaded(digest)? {
            return Ok(None);
        }
        let summary = self.earlier(digest)?;
        let refusal = match self.check_declared(&summary, &Tally::default())? {
            None if summary.unpriced > 0 => self.check_open_total(digest, &summary)?,
            refusal => refusal,
        };
        Ok(Some(match refusal {
            Some(refusal) => Loaded::Refused(refusal),
            None => Loaded::AlreadyLoaded(summary),
        }))
    }

    fn has_loaded(&self, digest: &str) -> Result<bool, Error> {
        Ok(self.c.query_row(
            "select exists (select 1 from load where batch_id = ?1 and digest = ?2)",
            params![self.batch_id, digest],
            |row| row.get(0),
        )?)
    }

    /// What this very file came to when it was loaded: rows may have been set aside after all were seen.
    fn earlier(&self, digest: &str) -> Result<LoadSummary, Error> {
        let (load_id, rejected): (LoadId, i64) = self.c.query_row(
            "select load_id, rejected from load where batch_id = ?1 and digest = ?2 limit 1",
            params![self.batch_id, digest],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut seen = self.summary(Vec::new(), 0)?;
        // Those that are no payments are among them there.
        let rejected = rejected.unsigned_abs().saturating_sub(self.skipped.count);
        if rejected == self.rejected.count {
            if seen.unpriced > 0 {
                // The amounts that were fixed since, where all rows of the file came with that load.
                let (accepted, unpriced) =
                    self.accepted("load_id = ?1 and generation = 0", load_id)?;
                let rows = |of: &[(ServiceCode, Currency, Tally)]| -> u64 {
                    of.iter().map(|(_, _, tally)| tally.count).sum()
                };
                if rows(&accepted) == rows(&seen.accepted) {
                    (seen.accepted, seen.unpriced) = (accepted, unpriced);
                }
            }
            return Ok(seen);
        }
        let mut set_aside = Tally {
            count: rejected,
            ..Tally::default()
        };
        let mut statement = self.c.prepare(
            "select currency, sum(amount) from rejected where load_id = ?1 and amount is not null group by currency",
        )?;
        let mut rows = statement.query([load_id])?;
        while let Some(row) = rows.next()? {
            let currency = currency_of(&row.get::<_, String>(0)?)?;
            set_aside.amounts.add_minor(
                currency,
                i128::from(row.get::<_, i64>(1)?) - self.skipped.amounts.minor(currency),
            );
        }
        let (accepted, unpriced) = self.accepted("load_id = ?1 and generation = 0", load_id)?;
        Ok(LoadSummary {
            accepted,
            unpriced,
            rejected: set_aside,
            skipped: self.skipped.clone(),
            ..LoadSummary::default()
        })
    }

    /// A total that is declared again must be the one that waits for the bills.
    fn check_open_total(
        &self,
        digest: &str,
        summary: &LoadSummary,
    ) -> Result<Option<LoadRefusal>, Error> {
        let Some((currency, amount)) = self.plan.expect_total else {
            return Ok(None);
        };
        let waits: bool = self.c.query_row(
            "select exists (select 1 from load where batch_id = ?1 and digest = ?2 and total = ?3 and total_currency = ?4)",
            params![self.batch_id, digest, amount.minor(), currency.code()],
            |row| row.get(0),
        )?;
        Ok((!waits).then_some(LoadRefusal::TotalOpen(summary.unpriced)))
    }
}
