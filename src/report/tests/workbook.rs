//! report.xlsx as a spreadsheet reads it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use calamine::{Data, Reader, Xlsx};

use super::batch::*;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::row::Row;
use crate::report::sheet::xlsx::Book;
use crate::report::{Entry, StateName};

fn book(dir: &Path) -> Xlsx<std::io::BufReader<File>> {
    calamine::open_workbook(dir.join("report.xlsx")).unwrap()
}

fn rows(dir: &Path, sheet: &str) -> Vec<Vec<Data>> {
    let range = book(dir).worksheet_range(sheet).unwrap();
    range.rows().map(<[Data]>::to_vec).collect()
}

/// Payments of which one has failed, with texts that a spreadsheet would change.
fn entries() -> [Entry<'static>; 3] {
    let failed = Entry {
        line: 4,
        id: "B",
        reference: "=1+1",
        state: StateName::Failed,
        status_code: Some(110),
        status_description: "_x0041_ & <wrong>\u{7} number",
        ..paid(3)
    };
    let large = Entry {
        line: 5,
        id: "C",
        money: Some(money(9_007_199_254_740_993, "KES")),
        account_number: "0012345678901234567",
        ..paid(4)
    };
    [paid(2), failed, large]
}

#[test]
fn every_text_is_a_text_and_amounts_are_numbers_as_long_as_they_are_exact() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(&entries()), &entries());
    assert_eq!(
        book(dir.path()).sheet_names(),
        ["payments", "summary", "exceptions", "evidence"]
    );
    let payments = rows(dir.path(), "payments");
    assert_eq!(payments.len(), 4);
    let at = |name: &str| {
        let is_it = |cell: &Data| *cell == Data::String(name.to_owned());
        payments[0].iter().position(is_it).unwrap()
    };
    for (row, cells) in payments.iter().enumerate().skip(1) {
        for (column, cell) in cells.iter().enumerate() {
            let is_number = matches!(cell, Data::Float(_) | Data::Int(_));
            let is_amount = column == at("amount") && row < 3;
            assert_eq!(is_number, is_amount, "{row} {column}: {cell:?}");
        }
    }
    let text = |row: usize, name: &str| payments[row][at(name)].to_string();
    assert_eq!(text(2, "reference"), "=1+1");
    assert_eq!(text(2, "status_description"), "_x0041_ & <wrong> number");
    assert_eq!(text(3, "account_number"), "0012345678901234567");
    assert_eq!(text(3, "amount"), "90071992547409.93");
    let exceptions = rows(dir.path(), "exceptions");
    assert_eq!(exceptions.len(), 2);
    assert_eq!(exceptions[1], payments[2]);
}

#[test]
fn the_summary_adds_up_and_the_evidence_names_its_head() {
    let dir = tempfile::tempdir().unwrap();
    let report = write(dir.path(), header(&entries()), &entries());
    let told = |sheet: &str| {
        let rows = rows(dir.path(), sheet);
        let line = |row: &Vec<Data>| {
            let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
            cells.join("|").trim_end_matches('|').to_owned()
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let summary = told("summary");
    assert!(report.reconciliation.adds_up());
    assert!(summary.contains("Batch|payroll-2026-11"), "{summary}");
    assert!(summary.contains("Adds up|yes"), "{summary}");
    assert!(summary.contains("|all|3|"), "{summary}");
    assert!(summary.contains("|failed|1|"), "{summary}");
    assert!(summary.contains("failed|110|1|KES "), "{summary}");
    let evidence = told("evidence");
    assert!(evidence.contains(&"5f".repeat(32)), "{evidence}");
    assert!(evidence.contains("payroll.csv|"), "{evidence}");
    assert!(!evidence.contains("/srv/in"), "{evidence}");
}

#[test]
fn the_same_batch_is_the_same_file() {
    let bytes = || {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), header(&entries()), &entries());
        let mut bytes = Vec::new();
        let mut file = File::open(dir.path().join("report.xlsx")).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert!(bytes() == bytes());
}

#[test]
fn a_large_batch_is_listed_where_that_is_asked_for() {
    let many: Vec<Entry<'_>> = (0..50_001)
        .map(|line| Entry {
            id: "",
            ..paid(line + 2)
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(&many), &many);
    let found = rows(dir.path(), "payments");
    assert_eq!(found.len(), 1);
    assert!(found[0][0].to_string().contains("--all-rows"), "{found:?}");
    let mut header = header(&many);
    header.lists_all = true;
    write(dir.path(), header, &many);
    assert_eq!(rows(dir.path(), "payments").len(), 50_002);
}

#[test]
fn lists_go_on_in_further_sheets_and_no_row_is_left_out_where_one_ends() {
    const ROWS: u32 = 4;
    for count in 0..=10_u64 {
        let dir = tempfile::tempdir().unwrap();
        let entries: Vec<_> = (2..2 + count)
            .map(|line| Entry {
                // The first four have failed: their list is full at the third.
                state: if line < 6 {
                    StateName::Failed
                } else {
                    StateName::Paid
                },
                ..paid(line)
            })
            .collect();
        let header = header(&entries);
        let mut written = Book::create(dir.path(), &header)
            .unwrap()
            .with_sheets_of(ROWS);
        for entry in &entries {
            let row = Row {
                entry,
                amount: "1.00",
                currency: "KES",
                posted_at: "",
                settled_at: "",
                electricity: None,
            };
            written.add(&row).unwrap();
        }
        let reconciliation = Reconciliation::new(&header);
        let file = written.finish(&header, &reconciliation).unwrap();
        let mut book: Xlsx<_> = calamine::open_workbook(file.path()).unwrap();
        let mut lines_of = |kind: &str| {
            let mut found = Vec::new();
            let names = book.sheet_names().into_iter();
            for name in names
                .filter(|name| name.starts_with(kind))
                .collect::<Vec<_>>()
            {
                let range = book.worksheet_range(&name).unwrap();
                assert!(range.height() <= ROWS as usize, "{name}");
                let line = |row: &[Data]| row[0].to_string();
                assert_eq!(range.rows().next().map(line).unwrap(), "line", "{name}");
                found.extend(range.rows().skip(1).map(line));
            }
            found
        };
        let lines = |last: u64| (2..last).map(|line| line.to_string()).collect::<Vec<_>>();
        assert_eq!(lines_of("payments"), lines(2 + count));
        assert_eq!(lines_of("exceptions"), lines(2 + count.min(4)));
    }
}
