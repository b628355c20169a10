//! What is wrong with the rows of a file: equal mistakes in one line for a person, every one as an object for a program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use serde_json::{Value, json};

use crate::cli::Error;
use crate::cli::terminal::output;
use crate::intake::RowError;
use crate::journal::CrossRowError;

/// Lines that are shown; the corrections file has all of them.
const SHOWN: usize = 50;
/// So many equal mistakes have a line each: their values differ.
const SINGLE: usize = 3;
/// Characters of a cell that stand for those of the others.
const FOUND: usize = 60;
/// Runs of lines that one mistake names.
const RUNS: usize = 12;
/// Kinds of mistakes that are kept apart. A file whose every row has its own is beyond reading anyway.
const KINDS: usize = 500;

/// The mistakes of one file, in bounded memory.
pub(in crate::cli) struct Mistakes {
    file: String,
    kinds: BTreeMap<(Option<String>, String), Kind>,
    /// How many there are, and how many of them are in no kind.
    count: u64,
    beyond: u64,
    objects: Option<BufWriter<File>>,
    /// What the file calls the columns, where a layout maps them.
    labels: BTreeMap<String, String>,
}

/// Equal mistakes.
struct Kind {
    /// The first ones: how many mistakes came before, and what is said of each.
    first: Vec<(u64, String)>,
    /// What the first one found, and what is to be written for it.
    found: Option<String>,
    write: Option<String>,
    count: u64,
    /// First and last line of rows that follow one another.
    runs: Vec<(u64, u64)>,
    unlisted: u64,
}

/// One mistake as both readers need it.
struct Mistake<'a> {
    line: u64,
    /// The cell of a sheet.
    cell: Option<&'a str>,
    column: Option<&'a str>,
    /// What the file calls the column.
    header: Option<&'a str>,
    code: &'a str,
    gist: String,
    /// What is to be written instead, of this row alone.
    write: Option<String>,
    found: Option<&'a str>,
    text: String,
}

impl Mistakes {
    /// Prepares for a file; with `objects`, every mistake is kept for [`Self::print_objects`].
    pub(in crate::cli) fn of(file: &str, objects: bool) -> Result<Self, Error> {
        let objects = match objects {
            true => Some(BufWriter::new(tempfile::tempfile().map_err(unkept)?)),
            false => None,
        };
        Ok(Self {
            file: file.to_owned(),
            kinds: BTreeMap::new(),
            count: 0,
            beyond: 0,
            objects,
            labels: BTreeMap::new(),
        })
    }

    /// Names the columns of late mistakes as the file does, too.
    pub(in crate::cli) fn labelled(mut self, labels: BTreeMap<String, String>) -> Self {
        self.labels = labels;
        self
    }

    /// Takes a mistake that a row has by itself.
    pub(in crate::cli) fn add(&mut self, error: &RowError) -> Result<(), Error> {
        let (gist, write) = without_value(error.gist());
        self.take(&Mistake {
            line: error.line,
            cell: error.cell.as_deref(),
            column: error.column.as_deref(),
            header: error.header.as_deref(),
            code: error.code,
            gist,
            write: write.map(str::to_owned),
            found: error.found_text(),
            text: error.to_string(),
        })
    }

    /// Takes a mistake that shows beside other rows.
    pub(in crate::cli) fn add_late(&mut self, error: &CrossRowError) -> Result<(), Error> {
        let column = Some(error.column).filter(|column| !column.is_empty());
        let header = column.and_then(|column| self.labels.get(column)).cloned();
        let text = match (column, &header) {
            (Some(column), Some(header)) => {
                format!("{}: {header} ({column}): {}", error.line, error.message)
            }
            (Some(column), None) => format!("{}: {column}: {}", error.line, error.message),
            (None, _) => format!("{}: {}", error.line, error.message),
        };
        self.take(&Mistake {
            line: error.line,
            cell: None,
            column,
            header: header.as_deref(),
            code: if column == Some("reference") {
                "repeated_reference"
            } else {
                "repeated_row"
            },
            gist: without_lines(&error.message),
            write: None,
            found: None,
            text,
        })
    }

    fn take(&mut self, mistake: &Mistake<'_>) -> Result<(), Error> {
        self.count += 1;
        if let Some(objects) = &mut self.objects {
            let comma = if self.count > 1 { "," } else { "" };
            let object = output::json_text(&object(&self.file, mistake));
            write!(objects, "{comma}{object}").map_err(unkept)?;
        }
        let shown = match (mistake.header, mistake.column) {
            (Some(header), Some(column)) => Some(format!("{header} ({column})")),
            (header, column) => header.or(column).map(str::to_owned),
        };
        let key = (shown, mistake.gist.clone());
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&key) {
            self.beyond += 1;
            return Ok(());
        }
        let kind = self.kinds.entry(key).or_insert(Kind {
            first: Vec::new(),
            found: mistake
                .found
                .map(|found| found.chars().take(FOUND).collect()),
            write: mistake.write.clone(),
            count: 0,
            runs: Vec::new(),
            unlisted: 0,
        });
        kind.count += 1;
        if kind.first.len() < SINGLE {
            kind.first.push((self.count, mistake.text.clone()));
        }
        let has_room = kind.runs.len() < RUNS;
        match kind.runs.last_mut() {
            Some((_, last)) if kind.unlisted == 0 && mistake.line <= *last + 1 => {
                *last = mistake.line.max(*last);
            }
            _ if has_room => kind.runs.push((mistake.line, mistake.line)),
            _ => kind.unlisted += 1,
        }
        Ok(())
    }

    /// Tells a person.
    pub(in crate::cli) fn tell(&self) {
        let mut lines: Vec<(u64, u64, String)> = Vec::new();
        for ((column, gist), kind) in &self.kinds {
            if kind.count <= SINGLE as u64 {
                let single = kind.first.iter();
                lines.extend(
                    single.map(|(number, text)| (*number, 1, format!("{}:{text}", self.file))),
                );
                continue;
            }
            let column = column
                .as_ref()
                .map(|c| format!("{c}: "))
                .unwrap_or_default();
            let example = match &kind.found {
                Some(found) if !found.is_empty() => {
                    let write = kind.write.iter().map(|write| format!("; write {write}"));
                    format!(" (the first: {found:?}{})", write.collect::<String>())
                }
                _ => String::new(),
            };
            let text = format!(
                "{}: {}: {column}{gist}, {}{example}",
                self.file,
                output::counted(kind.count, "row"),
                kind.lines()
            );
            let first = kind.first.first().map_or(0, |(number, _)| *number);
            lines.push((first, kind.count, text));
        }
        lines.sort();
        for (_, _, text) in lines.iter().take(SHOWN) {
            output::note(text);
        }
        let more = self.beyond
            + lines
                .iter()
                .skip(SHOWN)
                .map(|(_, count, _)| count)
                .sum::<u64>();
        if more > 0 {
            output::note(&format!("… and {more} more"));
        }
    }

    /// Prints every mistake as an object of one array, when they were kept.
    pub(in crate::cli) fn print_objects(&mut self, bad_rows: u64) -> Result<(), Error> {
        let Some(objects) = self.objects.take() else {
            return Ok(());
        };
        let mut file = objects
            .into_inner()
            .map_err(|error| unkept(error.into_error()))?;
        file.rewind().map_err(unkept)?;
        output::print(&format!("{{\"bad_rows\":{bad_rows},\"errors\":["));
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut held = Vec::new();
        loop {
            // JSON is text, and a piece may end within a character.
            let read = reader
                .by_ref()
                .take(64 * 1024)
                .read_to_end(&mut held)
                .map_err(unkept)?;
            let whole = match std::str::from_utf8(&held) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            output::print(&String::from_utf8_lossy(&held[..whole]));
            held.drain(..whole);
            if read == 0 {
                break;
            }
        }
        output::line("]}");
        Ok(())
    }
}

impl Kind {
    fn lines(&self) -> String {
        let mut text = String::from("lines ");
        for (index, (first, last)) in self.runs.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let _ = match first == last {
                true => write!(text, "{comma}{first}"),
                false => write!(text, "{comma}{first} to {last}"),
            };
        }
        if self.unlisted > 0 {
            let _ = write!(
                text,
                " and {} more",
                output::grouped(&self.unlisted.to_string())
            );
        }
        text
    }
}

/// An error about the whole file as the one object of the array.
pub(in crate::cli) fn print_whole(file: &str, error: &Error) {
    output::json(&json!({
        "bad_rows": 0,
        "errors": [{
            "file": file,
            "line": null,
            "column": null,
            "code": "refused",
            "found": null,
            "expected": null,
            "message": error.message(),
            "hint": error.first_hint(),
        }],
    }));
}

fn object(file: &str, mistake: &Mistake<'_>) -> Value {
    let expected = mistake.gist.strip_prefix("expected ");
    let mut object = json!({
        "file": file,
        "line": mistake.line,
        "column": mistake.column,
        "code": mistake.code,
        "found": mistake.found,
        "expected": expected.unwrap_or(&mistake.gist),
        "hint": hint(mistake.code),
    });
    if let Some(cell) = mistake.cell {
        object["cell"] = cell.into();
    }
    if let Some(header) = mistake.header {
        object["header"] = header.into();
    }
    object
}

fn hint(code: &str) -> &'static str {
    match code {
        "missing" => "give the cell a value",
        "shape" => "write the row with the cells that the header names",
        "example" => "remove the row, and check the file again",
        "unpayable" => "pay this row elsewhere, and remove it here",
        "forbidden_character" => "type the text anew",
        "repeated_reference" => "give every row a reference of its own",
        "repeated_row" => "give each row a reference, or add --allow-equal-rows",
        _ => "mend the cell, and check the file again",
    }
}

/// Parts a mistake from the value that its own row is to have, so that equal mistakes are equal.
fn without_value(gist: &str) -> (String, Option<&str>) {
    match gist.split_once("; write ") {
        Some((what, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let (value, more) = rest.split_once("; ").unwrap_or((rest, ""));
            let comma = if more.is_empty() { "" } else { "; " };
            (format!("{what}{comma}{more}"), Some(value))
        }
        _ => (gist.to_owned(), None),
    }
}

/// Replaces the numbers of lines, so that mistakes which name different ones are equal.
fn without_lines(message: &str) -> String {
    let mut parts = message.split("line ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text.push_str(if rest.len() < part.len() {
            "another line"
        } else {
            "line "
        });
        text.push_str(rest);
    }
    text
}

fn unkept(error: std::io::Error) -> Error {
    Error::refused(format!(
        "the errors of the file cannot be kept aside: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_listed_as_runs_and_none_is_lost_from_the_count() {
        let mut mistakes = Mistakes::of("f.csv", false).unwrap();
        for line in (2..=1_001)
            .chain([1_005])
            .chain((2_000..).step_by(2).take(40))
        {
            let error = CrossRowError {
                line,
                good_row: line - 1,
                column: "reference",
                message: format!("\"x\" is the reference of line {line} too"),
                digest: [0; 32],
            };
            mistakes.add_late(&error).unwrap();
        }
        assert_eq!(mistakes.kinds.len(), 1);
        let kind = mistakes.kinds.values().next().unwrap();
        assert_eq!(kind.count, 1_041);
        assert_eq!(
            kind.lines(),
            "lines 2 to 1001, 1005, 2000, 2002, 2004, 2006, 2008, 2010, 2012, 2014, 2016, 2018 and 30 more"
        );
    }

    #[test]
    fn values_of_single_rows_make_no_difference() {
        for (gist, expected) in [
            (
                "has a decimal comma; write 100.50",
                ("has a decimal comma", Some("100.50")),
            ),
            (
                "has a decimal comma; write 1.5 or 15",
                ("has a decimal comma", Some("1.5 or 15")),
            ),
            (
                "is in scientific notation; write all digits",
                ("is in scientific notation; write all digits", None),
            ),
            (
                "has a decimal comma; write 1.50; expected at least 10.00 KES",
                (
                    "has a decimal comma; expected at least 10.00 KES",
                    Some("1.50"),
                ),
            ),
            ("is negative", ("is negative", None)),
        ] {
            let (what, value) = without_value(gist);
            assert_eq!((what.as_str(), value), expected);
        }
    }

    #[test]
    fn numbers_of_lines_make_no_difference() {
        for (message, expected) in [
            (
                "equal to line 2: one mistake",
                "equal to another line: one mistake",
            ),
            ("the line is long", "the line is long"),
            ("no such thing", "no such thing"),
        ] {
            assert_eq!(without_lines(message), expected);
        }
    }
}
