//! The page of a batch that has more rows than one file takes: the files beside it, and whose they are.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::batch::{at, header, money, paid, read, write};
use super::files::rows;
use super::hostile::HOSTILE;
use crate::report::{BatchHeader, Entry, StateName, Writer};

const WITHIN_MAX: usize = 20_000;

fn ids(rows: usize) -> Vec<String> {
    (0..rows).map(|n| format!("{n:026}")).collect()
}

fn entries(ids: &[String]) -> Vec<Entry<'_>> {
    let rows = ids.iter().enumerate();
    rows.map(|(n, id)| Entry {
        id,
        reference: match n {
            20_000 => "LATE-CONFLICT",
            _ => "",
        },
        money: Some(money(n as i64 + 1, "KES")),
        state: match n {
            20_000 => StateName::Conflict,
            n if n < 6_000 => StateName::Acknowledged,
            _ => StateName::Paid,
        },
        posted_at: at(n as i64),
        ..paid(n as u64 + 2)
    })
    .collect()
}

/// What the page says about where its rows are.
fn data(page: &str) -> serde_json::Value {
    let (_, data) = page.split_once("id=\"rows\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// The folder that a page names.
fn folder(dir: &Path) -> PathBuf {
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    dir.join(data(&page)["folder"].as_str().unwrap())
}

/// The rows of the files beside a page, each file read as the one call that it is.
fn beside(dir: &Path) -> Vec<Vec<Vec<String>>> {
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    let counts = data(&page)["counts"].as_array().unwrap().len();
    let files = (1..=counts).map(|number| {
        let path = folder(dir).join(format!("{number:05}.js"));
        let file = fs::read_to_string(path).unwrap();
        let text = file.strip_prefix(&format!("disburseRows({number},"));
        let text = text.unwrap().strip_suffix(");\n").unwrap();
        let text: String = serde_json::from_str(text).unwrap();
        let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
        text.split('\n').map(cells).collect()
    });
    files.collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn up_to_the_limit_the_page_is_one_file_and_beyond_it_all_rows_are_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let ids = ids(WITHIN_MAX + 1);
    let all = entries(&ids);

    let report = write(dir.path(), header(&all[1..]), &all[1..]);
    assert_eq!(report.paths.html_rows, None);
    let [.., page] = read(dir.path());
    assert_eq!(rows(&page).len(), WITHIN_MAX);
    assert!(!dir.path().join("report_files").exists());
    assert!(page.contains("<option value=\"0\">all</option>"));

    let report = write(dir.path(), header(&all), &all);
    assert_eq!(
        report.paths.html_rows,
        Some(dir.path().join("report_files"))
    );
    let [sheet, document, page] = read(dir.path());
    assert_eq!(sheet.lines().count(), WITHIN_MAX + 2);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        document["payments"].as_array().unwrap().len(),
        WITHIN_MAX + 1
    );
    // The first rows and the exceptions are seen without the other files, the urgent ones first.
    assert!(page.contains("These are the first 50 of 20,001 payments."));
    assert!(page.contains("<a href=\"payments.csv\">payments.csv</a>"));
    assert!(page.contains("LATE-CONFLICT"));
    assert!(page.contains("1,001 more are in the list of payments below"));
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    // Its script may load others, and no markup can.
    let policy = page.split_once("Content-Security-Policy").unwrap().1;
    let policy = policy.split_once('>').unwrap().0;
    let scripts = policy.split_once("script-src ").unwrap().1;
    let scripts = scripts.split_once(';').unwrap().0;
    assert!(
        scripts.starts_with("'sha256-") && scripts.ends_with(" 'strict-dynamic'"),
        "{scripts}"
    );
    assert_eq!(scripts.split(' ').count(), 2, "{scripts}");

    let files = beside(dir.path());
    let rows: Vec<_> = files.iter().flatten().collect();
    assert_eq!(rows.len(), WITHIN_MAX + 1);
    for (n, (row, entry)) in rows.iter().zip(&all).enumerate() {
        assert_eq!(row.len(), 16);
        assert_eq!(
            (row[0].as_str(), row[2].as_str(), row[9].as_str()),
            (
                entry.line.to_string().as_str(),
                entry.id,
                entry.state.as_str()
            ),
            "row {n}"
        );
    }
    let data = data(&page);
    // As the choice of states names them.
    let states = ["paid", "conflict", "acknowledged"];
    let choices: Vec<&str> = page
        .split("<option value=\"")
        .skip(1)
        .map(|rest| rest.split_once('"').unwrap().0)
        .collect();
    assert_eq!(choices, ["", states[0], states[1], states[2]]);
    for (rows, counts) in files.iter().zip(data["counts"].as_array().unwrap()) {
        let counted = states.map(|state| rows.iter().filter(|row| row[9] == state).count());
        assert_eq!(*counts, serde_json::json!(counted));
    }
}

#[test]
fn rows_that_are_long_are_beside_the_page_before_there_are_many() {
    let dir = tempfile::tempdir().unwrap();
    let ids = ids(400);
    let long = "x".repeat(60_000);
    let all: Vec<_> = entries(&ids)
        .into_iter()
        .map(|entry| Entry {
            note: &long,
            ..entry
        })
        .collect();
    write(dir.path(), header(&all), &all);
    let files = beside(dir.path());
    assert_eq!(files.iter().map(Vec::len).sum::<usize>(), 400);
    for file in fs::read_dir(folder(dir.path())).unwrap() {
        let bytes = file.unwrap().metadata().unwrap().len();
        assert!(bytes < (2 << 20) + 100_000, "{bytes} bytes");
    }
}

#[test]
fn no_text_of_a_row_beside_the_page_ends_the_text_that_it_stands_in() {
    let dir = tempfile::tempdir().unwrap();
    let ids = ids(WITHIN_MAX + 10);
    let mut all = entries(&ids);
    for (entry, text) in all.iter_mut().zip(HOSTILE.iter().cycle()) {
        *entry = Entry {
            reference: text,
            customer_names: text,
            narration: text,
            note: text,
            receipt_number: text,
            ..*entry
        };
    }
    write(dir.path(), header(&all), &all);
    // Each file reads as one call with one text, which has a line for each row and a cell for each of its texts.
    let files = beside(dir.path());
    assert!(files.iter().flatten().all(|row| row.len() == 16));
    assert_eq!(files.iter().map(Vec::len).sum::<usize>(), all.len());
    for file in fs::read_dir(folder(dir.path())).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for sign in ['<', '>', '&', '\u{2028}', '\u{2029}', '\u{202e}', '\u{1b}'] {
            let script = !text.starts_with("disburseRows(");
            assert!(script || !text.contains(sign), "{sign:?}");
        }
    }
}

fn large(ids: &[String], dir: &Path) -> BatchHeader {
    let all = entries(ids);
    write(dir, header(&all), &all);
    header(&all)
}

#[test]
fn rows_of_an_earlier_report_go_when_another_page_is_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let ids = ids(24_100);
    large(&ids, dir.path());
    let early = folder(dir.path());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir.path().join("report_files")), 0o700);
    assert_eq!(mode(&early), 0o700);
    assert_eq!(names(&early).len(), 1 + 7);
    for name in names(&early) {
        assert_eq!(mode(&early.join(&name)), 0o600, "{name}");
    }
    // The same again is the same, to the byte.
    let page = fs::read(dir.path().join("report.html")).unwrap();
    large(&ids, dir.path());
    assert!(page == fs::read(dir.path().join("report.html")).unwrap());
    assert_eq!(names(&dir.path().join("report_files")).len(), 1);

    // A report that is given up leaves nothing.
    let all = entries(&ids[..20_500]);
    let mut writer = Writer::create(dir.path(), header(&all)).unwrap();
    all.iter().for_each(|entry| writer.add(entry).unwrap());
    drop(writer);
    assert_eq!(names(dir.path()).len(), 6);
    assert!(page == fs::read(dir.path().join("report.html")).unwrap());

    large(&ids[..20_500], dir.path());
    let late = folder(dir.path());
    assert_ne!(early, late);
    assert_eq!(names(&late).len(), 1 + 6);
    assert_eq!(
        names(&dir.path().join("report_files")).len(),
        1,
        "the earlier rows are gone"
    );

    write(dir.path(), header(&[paid(2)]), &[paid(2)]);
    assert!(!dir.path().join("report_files").exists());
    assert_eq!(names(dir.path()).len(), 5);
}

#[test]
fn what_somebody_has_in_the_place_of_the_rows_is_left_alone() {
    let owner = crate::report::Owner::new(&header(&[]).name, crate::ledger::Purpose::Gateway);
    for kind in ["file", "link"] {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = dir.path().join("report_files");
        match kind {
            "file" => fs::write(&path, "mine").unwrap(),
            _ => symlink(elsewhere.path(), &path).unwrap(),
        }
        for error in [
            crate::report::usable(dir.path(), &owner, None).unwrap_err(),
            Writer::create(dir.path(), header(&[])).err().unwrap(),
        ] {
            let told = error.to_string();
            assert!(
                told.starts_with("report_files in ") && told.ends_with("it is not overwritten"),
                "{told}"
            );
            assert!(error.hint().contains("move it"));
        }
        assert!(names(elsewhere.path()).is_empty());
    }
    // A row that somebody changed: the report that is there stays as it is.
    let dir = tempfile::tempdir().unwrap();
    let ids = ids(WITHIN_MAX + 1);
    large(&ids, dir.path());
    let changed = folder(dir.path()).join("00002.js");
    fs::write(&changed, "mine").unwrap();
    let before = read(dir.path());
    let all = entries(&ids);
    let mut writer = Writer::create(dir.path(), header(&all)).unwrap();
    all.iter().for_each(|entry| writer.add(entry).unwrap());
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().starts_with("report_files in "), "{error}");
    assert_eq!(read(dir.path()), before);
    assert_eq!(fs::read_to_string(changed).unwrap(), "mine");
    assert_eq!(names(dir.path()).len(), 6);
}
