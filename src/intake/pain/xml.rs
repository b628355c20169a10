//! Events of XML with their places, out of a bounded piece of the text.

use std::io::{self, BufRead, Read};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::super::source::Source;
use super::super::{Error, ROW_BYTES_MAX};
use crate::ledger::likeness::is_invisible;

/// The most bytes between two tags, or in one.
const PIECE_BYTES_MAX: usize = ROW_BYTES_MAX;

/// A place in a file, counted from 1; columns are characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::intake) struct Place {
    /// The line.
    pub line: u64,
    /// The character of the line.
    pub column: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Refuses a message, at a place of it.
pub(super) fn refused(
    at: Option<Place>,
    what: impl Into<String>,
    remedy: impl Into<String>,
) -> Error {
    Error::Message {
        what: what.into(),
        remedy: remedy.into(),
        at: at.map(|at| (at.line, at.column)),
    }
}

/// The most characters of the parser's own words that an error repeats.
const CAUSE_MAX: usize = 160;

/// Refuses what is no XML. The parser repeats names of the file, which may hold anything.
pub(super) fn unreadable(at: Place, cause: &str) -> Error {
    let shown = |c: char| match c.is_control() || is_invisible(c) {
        true => '?',
        false => c,
    };
    let cause: String = cause.chars().map(shown).take(CAUSE_MAX).collect();
    let what = format!("cannot be read as XML: {cause}");
    refused(Some(at), what, "export it again, whole")
}

/// What to do about a file that is no message of this kind.
pub(super) const EXPORT: &str = "export the payments as a pain.001 message, as CSV or as JSON: of XML files no other kind is read";

/// The text, as far as it was read, with the place up to which it was.
struct Text {
    source: Source,
    place: Place,
    /// Where the last event ended.
    begin: Place,
    /// Bytes since the last event.
    piece: usize,
    /// Why the source could not be read.
    failure: Option<Error>,
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let text = self.fill_buf()?;
        let length = text.len().min(buffer.len());
        buffer[..length].copy_from_slice(&text[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Text {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece > PIECE_BYTES_MAX {
            self.failure = Some(refused(
                Some(self.begin),
                format!("has a text, a tag or a comment of more than {PIECE_BYTES_MAX} bytes"),
                EXPORT,
            ));
            return Err(io::Error::other("too long"));
        }
        match self.source.fill() {
            Ok(text) => Ok(text),
            Err(error) => {
                self.failure = Some(error);
                Err(io::Error::other("not readable"))
            }
        }
    }

    fn consume(&mut self, bytes: usize) {
        // It was handed out before, so that it cannot fail.
        if let Ok(text) = self.source.fill() {
            let text = &text[..bytes.min(text.len())];
            let is_first = |byte: &&u8| (**byte & 0xC0) != 0x80;
            match memchr::memrchr(b'\n', text) {
                None => self.place.column += text.iter().filter(is_first).count() as u64,
                Some(last) => {
                    self.place.line += memchr::memchr_iter(b'\n', text).count() as u64;
                    let behind = text[last + 1..].iter().filter(is_first).count() as u64;
                    self.place.column = 1 + behind;
                }
            }
        }
        self.source.consume(bytes);
        self.piece += bytes;
    }
}

/// Reads events.
pub(super) struct Xml {
    reader: Reader<Text>,
    buffer: Vec<u8>,
}

impl Xml {
    pub(super) fn new(source: Source) -> Self {
        let mut reader = Reader::from_reader(Text {
            source,
            place: Place { line: 1, column: 1 },
            begin: Place { line: 1, column: 1 },
            piece: 0,
            failure: None,
        });
        reader.config_mut().check_end_names = true;
        Self {
            reader,
            buffer: Vec::new(),
        }
    }

    /// Returns the text that it is read from.
    pub(super) fn source(&self) -> &Source {
        &self.reader.get_ref().source
    }

    /// Returns the next event and the place at which it begins.
    ///
    /// # Errors
    /// What the source reports, and text that is no XML.
    pub(super) fn next(&mut self) -> Result<(Place, Event<'_>), Error> {
        self.buffer.clear();
        let place = self.reader.get_ref().place;
        let text = self.reader.get_mut();
        (text.piece, text.begin) = (0, place);
        match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => Ok((place, event)),
            Err(error) => Err(match self.reader.get_mut().failure.take() {
                Some(failure) => failure,
                None => unreadable(place, &error.to_string()),
            }),
        }
    }
}
