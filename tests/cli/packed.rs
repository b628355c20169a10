//! Packed and encrypted files: what is inside is read as if it lay there alone, and is the same batch.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rust_xlsxwriter::Workbook;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::desk::{CONFIGURATION, Desk, HEADER, ROWS};

/// A cipher that every machine has.
const BASE64: &str = "\n[files]\ndecrypt = [\"base64\", \"-d\"]\n";

fn payroll() -> Vec<u8> {
    format!("{HEADER}{ROWS}").into_bytes()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(text).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn encrypted(text: &[u8]) -> String {
    data_encoding::BASE64.encode(text)
}

fn workbook() -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    let text = payroll();
    let text = std::str::from_utf8(&text).unwrap();
    for (row, line) in (0..).zip(text.lines()) {
        for (column, cell) in (0..).zip(line.split(',')) {
            sheet.write_string(row, column, cell).unwrap();
        }
    }
    book.save_to_buffer().unwrap()
}

fn desk() -> Desk {
    Desk::new()
        .file("disburse.toml", format!("{CONFIGURATION}{BASE64}"))
        .variable("DISBURSE_PASSWORD", "hunter2")
}

#[test]
fn the_same_payroll_is_the_same_batch_however_it_is_packed() {
    let text = payroll();
    let forms: [(&str, Vec<u8>, &str); 10] = [
        ("ok.csv", text.clone(), ""),
        ("ok.csv.gz", gzip(&text), "unpacked from gzip"),
        // The content says that it is packed, not the name.
        ("export.csv", gzip(&text), "unpacked from gzip"),
        (
            "june.zip",
            zip(&[("ok.csv", &text), ("__MACOSX/._ok.csv", b"x")]),
            "unpacked from ZIP: ok.csv",
        ),
        (
            "ok.csv.age",
            encrypted(&text).into_bytes(),
            "decrypted in memory",
        ),
        (
            "ok.csv.gz.age",
            encrypted(&gzip(&text)).into_bytes(),
            "unpacked from gzip",
        ),
        (
            "ok.csv.gpg.zip",
            zip(&[("ok.csv.gpg", encrypted(&text).as_bytes())]),
            "decrypted in memory",
        ),
        ("ok.xlsx", workbook(), "sheet \"Sheet1\""),
        (
            "ok.xlsx.PGP",
            encrypted(&workbook()).into_bytes(),
            "decrypted in memory",
        ),
        (
            "ok.zip",
            zip(&[("ok.xlsx", &workbook())]),
            "unpacked from ZIP: ok.xlsx",
        ),
    ];
    let desk = forms
        .iter()
        .fold(desk(), |desk, (name, bytes, _)| desk.file(name, bytes));
    let mut identifiers = Vec::new();
    for (at, (name, _, note)) in forms.iter().enumerate() {
        let journal = format!("j{at}.db");
        // Nothing of an encrypted file can be kept there.
        let is_encrypted = name.ends_with(".age") || name.ends_with(".PGP");
        let tmp = if is_encrypted { "/nonexistent" } else { "." };
        let line =
            |order: &str| format!("TMPDIR={tmp} disburse {order} --journal {journal} --json 2>&1");
        let said = desk.shell(&line(&format!("load {name} --batch june")));
        let said = said.finished(0);
        assert!(said.out.contains(note), "{name}: {said:?}");
        let shown = desk.run(&[
            "report",
            "june",
            "--journal",
            &journal,
            "--out",
            &format!("r{at}"),
        ]);
        assert_eq!(shown.code, 0, "{name}: {shown:?}");
        let csv = desk.text(&format!("r{at}/payments.csv"));
        let ids: Vec<String> = csv
            .lines()
            .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(","))
            .map(|line| line.split_once(',').unwrap().1.to_owned())
            .collect();
        assert_eq!(ids.len(), 4, "{name}: {csv}");
        identifiers.push(ids);
    }
    assert!(identifiers.windows(2).all(|two| two[0] == two[1]));
    // In one journal, all of them are the batch that is there.
    for (name, ..) in &forms[1..] {
        let said = desk.shell(&format!(
            "TMPDIR=. disburse load {name} --batch june --journal j0.db 2>&1"
        ));
        let said = said.finished(0);
        assert!(said.out.contains("already"), "{name}: {said:?}");
    }
    // And under another name each is a repeat.
    let said = desk.shell("disburse load ok.csv.gz.age --batch other --journal j0.db 2>&1");
    let said = said.finished(2);
    assert!(said.out.contains("june"), "{said:?}");
}

#[test]
fn a_layout_knows_the_packed_file_as_the_plain_one() {
    let rows = "Phone,Net\n0712345671,10\n0712345672,20\n";
    let layout = "[layouts.l-1.columns]\nmsisdn = \"Phone\"\namount = \"Net\"\n[layouts.l-1.constants]\nservice_code = \"B2C_MPESA\"\n";
    let desk = Desk::new()
        .file("disburse.toml", format!("{CONFIGURATION}{BASE64}{layout}"))
        .variable("DISBURSE_PASSWORD", "hunter2")
        .file("a.csv", rows)
        .file("a.csv.gz.age", encrypted(&gzip(rows.as_bytes())));
    desk.run(&["load", "a.csv", "--batch", "a", "--layout", "l-1"])
        .finished(0);
    let again = desk.run(&["load", "a.csv.gz.age", "--batch", "a", "--layout", "l-1"]);
    let again = again.finished(0);
    assert!(
        again.err.contains("already") || again.out.contains("already"),
        "{again:?}"
    );
    let guessed = desk.run(&["layout", "guess", "a.csv.gz.age"]);
    let guessed = guessed.finished(0);
    assert!(guessed.out.contains("[layouts.a-1"), "{guessed:?}");
    assert!(guessed.err.contains("decrypted in memory"), "{guessed:?}");
}

#[test]
fn mistakes_are_told_of_the_packed_file_and_mended_beside_it() {
    let bad = format!("{HEADER}{ROWS}R-4,B2C_MPESA,25471,1.00,KES,KE\n");
    let desk = desk()
        .file("bad.csv.gz", gzip(bad.as_bytes()))
        .file("bad.csv.age", encrypted(bad.as_bytes()));
    let said = desk.run(&["check", "bad.csv.gz"]);
    let said = said.finished(2);
    assert!(said.err.contains("bad.csv.gz:5:"), "{said:?}");
    assert!(said.err.contains("bad.corrections.csv"), "{said:?}");
    assert!(!said.err.contains("not encrypted"), "{said:?}");
    let said = desk.run(&["check", "bad.csv.age", "--corrections", "c.csv"]);
    let said = said.finished(2);
    assert!(said.err.contains("bad.csv.age:5:"), "{said:?}");
    assert!(said.err.contains("and not encrypted"), "{said:?}");
}

#[test]
fn what_cannot_be_opened_leaves_nothing_behind() {
    let text = payroll();
    let whole = gzip(&text);
    let cases: [(&str, Vec<u8>, &[&str]); 6] = [
        (
            "cut.csv.gz",
            whole[..whole.len() - 5].to_vec(),
            &["cut.csv.gz: is cut off", "fetch the file again"],
        ),
        (
            "tail.csv.gz",
            [&whole[..], &text].concat(),
            &["behind the end of its gzip data"],
        ),
        (
            "two.zip",
            zip(&[("a.csv", &text), ("b.csv", &text)]),
            &[
                "is a ZIP archive of 2 files: \"a.csv\", \"b.csv\"",
                "pack only the file",
            ],
        ),
        (
            "folder.zip",
            zip(&[("june/a.csv", &text)]),
            &["in a folder: \"june/a.csv\""],
        ),
        (
            "bad.csv.age",
            b"!no cipher!".to_vec(),
            &[
                "bad.csv.age: not decrypted: base64 ended with exit status: 1: base64: invalid input",
                "base64 -d < bad.csv.age",
            ],
        ),
        (
            "nest.zip",
            zip(&[(
                "a.zip",
                &zip(&[("b.zip", &zip(&[("c.zip", &zip(&[("d.csv", &text)]))]))]),
            )]),
            &["more than 3 times"],
        ),
    ];
    let desk = cases
        .iter()
        .fold(desk(), |desk, (name, bytes, _)| desk.file(name, bytes));
    let before = desk.files();
    for (name, _, expected) in cases {
        let said = desk.run(&["load", name, "--batch", "b"]);
        let said = said.finished(2);
        for part in expected {
            assert!(said.err.contains(part), "{name}: {said:?}");
        }
        assert_eq!(desk.files(), before, "{name}");
    }
    let none = Desk::configured().file("ok.csv.age", encrypted(&text));
    let said = none.run(&["load", "ok.csv.age", "--batch", "b"]);
    let said = said.finished(2);
    assert!(
        said.err.contains("is encrypted") && said.err.contains("[files] decrypt"),
        "{said:?}"
    );
}

#[test]
fn the_command_is_told_no_password_of_ours() {
    let command =
        "\n[files]\ndecrypt = [\"sh\", \"-c\", \"env >&2; exit 9\"]\ndecrypt_within = \"30s\"\n";
    let desk = Desk::new()
        .file("disburse.toml", format!("{CONFIGURATION}{command}"))
        .file("ok.csv.age", "x")
        .variable("DISBURSE_PASSWORD", "hunter2");
    let said = desk.run(&["load", "ok.csv.age", "--batch", "b"]);
    let said = said.finished(2);
    assert!(said.err.contains("exit status: 9"), "{said:?}");
    assert!(said.err.contains("PATH="), "{said:?}");
    assert!(!said.err.contains("hunter2"), "{said:?}");
    // What is configured is shown without what may be a secret of its own.
    let shown = desk.run(&["config", "show"]);
    let shown = shown.finished(0);
    assert!(shown.out.contains("files.decrypt "), "{shown:?}");
    assert!(!shown.out.contains("env >&2"), "{shown:?}");
    let wrong = Desk::new().file("disburse.toml", "[files]\ndecrypt = \"age -d\"\n");
    let said = wrong.run(&["config", "show"]);
    let said = said.finished(2);
    assert!(
        said.err
            .contains("disburse.toml:2:11: files.decrypt: expected a program and its arguments"),
        "{said:?}"
    );
}
