//! Reading beside the writer.

use std::ops::ControlFlow;

use super::batch_status::standing;
use super::phrases::Phrases;
use super::reader::{Reader, Seen, Snapshot, service_codes};
use super::records::{Record, Records};
use super::rows::Rows;
use crate::domain::{
    BatchId, BatchName, ControlTotals, Currency, EvidenceId, LaneId, LoadId, Originator,
    PayerTransactionId, PaymentId, PhraseId, Timestamp,
};
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::catalog::{known_batch, name, reading};
use crate::journal::codec::events::{
    DOCUMENT_CHECKED, MONEY_LEFT, REPLACED, SHOWN_PAID, STOOD, SUPERSEDED, event_name, event_of,
    fact_of,
};
use crate::journal::codec::facts::fact;
use crate::journal::codec::instructions::FoundInstruction;
use crate::journal::codec::values::{corrupt, currency_of};
use crate::journal::opening;
use crate::journal::operator::names::rows_named;
use crate::journal::payments::agreed::named_otherwise;
use crate::journal::payments::first_claims::{FirstClaim, first_claim};
use crate::journal::payments::inquiries::{doubted, waits_for};
use crate::journal::preflight::bills::{bills, last_bill};
use crate::journal::recovery::place::traces_of;
use crate::journal::recovery::server_place::traces_for_reader;
use crate::journal::recovery::until_done;
use crate::journal::relocation::notice;
use crate::journal::repeats::linked::{Side, linked};
use crate::journal::run::sessions::runners;
use crate::journal::session::keeper::Keeper;
use crate::journal::session::members::{corrected, of_row, standing_for};
use crate::journal::{
    BatchRecord, BillRecord, Error, HistoryEntry, Linked, LoadRecord, Location, PaymentRecord,
    RunnerRecord, ServerAddress, Standing, UnpricedRecord, WaitsFor,
};
use crate::ledger::evidence::WORDS;
use crate::ledger::heads::BatchHead;
use crate::ledger::names::PaymentName;
use crate::ledger::pin::READ_AS_DOCUMENT;
use crate::ledger::recovery::JournalId;
use crate::lifecycle::{Event, RecordedEvent, State};
use crate::store::tables::{batch, chain, evidence, instruction, load, rejected};
use crate::store::{Reads, Scan, Test, Value, shape};

shape! {
    /// How far the chain of a batch reaches.
    struct Chain of chain { batch_id: BatchId, length: i64, head: [u8; 32] }
}
shape! {
    /// What is on record of a batch.
    struct Begun of batch { originator: Originator, created_at: Timestamp, gateway: Option<String>, account: Option<String> }
}
shape! {
    /// What is on record of a file.
    struct Loaded of load {
        load_id: LoadId, source: String, digest: String, loaded_at: Timestamp, accepted: i64, rejected: i64,
    }
}
shape! {
    /// What was learned about a payment.
    struct Learned of evidence {
        evidence_id: EvidenceId, at: Timestamp, event: i64, class: Option<i64>, code: Option<i32>, anomaly: Option<String>,
        detail: Option<String>, gateway_transaction_id: Option<String>, receipt_number: Option<String>,
        receiver_narration: Option<String>, phrase_id: Option<PhraseId>,
    }
}
shape! {
    /// What a person decided of a payment.
    struct Decision of evidence { evidence_id: EvidenceId, event: i64, detail: Option<String> }
}

impl Reader {
    /// Opens a journal that must be there.
    ///
    /// # Errors
    /// As [`crate::journal::Journal::open_existing`].
    pub fn open(at: &Location) -> Result<Self, Error> {
        let reader = match at {
            Location::File(path) => {
                // Before the journal: what is written meanwhile can only bring the journal further.
                let beside = traces_of(path)?;
                Self::of(opening::for_reading(at)?, Some(beside))
            }
            Location::Server(address) => Self::on_server(opening::for_reading(at)?, address)?,
        };
        Ok(reader.heeding(notice::read(at)?))
    }

    /// Reads what is kept on a server. What this host has seen of it was never ahead of it, whenever it is read.
    pub(in crate::journal) fn on_server(
        keeper: Keeper,
        address: &ServerAddress,
    ) -> Result<Self, Error> {
        let store = keeper.store();
        if store.server_position().is_none() {
            return Ok(Self::of(keeper, None));
        }
        let traces = traces_for_reader(store, address)?;
        Ok(Self::of(keeper, Some(Seen { traces, born: None })))
    }

    /// Returns every batch, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches(&self) -> Result<Vec<BatchName>, Error> {
        // An archive has other batches as far as rows of its own name them.
        let archived: Option<BatchId> = fact(self.store(), "archive")?;
        let batches = Scan::of(&batch::TABLE);
        let batches = match &archived {
            Some(own) => batches.at(own),
            None => batches,
        };
        Ok(self.store().values(&batches, batch::name)?)
    }

    /// Returns what the journal calls itself, and how far the evidence of every batch reaches.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn heads(&self) -> Result<(JournalId, Vec<BatchHead>), Error> {
        let c = self.store();
        let mut heads = Vec::new();
        c.each(&Scan::of(&chain::TABLE), |chain: Chain| {
            let own = Scan::of(&batch::TABLE).at(&chain.batch_id);
            if let Some(batch) = c.value(&own, batch::name)? {
                heads.push(BatchHead {
                    batch,
                    rows: chain.length.unsigned_abs(),
                    head: chain.head,
                });
            }
            Ok::<_, Error>(())
        })?;
        Ok((name(self.store())?, heads))
    }

    /// Begins to read one batch as it is now: what is written meanwhile stays out.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub fn snapshot(&self, batch: &BatchName) -> Result<Snapshot<'_>, Error> {
        self.store().begin_reading()?;
        match known_batch(self.store(), batch) {
            Ok(batch_id) => Ok(Snapshot {
                begun: Some(self.store()),
                c: self.store(),
                batch: batch.clone(),
                batch_id,
            }),
            Err(error) => {
                self.store().rollback()?;
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

    /// Returns the runs that are under way, on a journal that several share.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn runners(&self) -> Result<Vec<RunnerRecord>, Error> {
        self.begun
            .map_or(Ok(Vec::new()), |store| runners(store, self.batch_id))
    }

    /// Returns how replies about the batch are read, as its last run read them.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn reading(&self) -> Result<String, Error> {
        let on_record = reading(self.c, self.batch_id)?;
        Ok(on_record.unwrap_or_else(|| READ_AS_DOCUMENT.to_owned()))
    }

    /// Returns what is on record of the batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn record(&self) -> Result<BatchRecord, Error> {
        let own: Option<Begun> = self.c.first(&Scan::of(&batch::TABLE).at(&self.batch_id))?;
        let Begun {
            originator,
            created_at,
            gateway,
            account,
        } = own.ok_or_else(|| corrupt(format!("batch {} is missing", self.batch_id)))?;
        let mut loads = Vec::new();
        let files = Scan::by(&load::load_by_batch).at(&self.batch_id);
        self.c.each(&files, |file: Loaded| {
            let mended = Scan::of(&rejected::TABLE)
                .at(&file.load_id)
                .only(rejected::replaced_by, Test::Present);
            let mended = i64::try_from(self.c.count(&mended)?).unwrap_or(i64::MAX);
            loads.push(LoadRecord {
                source: file.source,
                digest: file.digest,
                loaded_at: file.loaded_at,
                accepted: file.accepted.unsigned_abs(),
                rejected: file.rejected.saturating_sub(mended).unsigned_abs(),
            });
            Ok::<_, Error>(())
        })?;
        Ok(BatchRecord {
            name: self.batch.clone(),
            originator,
            created_at,
            purpose: crate::journal::codec::catalog::purpose(self.c, self.batch_id)?,
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
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::generation, Test::is(&0_i64));
        let columns = [
            instruction::service_id,
            instruction::currency,
            instruction::amount,
        ];
        let mut lanes: Vec<(LaneId, Currency, u64, i128)> = Vec::new();
        let mut last = 0;
        self.c.each_row(&rows, &columns, |row| {
            let service: LaneId = row.get(0)?;
            let code = row.value(1)?;
            let Value::Text(code) = &code else {
                return Err(corrupt("a currency that is not text"));
            };
            let is_lane = |lane: &(LaneId, Currency, u64, i128)| {
                lane.0 == service && lane.1.code() == &**code
            };
            if !lanes.get(last).is_some_and(is_lane) {
                last = lanes.iter().position(is_lane).unwrap_or(lanes.len());
            }
            if last == lanes.len() {
                lanes.push((service, currency_of(code)?, 0, 0));
            }
            lanes[last].2 += 1;
            lanes[last].3 += i128::from(row.get::<Option<i64>>(2)?.unwrap_or(0));
            Ok(ControlFlow::Continue(()))
        })?;
        for (service, currency, more) in corrected(self.c, self.batch_id)? {
            let is_lane =
                |lane: &&mut (LaneId, Currency, u64, i128)| lane.0 == service && lane.1 == currency;
            if let Some(lane) = lanes.iter_mut().find(is_lane) {
                lane.3 += more;
            }
        }
        let mut control = ControlTotals::default();
        let codes = service_codes(self.c)?;
        for (service, currency, count, minor) in lanes {
            let code = codes.get(&service);
            let code = code.ok_or_else(|| corrupt("a payment without a service"))?;
            control.add_many(code, count, currency, minor);
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
        let records = Records::of(self.c);
        let mut found = Vec::new();
        for seq in seqs {
            if let Some(record) = records.find(seq)?.filter(Record::has_amount) {
                found.push(self.payment_record(record)?.1);
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
        Ok(Some((id_of(self.c, seq)?, words)))
    }

    /// Returns the row without an amount that a person names; `None` when the row has one.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_unpriced(&self, name: &PaymentName) -> Result<Option<UnpricedRecord>, Error> {
        let seqs = self.rows_named(name)?;
        match Records::of(self.c).find(seqs[0])? {
            Some(record) if !record.has_amount() => Ok(Some(self.unpriced_record(record)?.1)),
            _ => Ok(None),
        }
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
        let about = Scan::by(&evidence::evidence_by_payment).at(&seq);
        let mut phrases = Phrases::of(self.c);
        let mut trail = Vec::new();
        self.c.each(&about, |row: Learned| {
            if !is_told(row.event) {
                return Ok(());
            }
            if let Some(claim) = first.take_if(|claim| claim.evidence_id < row.evidence_id) {
                trail.push(intent(claim));
            }
            trail.push(HistoryEntry {
                at: row.at,
                event: event_of(row.event, row.class, row.code)?,
                fact: fact_of(row.event, row.class, row.code, row.detail.as_deref())?,
                kind: event_name(row.event),
                anomaly: row.anomaly.clone(),
                detail: if row.event == STOOD {
                    None
                } else {
                    whole_detail(row, &mut phrases)?
                },
            });
            Ok::<_, Error>(())
        })?;
        trail.extend(first.map(intent));
        crate::journal::preflight::documents::add_to_trail(self.c, seq, &mut trail)?;
        Ok(trail)
    }

    /// Returns the record of a row without an amount and, before it, the load it belongs to.
    pub(super) fn unpriced_record(
        &self,
        record: Record,
    ) -> Result<(LoadId, UnpricedRecord), Error> {
        let FoundInstruction {
            seq, load_id, row, ..
        } = record.instruction;
        let currency = row.instruction.money.currency;
        let record = UnpricedRecord {
            seq,
            id: row.id,
            row: row.instruction.with_money(currency),
            withdrawn_at: record.settled_at,
            bill: last_bill(self.c, seq)?,
        };
        Ok((load_id, record))
    }

    /// Returns the record of a payment and, before it, the load it belongs to.
    pub(super) fn payment_record(&self, record: Record) -> Result<(LoadId, PaymentRecord), Error> {
        let FoundInstruction { seq, load_id, .. } = record.instruction;
        let is_replaced = record.replaced_by.is_some();
        let mut record = PaymentRecord {
            seq,
            life: record.life,
            settled_at: record.settled_at,
            gateway_transaction_id: record.gateway_transaction_id,
            receipt_number: record.receipt_number,
            receiver_narration: record.receiver_narration,
            status_description: record.status_description,
            application_id: record.application_id,
            payment: record.instruction.payment()?,
            decision: None,
            replaces: None,
            earlier_decisions: Vec::new(),
            earlier_conflict: false,
            named_otherwise: named_otherwise(self.c, self.batch_id, seq)?,
            replaced_by: None,
            row_stands: None,
            waits_for: None,
            loaded_anew: Vec::new(),
        };
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
        Ok((load_id, record))
    }

    /// Returns what a person decided of a payment last: `recorded as failed by ana on desk-7: REASON (evidence: EVIDENCE)`.
    fn decision(&self, seq: PaymentId) -> Result<Option<String>, Error> {
        let decisions = Scan::by(&evidence::evidence_by_payment)
            .at(&seq)
            .only(evidence::event, Test::among(&DECISIONS))
            .descending();
        let Some(Decision {
            evidence_id,
            event,
            detail,
        }) = self.c.first(&decisions)?
        else {
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
        let place = place.ok_or_else(|| corrupt("a payment that its row does not list"))?;
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
    pub(super) fn standing_for(
        &self,
        records: &Records<'_>,
        seq: PaymentId,
    ) -> Result<(LoadId, PaymentRecord), Error> {
        let record = records.find(standing_for(self.c, seq)?)?;
        self.payment_record(record.ok_or_else(|| corrupt("a retry without its instruction"))?)
    }
}

/// The kinds of evidence that a person decided what became of a payment.
const DECISIONS: [i64; 2] = [9, 10];

/// Returns whether a kind of evidence is news of its payment: some only proves that other tables are as they were.
fn is_told(event: i64) -> bool {
    event <= REPLACED
        || matches!(
            event,
            STOOD
                | SUPERSEDED
                | DOCUMENT_CHECKED
                | SHOWN_PAID
                | MONEY_LEFT
                | 50..=59
                | 70..=81
        )
}

/// Everything that a row of evidence says of its payment, as JSON: its detail and, after the anomaly, what the gateway said.
fn whole_detail(row: Learned, phrases: &mut Phrases<'_>) -> Result<Option<String>, Error> {
    let description = match row.phrase_id {
        Some(number) => {
            let text = phrases.find(number)?;
            Some(
                text.ok_or_else(|| corrupt("a phrase that is missing"))?
                    .to_owned(),
            )
        }
        None => None,
    };
    let said = [
        row.gateway_transaction_id,
        row.receipt_number,
        row.receiver_narration,
        description,
    ];
    let mut words = serde_json::Map::new();
    for (name, word) in WORDS.into_iter().zip(said) {
        if let Some(word) = word {
            words.insert(name.to_owned(), word.into());
        }
    }
    let detail = row.detail;
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
