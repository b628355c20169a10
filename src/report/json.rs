//! report.json: the totals, then every payment on a line of its own, all values as they are.

mod head;

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use serde::Serialize;
use tempfile::NamedTempFile;

use self::head::Head;
use super::writer::Row;
use super::{BatchHeader, Error, Reconciliation, output};
use crate::domain::Electricity;

// Payments are spooled while the totals that stand before them are still being folded.
pub(super) struct Document {
    staged: NamedTempFile,
    spool: BufWriter<File>,
    line: Vec<u8>,
    first: bool,
}

impl Document {
    pub(super) const NAME: &'static str = "report.json";

    pub(super) fn create(dir: &Path) -> Result<Self, Error> {
        Ok(Self {
            staged: output::stage(dir, Self::NAME)?,
            spool: BufWriter::with_capacity(1 << 17, output::scratch(dir, Self::NAME)?),
            line: Vec::new(),
            first: true,
        })
    }

    pub(super) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.line.clear();
        let separator: &[u8] = if self.first { b"\n    " } else { b",\n    " };
        self.first = false;
        self.line.extend_from_slice(separator);
        serde_json::to_writer(&mut self.line, &Payment::from(row))?;
        self.spool.write_all(&self.line)
    }

    pub(super) fn finish(
        mut self,
        header: &BatchHeader,
        reconciliation: &Reconciliation,
    ) -> io::Result<NamedTempFile> {
        let head = serde_json::to_string_pretty(&Head::new(header, reconciliation))?;
        // The head is an object; its closing brace moves behind the payments.
        let open = head.trim_end_matches('}').trim_end();
        let mut spool = self
            .spool
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        spool.rewind()?;
        let out = self.staged.as_file_mut();
        write!(out, "{open},\n  \"payments\": [")?;
        io::copy(&mut spool, out)?;
        out.write_all(b"\n  ]\n}\n")?;
        Ok(self.staged)
    }
}

/// Absent values are null; texts that every row has are texts even when they are empty.
#[derive(Serialize)]
struct Payment<'a> {
    line: u64,
    reference: Option<&'a str>,
    payer_transaction_id: Option<&'a str>,
    service_code: &'a str,
    msisdn: &'a str,
    account_number: &'a str,
    amount: &'a str,
    currency_code: &'a str,
    state: &'static str,
    status_code: Option<i64>,
    status_description: Option<&'a str>,
    gateway_transaction_id: Option<&'a str>,
    receipt_number: Option<&'a str>,
    receiver_narration: Option<&'a str>,
    attempts: u32,
    posted_at: Option<&'a str>,
    settled_at: Option<&'a str>,
    note: Option<&'a str>,
    electricity_token: Option<String>,
    electricity_units: Option<String>,
    application_id: Option<&'a str>,
}

impl<'a> From<&'a Row<'a>> for Payment<'a> {
    fn from(row: &'a Row<'a>) -> Self {
        fn present(text: &str) -> Option<&str> {
            (!text.is_empty()).then_some(text)
        }
        let entry = row.entry;
        Self {
            line: entry.line,
            reference: present(entry.reference),
            payer_transaction_id: present(entry.id),
            service_code: entry.service_code,
            msisdn: entry.msisdn,
            account_number: entry.account_number,
            amount: row.amount,
            currency_code: row.currency,
            state: entry.state.as_str(),
            status_code: entry.status_code,
            status_description: present(entry.status_description),
            gateway_transaction_id: present(entry.gateway_transaction_id),
            receipt_number: present(entry.receipt_number),
            receiver_narration: present(entry.receiver_narration),
            attempts: entry.attempts,
            posted_at: present(row.posted_at),
            settled_at: present(row.settled_at),
            note: present(entry.note),
            electricity_token: row.electricity.as_ref().map(Electricity::token_text),
            electricity_units: row
                .electricity
                .as_ref()
                .map(Electricity::units_text)
                .filter(|units| !units.is_empty()),
            application_id: present(entry.application_id),
        }
    }
}
