//! A mistake of the program itself: nothing of people is told, and the command can be said again.

use std::os::unix::fs::PermissionsExt;

use crate::desk::{BINARY, Desk};

/// What the mistake of the test has in its text.
const NUMBER: &str = "254712345678";

/// The reports beside a journal.
fn reports(desk: &Desk, journal: &str) -> Vec<String> {
    let begin = format!("{journal}.crash-");
    let files = desk.files().into_keys();
    let names = files.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| name.starts_with(&begin)).collect()
}

#[test]
fn a_report_says_where_and_has_no_data_of_people() {
    for (point, thread) in [
        ("in-report", "tokio-rt-worker"),
        ("before-commit", "journal"),
    ] {
        let desk = Desk::loaded().variable("TORTURE_PANIC_AT", point);
        let command: &[&str] = match point {
            "in-report" => &["report", "b", "--out", "out"],
            _ => &["cancel", "b", "--yes"],
        };
        let said = desk.run(command).finished(1);
        assert!(!said.err.contains(NUMBER), "{}", said.err);
        assert!(
            said.err
                .starts_with("error: a mistake of the program itself, at src/failpoints.rs:"),
            "{}",
            said.err
        );
        let reports = reports(&desk, "disburse.db");
        assert_eq!(reports.len(), 1, "{said:?}");
        assert!(said.err.contains(&reports[0]), "{}", said.err);
        let text = desk.text(&reports[0]);
        assert!(!text.contains(NUMBER), "{text}");
        assert!(!text.contains("0712"), "{text}");
        for part in [
            concat!("disburse ", env!("CARGO_PKG_VERSION"), ", commit "),
            "place: src/failpoints.rs:",
            &format!("thread: {thread}\n"),
            "its text has values in it",
            // A frame, by its name and its place.
            "pass\n",
            "failpoints.rs:",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let mode = std::fs::metadata(desk.path(&reports[0]))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}

#[test]
fn a_mistake_in_a_post_costs_no_payment() {
    let desk = Desk::loaded().variable("TORTURE_PANIC_AT", "in-send");
    // The post breaks off: its payment is in doubt, is asked about, and nobody is paid twice.
    let run = [
        "run",
        "b",
        "--sandbox",
        "--faults",
        "none",
        "--poll-only",
        "--yes",
    ];
    let said = desk.run(&run).finished(0);
    assert!(said.out.contains("executed once: 3, twice: 0"), "{said:?}");
    assert!(!said.err.contains(NUMBER), "{}", said.err);
    assert_eq!(reports(&desk, "disburse.db").len(), 1);
    let doctor = desk.run(&["doctor"]);
    assert!(doctor.out.contains("disburse.db.crash-"), "{doctor:?}");
}

#[test]
fn no_process_of_it_leaves_a_core() {
    let desk = Desk::new();
    let mut sandbox = std::process::Command::new(BINARY)
        .args(["sandbox", "--listen", "127.0.0.1:0"])
        .current_dir(desk.path(""))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = sandbox.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", sandbox.id())).unwrap();
    sandbox.kill().unwrap();
    sandbox.wait().unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    let words: Vec<&str> = core.split_whitespace().collect();
    // Linux takes 1 for "not even to a program that collects them".
    assert!(matches!(words[4..6], ["1" | "0", "1" | "0"]), "{core}");
}
