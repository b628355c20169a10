//! A dialect file: what the interface document leaves open, as this gateway has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{Entry, in_order, mismatch, unknown};
use super::layers::Layers;
use super::source::{self, Source};
use crate::cli::config::value::kind::{self, quoted};
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value as _;
use crate::cli::config::{Error, Origin, Profile, Service};
use crate::dialect::{self, Dialect, Key, Kind, Operation, Values};
use crate::domain::ServiceCode;
use crate::lifecycle::SettleOn;

/// The dialects that the program brings along, and what they were written from.
pub const BUILT_IN: [(&str, &str); 4] = [
    ("document", DOCUMENT),
    (
        "beep",
        include_str!("../../../../samples/dialects/beep.toml"),
    ),
    (
        "paths",
        include_str!("../../../../samples/dialects/paths.toml"),
    ),
    (
        "signed",
        include_str!("../../../../samples/dialects/signed.toml"),
    ),
];
const DOCUMENT: &str = include_str!("../../../../samples/dialects/document.toml");

/// The longest text of a value, in bytes.
const TEXT_MAX: usize = 1_024;
/// The most texts or codes of an array.
const ITEMS_MAX: usize = 100;

/// A dialect with the origin of every value that is set.
#[derive(Clone, Debug)]
pub struct DialectSettings {
    /// Its name, or its file.
    pub name: String,
    /// What it says.
    pub dialect: Arc<Dialect>,
    /// Where each value stands that the file sets, with the value.
    pub set: BTreeMap<String, (Vec<String>, Origin)>,
}

/// Reads a dialect by its name or its file.
///
/// # Errors
/// What is wrong with the file, and where.
pub fn read(named: &str, place: &Origin, is_rehearsal: bool) -> Result<DialectSettings, Error> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(name, _)| *name == named) {
        let shown = format!("dialect {named}");
        return parse(
            named,
            &Source::new(Some(Path::new(&shown)), text),
            Path::new(""),
        );
    }
    if !is_a_file(named) {
        let known = BUILT_IN.map(|(name, _)| name);
        return Err(Error::Unknown {
            place: place.clone(),
            what: "dialect",
            name: named.to_owned(),
            hint: format!(
                "{}, or the path of a file such as ./{named}.toml",
                suggest::one_of(named, &known)
            ),
        });
    }
    let path = PathBuf::from(named);
    let text = source::read(&path, is_rehearsal).map_err(|error| match error {
        Error::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Error::Unknown {
                place: place.clone(),
                what: "dialect file",
                name: named.to_owned(),
                hint: "there is no such file; a relative path begins at the folder of disburse.toml, or in a flag at the folder of the command. \
                       disburse dialect list names those that come along"
                    .to_owned(),
            }
        }
        other => other,
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(named, &Source::new(Some(&path), &text), folder)
}

/// Returns whether a text names a file, and no dialect that the program brings along.
pub(in crate::cli::config) fn is_a_file(named: &str) -> bool {
    named.contains('/')
        || Path::new(named)
            .extension()
            .is_some_and(|end| end == "toml")
}

fn parse(name: &str, source: &Source<'_>, folder: &Path) -> Result<DialectSettings, Error> {
    let table = DeTable::parse(source.text()).map_err(|error| Error::Syntax {
        place: source.origin(&error.span().unwrap_or(0..0)),
        problem: error.message().to_owned(),
    })?;
    let mut set = BTreeMap::new();
    read_table(source, "", table.get_ref(), &mut set)?;
    if !set.contains_key("written_from") {
        return Err(Error::Incomplete {
            place: source.origin(&(0..0)),
            table: "the dialect".to_owned(),
            entry: "written_from (what it was written from, in words)",
        });
    }
    let values: Values = set
        .iter()
        .map(|(key, (values, _)): (&String, &(Vec<String>, Origin))| (key.clone(), values.clone()))
        .collect();
    let dialect = dialect::build(&values, folder).map_err(|problem| {
        let found = set.get(&problem.key);
        Error::Value {
            place: found.map_or_else(|| source.origin(&(0..0)), |(_, place)| place.clone()),
            expected: problem.expected,
            found: found.map_or_else(
                || "nothing".to_owned(),
                |(values, _)| quoted(&values.join(", ")),
            ),
            key: problem.key,
        }
    })?;
    Ok(DialectSettings {
        name: name.to_owned(),
        dialect: Arc::new(dialect),
        set,
    })
}

fn read_table(
    source: &Source<'_>,
    within: &str,
    table: &DeTable<'_>,
    set: &mut BTreeMap<String, (Vec<String>, Origin)>,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let name = match within {
            "" => key.get_ref().to_string(),
            within => format!("{within}.{}", key.get_ref()),
        };
        if let Some(known) = dialect::find(&name) {
            let read = values(source, &known, value)?;
            set.insert(name, (read, source.origin(&value.span())));
        } else if let (true, DeValue::Table(below)) = (dialect::is_table(&name), value.get_ref()) {
            read_table(source, &name, below, set)?;
        } else if dialect::is_table(&name) {
            return Err(mismatch(source, &name, "a table", value));
        } else {
            return Err(unknown(source, key, nearest(&name)));
        }
    }
    Ok(())
}

/// Suggests the key that was meant.
fn nearest(name: &str) -> String {
    const OF_THE_CONFIGURATION: [&str; 7] = [
        "limits",
        "status_codes",
        "post_codes",
        "services",
        "profiles",
        "resolution",
        "repeats",
    ];
    let first = name.split('.').next().unwrap_or(name);
    if OF_THE_CONFIGURATION.contains(&first) {
        return format!("{first} belongs in disburse.toml, and not in a dialect");
    }
    let keys = dialect::keys();
    let (table, last) = name.rsplit_once('.').unwrap_or(("", name));
    let here: Vec<&str> = keys
        .iter()
        .filter_map(|key| match table {
            "" => key.name.split('.').next(),
            table => key.name.strip_prefix(table)?.strip_prefix('.'),
        })
        .collect();
    if let Some(near) = suggest::nearest(last, here.iter().copied()) {
        return format!("did you mean {near:?}?");
    }
    let lasts = keys.iter().map(|key| {
        let last = key.name.rsplit('.').next();
        (last.unwrap_or_default(), key)
    });
    match lasts.clone().find(|(known, _)| *known == last) {
        Some((_, key)) => format!("{last:?} belongs in {}", key.name),
        None => "\"disburse dialect show\" lists every key".to_owned(),
    }
}

/// Reads the value of a key; several of an array.
fn values(
    source: &Source<'_>,
    key: &Key,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, Error> {
    let (expected, items): (&str, Vec<&Spanned<DeValue<'_>>>) = match (key.kind, value.get_ref()) {
        (Kind::Codes, DeValue::Array(items)) => ("status codes", items.iter().collect()),
        (Kind::Texts, DeValue::Array(items)) => ("texts", items.iter().collect()),
        // One code needs no array.
        (Kind::Codes, DeValue::Integer(_)) => ("a status code", vec![value]),
        (Kind::Codes, _) => {
            return Err(mismatch(
                source,
                &key.name,
                "status codes in an array, such as [131]",
                value,
            ));
        }
        (Kind::Texts, _) => {
            return Err(mismatch(
                source,
                &key.name,
                "texts in an array, such as [\"a\"]",
                value,
            ));
        }
        _ => ("", vec![value]),
    };
    if items.len() > ITEMS_MAX {
        let expected = format!("at most {ITEMS_MAX} {expected}");
        return Err(mismatch(source, &key.name, &expected, value));
    }
    items
        .into_iter()
        .map(|item| one(source, key, item))
        .collect()
}

fn one(source: &Source<'_>, key: &Key, value: &Spanned<DeValue<'_>>) -> Result<String, Error> {
    let found = match (key.kind, value.get_ref()) {
        (Kind::Flag, DeValue::Boolean(flag)) => return Ok(flag.to_string()),
        (Kind::Codes | Kind::Number { .. }, DeValue::Integer(number)) => {
            let read = u32::from_str_radix(number.as_str(), number.radix());
            let most = match key.kind {
                Kind::Number { most } => most,
                _ => 99_999,
            };
            match read {
                Ok(read) if read <= most => return Ok(read.to_string()),
                _ => {
                    let expected = format!("a whole number from 0 to {most}");
                    return Err(mismatch(source, &key.name, &expected, value));
                }
            }
        }
        (Kind::Flag | Kind::Codes | Kind::Number { .. }, _) => {
            let expected = match key.kind {
                Kind::Flag => "true or false, without quotes",
                _ => "a whole number, without quotes",
            };
            return Err(mismatch(source, &key.name, expected, value));
        }
        (_, DeValue::String(text)) => text.to_string(),
        _ => return Err(mismatch(source, &key.name, "a text in quotes", value)),
    };
    let refused = |expected: String| Error::Value {
        place: source.origin(&value.span()),
        key: key.name.clone(),
        expected,
        found: quoted(&found),
    };
    let may_be_empty = matches!(key.kind, Kind::TextOrEmpty | Kind::PathOrEmpty);
    if found.is_empty() && may_be_empty {
        return Ok(found);
    }
    if found.len() > TEXT_MAX {
        return Err(refused(format!("at most {TEXT_MAX} bytes")));
    }
    match key.kind {
        Kind::Path | Kind::PathOrEmpty => kind::Kind::UrlPath.check(&found).map_err(refused)?,
        Kind::Word(words) if !words.contains(&found.as_str()) => {
            return Err(refused(format!("one of {}", words.join(", "))));
        }
        Kind::Word(_) => {}
        _ => {
            String::read(&found).map_err(refused)?;
        }
    }
    Ok(found)
}

/// Returns the entry of the profile's key as the dialect is named by it.
pub(in crate::cli::config) fn of_entry(
    entry: Option<&Entry>,
    is_rehearsal: bool,
) -> Result<DialectSettings, Error> {
    match entry {
        Some(entry) => read(&entry.text, &entry.origin, is_rehearsal),
        None => read("document", &Origin::Default, is_rehearsal),
    }
}

/// Refuses decimals of a service that the configuration does not have: with a mistyped name they would count for nothing.
pub(in crate::cli::config) fn know_services(
    chosen: &DialectSettings,
    services: &BTreeMap<ServiceCode, Service>,
) -> Result<(), Error> {
    const TABLE: &str = "types.decimals.";
    let known: Vec<&str> = services.keys().map(ServiceCode::as_str).collect();
    let named = |key: &String| key.strip_prefix(TABLE).map(str::to_owned);
    for (key, (_, place)) in &chosen.set {
        let Some(name) = named(key).filter(|name| !known.contains(&name.as_str())) else {
            continue;
        };
        return Err(Error::Unknown {
            place: place.clone(),
            what: "service",
            hint: format!(
                "{}: [services] of disburse.toml must name it",
                suggest::one_of(&name, &known)
            ),
            name,
        });
    }
    Ok(())
}

/// Refuses what the profile and its dialect say against each other.
pub(in crate::cli::config) fn compare(
    chosen: &DialectSettings,
    layers: &Layers,
    profile: &Profile,
) -> Result<(), Error> {
    let dialect = &chosen.dialect;
    let place = |key: &str| {
        let set = chosen.set.get(key).map(|(_, origin)| origin.clone());
        set.unwrap_or(Origin::Default)
    };
    let refused = |key: &str, problem: &str| {
        Err(Error::Contradiction {
            place: place(key),
            problem: problem.to_owned(),
        })
    };
    let callbacks = &dialect.callbacks;
    let is_proven = callbacks.secret.is_some() || callbacks.signing.is_some();
    if !callbacks.address_per_payment
        && !is_proven
        && profile.policy.settle_on != SettleOn::Confirmed
    {
        return refused(
            "callbacks.address",
            "callbacks.address = \"fixed\" takes callback.settle_on = \"confirmed\" in the profile, or a signature or \
            a secret header: anybody who learns the one address could report any payment as paid",
        );
    }
    if profile.float.query && dialect.lacks(Operation::Float).is_some() {
        return refused(
            "operations.absent",
            "operations.absent of the dialect names float, and float.query of the profile asks for it: set float.query = false",
        );
    }
    if let Some((_, name)) = dialect.alike(&profile.payment_path) {
        let key = format!("operations.{name}.path");
        return refused(
            &key,
            &format!("operations.{name}: expected {}", dialect::ALIKE),
        );
    }
    let is_set = |key: &str| {
        layers
            .entry(key)
            .is_some_and(|entry| entry.origin != Origin::Default)
    };
    if dialect.extra_data_as_text.is_some() && is_set("extra_data") {
        return refused(
            "types.extra_data",
            "types.extra_data of the dialect and extra_data of the profile say the same thing twice: remove one of them",
        );
    }
    if dialect.call(Operation::Post).path.is_some() && is_set("payment_path") {
        return refused(
            "operations.post.path",
            "operations.post.path of the dialect and payment_path of the profile say the same thing twice: remove one of them",
        );
    }
    Ok(())
}
