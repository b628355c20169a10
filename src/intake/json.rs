//! Rows of a JSON array, or of JSON lines, one bounded object at a time.

mod frame;
mod object;

pub(super) use frame::{Frame, Frames};
pub(super) use object::{Value, members, value};

use super::bad::RowError;
use super::columns::{Column, Field, NotAColumn, is_link, resolve};
use super::names::plain;
use super::record::{Fault, Record};
use super::rules::Rules;
use super::text::{quoted, shown};

/// How many cells a row of JSON has: every column, and `extra`.
const CELLS: usize = Field::ALL.len() + 1;

/// The most characters of the parser's own words that an error repeats.
const CAUSE_MAX: usize = 120;

/// Brings one object into the cells of [`super::columns::ColumnMap::of_json`].
#[derive(Default)]
pub(super) struct Cells {
    cells: [String; CELLS],
    /// What the names of the row before meant: most rows have the same names in the same order.
    known: Vec<(String, Column)>,
    seen: Vec<Column>,
    /// A note, which only a row that this program wrote may have, and what it says.
    note: Option<(String, String)>,
    extra: Vec<String>,
}

impl Cells {
    /// Fills the record with the members of the object in `text`. What does not fit is a fault of the record.
    pub(super) fn fill(&mut self, text: &str, rules: &Rules, record: &mut Record, line: u64) {
        let mut fields = record.begin(line);
        self.cells.iter_mut().for_each(String::clear);
        self.seen.clear();
        self.extra.clear();
        self.note = None;
        let faults = &mut record.faults;
        let mut fault = |column: Option<&str>, message: String| {
            let column = column.map(str::to_owned);
            faults.push(Fault::Found(RowError {
                line,
                row: None,
                column,
                cell: None,
                header: None,
                message,
                code: "invalid",
                found: None,
            }));
        };
        let outcome = members(text, &mut |name, raw| {
            self.member(name, raw, rules, &mut fault)
        });
        if let Some((name, said)) = self.note.take()
            && !self.seen.iter().any(is_link)
        {
            let message = format!("unknown member {}, found {}", quoted(&name), quoted(&said));
            fault(None, message);
        }
        if let Err(error) = outcome {
            faults.push(Fault::Malformed(describe(&error, text, line)));
        }
        if !self.extra.is_empty() {
            self.cells[CELLS - 1] = format!("{{{}}}", self.extra.join(","));
        }
        for (index, cell) in self.cells.iter().enumerate() {
            fields.push(cell.as_bytes());
            let bytes = fields.end();
            if bytes > super::FIELD_BYTES_MAX as u64 {
                faults.push(Fault::LongField { index, bytes });
            }
        }
        record.finish(fields);
    }

    fn member(
        &mut self,
        name: &str,
        raw: &str,
        rules: &Rules,
        fault: &mut impl FnMut(Option<&str>, String),
    ) {
        let at = self.seen.len();
        let known = self.known.get(at).filter(|(known, _)| known == name);
        let known = known.map(|(_, column)| Ok(column.clone()));
        let column = match known.unwrap_or_else(|| resolve(name, rules)) {
            Ok(Column::Unnamed) => return fault(None, "has a member without a name".to_owned()),
            Ok(Column::Note) => {
                self.note = Some((name.to_owned(), raw.trim_matches('"').to_owned()));
                return;
            }
            Ok(column) => column,
            Err(NotAColumn::Reserved(reason)) => {
                return fault(Some(&shown(name)), reason.to_owned());
            }
            Err(NotAColumn::Unknown(nearest)) => {
                let nearest = nearest.map_or(String::new(), |n| format!(" (did you mean {n:?}?)"));
                let found = quoted(raw.trim_matches('"'));
                return fault(
                    None,
                    format!("unknown member {}{nearest}, found {found}", quoted(name)),
                );
            }
        };
        if self.seen.contains(&column) {
            let (own, here) = match &column {
                Column::Field(field) if field.name() != name => (
                    field.name().to_owned(),
                    format!(", here as {}", quoted(name)),
                ),
                _ => (shown(name), String::new()),
            };
            let message = format!("the member stands twice in the object{here}");
            return fault(Some(&own), message);
        }
        match &column {
            Column::Field(field) => match value(raw) {
                Value::Absent => {}
                Value::Text(text) => self.cells[*field as usize].push_str(&text),
                Value::Unfit(kind) => {
                    self.cells[*field as usize].push_str(raw);
                    fault(
                        Some(field.name()),
                        format!(
                            "expected a text or a number, found {kind} ({})",
                            quoted(raw)
                        ),
                    );
                }
            },
            Column::Extra(extra) => {
                let name = serde_json::Value::from(extra.as_str());
                self.extra.push(format!("{name}:{raw}"));
            }
            // The members go among the flat ones; whatever is no object is refused where the cell is checked.
            Column::ExtraObject => {
                match raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}')) {
                    Some(inner) if inner.trim().is_empty() => {}
                    Some(inner) => self.extra.push(inner.trim().to_owned()),
                    None if raw == "null" => {}
                    None => fault(
                        Some("extra"),
                        format!("expected an object of texts, found {}", quoted(raw)),
                    ),
                }
            }
            Column::Note | Column::Unnamed => {}
        }
        if self.known.get(at).is_none_or(|(known, _)| known != name) {
            self.known.truncate(at);
            self.known.push((name.to_owned(), column.clone()));
        }
        self.seen.push(column);
    }
}

/// Brings one object into cells under the names of a layout.
pub(super) struct NamedCells {
    names: Vec<String>,
    /// Members that are no part of a row, and whether all others are none either.
    ignored: (Vec<String>, bool),
    cells: Vec<Option<String>>,
}

impl NamedCells {
    /// Prepares for the names of the columns, as they are compared.
    pub(super) fn of(names: &[String], ignored: Vec<String>, ignores_others: bool) -> Self {
        Self {
            names: names.iter().map(|name| plain(name)).collect(),
            ignored: (ignored, ignores_others),
            cells: vec![None; names.len()],
        }
    }

    /// Fills the record with the members of the object in `text`. What does not fit is a fault of the record.
    pub(super) fn fill(&mut self, text: &str, record: &mut Record, line: u64) {
        let mut fields = record.begin(line);
        self.cells.iter_mut().for_each(|cell| *cell = None);
        let faults = &mut record.faults;
        let mut fault = |message: String| {
            faults.push(Fault::Found(RowError {
                line,
                row: None,
                column: None,
                cell: None,
                header: None,
                message,
                code: "invalid",
                found: None,
            }));
        };
        let outcome = members(text, &mut |name, raw| self.member(name, raw, &mut fault));
        if let Err(error) = outcome {
            faults.push(Fault::Malformed(describe(&error, text, line)));
        }
        for (index, cell) in self.cells.iter().enumerate() {
            fields.push(cell.as_deref().unwrap_or_default().as_bytes());
            let bytes = fields.end();
            if bytes > super::FIELD_BYTES_MAX as u64 {
                faults.push(Fault::LongField { index, bytes });
            }
        }
        record.finish(fields);
    }

    fn member(&mut self, name: &str, raw: &str, fault: &mut impl FnMut(String)) {
        let written = plain(name);
        let Some(at) = self.names.iter().position(|known| *known == written) else {
            let (ignored, all) = &self.ignored;
            if !all && !ignored.contains(&written) {
                let found = quoted(raw.trim_matches('"'));
                fault(format!(
                    "has a member {} that the layout neither takes nor ignores, found {found}",
                    quoted(name)
                ));
            }
            return;
        };
        if self.cells[at].is_some() {
            return fault(format!(
                "the member {} stands twice in the object",
                quoted(name)
            ));
        }
        self.cells[at] = Some(match value(raw) {
            Value::Absent => String::new(),
            Value::Text(text) => text.into_owned(),
            Value::Unfit(kind) => {
                fault(format!(
                    "expected a text or a number in {}, found {kind} ({})",
                    quoted(name),
                    quoted(raw)
                ));
                raw.to_owned()
            }
        });
    }
}

/// Says what is wrong with an object, and where in the file.
fn describe(error: &serde_json::Error, text: &str, line: u64) -> String {
    let full = error.to_string();
    let cause = full.split(" at line ").next().unwrap_or(&full);
    // It may repeat a whole row.
    let cause = match cause.char_indices().nth(CAUSE_MAX) {
        Some((end, _)) => format!("{}…", &cause[..end]),
        None => cause.to_owned(),
    };
    let at = line + (error.line() as u64).saturating_sub(1);
    let excerpt = quoted(text.trim());
    format!(
        "is not one valid JSON object: {cause}, at line {at}, column {}, found {excerpt}",
        error.column()
    )
}
