//! `[columns]`: headers of the operator's files under the names of the contract.

use toml::de::DeTable;

use super::document::Document;
use super::entry::{entry, in_order};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::kind::{Kind, quoted};
use crate::cli::config::value::suggest;
use crate::intake::COLUMNS;

/// Reads the table `columns` into the document.
///
/// Several headers may stand for one column: they come from different files.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let header = key.get_ref().to_string();
        let name = format!("columns.{}", quoted(&header));
        let found = entry(source, &name, Kind::Text, value)?;
        let extra = found.text.strip_prefix("extra.");
        if !COLUMNS.contains(&found.text.as_str()) && extra.is_none_or(str::is_empty) {
            return Err(Error::Unknown {
                place: found.origin,
                what: "column",
                hint: suggest::one_of(&found.text, &COLUMNS),
                name: found.text,
            });
        }
        document.columns.insert(header, found.text.clone());
        document.others.push((name, found));
    }
    Ok(())
}
