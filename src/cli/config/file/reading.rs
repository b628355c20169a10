//! The file's content, checked against the table of keys.

use super::accounting;
use super::approval;
use super::archive;
use super::codes;
use super::columns;
use super::dialect;
use super::document::Document;
use super::entry::{Entry, entry, in_order, subtable, unknown};
use super::evidence;
use super::files;
use super::layouts;
use super::limits;
use super::notices;
use super::service_table;
use super::source::Source;
use super::statements;
use super::thresholds;
use crate::cli::config::Error;
use crate::cli::config::keys::{self, KEYS};
use crate::cli::config::value::kind::{Kind, named};
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value;
use crate::journal::Location;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const TABLES: &[&str] = &[
    "default_profile",
    "profiles",
    "services",
    "document_thresholds",
    "columns",
    "files",
    "limits",
    "layouts",
    "statements",
    "status_codes",
    "post_codes",
    "accounting",
    "approval",
    "evidence",
    "archive",
    "notices",
];

impl Document {
    /// Parses and checks a text. Relative paths in it start at `directory`.
    pub(in crate::cli::config) fn parse(
        source: &Source<'_>,
        directory: &Path,
    ) -> Result<Self, Error> {
        let table = DeTable::parse(source.text()).map_err(|error| source.misread(&error))?;
        let mut document = Self::default();
        for (key, value) in in_order(table.get_ref()) {
            let name = key.get_ref().as_ref();
            match name {
                "default_profile" => {
                    document.default_profile = Some(entry(source, name, Kind::Text, value)?);
                }
                "profiles" => document.read_profiles(source, directory, value)?,
                "services" => {
                    service_table::read(
                        source,
                        subtable(source, name, value)?,
                        directory,
                        &mut document,
                    )?;
                }
                "document_thresholds" => {
                    thresholds::read(source, subtable(source, name, value)?, &mut document)?;
                }
                "columns" => {
                    columns::read(source, subtable(source, name, value)?, &mut document)?;
                }
                "files" => files::read(source, subtable(source, name, value)?, &mut document)?,
                "limits" => limits::read(source, directory, value, &mut document)?,
                "layouts" => {
                    document.layouts = layouts::read(source, subtable(source, name, value)?)?;
                }
                "statements" => {
                    let table = subtable(source, name, value)?;
                    document.statements = statements::read(source, table)?;
                }
                "archive" => archive::read(source, value, &mut document)?,
                "evidence" => evidence::read(source, directory, value, &mut document)?,
                "notices" => notices::read(source, directory, value, &mut document)?,
                "approval" => approval::read(source, directory, value, &mut document)?,
                "accounting" => accounting::read(source, value, &mut document)?,
                "status_codes" | "post_codes" => {
                    codes::read(source, name, subtable(source, name, value)?, &mut document)?;
                }
                _ => return Err(unknown(source, key, suggest::one_of(name, TABLES))),
            }
        }
        if let Some(value) = table.get_ref().get("statements") {
            let table = subtable(source, "statements", value)?;
            statements::compare(source, table, &document.layouts)?;
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

/// Returns whether a value is a path, which starts at the file that names it.
fn is_file(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Path => true,
        Kind::Dialect => dialect::is_a_file(text),
        Kind::Journal => Location::read(text).is_ok_and(|found| found.file().is_some()),
        _ => false,
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
                if is_file(known.kind, &found.text) {
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
