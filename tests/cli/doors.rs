//! What comes in by a file and must not: look-alikes, mended rows without a name, sums without end, other kinds of files.

use crate::desk::{Desk, HEADER};

const NAMELESS: &str = "service_code,msisdn,amount,currency_code,country_code,narration\n";

fn nameless(rows: &[(&str, &str, &str)]) -> String {
    let mut text = NAMELESS.to_owned();
    for (msisdn, amount, narration) in rows {
        text.push_str(&format!("B2C_MPESA,{msisdn},{amount},KES,KE,{narration}\n"));
    }
    text
}

fn load<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["load", file, "--batch", "b", "--sandbox"][..], more].concat()
}

#[test]
fn a_mended_row_without_a_reference_is_not_added_as_a_new_one() {
    const ASHA: (&str, &str, &str) = ("254712345678", "100.00", "Salary");
    const BEN: (&str, &str, &str) = ("254712345679", "200.00", "Salary");
    const CYRUS: (&str, &str, &str) = ("254712345670", "300.00", "Salary");
    let mended = (ASHA.0, ASHA.1, "Salary November");
    let desk = Desk::new()
        .file("first.csv", nameless(&[ASHA, BEN]))
        .file("mended.csv", nameless(&[mended, BEN]))
        .file("all.csv", nameless(&[mended, (BEN.0, BEN.1, "x")]))
        .file(
            "named.csv",
            format!("{HEADER}R-1,B2C_MPESA,254712345678,100.00,KES,KE\n"),
        )
        .file("more.csv", nameless(&[ASHA, BEN, CYRUS]));
    desk.run(&load("first.csv", &[])).finished(0);
    for (file, counts) in [
        ("mended.csv", "1 row new and 1 row gone"),
        ("all.csv", "2 rows new and 2 rows gone"),
        ("named.csv", "1 row new and 2 rows gone"),
    ] {
        let said = desk.run(&load(file, &["--amend"])).finished(2);
        let error = format!(
            "error: batch b: {counts}, and without references a mended row looks like a new one; nothing \
             was loaded"
        );
        assert!(said.err.contains(&error), "{}", said.err);
        assert!(
            said.err
                .contains("first cancel the old one with `disburse cancel b ID`")
        );
    }
    // What is only new is added.
    desk.run(&load("more.csv", &["--amend"])).finished(0);
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["count"], 3);

    // The way that the hint shows: the old row is withdrawn, and the mended one takes its place.
    let desk = Desk::new()
        .file("first.csv", nameless(&[ASHA]))
        .file("mended.csv", nameless(&[mended]));
    desk.run(&load("first.csv", &[])).finished(0);
    desk.run(&["cancel", "b", "--yes"]).finished(0);
    desk.run(&load("mended.csv", &["--amend"])).finished(0);
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["states"]["cancelled"]["count"], 1);
    assert_eq!(status["states"]["ready"]["count"], 1);
}

#[test]
fn rows_that_were_set_aside_are_added_once_they_are_mended() {
    let good = ("254712345678", "100.00", "Salary");
    let desk = Desk::new().file(
        "first.csv",
        nameless(&[good, ("25471234567", "200.00", "Salary")]),
    );
    desk.run(&load("first.csv", &["--on-error", "skip"]))
        .finished(0);
    let corrections = desk.text("first.corrections.csv");
    let mended = corrections.replace("25471234567,", "254712345671,");
    let desk = desk.file("first.corrections.csv", mended);
    desk.run(&load("first.corrections.csv", &["--amend"]))
        .finished(0);
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["states"]["ready"]["count"], 2);
}

#[test]
fn references_that_look_like_others_are_refused_and_never_rewritten() {
    for (odd, why) in [
        ("INV\u{200b}-1", "holds the invisible character U+200B"),
        ("INV-1\u{ad}", "holds the invisible character U+00AD"),
        ("\u{202e}INV-1", "holds the invisible character U+202E"),
        ("INV\u{a0}1", "holds the special blank U+00A0"),
        ("E\u{301}-1", "holds an accent as a character of its own"),
    ] {
        let rows = format!("{HEADER}{odd},B2C_MPESA,254712345678,100.00,KES,KE\n");
        let desk = Desk::new().file("odd.csv", rows);
        let said = desk.run(&load("odd.csv", &[])).finished(2);
        assert!(
            said.err.contains(&format!(
                "odd.csv:2: reference: {why}, so another reference may look the same; type it again"
            )),
            "{}",
            said.err
        );
        let is_seen = odd.starts_with('E');
        assert!(
            is_seen || !said.err.contains(odd),
            "what is not seen is shown with its escapes"
        );
        // What an earlier journal has posted must come out again under its own identifier.
        desk.run(&load("odd.csv", &["--presume-posted"]))
            .finished(0);
        let report = ["report", "b", "--out", "r", "-q"];
        desk.run(&report);
        assert!(desk.text("r/payments.csv").contains(odd));
    }
}

#[test]
fn a_file_whose_sum_cannot_be_counted_is_refused_in_words() {
    let most = "92233720368547758.07";
    let row = |n: u32| format!("R-{n},B2C,25471234567{n},{most},KES,KE\n");
    let configuration = "[profiles.p]\noriginator = \"acme\"\n[services.B2C]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\n";
    let desk = Desk::new()
        .file("disburse.toml", configuration)
        .file("one.csv", format!("{HEADER}{}", row(1)))
        .file("other.csv", format!("{HEADER}{}", row(2)))
        .file("two.csv", format!("{HEADER}{}{}", row(1), row(2)))
        .file(
            "ten.csv",
            format!("{HEADER}{}", (0..10).map(row).collect::<String>()),
        );
    let refused = |desk: &Desk, arguments: &[&str], total: &str| {
        let said = desk.run(arguments).finished(2);
        let error =
            format!("adds up to KES {total}, which is more than can be counted (18 digits)");
        assert!(said.err.contains(&error), "{}", said.err);
    };
    refused(&desk, &["check", "two.csv"], "184467440737095516.14");
    refused(
        &desk,
        &["load", "ten.csv", "--batch", "b"],
        "922337203685477580.70",
    );
    desk.run(&["load", "one.csv", "--batch", "b"]).finished(0);
    let amend = ["load", "other.csv", "--batch", "b", "--amend"];
    let said = desk.run(&amend).finished(2);
    assert!(
        said.err.contains("which is more than can be counted"),
        "{}",
        said.err
    );
    desk.run(&["status", "b"]).finished(0);
}

#[test]
fn what_is_no_file_is_named_at_once() {
    let desk = Desk::with_rows();
    desk.shell("mkfifo pipe; mkdir folder; ln -s pipe link");
    let pipe = "hint: give it as standard input, with - in the place of its name; or write it into a file first";
    let device = "hint: name a file; - reads standard input";
    for (name, lines) in [
        ("pipe", &["error: pipe: is a pipe, not a file", pipe][..]),
        ("link", &["error: link: is a pipe, not a file", pipe]),
        (
            "/dev/zero",
            &["error: /dev/zero: is a device, not a file", device],
        ),
        (
            "/dev/null",
            &["error: /dev/null: is a device, not a file", device],
        ),
        ("folder", &["error: folder: is a folder; name a file in it"]),
    ] {
        for command in [
            &["check", name, "--sandbox"][..],
            &["load", name, "--batch", "b", "--sandbox"],
            &["pay", name, "--batch", "b", "--sandbox"],
        ] {
            desk.run(command).refused(2, lines);
        }
    }
    let said = desk
        .shell("disburse check <(cat ok.csv) --sandbox")
        .finished(2);
    assert!(said.err.contains("is a pipe, not a file"), "{}", said.err);
    desk.shell("cat ok.csv | disburse check - --sandbox")
        .finished(0);
    let said = desk
        .shell("disburse check - --sandbox < folder")
        .finished(2);
    assert!(
        said.err
            .contains("standard input: is a folder; name a file in it"),
        "{}",
        said.err
    );
    // Without an end, and told all the same.
    let said = desk
        .shell("disburse check - --sandbox < /dev/zero")
        .finished(2);
    assert!(
        said.err.contains("standard input: is a binary file"),
        "{}",
        said.err
    );
}

#[test]
fn other_kinds_of_files_are_named_whatever_they_are_called() {
    let xlsx = b"PK\x03\x04\x14\0\0\0\x08\0[Content_Types].xml....xl/workbook.xml";
    let mut desk = Desk::loaded();
    for (name, head, kind) in [
        ("a.json", &xlsx[..], "an Excel workbook (XLSX)"),
        ("b.jsonl", b"%PDF-1.7\n", "a PDF document"),
        ("c.csv", b"\x28\xb5\x2f\xfd", "a zstd archive"),
        ("d.csv", b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        ("e.csv", b"GIF89a", "a GIF picture"),
    ] {
        desk = desk.file(name, head);
        for command in [
            &["check", name, "--sandbox"][..],
            &["load", name, "--batch", "n", "--sandbox"],
        ] {
            let said = desk.run(command).finished(2);
            let error = format!("error: {name}: is {kind}, not CSV or JSON");
            assert!(said.err.contains(&error), "{}", said.err);
        }
    }
    let said = desk.run(&["check", "disburse.db", "--sandbox"]).finished(2);
    assert!(said.err.contains("is an SQLite database"), "{}", said.err);
}

#[test]
fn rows_that_share_one_line_are_told_apart() {
    let row = |reference: &str, msisdn: &str, amount: &str| {
        format!(
            r#"{{"reference":"{reference}","service_code":"B2C_MPESA","msisdn":"{msisdn}","amount":"{amount}","currency_code":"KES","country_code":"KE"}}"#
        )
    };
    let rows = [
        row("A", "254712345671", "100.00"),
        row("B", "25471234567", "200.00"),
        row("C", "25471234568", "300.00"),
        row("A", "254712345674", "400.00"),
        row("D", "254712345675", "500.00"),
    ];
    let desk = Desk::new().file("one.json", format!("[{}]", rows.join(",")));
    let said = desk
        .run(&load("one.json", &["--on-error", "skip"]))
        .finished(0);
    // The number of the row tells which one it is.
    for place in ["one.json:1, row 2: msisdn:", "one.json:1, row 3: msisdn:"] {
        assert!(said.err.contains(place), "{}", said.err);
    }
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["states"]["ready"]["count"], 2);
    assert_eq!(status["states"]["rejected"]["count"], 3);
    // Of two rows with one reference the second one is to be mended: the first one is loaded.
    let corrections = desk.text("one.corrections.csv");
    assert!(corrections.contains("254712345674"), "{corrections}");
    assert!(!corrections.contains("254712345671"), "{corrections}");
    assert_eq!(corrections.lines().count(), 4);
    // The same file again is the same.
    let said = desk
        .run(&load("one.json", &["--on-error", "skip"]))
        .finished(0);
    assert!(
        said.out.contains("already there, unchanged"),
        "{}",
        said.out
    );
}
