//! `[archive]`: how archives of finished batches are encrypted.

use toml::Spanned;
use toml::de::DeValue;

use super::document::Document;
use super::entry::{Entry, in_order, subtable, unknown};
use super::files::{command, within};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::suggest;

const KNOWN: [&str; 2] = ["encrypt", "encrypt_within"];

/// Reads the table `archive` into the document.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<(), Error> {
    for (key, value) in in_order(subtable(source, "archive", value)?) {
        let name = format!("archive.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "encrypt" => {
                let words = command(source, &name, value)?;
                // Public keys are no secret, and long.
                let text = words.first().cloned().unwrap_or_default();
                let origin = source.origin(&value.span());
                document.archive.encrypt = Some(words);
                document.others.push((name, Entry { text, origin }));
            }
            "encrypt_within" => {
                let (found, read) = within(source, &name, value)?;
                document.archive.encrypt_within = read;
                document.others.push((name, found));
            }
            other => return Err(unknown(source, key, suggest::one_of(other, &KNOWN))),
        }
    }
    Ok(())
}
