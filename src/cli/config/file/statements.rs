//! `[statements]`: how statements of gateways and banks are read.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{in_order, mismatch, subtable, unknown};
use super::layouts::{BUILT_IN, NAME_MAX, is_name, texts};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::kind::{named, quoted};
use crate::cli::config::value::suggest;
use crate::intake::layout::Layout;
use crate::statement::{COLUMNS, Said, Takes, Terms};

/// Reads the table `statements`.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
) -> Result<BTreeMap<String, Terms>, Error> {
    let mut statements = BTreeMap::new();
    for (key, value) in in_order(table) {
        let name = key.get_ref().to_string();
        if !is_name(&name) {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: "statements".to_owned(),
                expected: format!(
                    "a name of at most {NAME_MAX} letters, digits, dots, hyphens and underscores"
                ),
                found: quoted(&name),
            });
        }
        let header = format!("statements.{}", named(&name));
        let terms = one(source, &header, subtable(source, &header, value)?)?;
        statements.insert(name, terms);
    }
    Ok(statements)
}

/// Refuses names that `--layout` would mean two things by.
pub(in crate::cli::config) fn compare(
    source: &Source<'_>,
    table: &DeTable<'_>,
    layouts: &BTreeMap<String, Layout>,
) -> Result<(), Error> {
    for (key, _) in in_order(table) {
        let name = key.get_ref().as_ref();
        if layouts.contains_key(name) || BUILT_IN.iter().any(|(known, _)| *known == name) {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: format!("statements.{}", named(name)),
                expected:
                    "another name: a layout of batch files has this name, and --layout NAME means one thing in every command"
                        .to_owned(),
                found: quoted(name),
            });
        }
    }
    Ok(())
}

fn one(source: &Source<'_>, header: &str, table: &DeTable<'_>) -> Result<Terms, Error> {
    let mut terms = Terms::default();
    for (key, value) in in_order(table) {
        let last = key.get_ref().as_ref();
        let Some((_, takes)) = Terms::KEYS.iter().find(|(known, _)| *known == last) else {
            let known = Terms::KEYS.map(|(known, _)| known);
            return Err(unknown(source, key, suggest::one_of(last, &known)));
        };
        let name = format!("{header}.{last}");
        let said = match takes {
            Takes::Columns => {
                columns(source, &name, subtable(source, &name, value)?, &mut terms)?;
                continue;
            }
            Takes::Words => Said::Words(texts(source, &name, value)?),
            Takes::Text => match value.get_ref() {
                DeValue::String(text) if text.len() <= TEXT_MAX => Said::Text(text.to_string()),
                _ => return Err(mismatch(source, &name, "a text in quotes", value)),
            },
            Takes::Flag => match value.get_ref() {
                DeValue::Boolean(flag) => Said::Flag(*flag),
                _ => return Err(mismatch(source, &name, "true or false", value)),
            },
            Takes::Number => match value.get_ref() {
                DeValue::Integer(number) => {
                    let read = u64::from_str_radix(number.as_str(), number.radix());
                    Said::Number(read.unwrap_or_default())
                }
                _ => return Err(mismatch(source, &name, "a number from 1", value)),
            },
        };
        say(source, (&name, last), said, value, &mut terms)?;
    }
    terms.check().map_err(|(key, expected)| Error::Value {
        place: source.origin(&table.get(key).map_or(0..0, Spanned::span)),
        key: format!("{header}.{key}"),
        expected,
        found: "something else".to_owned(),
    })?;
    Ok(terms)
}

/// The longest text of a value, in bytes.
const TEXT_MAX: usize = 1_024;

fn columns(
    source: &Source<'_>,
    header: &str,
    table: &DeTable<'_>,
    terms: &mut Terms,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let column = key.get_ref().to_string();
        if !COLUMNS.contains(&column.as_str()) {
            return Err(Error::Unknown {
                place: source.origin(&key.span()),
                what: "column",
                hint: suggest::one_of(&column, &COLUMNS),
                name: column,
            });
        }
        let name = format!("{header}.{column}");
        let headers = texts(source, &name, value)?;
        let said = Said::Column(column, headers);
        say(source, (&name, "columns"), said, value, terms)?;
    }
    Ok(())
}

fn say(
    source: &Source<'_>,
    (name, key): (&str, &str),
    said: Said,
    value: &Spanned<DeValue<'_>>,
    terms: &mut Terms,
) -> Result<(), Error> {
    let refused = |expected: String| mismatch(source, name, &expected, value);
    terms.say(key, said).map_err(refused)
}
