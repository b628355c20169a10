//! payments.xlsx: the cells of payments.csv for a person. Every text is a text there: no number is rounded, no cell runs.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::csv::COLUMNS;
use super::zip::Zip;
use crate::domain::Electricity;
use crate::report::files::error::Error;
use crate::report::files::output;
use crate::report::rows::row::Row;

/// Larger batches are not read line by line in a spreadsheet; payments.csv has them.
pub(in crate::report) const ROWS_MAX: u64 = 50_000;

/// What a cell holds at most, in characters, as the format has it.
const CELL_MAX: usize = 32_767;

/// Where the amounts stand, which are numbers.
const AMOUNT: usize = 6;

const PARTS: [(&str, &str); 5] = [
    (
        "[Content_Types].xml",
        r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>"#,
    ),
    (
        "_rels/.rels",
        r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#,
    ),
    (
        "xl/workbook.xml",
        r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="payments" sheetId="1" r:id="rId1"/></sheets></workbook>"#,
    ),
    (
        "xl/_rels/workbook.xml.rels",
        r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#,
    ),
    (
        // Format 49 is text, 4 an amount with separators; 1 is bold.
        "xl/styles.xml",
        r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><fonts count="2"><font/><font><b/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="49" fontId="1" applyFont="1" applyNumberFormat="1"/><xf numFmtId="49" applyNumberFormat="1"/><xf numFmtId="4" applyNumberFormat="1"/></cellXfs></styleSheet>"#,
    ),
];

const SHEET: &str = "xl/worksheets/sheet1.xml";

pub(in crate::report) struct Book {
    staged: NamedTempFile,
    zip: BufWriter<Zip<File>>,
    rows: u64,
    /// Rows of the sheet so far, the header among them.
    written: u64,
    line: String,
}

impl Book {
    pub(in crate::report) const NAME: &'static str = "payments.xlsx";

    /// Opens the file for a batch of so many rows.
    pub(in crate::report) fn create(dir: &Path, rows: u64) -> Result<Self, Error> {
        let staged = output::stage(dir, Self::NAME)?;
        let begun = || -> io::Result<_> {
            let mut zip = Zip::new(staged.as_file().try_clone()?);
            for (name, text) in PARTS {
                zip.begin(name)?;
                zip.write_all(text.as_bytes())?;
            }
            zip.begin(SHEET)?;
            Ok(BufWriter::with_capacity(1 << 16, zip))
        };
        let zip = begun().map_err(Error::write(Self::NAME, dir))?;
        let mut book = Self {
            zip,
            staged,
            rows,
            written: 1,
            line: String::new(),
        };
        book.head().map_err(Error::write(Self::NAME, dir))?;
        Ok(book)
    }

    fn head(&mut self) -> io::Result<()> {
        let is_listed = self.is_listed();
        let line = &mut self.line;
        line.push_str(r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>"#);
        for (index, name) in COLUMNS.iter().enumerate() {
            let width = match *name {
                "line" | "attempts" => 8,
                "payer_transaction_id" => 30,
                "note" | "receiver_narration" | "status_description" => 40,
                _ => 20,
            };
            let column = index + 1;
            // Columns of texts stay texts when a person types into them.
            let style = if index == AMOUNT { 3 } else { 2 };
            write!(
                line,
                r#"<col min="{column}" max="{column}" width="{width}" style="{style}" customWidth="1"/>"#
            )
            .expect("writing to a String cannot fail");
        }
        line.push_str("</cols><sheetData><row r=\"1\">");
        match is_listed {
            true => COLUMNS.iter().enumerate().for_each(|(index, name)| {
                push_text(line, (index, 1), name, 1);
            }),
            false => push_text(
                line,
                (0, 1),
                "The batch has more payments than this file lists. payments.csv has all: import its columns as text.",
                1,
            ),
        }
        line.push_str("</row>\n");
        self.zip.write_all(line.as_bytes())
    }

    fn is_listed(&self) -> bool {
        self.rows <= ROWS_MAX
    }

    pub(in crate::report) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        if !self.is_listed() {
            return Ok(());
        }
        let entry = row.entry;
        let code = entry.status_code.map(|code| code.to_string());
        let electricity = row.electricity.as_ref();
        let token = electricity.map_or(String::new(), Electricity::grouped);
        let units = electricity.map_or(String::new(), Electricity::units_text);
        // In the order of the columns.
        let cells: [&str; COLUMNS.len()] = [
            &entry.line.to_string(),
            entry.reference,
            entry.id,
            entry.service_code,
            entry.msisdn,
            entry.account_number,
            row.amount,
            row.currency,
            entry.state.as_str(),
            code.as_deref().unwrap_or_default(),
            entry.status_description,
            entry.gateway_transaction_id,
            entry.receipt_number,
            entry.receiver_narration,
            &entry.attempts.to_string(),
            row.posted_at,
            row.settled_at,
            entry.note,
            &token,
            &units,
            entry.application_id,
            entry.customer_names,
            entry.bank.bank_code,
            entry.bank.bank_name,
            entry.bank.account_name,
            entry.bank.account_number,
            entry.narration,
            entry.invoice_number,
        ];
        let line = &mut self.line;
        line.clear();
        self.written += 1;
        let number = self.written;
        write!(line, r#"<row r="{number}">"#).expect("writing to a String cannot fail");
        for (index, cell) in cells.into_iter().enumerate() {
            match (index, entry.money) {
                // An amount that was read has digits and a point alone.
                (AMOUNT, Some(_)) => {
                    push_place(line, (index, number));
                    write!(line, r#" s="3"><v>{cell}</v></c>"#)
                        .expect("writing to a String cannot fail");
                }
                _ => push_text(line, (index, number), cell, 2),
            }
        }
        line.push_str("</row>\n");
        self.zip.write_all(line.as_bytes())
    }

    pub(in crate::report) fn finish(mut self) -> io::Result<NamedTempFile> {
        self.zip.write_all(b"</sheetData></worksheet>")?;
        let zip = self
            .zip
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        zip.finish()?;
        Ok(self.staged)
    }
}

/// Appends the beginning of a cell: its column, counted from 0, as letters, and its row.
fn push_place(out: &mut String, (column, row): (usize, u64)) {
    const LETTERS: usize = 26;
    out.push_str("<c r=\"");
    if let Some(first) = (column / LETTERS).checked_sub(1) {
        out.push(char::from(b'A' + first as u8));
    }
    out.push(char::from(b'A' + (column % LETTERS) as u8));
    write!(out, "{row}\"").expect("writing to a String cannot fail");
}

/// Appends a cell that holds a text, where there is one.
fn push_text(out: &mut String, place: (usize, u64), text: &str, style: u8) {
    if text.is_empty() {
        return;
    }
    push_place(out, place);
    write!(
        out,
        r#" t="inlineStr" s="{style}"><is><t xml:space="preserve">"#
    )
    .expect("writing to a String cannot fail");
    push_escaped(out, text);
    out.push_str("</t></is></c>");
}

/// Appends a text as XML and a spreadsheet read it.
fn push_escaped(out: &mut String, text: &str) {
    let is_plain =
        |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'_');
    if text.len() <= CELL_MAX && text.bytes().all(is_plain) {
        out.push_str(text);
        return;
    }
    for (at, c) in text.char_indices().take(CELL_MAX) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            // The format reads _x0041_ as an A.
            '_' if text[at..].starts_with("_x") => out.push_str("_x005F_"),
            '\t' | '\n' => out.push(c),
            // What no XML may hold, and what steers a terminal or a reader's eye.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
}
