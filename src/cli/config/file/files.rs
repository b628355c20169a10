//! `[files]`: what opens a file before it is read.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::Document;
use super::entry::{Entry, entry, in_order, mismatch, unknown};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::kind::Kind;
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value;

/// Words of a command, at most, and bytes of one.
const WORDS_MAX: usize = 64;
const WORD_BYTES_MAX: usize = 1_024;
/// Longer, and somebody waits for nothing.
const WITHIN_MAX: Duration = Duration::from_secs(3_600);
const KNOWN: [&str; 2] = ["decrypt", "decrypt_within"];
const COMMAND: &str =
    r#"a program and its arguments, such as ["age", "-d", "-i", "key.txt"]: texts, one for each"#;

/// Reads the table `files` into the document.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let name = format!("files.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "decrypt" => {
                let words = command(source, &name, value)?;
                // Its arguments may hold what nobody else is to see.
                let text = match words.as_slice() {
                    [program] => program.clone(),
                    [program, ..] => format!("{program} …"),
                    [] => String::new(),
                };
                let origin = source.origin(&value.span());
                document.files.decrypt = Some(words);
                document.others.push((name, Entry { text, origin }));
            }
            "decrypt_within" => {
                let (found, read) = within(source, &name, value)?;
                document.files.decrypt_within = read;
                document.others.push((name, found));
            }
            other => return Err(unknown(source, key, suggest::one_of(other, &KNOWN))),
        }
    }
    Ok(())
}

/// Reads how long a command may take.
pub(super) fn within(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<(Entry, Duration), Error> {
    let least = Duration::from_secs(1);
    let found = entry(source, name, Kind::Duration { least }, value)?;
    let read = Duration::read(&found.text)
        .ok()
        .filter(|within| *within <= WITHIN_MAX)
        .ok_or_else(|| mismatch(source, name, "a duration of at most 1h", value))?;
    Ok((found, read))
}

pub(super) fn command(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, Error> {
    let DeValue::Array(items) = value.get_ref() else {
        return Err(mismatch(source, name, COMMAND, value));
    };
    let word = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) if text.len() <= WORD_BYTES_MAX && !text.contains('\0') => {
            Ok(text.to_string())
        }
        _ => Err(mismatch(source, name, COMMAND, item)),
    };
    let words = items.iter().map(word).collect::<Result<Vec<_>, _>>()?;
    match words.first() {
        Some(program) if !program.trim().is_empty() && words.len() <= WORDS_MAX => Ok(words),
        _ => Err(mismatch(source, name, COMMAND, value)),
    }
}
