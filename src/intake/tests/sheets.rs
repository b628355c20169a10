use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook, Worksheet};

use super::*;

fn made(fill: impl FnOnce(&mut Worksheet)) -> Vec<u8> {
    let mut book = Workbook::new();
    fill(book.add_worksheet());
    book.save_to_buffer().unwrap()
}

/// A sheet of texts; `""` is no cell.
fn texts(rows: &[&[&str]]) -> Vec<u8> {
    made(|sheet| write(sheet, rows))
}

fn write(sheet: &mut Worksheet, rows: &[&[&str]]) {
    for (row, cells) in (0..).zip(rows) {
        for (column, text) in (0..).zip(*cells) {
            if !text.is_empty() {
                sheet.write(row, column, *text).unwrap();
            }
        }
    }
}

fn open_book(bytes: Vec<u8>, options: &Options) -> Result<Reader, Error> {
    Reader::open_workbook(Cursor::new(bytes), options, rules())
}

fn rows_of(bytes: Vec<u8>) -> Vec<Row> {
    let reader = open_book(bytes, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    reader
        .collect::<Result<_, _>>()
        .unwrap_or_else(|e| panic!("{e}"))
}

fn refused_book(bytes: Vec<u8>) -> String {
    let rows =
        open_book(bytes, &Options::default()).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let error = rows.expect_err("the workbook is refused");
    format!("{}: {error}", error.place().unwrap_or_default())
}

fn errors(rows: &[Row]) -> Vec<String> {
    let of_row = |row: &Row| match row {
        Row::Bad(bad) | Row::Skipped(bad) => bad.errors.iter().map(ToString::to_string).collect(),
        Row::Good(_) | Row::Unpriced(_) => Vec::new(),
    };
    rows.iter().flat_map(of_row).collect()
}

const HEADER: &[&str] = &["Reference", "service code", "MSISDN", "Amount", "narration"];

#[test]
fn a_sheet_is_read_as_the_same_rows_of_csv_are() {
    let csv = "reference,service_code,msisdn,amount,narration\nR1,B2C_MPESA,254712345678,1500.50,May\n007,B2C_MPESA,254733123456,80,\"Zoë, & co\"\n";
    let same = made(|sheet| {
        write(
            sheet,
            &[
                HEADER,
                &["R1", "B2C_MPESA", "", "", "May"],
                &["007", "B2C_MPESA", "254733123456", "80", "Zoë, & co"],
            ],
        );
        sheet.write(1, 2, 254_712_345_678.0).unwrap();
        sheet.write(1, 3, 1500.5).unwrap();
    });
    let ids = |rows: Vec<Row>| -> Vec<_> {
        let good = |row| match row {
            Row::Good(row) => (
                row.reference,
                row.msisdn,
                row.money,
                row.narration,
                row.line,
            ),
            other => panic!("{other:?}"),
        };
        rows.into_iter().map(good).collect()
    };
    assert_eq!(ids(rows_of(same)), ids(read(csv)));
}

#[test]
fn the_header_stands_below_titles_and_the_sum_at_the_end_is_compared_and_not_paid() {
    let sheet = |sum: &str, behind: &[&str]| {
        texts(&[
            &["ACME Ltd", "", "payroll of May"],
            &[],
            &["department", "finance"],
            HEADER,
            &["R1", "B2C_MPESA", "254712345678", "100.50"],
            &["R2", "B2C_MPESA", "254712345679", "50"],
            &[],
            &["", "", "Total:", sum],
            behind,
        ])
    };
    let reader = open_book(sheet("150.50", &[]), &Options::default()).unwrap();
    let mut reader = reader;
    let rows: Vec<Row> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter().all(|row| matches!(row, Row::Good(_))),
        "{:?}",
        errors(&rows)
    );
    assert_eq!(
        reader.notes(),
        [
            "sheet \"Sheet1\"",
            "header in row 4",
            "line 8 is the sum, 150.50: the rows above add up to it"
        ]
    );
    let other = refused_book(sheet("150.00", &[]));
    assert!(
        other.contains("says that its rows add up to 150.00, but they add up to 150.50"),
        "{other}"
    );
    let behind = refused_book(sheet("150.50", &["R3", "B2C_MPESA", "254712345670", "1"]));
    assert!(
        behind.starts_with("Sheet1!9: has a row below the one with the sum, which is row 8"),
        "{behind}"
    );
    // Programs that do not calculate store 0 with a formula: it is named beside the sum.
    let uncalculated = made(|sheet| {
        write(sheet, &[HEADER]);
        write_row(sheet, 1);
        write_row(sheet, 2);
        let formula = Formula::new("=D2*2").set_result("");
        sheet.write(2, 3, formula).unwrap();
        sheet.write(3, 0, "Total").unwrap();
        sheet.write(3, 3, 300).unwrap();
    });
    let uncalculated = refused_book(uncalculated);
    assert!(
        uncalculated.contains(
            "; the amount of line 3 is a formula, and the value that is stored with it may be out of date"
        ),
        "{uncalculated}"
    );
    // Somebody who is paid is no sum, whatever the name.
    let named = texts(&[HEADER, &["Total", "B2C_MPESA", "254712345678", "100"]]);
    assert!(matches!(rows_of(named)[..], [Row::Good(_)]));
}

#[test]
fn mistakes_are_named_with_their_cells() {
    let rows = rows_of(made(|sheet| {
        let date = Format::new().set_num_format("dd/mm/yyyy");
        write(sheet, &[HEADER]);
        for row in 1..6 {
            write_row(sheet, row);
        }
        sheet.write(1, 2, 1_234_567_890_123_456.0).unwrap();
        sheet
            .write(2, 3, Formula::new("=1+1").set_result("2000"))
            .unwrap();
        let day = ExcelDateTime::from_ymd(2026, 3, 1).unwrap();
        sheet.write_with_format(3, 0, &day, &date).unwrap();
        sheet.write_with_format(4, 4, &day, &date).unwrap();
        sheet.write(5, 7, "beside").unwrap();
    }));
    let found = errors(&rows);
    let expected = [
        "Sheet1!C2: msisdn: is a number of more than 15 digits",
        "Sheet1!D3: amount: is a formula, whose result may change",
        "Sheet1!A4: reference: is a date in the sheet",
        "Sheet1!6: column H has no name in the header, and holds something",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}, and not {expected}");
    }
    assert_eq!(
        rows.iter()
            .filter(|row| matches!(row, Row::Good(_)))
            .count(),
        1
    );
}

fn write_row(sheet: &mut Worksheet, row: u32) {
    sheet.write(row, 0, format!("R{row}")).unwrap();
    sheet.write(row, 1, "B2C_MPESA").unwrap();
    sheet
        .write(row, 2, 254_712_345_600.0 + f64::from(row))
        .unwrap();
    sheet.write(row, 3, 100).unwrap();
}

#[test]
fn a_formula_is_taken_where_stored_results_are_wanted() {
    let book = || {
        made(|sheet| {
            write(sheet, &[HEADER]);
            write_row(sheet, 1);
            sheet
                .write(1, 3, Formula::new("=50*2").set_result("100"))
                .unwrap();
        })
    };
    assert_eq!(errors(&rows_of(book())).len(), 1);
    let options = Options {
        sheet: SheetOptions {
            stored_formulas: true,
            ..SheetOptions::default()
        },
        ..Options::default()
    };
    let rows: Vec<Row> = open_book(book(), &options)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(matches!(rows[..], [Row::Good(_)]), "{:?}", errors(&rows));
}

#[test]
fn a_hidden_row_that_is_left_out_is_named() {
    let options = Options {
        sheet: SheetOptions {
            hidden: Hiding::Skipped,
            ..SheetOptions::default()
        },
        ..Options::default()
    };
    let book = made(|sheet| {
        write(sheet, &[HEADER]);
        write_row(sheet, 1);
        write_row(sheet, 2);
        sheet.set_row_hidden(1).unwrap();
    });
    let rows: Vec<Row> = open_book(book, &options)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(matches!(rows[..], [Row::Skipped(_), Row::Good(_)]));
    assert_eq!(errors(&rows), ["Sheet1!2: the row is hidden in the sheet"]);
}

#[test]
fn merged_cells_pay_nobody_twice() {
    let plain = Format::new();
    let merged = made(|sheet| {
        write(sheet, &[HEADER]);
        write_row(sheet, 1);
        write_row(sheet, 2);
        sheet
            .merge_range(1, 2, 2, 2, "254712345678", &plain)
            .unwrap();
    });
    let found = errors(&rows_of(merged));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[1].starts_with("Sheet1!C3: msisdn: is one of several cells that are merged"),
        "{found:?}"
    );
    let header = made(|sheet| {
        write(sheet, &[HEADER]);
        sheet.merge_range(0, 3, 0, 4, "Amount", &plain).unwrap();
        write_row(sheet, 1);
    });
    let found = refused_book(header);
    assert!(
        found.starts_with("Sheet1!D1: has merged cells in its header"),
        "{found}"
    );
}

#[test]
fn a_sheet_without_our_columns_is_refused_by_what_it_holds() {
    let unknown = refused_book(texts(&[&["Employee", "Net Pay"], &["A", "100"]]));
    assert!(unknown.contains("\"Employee\""), "{unknown}");
    let bare = refused_book(texts(&[HEADER]));
    assert!(bare.contains("has a header and no rows"), "{bare}");
}
