//! Reading beside the writer.

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::open;
use super::row::{
    PAYMENT_WIDTH, corrupt, currency_of, event_name, event_of, identifier_of, life_of, payment_of,
    service_of, stamp, state_of,
};
use super::run::known_batch;
use crate::domain::{Amount, BatchName, ControlTotals, Money, Originator, Tally, Timestamp};
use crate::journal::{
    BatchRecord, Error, Lane, LoadRecord, PaymentRecord, RejectedRow, ReportRow, Standing,
    StandingRow, TrailEntry,
};
use crate::lifecycle::State;

/// Rows read at a time.
const PAGE: i64 = 512;

/// A connection that only reads.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

impl Reader {
    /// Reads through a connection that is there.
    #[cfg(test)]
    pub(super) fn of(connection: Connection) -> Self {
        Self { connection }
    }

    /// Opens a journal that must be there.
    ///
    /// # Errors
    /// As [`super::Journal::open_existing`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            connection: open::for_reading(path)?,
        })
    }

    /// Returns every batch, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches(&self) -> Result<Vec<BatchName>, Error> {
        let mut statement = self
            .connection
            .prepare("select name from batch order by batch_id")?;
        let mut rows = statement.query([])?;
        let mut batches = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            batches.push(BatchName::parse(&name).map_err(|_| corrupt("a batch name"))?);
        }
        Ok(batches)
    }

    /// Begins to read one batch as it is now: what is written meanwhile stays out.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub fn snapshot(&self, batch: &BatchName) -> Result<Snapshot<'_>, Error> {
        self.connection.execute_batch("begin")?;
        match known_batch(&self.connection, batch) {
            Ok(batch_id) => Ok(Snapshot {
                c: &self.connection,
                batch: batch.clone(),
                batch_id,
            }),
            Err(error) => {
                self.connection.execute_batch("rollback")?;
                Err(error)
            }
        }
    }
}

/// One batch at one moment.
#[derive(Debug)]
pub struct Snapshot<'a> {
    c: &'a Connection,
    batch: BatchName,
    batch_id: i64,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written; ending the transaction lets the WAL be checkpointed.
        let _ = self.c.execute_batch("rollback");
    }
}

impl Snapshot<'_> {
    /// Returns counts and amounts per state.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn standing(&self) -> Result<Standing, Error> {
        standing(self.c, &self.batch)
    }

    /// Returns what is on record of the batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn record(&self) -> Result<BatchRecord, Error> {
        let (originator, created_at, gateway): (String, i64, Option<String>) = self.c.query_row(
            "select originator, created_at, gateway from batch where batch_id = ?1",
            [self.batch_id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let mut statement = self.c.prepare(
            "select source, digest, loaded_at, accepted, rejected from load where batch_id = ?1 order by load_id",
        )?;
        let loads = statement
            .query_map([self.batch_id], |row| {
                Ok(LoadRecord {
                    source: row.get(0)?,
                    digest: row.get(1)?,
                    loaded_at: Timestamp::from_millis(row.get(2)?),
                    accepted: row.get::<_, i64>(3)?.unsigned_abs(),
                    rejected: row.get::<_, i64>(4)?.unsigned_abs(),
                })
            })?
            .collect::<Result<_, _>>()?;
        Ok(BatchRecord {
            name: self.batch.clone(),
            originator: Originator::parse(&originator).map_err(|_| corrupt("an originator"))?,
            created_at: Timestamp::from_millis(created_at),
            gateway,
            loads,
        })
    }

    /// Returns what the instructions add up to, by service and currency.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn control(&self) -> Result<ControlTotals, Error> {
        let mut statement = self.c.prepare(
            "select s.code, i.currency, count(*), sum(i.amount) from instruction i join service s using (service_id)
             where i.batch_id = ?1 and i.generation = 0 group by s.code, i.currency",
        )?;
        let mut rows = statement.query([self.batch_id])?;
        let mut control = ControlTotals::default();
        while let Some(row) = rows.next()? {
            let currency = currency_of(&row.get::<_, String>(1)?)?;
            let service = service_of(&row.get::<_, String>(0)?)?;
            control.add_many(
                &service,
                row.get::<_, i64>(2)?.unsigned_abs(),
                currency,
                i128::from(row.get::<_, i64>(3)?),
            );
        }
        Ok(control)
    }

    /// Iterates over the rows of the batch in the order of its files. A retry stands in the place of what it replaces.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            snapshot: self,
            payments: VecDeque::new(),
            rejected: VecDeque::new(),
            last_payment: Some(0),
            last_rejected: Some((0, -1)),
        }
    }

    /// Returns one payment by identifier or reference, the newest generation first.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`].
    pub fn find(&self, id: &str) -> Result<Vec<PaymentRecord>, Error> {
        let mut statement = self.c.prepare(&format!(
            "select {RECORD_COLUMNS} {RECORD_TABLES}
             where i.batch_id = ?1 and (i.reference = ?2 or i.seq = (select seq from identifier where identifier = ?2))
             order by i.generation desc"
        ))?;
        let mut rows = statement.query(params![self.batch_id, id])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(self.payment_record(row)?.1);
        }
        if found.is_empty() {
            return Err(Error::UnknownPayment {
                batch: self.batch.clone(),
                id: id.to_owned(),
            });
        }
        Ok(found)
    }

    /// Returns everything that was learned about a payment, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn trail(&self, seq: i64) -> Result<Vec<TrailEntry>, Error> {
        let mut statement = self.c.prepare(
            "select at, event, class, code, anomaly, detail from evidence where seq = ?1 order by evidence_id",
        )?;
        let mut rows = statement.query([seq])?;
        let mut trail = Vec::new();
        while let Some(row) = rows.next()? {
            let kind: i64 = row.get(1)?;
            trail.push(TrailEntry {
                at: Timestamp::from_millis(row.get(0)?),
                event: event_of(kind, row.get(2)?, row.get(3)?)?,
                kind: event_name(kind),
                anomaly: row.get(4)?,
                detail: row.get(5)?,
            });
        }
        Ok(trail)
    }

    /// Reads a record and, before it, the load it belongs to.
    fn payment_record(&self, row: &Row<'_>) -> Result<(i64, PaymentRecord), Error> {
        let at = PAYMENT_WIDTH + 10;
        let seq: i64 = row.get(at)?;
        let payment = payment_of(row, 0)?;
        let mut record = PaymentRecord {
            seq,
            life: life_of(row, PAYMENT_WIDTH)?,
            settled_at: stamp(row.get(at + 1)?),
            gateway_transaction_id: row.get(at + 2)?,
            receipt_number: row.get(at + 3)?,
            receiver_narration: row.get(at + 4)?,
            status_description: row.get(at + 5)?,
            decision: None,
            replaces: None,
            earlier_conflict: false,
            payment,
        };
        if record.payment.generation > 0 {
            self.add_earlier(&mut record)?;
        }
        // What the gateway ended has its code; only a decision leaves none.
        if record.life.code.is_none() && matches!(record.life.state, State::Paid | State::Failed) {
            record.decision = self.decision(seq)?;
        }
        Ok((row.get(at + 6)?, record))
    }

    fn decision(&self, seq: i64) -> Result<Option<String>, Error> {
        let detail: Option<String> = self
            .c
            .prepare_cached(
                "select detail from evidence where seq = ?1 and event in (9, 10) order by evidence_id desc limit 1",
            )?
            .query_row([seq], |row| row.get::<_, Option<String>>(0))
            .optional()?
            .flatten();
        let detail: serde_json::Value = detail
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
        Ok(Some(format!(
            "decided by an operator: {} (evidence: {})",
            text("reason"),
            text("evidence")
        )))
    }

    fn add_earlier(&self, record: &mut PaymentRecord) -> Result<(), Error> {
        let mut statement = self.c.prepare_cached(
            "with recursive earlier (seq, depth) as (
                 select seq, 1 from life where replaced_by = ?1 and batch_id = ?2
                 union all select l.seq, depth + 1 from life l join earlier e on l.replaced_by = e.seq where l.batch_id = ?2)
             select i.identifier, l.state from earlier join life l using (seq) join instruction i using (seq) order by depth",
        )?;
        let mut rows = statement.query(params![record.seq, self.batch_id])?;
        while let Some(row) = rows.next()? {
            if record.replaces.is_none() {
                record.replaces = Some(identifier_of(&row.get::<_, String>(0)?)?);
            }
            record.earlier_conflict |=
                matches!(state_of(row.get(1)?)?, State::Conflict | State::Paid);
        }
        Ok(())
    }

    /// Follows the retries of a payment to the newest.
    fn newest(&self, seq: i64) -> Result<(i64, PaymentRecord), Error> {
        let newest: i64 = self
            .c
            .prepare_cached(
                "with recursive later (seq) as (
                     values (?1) union all select l.replaced_by from life l join later using (seq) where l.replaced_by is not null)
                 select max(seq) from later",
            )?
            .query_row([seq], |row| row.get(0))?;
        let mut statement = self.c.prepare_cached(&format!(
            "select {RECORD_COLUMNS} {RECORD_TABLES} where i.seq = ?1"
        ))?;
        let mut rows = statement.query([newest])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a retry without its instruction"))?;
        self.payment_record(row)
    }
}

// CROSS JOIN keeps the order of the tables: with `service` outermost, every page would read and sort all rows that are left.
const RECORD_TABLES: &str = "from instruction i cross join life l on l.seq = i.seq cross join service s on s.service_id = i.service_id";
// The columns of a payment, of its life, and what a record adds, each in the order its reader expects.
const RECORD_COLUMNS: &str = "i.identifier, i.generation, i.received_at, i.line, i.reference, s.code, i.msisdn, \
     i.account_number, i.amount, i.currency, i.country, i.narration, i.customer_names, i.invoice_number, i.payment_mode, \
     i.hub_id, i.extra, i.document, \
     l.state, l.code, attempts, posted_at, exposures, known, not_found, quarantine_from, queries, due_at, \
     l.seq, settled_at, gateway_transaction_id, receipt_number, receiver_narration, status_description, i.load_id, l.replaced_by";

/// The rows of a batch, read in pages.
#[derive(Debug)]
pub struct Rows<'a> {
    snapshot: &'a Snapshot<'a>,
    payments: VecDeque<(i64, PaymentRecord)>,
    rejected: VecDeque<(i64, RejectedRow)>,
    /// Where the next page begins; `None` when there is none.
    last_payment: Option<i64>,
    last_rejected: Option<(i64, i64)>,
}

impl Rows<'_> {
    fn fill(&mut self) -> Result<(), Error> {
        if self.payments.is_empty()
            && let Some(last) = self.last_payment.take()
        {
            self.fill_payments(last)?;
        }
        if self.rejected.is_empty()
            && let Some(last) = self.last_rejected.take()
        {
            self.fill_rejected(last)?;
        }
        Ok(())
    }

    fn fill_payments(&mut self, last: i64) -> Result<(), Error> {
        let c = self.snapshot.c;
        let mut statement = c.prepare_cached(&format!(
            "select {RECORD_COLUMNS} {RECORD_TABLES}
             where i.seq > ?2 and i.batch_id = ?1 and i.generation = 0 order by i.seq limit ?3"
        ))?;
        let mut rows = statement.query(params![self.snapshot.batch_id, last, PAGE])?;
        while let Some(row) = rows.next()? {
            let (load_id, record) = self.snapshot.payment_record(row)?;
            self.last_payment = Some(record.seq);
            let replaced: Option<i64> = row.get(PAYMENT_WIDTH + 17)?;
            self.payments.push_back(match replaced {
                Some(_) => self.snapshot.newest(record.seq)?,
                None => (load_id, record),
            });
        }
        Ok(())
    }

    fn fill_rejected(&mut self, (load_id, line): (i64, i64)) -> Result<(), Error> {
        let mut statement = self.snapshot.c.prepare_cached(
            "select load_id, line, coalesce(reference, ''), coalesce(service_code, ''), coalesce(msisdn, ''),
                 coalesce(account_number, ''), coalesce(amount_text, ''), coalesce(currency, ''), amount, errors
             from rejected where batch_id = ?1 and (load_id, line) > (?2, ?3) order by load_id, line limit ?4",
        )?;
        let mut rows = statement.query(params![self.snapshot.batch_id, load_id, line, PAGE])?;
        while let Some(row) = rows.next()? {
            let (load_id, line): (i64, i64) = (row.get(0)?, row.get(1)?);
            self.last_rejected = Some((load_id, line));
            let currency_code: String = row.get(7)?;
            let amount: Option<i64> = row.get(8)?;
            let money = match amount.and_then(Amount::from_minor) {
                Some(amount) => Some(Money {
                    amount,
                    currency: currency_of(&currency_code)?,
                }),
                None => None,
            };
            self.rejected.push_back((
                load_id,
                RejectedRow {
                    line: line.unsigned_abs(),
                    reference: row.get(2)?,
                    service_code: row.get(3)?,
                    msisdn: row.get(4)?,
                    account_number: row.get(5)?,
                    amount_text: row.get(6)?,
                    currency_code,
                    money,
                    errors: row.get(9)?,
                },
            ));
        }
        Ok(())
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<ReportRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill() {
            // One error ends the rows: there is no way to tell what would have followed.
            (self.last_payment, self.last_rejected) = (None, None);
            self.payments.clear();
            self.rejected.clear();
            return Some(Err(error));
        }
        let payment = self
            .payments
            .front()
            .map(|(load, record)| (*load, record.payment.instruction.line));
        let rejected = self.rejected.front().map(|(load, row)| (*load, row.line));
        let rejected_first = match (payment, rejected) {
            (None, None) => return None,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(payment), Some(rejected)) => rejected < payment,
        };
        if rejected_first {
            self.rejected
                .pop_front()
                .map(|(_, row)| Ok(ReportRow::Rejected(row)))
        } else {
            self.payments
                .pop_front()
                .map(|(_, record)| Ok(ReportRow::Payment(Box::new(record))))
        }
    }
}

/// Returns counts and amounts of a batch per state.
pub(super) fn standing(c: &Connection, batch: &BatchName) -> Result<Standing, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut standing = Standing::default();
    let mut statement = c.prepare_cached(
        "select code, state, currency, count, amount from tally join service using (service_id)
         where batch_id = ?1 and count > 0 order by code, currency, state",
    )?;
    let mut rows = statement.query([batch_id])?;
    while let Some(row) = rows.next()? {
        let currency = currency_of(&row.get::<_, String>(2)?)?;
        let mut tally = Tally::default();
        tally.add_many(
            row.get::<_, i64>(3)?.unsigned_abs(),
            currency,
            i128::from(row.get::<_, i64>(4)?),
        );
        standing.rows.push(StandingRow {
            service: service_of(&row.get::<_, String>(0)?)?,
            state: state_of(row.get(1)?)?,
            currency,
            tally,
        });
    }
    let mut statement = c.prepare_cached(
        "select count(*), currency, sum(amount), count(amount) from rejected where batch_id = ?1 group by iif(amount is null, null, currency)",
    )?;
    let mut rows = statement.query([batch_id])?;
    while let Some(row) = rows.next()? {
        standing.rejected.count += row.get::<_, i64>(0)?.unsigned_abs();
        if row.get::<_, i64>(3)? > 0 {
            let currency = currency_of(&row.get::<_, String>(1)?)?;
            standing
                .rejected
                .amounts
                .add_minor(currency, i128::from(row.get::<_, i64>(2)?));
        }
    }
    let mut statement = c.prepare_cached(
        "select service_id, code from held_lane join service using (service_id) where batch_id = ?1 order by code",
    )?;
    let mut rows = statement.query([batch_id])?;
    while let Some(row) = rows.next()? {
        standing.held.push(Lane {
            id: row.get(0)?,
            service: service_of(&row.get::<_, String>(1)?)?,
        });
    }
    standing.replaced_conflicts = c
        .prepare_cached("select count(*) from life where batch_id = ?1 and replaced_by is not null and state in (5, 8)")?
        .query_row([batch_id], |row| row.get::<_, i64>(0))?
        .unsigned_abs();
    Ok(standing)
}
