//! Good rows of a file as they stand in it, for what is found only when all of it was seen.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use super::reader::Reader;
use super::{Error, Options, Rules};

/// Which rows of a file are bad, a bit for each: with it the good ones can be counted again, whatever is judged anew.
#[derive(Debug, Default)]
pub struct BadPlaces {
    bits: Vec<u64>,
    rows: u64,
}

impl BadPlaces {
    /// Takes the next row of the file.
    pub fn push(&mut self, is_bad: bool) {
        let (word, bit) = Self::place(self.rows);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        self.bits[word] |= u64::from(is_bad) << bit;
        self.rows += 1;
    }

    fn is_bad(&self, row: u64) -> bool {
        let (word, bit) = Self::place(row);
        self.bits.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
    }

    fn place(row: u64) -> (usize, u64) {
        (usize::try_from(row / 64).unwrap_or(usize::MAX), row % 64)
    }
}

/// Reads a file again and hands out the cells of good rows, by their number among the good ones, 1-based.
///
/// For what is found only when the whole file was seen: such rows belong into the file with corrections too. Their lines would
/// not do: JSON may have all rows on one.
///
/// # Errors
/// As [`Reader::open`] and the reader itself.
pub fn raw_rows(
    input: impl Read + Send + 'static,
    options: &Options,
    rules: Arc<Rules>,
    bad: &BadPlaces,
    wanted: &BTreeSet<u64>,
    each: impl FnMut(u64, Vec<String>),
) -> Result<(), Error> {
    match wanted.is_empty() {
        true => Ok(()),
        false => raw_rows_of(Reader::open(input, options, rules)?, bad, wanted, each),
    }
}

/// As [`raw_rows`], of a file that is open.
///
/// # Errors
/// As the reader.
pub fn raw_rows_of(
    mut reader: Reader,
    bad: &BadPlaces,
    wanted: &BTreeSet<u64>,
    mut each: impl FnMut(u64, Vec<String>),
) -> Result<(), Error> {
    let Some(last) = wanted.last() else {
        return Ok(());
    };
    let (mut rows, mut good) = (0, 0);
    while let Some(row) = reader.advance_or_end() {
        row?;
        let is_bad = bad.is_bad(rows);
        rows += 1;
        if is_bad {
            continue;
        }
        good += 1;
        if wanted.contains(&good) {
            each(good, reader.record().cells().map(str::to_owned).collect());
        }
        if good >= *last {
            break;
        }
    }
    Ok(())
}
