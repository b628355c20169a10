//! Comma-separated values (RFC 4180), one bounded record at a time.
//!
//! Written here rather than taken from a crate for two reasons: a cell of any length must not fill the memory, and a quote
//! that is never closed must not swallow rows unseen.

use super::raw::Raw;
use super::record::{Fault, Fields, Record};
use super::source::Source;
use super::{Error, FIELD_BYTES_MAX, ROW_BYTES_MAX};

/// The delimiters that are looked for.
pub(super) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads records off a source.
pub(super) struct Parser {
    delimiter: u8,
    line: u64,
    // How many columns the header has; 0 while it is read.
    columns: usize,
    /// The line of a last record that ends with the file, and with no line break.
    unended: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell.
    Start,
    /// In a cell without quotes.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote that closes the cell, or is the first of two.
    Quote,
    /// After a closing quote and a blank.
    Closed,
    /// After a carriage return that ends the row.
    Return,
}

impl Parser {
    /// Starts at the first line, and finds the delimiter in it. `known` says how well a name is known as a column's:
    /// 2 as it is written, 1 as it is meant, 0 not at all.
    ///
    /// # Errors
    /// What the source reports.
    pub(super) fn open(source: &mut Source, known: impl Fn(&str) -> u8) -> Result<Self, Error> {
        Self::open_at(source, 0, None, |head| delimiter_of(head, known))
    }

    /// As [`Self::open`], behind so many lines, with the delimiter that is said, or the one that `find` tells by the text behind them.
    ///
    /// # Errors
    /// What the source reports, and that there are not so many lines.
    pub(super) fn open_at(
        source: &mut Source,
        above: u64,
        said: Option<u8>,
        find: impl FnOnce(&[u8]) -> u8,
    ) -> Result<Self, Error> {
        let mut line = 1;
        while line <= above {
            skip_line(source)?;
            line += 1;
        }
        if above == 0 {
            line = skip_breaks(source, line)?;
        }
        let head = source.fill()?;
        let parser = |delimiter, line| Self {
            delimiter,
            line,
            columns: 0,
            unended: None,
        };
        if let Some((delimiter, length)) = said_by(head) {
            source.consume(length);
            return Ok(parser(said.unwrap_or(delimiter), line + 1));
        }
        let delimiter = said.unwrap_or_else(|| find(head));
        Ok(parser(delimiter, line))
    }

    /// Returns the delimiter.
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Returns the line of the record that was read last, where it ends with the file, and neither a line break nor a quote says that
    /// nothing of it is missing.
    pub(super) fn unended(&self) -> Option<u64> {
        self.unended
    }

    /// Says how many columns the header has.
    pub(super) fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Reads the next record that is no empty line; `false` at the end.
    ///
    /// # Errors
    /// What the source reports, and quotes after which it cannot be told where a row begins.
    pub(super) fn read(&mut self, source: &mut Source, record: &mut Record) -> Result<bool, Error> {
        self.line = skip_breaks(source, self.line)?;
        if source.peek()?.is_none() {
            return Ok(false);
        }
        let mut fields = record.begin(self.line);
        if let Some(length) = plain_line(self.delimiter, source.fill()?, &mut fields) {
            record.finish(fields);
            if self.columns > 0 && record.len() != self.columns {
                record.raw.push(&source.fill()?[..length]);
            }
            source.consume(length);
            self.line += 1;
            return Ok(true);
        }
        let mut row = Row {
            fields: &mut fields,
            faults: &mut record.faults,
            raw: &mut record.raw,
            bytes: 0,
            opened: self.line,
            last: b'"',
        };
        let result = self.read_cells(source, &mut row);
        let bytes = row.bytes;
        if bytes > ROW_BYTES_MAX as u64 {
            record
                .faults
                .retain(|fault| matches!(fault, Fault::LongField { .. }));
            record.faults.push(Fault::LongRow { bytes });
        }
        record.finish(fields);
        result.map(|()| true)
    }

    fn read_cells(&mut self, source: &mut Source, row: &mut Row<'_>) -> Result<(), Error> {
        let mut state = State::Start;
        loop {
            let delimiter = self.delimiter;
            let chunk = source.fill()?;
            let Some(&first) = chunk.first() else {
                return self.end_of_file(state, row);
            };
            let taken = match state {
                State::Start if first == b'"' => {
                    (row.opened, row.last) = (self.line, first);
                    row.bytes += 1;
                    state = State::Quoted;
                    1
                }
                State::Start | State::Plain => {
                    let length = find(chunk, |b| b == delimiter || b == b'\n' || b == b'\r');
                    row.push(&chunk[..length]);
                    state = State::Plain;
                    match chunk.get(length) {
                        None => length,
                        Some(end) => {
                            let end = *end;
                            row.raw.push(&chunk[..=length]);
                            source.consume(length + 1);
                            self.end_cell(row)?;
                            if end == b'\n' {
                                self.line += 1;
                                return Ok(());
                            }
                            state = if end == b'\r' {
                                State::Return
                            } else {
                                State::Start
                            };
                            row.bytes += 1;
                            continue;
                        }
                    }
                }
                State::Quoted => {
                    let taken;
                    (state, taken) = self.quoted(chunk, row);
                    taken
                }
                State::Quote if first == b'"' => {
                    row.push(b"\"");
                    row.last = first;
                    state = State::Quoted;
                    1
                }
                State::Quote | State::Closed => {
                    let taken;
                    (state, taken) = self.after_quote(first, row)?;
                    taken
                }
                State::Return => {
                    self.line += 1;
                    if first == b'\n' {
                        source.consume(1);
                    }
                    return Ok(());
                }
            };
            row.raw.push(&source.fill()?[..taken]);
            source.consume(taken);
        }
    }

    /// Ends the last row, which may have no line break.
    fn end_of_file(&mut self, state: State, row: &mut Row<'_>) -> Result<(), Error> {
        if state == State::Quoted {
            return Err(Error::OpenQuote { line: row.opened });
        }
        if state != State::Return {
            self.end_cell(row)?;
        }
        if matches!(state, State::Start | State::Plain) {
            self.unended = Some(self.line);
        }
        Ok(())
    }

    /// Takes what stands between quotes, up to the next one: returns what comes next, and how many bytes were taken.
    fn quoted(&mut self, chunk: &[u8], row: &mut Row<'_>) -> (State, usize) {
        let length = find(chunk, |b| b == b'"');
        let text = &chunk[..length];
        row.push(text);
        for byte in text {
            // A carriage return and a line feed are one line break.
            self.line += u64::from(match byte {
                b'\n' => row.last != b'\r',
                _ => *byte == b'\r',
            });
            row.last = *byte;
        }
        if length == chunk.len() {
            return (State::Quoted, length);
        }
        row.bytes += 1;
        (State::Quote, length + 1)
    }

    /// Takes what stands behind the closing quote of a cell: returns what comes next, and how many bytes were taken.
    fn after_quote(&self, first: u8, row: &mut Row<'_>) -> Result<(State, usize), Error> {
        if matches!(first, b'\n' | b'\r') || first == self.delimiter {
            return Ok((State::Plain, 0));
        }
        if first == b' ' {
            row.bytes += 1;
            return Ok((State::Closed, 1));
        }
        if row.opened != self.line {
            return Err(Error::Swallowed {
                line: row.opened,
                closed: self.line,
                reason: "text follows its closing quote",
            });
        }
        let index = row.fields.index();
        row.fault(Fault::TextAfterQuote { index });
        Ok((State::Plain, 0))
    }

    fn end_cell(&self, row: &mut Row<'_>) -> Result<(), Error> {
        let opened = std::mem::replace(&mut row.opened, self.line);
        let spans_lines = opened != self.line;
        if spans_lines {
            let looks_like_rows =
                self.columns > 2 && holds_rows(row.fields.current(), self.delimiter, self.columns);
            if looks_like_rows {
                return Err(Error::Swallowed {
                    line: opened,
                    closed: self.line,
                    reason: "it holds lines that look like rows",
                });
            }
        }
        if row.is_full() {
            return Ok(());
        }
        let index = row.fields.index();
        let bytes = row.fields.end();
        if bytes > FIELD_BYTES_MAX as u64 {
            if spans_lines {
                return Err(Error::Swallowed {
                    line: opened,
                    closed: self.line,
                    reason: "it has more than 4096 bytes",
                });
            }
            row.fault(Fault::LongField { index, bytes });
        }
        Ok(())
    }
}

/// The row that is being read.
struct Row<'a> {
    fields: &'a mut Fields,
    faults: &'a mut Vec<Fault>,
    raw: &'a mut Raw,
    bytes: u64,
    /// The line the current quoted cell begins in; the current line outside of quotes.
    opened: u64,
    /// The byte of the quoted cell that was read last.
    last: u8,
}

impl Row<'_> {
    fn is_full(&self) -> bool {
        self.bytes > ROW_BYTES_MAX as u64
    }

    fn push(&mut self, text: &[u8]) {
        if !self.is_full() {
            self.fields.push(text);
        }
        self.bytes += text.len() as u64;
    }

    fn fault(&mut self, fault: Fault) {
        if !self.is_full() && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

/// Returns whether a cell of several lines holds rows of so many columns, or the end of one and the beginning of the next, which have
/// together what a row has: a quote that was not closed has swallowed them.
fn holds_rows(cell: &[u8], delimiter: u8, columns: usize) -> bool {
    let is_delimiter = |byte: &u8| *byte == delimiter;
    let count = |text: &[u8]| text.iter().filter(|byte| is_delimiter(byte)).count();
    let lines = || cell.split(|byte| matches!(byte, b'\n' | b'\r'));
    let has_row = || lines().skip(1).any(|line| count(line) + 1 >= columns);
    // Every row has one that stands alone, and prose has not.
    let has_number = || {
        let mut cells = lines().flat_map(|line| line.split(is_delimiter));
        cells.any(is_number_or_day)
    };
    count(cell) + 1 >= columns && (has_row() || has_number())
}

/// Returns whether a cell is an amount, a number, a date or a time.
fn is_number_or_day(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    cell.iter().any(u8::is_ascii_digit)
        && cell
            .iter()
            .all(|byte| byte.is_ascii_digit() || b" .,:/-+'\"".contains(byte))
}

/// Takes a whole line that no quote stands in, as nearly every one is; returns its length, its line break included.
fn plain_line(delimiter: u8, chunk: &[u8], fields: &mut Fields) -> Option<usize> {
    let length = memchr::memchr(b'\n', chunk)?;
    let line = &chunk[..length];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() > FIELD_BYTES_MAX || memchr::memchr2(b'"', b'\r', line).is_some() {
        return None;
    }
    let mut start = 0;
    for end in memchr::memchr_iter(delimiter, line).chain([line.len()]) {
        fields.push(&line[start..end]);
        fields.end();
        start = end + 1;
    }
    Some(length + 1)
}

/// Passes over line breaks, and returns the line behind them.
fn skip_breaks(source: &mut Source, mut line: u64) -> Result<u64, Error> {
    loop {
        match source.peek()? {
            Some(b'\n') => line += 1,
            // Together with a line feed it is one line break, which the feed counts.
            Some(b'\r') => {
                source.consume(1);
                line += u64::from(source.peek()? != Some(b'\n'));
                continue;
            }
            _ => return Ok(line),
        }
        source.consume(1);
    }
}

/// Reads a line such as `sep=;`, an old way to tell a spreadsheet the delimiter; returns that, and the length of the line.
fn said_by(head: &[u8]) -> Option<(u8, usize)> {
    let (delimiter, rest) = head.strip_prefix(b"sep=")?.split_first()?;
    let length = match rest {
        [b'\r', b'\n', ..] => 7,
        [b'\n' | b'\r', ..] => 6,
        _ => return None,
    };
    DELIMITERS
        .contains(delimiter)
        .then_some((*delimiter, length))
}

/// Passes over a line, whatever stands in it; the end of the file ends it, too.
fn skip_line(source: &mut Source) -> Result<(), Error> {
    loop {
        let chunk = source.fill()?;
        let end = memchr::memchr2(b'\n', b'\r', chunk);
        let (taken, found) = match end {
            None => (chunk.len(), None),
            Some(at) => (at + 1, Some(chunk[at])),
        };
        source.consume(taken);
        match found {
            Some(b'\r') if source.peek()? == Some(b'\n') => source.consume(1),
            None if source.peek()?.is_some() => continue,
            _ => {}
        }
        return Ok(());
    }
}

fn find(chunk: &[u8], is_end: impl Fn(u8) -> bool) -> usize {
    chunk.iter().position(|b| is_end(*b)).unwrap_or(chunk.len())
}

fn first_line(head: &[u8]) -> &[u8] {
    let mut quoted = false;
    let end = head.iter().position(|b| {
        quoted ^= *b == b'"';
        !quoted && matches!(b, b'\n' | b'\r')
    });
    &head[..end.unwrap_or(head.len())]
}

/// Returns the delimiter by the header, the first line of a text.
pub(super) fn delimiter_of(head: &[u8], known: impl Fn(&str) -> u8) -> u8 {
    detect(first_line(head), known)
}

/// Returns the delimiter that splits the header into the most columns that are known as they are written, then as they are
/// meant, then into the most columns.
fn detect(header: &[u8], known: impl Fn(&str) -> u8) -> u8 {
    let header = String::from_utf8_lossy(header);
    DELIMITERS
        .into_iter()
        .rev()
        .max_by_key(|delimiter| {
            let (mut exact, mut like, mut count) = (0_usize, 0_usize, 0_usize);
            for name in header.split(char::from(*delimiter)) {
                let how = known(name.trim().trim_matches('"').trim());
                exact += usize::from(how == 2);
                like += usize::from(how == 1);
                count += 1;
            }
            (exact, like, count)
        })
        .unwrap_or(b',')
}
