//! How it is said: quiet, verbose, for programs, without colours; and what nobody else may read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::desk::{Desk, Said};

const PAY: [&str; 6] = [
    "pay",
    "ok.csv",
    "--batch",
    "b",
    "--sandbox",
    "--faults=none",
];

#[test]
fn a_run_says_what_it_did() {
    let said = Desk::with_rows().run(&PAY).finished(0);
    let out = said.timeless();
    insta::assert_snapshot!("pay", Said { out, ..said }.whole());
}

#[test]
fn quiet_leaves_the_data() {
    let desk = Desk::with_rows();
    let said = desk.run(&[&PAY[..], &["-q"]].concat()).finished(0);
    assert_eq!(said.err, "");
    assert!(
        said.out.ends_with("report: reports/b/report.html\n"),
        "{}",
        said.out
    );
    // What is wrong is said even so.
    let said =
        Desk::new()
            .sample("mistakes.csv")
            .run(&["check", "mistakes.csv", "--sandbox", "-q"]);
    assert!(
        said.finished(2)
            .err
            .contains("error: mistakes.csv: 32 rows with errors\n")
    );
}

#[test]
fn verbose_logs_requests_to_standard_error_only() {
    let quiet = Desk::with_rows().run(&PAY).finished(0);
    let loud = Desk::with_rows()
        .run(&[&PAY[..], &["-v"]].concat())
        .finished(0);
    assert_eq!(loud.timeless(), quiet.timeless());
    assert!(loud.err.contains("DEBUG"), "{}", loud.err);
    assert!(loud.err.contains("asked the gateway"), "{}", loud.err);
    assert!(!loud.err.contains('\x1b'), "no colours in a file");
}

#[test]
fn log_lines_for_programs_are_one_object_each() {
    let desk = Desk::with_rows();
    let said = desk
        .run(&[&PAY[..], &["-vv", "--log-format", "json", "--json"]].concat())
        .finished(0);
    let lines: Vec<&str> = said
        .err
        .lines()
        .filter(|line| line.starts_with('{'))
        .collect();
    assert!(lines.len() > 5, "{}", said.err);
    for line in &lines {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            entry["level"].is_string() && entry["timestamp"].is_string(),
            "{line}"
        );
    }
    // Beside log lines there are only the notes for a person, which quiet takes away.
    assert_eq!(said.err.lines().count(), lines.len() + 1, "{}", said.err);
    assert_eq!(said.json()["states"]["paid"]["count"], 3);
    let said = desk.run(&[&PAY[..], &["-vv", "--log-format=yaml"]].concat());
    said.finished(2);
}

#[test]
fn no_phone_number_is_told_in_full_however_loud() {
    let desk = Desk::new()
        .sample("nightly.json")
        .variable("DISBURSE_LOG", "trace")
        .variable("DISBURSE_QUERY_RATE", "2000/s")
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms")
        .variable("DISBURSE_NOT_FOUND_QUARANTINE", "400ms")
        .variable("DISBURSE_QUERY_BACKOFF_MAX", "1s")
        .variable("DISBURSE_LANE_RETRY_AFTER", "500ms");
    let numbers: Vec<String> = desk
        .text("nightly.json")
        .split("\"msisdn\": \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert_eq!(numbers.len(), 150);
    let mut said = String::new();
    for command in [
        &["check", "nightly.json", "--sandbox"][..],
        &["load", "nightly.json", "--batch", "b", "--sandbox"],
        &["run", "b", "--sandbox", "--rate=2000/s"],
        &["status", "b"],
        &["status", "b", "--json"],
        &["explain", "b", "NA-0001"],
        &["explain", "b", "NA-0001", "--json"],
        &["report", "b", "--out", "r"],
    ] {
        let one = desk.run(&[command, &["-vv"]].concat());
        assert!(matches!(one.code, 0 | 3), "{command:?}: {}", one.err);
        said.push_str(&one.out);
        said.push_str(&one.err);
    }
    assert!(said.contains("TRACE"), "it was loud");
    for number in numbers {
        assert!(!said.contains(&number), "{number}");
        assert!(
            !said.contains(&number[3..]),
            "{number} without its country code"
        );
    }
}

#[test]
fn no_colours_when_they_are_not_wanted() {
    let desk = Desk::with_rows();
    // A terminal, by way of script(1), where there is one.
    let terminal = |variables: &str| {
        let line = format!(
            "command -v script >/dev/null || exit 0; export TERM=xterm; {variables} \
             script -qec 'timeout --foreground 50 {} check nowhere.csv --sandbox' /dev/null; true",
            crate::desk::BINARY
        );
        desk.shell(&line).finished(0).out
    };
    let plain = terminal("NO_COLOR=1");
    if plain.is_empty() {
        return;
    }
    assert!(
        plain.contains("error: nowhere.csv: no such file"),
        "{plain:?}"
    );
    assert!(!plain.contains('\x1b'), "{plain:?}");
    assert!(
        terminal("").contains("\x1b[1;31merror:\x1b[0m nowhere.csv"),
        "in colour on a terminal"
    );
    assert!(!terminal("TERM=dumb").contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let desk = Desk::loaded();
    for command in [
        "man",
        "completions bash",
        "config show --sandbox",
        "status b --json",
        "--help",
    ] {
        let said = desk
            .shell(&format!("set -o pipefail; disburse {command} | head -1"))
            .finished(0);
        assert_eq!(said.err, "", "{command}");
        assert_eq!(said.out.lines().count(), 1, "{command}");
        let said = desk
            .shell(&format!(
                "disburse {command} > >(:); code=$?; wait; exit $code"
            ))
            .finished(0);
        assert_eq!(said.err, "", "{command}");
    }
}

#[test]
fn nobody_to_hear_it_changes_nothing() {
    let desk = Desk::loaded().sample("mistakes.csv").sample("refunds.csv");
    let said =
        desk.shell("disburse check mistakes.csv --sandbox 2>&1 | head -1; exit ${PIPESTATUS[0]}");
    assert_eq!(said.finished(2).out.lines().count(), 1);
    // A run whose standard error is gone still hears that it is to end.
    desk.run(&["load", "refunds.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    let said = desk.shell(&format!(
        "timeout --foreground 50 {} run c --sandbox --faults none --rate 5/s > out 2> >(:) & run=$!
         until [ -s disburse.db.sandbox ]; do sleep 0.05; done
         kill -TERM $run; wait $run",
        crate::desk::BINARY
    ));
    said.finished(4);
    // How wide the columns are depends on where the payments stood.
    let out = desk.text("out");
    let is_total = |line: &str| line.split_whitespace().take(3).eq(["all", "rows", "200"]);
    assert!(out.lines().any(is_total), "{out}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_holds_numbers_is_for_its_owner_alone_whatever_the_umask() {
    for umask in ["0", "077"] {
        let desk = Desk::with_rows().sample("mistakes.csv");
        let line = format!(
            "umask {umask}; disburse pay ok.csv --batch b --sandbox --faults none --journal new/deep/j.db --out new/reports \
             && ! disburse check mistakes.csv --sandbox"
        );
        desk.shell(&line).finished(0);
        for folder in ["new", "new/deep", "new/reports"] {
            assert_eq!(mode(&desk.path(folder)), 0o700, "{folder}");
        }
        let deep = fs::read_dir(desk.path("new/deep")).unwrap();
        let reports = fs::read_dir(desk.path("new/reports")).unwrap();
        let mut files: Vec<_> = deep
            .chain(reports)
            .map(|entry| entry.unwrap().path())
            .collect();
        files.push(desk.path("mistakes.corrections.csv"));
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }
}

#[test]
fn the_write_ahead_log_of_a_run_is_for_its_owner_alone_too() {
    let desk = Desk::new().sample("refunds.csv");
    desk.shell("umask 0; disburse load refunds.csv --batch b --sandbox")
        .finished(0);
    // Slow enough to be looked at while it goes.
    let run = "umask 0; exec \"$0\" run b --sandbox --faults none --rate 1/s";
    let mut child = std::process::Command::new("bash")
        .args(["-c", run, crate::desk::BINARY])
        .current_dir(desk.path("."))
        .env_clear()
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let suffixes = ["", "-wal", "-shm", ".lock", ".sandbox"];
    let files = suffixes.map(|suffix| desk.path(&format!("disburse.db{suffix}")));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !files.iter().all(|file| file.exists()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let modes: Vec<u32> = files
        .iter()
        .filter(|file| file.exists())
        .map(|file| mode(file))
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(modes, [0o600; 5], "{files:?}");
}

#[test]
fn the_progress_keeps_within_the_terminal_and_leaves_nothing_behind() {
    for columns in [40, 80, 120] {
        let desk = Desk::new().sample("refunds.csv");
        let line = format!(
            "command -v script >/dev/null || exit 0; export TERM=xterm; script -qec 'stty cols {columns} rows 24; timeout --foreground 50 {} \
             pay refunds.csv --batch b --sandbox --faults none --rate 200/s' /dev/null",
            crate::desk::BINARY
        );
        let screen = desk.shell(&line).finished(0).out;
        if screen.is_empty() {
            return;
        }
        // Up to the table all is drawn over and over; what is drawn stays within the width.
        let (drawn, table) = screen.split_at(screen.find(" state ").unwrap());
        let drawn = bare(drawn);
        let lines: Vec<&str> = drawn.split(['\r', '\n']).collect();
        let frames = lines.iter().filter(|line| line.contains("/200"));
        assert!(frames.count() > 3, "{columns}: {drawn:?}");
        // Both lines are filled up to the width, so that the second begins where the first ends.
        for line in lines.iter().filter(|line| line.contains("/200")) {
            let cells: Vec<char> = line.chars().collect();
            assert!(cells.len() <= 2 * columns, "{columns}: {line:?}");
            let second = cells.iter().skip(columns).take(2);
            assert!(
                second.clone().all(|cell| *cell == ' '),
                "{columns}: {line:?}"
            );
        }
        assert_eq!(
            lines.last().unwrap().trim(),
            "",
            "{columns}: the lines are erased"
        );
        assert!(!table.contains('\x1b'), "{table:?}");
    }
}

/// A text with the terminal's commands as line breaks: each of them moves to another line or clears one.
fn bare(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        line + "\n" + end.map_or("", |end| &part[end + 1..])
    })
}
