//! XML as messages and statements have it: elements and texts with their places, out of a bounded piece of the text. No document
//! type, no entity but the five of XML, nothing loaded from elsewhere.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::source::Source;
use super::{Encoding, Error, ROW_BYTES_MAX};
use crate::ledger::likeness::is_invisible;

/// The most bytes between two tags, or in one.
const PIECE_BYTES_MAX: usize = ROW_BYTES_MAX;

/// A place in a file, counted from 1; columns are characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
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

/// Refuses a file, at a place of it.
pub(in crate::intake) fn refused(
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
pub(in crate::intake) fn unreadable(at: Place, cause: &str) -> Error {
    let shown = |c: char| match c.is_control() || is_invisible(c) {
        true => '?',
        false => c,
    };
    let cause: String = cause.chars().map(shown).take(CAUSE_MAX).collect();
    let what = format!("cannot be read as XML: {cause}");
    refused(Some(at), what, "export it again, whole")
}

/// What is said of XML that is not as it must be.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// What is read: `a message`.
    pub what: &'static str,
    /// What to do about a file that is something else.
    pub remedy: &'static str,
}

/// What is said of messages with payments.
pub(in crate::intake) const MESSAGE: Words = Words {
    what: "a message",
    remedy: EXPORT,
};

/// What to do about a file that is no message of this kind.
pub(in crate::intake) const EXPORT: &str = "export the payments as a pain.001 message, as CSV or as JSON: of XML files no other kind is read";

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
    words: Words,
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
                self.words.remedy,
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

/// What an element begins, ends or holds.
#[derive(Debug)]
pub enum Piece<'a> {
    /// An element begins.
    Open(BytesStart<'a>),
    /// An element that holds nothing.
    Empty(BytesStart<'a>),
    /// Text, or a part of one, without entities.
    Text(Cow<'a, str>),
    /// The element that was opened last ends.
    Close,
    /// A comment or an instruction, which says nothing.
    Aside,
    /// The file ends.
    End,
}

/// Reads elements.
pub struct Xml {
    reader: Reader<Text>,
    buffer: Vec<u8>,
    words: Words,
}

impl std::fmt::Debug for Xml {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Xml").finish_non_exhaustive()
    }
}

impl Xml {
    /// Begins to read a file; `encoding` is that of one which declares none.
    ///
    /// # Errors
    /// The file is empty, of another kind, or of an encoding that is not read.
    pub fn open(
        input: impl Read + Send + 'static,
        encoding: Encoding,
        words: Words,
    ) -> Result<Self, Error> {
        Ok(Self::new(Source::open(Box::new(input), encoding)?, words))
    }

    pub(in crate::intake) fn new(source: Source, words: Words) -> Self {
        let mut reader = Reader::from_reader(Text {
            source,
            place: Place { line: 1, column: 1 },
            begin: Place { line: 1, column: 1 },
            piece: 0,
            failure: None,
            words,
        });
        reader.config_mut().check_end_names = true;
        Self {
            reader,
            buffer: Vec::new(),
            words,
        }
    }

    /// Returns the text that it is read from.
    pub(in crate::intake) fn source(&self) -> &Source {
        &self.reader.get_ref().source
    }

    /// Returns the next piece and the place at which it begins.
    ///
    /// # Errors
    /// What the source reports, text that is no XML, a document type, and entities that XML does not have by itself.
    pub fn read(&mut self) -> Result<(Place, Piece<'_>), Error> {
        self.buffer.clear();
        let place = self.reader.get_ref().place;
        let text = self.reader.get_mut();
        (text.piece, text.begin) = (0, place);
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => event,
            Err(error) => {
                return Err(match self.reader.get_mut().failure.take() {
                    Some(failure) => failure,
                    None => unreadable(place, &error.to_string()),
                });
            }
        };
        let Words { what, remedy } = self.words;
        let piece = match event {
            Event::Start(start) => Piece::Open(start),
            Event::Empty(start) => Piece::Empty(start),
            Event::End(_) => Piece::Close,
            Event::Text(text) => Piece::Text(text.into_inner()),
            Event::CData(text) => Piece::Text(text.into_inner()),
            Event::GeneralRef(reference) => {
                let character = match reference.resolve_char_ref() {
                    Ok(Some(character)) => Some(character),
                    Ok(None) => named_character(&reference),
                    Err(_) => None,
                };
                match character {
                    Some(character) => Piece::Text(Cow::Owned(character.into())),
                    None => {
                        let found = format!("has an entity, which {what} has not");
                        return Err(refused(Some(place), found, remedy));
                    }
                }
            }
            Event::DocType(_) => {
                let found = format!("has a document type, which {what} has not");
                return Err(refused(Some(place), found, remedy));
            }
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => Piece::Aside,
            Event::Eof => Piece::End,
        };
        Ok((place, piece))
    }
}

fn named_character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}
