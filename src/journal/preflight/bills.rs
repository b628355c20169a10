//! Rows of postpaid services and their bills: the amount comes from the bill once, and is fixed for ever.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::json;

use super::rivals::name_rivals;
use super::unpriced::{add_unpriced, may_be_posted};
use crate::domain::{
    Amount, BatchId, BatchName, BillId, Country, Currency, LaneId, LoadId, Money, Msisdn,
    PayerTransactionId, PaymentId, ServiceCode, Timestamp,
};
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::{BILLED, PRESUMED_POSTED, WATCHED};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::{add_to_tally, corrupt};
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::digests::bill_digest;
use crate::journal::evidence::salt::{self, Salt};
use crate::journal::operator::names::batch_name_of;
use crate::journal::payments::unstarted::{fresh_from, has_fresh};
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::handle::Journal;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{
    BillCursor, BillFinding, BillOutcome, BillRecord, BillRow, BillsRecorded, Error,
};
use crate::lifecycle::State;
use crate::store::tables::{bill, evidence, instruction, life, load, service};
use crate::store::{self, Field, Read, Reads, Scan, Test, Value, Writes, shape};

impl Journal {
    /// Returns up to `limit` rows whose bill is still to be asked for, and where the next page begins; `None` after the last.
    ///
    /// Those are the rows without an amount, and the rows of `checked` services that were never posted and were not found
    /// to fit a bill yet.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn bills_to_ask(
        &self,
        batch: BatchName,
        checked: Vec<ServiceCode>,
        from: BillCursor,
        limit: usize,
    ) -> Result<(Vec<BillRow>, Option<BillCursor>), Error> {
        self.read(move |c| to_ask(c, &batch, &checked, from, limit))
            .await
    }

    /// Records what bills said, all or nothing: an amount that is taken from a bill never changes again.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] for a row that has its amount, or that a bill has decided, already.
    pub async fn record_bills(
        &self,
        findings: Vec<BillFinding>,
        now: Timestamp,
    ) -> Result<BillsRecorded, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            record(c, &findings, c.time(now)?)
        })
        .await
    }
}

shape! {
    /// A row as it is asked for.
    struct Asked of instruction {
        seq: PaymentId, identifier: PayerTransactionId, load_id: LoadId, line: i64, reference: Option<String>, service_id: LaneId,
        account_number: Option<String>, msisdn: Msisdn, currency: Currency, amount: Option<Amount>, country: Country,
    }
}

/// A page of rows that are asked for.
struct Page<'c> {
    c: &'c dyn Read,
    services: Instructions<'c>,
    sources: BTreeMap<LoadId, String>,
    rows: Vec<BillRow>,
    limit: usize,
}

impl<'c> Page<'c> {
    fn of(c: &'c dyn Read, limit: usize) -> Self {
        Self {
            c,
            services: Instructions::of(c),
            sources: BTreeMap::new(),
            rows: Vec::new(),
            limit,
        }
    }

    /// Takes in the rows without an amount, beyond a row, in the order of loading.
    fn without_amount(&mut self, batch_id: BatchId, after: PaymentId) -> Result<(), Error> {
        let c = self.c;
        let rows = Scan::by(&instruction::unpriced).at(&batch_id);
        c.each_until(&rows.after(&after), |row: Asked| {
            match c.any(&Scan::of(&life::TABLE).at(&row.seq))? {
                true => Ok(ControlFlow::Continue(())),
                false => self.take(row),
            }
        })
    }

    /// Takes in the rows of the checked services that were never posted and fit no bill yet, in the order of loading.
    fn compared_rows(
        &mut self,
        batch_id: BatchId,
        services: &[LaneId],
        after: PaymentId,
    ) -> Result<(), Error> {
        let c = self.c;
        let rows = Scan::of(&instruction::TABLE)
            .after(&after)
            .only(instruction::batch_id, Test::is(&batch_id))
            .only(instruction::service_id, Test::among(services))
            .only(instruction::amount, Test::Present);
        c.each_until(&rows, |row: Asked| {
            match may_be_posted(c, row.seq)? && !is_decided(c, row.seq)? {
                true => self.take(row),
                false => Ok(ControlFlow::Continue(())),
            }
        })
    }

    /// Takes in a row; the page ends with the last one that it has room for.
    fn take(&mut self, row: Asked) -> Result<ControlFlow<()>, Error> {
        let source = match self.sources.get(&row.load_id) {
            Some(known) => known.clone(),
            None => {
                let load = Scan::of(&load::TABLE).at(&row.load_id);
                let source: Option<String> = self.c.value(&load, load::source)?;
                let source = source.ok_or_else(|| corrupt("a row without its load"))?;
                self.sources.insert(row.load_id, source.clone());
                source
            }
        };
        let digits = || row.msisdn.as_str().to_owned();
        self.rows.push(BillRow {
            seq: row.seq,
            id: row.identifier,
            source,
            line: row.line.unsigned_abs(),
            reference: row.reference,
            service: self.services.service(row.service_id)?,
            account_number: row.account_number.unwrap_or_else(digits),
            msisdn: row.msisdn,
            currency: row.currency,
            country: row.country,
            amount: row.amount,
            rival: None,
        });
        Ok(match self.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.limit
    }

    /// Returns the rows, and where the next page begins.
    fn followed(self, checks: bool) -> (Vec<BillRow>, Option<BillCursor>) {
        let after = self.rows.last().map_or(PaymentId::NONE, |row| row.seq);
        (self.rows, Some(BillCursor { checks, after }))
    }
}

/// Returns whether a bill has decided a row.
fn is_decided(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    Ok(c.any(&Scan::by(&bill::bill_that_decided).at(&seq))?)
}

fn to_ask(
    c: &dyn Read,
    batch: &BatchName,
    checked: &[ServiceCode],
    mut from: BillCursor,
    limit: usize,
) -> Result<(Vec<BillRow>, Option<BillCursor>), Error> {
    let batch_id = known_batch(c, batch)?;
    let mut page = Page::of(c, limit.max(1));
    if !from.checks {
        page.without_amount(batch_id, from.after)?;
        name_rivals(c, batch_id, &mut page.rows)?;
        if page.is_full() {
            return Ok(page.followed(false));
        }
        from = BillCursor::CHECKS;
    }
    let services = services_of(c, checked)?;
    let Some(first) = first_ready(c, batch_id, &services)? else {
        return Ok((page.rows, None));
    };
    let after = from.after.max(first.before());
    // The order of the table is the order of loading: one pass over it, however many pages. What may have arrived
    // before is left alone; it was checked before its first post, or belongs to the question after its status.
    page.compared_rows(batch_id, &services, after)?;
    match page.is_full() {
        true => Ok(page.followed(true)),
        false => Ok((page.rows, None)),
    }
}

fn services_of(c: &dyn Read, checked: &[ServiceCode]) -> Result<Vec<LaneId>, Error> {
    let mut services = Vec::with_capacity(checked.len());
    for code in checked {
        let known = Scan::by(&service::by_code).at(code);
        services.extend(c.value::<LaneId>(&known, service::service_id)?);
    }
    Ok(services)
}

fn first_ready(
    c: &dyn Read,
    batch_id: BatchId,
    services: &[LaneId],
) -> Result<Option<PaymentId>, Error> {
    let mut first: Option<PaymentId> = None;
    for service in services {
        let mut found: Option<PaymentId> = None;
        let ready = Scan::by(&life::post_queue).at(&batch_id).at(service);
        c.each_row(&ready, &[life::seq], |row| {
            let seq = row.get(0)?;
            found = Some(found.map_or(seq, |found: PaymentId| found.min(seq)));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let fresh = match has_fresh(c, batch_id, *service, PaymentId::AFTER_ALL)? {
            true => fresh_from(c, batch_id, *service)?.map(PaymentId::new),
            false => None,
        };
        first = [first, found, fresh].into_iter().flatten().min();
    }
    Ok(first)
}

shape! {
    /// What is written in a row that a bill is about.
    struct Row of instruction {
        batch_id: BatchId, service_id: LaneId, currency: Currency, identifier: PayerTransactionId, amount: Option<i64>,
    }
}

/// A row as its bill finds it.
struct Subject {
    row: Row,
    state: Option<State>,
    decided: bool,
}

fn subject(c: &dyn Read, seq: PaymentId) -> Result<Subject, Error> {
    let row = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    Ok(Subject {
        row: row.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?,
        state: c.value(&Scan::of(&life::TABLE).at(&seq), life::state)?,
        decided: is_decided(c, seq)?,
    })
}

/// Returns whether something is known of an earlier post: what a bill said, and what the row is held against, is nothing of it.
fn is_exposed(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let own = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let own = own.only(evidence::event, Test::is_not(&BILLED));
    Ok(c.any(&own.only(evidence::event, Test::is_not(&WATCHED)))?)
}

fn record(
    c: &WriteSession,
    findings: &[BillFinding],
    now: Timestamp,
) -> Result<BillsRecorded, Error> {
    let mut recorded = BillsRecorded::default();
    for finding in findings {
        c.flush()?;
        let subject = subject(c, finding.seq)?;
        let refuse = |state, why: &str| {
            Err(Error::NotAllowed {
                batch: batch_name_of(c, finding.seq)?,
                id: subject.row.identifier,
                state,
                why: why.into(),
            })
        };
        if subject.decided {
            return refuse(
                "priced",
                "a bill has decided its amount, which never changes",
            );
        }
        match finding.outcome {
            BillOutcome::Taken => {
                if subject.state.is_some() || subject.row.amount.is_some() {
                    return refuse("priced", "it has its amount, which never changes");
                }
                let due = finding
                    .due
                    .filter(|due| due.currency == subject.row.currency)
                    .ok_or_else(|| corrupt("a bill without an amount in the row's currency"))?;
                price(c, finding.seq, &subject.row, due, now)?;
                recorded.taken.add(due);
            }
            BillOutcome::Fits => {
                let is_ready = subject.state.is_none_or(|state| state == State::Ready);
                if subject.row.amount.is_none() || !is_ready {
                    return refuse("not to be checked", "only what can be posted is compared");
                }
                recorded.fitting += 1;
            }
            BillOutcome::Refused => recorded.refused += 1,
        }
        append(c, subject.row.batch_id, finding, now)?;
    }
    Ok(recorded)
}

shape! {
    /// The life of a row as it begins.
    struct Begun of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64, exposures: u32,
        quarantine_from: Option<Timestamp>,
    }
}

/// Fixes the amount, and begins the row's life.
fn price(
    c: &WriteSession,
    seq: PaymentId,
    row: &Row,
    due: Money,
    now: Timestamp,
) -> Result<(), Error> {
    let exposed = is_exposed(c, seq)?;
    let waiting = Scan::of(&instruction::TABLE)
        .at(&seq)
        .only(instruction::amount, Test::Absent)
        .only(instruction::as_due, Test::is(&true));
    if c.set(&waiting, instruction::amount, &due.amount)? != 1 {
        return Err(corrupt("a bill for a row that awaits no bill"));
    }
    // Asked before it is posted, where an earlier journal may have posted it.
    let (state, exposures) = if exposed {
        (State::InDoubt, 1)
    } else {
        (State::Ready, 0)
    };
    c.insert(&Begun {
        seq,
        batch_id: row.batch_id,
        service_id: row.service_id,
        state,
        due_at: 0,
        exposures,
        quarantine_from: exposed.then_some(now),
    })?;
    if exposed {
        c.append(&Evidence {
            batch_id: row.batch_id,
            seq,
            at: now,
            kind: (PRESUMED_POSTED, None, None),
            ..Evidence::default()
        })?;
    }
    let (batch, service, currency) = (row.batch_id, row.service_id, row.currency.code());
    let minor = due.amount.minor();
    add_unpriced(c, batch, service, currency, -1)?;
    add_to_tally(c, batch, service, currency, state, 1, minor)
}

shape! {
    /// What a bill said, with what hides the personal of it.
    struct New of bill {
        seq: PaymentId, at: Timestamp, outcome: BillOutcome, code: Option<i32>, due: Option<Amount>, currency: Option<Currency>,
        due_date: Option<String>, customer_name: Option<String>, description: String, salt: Salt,
    }
}

/// Appends what a bill said. A refusal that says what the last one said is the same one: asked every night, it is kept once.
fn append(
    c: &WriteSession,
    batch_id: BatchId,
    finding: &BillFinding,
    now: Timestamp,
) -> Result<(), Error> {
    if finding.outcome == BillOutcome::Refused
        && let Some(last) = last_bill(c, finding.seq)?
        && (last.code, last.due, &last.description)
            == (finding.code, finding.due, &finding.description)
    {
        return Ok(());
    }
    let full = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let bill = New {
        seq: finding.seq,
        at: now,
        outcome: finding.outcome,
        code: finding.code,
        due: finding.due.map(|due| due.amount),
        currency: finding.due.map(|due| due.currency),
        due_date: full(&finding.due_date),
        customer_name: full(&finding.customer_name),
        description: finding.description.clone(),
        salt: salt::fresh()?,
    };
    let bill_id = BillId::new(Writes::append(c, &bill)?);
    c.append(&Evidence {
        batch_id,
        seq: finding.seq,
        at: now,
        kind: (BILLED, None, None),
        digest: bill_digest(c, bill_id)?.as_ref(),
        detail: Some(&json!({"bill": bill_id.get()}).to_string()),
        ..Evidence::default()
    })
}

impl Field for BillOutcome {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(match self {
            Self::Taken => 0,
            Self::Fits => 1,
            Self::Refused => 2,
        })
    }

    fn from_value(value: Value<'_>) -> Result<Self, store::Error> {
        match i64::from_value(value)? {
            0 => Ok(Self::Taken),
            1 => Ok(Self::Fits),
            2 => Ok(Self::Refused),
            other => Err(store::Error::corrupt(format!("a bill of outcome {other}"))),
        }
    }
}

shape! {
    /// What a bill said.
    struct Said of bill {
        at: Timestamp, outcome: BillOutcome, code: Option<i32>, due: Option<Amount>, currency: Option<Currency>,
        due_date: Option<String>, customer_name: Option<String>, description: String,
    }
}

impl From<Said> for BillRecord {
    fn from(said: Said) -> Self {
        Self {
            at: said.at,
            outcome: said.outcome,
            code: said.code,
            due: said
                .due
                .zip(said.currency)
                .map(|(amount, currency)| Money { amount, currency }),
            due_date: said.due_date.unwrap_or_default(),
            customer_name: said.customer_name.unwrap_or_default(),
            description: said.description,
        }
    }
}

/// Returns what the bills of a row said, oldest first.
pub(in crate::journal) fn bills(c: &dyn Read, seq: PaymentId) -> Result<Vec<BillRecord>, Error> {
    let said: Vec<Said> = c.list(&Scan::by(&bill::bill_by_payment).at(&seq))?;
    Ok(said.into_iter().map(BillRecord::from).collect())
}

/// Returns what the bill of a row said last.
pub(in crate::journal) fn last_bill(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<BillRecord>, Error> {
    let newest = Scan::by(&bill::bill_by_payment).at(&seq).descending();
    Ok(c.first::<Said>(&newest)?.map(BillRecord::from))
}
