//! `[document_thresholds]`: from which amount on an RTGS transfer needs a supporting document (sections 4.5 and 8).

use toml::de::DeTable;

use super::document::Document;
use super::entry::{Entry, in_order};
use super::entry::{amount, amount_text};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::Origin;
use crate::cli::config::value::kind::quoted;
use crate::domain::{Currency, Money};

const TABLE: &str = "document_thresholds";
/// What section 8 says, unless the table says otherwise.
const DEFAULT: (&str, &str) = ("KES", "1000000.00");

/// Reads the table into the document.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let Some(currency) = Currency::from_code(key.get_ref()) else {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: TABLE.to_owned(),
                expected: r#"a three-letter currency code such as "KES""#.to_owned(),
                found: quoted(key.get_ref()),
            });
        };
        let name = format!("{TABLE}.{currency}");
        let entry = amount_text(source, &name, value)?;
        add(document, currency, name, entry)?;
    }
    Ok(())
}

/// Adds the default, where the table does not name its currency.
pub(in crate::cli::config) fn complete(document: &mut Document) -> Result<(), Error> {
    let (code, text) = DEFAULT;
    let Some(currency) = Currency::from_code(code) else {
        return Ok(());
    };
    let is_named = |money: &Money| money.currency == currency;
    if document.document_thresholds.iter().any(is_named) {
        return Ok(());
    }
    let entry = Entry {
        text: text.to_owned(),
        origin: Origin::Default,
    };
    add(document, currency, format!("{TABLE}.{code}"), entry)
}

fn add(
    document: &mut Document,
    currency: Currency,
    name: String,
    entry: Entry,
) -> Result<(), Error> {
    if let Some(amount) = amount(Some(&entry), &name, currency)? {
        document
            .document_thresholds
            .push(Money { amount, currency });
    }
    document.others.push((name, entry));
    Ok(())
}
