//! The dates of a batch, as people gave them: the newest evidence of them counts.

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};

use crate::domain::{BatchName, Timestamp};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::SCHEDULED;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{DatesOrder, Error, LoadPlan, LoadRefusal};
use crate::ledger::calendar::BatchDates;

impl Journal {
    /// Gives a batch other dates; returns those that it had. Dates that it has already are not recorded again.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::DatesChanged`] where the dates are not those that the order was given upon.
    pub async fn schedule(
        &self,
        batch: BatchName,
        order: DatesOrder,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            if dates(c, batch_id)? != order.before {
                return Err(Error::DatesChanged { batch });
            }
            if order.before == order.after {
                return Ok(());
            }
            c.mark(batch_id);
            c.act(
                batch_id,
                now,
                "schedule",
                Value::Null,
                Some(&format!(
                    "{} (dates before: {}; from now on: {})",
                    order.reason,
                    told(order.before),
                    told(order.after)
                )),
            )?;
            record(c, batch_id, order.after, now)
        })
        .await
    }
}

fn told(dates: BatchDates) -> String {
    let text = |at: Option<Timestamp>| at.map_or_else(|| "none".to_owned(), |at| at.to_string());
    format!(
        "not before {}, not after {}",
        text(dates.not_before),
        text(dates.not_after)
    )
}

/// Returns the dates of a batch.
pub(in crate::journal::sqlite) fn dates(
    c: &Connection,
    batch_id: i64,
) -> Result<BatchDates, Error> {
    dates_before(c, batch_id, i64::MAX)
}

/// Returns the dates that a batch had before a row of evidence.
pub(in crate::journal::sqlite) fn dates_before(
    c: &Connection,
    batch_id: i64,
    before: i64,
) -> Result<BatchDates, Error> {
    let detail: Option<String> = c
        .prepare_cached(
            "select detail from evidence indexed by about_batch where seq = 0 and event = 180 and batch_id = ?1 and evidence_id < ?2
             order by evidence_id desc limit 1",
        )?
        .query_row([batch_id, before], |row| row.get(0))
        .optional()?;
    let Some(detail) = detail else {
        return Ok(BatchDates::default());
    };
    let detail: Value =
        serde_json::from_str(&detail).map_err(|_| corrupt("the dates of a batch"))?;
    let time = |name: &str| match &detail[name] {
        Value::Null => Ok(None),
        value => match value.as_i64() {
            Some(millis) => Ok(Some(Timestamp::from_millis(millis))),
            None => Err(corrupt("a date of a batch")),
        },
    };
    Ok(BatchDates {
        not_before: time("not_before")?,
        not_after: time("not_after")?,
    })
}

/// Records the dates that a batch has from now on.
pub(in crate::journal::sqlite) fn record(
    c: &WriteSession,
    batch_id: i64,
    dates: BatchDates,
    now: Timestamp,
) -> Result<(), Error> {
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    let detail = json!({
        "not_before": millis(dates.not_before),
        "not_after": millis(dates.not_after),
    });
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (SCHEDULED, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

/// Returns why nothing is loaded, if a file comes with other dates than its batch has.
pub(in crate::journal::sqlite) fn other_dates(
    c: &WriteSession,
    plan: &LoadPlan,
    batch_id: Option<i64>,
) -> Result<Option<LoadRefusal>, Error> {
    let Some(batch_id) = batch_id.filter(|_| plan.dates != BatchDates::default()) else {
        return Ok(None);
    };
    let on_record = dates(c, batch_id)?;
    Ok((on_record != plan.dates).then_some(LoadRefusal::OtherDates(on_record)))
}
