//! Where the records of a CSV begin, in lines as a person counts them: a line ends with LF, CR LF or CR, and blank lines count. And
//! whether its quotes are closed.
//!
//! The `csv` crate counts the line feeds before a record. After CR LF and after blank lines, that is a line above the record. And it reads
//! on where text follows a closing quote: with one quote missing, a cell of the next record would stand in this one, unseen.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::Error;

/// The most bytes between two records. A quote that is never closed would take the whole file for one cell.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// The first record may begin behind this mark, which belongs to its line.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads on, and remembers where lines begin since the last record that was asked about.
#[derive(Debug)]
pub struct Numbered<R> {
    input: R,
    /// Bytes that were read.
    read: u64,
    /// The line of the last byte.
    line: u64,
    last: u8,
    /// Offset and number of each line that is not blank.
    starts: VecDeque<(u64, u64)>,
    /// So many bytes of a mark stand at the beginning.
    mark: u64,
    /// What was asked about last.
    asked: (u64, u64),
    delimiter: u8,
    place: Place,
    /// The line in which the last quoted cell begins.
    opened: u64,
}

/// Where in a record a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the beginning of a cell.
    Start,
    /// In a cell without quotes.
    Plain,
    /// Between quotes.
    Quoted,
    /// Behind a quote that closes the cell, or is the first of two.
    Quote,
    /// Behind a closing quote and a blank.
    Closed,
}

impl<R> Numbered<R> {
    /// Numbers the lines of an input that was not read yet. `delimiter`: what stands between cells.
    pub const fn new(input: R, delimiter: u8) -> Self {
        Self {
            input,
            read: 0,
            line: 1,
            last: b'\n',
            starts: VecDeque::new(),
            mark: 0,
            asked: (0, 1),
            delimiter,
            place: Place::Start,
            opened: 1,
        }
    }

    /// Returns the line of the record that begins behind so many bytes, as [`csv::Position::byte`] tells them. Records are asked
    /// about in their order.
    pub fn line_of(&mut self, byte: u64) -> u64 {
        let is_first = byte == self.mark && byte == BYTE_ORDER_MARK.len() as u64;
        // Line breaks that the reader has not passed yet stand between that byte and the record.
        while !is_first && self.starts.front().is_some_and(|(start, _)| *start < byte) {
            self.starts.pop_front();
        }
        let line = self.starts.front().map_or(self.line, |(_, line)| *line);
        self.asked = (byte, line);
        line
    }

    /// Returns whether the last line ends with a line break, as far as was read.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        matches!(self.last, b'\n' | b'\r')
    }

    fn see(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for (offset, byte) in (self.read..).zip(bytes) {
            let marks = usize::try_from(offset)
                .ok()
                .and_then(|at| BYTE_ORDER_MARK.get(at));
            let is_mark = self.mark == offset && marks == Some(byte);
            self.mark += u64::from(is_mark);
            let is_second = self.last == b'\r' && *byte == b'\n';
            let begins = offset == 0 || self.is_ended();
            // The break itself belongs to the line that it ends.
            if begins && offset > 0 && !is_second {
                self.line += 1;
            }
            if begins && !matches!(byte, b'\n' | b'\r') {
                self.starts.push_back((offset, self.line));
            }
            self.last = *byte;
            if !is_mark {
                self.place = self.follow(*byte)?;
            }
        }
        self.read += bytes.len() as u64;
        Ok(())
    }

    /// Returns where the byte behind this one stands.
    fn follow(&mut self, byte: u8) -> Result<Place, Error> {
        let ends_cell = byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        Ok(match (self.place, byte) {
            (Place::Start, b'"') => {
                self.opened = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quoted, _) | (Place::Quote, b'"') => Place::Quoted,
            _ if ends_cell => Place::Start,
            (Place::Start | Place::Plain, _) => Place::Plain,
            (Place::Quote | Place::Closed, b' ') => Place::Closed,
            (Place::Quote | Place::Closed, _) => {
                return Err(self.swallowed("text follows its closing quote"));
            }
        })
    }

    fn swallowed(&self, reason: &'static str) -> Error {
        Error::Swallowed {
            line: self.opened,
            closed: self.line,
            reason,
        }
    }
}

impl<R: Read> Read for Numbered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.see(&buffer[..read]).map_err(io::Error::other)?;
        if read == 0 && !buffer.is_empty() && self.place == Place::Quoted {
            let line = self.opened;
            return Err(io::Error::other(Error::OpenQuote { line }));
        }
        let (byte, line) = self.asked;
        // The record that was asked about, and the one that is being read.
        match (self.read - byte > 2 * RECORD_BYTES_MAX, self.place) {
            (false, _) => Ok(read),
            (true, Place::Quoted) => Err(io::Error::other(
                self.swallowed("it has more than a megabyte"),
            )),
            (true, _) => Err(io::Error::other(format!(
                "a row below line {line} has more than a megabyte"
            ))),
        }
    }
}

/// Returns whether a cell of a record holds a line break and what looks like rows, or the end of one and the beginning of the next, of so
/// many columns: a quote that was not closed has swallowed it. `is_cell`: whether a text is a cell that every row has one of, and that stands
/// alone in no prose.
#[must_use]
pub fn holds_rows(
    record: &::csv::StringRecord,
    delimiter: u8,
    columns: usize,
    is_cell: impl Fn(&str) -> bool,
) -> bool {
    let delimiter = char::from(delimiter);
    let count = |line: &str| line.matches(delimiter).count();
    let has_cell = |line: &str| {
        let mut cells = line.split(delimiter);
        cells.any(|cell| is_cell(cell.trim().trim_matches('"').trim()))
    };
    // The end of one row and the beginning of the next have together what a row has.
    let swallows = |cell: &str| {
        let lines = cell.split(['\n', '\r']).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        lines.len() > 1 && count(cell) + 1 >= columns && lines.into_iter().any(has_cell)
    };
    columns > 2 && record.iter().any(swallows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out so many bytes at once.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(size);
            buffer[..size].copy_from_slice(now);
            self.0 = later;
            Ok(size)
        }
    }

    fn lines(text: &[u8], at_once: usize) -> Vec<(String, u64)> {
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Numbered::new(Pieces(text, at_once), b','));
        let mut record = ::csv::StringRecord::new();
        let mut lines = Vec::new();
        while reader.read_record(&mut record).unwrap() {
            let byte = record.position().unwrap().byte();
            let cell = record[0].trim_start_matches('\u{feff}').to_owned();
            lines.push((cell, reader.get_mut().line_of(byte)));
        }
        lines
    }

    #[test]
    fn a_record_begins_in_the_line_that_an_editor_shows() {
        let cases: [(&str, &[(&str, u64)]); 12] = [
            ("", &[]),
            ("a", &[("a", 1)]),
            ("a\nb\nc\n", &[("a", 1), ("b", 2), ("c", 3)]),
            ("a\r\nb\r\nc\r\n", &[("a", 1), ("b", 2), ("c", 3)]),
            ("a\rb\rc", &[("a", 1), ("b", 2), ("c", 3)]),
            ("a\n\n\nb\n", &[("a", 1), ("b", 4)]),
            ("a\r\n\r\n\r\nb\r\n\r\nc", &[("a", 1), ("b", 4), ("c", 6)]),
            ("a\r\r\rb", &[("a", 1), ("b", 4)]),
            ("\n\na\nb", &[("a", 3), ("b", 4)]),
            ("\r\n\r\na\r\nb", &[("a", 3), ("b", 4)]),
            ("a,\"x\r\ny\r\n\r\nz\"\r\nb\r\n", &[("a", 1), ("b", 5)]),
            ("\u{feff}a\r\nb\n\rc", &[("a", 1), ("b", 2), ("c", 4)]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(a, n)| ((*a).to_owned(), *n))
                .collect();
            for at_once in [1, 2, 5, 100] {
                assert_eq!(
                    lines(text.as_bytes(), at_once),
                    expected,
                    "{text:?} {at_once}"
                );
            }
        }
    }

    #[test]
    fn rows_that_a_quote_has_swallowed_are_seen() {
        for (text, swallows) in [
            ("a,b,\"c\"\nd,e,f\n", false),
            ("a,b,\"c\nmore, of it\"\nd,e,f\n", false),
            ("a,b,\"c\nmore, of it, in prose\"\nd,e,f\n", false),
            ("a,b,\"c\nd,e,f\n", true),
            ("a,\"b,c\r\nd,e,f\r\ng,\"h,i\r\n", true),
            ("a,\"b\rd,e,f\r", true),
            // The end of one row, and the beginning of the next.
            ("a,\"b,f\nd,x\",c\n", true),
            ("a,\"b,f\nd,e,f\nd,x\",c\n", true),
            ("a,\"b,f\nx\",c\n", false),
            ("a,\"b, and\nc, so\",c\n", false),
        ] {
            let mut reader = ::csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(text.as_bytes());
            let mut records = reader.records().map(Result::unwrap);
            let is_cell = |cell: &str| cell == "d" || cell == "f";
            let found = records.any(|record| holds_rows(&record, b',', 3, is_cell));
            assert_eq!(found, swallows, "{text:?}");
        }
    }

    #[test]
    fn a_quote_that_is_missing_or_too_many_is_refused_with_its_line() {
        for (text, refused) in [
            ("a,\"b\"\nc,\"d\ne\"\n", None),
            ("a,\"b \"\"x\"\" c\" ,d\n", None),
            ("\u{feff}\"a\",b\r\n\"c\"", None),
            ("a 12\" pipe,b\"\n", None),
            (
                "a,b\nc,\"d,paid\ne,\"f\",paid\n",
                Some("line: 2, closed: 3"),
            ),
            ("\"a\"b,c\n", Some("line: 1, closed: 1")),
            ("\"a\" \"b\",c\n", Some("line: 1, closed: 1")),
            ("a,b\r\n\r\nc,\"d\r\ne,f\r\n", Some("OpenQuote { line: 3 }")),
            ("\u{feff}\"a,b\n", Some("OpenQuote { line: 1 }")),
        ] {
            for at_once in [1, 3, 100] {
                let mut input = Numbered::new(Pieces(text.as_bytes(), at_once), b',');
                let read = io::read_to_string(&mut input);
                let said = read.err().map(|error| format!("{:?}", error.into_inner()));
                match (refused, &said) {
                    (Some(with), Some(said)) => assert!(said.contains(with), "{text:?}: {said}"),
                    (refused, said) => {
                        assert_eq!(refused.is_none(), said.is_none(), "{text:?}: {said:?}")
                    }
                }
            }
        }
    }

    #[test]
    fn many_lines_are_numbered_beyond_what_is_buffered() {
        let text: String = (1..=50_000).map(|n| format!("{n},x\r\n")).collect();
        for (cell, line) in lines(text.as_bytes(), usize::MAX) {
            assert_eq!(cell, line.to_string());
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_take_the_file() {
        let text = format!("a\nb,\"{}", "x\n".repeat(3 << 20));
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Numbered::new(text.as_bytes(), b','));
        let mut record = ::csv::StringRecord::new();
        assert!(reader.read_record(&mut record).unwrap());
        let refused = reader.read_record(&mut record).unwrap_err().to_string();
        assert!(refused.contains("more than a megabyte"), "{refused}");
        assert!(reader.get_ref().read < 3 << 20);
    }
}
