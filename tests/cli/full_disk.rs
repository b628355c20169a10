//! A disk that is full, and a limit on file sizes: an error that says so, and nothing half done.
//!
//! A limit on file sizes (`ulimit -f`, in blocks of 1,024 bytes) stands in for the disk: it needs no rights.

use std::fs;

use crate::desk::{BINARY, Desk};

const HINT: &str = "hint: is the disk full, or a limit on file sizes reached? Make room and run the same command again; nothing is lost";

#[test]
fn a_load_that_finds_no_room_loads_nothing() {
    for blocks in [20, 60, 100, 200] {
        let desk = Desk::new().sample("payroll.csv");
        let load = "disburse load payroll.csv --batch b --sandbox";
        let said = desk.shell(&format!("ulimit -f {blocks}; {load}"));
        assert_eq!((said.code, &*said.out), (1, ""), "{}", said.err);
        let lines: Vec<&str> = said.err.lines().collect();
        assert!(
            lines[0].starts_with("error: ") && lines[0].contains("disk I/O error"),
            "{lines:?}"
        );
        assert_eq!(lines[1..], [HINT]);
        let said = desk.run(&["status", "--json"]);
        assert!(
            said.code == 2 || said.out == "[]\n",
            "no batch is half there: {}",
            said.out
        );
        // There is room again.
        let said = desk.shell(load).finished(0);
        assert!(
            said.out
                .contains("1,000 payments loaded into batch b\nevidence: 3 rows, head "),
            "{}",
            said.out
        );
    }
}

#[test]
fn a_load_into_a_journal_that_is_there_leaves_its_batches_alone() {
    let desk = Desk::loaded().sample("payroll.csv");
    let before = desk.run(&["status", "--json"]).finished(0).out;
    let said = desk.shell("ulimit -f 150; disburse load payroll.csv --batch c --sandbox");
    said.refused(1, &[said.err.lines().next().unwrap(), HINT]);
    assert_eq!(desk.run(&["status", "--json"]).finished(0).out, before);
}

#[test]
fn a_report_that_finds_no_room_leaves_the_earlier_one() {
    let desk = Desk::new().sample("payroll.csv");
    desk.run(&["load", "payroll.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let before = desk.files();
    let said = desk.shell("ulimit -f 64; disburse report b --out r");
    assert_eq!((said.code, &*said.out), (2, ""), "{}", said.err);
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(lines[0].starts_with("error: cannot write "), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("hint: "), "{lines:?}");
    assert!(desk.files() == before, "no torn file, no temporary file");
}

#[test]
fn a_disk_of_300_kb_is_too_small_for_a_payroll() {
    let desk = Desk::new().sample("payroll.csv");
    fs::create_dir(desk.path("small")).unwrap();
    // Mounting takes rights that not everybody has; the limits above show the same without them.
    let said = desk.shell(&format!(
        "unshare -m bash -c 'mount -t tmpfs -o size=300k disburse small || exit 77
         {BINARY} load payroll.csv --batch b --sandbox --journal small/j.db; code=$?
         test ! -e small/j.db || exit 78; exit $code' || exit $?"
    ));
    if !said.err.starts_with("error: the journal failed") {
        assert!(
            said.err.contains("mount") || said.err.contains("unshare"),
            "{}",
            said.err
        );
        return;
    }
    said.refused(
        1,
        &["error: the journal failed: database or disk is full", HINT],
    );
}

#[test]
fn a_run_whose_journal_finds_no_room_stops_and_resumes() {
    let desk = Desk::new()
        .sample("refunds.csv")
        .variable("DISBURSE_QUERY_RATE", "2000/s")
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    desk.run(&["load", "refunds.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let run = "disburse run b --sandbox --faults none --rate 2000/s";
    // The write-ahead log reaches the limit while payments are under way.
    let said = desk.shell(&format!("ulimit -f 140; {run}"));
    assert_eq!((said.code, &*said.out), (1, ""), "{}", said.err);
    assert!(said.err.ends_with(&format!("{HINT}\n")), "{}", said.err);
    let said = desk.shell(run).finished(0);
    assert!(
        said.out.contains("executed once: 200, twice: 0"),
        "{}",
        said.out
    );
}

#[test]
fn corrections_that_find_no_room_are_told_with_another_place() {
    let desk = Desk::new().sample("mistakes.csv");
    let before = desk.files();
    let said = desk.run(&[
        "check",
        "mistakes.csv",
        "--sandbox",
        "--corrections",
        "/dev/full/c.csv",
    ]);
    assert_eq!((said.code, &*said.out), (2, ""));
    assert!(
        said.err
            .contains("error: /dev/full: the corrections cannot be written: "),
        "{}",
        said.err
    );
    assert!(
        said.err
            .ends_with("hint: name another place with --corrections\n"),
        "{}",
        said.err
    );
    assert!(desk.files() == before);
}

#[test]
fn data_that_cannot_be_printed_is_an_error() {
    let desk = Desk::loaded();
    for command in ["status b", "man", "config show --sandbox"] {
        let said = desk.shell(&format!("disburse {command} > /dev/full"));
        said.refused(
            1,
            &["error: standard output cannot be written: No space left on device (os error 28)"],
        );
    }
    // The journal with its mark and its lock, and the batch.
    assert_eq!(fs::read_dir(desk.path(".")).unwrap().count(), 4);
}
