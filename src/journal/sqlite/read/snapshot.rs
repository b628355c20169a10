//! Reading beside the writer.

use std::path::Path;

use rusqlite::{OptionalExtension, Row};

use super::batch_status::standing;
use super::reader::{RECORD_TABLES, record_columns};
use super::reader::{Reader, Snapshot};
use super::rows::Rows;
use crate::domain::{
    BatchId, BatchName, ControlTotals, Currency, EvidenceId, LaneId, LoadId, Originator,
    PayerTransactionId, PaymentId, Timestamp,
};
use crate::journal::sqlite::codec::catalog::id_of;
use crate::journal::sqlite::codec::catalog::{known_batch, name};
use crate::journal::sqlite::codec::events::{
    DOCUMENT_CHECKED, REPLACED, STOOD, SUPERSEDED, event_name, event_of, fact_of,
};
use crate::journal::sqlite::codec::values::{
    AMOUNT, PAYMENT_WIDTH, corrupt, currency_of, identifier_of, life_of, payment_of, service_of,
    stamp, stored_of,
};
use crate::journal::sqlite::evidence::digests::SAID;
use crate::journal::sqlite::operator::names::rows_named;
use crate::journal::sqlite::payments::agreed::named_otherwise;
use crate::journal::sqlite::payments::first_claims::{FirstClaim, first_claim};
use crate::journal::sqlite::payments::inquiries::{doubted, waits_for};
use crate::journal::sqlite::payments::stood::WORDS;
use crate::journal::sqlite::preflight::bills::{bills, last_bill};
use crate::journal::sqlite::recovery::until_done;
use crate::journal::sqlite::repeats::linked::{Side, linked};
use crate::journal::sqlite::schema::open;
use crate::journal::sqlite::session::members::{corrected, of_row, standing_for};
use crate::journal::{
    BatchRecord, BillRecord, Error, HistoryEntry, Linked, LoadRecord, PaymentRecord, Standing,
    UnpricedRecord, WaitsFor,
};
use crate::ledger::heads::BatchHead;
use crate::ledger::names::PaymentName;
use crate::ledger::recovery::JournalId;
use crate::lifecycle::{Event, RecordedEvent, State};

impl Reader {
    /// Opens a journal that must be there.
    ///
    /// # Errors
    /// As [`crate::journal::sqlite::Journal::open_existing`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        // Before the journal: what is written meanwhile can only bring the journal further.
        let (traces, born) = crate::journal::sqlite::recovery::place::traces_of(path)?;
        Ok(Self {
            connection: open::for_reading(path)?,
            traces,
            born,
        })
    }

    /// Returns every batch, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches(&self) -> Result<Vec<BatchName>, Error> {
        let mut statement = self
            .connection
            // An archive has other batches as far as rows of its own name them.
            .prepare(
                "select name from batch where batch_id = coalesce((select value from meta where key = 'archive'), batch_id) order by batch_id",
            )?;
        let mut rows = statement.query([])?;
        let mut batches = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            batches.push(BatchName::parse(&name).map_err(|_| corrupt("a batch name"))?);
        }
        Ok(batches)
    }

    /// Returns what the journal calls itself, and how far the evidence of every batch reaches.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn heads(&self) -> Result<(JournalId, Vec<BatchHead>), Error> {
        let mut statement = self.connection.prepare(
            "select name, length, head from chain join batch using (batch_id) order by batch_id",
        )?;
        let heads = statement.query_map([], |row| {
            Ok(BatchHead {
                batch: row.get(0)?,
                rows: row.get::<_, i64>(1)?.unsigned_abs(),
                head: row.get(2)?,
            })
        })?;
        let heads = heads.collect::<Result<_, _>>()?;
        Ok((name(&self.connection)?, heads))
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
        type Columns = (String, i64, Option<String>, Option<String>);
        let (originator, created_at, gateway, account): Columns = self.c.query_row(
            "select originator, created_at, gateway, account from batch where batch_id = ?1",
            [self.batch_id],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        let mut statement = self.c.prepare(
            "select source, digest, loaded_at, accepted, rejected - (select count(*) from rejected r
                 where r.load_id = load.load_id and r.replaced_by is not null)
             from load where batch_id = ?1 order by load_id",
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
            purpose: crate::journal::sqlite::codec::catalog::purpose(self.c, self.batch_id)?,
            gateway,
            account,
            loads,
        })
    }

    /// Returns what the instructions add up to, by service and currency.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn control(&self) -> Result<ControlTotals, Error> {
        // Added up here: SQLite would sort all rows to group them.
        let mut statement = self.c.prepare(
            "select service_id, currency, amount from instruction where batch_id = ?1 and generation = 0",
        )?;
        let mut rows = statement.query([self.batch_id])?;
        let mut lanes: Vec<(LaneId, Currency, u64, i128)> = Vec::new();
        let mut last = 0;
        while let Some(row) = rows.next()? {
            let service: LaneId = row.get(0)?;
            let code = row
                .get_ref(1)?
                .as_str()
                .map_err(|_| corrupt("a currency"))?;
            let is_lane =
                |lane: &(LaneId, Currency, u64, i128)| lane.0 == service && lane.1.code() == code;
            if !lanes.get(last).is_some_and(is_lane) {
                last = lanes.iter().position(is_lane).unwrap_or(lanes.len());
            }
            if last == lanes.len() {
                lanes.push((service, currency_of(code)?, 0, 0));
            }
            lanes[last].2 += 1;
            lanes[last].3 += i128::from(row.get::<_, Option<i64>>(2)?.unwrap_or(0));
        }
        drop(rows);
        for (service, currency, more) in corrected(self.c, self.batch_id)? {
            let is_lane =
                |lane: &&mut (LaneId, Currency, u64, i128)| lane.0 == service && lane.1 == currency;
            if let Some(lane) = lanes.iter_mut().find(is_lane) {
                lane.3 += more;
            }
        }
        let mut control = ControlTotals::default();
        let mut code_of = self
            .c
            .prepare("select code from service where service_id = ?1")?;
        for (service, currency, count, minor) in lanes {
            let code: String = code_of.query_row([service], |row| row.get(0))?;
            control.add_many(&service_of(&code)?, count, currency, minor);
        }
        Ok(control)
    }

    /// Iterates over the rows of the batch in the order of its files. A retry stands in the place of what it replaces.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        Rows::of(self)
    }

    /// Returns the payment that a person names, the newest generation first.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`], [`Error::TwoPayments`].
    pub fn find(&self, name: impl Into<PaymentName>) -> Result<Vec<PaymentRecord>, Error> {
        let name = name.into();
        let seqs = self.rows_named(&name)?;
        let mut statement = self.c.prepare(&format!(
            "select {} {RECORD_TABLES} where i.seq = ?1 and i.amount is not null",
            record_columns()
        ))?;
        let mut found = Vec::new();
        for seq in seqs {
            let mut rows = statement.query([seq])?;
            if let Some(row) = rows.next()? {
                found.push(self.payment_record(row)?.1);
            }
        }
        if found.is_empty() {
            return Err(Error::UnknownPayment {
                batch: self.batch.clone(),
                id: name.text,
            });
        }
        Ok(found)
    }

    /// Returns the identifier of a payment and what the gateway named of it last that is not ours, if it did.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn named_otherwise(
        &self,
        seq: PaymentId,
    ) -> Result<Option<(PayerTransactionId, String)>, Error> {
        let Some(words) = named_otherwise(self.c, self.batch_id, seq)? else {
            return Ok(None);
        };
        let id: String = self.c.query_row(
            "select identifier from instruction where seq = ?1",
            [seq],
            |row| row.get(0),
        )?;
        Ok(Some((identifier_of(&id)?, words)))
    }

    /// Returns the row without an amount that a person names; `None` when the row has one.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_unpriced(&self, name: &PaymentName) -> Result<Option<UnpricedRecord>, Error> {
        let seqs = self.rows_named(name)?;
        let mut statement = self.c.prepare(&format!(
            "select {} from instruction i left join life l on l.seq = i.seq join service s on s.service_id = i.service_id
             where i.seq = ?1 and i.amount is null",
            record_columns()
        ))?;
        let mut rows = statement.query([seqs[0]])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        Ok(self.unpriced_record(row)?.map(|(_, record)| record))
    }

    fn rows_named(&self, name: &PaymentName) -> Result<Vec<PaymentId>, Error> {
        rows_named(self.c, (&self.batch, self.batch_id), name)
    }

    /// Returns what the bills of a row said, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn bills(&self, seq: PaymentId) -> Result<Vec<BillRecord>, Error> {
        bills(self.c, seq)
    }

    /// Returns the rows of the same debt that had failed when a payment was loaded.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn failed_before(&self, seq: PaymentId) -> Result<Vec<Linked>, Error> {
        linked(self.c, seq, Side::Older)
    }

    /// Returns everything that was learned about a payment, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn trail(&self, seq: PaymentId) -> Result<Vec<HistoryEntry>, Error> {
        let batch_id: BatchId = self.batch_id;
        let mut first = first_claim(self.c, batch_id, seq)?;
        let intent = |claim: FirstClaim| HistoryEntry {
            at: Timestamp::from_millis(claim.at),
            event: Some(Event::Claimed),
            fact: RecordedEvent::Event(Event::Claimed),
            kind: event_name(0),
            anomaly: None,
            detail: None,
        };
        let mut statement = self.c.prepare(&format!(
            "select e.at, e.event, e.class, e.code, e.anomaly, e.detail, {SAID}, e.evidence_id from evidence e indexed by evidence_by_payment
             where e.seq = ?1 and (e.event <= ?2 or e.event in (?3, ?4, ?5) or e.event between 50 and 59 or e.event between 70 and 81 or e.event = 112) order by e.evidence_id"
        ))?;
        // What only proves that other tables are as they were is no news of the payment.
        let mut rows = statement.query((seq, REPLACED, STOOD, SUPERSEDED, DOCUMENT_CHECKED))?;
        let mut trail = Vec::new();
        while let Some(row) = rows.next()? {
            let kind: i64 = row.get(1)?;
            let evidence_id: EvidenceId = row.get(10)?;
            if let Some(claim) = first.take_if(|claim| claim.evidence_id < evidence_id) {
                trail.push(intent(claim));
            }
            trail.push(HistoryEntry {
                at: Timestamp::from_millis(row.get(0)?),
                event: event_of(kind, row.get(2)?, row.get(3)?)?,
                fact: fact_of(
                    kind,
                    row.get(2)?,
                    row.get(3)?,
                    row.get_ref(5)?.as_str_or_null().unwrap_or_default(),
                )?,
                kind: event_name(kind),
                anomaly: row.get(4)?,
                detail: if kind == STOOD {
                    None
                } else {
                    whole_detail(row)?
                },
            });
        }
        drop(rows);
        trail.extend(first.map(intent));
        crate::journal::sqlite::preflight::documents::add_to_trail(self.c, seq, &mut trail)?;
        Ok(trail)
    }

    /// Reads a row without an amount and, before it, the load it belongs to; `None` when it has one.
    pub(in crate::journal::sqlite) fn unpriced_record(
        &self,
        row: &Row<'_>,
    ) -> Result<Option<(LoadId, UnpricedRecord)>, Error> {
        let at = PAYMENT_WIDTH + 10;
        if row.get::<_, Option<i64>>(AMOUNT)?.is_some() {
            return Ok(None);
        }
        let stored = stored_of(row, 0)?;
        let (seq, currency) = (row.get(at)?, stored.instruction.money.currency);
        let record = UnpricedRecord {
            seq,
            id: stored.id,
            row: stored.instruction.with_money(currency),
            withdrawn_at: stamp(row.get(at + 1)?),
            bill: last_bill(self.c, seq)?,
        };
        Ok(Some((row.get(at + 6)?, record)))
    }

    /// Reads a record and, before it, the load it belongs to.
    pub(in crate::journal::sqlite) fn payment_record(
        &self,
        row: &Row<'_>,
    ) -> Result<(LoadId, PaymentRecord), Error> {
        let at = PAYMENT_WIDTH + 10;
        let seq: PaymentId = row.get(at)?;
        let payment = payment_of(row, 0)?;
        let mut record = PaymentRecord {
            seq,
            life: life_of(row, PAYMENT_WIDTH)?,
            settled_at: stamp(row.get(at + 1)?),
            gateway_transaction_id: row.get(at + 2)?,
            receipt_number: row.get(at + 3)?,
            receiver_narration: row.get(at + 4)?,
            status_description: row.get(at + 5)?,
            application_id: row.get(at + 8)?,
            decision: None,
            replaces: None,
            earlier_decisions: Vec::new(),
            earlier_conflict: false,
            named_otherwise: named_otherwise(self.c, self.batch_id, seq)?,
            replaced_by: None,
            row_stands: None,
            waits_for: None,
            loaded_anew: Vec::new(),
            payment,
        };
        let is_replaced = row.get::<_, Option<i64>>(at + 7)?.is_some();
        if record.payment.generation > 0 || is_replaced {
            self.add_generations(&mut record)?;
        }
        if record.life.state == State::Ready
            && record.waits_for.is_none()
            && until_done::waits(self.c, seq)?
        {
            record.waits_for = Some(WaitsFor::Recovered);
        }
        if matches!(record.life.state, State::Failed | State::Cancelled) {
            record.waits_for = doubted(self.c, seq, &record.life)?;
        }
        if matches!(record.life.state, State::Failed | State::Conflict) {
            record.loaded_anew = linked(self.c, seq, Side::Newer)?;
        }
        // What the gateway ended has its code; only a decision leaves none.
        if record.life.code.is_none() && matches!(record.life.state, State::Paid | State::Failed) {
            record.decision = self.decision(seq)?;
        }
        Ok((row.get(at + 6)?, record))
    }

    /// Returns what a person decided of a payment last: `recorded as failed by ana on desk-7: REASON (evidence: EVIDENCE)`.
    fn decision(&self, seq: PaymentId) -> Result<Option<String>, Error> {
        let found: Option<(EvidenceId, i64, Option<String>)> = self
            .c
            .prepare_cached(
                "select evidence_id, event, detail from evidence indexed by evidence_by_payment
                 where seq = ?1 and event in (9, 10) order by evidence_id desc limit 1",
            )?
            .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((evidence_id, event, detail)) = found else {
            return Ok(None);
        };
        let detail: serde_json::Value = detail
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
        let outcome = match event_of(event, None, None)? {
            Some(Event::DecidedPaid) => "paid",
            _ => "failed",
        };
        let by = match self.first_act_after(evidence_id)? {
            Some(act) if act.act == "resolve" => act.by.to_string(),
            // The parts of the program, and releases that did not note it.
            _ => "an operator".to_owned(),
        };
        Ok(Some(format!(
            "recorded as {outcome} by {by}: {} (evidence: {})",
            text("reason"),
            text("evidence")
        )))
    }

    /// Adds what other generations of its row say of a payment.
    fn add_generations(&self, record: &mut PaymentRecord) -> Result<(), Error> {
        let row = of_row(self.c, record.seq)?;
        let place = row.iter().position(|member| member.seq == record.seq);
        let place = place.ok_or_else(|| corrupt("a payment that is not in its row"))?;
        let id = |place: usize| id_of(self.c, row[place].seq);
        let earlier = &row[..place];
        record.replaces = place.checked_sub(1).map(id).transpose()?;
        for member in earlier {
            // The row was retried since; who decided it stays in the report.
            if member.life.code.is_none() && member.life.state == State::Failed {
                record.earlier_decisions.extend(self.decision(member.seq)?);
            }
        }
        record.earlier_conflict = earlier
            .iter()
            .any(|member| matches!(member.life.state, State::Conflict | State::Paid));
        if place + 1 < row.len() {
            record.replaced_by = Some(id(place + 1)?);
            record.row_stands = row.last().map(|last| last.life.state);
        } else if record.life.state == State::Ready {
            record.waits_for = waits_for(self.c, &row)?;
        }
        Ok(())
    }

    /// Returns the generation that stands for the row of a payment.
    pub(in crate::journal::sqlite) fn standing_for(
        &self,
        seq: PaymentId,
    ) -> Result<(LoadId, PaymentRecord), Error> {
        let standing = standing_for(self.c, seq)?;
        let mut statement = self.c.prepare_cached(&format!(
            "select {} {RECORD_TABLES} where i.seq = ?1",
            record_columns()
        ))?;
        let mut rows = statement.query([standing])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a retry without its instruction"))?;
        self.payment_record(row)
    }
}

/// Everything that a row of evidence says of its payment, as JSON: its detail and, after the anomaly, what the gateway said.
fn whole_detail(row: &Row<'_>) -> Result<Option<String>, Error> {
    let detail: Option<String> = row.get(5)?;
    let mut words = serde_json::Map::new();
    for (at, name) in WORDS.into_iter().enumerate() {
        if let Some(word) = row.get::<_, Option<String>>(6 + at)? {
            words.insert(name.to_owned(), word.into());
        }
    }
    if words.is_empty() {
        return Ok(detail);
    }
    if let Some(detail) = detail {
        let detail: serde_json::Map<_, _> =
            serde_json::from_str(&detail).map_err(|_| corrupt("a detail that is not JSON"))?;
        words.extend(detail);
    }
    Ok(Some(serde_json::Value::Object(words).to_string()))
}
