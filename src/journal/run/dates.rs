//! The dates of a batch, as people gave them: the newest evidence of them counts.

use serde_json::{Value, json};

use crate::domain::{BatchId, EvidenceId, Timestamp};
use crate::journal::codec::events::SCHEDULED;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRefusal};
use crate::ledger::calendar::BatchDates;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan};

/// The dates that a batch was given, in the order in which it was given them.
pub(super) fn given(batch_id: &BatchId) -> Scan<'_> {
    Scan::by(&evidence::about_batch).at(&SCHEDULED).at(batch_id)
}

/// Returns the dates of a batch.
pub(in crate::journal) fn dates(c: &dyn Read, batch_id: BatchId) -> Result<BatchDates, Error> {
    dates_before(c, batch_id, EvidenceId::AFTER_ALL)
}

/// Returns the dates that a batch had before a row of evidence.
pub(in crate::journal) fn dates_before(
    c: &dyn Read,
    batch_id: BatchId,
    before: EvidenceId,
) -> Result<BatchDates, Error> {
    let newest = given(&batch_id).before(&before).descending();
    let detail: Option<String> = c.value(&newest, evidence::detail)?;
    match detail {
        None => Ok(BatchDates::default()),
        Some(detail) => read(&parsed(&detail)?),
    }
}

/// Returns the dates that the first load of a batch came with; `None` where it came with none, or where an earlier release recorded them,
/// which did not say whose they were.
fn dates_of_load(c: &dyn Read, batch_id: BatchId) -> Result<Option<BatchDates>, Error> {
    let detail: Option<String> = c.value(&given(&batch_id), evidence::detail)?;
    let detail = detail.map(|detail| parsed(&detail)).transpose()?;
    let of_load = detail.filter(|detail| detail[OF_LOAD] == true);
    of_load.map(|detail| read(&detail)).transpose()
}

/// The dates are those of a load.
const OF_LOAD: &str = "of_load";

fn parsed(detail: &str) -> Result<Value, Error> {
    serde_json::from_str(detail).map_err(|_| corrupt("unreadable dates of a batch"))
}

fn read(detail: &Value) -> Result<BatchDates, Error> {
    let time = |name: &str| match &detail[name] {
        Value::Null => Ok(None),
        value => match value.as_i64() {
            Some(millis) => Ok(Some(Timestamp::from_millis(millis))),
            None => Err(corrupt("an invalid date of a batch")),
        },
    };
    Ok(BatchDates {
        not_before: time("not_before")?,
        not_after: time("not_after")?,
    })
}

/// Records the dates that a batch has from now on; with `of_load`, those that it was loaded with.
pub(in crate::journal) fn record(
    c: &WriteSession,
    batch_id: BatchId,
    (dates, of_load): (BatchDates, bool),
    now: Timestamp,
) -> Result<(), Error> {
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    let mut detail = json!({
        "not_before": millis(dates.not_before),
        "not_after": millis(dates.not_after),
    });
    if of_load {
        detail[OF_LOAD] = true.into();
    }
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (SCHEDULED, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

/// Returns why nothing is loaded, if a file comes with other dates than its batch has. A job that loads it again and again names those
/// that it was first loaded with, whatever a person has ordered since: that stands.
pub(in crate::journal) fn other_dates(
    c: &WriteSession,
    plan: &LoadPlan,
    batch_id: Option<BatchId>,
) -> Result<Option<LoadRefusal>, Error> {
    let Some(batch_id) = batch_id.filter(|_| plan.dates != BatchDates::default()) else {
        return Ok(None);
    };
    let on_record = dates(c, batch_id)?;
    let fits = on_record == plan.dates || dates_of_load(c, batch_id)? == Some(plan.dates);
    Ok((!fits).then_some(LoadRefusal::OtherDates(on_record)))
}
