//! One row as text, in buffers that the next row uses again.

use super::FIELD_BYTES_MAX;
use super::bad::RowError;
use super::oddity::Oddity;
use super::raw::Raw;
use super::text::cut;
use crate::ledger::shield::unshielded;

/// The cells of one row.
#[derive(Default)]
pub(super) struct Record {
    /// The line the row begins at, 1-based.
    pub line: u64,
    /// Which row of the file it is, 1-based, where the row before it begins at the same line: JSON may have all on one.
    pub row: Option<u64>,
    /// What was wrong with the row before its cells were looked at.
    pub faults: Vec<Fault>,
    /// The text of the row, where something is wrong with it as it stands in the file.
    pub raw: Raw,
    /// How many cells the row should have in the file, and how many it has, where that is known to differ.
    pub misfit: Option<(usize, usize)>,
    /// What a layout has found wrong with it.
    pub findings: Vec<RowError>,
    /// The positions of cells that are numbers in their sheet: a point stands in front of their decimals, whatever texts have there.
    pub numbers: Vec<usize>,
    /// It is hidden in its sheet, and hidden rows are left out.
    pub is_hidden: bool,
    /// By the layout it cannot be paid at all: whatever else is wrong with it would only mislead.
    pub refused: bool,
    text: String,
    ends: Vec<usize>,
}

/// What is wrong with a row as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// One cell, by its position, has more bytes than [`FIELD_BYTES_MAX`].
    LongField { index: usize, bytes: u64 },
    /// The row has more bytes than [`super::ROW_BYTES_MAX`].
    LongRow { bytes: u64 },
    /// One cell of a sheet, by its position, may not hold what a person saw in it.
    Odd { index: usize, oddity: Oddity },
    /// Text stands between a closing quote and the next delimiter.
    TextAfterQuote { index: usize },
    /// The row is not one JSON object; the text says why.
    Malformed(String),
    /// A member that does not fit, found while JSON was read.
    Found(RowError),
}

impl Record {
    /// Returns what is odd about its cells, by their positions.
    pub(super) fn oddities(&self) -> Vec<(usize, Oddity)> {
        let odd = self.faults.iter().filter_map(|fault| match fault {
            Fault::Odd { index, oddity } => Some((*index, *oddity)),
            _ => None,
        });
        odd.collect()
    }

    /// Empties the record and takes its buffers, for a parser to fill.
    pub(super) fn begin(&mut self, line: u64) -> Fields {
        self.line = line;
        self.faults.clear();
        self.raw.clear();
        (self.misfit, self.refused, self.is_hidden) = (None, false, false);
        self.findings.clear();
        self.numbers.clear();
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        Fields {
            bytes,
            ends,
            start: 0,
            length: 0,
        }
    }

    /// Takes the filled buffers back.
    pub(super) fn finish(&mut self, fields: Fields) {
        self.text = String::from_utf8(fields.bytes)
            .expect("a source yields whole characters, and cells are cut between characters");
        self.ends = fields.ends;
    }

    /// Returns how many cells there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a cell as it was written; empty when the row is too short.
    pub(super) fn cell(&self, index: usize) -> &str {
        let Some(end) = self.ends.get(index) else {
            return "";
        };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..*end]
    }

    /// Returns all cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.cell(index))
    }

    /// Takes over the place of a row and what is wrong with it as it stands in the file; its cells are the caller's to fill in.
    pub(super) fn begin_as(&mut self, other: &Self) -> Fields {
        let fields = self.begin(other.line);
        self.row = other.row;
        fields
    }

    /// Takes the shields off the cells that have one.
    pub(super) fn unshield(&mut self) {
        if !self.text.contains('\'') {
            return;
        }
        let mut text = String::with_capacity(self.text.len());
        let mut ends = Vec::with_capacity(self.ends.len());
        for cell in self.cells() {
            text.push_str(unshielded(cell));
            ends.push(text.len());
        }
        (self.text, self.ends) = (text, ends);
    }

    /// Returns whether no cell holds anything but blanks.
    pub(super) fn is_blank(&self) -> bool {
        self.faults.is_empty() && self.text.trim().is_empty()
    }
}

/// The buffers of a record that is being filled. No cell grows beyond the limit, however long the file's cell is.
pub(super) struct Fields {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    start: usize,
    length: u64,
}

impl Fields {
    /// Appends whole characters to the current cell.
    pub(super) fn push(&mut self, text: &[u8]) {
        self.length += text.len() as u64;
        let room = FIELD_BYTES_MAX.saturating_sub(self.bytes.len() - self.start);
        // Once something was left out, nothing that follows may close the gap.
        if self.length <= FIELD_BYTES_MAX as u64 {
            self.bytes.extend_from_slice(text);
        } else if self.length - (text.len() as u64) <= FIELD_BYTES_MAX as u64 {
            self.bytes.extend_from_slice(cut(text, room));
        }
    }

    /// Ends the current cell and returns its length in the file.
    pub(super) fn end(&mut self) -> u64 {
        self.start = self.bytes.len();
        self.ends.push(self.start);
        std::mem::take(&mut self.length)
    }

    /// Returns the position of the current cell.
    pub(super) fn index(&self) -> usize {
        self.ends.len()
    }

    /// Returns what the current cell holds so far.
    pub(super) fn current(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}
