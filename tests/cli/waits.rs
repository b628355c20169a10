//! What a batch and a row of it are said to wait for, and the one step that is next.

use std::fs;

use crate::approvals::{approve, configure, desk, load, run, says};
use crate::desk::{Desk, HEADER, Said};

/// What stands below the configuration of the sandbox, up to the limits.
const SERVICES: &str = r#"
[profiles.sandbox-waits]
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
[services.B2C]
kind = "mobile_money"
currency_code = "KES"
[services.BANKLESS]
kind = "mobile_money"
currency_code = "KES"
[services.TV]
kind = "bill_postpaid"
currency_code = "KES"
"#;
const ROWS: &str = "reference,service_code,msisdn,amount\n\
                    E-1,B2C,254711000001,900\n\
                    E-2,B2C,254711000002,800\n\
                    E-3,BANKLESS,254711000003,500\n";
const LOAD: [&str; 5] = ["load", "a.csv", "--batch", "a", "--sandbox"];
const RUN: [&str; 5] = ["run", "a", "--sandbox", "--faults", "none"];

/// A desk with three rows, loaded under no limit; these are in force then.
fn loaded(limits: &str) -> Desk {
    let desk = Desk::new()
        .file("disburse.toml", SERVICES)
        .file("deny.txt", "0711000003\n")
        .file("allow.txt", "0711000001\n0711000002\n")
        .file("a.csv", ROWS);
    desk.run(&LOAD).finished(0);
    desk.file("disburse.toml", format!("{SERVICES}[limits]\n{limits}\n"))
}

fn explained(desk: &Desk, row: &str) -> Said {
    desk.run(&["explain", "a", row]).finished(0)
}

/// How often a next step is told.
fn steps(said: &Said) -> usize {
    said.err.matches("next: ").count() + said.out.matches("next: ").count()
}

#[test]
fn what_a_list_or_a_ceiling_keeps_waits_for_no_time_and_says_what_lets_it_leave() {
    let of_bankless = "[limits.services.BANKLESS]\nday = {KES = \"450.00\"}";
    for (limits, row, part, change) in [
        (
            "deny = \"deny.txt\"",
            "E-3",
            "the list limits.deny names its recipient",
            "remove the recipient from the file of limits.deny",
        ),
        (
            "allow = \"allow.txt\"",
            "E-3",
            "the list limits.allow does not name its recipient",
            "add the recipient to the file of limits.allow",
        ),
        (
            "payment = {KES = \"850.00\"}",
            "E-1",
            "it is more for a single payment than limits.payment (KES 850.00)",
            "raise limits.payment",
        ),
        (
            of_bankless,
            "E-3",
            "it is more for a single payment than limits.services.BANKLESS.day (KES 450.00)",
            "raise limits.services.BANKLESS.day",
        ),
        (
            "batch = {KES = \"1800.00\"}",
            "E-3",
            "its batch has been paid up to limits.batch (KES 1,800.00)",
            "raise limits.batch",
        ),
    ] {
        let desk = loaded(limits);
        desk.run(&RUN).finished(4);
        let said = explained(&desk, row);
        says(
            &said,
            &format!(
                "not sent yet; the last run found that {part}, and waiting does not change that. If it is to be paid after all: {change}, then disburse run a --sandbox"
            ),
        );
        assert!(!said.out.contains("not before"), "{said:?}");
        assert!(!said.out.contains("until"), "{said:?}");
        let list = desk.run(&["status"]).finished(0);
        says(&list, "waits for a limit");
        let one = desk.run(&["status", "a"]).finished(0);
        assert!(!one.out.contains("to go on: "), "{one:?}");
        says(&one, "if they are to be paid after all");
        let waits = desk.run(&["explain", "a", row, "--json"]).json();
        let waits = waits[0]["waits"].as_str().unwrap().to_owned();
        assert!(waits.contains(part), "{waits}");
    }
}

#[test]
fn a_ceiling_is_told_by_its_key_and_amount_wherever_it_is_told() {
    let desk = loaded("payment = {KES = \"850.00\"}");
    let told = "1 payment of KES 900.00 is not sent: more for a single payment than limits.payment (KES 850.00)";
    let said = desk.run(&RUN).finished(4);
    says(&said, &format!("note: {told} (line 2)"));
    says(&said, &format!("warning: {told}"));
    // The run had this ceiling, whatever it is now.
    let desk = desk.file("disburse.toml", SERVICES);
    says(&desk.run(&["status", "a"]).finished(0), told);
    let value = desk.run(&["status", "a", "--json"]).json();
    let ceiling = &value["limited"][0]["ceilings"][0];
    assert_eq!(ceiling["key"], "limits.payment");
    assert_eq!(ceiling["amount"], "850.00");
    let report = ["report", "a", "--out", "r"];
    desk.run(&report).finished(0);
    let page = desk.text("r/report.html");
    for part in [
        "limits.payment (KES 850.00)",
        "if they are to be paid after all, change [limits] or its lists",
        "see what it waits for",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn what_is_under_way_is_told_before_a_run_waits_for_it() {
    let desk = loaded("exposure = {KES = \"1000.00\"}");
    says(&desk.run(&RUN).finished(0), "KES 2,200.00");
    let desk = loaded("exposure = {KES = \"1000.00\"}");
    let none = desk.run(&["status", "a"]).finished(0);
    assert!(!none.out.contains("limits.exposure"), "{none:?}");
    let posts = [&RUN[..], &["--no-wait", "--poll-only"]].concat();
    desk.run(&posts).finished(4);
    let told = "posting waits: KES 900.00 under way, in doubt or in conflict over all batches of the account, and limits.exposure is KES 1,000.00; \
                the next payments are KES 800.00 by B2C, KES 500.00 by BANKLESS. Once some of what is under way has ended";
    says(&desk.run(&["status", "a"]).finished(0), told);
    for row in ["E-2", "E-3"] {
        let said = explained(&desk, row);
        says(&said, &format!("not sent yet; {told}"));
        assert_eq!(steps(&said), 0, "{said:?}");
    }
    says(&desk.run(&["status"]).finished(0), "waits for a limit");
    let desk = desk.file(
        "disburse.toml",
        format!("{SERVICES}[limits]\nexposure = {{KES = \"2200.00\"}}\n"),
    );
    let free = desk.run(&["status", "a"]).finished(0);
    assert!(!free.out.contains("limits.exposure"), "{free:?}");
    says(
        &explained(&desk, "E-2"),
        "next: disburse run a --sandbox sends it",
    );
}

#[test]
fn a_row_of_a_batch_that_nobody_has_approved_waits_for_that() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    let said = desk.run(&["explain", "b", "R-1"]).finished(0);
    says(
        &said,
        "not sent yet; batch b waits for approval: 0 of 1 signature (loaded by alice@example.org); somebody other than the loader looks at it and signs: disburse approve b --sandbox",
    );
    assert_eq!(steps(&said), 0, "{said:?}");
    says(&desk.run(&["status"]).finished(0), "waits for approval");
    let one = desk.run(&["status", "b"]).finished(0);
    assert!(!one.out.contains("to go on: "), "{one:?}");
    says(
        &one,
        "next: somebody other than the loader looks at it and signs",
    );
    approve(&desk, "bob", "600.50").finished(0);
    let said = desk.run(&["explain", "b", "R-1"]).finished(0);
    says(&said, "next: disburse run b --sandbox sends it");
    // A row that came later waits, and those that were approved do not.
    let late = "R-4,B2C_MPESA,254712345670,50.00,KES,KE\n";
    let desk = desk.file("late.csv", format!("{HEADER}{late}"));
    let amend = "load late.csv --batch b --amend --sandbox --sign-key alice";
    let amended = desk.run(&amend.split(' ').collect::<Vec<_>>()).finished(0);
    says(
        &amended,
        "next: somebody other than the loader looks at it and signs: disburse approve b --sandbox",
    );
    assert_eq!(steps(&amended), 1, "{amended:?}");
    let said = desk.run(&["explain", "b", "R-1"]).finished(0);
    says(&said, "next: disburse run b --sandbox sends it");
    let said = desk.run(&["explain", "b", "R-4"]).finished(0);
    says(&said, "not sent yet; batch b waits for approval");
}

#[test]
fn the_next_step_is_to_sign_while_a_signature_is_missing() {
    let Some(desk) = desk(1, "") else { return };
    let unsigned = desk
        .run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    says(&unsigned, "next: the loader, and nobody else, signs");
    assert_eq!(steps(&unsigned), 1, "{unsigned:?}");
    let loaded = load(&desk, "alice");
    says(
        &loaded,
        "next: somebody other than the loader looks at it and signs: disburse approve b --sandbox",
    );
    assert_eq!(steps(&loaded), 1, "{loaded:?}");
    let order = "schedule b --not-after 2199-01-01 --reason later";
    let scheduled = desk.run(&order.split(' ').collect::<Vec<_>>()).finished(0);
    says(&scheduled, "next: somebody other than the loader");
    assert_eq!(steps(&scheduled), 1, "{scheduled:?}");
    approve(&desk, "bob", "600.50").finished(0);
    let desk = desk.file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml"];
    desk.run(&failing).finished(3);
    let retried = desk.run(&["retry", "b", "--sandbox", "--yes"]).finished(0);
    says(&retried, "next: somebody other than the loader");
    assert_eq!(steps(&retried), 1, "{retried:?}");
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 0);
}

#[test]
fn rows_without_an_amount_have_one_next_step() {
    let bill =
        "reference,service_code,msisdn,account_number,amount\nT-1,TV,254711000001,14330419,\n";
    let desk = Desk::new()
        .file("disburse.toml", SERVICES)
        .file("a.csv", bill);
    let next = "disburse run a --sandbox --pay-due, which asks for the bills and pays what is due";
    let said = desk.run(&LOAD).finished(0);
    says(&said, &format!("next: {next}"));
    assert_eq!(steps(&said), 1, "{said:?}");
    let status = desk.run(&["status", "a"]).finished(0);
    says(&status, &format!("to go on: {next}"));
    assert_eq!(status.out.matches("disburse ").count(), 1, "{status:?}");
    says(&explained(&desk, "T-1"), &format!("next: {next}"));
    says(&desk.run(&RUN).finished(2), &format!("hint: {next}"));
    // Where somebody has to sign, the amounts come first.
    let Some(signed) = self::desk(1, "") else {
        return;
    };
    let rule = signed.text("disburse.toml");
    fs::write(signed.path("disburse.toml"), format!("{SERVICES}{rule}")).unwrap();
    let signed = signed.file("a.csv", bill);
    let next = "ask for the bills first, with the file that it was loaded from: disburse load FILE --batch a --bills --sandbox";
    let said = signed.run(&LOAD).finished(0);
    says(&said, &format!("next: {next}"));
    assert_eq!(steps(&said), 1, "{said:?}");
    let status = signed.run(&["status", "a"]).finished(0);
    says(&status, &format!("next: {next}"));
    assert_eq!(status.out.matches("disburse ").count(), 1, "{status:?}");
    says(&explained(&signed, "T-1"), next);
    says(&signed.run(&RUN).finished(2), &format!("hint: {next}"));
    configure(&signed, 1, "");
}

#[test]
fn the_list_of_batches_says_which_wait_for_their_time() {
    let desk = Desk::with_rows();
    let load = "load ok.csv --batch later --sandbox --not-before 2199-12-01";
    desk.run(&load.split(' ').collect::<Vec<_>>()).finished(0);
    says(&desk.run(&["status"]).finished(0), "waits for its time");
}

#[test]
fn a_paused_service_of_a_rehearsal_is_opened_and_run_in_the_sandbox() {
    let rows: String = (1..=20)
        .map(|n| format!("E-{n},B2C,2547110001{n:02},10\n"))
        .collect();
    let stop = "[limits]\nstop_above = \"50%\"\nstop_after = 3\n";
    let desk = Desk::new()
        .file("disburse.toml", format!("{SERVICES}{stop}"))
        .file("faults.toml", "refuse = 1.0\n")
        .file(
            "a.csv",
            format!("reference,service_code,msisdn,amount\n{rows}"),
        );
    desk.run(&LOAD).finished(0);
    let run = "run a --sandbox --faults faults.toml --rate 4/s";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(5);
    says(
        &explained(&desk, "E-20"),
        "not sent yet; B2C is paused because more of its payments failed than limits.stop_above allows; when that is solved: disburse resume-lane a B2C, then disburse run a --sandbox",
    );
    // What has to be done first is said first, and nothing else is said to go on: a run would do nothing about it.
    let status = desk.run(&["status", "a"]).finished(0);
    says(
        &status,
        "when that is solved: disburse resume-lane a B2C, and then: disburse run a --sandbox\n",
    );
    assert!(!status.out.contains("to go on: "), "{status:?}");
    says(
        &desk.run(&["status"]).finished(0),
        " failed; waits for a paused service",
    );
    let opened = desk.run(&["resume-lane", "a", "B2C"]).finished(0);
    says(&opened, "next: disburse run a --sandbox\n");
}

#[test]
fn the_report_says_who_signed_and_what_is_missing() {
    let Some(desk) = desk(2, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    let report = ["report", "b", "--out", "r"];
    desk.run(&report).finished(0);
    let page = desk.text("r/report.html");
    for part in [
        "<b>Signed to have loaded it</b> alice@example.org, handed in by ",
        "<b>Approved by</b> bob@example.org, handed in by ",
        "batch b waits for approval: 1 of 2 signatures (loaded by alice@example.org; approved by bob@example.org); one more, who is neither",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let people = report["people"].as_array().unwrap().iter();
    let people: Vec<_> = people
        .map(|one| format!("{} {}", one["act"], one["about"]))
        .collect();
    let expected = [
        "\"load\" \"ok.csv\"",
        "\"sign-load\" \"alice@example.org\"",
        "\"approve\" \"bob@example.org\"",
    ];
    assert_eq!(people, expected);
}
