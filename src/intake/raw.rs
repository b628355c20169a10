//! A row's text as it stands in the file: all that is kept of one that could not be read whole.
//!
//! What was read before it broke is no row: it may be valid, and pay another amount to somebody else.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::ROW_BYTES_MAX;
use super::text::cut;

/// The most bytes that are shown of it: with what is said of the rest it stays within the limit of a cell.
const SHOWN_MAX: usize = 3 * 1024;
/// What stands in the place of a line break: a cell with lines that look like rows would not be read again.
const LINE_BREAK: char = '⏎';

/// The text of a row in the making.
#[derive(Clone, Default)]
pub(super) struct Raw {
    text: Vec<u8>,
    bytes: u64,
    /// What is beyond the limit of a row.
    rest: Option<Sha256>,
}

impl Raw {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        (self.bytes, self.rest) = (0, None);
    }

    /// Appends a piece. Whole characters are kept up to the limit of a row; all of them are counted, and told apart.
    pub(super) fn push(&mut self, piece: &[u8]) {
        // Once something was left out, nothing that follows may close the gap.
        let kept = match self.rest {
            None => cut(piece, ROW_BYTES_MAX.saturating_sub(self.text.len())).len(),
            Some(_) => 0,
        };
        self.text.extend_from_slice(&piece[..kept]);
        if kept < piece.len() {
            self.rest
                .get_or_insert_with(Sha256::new)
                .update(&piece[kept..]);
        }
        self.bytes += piece.len() as u64;
    }

    /// Returns how many bytes it has in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what is kept of it.
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.text)
            .expect("a source yields whole characters, and texts are cut between characters")
    }

    /// Returns what is told of a row that begins at this line.
    pub(super) fn unread(&self, line: u64) -> Unread {
        let mut hash = Sha256::new();
        hash.update(b"not read whole\n");
        hash.update(self.text().trim());
        if let Some(rest) = &self.rest {
            hash.update(rest.clone().finalize());
        }
        Unread {
            text: shown(self.text(), self.bytes, line),
            digest: hash.finalize().into(),
        }
    }
}

/// A row that could not be read whole.
#[derive(Clone, PartialEq, Eq)]
pub struct Unread {
    /// Its text on one line, cut where it is long.
    pub text: String,
    /// SHA-256 over all of its text: rows with equal texts are equal, as everywhere.
    pub digest: [u8; 32],
}

impl Unread {
    /// A row that has nothing but the text of such a row, from an earlier load.
    pub(super) fn again(text: &str) -> Self {
        let mut raw = Raw::default();
        raw.push(text.as_bytes());
        Self {
            text: text.to_owned(),
            digest: raw.unread(0).digest,
        }
    }
}

fn shown(text: &str, bytes: u64, line: u64) -> String {
    let text = text.trim();
    let start = String::from_utf8_lossy(cut(text.as_bytes(), SHOWN_MAX));
    let mut shown = String::with_capacity(start.len());
    for c in start.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\r' => shown.push(LINE_BREAK),
            c => shown.push(c),
        }
    }
    // Each break is longer than it was.
    shown.truncate(cut(shown.as_bytes(), SHOWN_MAX).len());
    if start.len() < text.len() {
        let _ = write!(
            shown,
            "… [cut here: the row has {bytes} bytes; all of it is in line {line} of the file]"
        );
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        let mut raw = Raw::default();
        for piece in text.as_bytes().chunks(1000) {
            raw.push(piece);
        }
        raw
    }

    #[test]
    fn a_text_is_shown_on_one_line_and_cut_where_it_is_long() {
        assert_eq!(raw(" a,\"b\r\nc\n\"\n").unread(7).text, "a,\"b⏎c⏎\"");
        let long = "x".repeat(SHOWN_MAX + 1);
        let text = raw(&long).unread(7).text;
        assert!(
            text.ends_with(
                "… [cut here: the row has 3073 bytes; all of it is in line 7 of the file]"
            )
        );
        let lines = raw(&"\n1".repeat(2000)).unread(7).text;
        for text in [text, lines] {
            assert!(
                text.len() < crate::intake::FIELD_BYTES_MAX,
                "{}",
                text.len()
            );
        }
    }

    #[test]
    fn texts_that_differ_anywhere_are_other_rows() {
        let long = "x".repeat(ROW_BYTES_MAX + 10);
        let texts = [
            "",
            "a",
            "a b",
            &long,
            &format!("{long}y"),
            &format!("{long}z"),
        ];
        let digests: std::collections::BTreeSet<_> = texts
            .iter()
            .map(|text| raw(text).unread(3).digest)
            .collect();
        assert_eq!(digests.len(), texts.len());
        // Wherever it stands, and however its line ends.
        assert_eq!(raw("a\r\n").unread(3).digest, raw("a").unread(9).digest);
        assert_eq!(Unread::again("a").digest, raw("a").unread(9).digest);
    }
}
