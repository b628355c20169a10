//! Bytes become text: byte order marks, UTF-8 checked strictly, UTF-16 and Windows-1252 decoded.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::encoding::Encoding;
use super::{Error, signature};

/// How many bytes are read at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// A column that reports alone write.
pub(super) const OF_REPORT: &[u8] = b"what_to_do";
/// How many bytes the signature is looked for in.
const HEAD_BYTES: usize = 4 * 1024;

/// A stream of whole characters, at most one chunk of it in memory.
pub(super) struct Source {
    input: Box<dyn Read + Send>,
    // None: the bytes are UTF-8 already.
    decoder: Option<Decoder>,
    /// Of a file that is read as Windows-1252.
    seen: Option<Utf8Seen>,
    raw: Vec<u8>,
    raw_ended: bool,
    text: Vec<u8>,
    position: usize,
    // Rows above a wrong byte are handed out before its error.
    pending: Option<Error>,
    place: Place,
    note: Option<&'static str>,
    marked: bool,
    ours: bool,
    of_report: bool,
    /// ISO 8859-1 has no letters where Windows-1252 has some.
    latin: bool,
}

/// Whether bytes that are read as Windows-1252 are UTF-8: text of that encoding hardly ever is by chance. Read wrongly, every
/// reference with such a letter is another one, and what was paid before is not known again.
#[derive(Default)]
struct Utf8Seen {
    /// Letters beyond ASCII.
    letters: bool,
    broken: bool,
    /// A letter that goes on in the next bytes.
    torn: Vec<u8>,
}

impl Utf8Seen {
    fn take(&mut self, bytes: &[u8]) {
        if self.broken {
            return;
        }
        self.torn.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.torn) {
            Ok(text) => text.len(),
            Err(error) => {
                self.broken = error.error_len().is_some();
                error.valid_up_to()
            }
        };
        self.letters |= !self.torn[..whole].is_ascii();
        self.torn.drain(..whole);
    }

    fn is_utf8(&self) -> bool {
        self.letters && !self.broken && self.torn.is_empty()
    }
}

/// Where the undecoded bytes begin.
#[derive(Default)]
struct Place {
    offset: u64,
    line_breaks: u64,
    line_start: u64,
}

impl Place {
    fn advance(&mut self, bytes: &[u8]) {
        let breaks = bytes.iter().filter(|b| **b == b'\n').count();
        if let Some(last) = bytes.iter().rposition(|b| *b == b'\n') {
            self.line_start = self.offset + last as u64 + 1;
        }
        self.line_breaks += breaks as u64;
        self.offset += bytes.len() as u64;
    }
}

impl Source {
    /// Reads the first bytes and decides how the others are decoded.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Foreign`], and what the input itself reports.
    pub(super) fn open(input: Box<dyn Read + Send>, encoding: Encoding) -> Result<Self, Error> {
        Self::open_unless(input, encoding, b"")
    }

    /// As [`Self::open`]; where the first line holds `ours`, the file is one of this program, which writes UTF-8.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn open_unless(
        input: Box<dyn Read + Send>,
        encoding: Encoding,
        ours: &[u8],
    ) -> Result<Self, Error> {
        let mut source = Self {
            input,
            decoder: None,
            seen: None,
            raw: Vec::with_capacity(CHUNK_BYTES),
            raw_ended: false,
            text: Vec::with_capacity(CHUNK_BYTES),
            position: 0,
            pending: None,
            place: Place::default(),
            note: None,
            marked: true,
            ours: false,
            of_report: false,
            latin: false,
        };
        // A pipe hands out small pieces.
        while source.raw.len() < HEAD_BYTES && !source.raw_ended {
            source.read_more()?;
        }
        if source.raw.is_empty() {
            return Err(Error::Empty);
        }
        source.ours = !ours.is_empty() && first_line_holds(&source.raw, ours);
        source.of_report = source.ours && first_line_holds(&source.raw, OF_REPORT);
        let encoding = match source.ours {
            true => Encoding::Utf8,
            false => encoding,
        };
        let encoding = match (encoding, declared(&source.raw)) {
            (Encoding::Utf8, Some(name)) => encoding_of(&name)?,
            (said, _) => said,
        };
        let utf16 = (encoding == Encoding::Utf16).then(|| utf16_of(&source.raw));
        if utf16.flatten().is_none() {
            signature::check_text(&source.raw)?;
        }
        let (mark, decoder, note) = match source.raw.as_slice() {
            [0xEF, 0xBB, 0xBF, ..] => (3, None, None),
            [0xFF, 0xFE, ..] => (2, Some(UTF_16LE), Some("read as UTF-16")),
            [0xFE, 0xFF, ..] => (2, Some(UTF_16BE), Some("read as UTF-16")),
            _ if utf16.is_some() => match utf16.flatten() {
                Some(order) => (0, Some(order), Some("read as UTF-16")),
                None => return Err(Error::NotEncoded("UTF-16")),
            },
            _ if encoding == Encoding::Windows1252 => {
                source.seen = Some(Utf8Seen::default());
                (0, Some(WINDOWS_1252), Some("read as Windows-1252"))
            }
            _ if encoding == Encoding::Iso8859 => {
                source.seen = Some(Utf8Seen::default());
                source.latin = true;
                (0, Some(WINDOWS_1252), Some("read as ISO 8859-1"))
            }
            _ => {
                source.marked = false;
                (0, None, None)
            }
        };
        source.raw.drain(..mark);
        source.place.offset = mark as u64;
        source.place.line_start = mark as u64;
        source.decoder = decoder.map(encoding_rs::Encoding::new_decoder_without_bom_handling);
        source.note = note;
        Ok(source)
    }

    /// Returns whether its first line says that this program wrote the file.
    pub(super) fn is_ours(&self) -> bool {
        self.ours
    }

    /// Returns whether its first line says that it is what a report has written of rows that failed.
    pub(super) fn is_of_report(&self) -> bool {
        self.of_report
    }

    /// Returns what is worth telling about the encoding.
    pub(super) fn note(&self) -> Option<&'static str> {
        self.note
    }

    /// Returns whether a spreadsheet needs a byte order mark to read our answer as it wrote the question.
    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }

    /// Returns the text at hand, at least one byte of it unless the source has ended.
    ///
    /// # Errors
    /// What the input reports, and bytes that are not of the encoding.
    pub(super) fn fill(&mut self) -> Result<&[u8], Error> {
        while self.position == self.text.len() {
            self.text.clear();
            self.position = 0;
            if let Some(error) = self.pending.take() {
                self.raw.clear();
                self.raw_ended = true;
                self.decoder = None;
                return Err(error);
            }
            if self.raw_ended && self.raw.is_empty() && self.decoder.is_none() {
                break;
            }
            if !self.raw_ended && self.raw.len() < HEAD_BYTES {
                self.read_more()?;
            }
            if self.decoder.is_some() {
                self.decode();
            } else {
                self.validate();
            }
        }
        Ok(&self.text[self.position..])
    }

    /// Marks bytes of the text at hand as read.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.position += bytes;
    }

    /// Returns the next byte without reading it.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Error> {
        Ok(self.fill()?.first().copied())
    }

    fn read_more(&mut self) -> Result<(), Error> {
        let held = self.raw.len();
        self.raw.resize(held + CHUNK_BYTES, 0);
        let read = loop {
            match self.input.read(&mut self.raw[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.raw.truncate(held + *read.as_ref().unwrap_or(&0));
        self.raw_ended = read? == 0;
        Ok(())
    }

    fn validate(&mut self) {
        let valid = match std::str::from_utf8(&self.raw) {
            Ok(text) => text.len(),
            Err(error) => {
                let valid = error.valid_up_to();
                self.place.advance(&self.raw[..valid]);
                // Without a length the character merely goes on in the next chunk, unless there is none.
                if error.error_len().is_some() || self.raw_ended {
                    self.pending = Some(Error::NotUtf8 {
                        line: self.place.line_breaks + 1,
                        byte_of_line: self.place.offset - self.place.line_start + 1,
                        offset: self.place.offset + 1,
                        byte: self.raw[valid],
                    });
                }
                self.text.extend_from_slice(&self.raw[..valid]);
                self.raw.drain(..valid);
                return;
            }
        };
        self.place.advance(&self.raw);
        self.text.extend_from_slice(&self.raw[..valid]);
        self.raw.clear();
    }

    fn decode(&mut self) {
        let Some(decoder) = &mut self.decoder else {
            return;
        };
        let room = decoder
            .max_utf8_buffer_length_without_replacement(self.raw.len())
            .unwrap_or(CHUNK_BYTES);
        self.text.resize(room, 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(&self.raw, &mut self.text, self.raw_ended);
        self.text.truncate(written);
        if let Some(seen) = &mut self.seen {
            seen.take(&self.raw[..read]);
        }
        let beyond = |byte: &&u8| (0x80..0xa0).contains(*byte);
        if self.latin && self.raw[..read].iter().any(|byte| beyond(&byte)) {
            self.pending = Some(Error::NotEncoded("ISO 8859-1"));
        }
        self.raw.drain(..read);
        self.place.advance(&self.text);
        match result {
            DecoderResult::Malformed(..) => {
                self.pending = Some(Error::NotUtf16 {
                    line: self.place.line_breaks + 1,
                });
            }
            // A decoder must not be asked again after its last chunk.
            DecoderResult::InputEmpty if self.raw_ended => {
                self.decoder = None;
                if self.seen.take().is_some_and(|seen| seen.is_utf8()) {
                    self.pending = Some(Error::IsUtf8);
                }
            }
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
        }
    }
}

fn first_line_holds(head: &[u8], text: &[u8]) -> bool {
    let end = memchr::memchr2(b'\n', b'\r', head).unwrap_or(head.len());
    memchr::memmem::find(&head[..end], text).is_some()
}

/// Returns the encoding that an XML declaration names.
fn declared(head: &[u8]) -> Option<String> {
    let head = head.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(head, b"?>")?;
    let text = std::str::from_utf8(&head[..end]).ok()?;
    let (_, rest) = text.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = rest[1..].split_once(quote)?;
    Some(name.to_owned())
}

fn encoding_of(declared: &str) -> Result<Encoding, Error> {
    let name = declared.to_ascii_lowercase();
    match name.as_str() {
        "us-ascii" | "ascii" => Ok(Encoding::Utf8),
        name => Encoding::from_name(name).ok_or_else(|| Error::Message {
            what: format!(
                "says that its encoding is {}, which is not read",
                super::text::quoted(declared)
            ),
            remedy: "export it in UTF-8".to_owned(),
            at: Some((1, 1)),
        }),
    }
}

/// Tells the order of the bytes of UTF-16 without a mark: of what most files begin with, one of two bytes is zero.
fn utf16_of(head: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    match head {
        [0xFF, 0xFE, ..] | [_, 0, ..] => Some(UTF_16LE),
        [0xFE, 0xFF, ..] | [0, _, ..] => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out `step` bytes at a time, so that characters are torn at every place.
    struct Drip(Vec<u8>, usize, usize);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let end = (self.1 + self.2)
                .min(self.0.len())
                .min(self.1 + buffer.len());
            let piece = &self.0[self.1..end];
            buffer[..piece.len()].copy_from_slice(piece);
            self.1 = end;
            Ok(piece.len())
        }
    }

    fn read(bytes: &[u8], step: usize, encoding: Encoding) -> Result<String, Error> {
        let mut source = Source::open(Box::new(Drip(bytes.to_vec(), 0, step)), encoding)?;
        let mut text = Vec::new();
        loop {
            let piece = source.fill()?;
            if piece.is_empty() {
                return Ok(String::from_utf8(text).unwrap());
            }
            text.extend_from_slice(piece);
            let length = piece.len();
            source.consume(length);
        }
    }

    #[test]
    fn every_encoding_becomes_the_same_text() {
        let text = "msisdn;names\n1;Wanjikũ 😀 é\n".repeat(3000);
        let utf16: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = utf16.iter().flat_map(|u| u.to_le_bytes()).collect();
        let big: Vec<u8> = utf16.iter().flat_map(|u| u.to_be_bytes()).collect();
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for bytes in [text.as_bytes(), &marked, &little, &big] {
            for step in [1, 7, 100_000] {
                assert!(
                    read(bytes, step, Encoding::Utf8).unwrap() == text,
                    "step {step}"
                );
            }
        }
        assert_eq!(
            read(b"Jos\xe9 \x80", 1, Encoding::Windows1252).unwrap(),
            "José €"
        );
    }

    #[test]
    fn an_encoding_that_is_said_is_read_and_no_other() {
        let text = "msisdn;names\n1;Jos\u{e9}\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let latin = b"msisdn;names\n1;Jos\xe9\n";
        for (bytes, encoding) in [
            (&little[..], Encoding::Utf16),
            (&big, Encoding::Utf16),
            (latin, Encoding::Iso8859),
            (latin, Encoding::Windows1252),
        ] {
            for step in [1, 7, 100_000] {
                assert_eq!(read(bytes, step, encoding).unwrap(), text, "{encoding:?}");
            }
        }
        for (bytes, encoding, expected) in [
            (text.as_bytes(), Encoding::Utf16, "is not UTF-16"),
            (b"5 \x80\n", Encoding::Iso8859, "is not ISO 8859-1"),
        ] {
            let error = read(bytes, 100, encoding).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.hint().is_some());
        }
        for (name, encoding) in [
            ("UTF-8", Encoding::Utf8),
            ("utf-16", Encoding::Utf16),
            ("Windows-1252", Encoding::Windows1252),
            ("iso-8859-1", Encoding::Iso8859),
        ] {
            assert_eq!(Encoding::from_name(name), Some(encoding));
            assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
        }
    }

    #[test]
    fn a_file_of_ours_is_utf_8_whatever_was_said_of_its_original() {
        let file = "a,rejected_row\nJos\u{e9},\n";
        let open = |bytes: &[u8]| {
            let input = Box::new(io::Cursor::new(bytes.to_vec()));
            Source::open_unless(input, Encoding::Windows1252, b"rejected_row").unwrap()
        };
        let mut source = open(file.as_bytes());
        assert!(source.is_ours());
        assert_eq!(source.fill().unwrap(), file.as_bytes());
        assert!(!open(b"a\nrejected_row\n").is_ours());
    }

    #[test]
    fn a_wrong_byte_is_placed() {
        let long = "a,b\n".repeat(50_000);
        let cases: &[(Vec<u8>, u64, u64, u64, u8)] = &[
            (b"a\nb\xe9c".to_vec(), 2, 2, 4, 0xe9),
            (b"\xef\xbb\xbfab\xff".to_vec(), 1, 3, 6, 0xff),
            (b"ab\xc3".to_vec(), 1, 3, 3, 0xc3),
            (
                [long.as_bytes(), b"x\xc3("].concat(),
                50_001,
                2,
                200_002,
                0xc3,
            ),
        ];
        for (bytes, line, byte_of_line, offset, byte) in cases {
            for step in [1, 100_000] {
                let error = read(bytes, step, Encoding::Utf8).unwrap_err();
                let Error::NotUtf8 {
                    line: l,
                    byte_of_line: c,
                    offset: o,
                    byte: b,
                } = error
                else {
                    panic!("{error}");
                };
                assert_eq!(
                    (l, c, o, b),
                    (*line, *byte_of_line, *offset, *byte),
                    "step {step}"
                );
            }
        }
    }

    #[test]
    fn half_a_utf16_character_is_an_error() {
        for bytes in [&b"\xff\xfea\0\n\0\x00\xd8x\0"[..], b"\xff\xfea\0\n\0b"] {
            let error = read(bytes, 100, Encoding::Utf8).unwrap_err();
            assert_eq!(error.line(), Some(2), "{error}");
        }
    }

    #[test]
    fn nothing_is_empty() {
        assert!(matches!(read(b"", 1, Encoding::Utf8), Err(Error::Empty)));
    }

    #[test]
    fn what_is_utf_8_is_not_read_as_windows_1252() {
        for (bytes, is_utf8) in [
            ("Août, Müller".as_bytes(), true),
            ("plain".as_bytes(), false),
            (b"Ao\xfbt", false),
            (b"Ao\xc3\xbbt, M\xfcller", false),
            (b"cut off \xc3", false),
        ] {
            for step in 1..5 {
                let found = read(bytes, step, Encoding::Windows1252);
                assert_eq!(
                    matches!(found, Err(Error::IsUtf8)),
                    is_utf8,
                    "{bytes:?} {step}"
                );
            }
        }
    }
}
