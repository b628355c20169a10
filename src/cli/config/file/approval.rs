//! `[approval]`: which batches need signatures beside whoever loads them, and whose.
//!
//! The table stands beside the profiles, and neither a flag nor a variable sets any of it: who may loosen the rule is who may
//! write the file.

use std::io::Read as _;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::custody::{self, Holds};
use super::document::Document;
use super::entry::{Entry, amount, amount_text, entry, in_order, mismatch, subtable, unknown};
use super::layers::Layers;
use super::origin::Origin;
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::approval::ApprovalSettings;
use crate::cli::config::value::kind::{Kind, quoted};
use crate::cli::config::value::suggest;
use crate::domain::Currency;
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::approval::signers::{FILE_MAX, Mistake, Signers};

const KNOWN: [&str; 5] = [
    "required",
    "above",
    "orders",
    "allowed_signers",
    "signing_key",
];

/// Reads the table `approval` into the document. Relative paths in it start at `directory`.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    directory: &Path,
    value: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<(), Error> {
    let mut found = ApprovalSettings::default();
    for (key, value) in in_order(subtable(source, "approval", value)?) {
        let name = format!("approval.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "required" => {
                let read = entry(source, &name, Kind::Count { most: 2 }, value)?;
                found.required = read.text.parse().unwrap_or(2);
                document.others.push((name, read));
            }
            "above" => above(
                source,
                subtable(source, &name, value)?,
                &mut found,
                document,
            )?,
            "orders" => {
                let read = orders(source, &name, value, &mut found)?;
                document.others.push((name, read));
            }
            "allowed_signers" | "signing_key" => {
                let mut read = entry(source, &name, Kind::Path, value)?;
                let path = directory.join(&read.text);
                read.text = path.display().to_string();
                match name.ends_with("signing_key") {
                    true => found.signing_key = Some(path),
                    false => found.allowed_signers = path,
                }
                document.others.push((name, read));
            }
            other => return Err(unknown(source, key, suggest::one_of(other, &KNOWN))),
        }
    }
    if found == ApprovalSettings::default() {
        // Nothing is said: nothing is asked for.
        return Ok(());
    }
    let missing = match (found.required, found.allowed_signers.as_os_str().is_empty()) {
        (0, _) => "required",
        (_, true) => "allowed_signers",
        _ => {
            document.approval = Some(found);
            return Ok(());
        }
    };
    Err(Error::Incomplete {
        place: source.origin(&value.span()),
        table: "approval".to_owned(),
        entry: missing,
    })
}

/// Refuses that a variable says what a repeat is, where the file says that repeats are signed for: it would take them out of the rule.
pub(in crate::cli::config) fn assert_repeats(
    document: &Document,
    layers: &Layers,
) -> Result<(), Error> {
    let approval = document.approval.as_ref();
    if !approval.is_some_and(|approval| approval.orders.contains(&OrderKind::AllowRepeats)) {
        return Ok(());
    }
    for key in ["repeats.window", "repeats.references_restart"] {
        if let Some(Entry { text, origin }) = layers.entry(key)
            && matches!(origin, Origin::Environment(_))
        {
            return Err(Error::Value {
                place: origin.clone(),
                key: key.to_owned(),
                expected:
                    "what a repeat is from the file alone, as approval.orders has allow-repeats"
                        .to_owned(),
                found: quoted(text),
            });
        }
    }
    Ok(())
}

/// What `approval.orders` is.
const ORDERS: &str =
    "a list of orders, of resolve, retry, cancel, allow-repeats, recover, schedule and resume-lane";

fn orders(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    found: &mut ApprovalSettings,
) -> Result<Entry, Error> {
    let DeValue::Array(items) = value.get_ref() else {
        return Err(mismatch(source, name, ORDERS, value));
    };
    for item in items {
        let kind = match item.get_ref() {
            DeValue::String(text) => OrderKind::of_name(text),
            _ => None,
        };
        let kind = kind.ok_or_else(|| mismatch(source, name, ORDERS, item))?;
        found.orders.insert(kind);
    }
    let names: Vec<&str> = found.orders.iter().map(|kind| kind.name()).collect();
    Ok(Entry {
        text: names.join(", "),
        origin: source.origin(&value.span()),
    })
}

fn above(
    source: &Source<'_>,
    table: &DeTable<'_>,
    found: &mut ApprovalSettings,
    document: &mut Document,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let Some(currency) = Currency::from_code(key.get_ref()) else {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: "approval.above".to_owned(),
                expected: r#"a three-letter currency code such as "KES""#.to_owned(),
                found: quoted(key.get_ref()),
            });
        };
        let name = format!("approval.above.{currency}");
        let entry = amount_text(source, &name, value)?;
        match amount(Some(&entry), &name, currency)? {
            Some(amount) => found.above.insert(currency, amount.minor()),
            None => return Err(mismatch(source, &name, "an amount", value)),
        };
        document.others.push((name, entry));
    }
    Ok(())
}

/// Reads the file of allowed signers.
pub(in crate::cli::config) fn signers(path: &Path, is_rehearsal: bool) -> Result<Signers, Error> {
    let refused = |line, what: String| Error::Signers {
        path: path.to_owned(),
        line,
        what,
    };
    let failed = |error: std::io::Error| {
        refused(
            0,
            match error.kind() {
                std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
                _ => format!("the file cannot be read: {error}"),
            },
        )
    };
    let (file, metadata) = custody::open(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused(0, "this is not a regular file".to_owned()));
    }
    if !is_rehearsal {
        custody::check(Holds::Configuration, path, &metadata)?;
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| refused(0, "this is not UTF-8".to_owned()))?;
    Signers::parse(&text).map_err(|Mistake { line, what }| refused(line, what))
}
