//! The limits that a run came with, on the chain of its batch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::waiting;
use crate::domain::{Money, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::catalog::purpose;
use crate::journal::sqlite::codec::events::LIMITS_TAKEN;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::limiter::Limiter;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::ledger::Purpose;
use crate::ledger::limits::{Ceilings, Limits, NameList};

/// Begins a run with its limits; a batch that has ended leaves no trace of them.
pub(in crate::journal::sqlite) fn begin(
    c: &WriteSession,
    batch_id: i64,
    limits: Option<&Arc<Limits>>,
    is_open: bool,
    now: Timestamp,
) -> Result<(), Error> {
    waiting::forget(c, batch_id)?;
    let limits = limits.filter(|limits| !limits.is_none());
    let realm = i64::from(purpose(c, batch_id)? == Purpose::Rehearsal);
    c.limit(
        batch_id,
        limits.map(|limits| Limiter::new(Arc::clone(limits), realm)),
    );
    let Some(limits) = limits.filter(|_| is_open) else {
        return Ok(());
    };
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (LIMITS_TAKEN, None, None),
        detail: Some(&told(limits).to_string()),
        ..Evidence::default()
    })
}

fn told(limits: &Limits) -> Value {
    let ceilings = |of: &Ceilings| -> Value {
        let texts = of.iter().map(|(currency, amount)| {
            let money = Money {
                amount: *amount,
                currency: *currency,
            };
            (currency.code().to_owned(), Value::from(money.to_string()))
        });
        Value::Object(texts.collect())
    };
    let list = |of: &Option<Arc<NameList>>| {
        of.as_ref()
            .map(|list| data_encoding::HEXLOWER.encode(list.digest()))
    };
    let services = limits.services.iter().map(|(code, of)| {
        let own = json!({"day": ceilings(&of.day), "month": ceilings(&of.month)});
        (code.to_string(), own)
    });
    json!({
        "zone": limits.zone.name(),
        "payment": ceilings(&limits.payment),
        "recipient_day": ceilings(&limits.recipient_day),
        "recipient_month": ceilings(&limits.recipient_month),
        "batch": ceilings(&limits.batch),
        "service_day": ceilings(&limits.each_service.day),
        "service_month": ceilings(&limits.each_service.month),
        "services": Value::Object(services.collect()),
        "exposure": ceilings(&limits.exposure),
        "allow": list(&limits.allow),
        "deny": list(&limits.deny),
        "new_recipient_wait_seconds": limits.new_recipient_wait.map(|wait| wait.as_secs()),
        "stop_above_hundredths_of_percent": limits.stop.map(|rule| rule.above),
        "stop_after": limits.stop.map(|rule| rule.after),
    })
}
