//! Rows of postpaid services and their bills: the amount comes from the bill once, and is fixed for ever.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::rivals::name_rivals;
use super::unpriced::add_unpriced;
use crate::domain::{BatchId, BatchName, LaneId, Money, PaymentId, ServiceCode, Timestamp};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::{BILLED, PRESUMED_POSTED, WATCHED};
use crate::journal::sqlite::codec::values::{
    add_to_tally, amount_of, corrupt, country_of, currency_of, identifier_of, msisdn_of,
    service_of, state_number,
};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::evidence::digests::bill_digest;
use crate::journal::sqlite::evidence::salt;
use crate::journal::sqlite::operator::names::batch_name_of;
use crate::journal::sqlite::payments::unstarted::{fresh_from, has_fresh};
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{
    BillCursor, BillFinding, BillOutcome, BillRecord, BillRow, BillsRecorded, Error,
};
use crate::lifecycle::State;

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
        self.ask(CommitMode::Alone, move |c| {
            to_ask(c, &batch, &checked, from, limit)
        })
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
        self.ask(CommitMode::Alone, move |c| record(c, &findings, now))
            .await
    }
}

const BILL_ROW: &str = "i.seq, i.identifier, d.source, i.line, i.reference, s.code, i.account_number, i.msisdn, i.currency, i.amount, i.country";

/// Rows without an amount, beyond a row, in the order of loading.
fn without_amount() -> String {
    format!(
        "select {BILL_ROW} from instruction i indexed by unpriced cross join load d using (load_id) cross join service s using (service_id)
             where i.batch_id = ?1 and i.amount is null and i.seq > ?2
                 and not exists (select 1 from life l where l.seq = i.seq) order by i.seq limit ?3"
    )
}

/// Rows of the checked services that were never posted and fit no bill yet, in the order of loading.
fn to_be_compared() -> String {
    format!(
        "select {BILL_ROW} from instruction i not indexed cross join load d using (load_id)
             cross join service s on s.service_id = i.service_id left join life l on l.seq = i.seq
         where i.seq > ?2 and i.batch_id = ?1 and i.service_id in (select value from json_each(?4)) and i.amount is not null
             and (l.seq is null or l.state = 0 and l.exposures = 0)
             and not exists (select 1 from bill b where b.seq = i.seq and b.outcome < 2)
         order by i.seq limit ?3"
    )
}

fn to_ask(
    c: &Connection,
    batch: &BatchName,
    checked: &[ServiceCode],
    mut from: BillCursor,
    limit: usize,
) -> Result<(Vec<BillRow>, Option<BillCursor>), Error> {
    let batch_id = known_batch(c, batch)?;
    let mut rows = Vec::new();
    let limit = limit.max(1);
    if !from.checks {
        let mut statement = c.prepare_cached(&without_amount())?;
        take(
            &mut rows,
            statement.query(params![batch_id, from.after, count(limit)])?,
        )?;
        name_rivals(c, batch_id, &mut rows)?;
        if rows.len() == limit {
            return Ok(page(rows, false));
        }
        from = BillCursor::CHECKS;
    }
    let services = services_of(c, checked)?;
    let Some(first) = first_ready(c, batch_id, &services)? else {
        return Ok((rows, None));
    };
    let after = from.after.max(first - 1);
    let wanted = limit - rows.len();
    // The order of the table is the order of loading: one pass over it, however many pages. What may have arrived
    // before is left alone; it was checked before its first post, or belongs to the question after its status.
    let mut statement = c.prepare_cached(&to_be_compared())?;
    let numbers: Vec<i64> = services.iter().map(|lane| lane.get()).collect();
    let list = serde_json::to_string(&numbers).expect("numbers are JSON");
    take(
        &mut rows,
        statement.query(params![batch_id, after, count(wanted), list])?,
    )?;
    if rows.len() == limit {
        return Ok(page(rows, true));
    }
    Ok((rows, None))
}

fn page(rows: Vec<BillRow>, checks: bool) -> (Vec<BillRow>, Option<BillCursor>) {
    let after = rows.last().map_or(0, |row| row.seq.get());
    (rows, Some(BillCursor { checks, after }))
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn take(into: &mut Vec<BillRow>, mut rows: rusqlite::Rows<'_>) -> Result<(), Error> {
    while let Some(row) = rows.next()? {
        into.push(bill_row(row)?);
    }
    Ok(())
}

fn bill_row(row: &Row<'_>) -> Result<BillRow, Error> {
    let digits: String = row.get(7)?;
    let amount = match row.get::<_, Option<i64>>(9)? {
        Some(minor) => Some(amount_of(minor)?),
        None => None,
    };
    Ok(BillRow {
        seq: row.get(0)?,
        id: identifier_of(&row.get::<_, String>(1)?)?,
        source: row.get(2)?,
        line: row.get::<_, i64>(3)?.unsigned_abs(),
        reference: row.get(4)?,
        service: service_of(&row.get::<_, String>(5)?)?,
        account_number: row.get::<_, Option<String>>(6)?.unwrap_or(digits.clone()),
        msisdn: msisdn_of(&digits)?,
        currency: currency_of(&row.get::<_, String>(8)?)?,
        country: country_of(&row.get::<_, String>(10)?)?,
        amount,
        rival: None,
    })
}

fn services_of(c: &Connection, checked: &[ServiceCode]) -> Result<Vec<LaneId>, Error> {
    let mut statement = c.prepare_cached("select service_id from service where code = ?1")?;
    let mut services = Vec::with_capacity(checked.len());
    for service in checked {
        let id: Option<LaneId> = statement
            .query_row([service.as_str()], |row| row.get(0))
            .optional()?;
        services.extend(id);
    }
    Ok(services)
}

fn first_ready(
    c: &Connection,
    batch_id: BatchId,
    services: &[LaneId],
) -> Result<Option<i64>, Error> {
    let mut statement = c.prepare_cached(
        "select min(seq) from life indexed by post_queue where batch_id = ?1 and service_id = ?2 and state = 0",
    )?;
    let mut first: Option<i64> = None;
    for service in services {
        let found: Option<i64> =
            statement.query_row(params![batch_id, service], |row| row.get(0))?;
        let fresh = match has_fresh(c, batch_id, *service, i64::MAX)? {
            true => fresh_from(c, batch_id, *service)?,
            false => None,
        };
        first = [first, found, fresh].into_iter().flatten().min();
    }
    Ok(first)
}

/// A row as its bill finds it.
struct Subject {
    batch_id: BatchId,
    service_id: LaneId,
    currency: String,
    identifier: String,
    priced: bool,
    state: Option<i64>,
    decided: bool,
    /// Something is known of an earlier post: what a bill said, and what the row is held against, is nothing of it.
    exposed: bool,
}

fn subject(c: &Connection, seq: PaymentId) -> Result<Subject, Error> {
    let mut statement = c.prepare_cached(
        "select i.batch_id, i.service_id, i.currency, i.identifier, i.amount is not null, l.state,
             exists (select 1 from bill b where b.seq = i.seq and b.outcome < 2),
             exists (select 1 from evidence e indexed by evidence_by_payment where e.seq = i.seq and e.event not in (?2, ?3))
         from instruction i left join life l on l.seq = i.seq where i.seq = ?1",
    )?;
    let mut rows = statement.query((seq, BILLED, WATCHED))?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
    Ok(Subject {
        batch_id: row.get(0)?,
        service_id: row.get(1)?,
        currency: row.get(2)?,
        identifier: row.get(3)?,
        priced: row.get(4)?,
        state: row.get(5)?,
        decided: row.get(6)?,
        exposed: row.get(7)?,
    })
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
                id: identifier_of(&subject.identifier)?,
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
                if subject.state.is_some() || subject.priced {
                    return refuse("priced", "it has its amount, which never changes");
                }
                let due = finding
                    .due
                    .filter(|due| due.currency.code() == subject.currency)
                    .ok_or_else(|| corrupt("a bill without an amount in the row's currency"))?;
                price(c, finding.seq, &subject, due, now)?;
                recorded.taken.add(due);
            }
            BillOutcome::Fits => {
                let is_ready = subject
                    .state
                    .is_none_or(|state| state == state_number(State::Ready));
                if !subject.priced || !is_ready {
                    return refuse("not to be checked", "only what can be posted is compared");
                }
                recorded.fitting += 1;
            }
            BillOutcome::Refused => recorded.refused += 1,
        }
        append(c, subject.batch_id, finding, now)?;
    }
    Ok(recorded)
}

/// Fixes the amount, and begins the row's life.
fn price(
    c: &WriteSession,
    seq: PaymentId,
    subject: &Subject,
    due: Money,
    now: Timestamp,
) -> Result<(), Error> {
    let minor = due.amount.minor();
    let changed = c
        .prepare_cached(
            "update instruction set amount = ?2 where seq = ?1 and amount is null and as_due = 1",
        )?
        .execute(params![seq, minor])?;
    if changed != 1 {
        return Err(corrupt("a row that leaves its amount to no bill"));
    }
    // Asked before it is posted, where an earlier journal may have posted it.
    let (state, exposures) = if subject.exposed {
        (State::InDoubt, 1)
    } else {
        (State::Ready, 0)
    };
    c.prepare_cached(
        "insert into life (seq, batch_id, service_id, state, due_at, exposures, quarantine_from)
         values (?1, ?2, ?3, ?4, 0, ?5, iif(?5 > 0, ?6, null))",
    )?
    .execute(params![
        seq,
        subject.batch_id,
        subject.service_id,
        state_number(state),
        exposures,
        now.as_millis(),
    ])?;
    if subject.exposed {
        c.append(&Evidence {
            batch_id: subject.batch_id,
            seq,
            at: now,
            kind: (PRESUMED_POSTED, None, None),
            ..Evidence::default()
        })?;
    }
    let (batch, service, currency) = (subject.batch_id, subject.service_id, &subject.currency);
    add_unpriced(c, batch, service, currency, -1)?;
    add_to_tally(c, batch, service, currency, state, 1, minor)
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
    c.prepare_cached(
        "insert into bill (seq, at, outcome, code, due, currency, due_date, customer_name, description, salt)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        finding.seq,
        now.as_millis(),
        outcome_number(finding.outcome),
        finding.code,
        finding.due.map(|due| due.amount.minor()),
        finding.due.map(|due| due.currency.code()),
        full(&finding.due_date),
        full(&finding.customer_name),
        finding.description,
        &salt::fresh()?[..],
    ])?;
    let bill_id = c.last_insert_rowid();
    c.append(&Evidence {
        batch_id,
        seq: finding.seq,
        at: now,
        kind: (BILLED, None, None),
        digest: bill_digest(c, bill_id)?.as_ref(),
        detail: Some(&json!({"bill": bill_id}).to_string()),
        ..Evidence::default()
    })
}

fn outcome_number(outcome: BillOutcome) -> i64 {
    match outcome {
        BillOutcome::Taken => 0,
        BillOutcome::Fits => 1,
        BillOutcome::Refused => 2,
    }
}

fn outcome_of(number: i64) -> Result<BillOutcome, Error> {
    match number {
        0 => Ok(BillOutcome::Taken),
        1 => Ok(BillOutcome::Fits),
        2 => Ok(BillOutcome::Refused),
        other => Err(corrupt(format!("a bill of outcome {other}"))),
    }
}

/// Returns what the bills of a row said, oldest first.
pub(in crate::journal::sqlite) fn bills(
    c: &Connection,
    seq: PaymentId,
) -> Result<Vec<BillRecord>, Error> {
    let mut statement = c.prepare_cached(
        "select at, outcome, code, due, currency, coalesce(due_date, ''), coalesce(customer_name, ''), description
         from bill where seq = ?1 order by bill_id",
    )?;
    let mut rows = statement.query([seq])?;
    let mut bills = Vec::new();
    while let Some(row) = rows.next()? {
        bills.push(bill_of(row)?);
    }
    Ok(bills)
}

/// Returns what the bill of a row said last.
pub(in crate::journal::sqlite) fn last_bill(
    c: &Connection,
    seq: PaymentId,
) -> Result<Option<BillRecord>, Error> {
    let mut statement = c.prepare_cached(
        "select at, outcome, code, due, currency, coalesce(due_date, ''), coalesce(customer_name, ''), description
         from bill where seq = ?1 order by bill_id desc limit 1",
    )?;
    let mut rows = statement.query([seq])?;
    rows.next()?.map(bill_of).transpose()
}

fn bill_of(row: &Row<'_>) -> Result<BillRecord, Error> {
    let due = match (
        row.get::<_, Option<i64>>(3)?,
        row.get::<_, Option<String>>(4)?,
    ) {
        (Some(minor), Some(code)) => Some(Money {
            amount: amount_of(minor)?,
            currency: currency_of(&code)?,
        }),
        _ => None,
    };
    Ok(BillRecord {
        at: Timestamp::from_millis(row.get(0)?),
        outcome: outcome_of(row.get(1)?)?,
        code: row.get(2)?,
        due,
        due_date: row.get(5)?,
        customer_name: row.get(6)?,
        description: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::sqlite::schema::open::{Missing, for_writing};

    #[test]
    fn no_page_of_bills_reads_or_sorts_what_other_pages_are_about() {
        let folder = tempfile::tempdir().unwrap();
        let c = for_writing(&folder.path().join("journal.db"), Missing::Create).unwrap();
        for (sql, expected) in [
            (
                without_amount(),
                "USING INDEX unpriced (batch_id=? AND seq>?)",
            ),
            (
                to_be_compared(),
                "SEARCH i USING INTEGER PRIMARY KEY (rowid>?)",
            ),
        ] {
            let mut statement = c.prepare(&format!("explain query plan {sql}")).unwrap();
            let mut rows = statement.raw_query();
            let mut plan = String::new();
            while let Some(row) = rows.next().unwrap() {
                plan.push_str(&row.get::<_, String>(3).unwrap());
                plan.push_str("; ");
            }
            assert!(plan.contains(expected), "{sql}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{sql}: {plan}");
            let scans = plan.matches("SCAN").count() - plan.matches("SCAN json_each").count();
            assert_eq!(scans, 0, "{sql}: {plan}");
        }
    }
}
