//! A layout as the configuration has it.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::super::sheet::Hiding;
use super::definition::{
    Condition, EmptyAmount, Factor, FileKind, HeaderAt, Layout, Period, Place, Source, Taken,
};
use super::pattern::{ANY, is_newer};

/// Quotes a text as TOML does.
fn quoted(text: &str) -> String {
    // What JSON escapes is escaped so in TOML, too; it leaves the delete character alone, which TOML does not.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// Writes a key bare where TOML lets it be.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn place(place: &Place) -> String {
    match place {
        Place::Name(name) => quoted(name),
        Place::At(at) => at.to_string(),
    }
}

/// A column as the key of a table: a position is its number.
fn place_key(place: &Place) -> String {
    match place {
        Place::Name(name) => key(name),
        Place::At(at) => at.to_string(),
    }
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn texts(items: &[String]) -> String {
    array(items.iter().map(|item| quoted(item)))
}

fn columns(source: &Source, columns: &[Place], with: &str) -> String {
    let when = |when: &Condition| {
        format!(
            ", when = {}, is = {}",
            place(&when.column),
            texts(&when.values)
        )
    };
    match (columns, &source.when, source.optional) {
        ([one], None, false) => place(one),
        (several, None, false) if with == " " => array(several.iter().map(place)),
        (several, condition, optional) => format!(
            "{{ join = {}, with = {}{}{} }}",
            array(several.iter().map(place)),
            quoted(with),
            condition.as_ref().map(when).unwrap_or_default(),
            if optional { ", optional = true" } else { "" }
        ),
    }
}

impl Layout {
    /// Returns what tells it from a layout that reads files otherwise: neither its name nor what it was written from.
    #[must_use]
    pub fn digest(&self) -> String {
        let said = Self {
            name: String::new(),
            written_from: String::new(),
            ..self.clone()
        };
        let mut text = said.to_toml();
        // What is written in it is the same, and what it reads is not.
        if said.patterns().any(is_newer) {
            text.push_str("# a star in a value stands for any text\n");
        }
        data_encoding::HEXLOWER.encode(&Sha256::digest(text))
    }

    /// Returns every value of a column that it names.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        let of_columns = self.columns.iter().flat_map(|source| {
            let mapped = source.values.iter().map(|(theirs, _)| theirs.as_str());
            let when = source.when.iter().flat_map(|when| &when.values);
            mapped.chain(when.map(String::as_str))
        });
        let skipped = self.skip.iter().flat_map(|skip| &skip.values);
        let refused = self.refuse.iter().map(|refuse| refuse.value.as_str());
        of_columns.chain(skipped.map(String::as_str)).chain(refused)
    }

    /// Writes it as a table of the configuration, from which the same layout is read.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let table = format!("layouts.{}", key(&self.name));
        let mut text = format!("[{table}]\n");
        self.write_keys(&mut text);
        let is_constant = |source: &&Source| matches!(source.taken, Taken::Constant(_));
        let _ = writeln!(text, "\n[{table}.columns]");
        for source in self.columns.iter().filter(|source| !is_constant(source)) {
            if let Taken::From {
                columns: from,
                with,
            } = &source.taken
            {
                let _ = writeln!(
                    text,
                    "{} = {}",
                    key(&source.column),
                    columns(source, from, with)
                );
            }
        }
        if self.columns.iter().any(|source| is_constant(&source)) {
            let _ = writeln!(text, "\n[{table}.constants]");
            for source in &self.columns {
                if let Taken::Constant(constant) = &source.taken {
                    let _ = writeln!(text, "{} = {}", key(&source.column), quoted(constant));
                }
            }
        }
        for source in self
            .columns
            .iter()
            .filter(|source| !source.values.is_empty())
        {
            let _ = writeln!(text, "\n[{table}.values.{}]", key(&source.column));
            for (theirs, ours) in &source.values {
                let _ = writeln!(text, "{} = {}", quoted(theirs), quoted(ours));
            }
        }
        if !self.skip.is_empty() {
            let _ = writeln!(text, "\n[{table}.skip]");
            for skip in &self.skip {
                let _ = writeln!(
                    text,
                    "{} = {}",
                    place_key(&skip.column),
                    texts(&skip.values)
                );
            }
        }
        let mut last = None;
        for refuse in &self.refuse {
            if last != Some(&refuse.column) {
                let _ = writeln!(text, "\n[{table}.refuse.{}]", place_key(&refuse.column));
                last = Some(&refuse.column);
            }
            let _ = writeln!(
                text,
                "{} = {}",
                quoted(&refuse.value),
                quoted(&refuse.reason)
            );
        }
        if let Some(total) = &self.total {
            let _ = writeln!(
                text,
                "\n[{table}.total]\ncolumn = {}\nmarker = {}",
                place(&total.column),
                quoted(&total.marker)
            );
        }
        text
    }

    fn write_keys(&self, text: &mut String) {
        if !self.written_from.is_empty() {
            let _ = writeln!(text, "written_from = {}", quoted(&self.written_from));
        }
        let mut write = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        match self.kind {
            FileKind::Table => {}
            FileKind::Pain001 => write("format", quoted(self.kind.name())),
        }
        match self.header {
            HeaderAt::Row(1) => {}
            HeaderAt::Row(row) => write("header", row.to_string()),
            HeaderAt::Nowhere => write("header", quoted("none")),
        }
        match self.delimiter {
            None => {}
            Some(b'\t') => write("delimiter", quoted("tab")),
            Some(delimiter) => write("delimiter", quoted(&char::from(delimiter).to_string())),
        }
        if let Some(encoding) = self.encoding {
            write("encoding", quoted(encoding.name()));
        }
        if let Some(sheet) = &self.sheet {
            write("sheet", quoted(sheet));
        }
        match self.hidden {
            Hiding::Refused => {}
            Hiding::Included => write("hidden", quoted("include")),
            Hiding::Skipped => write("hidden", quoted("skip")),
        }
        if self.stored_formulas {
            write("formulas", quoted("stored"));
        }
        if let Some(decimal) = self.numbers.decimal {
            write("decimal", quoted(&decimal.to_string()));
        }
        if let Some(group) = self.numbers.group {
            write("group", quoted(&group.to_string()));
        }
        match &self.factor {
            Factor::None => {}
            Factor::Given(factor) => write("amount_factor", quoted(&factor.to_string())),
            Factor::Open => write("amount_factor", quoted("?")),
        }
        if !self.amount_signs.is_empty() {
            write("amount_signs", texts(&self.amount_signs));
        }
        if let Some(column) = &self.factor_column {
            write("amount_factor_column", place(column));
        }
        if self.restores_zero {
            write("lost_zero", quoted("restore"));
        }
        match &self.period {
            Period::None => {}
            Period::Open => write("period", quoted("required")),
            Period::Given(period) => write("period", quoted(period)),
        }
        if self.empty_amount == EmptyAmount::Skip {
            write("empty_amount", quoted("skip"));
        }
        let ignores = !self.ignore.is_empty() || self.ignores_others;
        // What else a message has is never a reason to refuse it.
        if ignores && self.kind == FileKind::Table {
            let others = self.ignores_others.then(|| quoted(ANY));
            let items = self.ignore.iter().map(place).chain(others);
            write("ignore", array(items));
        }
    }
}
