//! A batch is bound at its load: what is rehearsed is never paid, and what is to be paid is never rehearsed.

use crate::desk::Desk;

const LOAD: [&str; 4] = ["load", "ok.csv", "--batch", "b"];
const RUN: [&str; 5] = ["run", "b", "--sandbox", "--faults", "none"];
/// Nobody listens there: what is refused before anything is sent ends with 2, what is tried with 4.
const TRY: [&str; 4] = ["run", "b", "--yes", "--no-wait"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

const TO_REHEARSE: &str = "hint: to rehearse the file, load it with --sandbox under another batch name; to pay the batch, leave --sandbox out";
const TO_PAY: &str = "hint: to go on rehearsing, add --sandbox; to pay the file, load it without --sandbox under another batch name: what was \
     rehearsed does not count as paid";

#[test]
fn a_batch_that_was_loaded_for_its_gateway_is_not_taken_by_the_sandbox() {
    let desk = Desk::configured();
    desk.run(&LOAD).finished(0);
    let error = "error: batch b was loaded for its gateway, not for the sandbox; nothing was sent";
    desk.refuses(&RUN, 2, &[error, TO_REHEARSE]);
    let said = desk.run(&with(&LOAD, &["--sandbox"])).finished(2);
    let error = "error: batch b was loaded for its gateway, and --sandbox would rehearse it; nothing was loaded";
    assert!(said.err.contains(error), "{}", said.err);
    let pay = ["pay", "ok.csv", "--batch", "b", "--sandbox"];
    assert!(desk.run(&pay).finished(2).err.contains(error));
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["states"]["ready"]["count"], 3);
    assert_eq!(status["rehearsal"], false);
    // It is still there to be paid, and what the hint says works.
    let said = desk.run(&TRY).finished(4);
    assert!(said.err.contains("cannot be reached"), "{}", said.err);
    desk.run(&["load", "ok.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    desk.run(&with(&["run", "c"], &RUN[2..])).finished(0);
}

#[test]
fn a_rehearsal_never_goes_to_a_gateway_and_does_not_count_as_paid() {
    let desk = Desk::configured();
    let said = desk.run(&with(&LOAD, &["--sandbox"])).finished(0);
    assert!(
        said.err.contains("next: disburse run b --sandbox"),
        "{}",
        said.err
    );
    let error = "error: batch b was loaded as a rehearsal (--sandbox): nothing of it goes to a gateway; nothing was sent";
    desk.refuses(&TRY, 2, &[error, TO_PAY]);
    desk.run(&RUN).finished(0);
    desk.refuses(&TRY, 2, &[error, TO_PAY]);
    let said = desk.run(&LOAD).finished(2);
    assert!(
        said.err.contains("error: batch b was loaded as a rehearsal (--sandbox), and stays one; nothing was loaded"),
        "{}",
        said.err
    );
    let status = desk.run(&["status", "b"]).finished(0).out;
    assert!(
        status.starts_with("rehearsal: no money moves\n"),
        "{status}"
    );
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    assert!(desk.text("r/report.html").contains("<b>Rehearsal.</b>"));
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    assert_eq!(report["rehearsal"], true);
    // The same rows, to be paid: nobody says that they were loaded before, nor the other way round.
    desk.run(&["load", "ok.csv", "--batch", "c"]).finished(0);
    let again = ["load", "ok.csv", "--batch", "d", "--sandbox"];
    desk.run(&again).finished(0);
    let said = desk.run(&["load", "ok.csv", "--batch", "e"]).finished(2);
    assert!(
        said.err.contains("3 rows repeat what was loaded before"),
        "{}",
        said.err
    );
    let list = desk.run(&["status"]).finished(0).out;
    let noted: Vec<bool> = list
        .lines()
        .map(|line| line.contains("rehearsal: no money moves"))
        .collect();
    assert_eq!(noted, [false, true, false, true], "{list}");
    for batch in ["b", "c", "d"] {
        desk.run(&["verify", batch]).finished(0);
    }
}

#[test]
fn a_rehearsal_that_is_made_a_payment_in_the_file_is_found() {
    let desk = Desk::configured();
    desk.run(&with(&LOAD, &["--sandbox"])).finished(0);
    {
        let journal = rusqlite::Connection::open(desk.path("disburse.db")).unwrap();
        journal
            .execute("update batch set rehearsal = 0", [])
            .unwrap();
    }
    let said = desk.run(&["verify", "b"]).finished(1);
    let told = format!("{}{}", said.out, said.err);
    assert!(
        told.contains("what the batch was loaded for is not as it was recorded"),
        "{told}"
    );
}

#[test]
fn what_an_earlier_release_loaded_goes_where_it_is_run() {
    let desk = Desk::configured();
    desk.run(&LOAD).finished(0);
    {
        let journal = rusqlite::Connection::open(desk.path("disburse.db")).unwrap();
        // An earlier release recorded it nowhere.
        journal
            .execute_batch(
                "drop trigger evidence_is_never_changed;
                 update batch set rehearsal = null;
                 drop trigger evidence_is_never_removed;
                 delete from evidence where event = 63;
                 update evidence set detail = json_remove(detail, '$.rehearsal') where event = 26;",
            )
            .unwrap();
    }
    let status = || desk.run(&["status", "b", "--json"]).json()["rehearsal"].clone();
    assert_eq!(status(), serde_json::Value::Null);
    desk.run(&RUN).finished(0);
    assert_eq!(status(), true);
    let said = desk.run(&TRY).finished(2);
    assert!(
        said.err.contains("was loaded as a rehearsal"),
        "{}",
        said.err
    );
}

#[test]
fn a_rehearsal_that_was_begun_without_a_configuration_goes_on_with_one() {
    let desk = Desk::with_rows();
    let pay = [
        "pay",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults=none",
    ];
    desk.run(&pay).finished(0);
    // As the built-in profile has it: every repeat of a post has the same bytes.
    let airtime = "\n[services.AIRTIME]\nkind = \"airtime\"\ncurrency_code = \"KES\"\ndate_payment_received = \"empty\"\n";
    let desk = desk.file(
        "disburse.toml",
        format!("{}{airtime}", crate::desk::CONFIGURATION),
    );
    let said = desk.run(&pay).finished(0);
    assert!(
        said.err.contains("loaded before; the run goes on"),
        "{}",
        said.err
    );
    // Nobody was paid a second time, and what is paid for good has the name that is configured.
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["count"], 3);
    desk.run(&["load", "ok.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    assert!(desk.run(&["verify", "b"]).finished(0).out.contains("sound"));
}
