//! Orders that more than one person signs for: each gives the same order, with a key of their own, and the last one carries it out.

use std::fs;
use std::process::Command;

use crate::approvals::{approve, configure, desk, load, paid, run, says, signers};
use crate::approvals_later::amend;
use crate::desk::{CONFIGURATION, Desk, HEADER, ROWS, Said};

const ALL: &str =
    r#"orders = ["resolve", "retry", "cancel", "recover", "schedule", "resume-lane"]"#;

fn ordering(required: u8) -> Option<Desk> {
    let desk = desk(required, ALL)?;
    load(&desk, "alice");
    Some(desk)
}

fn cancel(desk: &Desk, row: &str, signing: &[&str]) -> Said {
    let order = ["cancel", "b", row, "--reason", "left", "--yes"];
    desk.run(&[&order, signing].concat())
}

fn cancelled(desk: &Desk) -> u64 {
    let status = desk.run(&["status", "b", "--json"]).json();
    status["states"]["cancelled"]["count"].as_u64().unwrap_or(0)
}

#[test]
fn an_order_is_carried_out_once_two_people_have_given_it() {
    let Some(desk) = ordering(1) else { return };
    let said = cancel(&desk, "R-3", &[]).finished(2);
    says(
        &said,
        "this order waits for signatures: 0 of 2 people have signed for it: batch b: cancel, ",
    );
    says(&said, "the same command with --sign-key KEY");
    let said = cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    says(
        &said,
        "1 of 2 people have signed for it (alice@example.org)",
    );
    says(&said, "nothing was ordered yet");
    // Nobody is two people, and another order is another one.
    cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    says(
        &cancel(&desk, "R-2", &["--sign-key", "bob"]).finished(4),
        "1 of 2 people have signed for it (bob@example.org)",
    );
    assert_eq!(cancelled(&desk), 0);
    cancel(&desk, "R-3", &["--sign-key", "bob"]).finished(0);
    assert_eq!(cancelled(&desk), 1);
    desk.run(&["verify", "b"]).finished(0);
}

/// Whoever settles by a statement, where people sign for that, is told a way that leads there.
#[test]
fn what_a_statement_proves_is_signed_for_by_a_file_of_decisions() {
    let Some(desk) = ordering(1) else { return };
    approve(&desk, "bob", "600.50").finished(0);
    let run = [
        "run",
        "b",
        "--sandbox",
        "--faults",
        "none",
        "--no-wait",
        "--poll-only",
    ];
    desk.run(&run).finished(4);
    let statement = crate::reconcile::proving_two(&desk);
    let desk = desk.file("s.csv", &statement);
    let reconcile = ["reconcile", "b", "s.csv", "--currency", "KES", "--paid-out"];
    let with = |more: &[&str]| desk.run(&[&reconcile[..], more].concat());
    says(
        &with(&["--settle"]).finished(2),
        "give this command again with --decisions FILE in place of --settle",
    );
    let said = with(&[]).finished(3);
    says(
        &said,
        "People sign for what is recorded as paid (approval.orders)",
    );
    says(&said, "--paid --reason 'a statement shows it paid'");
    says(&said, "--sandbox --sign-key KEY");
    says(
        &with(&["--decisions", "d.csv"]).finished(3),
        "each who signs for it looks at it, and says: disburse resolve b --from d.csv --sandbox --sign-key KEY",
    );
    let order = [
        "resolve",
        "b",
        "--from",
        "d.csv",
        "--sandbox",
        "--yes",
        "--sign-key",
    ];
    desk.run(&[&order[..], &["alice"]].concat()).finished(4);
    assert_eq!(paid(&desk), 0);
    desk.run(&[&order[..], &["bob"]].concat()).finished(0);
    assert_eq!(paid(&desk), 2);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn where_two_people_approve_three_give_an_order() {
    let Some(desk) = ordering(2) else { return };
    cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    cancel(&desk, "R-3", &["--sign-key", "bob"]).finished(4);
    says(
        &cancel(&desk, "R-3", &["--sign-key", "bobs_second"]).finished(4),
        "2 of 3 people have signed for it (alice@example.org, bob@example.org)",
    );
    says(
        &cancel(&desk, "R-3", &["--sign-key", "eve"]).finished(2),
        "is not among the allowed signers of batch b; nothing was ordered",
    );
    cancel(&desk, "R-3", &["--sign-key", "carol"]).finished(0);
    assert_eq!(cancelled(&desk), 1);
}

#[test]
fn the_rule_of_the_load_holds_for_orders_however_it_is_loosened() {
    let Some(desk) = ordering(1) else { return };
    configure(&desk, 1, "");
    cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    fs::write(desk.path("disburse.toml"), "").unwrap();
    cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    let all = ["cancel", "b", "--reason", "x", "--yes"];
    says(
        &desk.run(&all).finished(2),
        "0 of 2 people have signed for it",
    );
    assert_eq!(cancelled(&desk), 0);
}

#[test]
fn a_rule_of_now_holds_for_orders_about_what_was_loaded_before() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    configure(&desk, 1, ALL);
    cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    cancel(&desk, "R-3", &["--sign-key", "carol"]).finished(0);
    assert_eq!(cancelled(&desk), 1);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_retry_that_two_people_ordered_is_ordered_once() {
    let Some(desk) = ordering(1) else { return };
    approve(&desk, "bob", "600.50").finished(0);
    let desk = desk.file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml"];
    desk.run(&failing).finished(3);
    let retry = |by: &str| desk.run(&["retry", "b", "--sandbox", "--yes", "--sign-key", by]);
    says(
        &retry("carol").finished(4),
        "batch b: retry, 3 payments, KES 600.50; nothing was ordered yet",
    );
    says(
        &retry("alice").finished(0),
        "3 failed payments are to be paid again",
    );
    // They fail again: it is another order, and the signatures for the first one do not count.
    approve(&desk, "bob", "600.50").finished(0);
    desk.run(&failing).finished(3);
    says(
        &retry("alice").finished(4),
        "1 of 2 people have signed for it (alice@example.org)",
    );
    retry("bob").finished(0);
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn an_order_is_signed_on_another_machine() {
    let Some(desk) = ordering(1) else { return };
    cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    let print = ["--as", "bob@example.org", "--print"];
    let text = cancel(&desk, "R-3", &print).finished(0).out;
    assert!(
        text.starts_with("disburse order 1\nby: bob@example.org\norder: batch b: cancel, "),
        "{text}"
    );
    let desk = desk.file("order.txt", &text);
    desk.shell("ssh-keygen -q -Y sign -n disburse -f bob order.txt")
        .finished(0);
    let given = ["--text", "order.txt", "--signature", "order.txt.sig"];
    // Another order, another text, and another key.
    says(
        &cancel(&desk, "R-2", &given).finished(2),
        "the text is of another order, or the order has changed",
    );
    fs::write(desk.path("other.txt"), text.replace("bob@", "carol@")).unwrap();
    let other = ["--text", "other.txt", "--signature", "order.txt.sig"];
    says(
        &cancel(&desk, "R-3", &other).finished(2),
        "nothing was signed or ordered",
    );
    assert_eq!(cancelled(&desk), 0);
    cancel(&desk, "R-3", &given).finished(0);
    assert_eq!(cancelled(&desk), 1);
    // Nothing of it counts for what comes later.
    says(
        &cancel(&desk, "R-1", &given).finished(2),
        "the text is of another order, or the order has changed",
    );
}

#[test]
fn whoever_prints_an_order_that_nobody_signs_for_orders_nothing() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    let print = ["--as", "bob@example.org", "--print"];
    says(
        &cancel(&desk, "R-3", &print).finished(2),
        "this order needs no signatures; nothing was ordered",
    );
    assert_eq!(cancelled(&desk), 0);
    cancel(&desk, "R-3", &[]).finished(0);
}

#[test]
fn other_dates_are_ordered_by_two_people_and_a_rotated_key_signs_no_more() {
    let Some(desk) = ordering(1) else { return };
    let dates = |day: &str, by: &str| {
        let order = ["schedule", "b", "--not-before", day, "--reason", "x"];
        desk.run(&[&order[..], &["--sign-key", by]].concat())
    };
    dates("2020-01-02", "alice").finished(4);
    // Other dates are another order.
    dates("2020-01-03", "bob").finished(4);
    signers(&desk, &[("bob", "bob"), ("carol", "carol")]);
    says(
        &dates("2020-01-02", "bob").finished(4),
        "1 of 2 people have signed for it (bob@example.org)",
    );
    dates("2020-01-02", "carol").finished(0);
}

#[test]
fn a_batch_with_repeats_that_somebody_allowed_waits_for_approval_however_little_it_comes_to() {
    let Some(desk) = desk(1, "") else { return };
    let approval = "[approval]\nrequired = 1\nabove = {KES = \"1000000.00\"}\norders = [\"allow-repeats\"]\nallowed_signers = \"signers\"\n";
    let desk = desk
        .file("disburse.toml", format!("{CONFIGURATION}\n{approval}"))
        .variable("DISBURSE_PASSWORD", "hunter2");
    let load = |batch: &str, more: &[&str]| {
        let order = ["load", "ok.csv", "--batch", batch, "--sign-key", "alice"];
        desk.run(&[&order, more].concat())
    };
    let waits = |batch: &str| {
        let status = desk.run(&["status", batch, "--json"]).json();
        status["approval"]["waits"].as_bool().unwrap()
    };
    load("b", &[]).finished(0);
    assert!(!waits("b"));
    let refused = load("c", &[]).finished(2);
    let (_, digest) = refused.err.split_once("--allow-repeats ").unwrap();
    let digest: String = digest
        .chars()
        .take_while(|it| it.is_alphanumeric())
        .collect();
    load("c", &["--allow-repeats", &digest]).finished(0);
    assert!(waits("c"));
    says(
        &desk.run(&["run", "c", "--yes"]).finished(4),
        "batch c waits for approval",
    );
}

#[test]
fn what_is_signed_for_a_whole_batch_does_not_cover_what_was_added() {
    let Some(desk) = ordering(1) else { return };
    let all = |desk: &Desk, by: &str| {
        let order = ["cancel", "b", "--reason", "x", "--yes", "--sign-key", by];
        desk.run(&order)
    };
    says(
        &all(&desk, "alice").finished(4),
        "batch b: cancel, 3 payments, KES 600.50; nothing was ordered yet",
    );
    let desk = amend(desk, "alice");
    let said = all(&desk, "bob").finished(4);
    says(
        &said,
        "1 of 2 people have signed for it (bob@example.org): batch b: cancel, 4 payments, KES 650.50",
    );
    says(&said, "note: alice@example.org signed at ");
    says(
        &said,
        "for another order: batch b: cancel, 3 payments, KES 600.50",
    );
    assert_eq!(cancelled(&desk), 0);
    let said = all(&desk, "carol").finished(0);
    says(&said, "signed so far by bob@example.org");
    assert_eq!(cancelled(&desk), 4);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn an_order_that_waits_is_told_with_its_payments_and_who_signed() {
    let Some(desk) = ordering(1) else { return };
    let said = cancel(&desk, "R-3", &["--sign-key", "alice"]).finished(4);
    says(&said, "  R-3, KES 300.00, ");
    let said = desk.run(&["status", "b"]).finished(0);
    says(&said, "an order waits for signatures: batch b: cancel, ");
    says(
        &said,
        ", 1 payment, KES 300.00; signed by alice@example.org, valid until ",
    );
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(
        status["orders_waiting"][0]["signed_by"],
        serde_json::json!(["alice@example.org"])
    );
    cancel(&desk, "R-3", &["--sign-key", "bob"]).finished(0);
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["orders_waiting"], serde_json::Value::Null);
    // Each of them, what for, and why.
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let report = desk.text("r/report.json");
    for text in [
        "alice@example.org: batch b: cancel, ",
        "bob@example.org: batch b: cancel, ",
        "left",
    ] {
        assert!(report.contains(text), "{text}: {report}");
    }
}

#[test]
fn dates_that_are_given_anew_are_another_order() {
    let Some(desk) = ordering(1) else { return };
    let dates = |day: &str, by: &str| {
        let order = ["schedule", "b", "--not-before", day, "--reason", "x"];
        desk.run(&[&order[..], &["--sign-key", by]].concat())
    };
    dates("2020-01-02", "alice").finished(4);
    for day in ["2020-01-05", "none"] {
        dates(day, "bob").finished(4);
        dates(day, "carol").finished(0);
    }
    // The batch has no dates, as when Alice signed.
    says(
        &dates("2020-01-02", "bob").finished(4),
        "1 of 2 people have signed for it (bob@example.org)",
    );
}

#[test]
fn a_signature_that_is_given_again_or_too_late_is_refused() {
    let Some(desk) = ordering(1) else { return };
    let print = ["--as", "bob@example.org", "--print"];
    let text = desk
        .run(&[&["resume-lane", "b", "B2C_MPESA"], &print[..]].concat())
        .finished(2);
    says(
        &text,
        "this order would change nothing, so there is nothing to sign",
    );
    let order = ["cancel", "b", "R-3", "--reason", "left"];
    let text = desk.run(&[&order, &print[..]].concat()).finished(0).out;
    let (before, _) = text.split_once("signed: ").unwrap();
    let old = format!("{before}signed: 2020-01-01T00:00:00.000Z\n");
    let desk = desk.file("order.txt", &old);
    desk.shell("ssh-keygen -q -Y sign -n disburse -f bob order.txt")
        .finished(0);
    let given = ["--text", "order.txt", "--signature", "order.txt.sig"];
    says(
        &cancel(&desk, "R-3", &given).finished(2),
        "the text was signed at 2020-01-01T00:00:00.000Z, more than a day ago: the signature no longer counts",
    );
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["orders_waiting"], serde_json::Value::Null);
}

#[test]
fn an_order_that_does_not_exist_is_none_of_the_rule() {
    let Some(desk) = desk(1, r#"orders = ["retri"]"#) else {
        return;
    };
    says(
        &desk.run(&["check", "ok.csv", "--sandbox"]).finished(2),
        "approval.orders",
    );
}

#[test]
fn an_order_that_nobody_signed_for_is_found_in_the_evidence() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    cancel(&desk, "R-1", &[]).finished(0);
    // What was ordered before the rule was in force is nobody's mistake.
    configure(&desk, 1, ALL);
    let desk = amend(desk, "alice");
    desk.run(&["verify", "b"]).finished(0);
    cancel(&desk, "R-2", &["--sign-key", "alice"]).finished(4);
    cancel(&desk, "R-2", &["--sign-key", "bob"]).finished(0);
    let proof = desk.run(&["verify", "b"]).finished(0);
    says(&proof, "4 signatures");
}

#[test]
#[allow(clippy::print_stdout, reason = "what was not checked is told")]
fn a_clock_that_is_set_back_makes_no_signature_young_again() {
    let Some(desk) = ordering(1) else { return };
    if Command::new("faketime").arg("--version").output().is_err() {
        println!("NOT CHECKED: faketime is not installed (apt-get install faketime)");
        return;
    }
    let at = |when: &str, by: &str| {
        let order = format!(
            "faketime -f {when} {} --journal disburse.db cancel b R-3 --reason x --yes --sign-key {by}",
            env!("CARGO_BIN_EXE_disburse")
        );
        desk.shell(&order)
    };
    at("+1h", "alice").finished(4);
    says(
        &at("+26h", "bob").finished(4),
        "note: alice@example.org signed at ",
    );
    says(
        &at("+24h", "carol").finished(0),
        "signed so far by bob@example.org",
    );
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn rows_that_were_set_aside_are_named_to_whoever_signs_that_they_are_not_paid() {
    let Some(desk) = desk(1, ALL) else { return };
    let bad = "R-9,B2C_MPESA,254712345671,ten,KES,KE\n";
    let desk = desk.file("bad.csv", format!("{HEADER}{bad}{ROWS}"));
    let load = [
        "load",
        "bad.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
        "--sign-key",
        "alice",
    ];
    desk.run(&load).finished(0);
    let withdraw = |by: &[&str]| {
        let order = ["cancel", "b", "--rejected", "R-9", "--reason", "x", "--yes"];
        desk.run(&[&order, by].concat())
    };
    let said = withdraw(&["--sign-key", "alice"]).finished(4);
    says(&said, "  line 2 of bad.csv, R-9, ten");
    withdraw(&["--sign-key", "bob"]).finished(0);
    let print = ["--as", "bob@example.org", "--print"];
    withdraw(&print).finished(2);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_recovery_is_signed_for_by_the_rules_of_what_is_left() {
    let Some(desk) = desk(1, "") else { return };
    let approval = format!("[approval]\nrequired = 1\n{ALL}\nallowed_signers = \"signers\"\n");
    let desk = desk
        .file("disburse.toml", format!("{CONFIGURATION}\n{approval}"))
        .variable("DISBURSE_PASSWORD", "hunter2");
    let load = |batch: &str, by: &str, file: &str| {
        desk.run(&["load", file, "--batch", batch, "--sign-key", by])
            .finished(0);
    };
    let cancel = |batch: &str, more: &[&str], by: &str, code: i32| {
        let order = ["cancel", batch, "--reason", "x", "--yes", "--sign-key", by];
        desk.run(&[&order, more].concat()).finished(code)
    };
    // One batch is over, and whoever signed for it has left.
    load("old", "alice", "ok.csv");
    cancel("old", &[], "alice", 4);
    cancel("old", &[], "bob", 0);
    signers(&desk, &[("carol", "carol"), ("eve", "eve")]);
    let late = "R-4,B2C_MPESA,254712345670,50.00,KES,KE\nR-5,B2C_MPESA,254712345671,50.00,KES,KE\n";
    fs::write(desk.path("late.csv"), format!("{HEADER}{late}")).unwrap();
    load("new", "carol", "late.csv");
    desk.run(&["backup", "copy.db"]).finished(0);
    cancel("new", &["R-4"], "carol", 4);
    cancel("new", &["R-4"], "eve", 0);
    desk.shell("rm -f disburse.db-wal disburse.db-shm; cp copy.db disburse.db")
        .finished(0);
    let again = |by: &str, code: i32| {
        let order = [
            "recover",
            "--orders-given-again",
            "--without",
            "1",
            "--reason",
            "x",
        ];
        let said = desk.run(&[&order[..], &["--yes", "--sign-key", by]].concat());
        said.finished(code)
    };
    says(
        &again("carol", 4),
        "1 of 2 people have signed for it (carol@example.org)",
    );
    again("eve", 0);
    for batch in ["old", "new"] {
        desk.run(&["verify", batch]).finished(0);
    }
    // What was signed for this recovery counts for no other one.
    cancel("new", &["R-5"], "carol", 4);
    cancel("new", &["R-5"], "eve", 0);
    desk.shell("rm -f disburse.db-wal disburse.db-shm; cp copy.db disburse.db")
        .finished(0);
    desk.run(&["recover"]).finished(0);
    let order = [
        "recover",
        "--orders-given-again",
        "--without",
        "2",
        "--reason",
        "x",
        "--yes",
    ];
    says(
        &desk
            .run(&[&order[..], &["--sign-key", "eve"]].concat())
            .finished(4),
        "1 of 2 people have signed for it (eve@example.org)",
    );
}
