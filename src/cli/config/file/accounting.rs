//! `[accounting]`: the accounts of the organisation's books, and the columns of the journal that `report --accounting` writes.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::Document;
use super::entry::{Entry, entry, in_order, mismatch, subtable, unknown};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::kind::{Kind, quoted};
use crate::cli::config::value::suggest;
use crate::report::accounting::{Chart, Column, FIELDS};

const TABLE: &str = "accounting";
const KEYS: [&str; 5] = ["debit", "debit_of", "credit", "fees", "columns"];
/// More columns than there are fields say nothing more.
const COLUMNS_MAX: usize = 50;

/// Reads the table into the document.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    header: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<(), Error> {
    let table = subtable(source, TABLE, header)?;
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let (mut debit_of, mut columns) = (BTreeMap::new(), Chart::usual_columns());
    for (key, value) in in_order(table) {
        let name = key.get_ref().as_ref();
        let full = format!("{TABLE}.{name}");
        match KEYS.iter().find(|known| **known == name) {
            Some(&"debit_of") => {
                debit_of = by_service(source, subtable(source, &full, value)?, document)?
            }
            Some(&"columns") => columns = named(source, value)?,
            Some(known) => {
                let found = account(source, &full, value)?;
                texts.insert(known, found.text.clone());
                document.others.push((full, found));
            }
            None => return Err(unknown(source, key, suggest::one_of(name, &KEYS))),
        }
    }
    let missing = |entry| Error::Incomplete {
        place: source.origin(&header.span()),
        table: TABLE.to_owned(),
        entry,
    };
    document.accounting = Some(Chart {
        debit: texts.remove("debit").ok_or_else(|| missing("debit"))?,
        debit_of,
        credit: texts.remove("credit").ok_or_else(|| missing("credit"))?,
        fees: texts.remove("fees"),
        columns,
    });
    Ok(())
}

/// An account may be written as a number, too.
fn account(source: &Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Entry, Error> {
    match value.get_ref() {
        DeValue::Integer(_) => Err(mismatch(
            source,
            name,
            "an account in quotes, so that no zero in front of it is lost",
            value,
        )),
        _ => entry(source, name, Kind::Text, value),
    }
}

fn by_service(
    source: &Source<'_>,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<BTreeMap<String, String>, Error> {
    let mut accounts = BTreeMap::new();
    for (key, value) in in_order(table) {
        let service = key.get_ref().to_string();
        let known: Vec<&str> = document
            .services
            .keys()
            .map(|known| known.as_str())
            .collect();
        if !known.is_empty() && !known.contains(&service.as_str()) {
            return Err(Error::Unknown {
                place: source.origin(&key.span()),
                what: "service",
                hint: format!(
                    "{}; [services] stands above [accounting]",
                    suggest::one_of(&service, &known)
                ),
                name: service,
            });
        }
        let full = format!("{TABLE}.debit_of.{}", quoted(&service));
        let found = account(source, &full, value)?;
        accounts.insert(service, found.text.clone());
        document.others.push((full, found));
    }
    Ok(accounts)
}

fn named(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<Column>, Error> {
    let name = format!("{TABLE}.columns");
    let expected = r#"fields in an array, such as ["date", "Konto=account", "debit", "credit"]"#;
    let DeValue::Array(items) = value.get_ref() else {
        return Err(mismatch(source, &name, expected, value));
    };
    if items.is_empty() || items.len() > COLUMNS_MAX {
        return Err(mismatch(source, &name, expected, value));
    }
    items
        .iter()
        .map(|item| {
            let DeValue::String(text) = item.get_ref() else {
                return Err(mismatch(source, &name, expected, item));
            };
            Column::parse(text).ok_or_else(|| {
                let known = FIELDS.map(|(known, _)| known);
                let field = text.rsplit('=').next().unwrap_or(text).trim();
                Error::Unknown {
                    place: source.origin(&item.span()),
                    what: "field",
                    name: field.to_owned(),
                    hint: suggest::one_of(field, &known),
                }
            })
        })
        .collect()
}
