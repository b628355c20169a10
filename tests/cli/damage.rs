//! A journal that was written over: told as damage wherever it shows, with what to do, and nothing is paid twice.

use std::fs;
use std::io::{Seek, SeekFrom, Write};

use crate::desk::{Desk, Said};

const HINT: &str = "hint: nothing is posted from a damaged journal. If it is a file: move it away with its -wal and -shm, and leave its .mark \
    where it is; then put the newest copy in its place, or load the same files again. If it is a database: promote a sound standby, or put its \
    backup back (docs/operations.md). The gateway is asked about every payment before any is posted, and `disburse recover` shows how far that \
    has come";

/// Overwrites `length` bytes from `at` on.
fn overwrite(desk: &Desk, at: u64, length: usize) {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(desk.path("disburse.db"))
        .unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&vec![0xa5; length]).unwrap();
}

#[track_caller]
fn is_told(said: &Said, error: &str) {
    let lines: Vec<&str> = said
        .err
        .lines()
        .filter(|line| !line.contains(" ERROR "))
        .collect();
    assert_eq!(lines, [&format!("error: {error}"), HINT]);
    assert_eq!((said.code, &*said.out), (1, ""));
}

#[test]
fn damage_of_the_head_is_told_by_every_command() {
    for (at, length, error) in [
        (
            60,
            8,
            "journal disburse.db: is damaged (schema -1515870811)",
        ),
        (
            100,
            200,
            "journal disburse.db: is damaged (database disk image is malformed)",
        ),
    ] {
        let desk = Desk::loaded();
        overwrite(&desk, at, length);
        let before = desk.files();
        for command in [
            &["status"][..],
            &["load", "ok.csv", "--batch", "n", "--sandbox"],
            &["run", "b", "--sandbox"],
            &["report", "b", "--out", "r"],
            &["explain", "b", "R-1"],
        ] {
            is_told(&desk.run(command), error);
            assert!(desk.files() == before, "{command:?} left it as it was");
        }
    }
}

#[test]
fn damage_inside_is_told_when_it_is_met() {
    let desk = Desk::new().sample("payroll.csv");
    desk.run(&["load", "payroll.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let whole = fs::read(desk.path("disburse.db")).unwrap();
    let pages = whole.len() as u64 / 4096;
    let mut met = 0;
    // Every eighth page in turn, then a wide stretch.
    let places = (1..pages).step_by(8).map(|page| (page * 4096, 4096));
    for (at, length) in places.chain([(40_000, 100_000)]) {
        fs::write(desk.path("disburse.db"), &whole).unwrap();
        overwrite(&desk, at, length);
        for command in [
            &["status", "b"][..],
            &["explain", "b", "EMP-00500"],
            &["report", "b", "--out", "r"],
        ] {
            let said = desk.run(command);
            // A page that the command does not need is not noticed.
            if said.code != 0 {
                met += 1;
                let error = said
                    .err
                    .lines()
                    .next()
                    .unwrap()
                    .strip_prefix("error: ")
                    .unwrap();
                assert!(error.contains("malformed"), "{error}");
                is_told(&said, error);
            }
        }
    }
    assert!(met > 5, "damage was met {met} times only");
}

#[test]
fn a_run_on_a_damaged_journal_stops_and_pays_nobody_twice() {
    let desk = Desk::new().sample("refunds.csv");
    desk.run(&["load", "refunds.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let whole = fs::read(desk.path("disburse.db")).unwrap();
    let middle = whole.len() as u64 / 8192 * 4096;
    for at in [8192, middle, whole.len() as u64 - 8192] {
        fs::write(desk.path("disburse.db"), &whole).unwrap();
        overwrite(&desk, at, 4096);
        let said = desk.run(&[
            "run",
            "b",
            "--sandbox",
            "--faults",
            "none",
            "--rate",
            "2000/s",
        ]);
        match said.code {
            1 => assert!(said.err.ends_with(&format!("{HINT}\n")), "{}", said.err),
            0 => assert!(said.out.contains("twice: 0,"), "{}", said.out),
            other => panic!("exit code {other}: {}", said.err),
        }
        for suffix in ["-wal", "-shm", ".lock", ".sandbox"] {
            let _ = fs::remove_file(desk.path(&format!("disburse.db{suffix}")));
        }
    }
}
