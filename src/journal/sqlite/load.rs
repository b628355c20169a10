//! Loading a file, all or nothing, in constant memory.
//!
//! Rows are inserted as they come; what only shows when all are seen (equal rows, a reference used twice, rows that an
//! earlier load brought) is found by SQLite's own sorter, which also lets the identifiers' index grow in order.

use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension, params};

use super::NEVER;
use super::chain::{Chain, Chained};
use super::row::{batch_id, currency_of, service_id, service_of};
use super::sorted::Sorted;
use crate::domain::{
    ContentDigest, Currency, Instruction, Originator, PayerTransactionId, RowKey, ServiceCode,
    Tally, Written,
};
use crate::journal::{
    Error, Incoming, LateError, LoadPlan, LoadRefusal, LoadSummary, Loaded, RejectedRow,
};

/// Loads a file. Anything but [`Loaded::New`] leaves the journal as it was.
pub(super) fn load(
    c: &mut Chained,
    plan: &LoadPlan,
    rows: &Receiver<Vec<Incoming>>,
) -> Result<Loaded, Error> {
    let outcome = Load::begin(c, plan).and_then(|load| match load {
        Ok(load) => load.take_in(rows),
        Err(refusal) => Ok(Loaded::Refused(refusal)),
    })?;
    if plan.dry_run || !matches!(outcome, Loaded::New(_)) {
        c.execute_batch("rollback")?;
    }
    Ok(outcome)
}

type ByService = Vec<(ServiceCode, Currency, Tally)>;

pub(super) struct Load<'a> {
    pub(super) c: &'a Chained,
    pub(super) plan: &'a LoadPlan,
    pub(super) batch_id: i64,
    pub(super) load_id: i64,
    /// Rows with a greater number are of this load.
    pub(super) base: i64,
    pub(super) existed: bool,
    pub(super) digest: ContentDigest,
    pub(super) rejected: Tally,
    pub(super) services: Vec<(ServiceCode, i64)>,
}

impl<'a> Load<'a> {
    fn begin(c: &'a Chained, plan: &'a LoadPlan) -> Result<Result<Self, LoadRefusal>, Error> {
        let existing = batch_id(c, plan.batch.as_str())?;
        if let Some(batch_id) = existing {
            let originator: String = c.query_row(
                "select originator from batch where batch_id = ?1",
                [batch_id],
                |row| row.get(0),
            )?;
            if originator != plan.originator.as_str() {
                return Ok(Err(LoadRefusal::OtherOriginator(originator)));
            }
        }
        let now = plan.now.as_millis();
        let batch_id = match existing {
            Some(batch_id) => batch_id,
            None => {
                c.execute(
                    "insert into batch (name, originator, created_at) values (?1, ?2, ?3)",
                    params![plan.batch.as_str(), plan.originator.as_str(), now],
                )?;
                let batch_id = c.last_insert_rowid();
                Chain::begin(c, batch_id)?;
                batch_id
            }
        };
        c.execute(
            "insert into load (batch_id, source, digest, loaded_at, accepted, rejected) values (?1, ?2, '', ?3, 0, 0)",
            params![batch_id, plan.source, now],
        )?;
        Ok(Ok(Self {
            c,
            plan,
            batch_id,
            load_id: c.last_insert_rowid(),
            base: c.query_row("select coalesce(max(seq), 0) from instruction", [], |row| {
                row.get(0)
            })?,
            existed: existing.is_some(),
            digest: ContentDigest::default(),
            rejected: Tally::default(),
            services: Vec::new(),
        }))
    }

    fn take_in(mut self, rows: &Receiver<Vec<Incoming>>) -> Result<Loaded, Error> {
        let (mut bad, mut ended) = (0, false);
        for block in rows {
            for row in block {
                match row {
                    Incoming::Good(row) => {
                        let amount = Some(row.money.amount.minor());
                        self.insert(&row, amount)?;
                    }
                    Incoming::Unpriced(row) => self.insert(&row, None)?,
                    Incoming::Bad(row) => {
                        bad += 1;
                        self.reject(&row)?;
                    }
                    Incoming::End => ended = true,
                }
            }
        }
        if !ended {
            return Ok(Loaded::Refused(LoadRefusal::Unreadable));
        }
        let digest = format!("{}+{bad}", self.digest.to_text());
        if self.existed && self.has_loaded(&digest)? {
            let summary = self.earlier(&digest)?;
            let refusal = match self.check_declared(&summary, &Tally::default()) {
                None if summary.unpriced > 0 => self.check_open_total(&digest, &summary)?,
                refusal => refusal,
            };
            return Ok(match refusal {
                Some(refusal) => Loaded::Refused(refusal),
                None => Loaded::AlreadyThere(summary),
            });
        }
        if bad > 0 && !self.plan.skip_bad_rows {
            let late = self.sort_out()?.late;
            return Ok(Loaded::Refused(LoadRefusal::BadRows {
                rejected: bad,
                late,
            }));
        }
        let sorted = self.sort_out()?;
        if !sorted.late.is_empty() && !self.plan.skip_bad_rows {
            return Ok(Loaded::Refused(LoadRefusal::BadRows {
                rejected: bad,
                late: sorted.late,
            }));
        }
        if self.existed
            && let Some(refusal) = self.compare(&sorted)?
        {
            return Ok(Loaded::Refused(refusal));
        }
        self.finish(&digest, sorted)
    }

    fn finish(self, digest: &str, sorted: Sorted) -> Result<Loaded, Error> {
        let mut summary = self.summary(sorted.late, sorted.unchanged.count)?;
        summary.unpriced += sorted.unpriced;
        let total = summary.total();
        if total.count + summary.rejected.count == 0 && sorted.unchanged.count == 0 {
            return Ok(Loaded::Refused(LoadRefusal::NoRows));
        }
        if summary.unpriced > 0 && sorted.unchanged.count > 0 && self.plan.expect_total.is_some() {
            return Ok(Loaded::Refused(LoadRefusal::TotalOpen(summary.unpriced)));
        }
        if let Some(refusal) = self.check_declared(&summary, &sorted.unchanged) {
            return Ok(Loaded::Refused(refusal));
        }
        if !self.existed
            && !self.plan.allow_same_content
            && total.count > 0
            && let Some(other) = self.other_batch_with(digest)?
        {
            return Ok(Loaded::Refused(LoadRefusal::SameContent(other)));
        }
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let open_total = self.plan.expect_total.filter(|_| summary.unpriced > 0);
        self.c.execute(
            "update load set digest = ?2, accepted = ?3, rejected = ?4, total = ?5, total_currency = ?6 where load_id = ?1",
            params![
                self.load_id,
                digest,
                count(total.count),
                count(summary.rejected.count),
                open_total.map(|(_, amount)| amount.minor()),
                open_total.map(|(currency, _)| currency.code()),
            ],
        )?;
        self.begin_lives()?;
        Ok(Loaded::New(summary))
    }

    fn insert<M: Written>(
        &mut self,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<(), Error> {
        let hash = row.content_hash();
        self.digest.add(&hash);
        let id = identifier(&self.plan.originator, self.plan, row, hash, 0);
        let service_id = self.service_id(&row.service)?;
        insert_instruction(
            self.c,
            &Placed {
                batch_id: self.batch_id,
                load_id: self.load_id,
                service_id,
            },
            &id,
            0,
            self.plan.now.as_millis(),
            row,
            amount,
        )
    }

    fn service_id(&mut self, service: &ServiceCode) -> Result<i64, Error> {
        // A file names a handful of services.
        if let Some((_, id)) = self.services.iter().find(|(known, _)| known == service) {
            return Ok(*id);
        }
        let id = service_id(self.c, service)?;
        self.services.push((service.clone(), id));
        Ok(id)
    }

    pub(super) fn reject(&mut self, row: &RejectedRow) -> Result<(), Error> {
        self.rejected.count += 1;
        if let Some(money) = row.money {
            self.rejected.amounts.add(money);
        }
        let full = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        self.c
            .prepare_cached(
                "insert into rejected (load_id, line, batch_id, reference, service_code, msisdn, account_number,
                     amount_text, amount, currency, errors) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                self.load_id,
                i64::try_from(row.line).unwrap_or(i64::MAX),
                self.batch_id,
                full(&row.reference),
                full(&row.service_code),
                full(&row.msisdn),
                full(&row.account_number),
                full(&row.amount_text),
                row.money.map(|money| money.amount.minor()),
                full(&row.currency_code),
                row.errors,
            ])?;
        Ok(())
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
        let (load_id, rejected): (i64, i64) = self.c.query_row(
            "select load_id, rejected from load where batch_id = ?1 and digest = ?2 limit 1",
            params![self.batch_id, digest],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut seen = self.summary(Vec::new(), 0)?;
        if rejected.unsigned_abs() == self.rejected.count {
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
            count: rejected.unsigned_abs(),
            ..Tally::default()
        };
        let mut statement = self.c.prepare(
            "select currency, sum(amount) from rejected where load_id = ?1 and amount is not null group by currency",
        )?;
        let mut rows = statement.query([load_id])?;
        while let Some(row) = rows.next()? {
            let currency = currency_of(&row.get::<_, String>(0)?)?;
            set_aside
                .amounts
                .add_minor(currency, i128::from(row.get::<_, i64>(1)?));
        }
        let (accepted, unpriced) = self.accepted("load_id = ?1 and generation = 0", load_id)?;
        Ok(LoadSummary {
            accepted,
            unpriced,
            rejected: set_aside,
            late: Vec::new(),
            unchanged: 0,
        })
    }

    fn other_batch_with(&self, digest: &str) -> Result<Option<String>, Error> {
        Ok(self
            .c
            .query_row(
                "select name from load join batch using (batch_id) where digest = ?1 and batch_id <> ?2 limit 1",
                params![digest, self.batch_id],
                |row| row.get(0),
            )
            .optional()?)
    }

    /// Compares the file as a whole with what was declared: new rows, rejected ones, and those that were there before.
    fn check_declared(&self, summary: &LoadSummary, unchanged: &Tally) -> Option<LoadRefusal> {
        let mut all = summary.total();
        all.add_all(&summary.rejected);
        all.add_all(unchanged);
        if let Some(expected) = self
            .plan
            .expect_count
            .filter(|expected| *expected != all.count)
        {
            return Some(LoadRefusal::Count {
                expected,
                found: all.count,
            });
        }
        // Compared once the rows without an amount have theirs.
        let (currency, amount) = self.plan.expect_total.filter(|_| summary.unpriced == 0)?;
        let others = all.amounts.iter().any(|(found, _)| found != currency);
        if all.amounts.minor(currency) == i128::from(amount.minor()) && !others {
            return None;
        }
        let expected = crate::domain::Money { amount, currency };
        Some(LoadRefusal::Total {
            expected: format!("{currency} {expected}"),
            found: all.amounts.to_string(),
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

    fn summary(&self, late: Vec<LateError>, unchanged: u64) -> Result<LoadSummary, Error> {
        let (accepted, unpriced) = self.accepted("seq > ?1", self.base)?;
        Ok(LoadSummary {
            accepted,
            unpriced,
            rejected: self.rejected.clone(),
            late,
            unchanged,
        })
    }

    /// What the rows add up to, and how many of them wait for their amount.
    fn accepted(&self, which: &'static str, bound: i64) -> Result<(ByService, u64), Error> {
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

/// The identifier of a row: by its reference, or by its content and how many equal rows stand above it.
pub(super) fn identifier<M>(
    originator: &Originator,
    plan: &LoadPlan,
    row: &Instruction<M>,
    hash: [u8; 32],
    above: u32,
) -> PayerTransactionId {
    let key = match &row.reference {
        Some(reference) => RowKey::Reference(reference),
        None => RowKey::Content { hash, above },
    };
    #[cfg(test)]
    if crate::canary::Canary::OtherIdentifierOnReload.sings() {
        let moment = u32::try_from(plan.now.as_millis() % 1_000_000).unwrap_or(0);
        return PayerTransactionId::derive(originator, &plan.batch, &key, moment);
    }
    PayerTransactionId::derive(originator, &plan.batch, &key, 0)
}

/// Where an instruction belongs.
pub(super) struct Placed {
    pub(super) batch_id: i64,
    pub(super) load_id: i64,
    pub(super) service_id: i64,
}

/// Appends an instruction; without an amount it waits for its bill.
pub(super) fn insert_instruction<M: Written>(
    c: &Connection,
    placed: &Placed,
    id: &PayerTransactionId,
    generation: u32,
    received_at: i64,
    row: &Instruction<M>,
    amount: Option<i64>,
) -> Result<(), Error> {
    fn full(text: &str) -> Option<&str> {
        Some(text).filter(|text| !text.is_empty())
    }
    let extra = match row.extra.as_slice() {
        [] => None,
        extra => Some(serde_json::to_string(extra).expect("pairs of texts are JSON")),
    };
    c.prepare_cached(
        "insert into instruction (batch_id, load_id, line, identifier, reference, generation, received_at, service_id,
             msisdn, account_number, amount, currency, country, narration, customer_names, invoice_number, payment_mode,
             hub_id, extra, document, document_folder, as_due)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
    )?
    .execute(params![
        placed.batch_id,
        placed.load_id,
        i64::try_from(row.line).unwrap_or(i64::MAX),
        id.as_str(),
        row.reference.as_ref().map(|reference| reference.as_str()),
        generation,
        received_at,
        placed.service_id,
        row.msisdn.as_str(),
        full(&row.account_number).filter(|account| *account != row.msisdn.as_str()),
        amount,
        row.money.currency().code(),
        row.country.code(),
        full(&row.narration),
        full(&row.customer_names),
        full(&row.invoice_number),
        full(&row.payment_mode),
        full(&row.hub_id),
        extra,
        row.document.as_ref().map(|document| document.written.as_str()),
        row.document.as_ref().and_then(|document| full(&document.folder)),
        amount.is_none(),
    ])?;
    Ok(())
}

// The check constraint on due_at ties ended states to this value.
const _: () = assert!(NEVER == 9_223_372_036_854_775_807);
