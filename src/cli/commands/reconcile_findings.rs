//! `reconcile --findings`: every finding as a row of a CSV.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::cli::Error;
use crate::journal::StatementFinding;

/// The list of all findings.
pub(super) struct List(csv::Writer<BufWriter<std::fs::File>>);

impl List {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| {
                Error::refused(format!(
                    "{}: cannot be made: {error}; nothing was recorded",
                    path.display()
                ))
                .hint("name a file that is not there yet")
            })?;
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        let headers = [
            "finding",
            "payer_transaction_id",
            "reference",
            "line",
            "state",
            "amount",
            "currency_code",
            "statement_line",
            "statement_date",
            "statement_amount",
            "statement_currency_code",
            "statement_reference",
            "matched",
        ];
        writer
            .write_record(headers)
            .map_err(|error| Error::unexpected(format!("{}: {error}", path.display())))?;
        Ok(Self(writer))
    }

    pub(super) fn add(&mut self, finding: &StatementFinding) -> Result<(), csv::Error> {
        let mut cells = vec![finding.kind.name().to_owned()];
        match &finding.payment {
            Some(payment) => cells.extend([
                payment.id.to_string(),
                plain(&payment.reference),
                payment.line.to_string(),
                payment.state.name().to_owned(),
                payment.money.to_string(),
                payment.money.currency.code().to_owned(),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 6)),
        }
        match &finding.entry {
            Some(entry) => cells.extend([
                entry.place.clone(),
                entry.day.to_string(),
                entry.money.to_string(),
                entry.money.currency.code().to_owned(),
                plain(&entry.reference),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 5)),
        }
        cells.push(finding.by.map_or("", |by| by.in_words()).to_owned());
        self.0.write_record(cells)
    }

    pub(super) fn finish(mut self) -> std::io::Result<()> {
        self.0.flush()?;
        let mut inner = self
            .0
            .into_inner()
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        inner.flush()?;
        inner
            .into_inner()
            .map_err(std::io::Error::other)?
            .sync_all()
    }
}

/// A spreadsheet program must not take a cell for a formula.
fn plain(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}
