//! Shapes of CSV: what other programs write, and what they should not.

use super::*;

const HEADER: &str = "service_code,msisdn,amount,narration";

fn narrations(file: impl Into<Vec<u8>>) -> Vec<(u64, String)> {
    let rows = read(file);
    rows.iter()
        .map(|row| (good(row).line, good(row).narration.to_string()))
        .collect()
}

#[test]
fn every_way_to_write_a_cell_is_read() {
    let head = "B2C_MPESA,254712345678,50";
    for (case, cell, expected) in [
        ("plain", "Salary", "Salary"),
        (
            "comma in quotes",
            "\"Salary, November\"",
            "Salary, November",
        ),
        (
            "escaped quotes",
            "\"the \"\"big\"\" one\"",
            "the \"big\" one",
        ),
        ("only quotes", "\"\"\"\"", "\""),
        ("empty", "", ""),
        ("empty in quotes", "\"\"", ""),
        ("blanks around", "  Salary\t ", "Salary"),
        ("blank after the quote", "\"Salary\"  ", "Salary"),
        ("a quote inside a plain cell", "12\" pipe", "12\" pipe"),
        ("line feed", "\"a\nb\"", "a b"),
        ("line break of Windows", "\"a\r\nb\"", "a b"),
        ("json", "\"{\"\"a\"\": 1}\"", "{\"a\": 1}"),
        ("unicode", "ʤ Wanjikũ 漢字", "ʤ Wanjikũ 漢字"),
        ("a formula", "=1+1", "=1+1"),
    ] {
        for end in ["\n", "\r\n", "\r", ""] {
            if end == "\r" && cell.contains('\n') {
                continue;
            }
            let line_end = if end.is_empty() { "\n" } else { end };
            let file = format!("{HEADER}{line_end}{head},{cell}{end}");
            assert_eq!(
                narrations(file),
                [(2, expected.to_owned())],
                "{case}, {end:?}"
            );
        }
    }
}

#[test]
fn delimiters_are_detected() {
    for (delimiter, note) in [
        (",", None),
        (";", Some("delimiter ';'")),
        ("\t", Some("delimiter TAB")),
        ("|", Some("delimiter '|'")),
    ] {
        let file = format!("{HEADER}\nB2C_MPESA,254712345678,50,x\n").replace(',', delimiter);
        let reader = open(file, rules()).unwrap();
        assert_eq!(reader.notes(), note.into_iter().collect::<Vec<_>>());
        assert_eq!(reader.form().delimiter, delimiter.as_bytes()[0]);
        good(&reader.map(Result::unwrap).next().unwrap());
    }
    // The names decide, not the number of characters.
    let file = "msisdn;amount;service_code;extra.a,b,c,d,e\n254712345678;50;B2C_MPESA;x\n";
    assert_eq!(open(file, rules()).unwrap().form().delimiter, b';');
    let told = "sep=;\r\nmsisdn;amount;service_code\r\n254712345678;50;B2C_MPESA\r\n";
    assert_eq!(good(&read(told)[0]).line, 3);
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let row = |narration: &str| format!("B2C_MPESA,254712345678,50,{narration}\n");
    let file = [
        "\n",
        HEADER,
        "\n\n",
        &row("\"a\nb\nc\""),
        "\r\n",
        &row("x"),
        ",,,\n",
        " \n",
        &row("y"),
    ]
    .concat();
    let lines: Vec<u64> = narrations(file.clone())
        .into_iter()
        .map(|(line, _)| line)
        .collect();
    assert_eq!(lines, [4, 8, 11]);
    let mut reader = open(file, rules()).unwrap();
    assert_eq!(reader.by_ref().count(), 3);
    assert_eq!(reader.notes(), ["2 empty rows skipped"]);
}

#[test]
fn misshapen_rows_are_errors_and_the_next_row_is_read() {
    for (row, expected) in [
        (
            "B2C_MPESA,254712345678",
            "2: expected 4 cells as in the header, found 2",
        ),
        (
            "B2C_MPESA,254712345678,1,500.00,x",
            "2: expected 4 cells as in the header, found 5",
        ),
        (
            "B2C_MPESA,254712345678,50,\"a\" b",
            "2: text follows the closing quote in narration",
        ),
        (
            "\"B2C_MPESA\"\",254712345678,50,x\"y",
            "2: text follows the closing quote in service_code",
        ),
    ] {
        let rows = read(format!("{HEADER}\n{row}\nB2C_MPESA,254712345678,50,x\n"));
        let found = errors(&rows);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{found:?}"
        );
        assert_eq!(good(&rows[1]).line, 3);
    }
}

#[test]
fn a_quote_that_is_never_closed_hides_no_rows() {
    let tail = "B2C_MPESA,254712345678,50,x\n".repeat(3);
    let long = "B2C_MPESA,254712345678,50,x\n".repeat(5000);
    for (case, file, expected) in [
        (
            "to the end",
            format!("{HEADER}\nB2C_MPESA,254712345678,50,\"x\n{tail}"),
            "2: has a quote that is opened in this line and never closed",
        ),
        (
            "into another quote",
            format!(
                "{HEADER}\nB2C_MPESA,254712345678,50,\"x\n{tail}B2C_MPESA,254712345678,50,\"y\"\n"
            ),
            "2: has a quoted cell that begins in this line and ends in line 6: text follows",
        ),
        (
            "to a quote at the end of a cell",
            format!(
                "{HEADER}\nB2C_MPESA,254712345678,50,\"x\n{tail}B2C_MPESA,254712345678,50,12\"\n"
            ),
            "2: has a quoted cell that begins in this line and ends in line 6: it holds lines that look like rows",
        ),
        (
            "to the end of a cell of the next row",
            format!(
                "{HEADER},reference\nB2C_MPESA,254712345678,50,\"x,R1\nB2C_MPESA,254712345679,70,y\",R2\n"
            ),
            "2: has a quoted cell that begins in this line and ends in line 3: it holds lines that look like rows",
        ),
        (
            "the same with carriage returns alone",
            format!(
                "{HEADER},reference\nB2C_MPESA,254712345678,50,\"x,R1\nB2C_MPESA,254712345679,70,y\",R2\n"
            )
            .replace('\n', "\r"),
            "2: has a quoted cell that begins in this line and ends in line 3: it holds lines that look like rows",
        ),
        (
            "through more than a cell may hold",
            format!("{HEADER}\n\"{}\",x,x,x\n", "a\n".repeat(9000)),
            "more than 4096 bytes",
        ),
        (
            "through the whole file",
            format!("{HEADER}\nB2C_MPESA,254712345678,50,\"x\n{long}"),
            "never closed",
        ),
    ] {
        let found = refused(file);
        assert!(found.contains(expected), "{case}: {found}");
    }
}

#[test]
fn long_cells_and_rows_are_errors_of_their_row() {
    let cell = "x".repeat(10 << 20);
    let row = format!("{},", "x".repeat(4000)).repeat(40);
    let file = format!(
        "{HEADER}\nB2C_MPESA,254712345678,50,{cell}\n{row}\nB2C_MPESA,254712345678,50,\"{cell}\"\nB2C_MPESA,254712345678,50,x\n"
    );
    let rows = read(file);
    assert_eq!(
        errors(&rows),
        [
            "2: expected at most 65536 bytes in a row, found 10485786",
            "3: expected at most 65536 bytes in a row, found 160040",
            "4: expected at most 65536 bytes in a row, found 10485788",
        ]
    );
    let Row::Bad(bad) = &rows[0] else {
        panic!("the row is bad")
    };
    assert!(bad.raw.iter().map(String::len).sum::<usize>() <= ROW_BYTES_MAX);
    good(&rows[3]);
    // A character is never cut in two.
    let rows = read(format!(
        "{HEADER}\nB2C_MPESA,254712345678,50,a{}\n",
        "é".repeat(3000)
    ));
    assert!(errors(&rows)[0].contains("found 6001"));
}
