//! Payments by what a person calls them: a text that names two rows is refused, whatever it is said to.

use crate::desk::{Desk, HEADER};

const DECIDED: [&str; 4] = ["--reason", "a", "--evidence", "b"];

/// A batch whose second row has the identifier of the first one as its reference; returns that identifier.
fn twins() -> (Desk, String) {
    let row = |reference: &str| format!("{reference},B2C_MPESA,254712345678,100.00,KES,KE\n");
    let desk = Desk::new().file("one.csv", format!("{HEADER}{}", row("R-1")));
    let load = |file: &str| {
        let amend = ["load", file, "--batch", "b", "--sandbox", "--amend"];
        desk.run(&amend).finished(0);
    };
    load("one.csv");
    let explained = desk.run(&["explain", "b", "R-1", "--json"]).finished(0);
    let id = explained.json()[0]["payer_transaction_id"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::write(desk.path("two.csv"), format!("{HEADER}{}", row(&id))).unwrap();
    load("two.csv");
    (desk, id)
}

#[test]
fn a_text_that_names_two_rows_is_refused_and_the_flags_tell_them_apart() {
    let (desk, id) = twins();
    let message = format!(
        "error: {id} is the reference of one row of batch b and the payerTransactionID of another row; nothing was changed"
    );
    let hint = "hint: say which of the two you mean: --reference takes the text for the reference of a row, --id for a \
                payerTransactionID; disburse explain with the same flag shows that row";
    let lines = [message.as_str(), hint];
    desk.refuses(&["explain", "b", &id], 2, &lines);
    desk.refuses(&["cancel", "b", &id], 2, &lines);
    for outcome in ["--paid", "--failed"] {
        let resolve = ["resolve", "b", &id, outcome];
        desk.refuses(&[&resolve[..], &DECIDED].concat(), 2, &lines);
    }
    let line = |arguments: &[&str]| desk.run(arguments).finished(0).json()[0]["reference"].clone();
    assert_eq!(line(&["explain", "b", &id, "--id", "--json"]), "R-1");
    assert_eq!(line(&["explain", "b", "--id", &id, "--json"]), "R-1");
    assert_eq!(line(&["explain", "b", &id, "--reference", "--json"]), id);
    assert_eq!(line(&["explain", "b", "--reference", &id, "--json"]), id);
    desk.run(&["cancel", "b", &id, "--reference"]).finished(0);
    assert_eq!(
        desk.run(&["explain", "b", &id, "--id", "--json"]).json()[0]["state"],
        "ready",
        "the row whose identifier it is was not touched"
    );
    desk.run(&["cancel", "b", "--id", &id]).finished(0);
}

#[test]
fn an_identifier_of_another_batch_is_no_reason_to_guess() {
    let (desk, id) = twins();
    let row = format!("{HEADER}{id},B2C_MPESA,254712345678,70.00,KES,KE\n");
    std::fs::write(desk.path("three.csv"), row).unwrap();
    desk.run(&["load", "three.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    let said = desk.run(&["cancel", "c", &id]).finished(2);
    assert!(said.err.contains("of another row"), "{}", said.err);
    desk.run(&["cancel", "c", &id, "--id"]).finished(2);
    desk.run(&["cancel", "c", &id, "--reference"]).finished(0);
}

#[test]
fn a_flag_without_its_text_never_means_the_whole_batch() {
    let desk = Desk::loaded();
    for arguments in [
        &["cancel", "b", "--id"][..],
        &["cancel", "b", "--reference"],
        &["cancel", "b", "R-1", "--id", "R-2"],
        &["cancel", "b", "R-1", "--id", "--reference"],
        &["explain", "b"],
        &["explain", "b", "--id"],
    ] {
        let said = desk.run(arguments).finished(2);
        assert_eq!(said.out, "");
    }
    assert_eq!(
        desk.run(&["status", "b", "--json"]).json()["states"]["ready"]["count"],
        3
    );
}
