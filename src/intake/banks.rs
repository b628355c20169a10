//! The bank directory: code and name of every bank that can be paid to.

use std::collections::BTreeMap;
use std::io::Read;

use super::csv::Parser;
use super::encoding::Encoding;
use super::record::{Fault, Record};
use super::source::Source;
use super::text::{forbidden, quoted};
use super::{FIELD_BYTES_MAX, ROW_BYTES_MAX};

const CODE: &str = "bank_code";
const NAME: &str = "bank_name";
/// There are some ten thousand banks in the world.
const ROWS_MAX: usize = 100_000;

/// Codes as texts, so that a leading zero counts, each with its bank's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankDirectory {
    names: BTreeMap<String, String>,
}

/// Why a directory is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BankDirectoryError {
    /// The line of the file, 1-based; `None` when the file as a whole is concerned.
    pub line: Option<u64>,
    /// What was expected, what was found.
    pub message: String,
}

impl BankDirectory {
    /// Reads a CSV file with the columns `bank_code` and `bank_name`; others are left alone.
    ///
    /// # Errors
    /// The first row that is not a bank.
    pub fn read(input: impl Read + Send + 'static) -> Result<Self, BankDirectoryError> {
        let whole = |error: super::Error| BankDirectoryError {
            line: error.line(),
            message: error.to_string(),
        };
        let mut source = Source::open(Box::new(input), Encoding::default()).map_err(whole)?;
        let mut parser = Parser::open(&mut source, |name| {
            2 * u8::from([CODE, NAME].contains(&name))
        })
        .map_err(whole)?;
        let mut record = Record::default();
        if !parser.read(&mut source, &mut record).map_err(whole)? {
            return Err(at(None, "is empty".to_owned()));
        }
        let header: Vec<&str> = record.cells().map(str::trim).collect();
        let column = |name: &str| {
            let place = header.iter().position(|cell| *cell == name);
            place.ok_or_else(|| {
                let message =
                    format!("expected the columns {CODE} and {NAME}, found no column {name}");
                at(Some(record.line), message)
            })
        };
        let (code, name) = (column(CODE)?, column(NAME)?);
        let width = header.len();
        parser.set_columns(width);
        let mut banks = Self::default();
        let mut rows = 0;
        while parser.read(&mut source, &mut record).map_err(whole)? {
            if record.is_blank() {
                continue;
            }
            rows += 1;
            if rows > ROWS_MAX {
                let message = format!("expected at most {ROWS_MAX} banks, found more");
                return Err(at(Some(record.line), message));
            }
            banks
                .add(&record, code, name, width)
                .map_err(|message| at(Some(record.line), message))?;
        }
        if banks.names.is_empty() {
            return Err(at(None, "has a header and no banks".to_owned()));
        }
        Ok(banks)
    }

    fn add(
        &mut self,
        record: &Record,
        code: usize,
        name: usize,
        width: usize,
    ) -> Result<(), String> {
        match record.faults.first() {
            None => {}
            Some(Fault::LongRow { bytes }) => {
                return Err(format!(
                    "expected at most {ROW_BYTES_MAX} bytes in a row, found {bytes}"
                ));
            }
            Some(Fault::LongField { bytes, .. }) => {
                return Err(format!(
                    "expected at most {FIELD_BYTES_MAX} bytes in a cell, found {bytes}"
                ));
            }
            Some(_) => return Err("text follows a closing quote".to_owned()),
        }
        if record.len() != width {
            return Err(format!(
                "expected {width} cells as in the header, found {}",
                record.len()
            ));
        }
        let text = |at: usize, column: &str| {
            let text = record.cell(at).trim();
            match forbidden(text) {
                _ if text.is_empty() => Err(format!("{column}: expected a value, found nothing")),
                Some(_) => Err(format!(
                    "{column}: must not contain control characters ({})",
                    quoted(text)
                )),
                None => Ok(text.to_owned()),
            }
        };
        let (code, name) = (text(code, CODE)?, text(name, NAME)?);
        match self.names.get(&code) {
            Some(known) if !Self::is_same_name(known, &name) => Err(format!(
                "{CODE}: {} is the code of {} already, found {}",
                quoted(&code),
                quoted(known),
                quoted(&name)
            )),
            Some(_) => Ok(()),
            None => {
                self.names.insert(code, name);
                Ok(())
            }
        }
    }

    /// Returns the name of the bank with this code.
    pub(super) fn name_of(&self, code: &str) -> Option<&str> {
        self.names.get(code).map(String::as_str)
    }

    /// Returns the one code that differs in leading zeros alone: a spreadsheet may have dropped them.
    pub(super) fn with_zeros(&self, code: &str) -> Option<&str> {
        let plain = code.trim_start_matches('0');
        let mut near = self
            .names
            .keys()
            .filter(|known| !plain.is_empty() && known.trim_start_matches('0') == plain);
        near.next()
            .filter(|_| near.next().is_none())
            .map(String::as_str)
    }

    /// Returns whether two names are one, letter case and blanks aside.
    pub(super) fn is_same_name(one: &str, other: &str) -> bool {
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(|c| !c.is_whitespace());
            letters.flat_map(char::to_lowercase).collect()
        };
        plain(one) == plain(other)
    }
}

fn at(line: Option<u64>, message: String) -> BankDirectoryError {
    BankDirectoryError { line, message }
}
