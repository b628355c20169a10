//! Whether the journal is what was recorded: what is said of one that is, and of one that is not.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::desk::Desk;

/// A desk on which batch `b` is paid, with its head after the load.
fn paid() -> (Desk, String) {
    let desk = Desk::loaded();
    let head = evidence(&desk)["head"].as_str().unwrap().to_owned();
    let run = ["run", "b", "--sandbox", "--faults", "none"];
    desk.run(&run).finished(0);
    (desk, head)
}

fn evidence(desk: &Desk) -> Value {
    desk.run(&["status", "b", "--json"]).finished(0).json()["evidence"].clone()
}

fn sql(desk: &Desk, statements: &str) {
    Connection::open(desk.path("disburse.db"))
        .unwrap()
        .execute_batch(statements)
        .unwrap();
}

#[test]
fn a_sound_journal_is_told_with_what_was_covered() {
    let (desk, loaded) = paid();
    let now = evidence(&desk);
    let (rows, head) = (&now["rows"], now["head"].as_str().unwrap());
    let said = desk.run(&["verify", "b", "--head", &loaded]).finished(0);
    assert_eq!(
        said.out,
        format!(
            "3 payments compared with their evidence, {rows} evidence rows and 3 instructions hashed again\n\
             evidence: {rows} rows, head {head}\n\
             the earlier head is on this chain: it is the head of the first 3 rows\n\
             sound: everything fits\n"
        )
    );
    let json = desk.run(&["verify", "b", "--json"]).finished(0).json();
    assert_eq!(json["sound"], true);
    assert_eq!(json["payments"], 3);
    assert_eq!(json["evidence"], now);
    assert_eq!(json["findings"], json!([]));
}

#[test]
fn the_head_stands_in_the_report_and_at_the_end_of_a_run() {
    let (desk, _) = paid();
    let now = evidence(&desk);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let report: Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    assert_eq!(report["evidence"], now);
    let head = now["head"].as_str().unwrap();
    assert!(desk.text("r/report.html").contains(head));
    let again = desk.run(&["run", "b", "--sandbox"]).finished(0);
    assert!(
        again
            .out
            .contains(&format!("evidence: {} rows, head {head}\n", now["rows"])),
        "{}",
        again.out
    );
}

#[test]
fn what_does_not_fit_is_told_and_ends_with_code_1() {
    let (desk, _) = paid();
    let now = evidence(&desk);
    sql(
        &desk,
        "drop trigger instruction_is_never_changed; update instruction set amount = 10001 where seq = 1",
    );
    let said = desk.run(&["verify", "b"]).finished(1);
    let findings: Vec<&str> = said
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("finding: "))
        .collect();
    assert_eq!(findings.len(), 3, "{findings:#?}");
    assert_eq!(
        findings[0],
        "schema: trigger instruction_is_never_changed is missing"
    );
    assert_eq!(
        findings[1],
        "an instruction among the rows 1 to 3 is not as it was recorded"
    );
    assert!(findings[2].starts_with("tally of service 1, KES, paid:"));
    assert!(
        said.err.starts_with(
            "error: the journal of batch b differs from what was recorded: 3 findings\nhint: "
        ),
        "{}",
        said.err
    );
    let json = desk.run(&["verify", "b", "--json"]).finished(1).json();
    assert_eq!(json["sound"], false);
    assert_eq!(json["findings_count"], 3);
    // The chain itself is whole: what it covers was changed.
    assert_eq!(json["evidence"], now);
}

#[test]
fn of_many_findings_the_first_fifty_are_told_and_all_are_counted() {
    let rows: String = (1..=70)
        .map(|n| format!("R-{n},B2C_MPESA,2547120000{n:02},100.00,KES,KE\n"))
        .collect();
    let desk = Desk::new().file("many.csv", format!("{}{rows}", crate::desk::HEADER));
    desk.run(&["load", "many.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    sql(
        &desk,
        "insert into life (seq, batch_id, service_id, state, due_at, exposures) select seq, batch_id, service_id, 0, 0, 7 from instruction",
    );
    let said = desk.run(&["verify", "b"]).finished(1);
    let told = said.out.matches("finding: payment ").count();
    assert_eq!(told, 50, "{}", said.out);
    assert!(said.out.contains("finding: and 20 more\n"), "{}", said.out);
    assert!(said.err.contains("70 findings"), "{}", said.err);
}

#[test]
fn a_head_that_is_none_is_refused() {
    let desk = Desk::loaded();
    desk.refuses(
        &["verify", "b", "--head", "abc"],
        2,
        &[
            "error: --head: expected 64 hexadecimal digits",
            "hint: the head is printed by `disburse load`, and stands in report.json, at the foot of report.html, and in `disburse status b --json`",
        ],
    );
    let said = desk
        .run(&["verify", "b", "--head", &"0".repeat(64)])
        .finished(1);
    assert!(said.out.contains("is not on the chain"), "{}", said.out);
}
