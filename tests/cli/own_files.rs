//! No file is overwritten that the program did not write, or that a person has touched since.

use std::fs;
use std::os::unix::fs::symlink;

use crate::desk::{Desk, HEADER, ROWS};

fn pay<'a>(file: &'a str, out: &'a str) -> [&'a str; 9] {
    [
        "pay",
        file,
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
        "--out",
        out,
    ]
}

const HINT: &str = "hint: move it to another place, or name another folder with --out";

#[test]
fn the_batch_file_is_not_overwritten_by_its_own_report() {
    let desk = Desk::new().file("payments.csv", format!("{HEADER}{ROWS}"));
    fs::create_dir(desk.path("linked")).unwrap();
    symlink("../payments.csv", desk.path("linked/payments.csv")).unwrap();
    fs::create_dir(desk.path("hard")).unwrap();
    fs::hard_link(desk.path("payments.csv"), desk.path("hard/payments.csv")).unwrap();
    for (out, why) in [
        (".", "is the file that is being read"),
        ("linked", "is a link, or no file at all"),
        ("hard", "is the file that is being read"),
    ] {
        let error = format!("error: payments.csv in {out} {why}; it is not overwritten");
        desk.refuses(&pay("payments.csv", out), 2, &[&error, HINT]);
    }
    assert!(
        !desk.path("disburse.db").exists(),
        "nothing was loaded, and nothing sent"
    );
}

#[test]
fn a_nightly_run_writes_its_report_again_until_somebody_edits_it() {
    let desk = Desk::with_rows();
    for _ in 0..3 {
        desk.run(&pay("ok.csv", "r")).finished(0);
    }
    let edited = format!("{}seen, Ana\n", desk.text("r/payments.csv"));
    fs::write(desk.path("r/payments.csv"), &edited).unwrap();
    let error = "error: payments.csv in r was not written there by disburse, or was changed or copied since; it is not overwritten";
    desk.refuses(&pay("ok.csv", "r"), 2, &[error, HINT]);
    desk.refuses(&["report", "b", "--out", "r"], 2, &[error, HINT]);
    fs::rename(desk.path("r/payments.csv"), desk.path("r/mine.csv")).unwrap();
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    assert_eq!(desk.text("r/mine.csv"), edited);
}

#[test]
fn the_report_of_an_earlier_release_or_of_a_person_is_not_overwritten() {
    let desk = Desk::loaded().file("report.html", "<p>mine</p>");
    let error = "error: report.html in . was not written there by disburse, or was changed or copied since; it is not overwritten";
    desk.refuses(&["report", "b", "--out", "."], 2, &[error, HINT]);
}

#[test]
fn corrections_take_the_place_of_no_other_file() {
    let bad = format!("{HEADER}R-9,B2C_MPESA,12,100.00,KES,KE\n");
    let desk = Desk::new().file("bad.csv", &bad);
    let check = |more: &[&str]| {
        let said = desk.run(&[&["check", "bad.csv", "--sandbox"][..], more].concat());
        said.finished(2).err
    };
    assert!(check(&[]).contains("the rows with errors are in bad.corrections.csv, each"));
    let first = desk.text("bad.corrections.csv");
    assert!(
        check(&[]).contains("are in bad.corrections.csv, each"),
        "the same bytes are there"
    );
    // Ours, and nobody has touched it: the next night's take its place.
    let other = format!("{bad}R-8,B2C_MPESA,13,1.00,KES,KE\n");
    fs::write(desk.path("bad.csv"), other).unwrap();
    assert!(check(&[]).contains("are in bad.corrections.csv, each"));
    assert_ne!(desk.text("bad.corrections.csv"), first);
    fs::write(desk.path("bad.csv"), &bad).unwrap();
    fs::write(desk.path("bad.corrections.csv"), "half mended").unwrap();
    let said = check(&[]);
    assert!(
        said.contains("are in bad.corrections-2.csv, each with its errors in the last column; bad.corrections.csv is another file, and stays as it is"),
        "{said}"
    );
    assert_eq!(desk.text("bad.corrections.csv"), "half mended");
    assert_eq!(desk.text("bad.corrections-2.csv"), first);
    // The file that is read is another file, too; so is a link to it.
    assert!(check(&["--corrections", "bad.csv"]).contains("are in bad-2.csv"));
    symlink("bad.csv", desk.path("link.csv")).unwrap();
    assert!(check(&["--corrections", "link.csv"]).contains("are in link-2.csv"));
    assert_eq!(desk.text("bad.csv"), bad);
    assert!(check(&["--corrections", "/dev/null"]).contains("no file has that name"));
}

#[test]
fn the_report_of_another_batch_is_not_overwritten() {
    let desk = Desk::with_rows();
    desk.run(&pay("ok.csv", "r")).finished(0);
    let ours = desk.text("r/report.json");
    let hint = "hint: name a folder of its own with --out, such as reports/BATCH";
    let error = "error: payments.csv in r is the report of rehearsal b; it is not overwritten";
    let other = ["pay", "ok.csv", "--batch", "c", "--sandbox", "--out", "r"];
    desk.refuses(&other, 2, &[error, hint]);
    desk.run(&["load", "ok.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    desk.refuses(&["report", "c", "--out", "r"], 2, &[error, hint]);
    assert_eq!(desk.text("r/report.json"), ours);
    desk.run(&["report", "c", "--out", "reports/c"]).finished(0);
    // Its own, again and again; an earlier release did not note whose it was.
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let list: String = desk
        .text("r/.disburse-files")
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(desk.path("r/.disburse-files"), list).unwrap();
    desk.run(&["report", "c", "--out", "r"]).finished(0);
}
