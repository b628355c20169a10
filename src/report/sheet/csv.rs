//! payments.csv: one row for each entry, safe to open in a spreadsheet.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::report::files::error::Error;
use crate::report::files::output;
use crate::report::rows::row::Row;
use crate::report::words::figures::{push_number, push_signed};
use crate::report::words::text;

/// The first columns are fixed for the readers of the file; new ones are added behind them.
pub(in crate::report) const COLUMNS: [&str; 28] = [
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
    "customer_names",
    "bank_code",
    "bank_name",
    "bank_account_name",
    "bank_account_number",
    "narration",
    "invoice_number",
];

/// Rows are gathered up to so many bytes.
const BUFFER: usize = 1 << 17;

pub(in crate::report) struct Sheet {
    staged: NamedTempFile,
    rows: Vec<u8>,
}

impl Sheet {
    pub(in crate::report) const NAME: &'static str = "payments.csv";

    pub(in crate::report) fn create(dir: &Path) -> Result<Self, Error> {
        let mut rows = COLUMNS.join(",").into_bytes();
        rows.push(b'\n');
        Ok(Self {
            staged: output::stage(dir, Self::NAME)?,
            rows,
        })
    }

    pub(in crate::report) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let (entry, out) = (row.entry, &mut self.rows);
        push_number(out, entry.line);
        push_text(out, entry.reference);
        push_text(out, entry.id);
        push_text(out, entry.service_code);
        push_text(out, entry.msisdn);
        push_text(out, entry.account_number);
        // A number, to be added up.
        match entry.money {
            Some(_) => push_plain(out, row.amount),
            None => push_shielded(out, row.amount),
        }
        push_text(out, row.currency);
        push_plain(out, entry.state.as_str());
        out.push(b',');
        if let Some(code) = entry.status_code {
            push_signed(out, code);
        }
        push_text(out, entry.status_description);
        push_text(out, entry.gateway_transaction_id);
        push_text(out, entry.receipt_number);
        push_text(out, entry.receiver_narration);
        out.push(b',');
        push_number(out, entry.attempts.into());
        push_plain(out, row.posted_at);
        push_plain(out, row.settled_at);
        push_text(out, entry.note);
        match &row.electricity {
            // In groups: a spreadsheet rounds twenty digits to fifteen.
            Some(electricity) => {
                push_shielded(out, &electricity.grouped());
                push_shielded(out, &electricity.units_text());
            }
            None => out.extend_from_slice(b",,"),
        }
        push_text(out, entry.application_id);
        push_text(out, entry.customer_names);
        push_text(out, entry.bank.bank_code);
        push_text(out, entry.bank.bank_name);
        push_text(out, entry.bank.account_name);
        push_text(out, entry.bank.account_number);
        push_text(out, entry.narration);
        push_text(out, entry.invoice_number);
        out.push(b'\n');
        if self.rows.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.staged.as_file_mut().write_all(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    pub(in crate::report) fn finish(mut self) -> io::Result<NamedTempFile> {
        self.flush()?;
        Ok(self.staged)
    }
}

/// Appends a separator and an identifier or free text.
fn push_text(out: &mut Vec<u8>, text: &str) {
    if is_harmless(text) {
        push_plain(out, text);
    } else {
        push_quoted(out, &text::verbatim(text));
    }
}

/// Appends a separator and a text that is to be no formula, and may be a number.
fn push_shielded(out: &mut Vec<u8>, text: &str) {
    push_quoted(out, &text::for_spreadsheet(text));
}

/// Appends a separator and a text that needs no care.
fn push_plain(out: &mut Vec<u8>, text: &str) {
    out.push(b',');
    out.extend_from_slice(text.as_bytes());
}

/// Appends a separator and a cell, in quotes where its bytes ask for them.
fn push_quoted(out: &mut Vec<u8>, cell: &str) {
    if !cell
        .bytes()
        .any(|b| matches!(b, b',' | b';' | b'"' | b'\r' | b'\n'))
    {
        return push_plain(out, cell);
    }
    out.extend_from_slice(b",\"");
    for byte in cell.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

// Two kinds of bytes that decide most texts at a glance.
const SAFE: u8 = 1;
const WORD: u8 = 2;
/// Printable ASCII that neither needs quotes nor begins a formula is safe; what occurs in no number makes a text a word.
const BYTES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        table[byte] = match byte as u8 {
            b'"' | b',' | b';' | b'|' => 0,
            b' ' | b'0'..=b'9' | b'.' | b':' | b'/' | b'-' | b'%' | b'e' | b'E' | b'+' | b'$' => {
                SAFE
            }
            _ => SAFE | WORD,
        };
        byte += 1;
    }
    table
};

/// Returns whether a cell is its text as it is. What is not decided at a glance is not harmless.
fn is_harmless(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(first) = bytes.first() else {
        return true;
    };
    // Leading blanks are looked through, by those who look closer.
    if matches!(first, b' ' | b'=' | b'+' | b'-' | b'@') {
        return false;
    }
    let (mut all, mut any) = (SAFE, 0);
    for byte in bytes {
        let kind = BYTES[usize::from(*byte)];
        all &= kind;
        any |= kind;
    }
    all == SAFE && (any & WORD != 0 || is_phone_number(bytes))
}

/// Returns whether there are so few digits that a spreadsheet keeps every one, and no zero before them.
fn is_phone_number(bytes: &[u8]) -> bool {
    bytes.len() <= 15 && bytes[0] != b'0' && bytes.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // The writer of the csv crate, which knows when a cell is in quotes.
    fn by_the_book(cell: &str) -> String {
        // Quoted for programs that split at it as well.
        if cell.contains(';') {
            return format!(",\"{}\"\n", cell.replace('"', "\"\""));
        }
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(["", cell]).unwrap();
        String::from_utf8(out.into_inner().unwrap()).unwrap()
    }

    fn ours(push: fn(&mut Vec<u8>, &str), text: &str) -> String {
        let mut out = Vec::new();
        push(&mut out, text);
        out.push(b'\n');
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn cells_are_quoted_by_the_book(
            any in ".{0,12}",
            odd in "[ \\t\\r\\n\",'=+@a0-9eE$%:/.;\\x00\\x1b-]{0,12}",
            number in "[0-9]{1,17}"
        ) {
            for text in [any, odd, number] {
                prop_assert_eq!(ours(push_text, &text), by_the_book(&text::verbatim(&text)));
                prop_assert_eq!(ours(push_shielded, &text), by_the_book(&text::for_spreadsheet(&text)));
            }
        }
    }

    #[test]
    fn usual_cells_are_decided_at_a_glance() {
        for usual in [
            "",
            "EMP-0000001",
            "254712345678",
            "B2C_MPESA",
            "D6XG76YFHSD4N4GSMC3R7K7EGS",
            "PBMTJOQP4D confirmed: KES 616.32 sent",
        ] {
            assert!(is_harmless(usual), "{usual}");
        }
    }
}
