//! The files: their form, their mode, and what a failure leaves behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::batch::{header, mixed, paid, read, texts, write};
use crate::domain::ServiceCode;
use crate::ledger::reconciliation::FindingKind;
use crate::report::{Entry, Error, Prepaid, Stated, Writer};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        // Beside the report lies the list of what was written.
        .filter(|name| name != ".disburse-files")
        .collect();
    names.sort();
    names
}

#[test]
fn the_sheet_has_the_promised_columns() {
    let [sheet, ..] = texts(&[paid(2), mixed()[2]]);
    assert_eq!(sheet, include_str!("payments.csv"));
}

#[test]
fn the_document_holds_totals_then_payments() {
    let [_, document, _] = texts(&[paid(2), mixed()[2]]);
    assert_eq!(document, include_str!("report.json"));
    serde_json::from_str::<serde_json::Value>(&document).unwrap();
}

#[test]
fn an_empty_batch_makes_whole_files() {
    let [sheet, document, page] = texts(&[]);
    assert_eq!(sheet.lines().count(), 1);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["count"], 0);
    assert_eq!(document["payments"], serde_json::json!([]));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn the_same_batch_gives_the_same_bytes_wherever_it_is_written() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let entries = mixed();
    write(here.path(), header(&entries), &entries);
    write(there.path(), header(&entries), &entries);
    write(there.path(), header(&entries), &entries);
    assert_eq!(read(here.path()), read(there.path()));
    for text in read(here.path()) {
        assert!(!text.contains("/srv/in"), "folders belong to one machine");
    }
}

#[test]
fn files_are_for_their_owner_only_and_nothing_else_stays() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("reports/2026-11");
    let report = write(&dir, header(&[paid(2)]), &[paid(2)]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for path in [
        &report.paths.csv,
        &report.paths.xlsx,
        &report.paths.json,
        &report.paths.html,
    ] {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    assert_eq!(
        names(&dir),
        ["payments.csv", "report.html", "report.json", "report.xlsx"]
    );
}

#[test]
fn a_report_that_is_not_finished_leaves_the_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(&[paid(2)]), &[paid(2)]);
    let before = read(dir.path());
    let mut writer = Writer::create(dir.path(), header(&mixed())).unwrap();
    mixed().iter().for_each(|entry| writer.add(entry).unwrap());
    drop(writer);
    assert_eq!(read(dir.path()), before);
    assert_eq!(names(dir.path()).len(), 4);
}

#[test]
fn a_file_that_cannot_be_replaced_leaves_all_of_them() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(&[paid(2)]), &[paid(2)]);
    let before = fs::read_to_string(dir.path().join("payments.csv")).unwrap();
    // The last of the three is in the way, so that the other two are complete when it is found.
    fs::remove_file(dir.path().join("report.html")).unwrap();
    fs::create_dir(dir.path().join("report.html")).unwrap();
    let mut writer = Writer::create(dir.path(), header(&mixed())).unwrap();
    mixed().iter().for_each(|entry| writer.add(entry).unwrap());
    let error = writer.finish().unwrap_err();
    assert!(
        error.to_string().contains("cannot write report.html in "),
        "{error}"
    );
    assert!(error.hint().contains("--out"));
    let after = fs::read_to_string(dir.path().join("payments.csv")).unwrap();
    assert_eq!(after, before);
    assert_eq!(names(dir.path()).len(), 4);
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Writer::create(file.path(), header(&[])).err().unwrap();
    assert!(matches!(error, Error::Folder { .. }));
    assert!(
        error.to_string().contains("as the report folder"),
        "{error}"
    );
    assert!(error.hint().contains("--out"));
}

#[test]
fn a_full_disk_is_told_from_a_closed_folder() {
    let hint = |kind: std::io::ErrorKind| {
        Error::write("report.json", Path::new("out"))(kind.into()).hint()
    };
    assert!(hint(std::io::ErrorKind::StorageFull).contains("free some space"));
    assert!(hint(std::io::ErrorKind::PermissionDenied).contains("writable"));
}

#[test]
fn the_page_says_what_a_reader_has_to_know() {
    let entries = mixed();
    let mut header = header(&entries);
    header.held_lanes = vec![ServiceCode::parse("B2C_MPESA").unwrap()];
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header.clone(), &entries);
    let [.., page] = read(dir.path());
    for part in [
        "<b>Adds up.</b>",
        "<b>Not finished.</b> Open payments: 6.",
        "disburse resume-lane payroll-2026-11 B2C_MPESA",
        "invalid customer MSISDN",
        "Correct the msisdn in reports/payroll-2026-11/failed.csv, remove the other rows, then",
        "01109876543210",
        "1 of 12 paid, 4 not paid (1 failed, 1 rejected, 1 cancelled, 1 rejected and withdrawn), 1 with answers that disagree, 6 not finished; 1 line is no payment, as the layout says: action needed.",
        "<small>01109876543210</small><small>Bonde Commercial Bank (02) · Tausi Printers</small>",
        "Esther Njoroge<small>254700000001</small>",
        "<small>INV-77 · Salary November 2026</small>",
        "2026-11-28 09:00:03",
        "<dd>Africa/Nairobi</dd>",
        "outcome unknown</span>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Does not add up"));
    // The verdict comes first, then the proof, then the figures, then whose work it was.
    let order = [
        "<h1>",
        "action needed.",
        "<b>Adds up.</b>",
        "class=\"cards\"",
        "Loaded by",
        "id=\"payments\"",
    ];
    let places = order.map(|part| page.find(part).unwrap());
    assert!(places.is_sorted(), "{places:?}");

    header.rejected_lines = 4;
    write(dir.path(), header, &entries);
    let [_, document, page] = read(dir.path());
    assert!(page.contains("Does not add up. Do not sign this report."));
    assert!(page.contains("rejected lines: 4 when loaded, 3 accounted for"));
    assert!(!page.contains("<b>Adds up.</b>"));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["adds_up"], false);
    assert_eq!(document["difference"]["rejected_lines"], -1);
}

#[test]
fn the_page_loads_nothing_and_allows_exactly_its_own_script_and_style() {
    let [.., page] = texts(&mixed());
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
    // But for the file beside it, which a reader may open.
    let page = page.replace("<a href=\"payments.csv\">", "");
    for outside in ["src=", "@import", "url(", "href=", "style=", "onclick"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("strict-dynamic"), "there is nothing to load");
}

/// The rows that the page's script reads, those within the page.
pub(super) fn rows(page: &str) -> Vec<Vec<String>> {
    let (_, data) = page.split_once("id=\"rows\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let parts = data["parts"].as_array().unwrap();
    parts
        .iter()
        .flat_map(|part| part.as_str().unwrap().split('\n'))
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

#[test]
fn tokens_stand_in_their_columns_and_are_masked_on_the_page() {
    let token = "12345678901234567890";
    let narration = "Token: 1234 5678 9012 3456 7890, Units: 32.5 kWh";
    let ids = ["A", "B", "C", "D", "E"];
    let entry = |line: u64, prepaid, narration| Entry {
        id: ids[line as usize - 2],
        prepaid,
        receiver_narration: narration,
        ..paid(line)
    };
    let [sheet, document, page] = texts(&[
        entry(2, Prepaid::Yes, narration),
        entry(3, Prepaid::Unknown, narration),
        entry(4, Prepaid::No, narration),
        entry(5, Prepaid::Yes, "STS 5X-17"),
        entry(6, Prepaid::Unknown, "Paid to Esther"),
    ]);
    let mut reader = csv::Reader::from_reader(sheet.as_bytes());
    let cells: Vec<(String, String)> = reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            (row[18].to_owned(), row[19].to_owned())
        })
        .collect();
    let read = ("1234-5678-9012-3456-7890".to_owned(), "32.5".to_owned());
    let nothing = (String::new(), String::new());
    assert_eq!(
        cells,
        [
            read.clone(),
            read,
            nothing.clone(),
            nothing.clone(),
            nothing
        ]
    );
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let payments = document["payments"].as_array().unwrap();
    assert_eq!(payments[0]["electricity_token"], token);
    assert_eq!(payments[1]["electricity_units"], "32.5");
    assert_eq!(payments[2]["electricity_token"], serde_json::Value::Null);
    assert_eq!(
        payments[3]["receiver_narration"], "STS 5X-17",
        "what cannot be read is kept"
    );
    assert_eq!(
        page.matches("token ****************7890 · 32.5 units")
            .count(),
        4,
        "each row is in the table and in the script's list"
    );
    // Of the service that sells something else, the narration stands as it is.
    assert_eq!(page.matches("1234 5678").count(), 2);
    assert!(!page.contains(token) && !page.contains("5X-17"));
    assert!(page.contains("Paid to Esther"));
}

#[test]
fn what_somebody_edited_put_there_or_linked_is_not_overwritten() {
    type Prepare = fn(&Path);
    let cases: [(&str, Prepare); 4] = [
        ("payments.csv", |path| {
            let mut text = fs::read_to_string(path).unwrap();
            text.push_str("my note\n");
            fs::write(path, text).unwrap();
        }),
        ("report.html", |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "my page").unwrap();
        }),
        ("report.json", |path| {
            let elsewhere = path.with_file_name("mine.json");
            fs::write(&elsewhere, "{}").unwrap();
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink(elsewhere, path).unwrap();
        }),
        (".disburse-files", |path| {
            fs::write(path, "my list").unwrap()
        }),
    ];
    for (name, prepare) in cases {
        let owner = crate::report::Owner::new(&header(&[]).name, crate::ledger::Purpose::Gateway);
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), header(&[paid(2)]), &[paid(2)]);
        crate::report::usable(dir.path(), &owner, None).unwrap();
        prepare(&dir.path().join(name));
        let before = read(dir.path());
        for error in [
            crate::report::usable(dir.path(), &owner, None).unwrap_err(),
            Writer::create(dir.path(), header(&mixed())).err().unwrap(),
        ] {
            let told = error.to_string();
            assert!(
                told.starts_with(name) && told.ends_with("it is not overwritten"),
                "{told}"
            );
            assert!(error.hint().contains("move it"), "{}", error.hint());
        }
        assert_eq!(read(dir.path()), before);
    }
    // Changed after the report was begun, and before its files take their places.
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(&[paid(2)]), &[paid(2)]);
    let writer = Writer::create(dir.path(), header(&[])).unwrap();
    fs::write(dir.path().join("payments.csv"), "mine").unwrap();
    writer.finish().unwrap_err();
    assert_eq!(
        fs::read_to_string(dir.path().join("payments.csv")).unwrap(),
        "mine"
    );
    assert_eq!(names(dir.path()).len(), 4);
}

#[test]
fn findings_of_statements_are_named_before_anybody_hears_that_nothing_is_to_do() {
    let entries = [paid(2)];
    let kind = FindingKind::ALL
        .into_iter()
        .find(|kind| kind.needs_a_person())
        .unwrap();
    let stated = |digest: &str, count: u64| Stated {
        at: header(&entries).created_at,
        summary: serde_json::json!({
            "statement": "wallet.csv", "digest": digest, "found": {kind.name(): {"count": count}},
        }),
        findings: Vec::new(),
    };
    let done = |now: &str| Stated {
        findings: vec![serde_json::json!({
            "finding": "open_paid_there", "state": "acknowledged", "state_now": now,
        })],
        summary: serde_json::json!({"digest": "c", "found": {"open_paid_there": {"count": 1}}}),
        ..stated("c", 0)
    };
    for (statements, expected) in [
        // What was open then, and is paid by now.
        (vec![done("paid")], "All 1 paid: no action needed."),
        (
            vec![done("delivered")],
            "All 1 paid; 1 finding of a statement to look at: see the statements below.",
        ),
        (vec![], "All 1 paid: no action needed."),
        (vec![stated("a", 0)], "All 1 paid: no action needed."),
        (
            vec![stated("a", 2)],
            "All 1 paid; 2 findings of statements to look at: see the statements below.",
        ),
        // Held against the batch once more, it shows what is left.
        (
            vec![stated("a", 2), stated("b", 0), stated("a", 1)],
            "All 1 paid; 1 finding of a statement to look at: see the statements below.",
        ),
        (
            vec![stated("a", 2), stated("a", 0)],
            "All 1 paid: no action needed.",
        ),
    ] {
        let mut header = header(&entries);
        header.statements = statements;
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), header, &entries);
        let [.., page] = read(dir.path());
        assert!(page.contains(expected), "{expected}");
    }
}
