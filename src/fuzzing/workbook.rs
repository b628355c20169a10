//! Workbooks and packed files.

use std::io::{Cursor, Write};
use std::sync::Arc;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::rows::RULES;
use crate::intake::packed::{packing_of, unpack};
use crate::intake::{Options, Reader, Row, SheetOptions, is_workbook};

/// What is unpacked of a file, at most.
const BYTES_MAX: u64 = 1 << 20;

const PARTS: [(&str, &str); 4] = [
    (
        "[Content_Types].xml",
        r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>"#,
    ),
    (
        "xl/workbook.xml",
        r#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>"#,
    ),
    (
        "xl/_rels/workbook.xml.rels",
        r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#,
    ),
    ("xl/styles.xml", "<styleSheet/>"),
];

/// A file as a workbook, and as the one sheet of a workbook: rows come in their order, each good or with its errors. As a packed
/// file it has no more than its bounds.
pub fn workbook(bytes: &[u8]) {
    read(bytes.to_vec());
    read(of_sheet(bytes));
    let mut input = Cursor::new(bytes);
    if let Ok(Some(packing)) = packing_of(&mut input) {
        let mut plain = Vec::new();
        match unpack(packing, input, &mut plain, BYTES_MAX) {
            Ok(_) => assert!(plain.len() as u64 <= BYTES_MAX),
            Err(error) => {
                super::assert_shown(&error.to_string(), 4_096);
                assert!(error.hint().is_some());
            }
        }
    }
}

/// Returns a workbook with this sheet.
fn of_sheet(xml: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let parts = PARTS.map(|(name, text)| (name, text.as_bytes()));
    for (name, text) in parts.into_iter().chain([("xl/worksheets/sheet1.xml", xml)]) {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("a part has a name of its own");
        zip.write_all(text).expect("memory takes it");
    }
    zip.finish().expect("memory takes it").into_inner()
}

fn read(bytes: Vec<u8>) {
    if !is_workbook(Cursor::new(&bytes)) {
        return;
    }
    let options = Options {
        sheet: SheetOptions {
            stored_formulas: bytes.len().is_multiple_of(2),
            ..SheetOptions::default()
        },
        ..Options::default()
    };
    let mut reader = match Reader::open_workbook(Cursor::new(bytes), &options, Arc::clone(&RULES)) {
        Ok(reader) => reader,
        Err(error) => return super::assert_shown(&error.to_string(), 8_192),
    };
    let mut last = 0;
    for row in reader.by_ref() {
        let (line, errors) = match row {
            Ok(Row::Good(row)) => (row.line, Vec::new()),
            Ok(Row::Unpriced(row)) => (row.line, Vec::new()),
            Ok(Row::Bad(row) | Row::Skipped(row)) => {
                assert!(!row.errors.is_empty(), "a bad row says why");
                (row.line, row.errors)
            }
            Err(error) => return super::assert_shown(&error.to_string(), 8_192),
        };
        assert!(line > last, "row {line} after {last}");
        last = line;
        for error in errors {
            let cell = error.cell.as_deref().unwrap_or_default();
            assert!(
                cell.contains('!') && cell.ends_with(&line.to_string()),
                "{cell}"
            );
            super::assert_shown(&error.message, 1_024);
        }
    }
}
