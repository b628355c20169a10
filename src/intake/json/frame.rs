//! Where one row of JSON ends and the next begins, without holding more than one.

use super::super::raw::Raw;
use super::super::source::Source;
use super::super::{Error, ROW_BYTES_MAX};

/// One row's text as it stands in the file.
pub(in super::super) struct Frame<'a> {
    /// The line it begins at, 1-based.
    pub line: u64,
    /// The text, cut when the row is over the limit.
    pub raw: &'a Raw,
}

/// Cuts a source into the texts of its rows.
pub(in super::super) struct Frames {
    line: u64,
    shape: Shape,
    raw: Raw,
    first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Lines,
    Array,
    Ended,
}

impl Frames {
    /// Tells an array from lines by the first byte.
    ///
    /// # Errors
    /// [`Error::OtherFormat`] when it is neither, [`Error::Empty`] when there is none.
    pub(in super::super) fn open(source: &mut Source) -> Result<Self, Error> {
        let mut frames = Self {
            line: 1,
            shape: Shape::Lines,
            raw: Raw::default(),
            first: true,
        };
        match frames.skip_blanks(source)? {
            Some(b'{') => {}
            Some(b'[') => {
                source.consume(1);
                frames.shape = Shape::Array;
            }
            Some(_) => {
                let found = String::from_utf8_lossy(source.fill()?)
                    .chars()
                    .next()
                    .unwrap_or(' ');
                return Err(Error::OtherFormat {
                    expected: "JSON",
                    found,
                });
            }
            None => return Err(Error::Empty),
        }
        Ok(frames)
    }

    /// Returns the next row; `None` at the end.
    ///
    /// # Errors
    /// What the source reports, and breaks after which it cannot be told where a row begins.
    pub(in super::super) fn next(
        &mut self,
        source: &mut Source,
    ) -> Result<Option<Frame<'_>>, Error> {
        self.raw.clear();
        let line = match self.shape {
            Shape::Lines => self.next_line(source)?,
            Shape::Array => self.next_element(source)?,
            Shape::Ended => None,
        };
        self.first = false;
        Ok(line.map(|line| Frame {
            line,
            raw: &self.raw,
        }))
    }

    fn next_line(&mut self, source: &mut Source) -> Result<Option<u64>, Error> {
        if self.skip_blanks(source)?.is_none() {
            return Ok(None);
        }
        let line = self.line;
        loop {
            let chunk = source.fill()?;
            let end = memchr::memchr(b'\n', chunk).unwrap_or(chunk.len());
            let ended = chunk.is_empty() || end < chunk.len();
            self.raw.push(&chunk[..end]);
            source.consume(end);
            if ended {
                break;
            }
        }
        // An object over several lines would make an error of each; one sentence says it better.
        let spread = self.first
            && self.raw.bytes() <= ROW_BYTES_MAX as u64
            && serde_json::from_str::<serde::de::IgnoredAny>(self.raw.text())
                .is_err_and(|e| e.is_eof());
        if spread {
            let message = "the first object does not end in its line";
            return Err(Error::Json {
                line,
                message: message.to_owned(),
            });
        }
        Ok(Some(line))
    }

    fn next_element(&mut self, source: &mut Source) -> Result<Option<u64>, Error> {
        let mut next = self.skip_blanks(source)?;
        let mut comma = false;
        if !self.first && next == Some(b',') {
            source.consume(1);
            comma = true;
            next = self.skip_blanks(source)?;
        }
        match next {
            Some(b']') if !comma => {
                source.consume(1);
                self.shape = Shape::Ended;
                match self.skip_blanks(source)? {
                    None => Ok(None),
                    Some(_) => Err(self.broken("expected the end of the file after the array")),
                }
            }
            Some(b']' | b',' | b'}' | b':') => Err(self.broken("expected an object")),
            Some(_) if self.first || comma => self.element(source).map(Some),
            Some(_) => {
                Err(self.broken("expected a comma or the end of the array between two rows"))
            }
            None => Err(self.broken("the array is not closed at the end of the file")),
        }
    }

    fn element(&mut self, source: &mut Source) -> Result<u64, Error> {
        let begin = self.line;
        let (mut depth, mut quoted, mut escaped) = (0_u64, false, false);
        loop {
            let chunk = source.fill()?;
            if chunk.is_empty() {
                let message =
                    "the row that begins in this line is not closed at the end of the file";
                return Err(Error::Json {
                    line: begin,
                    message: message.to_owned(),
                });
            }
            let mut taken = 0;
            let mut ended = false;
            for byte in chunk {
                let mut closes = false;
                match byte {
                    // No text may hold one, so that a quote is missing, and what follows would be read inside out.
                    b'\n' if quoted => return Err(self.broken("a text is not closed in its line")),
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => {
                        quoted = !quoted;
                        closes = !quoted && depth == 0;
                    }
                    _ if quoted => {}
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' | b',' if depth == 0 => ended = true,
                    b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => ended = true,
                    b'}' | b']' => {
                        depth -= 1;
                        closes = depth == 0;
                    }
                    b'\n' => self.line += 1,
                    _ => {}
                }
                if ended {
                    break;
                }
                taken += 1;
                if closes {
                    ended = true;
                    break;
                }
            }
            self.raw.push(&chunk[..taken]);
            source.consume(taken);
            if ended {
                return Ok(begin);
            }
        }
    }

    fn skip_blanks(&mut self, source: &mut Source) -> Result<Option<u8>, Error> {
        loop {
            let next = source.peek()?;
            match next {
                Some(b'\n') => self.line += 1,
                Some(b' ' | b'\t' | b'\r') => {}
                _ => return Ok(next),
            }
            source.consume(1);
        }
    }

    fn broken(&self, message: &str) -> Error {
        Error::Json {
            line: self.line,
            message: message.to_owned(),
        }
    }
}
