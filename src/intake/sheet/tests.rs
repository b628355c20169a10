use std::io::{Cursor, Write as _};

use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook, Worksheet};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::cell::letters;
use super::rows::SheetRow;
use super::*;

fn made(fill: impl FnOnce(&mut Worksheet)) -> Vec<u8> {
    let mut book = Workbook::new();
    fill(book.add_worksheet());
    book.save_to_buffer().unwrap()
}

fn read(bytes: Vec<u8>, options: &SheetOptions) -> Result<(Vec<SheetRow>, Vec<String>), String> {
    let told = |error: super::super::Error| {
        let at = match &error {
            super::super::Error::Workbook { at: Some(at), .. } => format!("{at}: "),
            _ => String::new(),
        };
        format!("{at}{error}; {}", error.hint().unwrap_or_default())
    };
    let mut rows = SheetRows::open(Cursor::new(bytes), options).map_err(told)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(told)? {
        all.push(row);
    }
    Ok((all, rows.notes))
}

/// The cells as texts, `A1=text`, with what is odd about them.
fn cells(rows: &[SheetRow]) -> Vec<String> {
    let shown = |row: &SheetRow| -> Vec<String> {
        let cell = |cell: &cell::Cell| {
            let odd = cell
                .oddity
                .map_or_else(String::new, |odd| format!(" {odd:?}"));
            format!("{}{}={}{odd}", letters(cell.column), row.number, cell.text)
        };
        row.cells.iter().map(cell).collect()
    };
    rows.iter().flat_map(shown).collect()
}

fn taken(bytes: Vec<u8>, options: &SheetOptions) -> Vec<String> {
    cells(&read(bytes, options).unwrap().0)
}

fn with(hidden: Hiding) -> SheetOptions {
    SheetOptions {
        hidden,
        ..SheetOptions::default()
    }
}

#[test]
fn cells_are_texts_as_they_stand_and_numbers_as_they_are_shown() {
    let bytes = made(|sheet| {
        let date = Format::new().set_num_format("dd/mm/yyyy");
        sheet.write(0, 0, "msisdn").unwrap();
        sheet.write(2, 0, 254_712_345_678.0).unwrap();
        sheet.write(2, 1, " 00123 ").unwrap();
        sheet.write(2, 3, 0.1 + 0.2).unwrap();
        sheet.write(3, 0, 1_234_567_890_123_456.0).unwrap();
        sheet.write(3, 1, true).unwrap();
        let day = ExcelDateTime::from_ymd(2026, 3, 1).unwrap();
        sheet.write_with_format(3, 2, day, &date).unwrap();
        sheet.write(3, 3, "Zoë & <Åsa>").unwrap();
    });
    assert_eq!(
        taken(bytes, &SheetOptions::default()),
        [
            "A1=msisdn",
            "A3=254712345678",
            "B3= 00123 ",
            "D3=0.3",
            "A4=1234567890123460 LostDigits",
            "B4=TRUE",
            "C4=2026-03-01 Date",
            "D4=Zoë & <Åsa>",
        ]
    );
}

#[test]
fn a_number_that_is_shown_with_more_than_it_holds_says_so() {
    let bytes = made(|sheet| {
        let padded = Format::new().set_num_format("0000000000");
        let lettered = Format::new().set_num_format("\"EMP-\"000");
        for row in 0..3 {
            sheet
                .write_with_format(row, 0, 11_000_003.0, &padded)
                .unwrap();
        }
        sheet
            .write_with_format(3, 0, 1_234_567_890.0, &padded)
            .unwrap();
        sheet.write_with_format(3, 1, "0012", &padded).unwrap();
        sheet.write_with_format(4, 1, 123.0, &lettered).unwrap();
        sheet.write(5, 0, 11_000_003.0).unwrap();
    });
    assert_eq!(
        taken(bytes, &SheetOptions::default()),
        [
            "A1=11000003 Dressed",
            "A2=11000003 Dressed",
            "A3=11000003 Dressed",
            "A4=1234567890",
            "B4=0012",
            "B5=123 Dressed",
            "A6=11000003",
        ]
    );
}

#[test]
fn a_line_through_a_cell_is_seen() {
    let bytes = made(|sheet| {
        let line = Format::new().set_font_strikethrough();
        let bold = Format::new().set_bold();
        sheet.write_with_format(0, 0, "Ann", &line).unwrap();
        sheet.write_with_format(0, 1, 100.0, &line).unwrap();
        sheet.write_with_format(1, 0, "Ben", &bold).unwrap();
        sheet.write_blank(1, 1, &line).unwrap();
        let per_cent = Format::new().set_font_strikethrough().set_num_format("0%");
        sheet.write_with_format(2, 0, 0.5, &per_cent).unwrap();
    });
    assert_eq!(
        taken(bytes, &SheetOptions::default()),
        [
            "A1=Ann StruckOut",
            "B1=100 StruckOut",
            "A2=Ben",
            "A3=0.5 StruckOut"
        ]
    );
}

#[test]
fn a_formula_counts_where_its_result_was_stored_and_that_is_wanted() {
    let bytes = || {
        made(|sheet| {
            let sum = |result: &str| Formula::new("=1+1").set_result(result);
            sheet.write(0, 0, sum("2")).unwrap();
        })
    };
    assert_eq!(
        taken(bytes(), &SheetOptions::default()),
        ["A1=2 Calculated"]
    );
    let stored = SheetOptions {
        stored_formulas: true,
        ..SheetOptions::default()
    };
    assert_eq!(taken(bytes(), &stored), ["A1=2"]);
    let xml = r#"<row r="1"><c r="A1"><f>1+1</f></c><c r="B1"><f>1+1</f><v>2</v></c></row>"#;
    assert_eq!(taken(raw(xml), &stored), ["A1= NotCalculated", "B1=2"]);
    // Drawn down further than the rows.
    let empty = r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="A2" t="str"><f>""</f><v></v></c></row>"#;
    assert_eq!(taken(raw(empty), &stored), ["A1=1"]);
}

#[test]
fn what_is_hidden_is_refused_unless_it_is_said_what_becomes_of_it() {
    let of_row = || {
        made(|sheet| {
            for row in 0..4 {
                sheet.write(row, 1, format!("r{row}")).unwrap();
            }
            sheet.set_row_hidden(2).unwrap();
        })
    };
    let refused = read(of_row(), &SheetOptions::default()).unwrap_err();
    assert!(
        refused.starts_with("Sheet1!B3: has a hidden row"),
        "{refused}"
    );
    assert_eq!(taken(of_row(), &with(Hiding::Included)).len(), 4);
    let (rows, _) = read(of_row(), &with(Hiding::Skipped)).unwrap();
    let skipped: Vec<bool> = rows.iter().map(|row| row.is_skipped).collect();
    assert_eq!(skipped, [false, false, true, false]);

    let of_column = || {
        made(|sheet| {
            sheet.write(0, 0, "a").unwrap();
            sheet.write(0, 3, "d").unwrap();
            sheet.set_column_hidden(3).unwrap();
            sheet.set_column_hidden(5).unwrap();
        })
    };
    let refused = read(of_column(), &SheetOptions::default()).unwrap_err();
    assert!(
        refused.starts_with("Sheet1!D1: has a hidden column"),
        "{refused}"
    );
    assert_eq!(
        taken(of_column(), &with(Hiding::Included)),
        ["A1=a", "D1=d"]
    );
    assert_eq!(taken(of_column(), &with(Hiding::Skipped)), ["A1=a"]);

    // A filter hides rows, too; empty ones do no harm.
    let empty = made(|sheet| {
        sheet.write(0, 0, "a").unwrap();
        sheet.set_row_hidden(1).unwrap();
    });
    assert_eq!(taken(empty, &SheetOptions::default()), ["A1=a"]);
}

#[test]
fn each_cell_of_a_merged_area_says_so() {
    let bytes = made(|sheet| {
        let plain = Format::new();
        sheet.merge_range(1, 0, 2, 1, "both", &plain).unwrap();
        sheet.write(0, 0, "a").unwrap();
        sheet.write(1, 2, "c").unwrap();
        sheet.write(2, 2, "c").unwrap();
    });
    assert_eq!(
        taken(bytes, &SheetOptions::default()),
        [
            "A1=a",
            "A2=both Merged",
            "B2= Merged",
            "C2=c",
            "A3= Merged",
            "B3= Merged",
            "C3=c"
        ]
    );
}

#[test]
fn the_sheet_with_data_is_read_and_of_several_one_must_be_named() {
    let book = |names: &[(&str, bool)]| {
        let mut book = Workbook::new();
        book.add_worksheet().set_name("empty").unwrap();
        for (name, hidden) in names {
            let sheet = book.add_worksheet().set_name(*name).unwrap();
            sheet.write(0, 0, *name).unwrap();
            sheet.set_hidden(*hidden);
        }
        book.save_to_buffer().unwrap()
    };
    let named = |name: &str| SheetOptions {
        sheet: Some(name.to_owned()),
        ..SheetOptions::default()
    };
    let free = SheetOptions::default();
    let (rows, notes) = read(book(&[("May", false), ("old", true)]), &free).unwrap();
    assert_eq!(cells(&rows), ["A1=May"]);
    assert_eq!(
        notes,
        ["sheet \"May\"", "the hidden sheet \"old\" was not read"]
    );
    let two = || book(&[("May", false), ("June", false), ("old", true)]);
    let asked = read(two(), &free).unwrap_err();
    assert!(
        asked.contains("several sheets with data: \"May\", \"June\"; say with --sheet"),
        "{asked}"
    );
    assert_eq!(taken(two(), &named("June")), ["A1=June"]);
    let unknown = read(two(), &named("july")).unwrap_err();
    assert!(
        unknown.contains("has no sheet \"july\"; it has \"empty\", \"May\", \"June\", \"old\""),
        "{unknown}"
    );
    let unseen = read(two(), &named("old")).unwrap_err();
    assert!(unseen.contains("has hidden the sheet \"old\""), "{unseen}");
    let nothing = read(book(&[]), &free).unwrap_err();
    assert!(nothing.contains("no sheet with data"), "{nothing}");
}

/// A workbook with these rows as they stand, and these shared texts.
fn raw_with(rows: &str, shared: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let parts = [
        ("[Content_Types].xml", "<Types/>".to_owned()),
        ("_rels/.rels", r#"<Relationships><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#.to_owned()),
        ("xl/workbook.xml", r#"<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#.to_owned()),
        ("xl/_rels/workbook.xml.rels", r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#.to_owned()),
        ("xl/worksheets/sheet1.xml", format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")),
        ("xl/sharedStrings.xml", shared.to_owned()),
    ];
    for (name, text) in parts {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn raw(rows: &str) -> Vec<u8> {
    raw_with(rows, "<sst/>")
}

#[test]
fn what_would_take_memory_or_hide_something_refuses_the_workbook() {
    let free = SheetOptions::default();
    let row = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>"#;
    assert_eq!(taken(raw(row), &free), ["A1=x"]);
    let long = "y".repeat(300 << 10);
    for (bytes, expected) in [
        (
            raw_with(row, r#"<sst uniqueCount="99999999999999"/>"#),
            "says that it has 99999999999999 texts, and has 0",
        ),
        (raw(&format!("{row}<!-- more -->")), "holds \"<!\""),
        (raw(&format!("<![CDATA[{long}]]>{row}")), "holds \"<!\""),
        (
            raw_with(
                row,
                "<!DOCTYPE sst [<!ENTITY a \"aaaa\">]><sst><si><t>&a;</t></si></sst>",
            ),
            "holds \"<!\"",
        ),
        (
            raw(&format!(
                r#"<row r="1"><c r="A1" t="inlineStr"><is><t>{long}</t></is></c></row>"#
            )),
            "text of more than 262144 bytes",
        ),
        (
            raw(&format!(
                r#"<row r="1" {long}="1"><c r="A1"><v>1</v></c></row>"#
            )),
            "text of more than 262144 bytes",
        ),
        (
            raw(&format!("{row}{row}")),
            "do not follow one another (at \"row 1\")",
        ),
        (
            raw(r#"<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>"#),
            "do not follow one another (at \"A1\")",
        ),
        (
            raw(r#"<row r="1"><c r="A1" t="s"><v>7</v></c></row>"#),
            "cannot be read as a workbook",
        ),
        (
            raw(r#"<row r="1"><c r="A1" t="n"><v>x</v></c></row>"#),
            "cannot be read as a workbook",
        ),
        (
            raw("<row r=\"1\"><c r=\"A1\"><v>1</v></c>"),
            "cannot be read as a workbook",
        ),
        (b"PK\x03\x04".to_vec(), "cannot be read as a workbook"),
    ] {
        let found = read(bytes, &free).unwrap_err();
        assert!(found.contains(expected), "{found}, and not {expected}");
    }
}

#[test]
fn a_part_that_unpacks_to_more_than_its_bound_is_refused_while_it_is_unpacked() {
    let zeros = vec![0_u8; 1 << 20];
    // 65 MiB of zeros are 65 KiB in the archive.
    let mut bomb = ZipWriter::new(Cursor::new(Vec::new()));
    bomb.start_file("xl/media/picture.png", SimpleFileOptions::default())
        .unwrap();
    for _ in 0..65 {
        bomb.write_all(&zeros).unwrap();
    }
    let bytes = bomb.finish().unwrap().into_inner();
    assert!(bytes.len() < 100 << 10);
    let found = read(bytes, &SheetOptions::default()).unwrap_err();
    assert!(
        found.contains("xl/media/picture.png has more than 67108864 bytes"),
        "{found}"
    );
}

#[test]
fn no_broken_workbook_is_read_otherwise_than_it_was_meant() {
    let rows = r#"<row r="1"><c r="A1"><v>11</v></c><c r="B1" t="s"><v>0</v></c></row><row r="2"><c r="A2"><v>22</v></c><c r="B2" t="s"><v>1</v></c></row>"#;
    let whole = raw_with(
        rows,
        r#"<sst uniqueCount="2"><si><t>one</t></si><si><t>two</t></si></sst>"#,
    );
    let free = SheetOptions::default();
    let meant = taken(whole.clone(), &free);
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    for _ in 0..400 {
        let mut broken = whole.clone();
        let at = random.usize(..broken.len());
        broken[at] ^= 1 << random.u8(..8);
        match read(broken, &free) {
            // Checksums of the archive, dates and names of parts beside the sheet.
            Ok((rows, _)) => assert_eq!(cells(&rows), meant),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 200, "{refused}");
    for length in 0..whole.len() {
        assert!(read(whole[..length].to_vec(), &free).is_err(), "{length}");
    }
}
