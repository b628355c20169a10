//! Files that are no batches, opened as batches are: the rows of a text with a sign between their cells.

use std::io::Read;

use super::csv::{Parser, delimiter_of};
use super::record::{Fault, Record};
use super::source::Source;
use super::{Encoding, Error, FIELD_BYTES_MAX, ROW_BYTES_MAX};

/// The rows of a text that hold something, in any encoding, by the rules of batches: a quote that is missing never joins two rows.
pub struct TextLines {
    source: Source,
    parser: Parser,
    record: Record,
    /// Cells of a row, at most.
    columns: usize,
}

impl std::fmt::Debug for TextLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextLines").finish_non_exhaustive()
    }
}

impl TextLines {
    /// Opens a text. What stands between cells is said, or told by a first line such as `sep=;`, or by `find`, which is given the
    /// beginning of the text.
    ///
    /// # Errors
    /// It is empty, of another kind, or not of this encoding.
    pub fn open(
        input: impl Read + Send + 'static,
        encoding: Encoding,
        said: Option<u8>,
        find: impl FnOnce(&[u8]) -> u8,
    ) -> Result<Self, Error> {
        let mut source = Source::open(Box::new(input), encoding)?;
        let parser = Parser::open_at(&mut source, 0, said, find)?;
        Ok(Self {
            source,
            parser,
            record: Record::default(),
            columns: 0,
        })
    }

    /// As [`Self::open`], where the first line has headers, some of which are known.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_by(
        input: impl Read + Send + 'static,
        encoding: Encoding,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let known = |name: &str| if is_known(name) { 2 } else { 0 };
        Self::open(input, encoding, None, |head| delimiter_of(head, known))
    }

    /// Goes to the next row; `false` at the end.
    ///
    /// # Errors
    /// What is wrong with the text, quotes after which it cannot be told where a row begins, and a row that is too long.
    pub fn advance(&mut self) -> Result<bool, Error> {
        while self.parser.read(&mut self.source, &mut self.record)? {
            if let Some(fault) = self.record.faults.first() {
                return Err(refused(fault, self.line()));
            }
            self.columns = self.columns.max(self.record.len());
            self.parser.set_columns(self.columns);
            if !self.record.is_blank() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the line in which the row begins, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.record.line
    }

    /// Returns the cells of the row.
    #[must_use]
    pub fn cells(&self) -> Vec<&str> {
        self.record.cells().collect()
    }

    /// Returns whether the last row ends with the file, and neither a line break nor a quote says that nothing of it is missing.
    #[must_use]
    pub fn is_unended(&self) -> bool {
        self.parser.unended().is_some()
    }
}

/// Refuses a row with which a batch would go on: there it is named as a row that cannot be paid.
fn refused(fault: &Fault, line: u64) -> Error {
    let (bytes, what) = match fault {
        Fault::LongField { .. } => (FIELD_BYTES_MAX, "cell"),
        Fault::LongRow { .. } => (ROW_BYTES_MAX, "row"),
        _ => {
            return Error::Swallowed {
                line,
                closed: line,
                reason: "text follows its closing quote",
            };
        }
    };
    Error::Layout {
        what: format!("has a {what} of more than {bytes} bytes"),
        remedy: "look at the quotes from that line on: one may be missing".to_owned(),
        line: Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<TextLines, Error> {
        let input = std::io::Cursor::new(text.as_bytes().to_vec());
        TextLines::open(input, Encoding::default(), None, |_| b',')
    }

    #[test]
    fn a_row_begins_in_the_line_that_an_editor_shows() {
        let cases: [(&str, &[(&str, u64)]); 11] = [
            ("a", &[("a", 1)]),
            ("a\nb\nc\n", &[("a", 1), ("b", 2), ("c", 3)]),
            ("a\r\nb\r\nc\r\n", &[("a", 1), ("b", 2), ("c", 3)]),
            ("a\rb\rc", &[("a", 1), ("b", 2), ("c", 3)]),
            ("a\n\n,,\nb\n", &[("a", 1), ("b", 4)]),
            ("a\r\n\r\n\r\nb\r\n\r\nc", &[("a", 1), ("b", 4), ("c", 6)]),
            ("\n\na\nb", &[("a", 3), ("b", 4)]),
            ("a,\"x\r\ny\r\n\r\nz\"\r\nb\r\n", &[("a", 1), ("b", 5)]),
            ("a,\"x\ry\r\rz\"\rb\r", &[("a", 1), ("b", 5)]),
            ("\u{feff}a\r\nb\n\rc", &[("a", 1), ("b", 2), ("c", 4)]),
            ("sep=;\na;x,y\nb", &[("a", 2), ("b", 3)]),
        ];
        for (text, expected) in cases {
            let mut lines = open(text).unwrap();
            let mut found = Vec::new();
            while lines.advance().unwrap() {
                found.push((lines.cells()[0].to_owned(), lines.line()));
            }
            let expected: Vec<_> = expected
                .iter()
                .map(|(a, n)| ((*a).to_owned(), *n))
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn rows_that_a_quote_has_swallowed_are_seen() {
        for (text, swallows) in [
            ("\"c\"\n4,5,6", false),
            ("\"c\nmore, of it\"\n4,5,6", false),
            ("\"c\nmore, of 12 lines, and 3\"\n4,5,6", true),
            ("\"c, and, more\nof it\"\n4,5,6", false),
            ("\"c\n4,5,6\"\n", true),
            ("\"b\r4,5,6\"\r", true),
            ("\"c\nd,e,f\"\n", true),
            // The end of one row, and the beginning of the next.
            ("\"b,f\n4,x\"\n", true),
            ("\"b,7\nd,x\"\n", true),
            ("\"b,f\nd,e\"\n", false),
            ("\"b,f\n4,5,6\nd,x\"\n", true),
            ("\"b,f\nx\"\n", false),
        ] {
            let mut lines = open(&format!("a,b,c\n1,2,{text}")).unwrap();
            assert!(lines.advance().unwrap());
            let found = loop {
                match lines.advance() {
                    Ok(true) => {}
                    Ok(false) => break false,
                    Err(Error::Swallowed { line: 2, .. }) => break true,
                    Err(error) => panic!("{text:?}: {error}"),
                }
            };
            assert_eq!(found, swallows, "{text:?}");
        }
    }

    #[test]
    fn a_quote_that_is_missing_or_too_many_is_refused_with_its_line() {
        let long = format!("a,b\n\"{}\"\n", "x".repeat(FIELD_BYTES_MAX + 1));
        let lines_long = format!("a\nb,\"{}", "x\n".repeat(3 << 20));
        for (text, refused) in [
            ("a,\"b\"\nc,\"d\ne\"\n", None),
            ("a,\"b \"\"x\"\" c\" ,d\n", None),
            ("\u{feff}\"a\",b\r\n\"c\"", None),
            ("a 12\" pipe,b\"\n", None),
            (
                "a,b\nc,\"d,paid\ne,\"f\",paid\n",
                Some("line: 2, closed: 3"),
            ),
            (
                "a,b\rc,\"d,paid\re,\"f\",paid\r",
                Some("line: 2, closed: 3"),
            ),
            ("\"a\"b,c\n", Some("line: 1, closed: 1")),
            ("\"a\" \"b\",c\n", Some("line: 1, closed: 1")),
            ("a,b\r\n\r\nc,\"d\r\ne,f\r\n", Some("OpenQuote { line: 3 }")),
            ("\u{feff}\"a,b\n", Some("OpenQuote { line: 1 }")),
            (&long, Some("Some(2)")),
            (&lines_long, Some("OpenQuote { line: 2 }")),
        ] {
            let mut lines = open(text).unwrap();
            let said = loop {
                match lines.advance() {
                    Ok(true) => {}
                    Ok(false) => break None,
                    Err(error) => break Some(format!("{error:?}")),
                }
            };
            let what: String = text.chars().take(60).collect();
            match (refused, &said) {
                (Some(with), Some(said)) => assert!(said.contains(with), "{what:?}: {said}"),
                _ => assert_eq!(refused.is_none(), said.is_none(), "{what:?}: {said:?}"),
            }
        }
    }

    #[test]
    fn a_text_of_any_encoding_is_read_and_another_kind_is_named() {
        let text = "a,b\nWanjik\u{169},2\n";
        let utf16: Vec<u8> = std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        let mut lines = TextLines::open(
            std::io::Cursor::new(utf16),
            Encoding::default(),
            None,
            |_| b',',
        )
        .unwrap();
        assert!(lines.advance().unwrap() && lines.advance().unwrap());
        assert_eq!(lines.cells(), ["Wanjik\u{169}", "2"]);
        assert!(matches!(open("%PDF-1.7\n"), Err(Error::Foreign { .. })));
        assert!(matches!(open(""), Err(Error::Empty)));
    }
}
