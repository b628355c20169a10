//! `[notices]`: who is told how a batch goes, and of what.

use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use toml::Spanned;
use toml::de::DeValue;

use super::document::Document;
use super::entry::{Entry, entry, in_order, mismatch, subtable, unknown};
use super::files::command;
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::notices::NoticeSettings;
use crate::cli::config::value::kind::Kind;
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value;
use crate::ledger::notices::NoticeKind;

const KNOWN: [&str; 7] = [
    "command",
    "url",
    "secret_file",
    "events",
    "failures_above",
    "quiet_for",
    "rehearsals",
];
/// A minute is what a slow question takes.
const QUIET: Kind = Kind::Duration {
    least: Duration::from_secs(60),
};

/// Reads the table `notices` into the document. Relative paths in it start at `directory`.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    directory: &Path,
    value: &Spanned<DeValue<'_>>,
    document: &mut Document,
) -> Result<(), Error> {
    let mut found = NoticeSettings::default();
    for (key, value) in in_order(subtable(source, "notices", value)?) {
        let name = format!("notices.{}", key.get_ref());
        let read = match key.get_ref().as_ref() {
            "command" => {
                found.command = command(source, &name, value)?;
                // Its arguments may hold what nobody else is to see.
                let text = found.command.first().cloned().unwrap_or_default();
                let origin = source.origin(&value.span());
                Entry { text, origin }
            }
            "url" => address(source, &name, value, &mut found)?,
            "secret_file" => {
                let mut read = entry(source, &name, Kind::Path, value)?;
                let path = directory.join(&read.text);
                read.text = path.display().to_string();
                found.secret_file = Some(path);
                read
            }
            "events" => {
                found.events = events(source, &name, value)?;
                let names: Vec<_> = found.events.iter().map(|kind| kind.name()).collect();
                let origin = source.origin(&value.span());
                Entry {
                    text: names.join(", "),
                    origin,
                }
            }
            "failures_above" => {
                let read = entry(source, &name, Kind::Count { most: 1_000_000 }, value)?;
                found.failures_above = read.text.parse().ok();
                read
            }
            "quiet_for" => {
                let read = entry(source, &name, QUIET, value)?;
                found.quiet_for = Duration::read(&read.text).ok();
                read
            }
            "rehearsals" => {
                let read = entry(source, &name, Kind::Flag, value)?;
                found.rehearsals = read.text == "true";
                read
            }
            other => return Err(unknown(source, key, suggest::one_of(other, &KNOWN))),
        };
        document.others.push((name, read));
    }
    let place = source.origin(&value.span());
    // A table without anything in it says nothing.
    if subtable(source, "notices", value)?.is_empty() {
        return Ok(());
    }
    match (found.command.is_empty(), found.url.is_none()) {
        (true, true) => Err(Error::Incomplete {
            place,
            table: "notices".to_owned(),
            entry: "command, or url,",
        }),
        (false, false) => Err(Error::Contradiction {
            place,
            problem: "notices: command and url are both set; a notice goes to one of them"
                .to_owned(),
        }),
        _ => {
            document.notices = Some(found);
            Ok(())
        }
    }
}

fn events(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<NoticeKind>, Error> {
    let known: Vec<_> = NoticeKind::ALL.iter().map(|kind| kind.name()).collect();
    let expected = format!("an array of some of: {}", known.join(", "));
    let DeValue::Array(items) = value.get_ref() else {
        return Err(mismatch(source, name, &expected, value));
    };
    let kind = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => NoticeKind::of(text),
        _ => None,
    };
    let mut kinds = Vec::new();
    for item in items {
        let Some(kind) = kind(item) else {
            return Err(mismatch(source, name, &expected, item));
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds.is_empty() {
        true => Err(mismatch(source, name, &expected, value)),
        false => Ok(kinds),
    }
}

/// Reads the address; it is shown by its host alone.
fn address(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    found: &mut NoticeSettings,
) -> Result<Entry, Error> {
    let mut read = entry(source, name, Kind::Url, value)?;
    found.url = Url::read(&read.text).ok();
    // Paths of such addresses are often what lets a message in.
    if let Some(url) = found.url.as_ref().filter(|url| url.path() != "/") {
        read.text = format!("{}/…", url.origin().ascii_serialization());
    }
    Ok(read)
}
