//! The order that gives a batch other dates.

use serde_json::Value;

use super::dates::{dates, given, record};
use crate::domain::{BatchName, Timestamp};
use crate::journal::codec::catalog::known_batch;
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::writer::handle::Journal;
use crate::journal::{DatesOrder, Error};
use crate::ledger::calendar::BatchDates;
use crate::store::Reads;
use crate::store::tables::evidence;

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
        self.ask(move |c| {
            let batch_id = known_batch(c, &batch)?;
            if dates(c, batch_id)? != order.before {
                return Err(Error::DatesChanged { batch });
            }
            if order.before == order.after {
                return Ok(());
            }
            c.mark(batch_id);
            let mut touched = Touched::said(told(order.after));
            // Dates that were given, taken away and given again are another order each time.
            let given: Option<i64> =
                c.value(&given(&batch_id).descending(), evidence::evidence_id)?;
            let signed = touched.signed();
            signed.bind(&given.unwrap_or(0).to_string());
            signed.tell(format!("instead of {}", told(order.before)));
            c.act_upon(
                (batch_id, now),
                "schedule",
                Value::Null,
                &touched,
                Some(&format!(
                    "{} (dates before: {}; from now on: {})",
                    order.reason,
                    told(order.before),
                    told(order.after)
                )),
            )?;
            record(c, batch_id, (order.after, false), now)
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
