//! The dates of a batch, as people gave them: the newest evidence of them counts.

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};

use crate::domain::Timestamp;
use crate::journal::sqlite::codec::events::SCHEDULED;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRefusal};
use crate::ledger::calendar::BatchDates;

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
