//! What of a sheet a person does not see, or sees otherwise: hidden rows and columns, merged cells, and cells whose format adds to them.

use std::collections::BTreeMap;

use quick_xml::events::{BytesStart, Event};

use super::super::Error;
use super::admission::{attribute, refused};
use super::formats::{Added, Formats};

/// Rows and columns of a sheet, at most.
pub(super) const ROWS_MAX: u32 = 1_048_576;
pub(super) const COLUMNS_MAX: u32 = 16_384;
/// Areas of merged cells, at most.
const MERGED_MAX: usize = 100_000;
/// Runs of cells of one column and one format, at most.
const RUNS_MAX: usize = 200_000;

/// What of a sheet is not shown as it stands.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// A bit for each row up to the last hidden one.
    rows: Vec<u64>,
    /// First and last, 0-based.
    columns: Vec<(u32, u32)>,
    /// First row, first column, last row, last column.
    merged: Vec<(u32, u32, u32, u32)>,
    formats: Formats,
    /// Cells whose format adds something, by their column: first row, last row, style.
    dressed: BTreeMap<u32, Vec<(u32, u32, u32)>>,
    runs: usize,
    row: u32,
    /// The last row that was seen, and the last cell in it.
    last: Option<(u32, Option<u32>)>,
    in_data: bool,
}

impl Hidden {
    pub(super) fn of(formats: Formats) -> Self {
        Self {
            formats,
            ..Self::default()
        }
    }

    /// Takes in the next part of the sheet's XML.
    ///
    /// # Errors
    /// Rows or cells that do not follow one another: one might stand above another, seen or not.
    pub(super) fn take(&mut self, event: &Event<'_>) -> Result<(), Error> {
        match event {
            Event::Start(start) | Event::Empty(start) => self.start(start),
            Event::End(end) if end.local_name().as_ref() == "sheetData" => {
                self.in_data = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        match start.local_name().as_ref() {
            "c" if self.in_data => self.cell(start),
            "row" if self.in_data => self.row(start),
            "sheetData" => {
                self.in_data = true;
                Ok(())
            }
            "col" if !self.in_data => self.column(start),
            "mergeCell" => self.merge(start),
            _ => Ok(()),
        }
    }

    fn row(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        let row = match attribute(start, "r") {
            Some(text) => number(&text).ok_or_else(|| disorder(&text))?,
            None => self.last.map_or(0, |(row, _)| row + 1),
        };
        if row >= ROWS_MAX || self.last.is_some_and(|(last, _)| row <= last) {
            return Err(disorder(&format!("row {}", u64::from(row) + 1)));
        }
        self.last = Some((row, None));
        self.row = row;
        if is_set(start, "hidden") || is_zero(start, "ht") {
            let word = row as usize / 64;
            if self.rows.len() <= word {
                self.rows.resize(word + 1, 0);
            }
            self.rows[word] |= 1 << (row % 64);
        }
        Ok(())
    }

    fn cell(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        let (row, last) = self.last.unwrap_or((0, None));
        let column = match attribute(start, "r") {
            None => last.map_or(0, |last| last + 1),
            Some(text) => match place(&text) {
                Some((of, column)) if of == row => column,
                _ => return Err(disorder(&text)),
            },
        };
        if column >= COLUMNS_MAX || last.is_some_and(|last| column <= last) {
            let shown = attribute(start, "r").unwrap_or_default();
            return Err(disorder(&shown));
        }
        self.last = Some((row, Some(column)));
        if self.formats.is_empty() {
            return Ok(());
        }
        let style = attribute(start, "s").and_then(|text| text.trim().parse().ok());
        match style.filter(|style| self.formats.of(*style).is_some()) {
            Some(style) => self.dress(row, column, style),
            None => Ok(()),
        }
    }

    fn dress(&mut self, row: u32, column: u32, style: u32) -> Result<(), Error> {
        let runs = self.dressed.entry(column).or_default();
        match runs.last_mut() {
            Some((_, last, of)) if *of == style && *last + 1 == row => *last = row,
            _ => {
                self.runs += 1;
                runs.push((row, row, style));
            }
        }
        match self.runs {
            ..=RUNS_MAX => Ok(()),
            _ => Err(refused(
                format!(
                    "has more than {RUNS_MAX} changes of the format of numbers and of struck-out cells"
                ),
                "give each column one format",
            )),
        }
    }

    /// Returns what the format of a cell adds to it, if anything.
    pub(super) fn added(&self, row: u32, column: u32) -> Option<Added> {
        let runs = self.dressed.get(&column)?;
        let at = runs.partition_point(|(first, ..)| *first <= row);
        let (_, last, style) = runs.get(at.checked_sub(1)?)?;
        self.formats.of(*style).filter(|_| row <= *last)
    }

    fn column(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        if !is_set(start, "hidden") && !is_zero(start, "width") {
            return Ok(());
        }
        let bound = |name| attribute(start, name).and_then(|text| number(&text));
        match (bound("min"), bound("max")) {
            (Some(first), Some(last)) if self.columns.len() < COLUMNS_MAX as usize => {
                self.columns.push((first, last));
                Ok(())
            }
            _ => Err(disorder("cols")),
        }
    }

    fn merge(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        let text = attribute(start, "ref").unwrap_or_default();
        let corners = text.split_once(':').unwrap_or((&text, &text));
        let (Some((top, left)), Some((bottom, right))) = (place(corners.0), place(corners.1))
        else {
            return Err(disorder(&text));
        };
        if self.merged.len() == MERGED_MAX {
            let what = format!("has more than {MERGED_MAX} merged cells");
            return Err(refused(what, "unmerge them"));
        }
        self.merged.push((top, left, bottom, right));
        Ok(())
    }

    /// Orders what was taken in, for questions.
    pub(super) fn finish(&mut self) {
        self.merged.sort_unstable();
    }

    pub(super) fn hides_row(&self, row: u32) -> bool {
        let word = self.rows.get(row as usize / 64);
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(super) fn hides_column(&self, column: u32) -> bool {
        let holds = |(first, last): &(u32, u32)| (*first..=*last).contains(&column);
        self.columns.iter().any(holds)
    }

    /// Returns the columns that are merged with others in a row.
    pub(super) fn merged_in(&self, row: u32) -> impl Iterator<Item = (u32, u32)> {
        let below = self.merged.partition_point(|area| area.0 <= row);
        self.merged[..below]
            .iter()
            .filter(move |area| row <= area.2)
            .map(|(_, left, _, right)| (*left, *right))
    }

    pub(super) fn has_merged(&self) -> bool {
        !self.merged.is_empty()
    }
}

fn disorder(at: &str) -> Error {
    refused(
        format!(
            "cannot be read as a workbook: its rows and cells do not follow one another (at {at:?})"
        ),
        "open it in the spreadsheet program and save it again as XLSX",
    )
}

fn is_set(start: &BytesStart<'_>, name: &str) -> bool {
    attribute(start, name).is_some_and(|text| matches!(text.trim(), "1" | "true" | "on"))
}

fn is_zero(start: &BytesStart<'_>, name: &str) -> bool {
    attribute(start, name).is_some_and(|text| text.trim().parse() == Ok(0.0_f64))
}

/// Reads a number that counts from 1.
fn number(text: &str) -> Option<u32> {
    text.trim().parse::<u32>().ok()?.checked_sub(1)
}

/// Reads the place of a cell, row and column from 0.
pub(super) fn place(text: &str) -> Option<(u32, u32)> {
    let text = text.trim();
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let (letters, digits) = text.split_at(digits);
    if letters.is_empty() || letters.len() > 3 || digits.starts_with('+') {
        return None;
    }
    let mut column = 0_u32;
    for letter in letters.bytes() {
        if !letter.is_ascii_alphabetic() {
            return None;
        }
        column = column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1;
    }
    let row = number(digits)?;
    (row < ROWS_MAX && column <= COLUMNS_MAX).then(|| (row, column - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(xml: &str) -> Result<Hidden, String> {
        let mut reader = quick_xml::Reader::from_str(xml);
        let mut hidden = Hidden::default();
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => break,
                event => hidden.take(&event).map_err(|error| error.to_string())?,
            }
        }
        hidden.finish();
        Ok(hidden)
    }

    #[test]
    fn rows_and_columns_are_hidden_in_four_ways() {
        let hidden = of(r#"<worksheet><cols><col min="2" max="3" hidden="1"/><col min="5" max="5" width="0"/><col min="7" max="7" width="9"/></cols>
            <sheetData><row r="1"/><row r="2" hidden="1"><c r="A2"/></row><row r="70" ht="0" customHeight="1"/><row hidden="true"/></sheetData></worksheet>"#)
        .unwrap();
        let rows: Vec<u32> = (0..100).filter(|row| hidden.hides_row(*row)).collect();
        assert_eq!(rows, [1, 69, 70]);
        let columns: Vec<u32> = (0..10).filter(|c| hidden.hides_column(*c)).collect();
        assert_eq!(columns, [1, 2, 4]);
    }

    #[test]
    fn merged_cells_are_known_in_each_of_their_rows() {
        let hidden = of(r#"<w><sheetData/><mergeCells><mergeCell ref="B2:C4"/><mergeCell ref="E3:E3"/></mergeCells></w>"#).unwrap();
        let of_row = |row| hidden.merged_in(row).collect::<Vec<_>>();
        assert_eq!(of_row(0), []);
        assert_eq!(of_row(1), [(1, 2)]);
        assert_eq!(of_row(2), [(1, 2), (4, 4)]);
        assert_eq!(of_row(4), []);
    }

    #[test]
    fn rows_and_cells_follow_one_another() {
        for broken in [
            r#"<w><sheetData><row r="2"/><row r="2"/></sheetData></w>"#,
            r#"<w><sheetData><row r="2"/><row r="1"/></sheetData></w>"#,
            r#"<w><sheetData><row r="0"/></sheetData></w>"#,
            r#"<w><sheetData><row r="1048577"/></sheetData></w>"#,
            r#"<w><sheetData><row r="1"><c r="B1"/><c r="A1"/></row></sheetData></w>"#,
            r#"<w><sheetData><row r="1"><c r="B1"/><c r="B1"/></row></sheetData></w>"#,
            r#"<w><sheetData><row r="1"><c r="B2"/></row></sheetData></w>"#,
            r#"<w><sheetData><row r="1"><c r="XFE1"/></row></sheetData></w>"#,
            r#"<w><sheetData/><mergeCells><mergeCell ref="B2:"/></mergeCells></w>"#,
        ] {
            let found = of(broken).unwrap_err();
            assert!(found.contains("do not follow one another"), "{found}");
        }
        assert!(
            of(r#"<w><sheetData><row><c/><c/></row><row><c r="C2"/><c/></row></sheetData></w>"#)
                .is_ok()
        );
    }

    #[test]
    fn places_are_read_as_they_are_written() {
        for (text, place_of) in [
            ("A1", Some((0, 0))),
            ("xfd1048576", Some((1_048_575, 16_383))),
            ("AA10", Some((9, 26))),
            ("A0", None),
            ("1", None),
            ("A", None),
            ("A+1", None),
            ("AAAA1", None),
            ("$A$1", None),
            ("A1048577", None),
        ] {
            assert_eq!(place(text), place_of, "{text}");
        }
    }
}
