//! The file's content, checked against the table of keys.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::codes::{PostClass, StatusClass};
use super::file::Source;
use super::keys::{self, KEYS};
use super::kind::{Kind, named, quoted};
use super::service::{self, Service};
use super::{Error, Origin, codes, columns, suggest, thresholds};
use crate::domain::{Money, ServiceCode};

/// A value's text and where it stands.
#[derive(Clone)]
pub(super) struct Entry {
    /// As the environment would hold it.
    pub(super) text: String,
    /// Its source.
    pub(super) origin: Origin,
}

/// One whole file.
#[derive(Default)]
pub(super) struct Document {
    pub(super) default_profile: Option<Entry>,
    pub(super) profiles: BTreeMap<String, BTreeMap<&'static str, Entry>>,
    pub(super) services: BTreeMap<ServiceCode, Service>,
    pub(super) document_thresholds: Vec<Money>,
    pub(super) columns: BTreeMap<String, String>,
    pub(super) status_codes: BTreeMap<i32, StatusClass>,
    pub(super) post_codes: BTreeMap<i32, PostClass>,
    /// What stands outside the profiles, by dotted name, in the order of the file.
    pub(super) others: Vec<(String, Entry)>,
}

/// A key of a table with its value.
pub(super) type Pair<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

const TABLES: &[&str] = &[
    "default_profile",
    "profiles",
    "services",
    "document_thresholds",
    "columns",
    "status_codes",
    "post_codes",
];

impl Document {
    /// Parses and checks a text. Relative paths in it start at `directory`.
    pub(super) fn parse(source: &Source<'_>, directory: &Path) -> Result<Self, Error> {
        let table = DeTable::parse(source.text()).map_err(|error| Error::Syntax {
            place: source.origin(&error.span().unwrap_or(0..0)),
            // The parser's own display would print the line, whatever it holds.
            problem: error.message().to_owned(),
        })?;
        let mut document = Self::default();
        for (key, value) in in_order(table.get_ref()) {
            let name = key.get_ref().as_ref();
            match name {
                "default_profile" => {
                    document.default_profile = Some(entry(source, name, Kind::Text, value)?);
                }
                "profiles" => document.read_profiles(source, directory, value)?,
                "services" => {
                    service::read(source, subtable(source, name, value)?, &mut document)?;
                }
                "document_thresholds" => {
                    thresholds::read(source, subtable(source, name, value)?, &mut document)?;
                }
                "columns" => {
                    columns::read(source, subtable(source, name, value)?, &mut document)?;
                }
                "status_codes" | "post_codes" => {
                    codes::read(source, name, subtable(source, name, value)?, &mut document)?;
                }
                _ => return Err(unknown(source, key, suggest::one_of(name, TABLES))),
            }
        }
        Ok(document)
    }

    fn read_profiles(
        &mut self,
        source: &Source<'_>,
        directory: &Path,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Error> {
        for (key, value) in in_order(subtable(source, "profiles", value)?) {
            let header = format!("profiles.{}", named(key.get_ref()));
            let mut entries = BTreeMap::new();
            let reader = ProfileReader {
                source,
                directory,
                header: &header,
            };
            reader.read("", subtable(source, &header, value)?, &mut entries)?;
            self.profiles.insert(key.get_ref().to_string(), entries);
        }
        Ok(())
    }
}

struct ProfileReader<'a> {
    source: &'a Source<'a>,
    directory: &'a Path,
    header: &'a str,
}

impl ProfileReader<'_> {
    /// Reads the table `group` of the profile. Only a table that the key table names is entered, so the depth is bounded.
    fn read(
        &self,
        group: &str,
        table: &DeTable<'_>,
        entries: &mut BTreeMap<&'static str, Entry>,
    ) -> Result<(), Error> {
        for (key, value) in in_order(table) {
            let last = key.get_ref().as_ref();
            let name = match group {
                "" => last.to_owned(),
                group => format!("{group}.{last}"),
            };
            if let Some(known) = keys::find(&name).filter(|known| !known.secret) {
                let mut found = entry(self.source, &name, known.kind, value)?;
                if known.kind == Kind::Path {
                    let path = self.directory.join(&found.text);
                    found.text = path.display().to_string();
                }
                entries.insert(known.name, found);
            } else if KEYS.iter().any(|known| known.group() == name) {
                self.read(&name, subtable(self.source, &name, value)?, entries)?;
            } else {
                let hint = suggest::profile_key(group, last, self.header);
                return Err(unknown(self.source, key, hint));
            }
        }
        Ok(())
    }
}

/// Returns the pairs of a table in the order of the file, so that its first mistake is named first.
pub(super) fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Pair<'t, 'i>> {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    pairs
}

/// Returns the error for a key that nothing knows.
pub(super) fn unknown(source: &Source<'_>, key: &Spanned<DeString<'_>>, hint: String) -> Error {
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
pub(super) fn subtable<'t, 'i>(
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
pub(super) fn entry(
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
pub(super) fn mismatch(
    source: &Source<'_>,
    name: &str,
    expected: &str,
    value: &Spanned<DeValue<'_>>,
) -> Error {
    let found = match value.get_ref() {
        // Texts may be addresses with credentials in them.
        DeValue::String(text) => format!("the text {}", Kind::Url.shown(text)),
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

fn shortened(number: &str) -> String {
    quoted(number).trim_matches('"').to_owned()
}
