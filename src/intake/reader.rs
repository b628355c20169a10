//! A file's rows, one after the other.

use crate::domain::{Instruction, ServiceCode};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::sync::Arc;

use super::bad::{BadRow, Row, RowError};
use super::check::{Checker, Stated};
use super::columns::{ColumnMap, is_exact, resolve};
use super::csv::Parser;
use super::json::{Cells, Frame, Frames, NamedCells};
use super::mapping::{self, Mapping, OURS, Opened, check_header};
use super::odd_cells;
use super::pain::PainRows;
use super::record::{Fault, Record};
use super::rules::Rules;
use super::sheet::{SheetRows, Table};
use super::source::{OF_REPORT, Source};
use super::{Error, Format, Options, ROW_BYTES_MAX};
use crate::ledger::correction::Corrects;

/// Why a hidden row of a sheet is no payment.
const HIDDEN: &str = "the row is hidden in the sheet";

/// How a file is written down: all that the file with corrections takes over from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The header as it was written; for JSON the contract's columns and `extra`.
    pub header: Vec<String>,
    /// What the columns are called in the contract; empty for those that are no part of the row.
    pub names: Vec<String>,
    /// The delimiter; a comma for JSON.
    pub delimiter: u8,
    /// Whether the file had a byte order mark, or came from a program that needs one.
    pub marked: bool,
    /// The service of rows that name none.
    pub service: Option<ServiceCode>,
    /// How the columns of the contract are named to a person, where a layout maps them.
    pub labels: BTreeMap<String, String>,
    /// The layout that its columns are read by.
    pub layout: Option<String>,
    /// The name of the sheet, where it is one of a workbook.
    pub sheet: Option<String>,
}

/// Reads a batch file row by row.
///
/// It ends after the first [`Error`]: what follows cannot be read.
pub struct Reader {
    rows: Rows,
    layout: ColumnMap,
    /// What brings the rows of another program into our columns, and the row that it has brought.
    mapping: Option<Mapping>,
    rules: Arc<Rules>,
    checker: Checker,
    record: Record,
    // The first row is read when the file is opened, so that a file without rows is refused there.
    primed: bool,
    ended: bool,
    blank_rows: u64,
    /// Rows that were read, and the line of the last of them.
    read: (u64, u64),
    /// The line of a last row that may go on where the file ends.
    unended: Option<u64>,
}

enum Rows {
    Csv(Box<Source>, Parser),
    Json(Box<Source>, Frames, Box<Cells>),
    Named(Box<Source>, Frames, Box<NamedCells>),
    Sheet(Box<Table>),
    Pain(Box<PainRows>),
}

/// What the text of a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Csv,
    Json,
    Message,
}

impl Rows {
    /// The text that they come from.
    fn source(&self) -> Option<&Source> {
        match self {
            Self::Csv(source, _) | Self::Json(source, ..) | Self::Named(source, ..) => Some(source),
            Self::Pain(rows) => Some(rows.source()),
            Self::Sheet(_) => None,
        }
    }
}

impl Reader {
    /// Opens a file and reads it as far as its first row.
    ///
    /// # Errors
    /// Everything that is wrong with the file as a whole and can be seen from its beginning.
    pub fn open(
        input: impl Read + Send + 'static,
        options: &Options,
        rules: Arc<Rules>,
    ) -> Result<Self, Error> {
        check_mapping(&rules)?;
        let input = Box::new(input);
        let mut source = match &options.layout {
            None => Source::open(input, options.encoding)?,
            Some(_) => Source::open_unless(input, options.encoding, OURS)?,
        };
        let mut record = Record::default();
        let kind = kind_of(&mut source, options.format)?;
        if kind == Kind::Message {
            let (rows, layout, mapping) = mapping::open_message(source, options, &rules)?;
            let opened = (Rows::Pain(Box::new(rows)), layout, mapping);
            return Self::begin(opened, record, rules, "holds no payments");
        }
        let json = kind == Kind::Json;
        mapping::assert_format(options.layout.as_deref(), source.is_ours() && !json)?;
        let (rows, layout, mapping) = match (&options.layout, json) {
            (None, true) => {
                let frames = Frames::open(&mut source)?;
                let rows = Rows::Json(Box::new(source), frames, Box::default());
                (rows, ColumnMap::of_json(), None)
            }
            (None, false) => {
                let (parser, layout) = open_csv(&mut source, &mut record, &rules)?;
                (Rows::Csv(Box::new(source), parser), layout, None)
            }
            // What a report has written has our columns, whatever the file had that its rows came from.
            (Some(_), false) if source.is_of_report() => {
                let (parser, layout) = open_csv(&mut source, &mut record, &rules)?;
                (Rows::Csv(Box::new(source), parser), layout, None)
            }
            (Some(layout), json) => {
                let (opened, layout, mapping) =
                    mapping::open(&mut source, &mut record, layout, &rules, json)?;
                let source = Box::new(source);
                let rows = match opened {
                    Opened::Csv(parser) => Rows::Csv(source, parser),
                    Opened::Named(frames, cells) => Rows::Named(source, frames, cells),
                };
                (rows, layout, Some(mapping))
            }
        };
        let empty = if json {
            "holds no payments"
        } else {
            "has a header and no rows"
        };
        Self::begin((rows, layout, mapping), record, rules, empty)
    }

    /// Opens a workbook and reads one of its sheets as far as its first row.
    ///
    /// # Errors
    /// Everything that is wrong with the workbook as a whole and can be seen from its beginning.
    pub fn open_workbook(
        input: impl Read + Seek + Send + 'static,
        options: &Options,
        rules: Arc<Rules>,
    ) -> Result<Self, Error> {
        check_mapping(&rules)?;
        let mut record = Record::default();
        let mut rows = SheetRows::open(input, &options.sheet)?;
        // What a report has written has our columns, whatever the file had that its rows came from.
        let first = rows.peek()?;
        let is_of_report = first.is_some_and(|row| row.names(OURS) && row.names(OF_REPORT));
        let layout = options.layout.as_ref().filter(|_| !is_of_report);
        let (map, mapping, table) = match layout {
            None => {
                let table = Table::open(rows, &mut record, &rules)?;
                let map = ColumnMap::resolve(&record, &rules)?;
                let table = table.watching_for_a_total(&map);
                (map, None, table)
            }
            Some(layout) => {
                let (map, mapping) = mapping::open_sheet(&mut rows, &mut record, layout, &rules)?;
                let table = Table::below(rows, mapping.binding.width());
                (map, Some(mapping), table)
            }
        };
        let opened = (Rows::Sheet(Box::new(table)), map, mapping);
        Self::begin(opened, record, rules, "has a header and no rows")
    }

    fn begin(
        (rows, layout, mapping): (Rows, ColumnMap, Option<Mapping>),
        record: Record,
        rules: Arc<Rules>,
        empty: &'static str,
    ) -> Result<Self, Error> {
        let checker = Checker::new(Arc::clone(&rules));
        let mut reader = Self {
            rows,
            layout,
            mapping,
            rules,
            checker,
            record,
            primed: false,
            ended: false,
            blank_rows: 0,
            read: (0, 0),
            unended: None,
        };
        if !reader.advance()? {
            return Err(Error::NoRows(empty));
        }
        reader.primed = true;
        Ok(reader)
    }

    /// Returns how the file is written down.
    #[must_use]
    pub fn form(&self) -> Form {
        let (header, names, labels) = match &self.mapping {
            None => (
                self.layout.header.clone(),
                (0..self.layout.header.len())
                    .map(|index| self.layout.own_name(index))
                    .collect(),
                match &self.rows {
                    Rows::Pain(_) => PainRows::labels(),
                    _ => BTreeMap::new(),
                },
            ),
            Some(mapping) => (
                mapping.binding.header().to_vec(),
                mapping.binding.form_names(),
                mapping.labels(&self.layout),
            ),
        };
        Form {
            header,
            names,
            delimiter: match &self.rows {
                Rows::Csv(_, parser) => parser.delimiter(),
                Rows::Json(..) | Rows::Named(..) | Rows::Sheet(_) | Rows::Pain(_) => b',',
            },
            // A spreadsheet program reads the file with corrections: it takes UTF-8 for something else without a mark.
            marked: self.rows.source().is_none_or(Source::is_marked),
            service: self.rules.default_service.clone(),
            labels,
            layout: self
                .mapping
                .as_ref()
                .map(|mapping| mapping.binding.name().to_owned()),
            sheet: match &self.rows {
                Rows::Sheet(table) => Some(table.sheet().to_owned()),
                _ => None,
            },
        }
    }

    /// Returns what the row that was read last says that it corrects.
    #[must_use]
    pub fn corrects(&self) -> Option<&Corrects> {
        self.checker.corrects.as_ref()
    }

    /// Returns what is worth telling about how the file was read; complete once the last row was.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let source = self.rows.source();
        let note = source.and_then(Source::note);
        let mut notes: Vec<String> = note.map(str::to_owned).into_iter().collect();
        match &self.rows {
            Rows::Sheet(table) => notes.extend(table.notes()),
            Rows::Pain(rows) => notes.extend(rows.notes()),
            _ => {}
        }
        if let Rows::Csv(_, parser) = &self.rows {
            match parser.delimiter() {
                b',' => {}
                b'\t' => notes.push("delimiter TAB".to_owned()),
                other => notes.push(format!("delimiter '{}'", char::from(other))),
            }
        }
        notes.extend(self.mapping.iter().flat_map(Mapping::notes));
        if source.is_some_and(Source::is_of_report) {
            notes.push(
                "has the columns of disburse, and is read by them, without a layout".to_owned(),
            );
        }
        match self.blank_rows {
            0 => {}
            1 => notes.push("1 empty row skipped".to_owned()),
            rows => notes.push(format!("{rows} empty rows skipped")),
        }
        notes.extend(self.checker.restored_text());
        match self.checker.documents_left_out() {
            0 => {}
            rows => notes.push(format!(
                "{rows} RTGS row{} below the threshold: the document named there is not needed, and not sent (section 4.5)",
                if rows == 1 { "" } else { "s" }
            )),
        }
        notes
    }

    /// Returns what was taken although it is odd; complete once the last row was read.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let unended = self.unended.map(|line| {
            format!(
                "line {line}, the last one, has no line break at its end, as in a file that was cut off: look whether its last cell is whole, as an \
                 amount may lack digits"
            )
        });
        self.checker.warnings().into_iter().chain(unended).collect()
    }

    /// Returns the row that it has come to.
    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// Reads the next row that is not blank into the record, and counts it.
    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if !self.advance_record()? {
                if let Some(mapping) = &self.mapping {
                    mapping.end()?;
                }
                return Ok(false);
            }
            let (rows, line) = self.read;
            self.read = (rows + 1, self.record.line);
            self.record.row = (line == self.record.line).then_some(rows + 1);
            let is_row = match &mut self.mapping {
                Some(mapping) => mapping.take(&self.record, &self.layout)?,
                None => true,
            };
            if is_row {
                return Ok(true);
            }
        }
    }

    fn advance_record(&mut self) -> Result<bool, Error> {
        loop {
            match &mut self.rows {
                Rows::Sheet(table) => {
                    if !table.read(&mut self.record)? {
                        return Ok(false);
                    }
                }
                Rows::Pain(rows) => {
                    if !rows.read(&mut self.record)? {
                        return Ok(false);
                    }
                }
                Rows::Csv(source, parser) => {
                    if !parser.read(source, &mut self.record)? {
                        return Ok(false);
                    }
                    if self.record.is_blank() {
                        self.blank_rows += 1;
                        continue;
                    }
                    self.unended = parser.unended();
                    // In other files an apostrophe in front is what somebody wrote.
                    if is_ours(self.mapping.as_ref(), &self.layout) {
                        self.record.unshield();
                    }
                }
                Rows::Json(source, frames, cells) => {
                    let Some(frame) = frames.next(source)? else {
                        return Ok(false);
                    };
                    let rules = &self.rules;
                    take_frame(&frame, &mut self.record, |text, record, line| {
                        cells.fill(text, rules, record, line);
                    });
                }
                Rows::Named(source, frames, cells) => {
                    let Some(frame) = frames.next(source)? else {
                        return Ok(false);
                    };
                    take_frame(&frame, &mut self.record, |text, record, line| {
                        cells.fill(text, record, line);
                    });
                }
            }
            return Ok(true);
        }
    }

    pub(super) fn advance_or_end(&mut self) -> Option<Result<(), Error>> {
        if self.ended {
            return None;
        }
        if std::mem::take(&mut self.primed) {
            return Some(Ok(()));
        }
        match self.advance() {
            Ok(true) => Some(Ok(())),
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.advance_or_end()?;
        Some(row.map(|()| self.judge()))
    }
}

/// Returns whether this program has written the file for rows to be mended.
fn is_ours(mapping: Option<&Mapping>, columns: &ColumnMap) -> bool {
    mapping.map_or_else(
        || columns.is_to_be_mended(),
        |mapping| mapping.binding.is_ours(),
    )
}

impl Reader {
    /// Returns whether this program has written the file for rows to be mended.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        is_ours(self.mapping.as_ref(), &self.layout)
    }

    /// Checks the row that was read last.
    fn judge(&mut self) -> Row {
        let mut row = self.judged();
        let (Row::Bad(bad) | Row::Skipped(bad)) = &mut row else {
            return row;
        };
        if !matches!(self.rows, Rows::Sheet(_) | Rows::Pain(_)) {
            return row;
        }
        for error in &mut bad.errors {
            let column = error.column.as_deref();
            let at = match &self.mapping {
                None => column.and_then(|name| self.layout.place_of(name)),
                Some(mapping) => mapping.binding.place_of(column, error.header.as_deref()),
            };
            match &self.rows {
                Rows::Sheet(table) => error.cell = Some(table.place(bad.line, at)),
                Rows::Pain(rows) => {
                    if let (None, Some(column)) = (&self.mapping, column) {
                        error.header = PainRows::label(column).map(str::to_owned);
                    }
                    error.cell = Some(rows.place(at));
                }
                _ => {}
            }
        }
        row
    }

    fn judged(&mut self) -> Row {
        let is_skipped = |record: &Record| record.is_hidden.then(|| HIDDEN.to_owned());
        let Some(mapping) = &mut self.mapping else {
            return match is_skipped(&self.record) {
                Some(why) => Row::Skipped(*self.checker.skipped(&self.layout, &self.record, why)),
                None => judged(self.checker.check(&self.layout, &self.record)),
            };
        };
        let skipped = is_skipped(&self.record).or(mapping.skipped.take());
        let mut row = match skipped {
            Some(reason) => {
                Row::Skipped(*self.checker.skipped(&self.layout, &mapping.mapped, reason))
            }
            None => judged(self.checker.check(&self.layout, &mapping.mapped)),
        };
        if let Row::Bad(bad) = &mut row
            && let Some(message) = mapping.binding.unsaid_sum(&self.record)
        {
            let row = (self.record.line, self.record.row);
            bad.errors.insert(0, RowError::of_row(row, message));
        }
        if let Row::Bad(bad) | Row::Skipped(bad) = &mut row {
            bad.raw = self.record.cells().map(str::to_owned).collect();
            bad.odd = odd_cells::that_matter(&self.record, &bad.errors);
            let names = self.layout.header.iter().cloned();
            let cells = mapping.mapped.cells().map(str::to_owned);
            bad.mapped = Some(names.zip(cells).collect());
            for error in &mut bad.errors {
                if let (None, Some(column)) = (&error.header, &error.column) {
                    error.header = mapping.binding.label(column);
                }
            }
        }
        row
    }
}

fn judged(checked: Result<Instruction<Stated>, Box<BadRow>>) -> Row {
    match checked {
        Ok(row) => match row.money {
            Stated::Amount(money) => Row::Good(row.with_money(money)),
            Stated::AsDue(currency) => Row::Unpriced(row.with_money(currency)),
        },
        Err(bad) => Row::Bad(*bad),
    }
}

/// Opens CSV under our own columns.
fn open_csv(
    source: &mut Source,
    record: &mut Record,
    rules: &Rules,
) -> Result<(Parser, ColumnMap), Error> {
    let mut parser = Parser::open(source, |name| match name {
        "" => 0,
        name if resolve(name, rules).is_err() => 0,
        name => 1 + u8::from(is_exact(name, rules)),
    })?;
    if !parser.read(source, record)? {
        return Err(Error::Empty);
    }
    check_header(record)?;
    let layout = ColumnMap::resolve(record, rules)?;
    parser.set_columns(layout.columns.len());
    Ok((parser, layout))
}

/// Takes the text of one object, as far as it may be long.
fn take_frame(frame: &Frame, record: &mut Record, fill: impl FnOnce(&str, &mut Record, u64)) {
    let bytes = frame.raw.bytes();
    if bytes > ROW_BYTES_MAX as u64 {
        let fields = record.begin(frame.line);
        record.finish(fields);
        record.faults.push(Fault::LongRow { bytes });
    } else {
        fill(frame.raw.text(), record, frame.line);
    }
    if !record.faults.is_empty() {
        frame.raw.clone_into(&mut record.raw);
    }
}

fn check_mapping(rules: &Rules) -> Result<(), Error> {
    for (header, target) in &rules.columns {
        // Resolved without the mapping, so that no mapping leads to another.
        let known = resolve(target, &Rules::default());
        if target.is_empty() || known.is_err() {
            return Err(Error::Mapping {
                header: header.clone(),
                target: target.clone(),
                nearest: super::suggest::nearest(target, super::COLUMNS).map(str::to_owned),
            });
        }
    }
    Ok(())
}

/// Tells CSV, JSON and XML by the first character; no header begins as the others do.
fn kind_of(source: &mut Source, told: Option<Format>) -> Result<Kind, Error> {
    let head = source.fill()?;
    let first = head.iter().find(|b| !b.is_ascii_whitespace());
    let looks_like = match first {
        Some(b'[' | b'{') => Kind::Json,
        Some(b'<') => Kind::Message,
        _ => Kind::Csv,
    };
    let other = |expected| {
        let text = String::from_utf8_lossy(head);
        let found = text.trim_start().chars().next().unwrap_or(' ');
        Err(Error::OtherFormat { expected, found })
    };
    match (told, first) {
        (_, None) if head.len() < ROW_BYTES_MAX / 2 => Err(Error::Empty),
        (Some(Format::Csv), Some(_)) if looks_like != Kind::Csv => other("CSV"),
        (Some(Format::Csv), _) => Ok(Kind::Csv),
        (Some(Format::Json | Format::JsonLines), _) => Ok(Kind::Json),
        (Some(Format::Pain001), Some(_)) if looks_like != Kind::Message => {
            other("a pain.001 message")
        }
        (Some(Format::Pain001), _) => Ok(Kind::Message),
        (None, _) => Ok(looks_like),
    }
}
