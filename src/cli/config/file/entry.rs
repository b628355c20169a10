//! Values of the file, and what is wrong with one.

use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::Origin;
use crate::cli::config::value::kind::{Kind, any_shown, quoted};
use crate::domain::{Amount, Currency};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A value's text and where it stands.
#[derive(Clone)]
pub(in crate::cli::config) struct Entry {
    /// As the environment would hold it.
    pub(in crate::cli::config) text: String,
    /// Its source.
    pub(in crate::cli::config) origin: Origin,
}

/// A key of a table with its value.
pub(in crate::cli::config) type Pair<'t, 'i> =
    (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

/// Returns the pairs of a table in the order of the file, so that its first mistake is named first.
pub(in crate::cli::config) fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Pair<'t, 'i>> {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    pairs
}

/// Returns the error for a key that nothing knows.
pub(in crate::cli::config) fn unknown(
    source: &Source<'_>,
    key: &Spanned<DeString<'_>>,
    hint: String,
) -> Error {
    let place = source.origin(&key.span());
    let name = key.get_ref();
    if name.eq_ignore_ascii_case("password") {
        return Error::PasswordInTheOpen { place };
    }
    Error::Unknown {
        place,
        what: "key",
        name: name.to_string(),
        hint,
    }
}

/// Returns the table that a value must be.
pub(in crate::cli::config) fn subtable<'t, 'i>(
    source: &Source<'_>,
    name: &str,
    value: &'t Spanned<DeValue<'i>>,
) -> Result<&'t DeTable<'i>, Error> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(mismatch(source, name, "a table", value)),
    }
}

/// Reads one value of a kind: the type TOML gave it first, then its text.
pub(in crate::cli::config) fn entry(
    source: &Source<'_>,
    name: &str,
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
) -> Result<Entry, Error> {
    let text = match (kind, value.get_ref()) {
        (Kind::Count { .. } | Kind::Rate, DeValue::Integer(number)) => {
            match u64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => number.to_string(),
                Err(_) => return Err(mismatch(source, name, &kind.expected(), value)),
            }
        }
        (Kind::Flag, DeValue::Boolean(flag)) => flag.to_string(),
        (Kind::Count { .. } | Kind::Flag, _) => {
            return Err(mismatch(source, name, &kind.expected(), value));
        }
        (_, DeValue::String(text)) => text.to_string(),
        _ => return Err(mismatch(source, name, &kind.expected(), value)),
    };
    let origin = source.origin(&value.span());
    match kind.check(&text) {
        Ok(()) => Ok(Entry { text, origin }),
        Err(expected) => Err(Error::Value {
            place: origin,
            key: name.to_owned(),
            expected,
            found: kind.shown(&text),
        }),
    }
}

/// Returns the error for a value of another type.
pub(in crate::cli::config) fn mismatch(
    source: &Source<'_>,
    name: &str,
    expected: &str,
    value: &Spanned<DeValue<'_>>,
) -> Error {
    let found = match value.get_ref() {
        // Texts may be addresses with credentials in them.
        DeValue::String(text) => format!("the text {}", any_shown(text)),
        DeValue::Integer(number) => format!("the number {}", shortened(number.as_str())),
        DeValue::Float(number) => format!("the number {}", shortened(number.as_str())),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date or time".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    Error::Value {
        place: source.origin(&value.span()),
        key: name.to_owned(),
        expected: expected.to_owned(),
        found,
    }
}

pub(in crate::cli::config) fn shortened(number: &str) -> String {
    quoted(number).trim_matches('"').to_owned()
}

/// Takes an amount as a text only: TOML's own decimals are binary floats.
pub(in crate::cli::config) fn amount_text(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Entry, Error> {
    match value.get_ref() {
        DeValue::String(_) => entry(source, name, Kind::Text, value),
        _ => Err(mismatch(
            source,
            name,
            r#"an amount in quotes, such as "10.00""#,
            value,
        )),
    }
}

pub(in crate::cli::config) fn amount(
    entry: Option<&Entry>,
    name: &str,
    currency: Currency,
) -> Result<Option<Amount>, Error> {
    let Some(entry) = entry else { return Ok(None) };
    match Amount::parse(&entry.text, currency) {
        Ok(amount) => Ok(Some(amount)),
        Err(error) => Err(Error::Value {
            place: entry.origin.clone(),
            key: name.to_owned(),
            expected: format!("an amount of {currency} ({error})"),
            found: quoted(&entry.text),
        }),
    }
}
