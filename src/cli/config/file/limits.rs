//! The table `limits`, read.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::Document;
use super::entry::{Entry, amount, amount_text, entry, in_order, mismatch, subtable, unknown};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::limits::LimitSettings;
use crate::cli::config::service::Service;
use crate::cli::config::value::kind::{Kind, quoted};
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value;
use crate::domain::{Currency, ServiceCode, WireZone};
use crate::ledger::due::LONGEST_WAIT;
use crate::ledger::limits::{Ceilings, OfService, StopRule};

const TABLE: &str = "limits";
const KEYS: [&str; 14] = [
    "payment",
    "recipient_day",
    "recipient_month",
    "batch",
    "service_day",
    "service_month",
    "exposure",
    "services",
    "zone",
    "allow",
    "deny",
    "new_recipient_wait",
    "stop_above",
    "stop_after",
];
const OF_SERVICE: [&str; 2] = ["day", "month"];
const CEILINGS: &str = r#"amounts by currency, such as {KES = "100000.00"}"#;
/// So many payments must have ended, unless the table says otherwise.
const STOP_AFTER: u64 = 50;

/// Reads the table into the document. Relative paths start at `directory`.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    directory: &Path,
    header: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<(), Error> {
    let table = subtable(source, TABLE, header)?;
    let mut found = LimitSettings::default();
    let (mut stop_above, mut stop_after) = (None, None);
    for (key, value) in in_order(table) {
        let last = key.get_ref().as_ref();
        let name = format!("{TABLE}.{last}");
        let limits = &mut found.limits;
        let ceilings = match last {
            "payment" => &mut limits.payment,
            "recipient_day" => &mut limits.recipient_day,
            "recipient_month" => &mut limits.recipient_month,
            "batch" => &mut limits.batch,
            "service_day" => &mut limits.each_service.day,
            "service_month" => &mut limits.each_service.month,
            "exposure" => &mut limits.exposure,
            "services" => {
                let table = subtable(source, &name, value)?;
                limits.services = services(source, &name, table, document)?;
                continue;
            }
            "stop_above" => {
                stop_above = Some(entry(source, &name, Kind::Text, value)?);
                continue;
            }
            "stop_after" => {
                stop_after = Some(entry(
                    source,
                    &name,
                    Kind::Count { most: 1_000_000 },
                    value,
                )?);
                continue;
            }
            _ if KEYS.contains(&last) => {
                single(
                    source,
                    directory,
                    (last, &name, value),
                    &mut found,
                    document,
                )?;
                continue;
            }
            other => return Err(unknown(source, key, suggest::one_of(other, &KEYS))),
        };
        *ceilings = read_ceilings(source, &name, value, document)?;
    }
    found.limits.stop = stop_rule(stop_above, stop_after, document)?;
    if let Some(problem) = found.limits.contradiction() {
        return Err(Error::Contradiction {
            place: source.origin(&header.span()),
            problem,
        });
    }
    document.limits = found;
    Ok(())
}

/// Reads a key that has one value.
fn single(
    source: &Source<'_>,
    directory: &Path,
    (key, name, value): (&str, &str, &Spanned<DeValue<'_>>),
    found: &mut LimitSettings,
    document: &mut Document,
) -> Result<(), Error> {
    let kind = match key {
        "zone" => Kind::Zone,
        "new_recipient_wait" => Kind::Duration {
            least: Duration::from_secs(1),
        },
        _ => Kind::Path,
    };
    let mut told = entry(source, name, kind, value)?;
    match key {
        "zone" => found.zone = WireZone::read(&told.text).ok(),
        "new_recipient_wait" => {
            let wait = Duration::read(&told.text).ok();
            let expected = "a duration of at most 366d";
            let wait = wait.filter(|wait| *wait <= LONGEST_WAIT);
            found.limits.new_recipient_wait =
                Some(wait.ok_or_else(|| mismatch(source, name, expected, value))?);
        }
        _ => {
            let path = directory.join(&told.text);
            told.text = path.display().to_string();
            let file = Some((path, told.origin.clone()));
            match key {
                "allow" => found.allow = file,
                _ => found.deny = file,
            }
        }
    }
    document.others.push((name.to_owned(), told));
    Ok(())
}

/// Reads the ceilings of services that have their own.
fn services(
    source: &Source<'_>,
    table_name: &str,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<BTreeMap<ServiceCode, OfService>, Error> {
    let mut found = BTreeMap::new();
    for (key, value) in in_order(table) {
        let code = ServiceCode::parse(key.get_ref()).map_err(|error| Error::Value {
            place: source.origin(&key.span()),
            key: table_name.to_owned(),
            expected: format!("a service code (it {error})"),
            found: quoted(key.get_ref()),
        })?;
        let name = format!("{table_name}.{code}");
        let mut of = OfService::default();
        for (key, value) in in_order(subtable(source, &name, value)?) {
            let last = key.get_ref().as_ref();
            let ceilings = match last {
                "day" => &mut of.day,
                "month" => &mut of.month,
                _ => return Err(unknown(source, key, suggest::one_of(last, &OF_SERVICE))),
            };
            *ceilings = read_ceilings(source, &format!("{name}.{last}"), value, document)?;
        }
        document
            .limited_services
            .push((code.clone(), source.origin(&key.span())));
        found.insert(code, of);
    }
    Ok(found)
}

fn read_ceilings(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<Ceilings, Error> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err(mismatch(source, name, CEILINGS, value));
    };
    let mut found = Ceilings::new();
    for (key, value) in in_order(table) {
        let Some(currency) = Currency::from_code(key.get_ref()) else {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: name.to_owned(),
                expected: r#"a three-letter currency code such as "KES""#.to_owned(),
                found: quoted(key.get_ref()),
            });
        };
        let name = format!("{name}.{currency}");
        let told = amount_text(source, &name, value)?;
        found.extend(amount(Some(&told), &name, currency)?.map(|amount| (currency, amount)));
        document.others.push((name, told));
    }
    Ok(found)
}

fn stop_rule(
    above: Option<Entry>,
    after: Option<Entry>,
    document: &mut Document,
) -> Result<Option<StopRule>, Error> {
    let count = |entry: &Entry| entry.text.parse().unwrap_or(STOP_AFTER);
    let rule = match (&above, &after) {
        (None, None) => None,
        (None, Some(after)) => {
            return Err(Error::Contradiction {
                place: after.origin.clone(),
                problem: "limits.stop_after goes with limits.stop_above, which is not set"
                    .to_owned(),
            });
        }
        (Some(above), after) => Some(StopRule {
            above: StopRule::share(&above.text).ok_or_else(|| Error::Value {
                place: above.origin.clone(),
                key: format!("{TABLE}.stop_above"),
                expected: r#"a share of failures between 0% and 100%, such as "5%" or "2.5%""#
                    .to_owned(),
                found: quoted(&above.text),
            })?,
            after: after.as_ref().map_or(STOP_AFTER, count),
        }),
    };
    let told = [("stop_above", above), ("stop_after", after)];
    let told = told
        .into_iter()
        .filter_map(|(key, entry)| Some((format!("{TABLE}.{key}"), entry?)));
    document.others.extend(told);
    Ok(rule)
}

/// Refuses ceilings of services that the configuration does not have: a slip there would limit nothing.
pub(in crate::cli::config) fn know_services(
    document: &Document,
    services: &BTreeMap<ServiceCode, Service>,
) -> Result<(), Error> {
    let unknown = document
        .limited_services
        .iter()
        .find(|(code, _)| !services.contains_key(code));
    match unknown {
        None => Ok(()),
        Some((code, place)) => Err(Error::Contradiction {
            place: place.clone(),
            problem: format!("limits.services.{code}: there is no [services.{code}]"),
        }),
    }
}
