//! The ceilings that a run came with, as the evidence has them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::{Amount, BatchId, Currency, Money, ServiceCode, WireZone};
use crate::journal::Error;
use crate::journal::codec::events::LIMITS_TAKEN;
use crate::ledger::limits::{Ceilings, Limits, NameList, OfService};
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan};

/// Returns what of the limits of a run is recorded: its lists by their digests.
pub(in crate::journal) fn told(limits: &Limits) -> Value {
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

/// Returns the ceilings that the last run of a batch came with; `None` where it came with none, or with what cannot be read here.
pub(in crate::journal) fn of_last_run(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<Limits>, Error> {
    let newest = Scan::by(&evidence::about_batch)
        .at(&LIMITS_TAKEN)
        .at(&batch_id)
        .descending();
    let detail: Option<Option<String>> = c.value(&newest, evidence::detail)?;
    let detail = detail.flatten();
    Ok(detail.and_then(|detail| read(&serde_json::from_str(&detail).ok()?)))
}

/// Reads the ceilings back.
fn read(told: &Value) -> Option<Limits> {
    let ceilings = |of: &Value| -> Option<Ceilings> {
        let read = |(code, text): (&String, &Value)| {
            let currency = Currency::from_code(code)?;
            let amount = Amount::parse(text.as_str()?, currency).ok()?;
            Some((currency, amount))
        };
        of.as_object()?.iter().map(read).collect()
    };
    let services = |of: &Value| {
        let read = |(code, of): (&String, &Value)| {
            let own = OfService {
                day: ceilings(&of["day"])?,
                month: ceilings(&of["month"])?,
            };
            Some((ServiceCode::parse(code).ok()?, own))
        };
        of.as_object()?.iter().map(read).collect::<Option<_>>()
    };
    Some(Limits {
        payment: ceilings(&told["payment"])?,
        recipient_day: ceilings(&told["recipient_day"])?,
        recipient_month: ceilings(&told["recipient_month"])?,
        batch: ceilings(&told["batch"])?,
        each_service: OfService {
            day: ceilings(&told["service_day"])?,
            month: ceilings(&told["service_month"])?,
        },
        services: services(&told["services"])?,
        exposure: ceilings(&told["exposure"])?,
        ..Limits::none(WireZone::from_name(told["zone"].as_str()?)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_are_read_back_as_they_were_recorded() {
        let kes = |major: i64| {
            let currency = Currency::from_code("KES").unwrap();
            let amount = Amount::parse(&format!("{major}.50"), currency).unwrap();
            Ceilings::from([(currency, amount)])
        };
        let own = OfService {
            day: kes(1),
            month: Ceilings::new(),
        };
        let limits = Limits {
            payment: kes(2),
            recipient_day: kes(3),
            recipient_month: kes(4),
            batch: kes(5),
            each_service: OfService {
                day: kes(6),
                month: kes(7),
            },
            services: [(ServiceCode::parse("B2C").unwrap(), own)].into(),
            exposure: kes(8),
            ..Limits::none(WireZone::from_name("Africa/Nairobi").unwrap())
        };
        assert_eq!(read(&told(&limits)), Some(limits));
        assert_eq!(read(&json!({"payment": {"KES": "many"}})), None);
    }
}
