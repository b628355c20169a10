//! The file of bad rows: as they were, with what is wrong beside them. Mended, it can be loaded as it is.

use std::borrow::Cow;
use std::io::{self, Seek, Write};

use super::bad::BadRow;
use super::columns::RAW;
use super::names::same;
use super::oddity::Oddity;
use super::reader::Form;
use super::text_book::{BookCell, NEW_SHEET, TextBook};
use crate::domain::ServiceCode;
use crate::ledger::shield::shielded_in;

/// The column that holds the errors. A reader ignores it.
const ERROR: &str = "error";
/// The column that names the row which was set aside, so that its mended one takes its place.
const REJECTED_ROW: &str = "rejected_row";
/// The column of the amount.
const AMOUNT: &str = "amount";
/// The column of the service.
const SERVICE: &str = "service_code";

/// Writes bad rows in the form of the file that they come from: as CSV, in UTF-8 and with its delimiter, or as a workbook of texts.
///
/// Cells of CSV that a spreadsheet would take for a formula are shielded, and a reader takes the shields off; a workbook's texts are
/// none.
pub struct Corrections<W: Write + Seek> {
    sink: Sink<W>,
    // Where errors and names go: in place of those of an earlier load, else after the last column.
    error_at: usize,
    name_at: usize,
    raw_at: usize,
    columns: usize,
    // A mended row goes through the service that it was read with, whatever is configured, or said, when it is loaded.
    service: Option<(usize, ServiceCode)>,
    /// What the columns are called in the contract.
    names: Vec<String>,
}

enum Sink<W: Write + Seek> {
    Csv(Box<::csv::Writer<W>>),
    Book(Box<TextBook<W>>),
}

impl<W: Write + Seek> Corrections<W> {
    /// Writes the header of a workbook.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create_book(output: W, form: &Form) -> io::Result<Self> {
        let book = TextBook::create(output, form.sheet.as_deref().unwrap_or(NEW_SHEET))?;
        Self::begin(Sink::Book(Box::new(book)), form)
    }

    /// Writes the header.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create(mut output: W, form: &Form) -> io::Result<Self> {
        if form.marked {
            output.write_all(b"\xef\xbb\xbf")?;
        }
        let writer = ::csv::WriterBuilder::new()
            .delimiter(form.delimiter)
            .flexible(true)
            .from_writer(output);
        Self::begin(Sink::Csv(Box::new(writer)), form)
    }

    fn begin(sink: Sink<W>, form: &Form) -> io::Result<Self> {
        let own = form.header.len();
        let service_at = form.names.iter().position(|name| name == SERVICE);
        let service = form
            .service
            .clone()
            .map(|service| (service_at.unwrap_or(own), service));
        // Where the file has no column for it, there is one behind its own.
        let columns = own + usize::from(service.is_some() && service_at.is_none());
        let position = |column: &str| form.header.iter().position(|name| name == column);
        let named_at = form.header.iter().position(|name| same(name, REJECTED_ROW));
        let name_at = named_at.unwrap_or(columns);
        let kept_at = position(RAW);
        let behind = columns + usize::from(named_at.is_none());
        let raw_at = kept_at.unwrap_or(behind);
        let error_at = position(ERROR).unwrap_or(behind + usize::from(kept_at.is_none()));
        let mut corrections = Self {
            sink,
            error_at,
            name_at,
            raw_at,
            columns,
            service: None,
            names: form.names.clone(),
        };
        // The header is that of the file: names of columns are no values.
        let said = Said {
            name: REJECTED_ROW,
            raw: Some(RAW),
            error: ERROR,
        };
        let mut header = form.header.clone();
        if columns > own {
            header.push(SERVICE.to_owned());
            corrections.names.push(SERVICE.to_owned());
        }
        if let Some(at) = named_at {
            REJECTED_ROW.clone_into(&mut header[at]);
        }
        corrections.put(&header, &[], &said, |_, name| Cow::Borrowed(name))?;
        corrections.service = service;
        Ok(corrections)
    }

    /// Writes one bad row, under the name of the rejected row that it is, or is to become; none where nothing is set aside.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write(&mut self, row: &BadRow, name: &str) -> io::Result<()> {
        let mut error = row.told_text();
        if row.unread.is_some() {
            error = format!("{error}. {}", unread_advice(!name.is_empty()));
        }
        let raw = row.unread.as_ref().map(|unread| unread.text.as_str());
        let said = Said {
            name,
            raw,
            error: &error,
        };
        self.put(row.cells(), &row.odd, &said, shielded_in)
    }

    /// Writes the cells of a row that was read whole, its name, and what is wrong with them.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_cells(&mut self, cells: &[String], name: &str, error: &str) -> io::Result<()> {
        let said = Said {
            name,
            raw: None,
            error,
        };
        self.put(cells, &[], &said, shielded_in)
    }

    fn put(
        &mut self,
        cells: &[String],
        odd: &[(usize, Oddity)],
        said: &Said<'_>,
        shield: for<'c> fn(&str, &'c str) -> Cow<'c, str>,
    ) -> io::Result<()> {
        let last = self.error_at.max(self.name_at).max(self.raw_at);
        let is_book = matches!(self.sink, Sink::Book(_));
        let mut row = Vec::with_capacity(self.columns.max(last + 1));
        for index in 0..self.columns.max(last + 1) {
            let own = cells.get(index).map_or("", String::as_str);
            let own = match &self.service {
                Some((at, service)) if *at == index && own.is_empty() && said.raw.is_none() => {
                    service.as_str()
                }
                _ => own,
            };
            let cell = match index {
                at if at == self.error_at => said.error,
                at if at == self.name_at => said.name,
                at if at == self.raw_at => said.raw.unwrap_or(own),
                _ => own,
            };
            let own_oddity = odd.iter().find(|(at, _)| *at == index);
            // The line through a cell is not handed on, and must not get lost: without its amount the row is not paid as it is.
            let is_amount = self.names.get(index).is_some_and(|name| name == AMOUNT);
            let oddity = own_oddity.or_else(|| {
                odd.iter()
                    .find(|(_, oddity)| is_amount && *oddity == Oddity::StruckOut)
            });
            // What nobody has meant by what stands there is not handed on as a text, which would be taken when it is loaded again.
            row.push(match oddity.map(|(_, oddity)| *oddity) {
                Some(Oddity::LostDigits) if is_book => BookCell::Number(cell),
                Some(
                    Oddity::LostDigits
                    | Oddity::Date
                    | Oddity::Dressed
                    | Oddity::ShownAsAnother
                    | Oddity::StruckOut
                    | Oddity::Merged
                    | Oddity::NotCalculated,
                ) => BookCell::Text(""),
                Some(Oddity::Calculated) | None => BookCell::Text(cell),
            });
        }
        match &mut self.sink {
            Sink::Book(book) => book.write_row(row),
            Sink::Csv(writer) => {
                for (index, cell) in row.into_iter().enumerate() {
                    let column = self.names.get(index).map_or("", String::as_str);
                    let (BookCell::Text(text) | BookCell::Number(text)) = cell;
                    writer.write_field(shield(column, text).as_ref())?;
                }
                writer.write_record(None::<&[u8]>)?;
                Ok(())
            }
        }
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(self) -> io::Result<W> {
        match self.sink {
            Sink::Csv(writer) => writer
                .into_inner()
                .map_err(::csv::IntoInnerError::into_error),
            Sink::Book(book) => book.finish(),
        }
    }
}

/// What is said of a row beside its cells.
struct Said<'a> {
    name: &'a str,
    /// Its text; none where it stays what it was.
    raw: Option<&'a str>,
    error: &'a str,
}

/// Says how a row is mended that could not be read whole.
#[must_use]
pub fn unread_advice(is_named: bool) -> &'static str {
    match is_named {
        true => {
            "Type the cells of the row anew, as they stand in the column raw. If several rows stand there, add a row for each, and leave rejected_row empty in all but the first"
        }
        false => {
            "Type the cells of the row anew, as they stand in the column raw. If several rows stand there, add a row for each"
        }
    }
}
