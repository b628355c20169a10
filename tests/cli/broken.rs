//! Rows that could not be read whole: nothing of them is paid until a person has typed them anew, and nothing of them is lost.

use std::collections::BTreeMap;

use crate::desk::{CONFIGURATION, Desk, HEADER, ROWS};

/// The good rows of a file as JSON.
const GOOD: &str =
    r#"{"reference":"R-1","service_code":"B2C_MPESA","msisdn":"254712345678","amount":100}"#;
const AMEND: [&str; 6] = ["load", "", "--batch", "b", "--sandbox", "--amend"];
/// Columns that pay, or say who is paid.
const CELLS: [&str; 8] = [
    "reference",
    "service_code",
    "msisdn",
    "account_number",
    "amount",
    "bank_account_number",
    "customer_names",
    "narration",
];

/// Rows of JSON that break behind a piece which passes as a row, each with what must not be lost.
const BROKEN_JSON: [(&str, &str); 10] = [
    (
        r#""amount":12,500,"account_number":"254733000099"}"#,
        "254733000099",
    ),
    (r#""amount":15 000}"#, "15 000"),
    (
        r#""amount":40,"customer_names":"Kofi "K" Ann","account_number":"254733000099"}"#,
        "254733000099",
    ),
    (r#""amount":150.0.0}"#, "150.0.0"),
    (r#""amount":100,"amount":900}"#, "900"),
    (r#""amount":0150}"#, "0150"),
    (
        r#""amount":30,"bank_account_number":12345 67890}"#,
        "12345 67890",
    ),
    (
        r#""amount":30,"acount_number":"254733000099"}"#,
        "254733000099",
    ),
    (
        r#""amount":30,"account_number":["254733000099"]}"#,
        "254733000099",
    ),
    (
        r#""amount":30}{"reference":"J-2","msisdn":"254733000099","amount":31}"#,
        "J-2",
    ),
];

fn json_row(n: usize, end: &str) -> String {
    format!(r#"{{"reference":"J-{n}","service_code":"B2C_MPESA","msisdn":"25471234560{n}",{end}"#)
}

/// Rows of CSV with too many cells, too few, and text behind a quote.
const BROKEN_CSV: [(&str, &str); 5] = [
    ("C-1,B2C_MPESA,254722000011,12,500,KES,KE", "12,500"),
    (
        "C-2,B2C_MPESA,254722000012,10.00,KES,KEC-3,B2C_MPESA,254722000013,11.00,KES,KE",
        "C-3",
    ),
    ("C-4,B2C_MPESA,254722000014,10.00", "254722000014"),
    ("C-5,B2C_MPESA,254722000015,\"10\"0.00,KES,KE", "\"10\"0.00"),
    (
        "C-6,B2C_MPESA,\"254722000016\",12,500,KES,KE",
        "\"254722000016\",12,500",
    ),
];

fn rows_of(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        let cells = header.iter().zip(record.iter());
        cells
            .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
            .collect()
    };
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

/// Checks that a file for mending has each row as its text alone, under a name of its own, and that it comes back as it is refused.
#[track_caller]
fn nothing_but_the_text(desk: &Desk, file: &str, broken: &[(&str, &str)], is_named: bool) {
    let rows = rows_of(&desk.text(file));
    assert_eq!(rows.len(), broken.len(), "{file}");
    let mut names = std::collections::BTreeSet::new();
    for (row, (_, lost)) in rows.iter().zip(broken) {
        for column in CELLS {
            let cell = row.get(column).map_or("", String::as_str);
            assert_eq!(cell, "", "{file}: {column} of {row:?}");
        }
        assert!(row["raw"].contains(lost), "{file}: {lost} in {row:?}");
        let advice =
            "as they stand in the column raw. If several rows stand there, add a row for each";
        let said = [row.get("error"), row.get("what_to_do")];
        assert!(
            said.iter().flatten().any(|said| said.contains(advice)),
            "{row:?}"
        );
        assert_eq!(row["rejected_row"].starts_with("row-"), is_named, "{row:?}");
        names.insert(row["rejected_row"].clone());
    }
    assert_eq!(
        names.len(),
        if is_named { broken.len() } else { 1 },
        "{names:?}"
    );
    let mut amend = AMEND;
    amend[1] = file;
    let said = desk.run(&amend).finished(2);
    let count = match broken.len() {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let refused = format!("error: {file}: {count} with errors; nothing was loaded");
    assert!(said.err.contains(&refused), "{}", said.err);
    assert!(
        said.err.contains("msisdn: expected a phone number"),
        "{}",
        said.err
    );
}

fn desk_of(name: &str, content: &str) -> Desk {
    let configuration = format!(
        "{CONFIGURATION}\n[services.BANK]\nkind = \"bank\"\ncurrency_code = \"KES\"\n\
         [services.POWER]\nkind = \"bill_prepaid\"\ncurrency_code = \"KES\"\n"
    );
    Desk::configured()
        .file("disburse.toml", configuration)
        .file(name, content)
}

/// Loads a file both ways, and checks all that is written of its broken rows.
#[track_caller]
fn only_typed_anew(name: &str, content: &str, broken: &[(&str, &str)]) -> Desk {
    let stem = name.split('.').next().unwrap();
    let corrections = format!("{stem}.corrections.csv");
    // Refused as a whole: the same file of corrections, without names.
    let desk = desk_of(name, content).file("first.csv", format!("{HEADER}{ROWS}"));
    desk.run(&["load", "first.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    desk.run(&["load", name, "--batch", "b", "--sandbox", "--amend"])
        .finished(2);
    nothing_but_the_text(&desk, &corrections, broken, false);

    let desk = desk_of(name, content);
    let skip = [
        "load",
        name,
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
    ];
    desk.run(&skip).finished(0);
    nothing_but_the_text(&desk, &corrections, broken, true);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    nothing_but_the_text(&desk, "r/failed.csv", broken, true);
    // The same file again sets nothing aside twice.
    desk.run(&[&skip[..], &["--amend"]].concat()).finished(0);
    let rejected =
        desk.run(&["status", "b", "--json"]).json()["states"]["rejected"]["count"].clone();
    assert_eq!(rejected, broken.len() as u64);
    desk
}

#[test]
fn json_that_breaks_in_a_row_pays_nothing_of_what_came_before() {
    let rows: Vec<String> = (0..)
        .zip(&BROKEN_JSON)
        .map(|(n, (end, _))| json_row(n, end))
        .collect();
    only_typed_anew(
        "lines.jsonl",
        &format!("{GOOD}\n{}\n", rows.join("\n")),
        &BROKEN_JSON,
    );
    // In an array two rows without a comma are refused with the file.
    let rows: Vec<String> = rows[..9].to_vec();
    only_typed_anew(
        "array.json",
        &format!("[{GOOD},\n{}]\n", rows.join(",\n")),
        &BROKEN_JSON[..9],
    );
}

#[test]
fn arrays_among_lines_of_json_are_rows_with_names_of_their_own() {
    let pair = |n: u32| {
        format!(
            r#"[{{"reference":"K-{n}","msisdn":"254712345601","amount":5}},{{"reference":"K-1{n}","amount":6}}]"#
        )
    };
    let lines = format!("{GOOD}\n{}\n{}\n", pair(5), pair(6));
    only_typed_anew("k.jsonl", &lines, &[("", "K-15"), ("", "K-16")]);
}

#[test]
fn a_row_with_cells_too_many_or_too_few_pays_nothing_of_what_stands_in_its_columns() {
    let rows = BROKEN_CSV.map(|(row, _)| row).join("\n");
    let content = format!("{HEADER}{ROWS}{rows}\n");
    let desk = only_typed_anew("c.csv", &content, &BROKEN_CSV);
    // Typed anew, the row takes its place; what else stood in its line is a row of its own.
    let named = rows_of(&desk.text("c.corrections.csv"));
    let name = |n: usize| named[n]["rejected_row"].clone();
    let header =
        "reference,service_code,msisdn,amount,currency_code,country_code,rejected_row,raw,error\n";
    let typed = format!(
        "{header}C-1,B2C_MPESA,254722000011,12500,KES,KE,{},,\nC-2,B2C_MPESA,254722000012,10.00,KES,KE,{},,\n\
         C-3,B2C_MPESA,254722000013,11.00,KES,KE,,,\n",
        name(0),
        name(1)
    );
    let desk = desk.file("typed.csv", typed);
    let said = desk
        .run(&["load", "typed.csv", "--batch", "b", "--sandbox", "--amend"])
        .finished(0);
    assert!(
        said.err
            .contains("2 mended rows take the place of what was rejected"),
        "{}",
        said.err
    );
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["states"]["rejected"]["count"], 3);
    assert_eq!(status["count"], 9);
}

#[test]
fn a_comma_put_into_a_file_of_corrections_leaves_its_row_what_it_was() {
    let content = format!("{HEADER}{ROWS}R-4,B2C_MPESA,2547,10.00,KES,KE\n");
    let desk = desk_of("d.csv", &content);
    desk.run(&[
        "load",
        "d.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
    ])
    .finished(0);
    let first = desk.text("d.corrections.csv");
    let name = rows_of(&first)[0]["rejected_row"].clone();
    let desk = desk.file("d.corrections.csv", first.replacen("10.00", "10,000", 1));
    let again = [
        "load",
        "d.corrections.csv",
        "--batch",
        "b",
        "--sandbox",
        "--amend",
        "--on-error",
        "skip",
    ];
    desk.run(&again).finished(0);
    let row = rows_of(&desk.text("d.corrections-2.csv")).remove(0);
    assert_eq!((row["amount"].as_str(), &row["rejected_row"]), ("", &name));
    let rejected =
        desk.run(&["status", "b", "--json"]).json()["states"]["rejected"]["count"].clone();
    assert_eq!(rejected, 1, "it is no further row");
}

#[test]
fn a_row_that_is_too_long_is_kept_by_its_text_and_its_number() {
    let row = |end: &str| {
        let long = "x".repeat(70_000);
        json_row(
            7,
            &format!(r#""amount":30,"narration":"{long}","account_number":"25473300009{end}"}}"#),
        )
    };
    let content = format!("{GOOD}\n{}\n{}\n", row("1"), row("2"));
    let cut = "… [cut here: the row has 70";
    only_typed_anew("long.jsonl", &content, &[("", cut), ("", cut)]);
    let long = "x".repeat(70_000);
    let csv = format!("{HEADER}{ROWS}L-1,B2C_MPESA,254722000011,12,{long},KE\n");
    let desk = only_typed_anew(
        "long.csv",
        &csv,
        &[("", "all of it is in line 5 of the file]")],
    );
    assert!(desk.text("long.corrections.csv").len() < 8_000);
}

#[test]
fn an_account_of_a_mobile_service_is_a_phone_number() {
    let header = "reference,service_code,msisdn,account_number,amount,currency_code,country_code\n";
    let row = |account: &str| format!("R-1,B2C_MPESA,254712345678,{account},10.00,KES,KE\n");
    for account in ["500", "000", "254733000018x", "12345", "WALLET-7"] {
        let desk = desk_of("a.csv", &format!("{header}{}", row(account)));
        let said = desk
            .run(&["load", "a.csv", "--batch", "b", "--sandbox"])
            .finished(2);
        let words = "a.csv:2: account_number: expected the phone number of the recipient, or nothing: B2C_MPESA pays to phone numbers";
        assert!(said.err.contains(words), "{account}: {}", said.err);
    }
    for account in ["", "0733000018", "+254 733 000018", "254712345678"] {
        let desk = desk_of("a.csv", &format!("{header}{}", row(account)));
        desk.run(&["load", "a.csv", "--batch", "b", "--sandbox"])
            .finished(0);
    }
}

#[test]
fn zeros_and_decimals_that_nobody_had_to_mend_are_missed() {
    let header = "reference,service_code,msisdn,amount,currency_code,country_code,hub_id,bank_code,bank_name,bank_account_name,bank_account_number,extra.branch\n";
    let row = "Z-1,BANK,2547,112023.12,KES,KE,0042,01,KCB,Ann,0110123456789,007\n";
    let good = "Z-2,BANK,254712345678,5.00,KES,KE,0042,01,KCB,Bob,0110123456788,007\n";
    let desk = desk_of("z.csv", &format!("{header}{good}{row}"));
    desk.run(&[
        "load",
        "z.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
    ])
    .finished(0);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let mended = desk
        .text("z.corrections.csv")
        .replace(",2547,", ",254712345679,");
    let failed = desk
        .text("r/failed.csv")
        .replace(",2547,", ",254712345679,");
    for (was, is, words) in [
        (
            "'0042",
            "42",
            "hub_id: has 2 digits, and the rejected row had 4: the zeros in front are gone",
        ),
        (
            "'01,",
            "1,",
            "bank_code: has 1 digits, and the rejected row had 2",
        ),
        (
            "'007",
            "7",
            "extra: lacks digits of a member that the rejected row had",
        ),
        (
            "112023.12",
            "112023.00",
            "amount: is 112023.00, and that of the rejected row was another one: its decimals were rounded",
        ),
    ] {
        let desk = desk.path("spoilt.csv");
        std::fs::write(&desk, mended.replacen(was, is, 1)).unwrap();
        assert_ne!(std::fs::read_to_string(&desk).unwrap(), mended, "{was}");
        let run = |file: &str| {
            let desk = crate::desk::Said::of(
                assert_cmd::Command::new(crate::desk::BINARY)
                    .current_dir(desk.parent().unwrap())
                    .args(["load", file, "--batch", "b", "--sandbox", "--amend"]),
            );
            desk.finished(2)
        };
        let said = run("spoilt.csv");
        assert!(said.err.contains(words), "{}", said.err);
        // `extra` is one cell there.
        if !was.contains("007") {
            std::fs::write(&desk, failed.replacen(was, is, 1)).unwrap();
            let said = run("spoilt.csv");
            assert!(said.err.contains(words), "{}", said.err);
        }
    }
    let desk = desk.file("mended.csv", mended);
    desk.run(&["load", "mended.csv", "--batch", "b", "--sandbox", "--amend"])
        .finished(0);
}

#[test]
fn a_last_line_without_a_line_break_is_named() {
    let header = "reference,service_code,msisdn,currency_code,country_code,amount\n";
    let row = "R-1,B2C_MPESA,254712345678,KES,KE,";
    let words = "warning: g.csv: line 2, the last one, has no line break at its end, as in a file that was cut off";
    for (end, expected) in [
        ("15", true),
        ("1500\n", false),
        ("1500\r\n", false),
        ("\"1500\"", false),
        ("1500\n\n  ", false),
    ] {
        let desk = desk_of("g.csv", &format!("{header}{row}{end}"));
        for command in [
            &["check", "g.csv", "--sandbox"][..],
            &["load", "g.csv", "--batch", "b", "--sandbox"],
        ] {
            let said = desk.run(command).finished(0);
            assert_eq!(said.err.contains(words), expected, "{end:?}: {}", said.err);
        }
    }
}
