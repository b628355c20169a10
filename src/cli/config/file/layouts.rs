//! `[layouts]`: how the columns of other programs' files are read.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{in_order, mismatch, subtable, unknown};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::kind::{named, quoted};
use crate::cli::config::value::suggest;
use crate::intake::layout::{
    Condition, Decimal, EmptyAmount, Factor, FileKind, HeaderAt, Layout, Numbers, Period, Place,
    Refusal, Source as Origin, Taken, Total,
};
use crate::intake::{Encoding, Hiding, same_name};

/// The layouts that come along. One that was ever released never changes: identifiers of rows without a reference rest on it.
pub const BUILT_IN: [(&str, &str); 11] = [
    (
        "mifos-msisdn-1",
        include_str!("../../../../samples/layouts/mifos-msisdn-1.toml"),
    ),
    (
        "stellar-sms-1",
        include_str!("../../../../samples/layouts/stellar-sms-1.toml"),
    ),
    (
        "121-safaricom-1",
        include_str!("../../../../samples/layouts/121-safaricom-1.toml"),
    ),
    (
        "121-airtel-1",
        include_str!("../../../../samples/layouts/121-airtel-1.toml"),
    ),
    (
        "mpesa-bulk-1",
        include_str!("../../../../samples/layouts/mpesa-bulk-1.toml"),
    ),
    (
        "mtn-bulk-1",
        include_str!("../../../../samples/layouts/mtn-bulk-1.toml"),
    ),
    (
        "nala-1",
        include_str!("../../../../samples/layouts/nala-1.toml"),
    ),
    (
        "kotani-1",
        include_str!("../../../../samples/layouts/kotani-1.toml"),
    ),
    (
        "erpnext-bank-remittance-1",
        include_str!("../../../../samples/layouts/erpnext-bank-remittance-1.toml"),
    ),
    (
        "odoo-payment-report-kes-1",
        include_str!("../../../../samples/layouts/odoo-payment-report-kes-1.toml"),
    ),
    (
        "paypal-payouts-1",
        include_str!("../../../../samples/layouts/paypal-payouts-1.toml"),
    ),
];

/// What a layout's table may hold.
const KEYS: [&str; 24] = [
    "like",
    "format",
    "written_from",
    "header",
    "delimiter",
    "encoding",
    "sheet",
    "hidden",
    "formulas",
    "decimal",
    "group",
    "amount_factor",
    "amount_factor_column",
    "amount_signs",
    "lost_zero",
    "period",
    "empty_amount",
    "ignore",
    "columns",
    "constants",
    "values",
    "skip",
    "refuse",
    "total",
];
/// The longest text of a value, in bytes, and the longest name of a layout.
const TEXT_MAX: usize = 1_024;
pub(super) const NAME_MAX: usize = 64;

/// Returns whether a layout may be called so.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_plain)
}

type Table<'t, 'i> = (&'t str, &'t DeTable<'i>);

/// Reads the table `layouts`.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
) -> Result<BTreeMap<String, Layout>, Error> {
    let mut layouts = BTreeMap::new();
    for (key, value) in in_order(table) {
        let name = key.get_ref().to_string();
        let header = format!("layouts.{}", named(&name));
        if !is_name(&name) {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: "layouts".to_owned(),
                expected: format!(
                    "a name of at most {NAME_MAX} letters, digits, dots, hyphens and underscores"
                ),
                found: quoted(&name),
            });
        }
        if BUILT_IN.iter().any(|(known, _)| *known == name) {
            return Err(Error::Value {
                place: source.origin(&key.span()),
                key: header,
                expected: format!(
                    "another name: {name} comes with disburse and never changes; begin with like = \"{name}\""
                ),
                found: quoted(&name),
            });
        }
        let layout = one(source, &name, (&header, subtable(source, &header, value)?))?;
        layouts.insert(name, layout);
    }
    Ok(layouts)
}

/// Returns a layout that comes along.
///
/// # Errors
/// It is not sound, which a test keeps from happening.
pub fn built_in(name: &str) -> Option<Result<Layout, Error>> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let shown = format!("layout {name}");
    let source = Source::new(Some(Path::new(&shown)), text);
    Some(whole(&source, name))
}

/// Reads a text that is one layout.
fn whole(source: &Source<'_>, name: &str) -> Result<Layout, Error> {
    let table = DeTable::parse(source.text()).map_err(|error| Error::Syntax {
        place: source.origin(&error.span().unwrap_or(0..0)),
        problem: error.message().to_owned(),
    })?;
    for (key, value) in in_order(table.get_ref()) {
        if key.get_ref() == "layouts" {
            for (own, value) in in_order(subtable(source, "layouts", value)?) {
                if own.get_ref() == name {
                    let header = format!("layouts.{name}");
                    return one(source, name, (&header, subtable(source, &header, value)?));
                }
            }
        }
    }
    Err(Error::Incomplete {
        place: source.origin(&(0..0)),
        table: "the layout".to_owned(),
        entry: "layouts",
    })
}

fn one(source: &Source<'_>, name: &str, (header, table): Table<'_, '_>) -> Result<Layout, Error> {
    let mut layout = Layout::named(name);
    if let Some(like) = table.get("like") {
        let other = text(source, header, "like", like)?;
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        layout = match built_in(&other) {
            Some(built_in) => Layout {
                name: name.to_owned(),
                ..built_in?
            },
            None => {
                return Err(Error::Unknown {
                    place: source.origin(&like.span()),
                    what: "layout",
                    hint: suggest::one_of(&other, &known),
                    name: other,
                });
            }
        };
    }
    if let Some(format) = table.get("format") {
        layout = of_format(source, (header, name), format, layout)?;
    }
    for (key, value) in in_order(table) {
        let last = key.get_ref().as_ref();
        if !KEYS.contains(&last) {
            return Err(unknown(source, key, suggest::one_of(last, &KEYS)));
        }
        match last {
            "like" | "format" => {}
            "columns" | "constants" | "values" | "skip" | "refuse" | "total" => {
                let header = format!("{header}.{last}");
                let table = subtable(source, &header, value)?;
                tables(source, last, (&header, table), &mut layout)?;
            }
            _ => single(source, header, last, value, &mut layout)?,
        }
    }
    layout.check().map_err(|problem| {
        let found = table.get(problem.key.split('.').next().unwrap_or_default());
        Error::Value {
            place: source.origin(&found.map_or(0..0, Spanned::span)),
            key: format!("{header}.{}", problem.key),
            expected: problem.expected,
            found: match found {
                Some(_) => "something else".to_owned(),
                None => "nothing".to_owned(),
            },
        }
    })?;
    Ok(layout)
}

/// Begins with what files of a format have.
fn of_format(
    source: &Source<'_>,
    (header, name): (&str, &str),
    value: &Spanned<DeValue<'_>>,
    layout: Layout,
) -> Result<Layout, Error> {
    let kinds = [FileKind::Table, FileKind::Pain001];
    let written = text(source, header, "format", value)?;
    let expected = "\"pain.001\" or \"table\" (the default)";
    let refused = |expected| mismatch(source, &format!("{header}.format"), expected, value);
    match kinds.into_iter().find(|kind| kind.name() == written) {
        None => Err(refused(expected)),
        Some(kind) if kind == layout.kind => Ok(layout),
        Some(FileKind::Pain001) if layout.columns.is_empty() => Ok(Layout::of_messages(name)),
        Some(_) => Err(refused(
            "the format of the layout that it is like, or nothing",
        )),
    }
}

/// Reads a key that is no table.
fn single(
    source: &Source<'_>,
    header: &str,
    key: &str,
    value: &Spanned<DeValue<'_>>,
    layout: &mut Layout,
) -> Result<(), Error> {
    let name = || format!("{header}.{key}");
    let refused = |expected: &str| mismatch(source, &name(), expected, value);
    match key {
        "written_from" => layout.written_from = text(source, header, key, value)?,
        "header" => {
            layout.header = match value.get_ref() {
                DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix())
                    .map(HeaderAt::Row)
                    .map_err(|_| refused("a row from 1 to 1000, or \"none\""))?,
                DeValue::String(text) if text == "none" => HeaderAt::Nowhere,
                _ => return Err(refused("a row from 1 to 1000, or \"none\"")),
            };
        }
        "delimiter" => {
            layout.delimiter = Some(match text(source, header, key, value)?.as_str() {
                "," => b',',
                ";" => b';',
                "|" => b'|',
                "tab" | "\t" => b'\t',
                _ => return Err(refused("one of \",\", \";\", \"|\" and \"tab\"")),
            });
        }
        "encoding" => {
            let read = Encoding::from_name(&text(source, header, key, value)?);
            let expected = "utf-8, utf-16, windows-1252 or iso-8859-1";
            layout.encoding = Some(read.ok_or_else(|| refused(expected))?);
        }
        "sheet" | "hidden" | "formulas" => {
            of_sheet(key, text(source, header, key, value)?, layout).map_err(refused)?;
        }
        "decimal" => {
            let expected = "\".\" or \",\"";
            let read = sign(&text(source, header, key, value)?, &Numbers::DECIMALS);
            layout.numbers.decimal = Some(read.ok_or_else(|| refused(expected))?);
        }
        "group" => {
            let expected = "one of \".\", \",\", \" \" and \"'\"";
            let read = sign(&text(source, header, key, value)?, &Numbers::GROUPS);
            layout.numbers.group = Some(read.ok_or_else(|| refused(expected))?);
        }
        "amount_factor" => {
            let written = text(source, header, key, value)?;
            let read = Decimal::read(&written, Numbers::default());
            layout.factor = match (written.as_str(), read) {
                ("?", _) => Factor::Open,
                (_, Some(factor)) => Factor::Given(factor),
                _ => return Err(refused("a number in quotes, such as \"0.01\"")),
            };
        }
        "amount_signs" => layout.amount_signs = texts(source, &name(), value)?,
        "amount_factor_column" => layout.factor_column = Some(place(source, &name(), value)?),
        "period" | "lost_zero" | "empty_amount" => {
            of_rows(key, &text(source, header, key, value)?, layout).map_err(refused)?;
        }
        _ => {
            layout.ignore.clear();
            layout.ignores_others = false;
            for column in places(source, &name(), value)? {
                match column {
                    Place::Name(any) if any == "*" => layout.ignores_others = true,
                    column => layout.ignore.push(column),
                }
            }
        }
    }
    Ok(())
}

/// Reads a key about what becomes of rows; says what was expected.
fn of_rows(key: &str, said: &str, layout: &mut Layout) -> Result<(), &'static str> {
    match (key, said) {
        ("period", "none") => layout.period = Period::None,
        ("period", "required") => layout.period = Period::Open,
        ("period", _) => return Err("\"required\" or \"none\""),
        ("lost_zero", "error") => layout.restores_zero = false,
        ("lost_zero", "restore") => layout.restores_zero = true,
        ("lost_zero", _) => return Err("\"error\" or \"restore\""),
        (_, "error") => layout.empty_amount = EmptyAmount::Error,
        (_, "skip") => layout.empty_amount = EmptyAmount::Skip,
        _ => return Err("\"error\" or \"skip\""),
    }
    Ok(())
}

/// Reads a key about workbooks; says what was expected.
fn of_sheet(key: &str, said: String, layout: &mut Layout) -> Result<(), &'static str> {
    match (key, said.as_str()) {
        ("sheet", _) => layout.sheet = Some(said),
        ("hidden", "include") => layout.hidden = Hiding::Included,
        ("hidden", "skip") => layout.hidden = Hiding::Skipped,
        ("hidden", "refuse") => layout.hidden = Hiding::Refused,
        ("hidden", _) => return Err("one of \"refuse\", \"include\" and \"skip\""),
        (_, "stored") => layout.stored_formulas = true,
        (_, "refuse") => layout.stored_formulas = false,
        _ => return Err("\"stored\" or \"refuse\""),
    }
    Ok(())
}

fn sign(text: &str, known: &[char]) -> Option<char> {
    let mut characters = text.chars();
    let only = characters.next().filter(|_| characters.next().is_none());
    only.filter(|sign| known.contains(sign))
}

/// Reads a key that is a table.
fn tables(
    source: &Source<'_>,
    which: &str,
    (header, table): Table<'_, '_>,
    layout: &mut Layout,
) -> Result<(), Error> {
    let mut skip = Vec::new();
    let mut refuse = Vec::new();
    let (mut column, mut marker) = (None, None);
    for (key, value) in in_order(table) {
        let last = key.get_ref().to_string();
        let name = format!("{header}.{}", named(&last));
        match which {
            "columns" => put(layout, taken(source, &last, &name, value)?),
            "constants" => {
                let constant = Taken::Constant(text(source, header, &last, value)?);
                put(layout, said(&last, constant));
            }
            "values" => {
                let pairs = pairs(source, &name, subtable(source, &name, value)?)?;
                let known = layout
                    .columns
                    .iter_mut()
                    .find(|source| same_name(&source.column, &last));
                match known {
                    Some(known) => known.values = pairs,
                    None => {
                        return Err(Error::Value {
                            place: source.origin(&key.span()),
                            key: name,
                            expected: "a column that stands in columns above it".to_owned(),
                            found: quoted(&last),
                        });
                    }
                }
            }
            "skip" => skip.push(Condition {
                column: column_of(&last),
                values: texts(source, &name, value)?,
            }),
            "refuse" => {
                let pairs = pairs(source, &name, subtable(source, &name, value)?)?;
                refuse.extend(pairs.into_iter().map(|(value, reason)| Refusal {
                    column: column_of(&last),
                    value,
                    reason,
                }));
            }
            _ if last == "column" => column = Some(place(source, &name, value)?),
            _ if last == "marker" => marker = Some(text(source, header, &last, value)?),
            _ => {
                return Err(unknown(
                    source,
                    key,
                    suggest::one_of(&last, &["column", "marker"]),
                ));
            }
        }
    }
    match (which, column, marker) {
        ("skip", ..) => layout.skip = skip,
        ("refuse", ..) => layout.refuse = refuse,
        ("total", Some(column), Some(marker)) => layout.total = Some(Total { column, marker }),
        ("total", ..) => {
            return Err(Error::Incomplete {
                place: source.origin(&(0..0)),
                table: header.to_owned(),
                entry: "column, and marker,",
            });
        }
        _ => {}
    }
    Ok(())
}

/// Takes a column in, in the place of what was said of it before.
fn put(layout: &mut Layout, source: Origin) {
    let known = layout
        .columns
        .iter_mut()
        .find(|known| same_name(&known.column, &source.column));
    match known {
        Some(known) if known.values.is_empty() || matches!(source.taken, Taken::Constant(_)) => {
            *known = source;
        }
        Some(known) => {
            *known = Origin {
                values: std::mem::take(&mut known.values),
                ..source
            }
        }
        None => layout.columns.push(source),
    }
}

fn said(column: &str, taken: Taken) -> Origin {
    Origin {
        column: column.to_owned(),
        taken,
        values: Vec::new(),
        when: None,
        optional: false,
    }
}

/// A column as the key of a table: digits are a position.
fn column_of(key: &str) -> Place {
    match key.parse() {
        Ok(at) => Place::At(at),
        Err(_) => Place::Name(key.to_owned()),
    }
}

/// Reads where a column of ours comes from.
fn taken(
    source: &Source<'_>,
    column: &str,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Origin, Error> {
    let from = |columns: Vec<Place>, with: &str| Taken::From {
        columns,
        with: with.to_owned(),
    };
    let DeValue::Table(table) = value.get_ref() else {
        return Ok(said(column, from(places(source, name, value)?, " ")));
    };
    const KNOWN: [&str; 6] = ["column", "join", "with", "when", "is", "optional"];
    let mut columns = Vec::new();
    let (mut with, mut when, mut is, mut optional) = (" ".to_owned(), None, None, false);
    for (key, value) in in_order(table) {
        let last = key.get_ref().as_ref();
        let name = format!("{name}.{last}");
        match last {
            "column" | "join" => columns = places(source, &name, value)?,
            "with" => {
                with = match value.get_ref() {
                    DeValue::String(text) if text.len() <= TEXT_MAX => text.to_string(),
                    _ => return Err(mismatch(source, &name, "a text in quotes", value)),
                }
            }
            "when" => when = Some(place(source, &name, value)?),
            "is" => is = Some(texts(source, &name, value)?),
            "optional" => match value.get_ref() {
                DeValue::Boolean(flag) => optional = *flag,
                _ => return Err(mismatch(source, &name, "true or false", value)),
            },
            _ => return Err(unknown(source, key, suggest::one_of(last, &KNOWN))),
        }
    }
    let when = match (when, is) {
        (Some(column), Some(values)) => Some(Condition { column, values }),
        (None, None) => None,
        _ => {
            return Err(mismatch(
                source,
                name,
                "\"when\" and \"is\" together: a column, and the values that it has then",
                value,
            ));
        }
    };
    Ok(Origin {
        when,
        optional,
        ..said(column, from(columns, &with))
    })
}

fn place(source: &Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Place, Error> {
    let expected = "the name of a column in quotes, or its position";
    match value.get_ref() {
        DeValue::String(text) if text.len() <= TEXT_MAX => Ok(Place::Name(text.to_string())),
        DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix())
            .map(Place::At)
            .map_err(|_| mismatch(source, name, expected, value)),
        _ => Err(mismatch(source, name, expected, value)),
    }
}

fn places(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<Place>, Error> {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| place(source, name, item)).collect(),
        _ => Ok(vec![place(source, name, value)?]),
    }
}

pub(super) fn texts(
    source: &Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, Error> {
    let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) if text.len() <= TEXT_MAX => Ok(text.to_string()),
        _ => Err(mismatch(source, name, "texts in quotes", value)),
    };
    match value.get_ref() {
        DeValue::Array(items) => items.iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}

fn pairs(
    source: &Source<'_>,
    name: &str,
    table: &DeTable<'_>,
) -> Result<Vec<(String, String)>, Error> {
    let pairs = in_order(table)
        .into_iter()
        .map(|(key, value)| match value.get_ref() {
            DeValue::String(text) if text.len() <= TEXT_MAX => {
                Ok((key.get_ref().to_string(), text.to_string()))
            }
            _ => {
                let name = format!("{name}.{}", named(key.get_ref()));
                Err(mismatch(source, &name, "a text in quotes", value))
            }
        });
    pairs.collect()
}

fn text(
    source: &Source<'_>,
    header: &str,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<String, Error> {
    match value.get_ref() {
        DeValue::String(text) if !text.is_empty() && text.len() <= TEXT_MAX => Ok(text.to_string()),
        _ => Err(mismatch(
            source,
            &format!("{header}.{}", named(key)),
            "a text in quotes",
            value,
        )),
    }
}
