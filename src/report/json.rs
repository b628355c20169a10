//! report.json: the totals, then every payment on a line of its own, all values as they are.

mod head;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use self::head::Head;
use super::files::error::Error;
use super::files::output;
use super::files::writeback::Writeback;
use super::fold::reconciliation::Reconciliation;
use super::rows::entry::BatchHeader;
use super::rows::row::Row;
use super::words::figures::{push_number, push_signed};
use crate::domain::Electricity;

/// How often the file is synced while the payments are copied behind their totals.
const SYNCED_EVERY: Duration = Duration::from_millis(15);

/// Payments are gathered up to so many bytes.
const BUFFER: usize = 1 << 17;

// Payments are spooled while the totals that stand before them are still being folded.
pub(super) struct Document {
    staged: NamedTempFile,
    spool: File,
    lines: Vec<u8>,
    first: bool,
}

impl Document {
    pub(super) const NAME: &'static str = "report.json";

    pub(super) fn create(dir: &Path) -> Result<Self, Error> {
        Ok(Self {
            staged: output::stage(dir, Self::NAME)?,
            spool: output::scratch(dir, Self::NAME)?,
            lines: Vec::new(),
            first: true,
        })
    }

    pub(super) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let separator: &[u8] = if self.first { b"\n    " } else { b",\n    " };
        self.first = false;
        self.lines.extend_from_slice(separator);
        push_payment(&mut self.lines, row);
        if self.lines.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.spool.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        header: &BatchHeader,
        reconciliation: &Reconciliation,
    ) -> io::Result<NamedTempFile> {
        let head = serde_json::to_string_pretty(&Head::new(header, reconciliation))?;
        // The head is an object; its closing brace moves behind the payments.
        let open = head.trim_end_matches('}').trim_end();
        self.flush()?;
        let mut spool = self.spool;
        spool.rewind()?;
        let writeback = Writeback::of(self.staged.path(), SYNCED_EVERY)?;
        let out = self.staged.as_file_mut();
        write!(out, "{open},\n  \"payments\": [")?;
        io::copy(&mut spool, out)?;
        out.write_all(b"\n  ]\n}\n")?;
        writeback.finish()?;
        Ok(self.staged)
    }
}

/// Writes a payment as an object. Absent values are null; texts that every row has are texts even when they are empty.
fn push_payment(out: &mut Vec<u8>, row: &Row<'_>) {
    let entry = row.entry;
    let electricity = row.electricity.as_ref();
    let token = electricity.map_or(String::new(), Electricity::token_text);
    let units = electricity.map_or(String::new(), Electricity::units_text);
    out.extend_from_slice(b"{\"line\":");
    push_number(out, entry.line);
    push_present(out, "reference", entry.reference);
    push_present(out, "payer_transaction_id", entry.id);
    push_text(out, "service_code", entry.service_code);
    push_text(out, "msisdn", entry.msisdn);
    push_text(out, "account_number", entry.account_number);
    push_text(out, "amount", row.amount);
    push_text(out, "currency_code", row.currency);
    push_text(out, "state", entry.state.as_str());
    push_name(out, "status_code");
    match entry.status_code {
        Some(code) => push_signed(out, code),
        None => out.extend_from_slice(NULL),
    }
    push_present(out, "status_description", entry.status_description);
    push_present(out, "gateway_transaction_id", entry.gateway_transaction_id);
    push_present(out, "receipt_number", entry.receipt_number);
    push_present(out, "receiver_narration", entry.receiver_narration);
    push_name(out, "attempts");
    push_number(out, entry.attempts.into());
    push_present(out, "posted_at", row.posted_at);
    push_present(out, "settled_at", row.settled_at);
    push_present(out, "note", entry.note);
    push_present(out, "electricity_token", &token);
    push_present(out, "electricity_units", &units);
    push_present(out, "application_id", entry.application_id);
    push_present(out, "customer_names", entry.customer_names);
    push_present(out, "bank_code", entry.bank.bank_code);
    push_present(out, "bank_name", entry.bank.bank_name);
    push_present(out, "bank_account_name", entry.bank.account_name);
    push_present(out, "bank_account_number", entry.bank.account_number);
    push_present(out, "narration", entry.narration);
    push_present(out, "invoice_number", entry.invoice_number);
    out.push(b'}');
}

const NULL: &[u8] = b"null";

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn push_present(out: &mut Vec<u8>, name: &str, text: &str) {
    if text.is_empty() {
        push_name(out, name);
        out.extend_from_slice(NULL);
    } else {
        push_text(out, name, text);
    }
}

fn push_text(out: &mut Vec<u8>, name: &str, text: &str) {
    push_name(out, name);
    if text.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\') {
        serde_json::to_writer(out, text).expect("a text has a JSON form, and memory takes it");
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_escaped_by_the_book(any in ".{0,12}", odd in "[\"\\\\\\x00-\\x20\\x7fa]{0,12}") {
            for text in [any, odd] {
                let mut out = Vec::new();
                push_text(&mut out, "name", &text);
                let expected = format!(",\"name\":{}", serde_json::to_string(&text).unwrap());
                prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }
}
