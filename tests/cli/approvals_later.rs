//! What comes after an approval, or before the signature of whoever loaded: it waits for its own.

use std::fs;

use crate::approvals::{RUN, approve, configure, desk, load, paid, run, says, signers};
use crate::desk::{Desk, HEADER};

const LATE: &str = "R-4,B2C_MPESA,254712345670,50.00,KES,KE\n";

/// Adds a row of 50.00, which somebody signs to have loaded.
pub fn amend(desk: Desk, by: &str) -> Desk {
    let desk = desk.file("late.csv", format!("{HEADER}{LATE}"));
    let amend = [
        "load",
        "late.csv",
        "--batch",
        "b",
        "--amend",
        "--sandbox",
        "--sign-key",
        by,
    ];
    desk.run(&amend).finished(0);
    desk
}

#[test]
fn rows_that_are_added_after_an_approval_need_their_own() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    approve(&desk, "carol", "600.50").finished(0);
    let desk = amend(desk, "bob");
    // What was approved goes on, and nothing else.
    let said = run(&desk, 4);
    says(
        &said,
        "carol@example.org approved an earlier state, and rows, retries or amounts came later",
    );
    assert_eq!(paid(&desk), 3);
    // Whoever added them does not approve them, nor does whoever loaded the rest.
    for by in ["alice", "bob", "bobs_second"] {
        says(
            &approve(&desk, by, "650.50").finished(2),
            "signed that they loaded rows of batch b",
        );
    }
    approve(&desk, "carol", "650.50").finished(0);
    run(&desk, 0);
    assert_eq!(paid(&desk), 4);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_retry_needs_its_own_approval() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    let desk = desk.file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml"];
    desk.run(&failing).finished(3);
    desk.run(&["retry", "b", "--sandbox", "--yes"]).finished(0);
    says(&run(&desk, 4), "bob@example.org approved an earlier state");
    // A retried row counts once.
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn an_unsigned_load_is_signed_afterwards_by_whoever_loaded_it() {
    let Some(desk) = desk(1, "") else { return };
    let loaded = desk
        .run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    says(
        &loaded,
        "batch b waits for signatures: its loader has not signed yet",
    );
    says(
        &approve(&desk, "bob", "600.50").finished(2),
        "nobody has signed that they loaded all of batch b",
    );
    says(
        &run(&desk, 4),
        "hint: the loader, and nobody else, signs: disburse approve b --as-loader --sandbox --sign-key KEY (this person can then not approve it)",
    );
    desk.run(&[
        "approve",
        "b",
        "--as-loader",
        "--sandbox",
        "--sign-key",
        "alice",
    ])
    .finished(0);
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 0);
}

#[test]
fn the_rule_of_the_load_holds_however_it_is_loosened_and_a_stricter_one_of_now_beside_it() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    // No rule, a higher threshold, another signer.
    fs::write(desk.path("disburse.toml"), "").unwrap();
    says(&run(&desk, 4), "waits for approval: 0 of 1");
    configure(&desk, 1, "above = { KES = \"1000.00\" }");
    says(&run(&desk, 4), "waits for approval: 0 of 1");
    configure(&desk, 1, "");
    signers(&desk, &[("alice", "alice"), ("bob", "bob"), ("eve", "eve")]);
    says(
        &approve(&desk, "eve", "600.50").finished(2),
        "is not among the allowed signers",
    );
    approve(&desk, "bob", "600.50").finished(0);
    // Bob is let go: his signature counts no more.
    signers(&desk, &[("alice", "alice"), ("carol", "carol")]);
    let said = run(&desk, 4);
    says(&said, "waits for approval: 0 of 1");
    says(
        &desk.run(&["status", "b"]).finished(0),
        "bob@example.org is not among the allowed signers",
    );
    // Two are wanted now.
    signers(
        &desk,
        &[("alice", "alice"), ("bob", "bob"), ("carol", "carol")],
    );
    configure(&desk, 2, "");
    says(&run(&desk, 4), "waits for approval: 1 of 2 signatures");
    approve(&desk, "carol", "600.50").finished(0);
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
}

#[test]
fn small_batches_need_nobody_until_rows_that_are_added_make_them_large() {
    let Some(desk) = desk(1, "above = { KES = \"600.50\" }") else {
        return;
    };
    let loaded = load(&desk, "alice");
    assert!(!loaded.err.contains("waits"), "{loaded:?}");
    let large = desk.file("large.csv", format!("{HEADER}{LATE}{}", crate::desk::ROWS));
    says(
        &large.run(&["check", "large.csv", "--sandbox"]).finished(0),
        "a batch of this total (approval.above KES 600.50) waits for approval once it is loaded",
    );
    let desk = large;
    says(
        &desk.run(&["status", "b"]).finished(0),
        "its total is not above what may be paid without approval (approval.above KES 600.50)",
    );
    run(&desk, 0);
    let desk = desk.file("late.csv", format!("{HEADER}{LATE}"));
    desk.run(&[
        "load",
        "late.csv",
        "--batch",
        "b",
        "--amend",
        "--sandbox",
        "--sign-key",
        "alice",
    ])
    .finished(0);
    says(&run(&desk, 4), "waits for approval: 0 of 1");
    assert_eq!(paid(&desk), 3);
    approve(&desk, "bob", "650.50").finished(0);
    run(&desk, 0);
    assert_eq!(paid(&desk), 4);
}

#[test]
fn a_batch_is_approved_once_its_bills_are_known_and_what_is_priced_later_waits() {
    let Some(desk) = desk(1, "") else { return };
    let row = "BL-1,PAYTV,254114269937,14330419,,KES,Made Up,Bill\n";
    let header = "reference,service_code,msisdn,account_number,amount,currency_code,customer_names,narration\n";
    let desk = desk.file(
        "bills.csv",
        format!("{header}BL-0,PAYTV,254114269938,14330420,100.00,KES,Made Up,Bill\n"),
    );
    let desk = desk.file("late.csv", format!("{header}{row}"));
    desk.run(&[
        "load",
        "bills.csv",
        "--batch",
        "b",
        "--sandbox",
        "--sign-key",
        "alice",
    ])
    .finished(0);
    approve(&desk, "bob", "100.00").finished(0);
    desk.run(&[
        "load",
        "late.csv",
        "--batch",
        "b",
        "--amend",
        "--sandbox",
        "--sign-key",
        "alice",
    ])
    .finished(0);
    let said = approve(&desk, "bob", "100.00").finished(2);
    says(&said, "1 rows of batch b have no amount yet");
    says(&said, "disburse load FILE --batch b --bills --sandbox");
    // Priced by the run: not approved, and not posted.
    let said = desk.run(&[&RUN[..], &["--pay-due"]].concat()).finished(4);
    says(&said, "bob@example.org approved an earlier state");
    assert_eq!(paid(&desk), 1);
}

#[test]
fn pay_loads_signs_and_ends_with_what_is_missing() {
    let Some(desk) = desk(1, "") else { return };
    let pay = [
        "pay",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
        "--sign-key",
        "alice",
    ];
    let said = desk.run(&pay).finished(4);
    says(&said, "signed: alice@example.org loads batch b");
    says(
        &said,
        "hint: somebody other than the loader looks at it and signs",
    );
    approve(&desk, "bob", "600.50").finished(0);
    desk.run(&pay).finished(0);
    assert_eq!(paid(&desk), 3);
}

#[test]
fn where_the_key_of_the_loader_counts_no_more_somebody_else_signs_in_their_place() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    // Alice gets another key: that one was not there at the load.
    signers(
        &desk,
        &[("alice", "eve"), ("bob", "bob"), ("carol", "carol")],
    );
    let why = "batch b waits for signatures: that of alice@example.org, who signed that they loaded rows of it, does not count (approved by bob@example.org)";
    let way_out = "somebody else, who may sign now and could when it was loaded, looks at it and signs in the place of the loader (and can then not approve it): disburse approve b --as-loader --sandbox --sign-key KEY; then: disburse run b --sandbox. If there is nobody who can: \
                   disburse cancel b, then load the file under another batch name";
    let said = run(&desk, 4);
    says(
        &said,
        &format!("warning: {why}; the signature that alice@example.org loads"),
    );
    says(&said, &format!("hint: {way_out}"));
    let status = desk.run(&["status", "b"]).finished(0);
    says(&status, why);
    says(&status, &format!("next: {way_out}"));
    let as_loader = |key: &str| {
        let sign = [
            "approve",
            "b",
            "--as-loader",
            "--sandbox",
            "--sign-key",
            key,
        ];
        desk.run(&sign)
    };
    says(
        &as_loader("eve").finished(2),
        "somebody whose key was there then must sign",
    );
    assert_eq!(paid(&desk), 0);
    // The way out: Carol takes the rows over, and what Bob has approved leaves.
    says(
        &as_loader("carol").finished(0),
        "next: disburse run b --sandbox",
    );
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
    says(
        &desk.run(&["verify", "b"]).finished(0),
        "3 signatures verified again",
    );
}

#[test]
fn whoever_takes_the_place_of_the_loader_approves_nothing_and_without_anybody_left_the_file_is_loaded_anew()
 {
    let Some(desk) = desk(1, "") else { return };
    signers(&desk, &[("alice", "alice"), ("bob", "bob")]);
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    signers(&desk, &[("carol", "carol"), ("bob", "bob")]);
    let sign = "approve b --as-loader --sandbox --sign-key bob";
    let signed = desk.run(&sign.split(' ').collect::<Vec<_>>()).finished(0);
    says(
        &signed,
        "nobody can approve all of batch b: everybody who may sign loaded rows of it, and one who did not must approve \
         (loaded by bob@example.org)",
    );
    says(
        &signed,
        "disburse cancel b, which cancels what was not sent; then let one person load the rows",
    );
    run(&desk, 4);
    assert_eq!(paid(&desk), 0);
    // As it is said: cancelled, and loaded under another name, the rows are paid once.
    desk.run(&["cancel", "b", "--yes"]).finished(0);
    let anew = "load ok.csv --batch c --sandbox --sign-key carol";
    desk.run(&anew.split(' ').collect::<Vec<_>>()).finished(0);
    let approve = "approve c --sandbox --sign-key bob --yes-total 600.50";
    desk.run(&approve.split(' ').collect::<Vec<_>>())
        .finished(0);
    let run = "run c --sandbox --faults none";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(0);
    let status = desk.run(&["status", "c", "--json"]).json();
    assert_eq!(status["states"]["paid"]["count"], 3);
    assert_eq!(paid(&desk), 0);
}

/// A load that brings no row needs nobody's signature.
#[test]
fn a_file_whose_rows_are_all_set_aside_keeps_nobody_from_approving() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    let bad = format!("{}R-9,B2C_MPESA,nobody,10.00,KES,KE\n", desk.text("ok.csv"));
    let desk = desk.file("ok.csv", bad);
    let amend = "load ok.csv --batch b --sandbox --amend --on-error skip --sign-key alice";
    desk.run(&amend.split(' ').collect::<Vec<_>>()).finished(0);
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 3);
    assert_eq!(paid(&desk), 3);
    desk.run(&["verify", "b"]).finished(0);
}
