//! A file that is loaded again: told by its digest, before any of its rows is looked at a second time.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;

use super::job::{FIRST, Load, Seen};
use super::prepare::{self, Preparer};
use crate::domain::{Currency, LoadId, ServiceCode, Tally};
use crate::journal::codec::values::currency_of;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRefusal, LoadRow, LoadSummary, Loaded};
use crate::store::tables::{instruction, load, rejected};
use crate::store::{Reads, Scan, Test, Transact, shape};

shape! {
    /// A load, and how many rows it did not take.
    struct Earlier of load { load_id: LoadId, rejected: i64 }
}

/// Tells whether the file is in its batch already; `None` when it is not, or when that takes a load to find out.
pub(in crate::journal) fn recall(
    c: &mut WriteSession,
    plan: &LoadPlan,
    rows: Receiver<Vec<LoadRow>>,
) -> Result<Option<Loaded>, Error> {
    let found = match Load::begin(c, plan)? {
        Ok(load) => load.recall(rows),
        Err(refusal) => Ok(Some(Loaded::Refused(refusal))),
    }?;
    Transact::rollback(&**c)?;
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
    pub(in crate::journal) fn recalled(&self, digest: &str) -> Result<Option<Loaded>, Error> {
        if !self.existed {
            return Ok(None);
        }
        let Some(earlier) = self.c.first(&self.loads_with(&digest))? else {
            return Ok(None);
        };
        let summary = self.earlier(&earlier)?;
        let refusal = match self.check_declared(&summary, &Tally::default())? {
            None if summary.unpriced > 0 => self.check_open_total(digest, &summary)?,
            refusal => refusal,
        };
        Ok(Some(match refusal {
            Some(refusal) => Loaded::Refused(refusal),
            None => Loaded::AlreadyLoaded(summary),
        }))
    }

    /// The loads of the batch that brought the file with this digest.
    fn loads_with<'s>(&'s self, digest: &'s &str) -> Scan<'s> {
        Scan::by(&load::load_by_digest)
            .at(digest)
            .only(load::batch_id, Test::is(&self.batch_id))
    }

    /// What this very file came to when it was loaded: rows may have been set aside after all were seen.
    fn earlier(&self, earlier: &Earlier) -> Result<LoadSummary, Error> {
        let mut seen = self.summary(Vec::new(), 0)?;
        // Those that are no payments are among them there.
        let rejected = earlier
            .rejected
            .unsigned_abs()
            .saturating_sub(self.skipped.count);
        if rejected == self.rejected.count {
            if seen.unpriced > 0 {
                // The amounts that were fixed since, where all rows of the file came with that load.
                let (accepted, unpriced) = self.accepted(&first_of(earlier))?;
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
        let of_load = Scan::of(&rejected::TABLE)
            .at(&earlier.load_id)
            .only(rejected::amount, Test::Present);
        let columns = [rejected::currency, rejected::amount];
        self.c.each_row(&of_load, &columns, |row| {
            let currency = currency_of(&row.get::<String>(0)?)?;
            let minor: i64 = row.get(1)?;
            set_aside.amounts.add_minor(currency, i128::from(minor));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        // Those that are no payments are among these, too.
        let found: Vec<Currency> = set_aside.amounts.iter().map(|(found, _)| found).collect();
        for currency in found {
            let skipped = self.skipped.amounts.minor(currency);
            set_aside.amounts.add_minor(currency, -skipped);
        }
        let (accepted, unpriced) = self.accepted(&first_of(earlier))?;
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
        let open = self
            .loads_with(&digest)
            .only(load::total, Test::is(&amount))
            .only(load::total_currency, Test::is(&currency));
        let waits = self.c.any(&open)?;
        Ok((!waits).then_some(LoadRefusal::TotalOpen(summary.unpriced)))
    }
}

/// The rows that a load brought, but for those that replace others.
fn first_of(earlier: &Earlier) -> Scan<'_> {
    Scan::of(&instruction::TABLE)
        .only(instruction::load_id, Test::is(&earlier.load_id))
        .only(instruction::generation, Test::is(&FIRST))
}
