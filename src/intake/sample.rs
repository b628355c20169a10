//! The first rows of a file as they stand in it, before anybody has said what its columns are.

use std::io::{Read, Seek};

use super::csv::{DELIMITERS, Parser};
use super::json::{Frames, Value, members, value};
use super::names::plain;
use super::oddity::Oddity;
use super::record::Record;
use super::sheet::{self, Hiding, SheetOptions, SheetRows};
use super::source::Source;
use super::{Encoding, Error};

/// Rows that are looked at.
const ROWS_MAX: usize = 500;
/// Members of JSON that are looked at.
const COLUMNS_MAX: usize = 500;

/// The first rows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The rows with their lines, blank ones left out. Of JSON the first one is that of its names.
    pub rows: Vec<(u64, Vec<String>)>,
    /// What stands between cells; none in JSON.
    pub delimiter: Option<u8>,
    /// The file goes on behind them.
    pub goes_on: bool,
    /// Rows of a sheet that have merged cells, each with its first such cell, as `Sheet1!C7`.
    pub merged: Vec<(u64, String)>,
}

/// Reads the first rows of a file.
///
/// # Errors
/// The file is of another kind, or not of this encoding.
pub fn sample(input: impl Read + Send + 'static, encoding: Encoding) -> Result<Sample, Error> {
    let mut source = Source::open(Box::new(input), encoding)?;
    let head = source.fill()?;
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err(Error::Empty),
        Some(b'[' | b'{') => of_json(&mut source),
        Some(b'<') => Err(Error::Foreign {
            what: "an XML document",
            remedy: "a pain.001 needs no guess: its elements are known, and a layout with format = \"pain.001\" names the service alone",
        }),
        Some(_) => of_csv(&mut source),
    }
}

/// Reads the first rows of a workbook's sheet.
///
/// # Errors
/// It cannot be read, or which sheet is meant is open.
pub fn sample_workbook(
    input: impl Read + Seek + Send + 'static,
    options: &SheetOptions,
) -> Result<Sample, Error> {
    let mut rows = SheetRows::open(input, options)?;
    let mut sample = Sample::default();
    let mut record = Record::default();
    while let Some(row) = rows.next()? {
        if sample.rows.len() >= ROWS_MAX {
            sample.goes_on = true;
            break;
        }
        let width = row.cells.last().map_or(0, |cell| cell.column + 1);
        sheet::fill(&row, width.min(COLUMNS_MAX), &mut record);
        let is_merged = |(_, oddity): &(usize, Oddity)| *oddity == Oddity::Merged;
        if let Some((at, _)) = record.oddities().into_iter().find(is_merged) {
            let place = format!("{}!{}{}", rows.sheet, sheet::letters(at), record.line);
            sample.merged.push((record.line, place));
        }
        let cells = record.cells().map(|cell| cell.trim().to_owned());
        sample.rows.push((record.line, cells.collect()));
    }
    match sample.rows.is_empty() {
        true => Err(Error::Empty),
        false => Ok(sample),
    }
}

/// Hands out the texts of a sheet's rows, hidden ones among them.
///
/// # Errors
/// It cannot be read, or which sheet is meant is open.
pub fn workbook_rows(
    input: impl Read + Seek + Send + 'static,
    mut each: impl FnMut(&[String]),
) -> Result<(), Error> {
    let options = SheetOptions {
        hidden: Hiding::Included,
        ..SheetOptions::default()
    };
    let mut rows = SheetRows::open(input, &options)?;
    let mut record = Record::default();
    while let Some(row) = rows.next()? {
        let width = row.cells.last().map_or(0, |cell| cell.column + 1);
        sheet::fill(&row, width.min(COLUMNS_MAX), &mut record);
        let cells: Vec<String> = record.cells().map(str::to_owned).collect();
        each(&cells);
    }
    Ok(())
}

fn of_csv(source: &mut Source) -> Result<Sample, Error> {
    // Titles stand above many headers: the whole beginning says more than its first line.
    let head = source.fill()?;
    let count = |delimiter: &u8| head.iter().filter(|byte| *byte == delimiter).count();
    let delimiter = DELIMITERS
        .into_iter()
        .rev()
        .max_by_key(count)
        .unwrap_or(b',');
    let mut parser = Parser::open_at(source, 0, Some(delimiter), |_| 0)?;
    let mut sample = Sample {
        delimiter: Some(delimiter),
        ..Sample::default()
    };
    let mut record = Record::default();
    while parser.read(source, &mut record)? {
        if sample.rows.len() >= ROWS_MAX {
            sample.goes_on = true;
            break;
        }
        if !record.is_blank() {
            let cells = record.cells().map(|cell| cell.trim().to_owned());
            sample.rows.push((record.line, cells.collect()));
        }
    }
    match sample.rows.is_empty() {
        true => Err(Error::Empty),
        false => Ok(sample),
    }
}

fn of_json(source: &mut Source) -> Result<Sample, Error> {
    let mut frames = Frames::open(source)?;
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
    let mut goes_on = false;
    while let Some(frame) = frames.next(source)? {
        if rows.len() >= ROWS_MAX {
            goes_on = true;
            break;
        }
        let mut cells = vec![String::new(); names.len()];
        let read = members(frame.raw.text(), &mut |name, raw| {
            let at = names.iter().position(|known| plain(known) == plain(name));
            let at = at.unwrap_or_else(|| {
                if names.len() < COLUMNS_MAX {
                    names.push(name.to_owned());
                    cells.push(String::new());
                }
                names.len() - 1
            });
            if let (Value::Text(text), Some(cell)) = (value(raw), cells.get_mut(at)) {
                *cell = text.trim().to_owned();
            }
        });
        // What is no object is told where the file is loaded.
        if read.is_ok() {
            rows.push((frame.line, cells));
        }
    }
    if rows.is_empty() {
        return Err(Error::NoRows("holds no payments"));
    }
    for (_, cells) in &mut rows {
        cells.resize(names.len(), String::new());
    }
    rows.insert(0, (1, names));
    Ok(Sample {
        rows,
        delimiter: None,
        goes_on,
        merged: Vec::new(),
    })
}
