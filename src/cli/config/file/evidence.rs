//! `[evidence]`: where the heads of the chains go at the end of every run.

use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use super::document::Document;
use super::entry::{Entry, entry, in_order, subtable, unknown};
use super::files::command;
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::approval::EvidenceSettings;
use crate::cli::config::value::kind::Kind;
use crate::cli::config::value::suggest;

const KNOWN: [&str; 2] = ["key_file", "command"];

/// Reads the table `evidence` into the document. Relative paths in it start at `directory`.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    directory: &Path,
    value: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<(), Error> {
    let mut found = EvidenceSettings::default();
    for (key, value) in in_order(subtable(source, "evidence", value)?) {
        let name = format!("evidence.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "key_file" => {
                let mut read = entry(source, &name, Kind::Path, value)?;
                found.key_file = directory.join(&read.text);
                read.text = found.key_file.display().to_string();
                document.others.push((name, read));
            }
            "command" => {
                found.command = command(source, &name, value)?;
                let text = found.command.first().cloned().unwrap_or_default();
                let origin = source.origin(&value.span());
                document.others.push((name, Entry { text, origin }));
            }
            other => return Err(unknown(source, key, suggest::one_of(other, &KNOWN))),
        }
    }
    let missing = match (
        found.key_file.as_os_str().is_empty(),
        found.command.is_empty(),
    ) {
        (true, true) => return Ok(()),
        (true, false) => "key_file",
        (false, true) => "command",
        (false, false) => {
            document.evidence = Some(found);
            return Ok(());
        }
    };
    Err(Error::Incomplete {
        place: source.origin(&value.span()),
        table: "evidence".to_owned(),
        entry: missing,
    })
}
