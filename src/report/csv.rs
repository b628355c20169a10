//! payments.csv: one row for each entry, safe to open in a spreadsheet.

use std::fmt::{Display, Write as _};
use std::io;
use std::path::Path;

use ::csv::{Writer, WriterBuilder};
use tempfile::NamedTempFile;

use super::writer::Row;
use super::{Error, output, text};
use crate::domain::Electricity;

/// The first columns are fixed for the readers of the file; new ones are added behind them.
const COLUMNS: [&str; 21] = [
    "line",
    "reference",
    "payer_transaction_id",
    "service_code",
    "msisdn",
    "account_number",
    "amount",
    "currency_code",
    "state",
    "status_code",
    "status_description",
    "gateway_transaction_id",
    "receipt_number",
    "receiver_narration",
    "attempts",
    "posted_at",
    "settled_at",
    "note",
    "electricity_token",
    "electricity_units",
    "application_id",
];

pub(super) struct Sheet {
    out: Writer<NamedTempFile>,
    number: String,
}

impl Sheet {
    pub(super) const NAME: &'static str = "payments.csv";

    pub(super) fn create(dir: &Path) -> Result<Self, Error> {
        let mut out = WriterBuilder::new()
            .buffer_capacity(1 << 17)
            .from_writer(output::stage(dir, Self::NAME)?);
        out.write_record(COLUMNS)
            .map_err(|e| Error::write(Self::NAME, dir)(e.into()))?;
        Ok(Self {
            out,
            number: String::new(),
        })
    }

    pub(super) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let entry = row.entry;
        self.number(entry.line)?;
        self.text(entry.reference)?;
        self.text(entry.id)?;
        self.text(entry.service_code)?;
        self.text(entry.msisdn)?;
        self.text(entry.account_number)?;
        // A number, to be added up.
        self.shielded(row.amount)?;
        self.text(row.currency)?;
        self.out.write_field(entry.state.as_str())?;
        match entry.status_code {
            Some(code) => self.number(code)?,
            None => self.out.write_field("")?,
        }
        self.text(entry.status_description)?;
        self.text(entry.gateway_transaction_id)?;
        self.text(entry.receipt_number)?;
        self.text(entry.receiver_narration)?;
        self.number(entry.attempts)?;
        self.out.write_field(row.posted_at)?;
        self.out.write_field(row.settled_at)?;
        self.text(entry.note)?;
        // In groups: a spreadsheet rounds twenty digits to fifteen.
        let electricity = row.electricity.as_ref();
        self.shielded(&electricity.map_or(String::new(), Electricity::grouped))?;
        self.shielded(&electricity.map_or(String::new(), Electricity::units_text))?;
        self.text(entry.application_id)?;
        Ok(self.out.write_record(None::<&[u8]>)?)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let cell = text::verbatim(text);
        Ok(self.out.write_field(cell.as_bytes())?)
    }

    fn shielded(&mut self, text: &str) -> io::Result<()> {
        let cell = text::for_spreadsheet(text);
        Ok(self.out.write_field(cell.as_bytes())?)
    }

    fn number(&mut self, number: impl Display) -> io::Result<()> {
        self.number.clear();
        write!(self.number, "{number}").expect("writing to a String cannot fail");
        Ok(self.out.write_field(&self.number)?)
    }

    pub(super) fn finish(self) -> io::Result<NamedTempFile> {
        self.out
            .into_inner()
            .map_err(::csv::IntoInnerError::into_error)
    }
}
