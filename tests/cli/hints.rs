//! A person who makes a mistake is told what to do about it, and doing that is safe.

use crate::desk::Desk;

const PAY: [&str; 7] = [
    "pay",
    "ok.csv",
    "--batch",
    "b",
    "--sandbox",
    "--faults",
    "none",
];

#[test]
fn every_mistake_is_told_with_what_to_do() {
    let desk = Desk::with_rows();
    desk.run(&PAY).finished(0);
    for (arguments, hint) in [
        (&["check", "ko.csv", "--sandbox"][..], "check the name"),
        (
            &[
                "check",
                "ok.csv",
                "--sandbox",
                "--expect-total",
                "600.50 KES",
            ],
            "--expect-total \"KES 412955.45\"",
        ),
        (&["status", "c"], "`disburse status` lists the batches"),
        (
            &["explain", "b", "R-9"],
            "payments.csv of the report lists both",
        ),
        (&["explain", "b"], "name it by the reference"),
        (&["cancel", "b", "R-1"], "`disburse explain b --id "),
        (&["recover", "--done", "--yes"], "there is nothing to do"),
        (
            &["run", "b", "--sandbox", "--faults", "nowhere.toml"],
            "--faults takes none, realistic, hostile",
        ),
        (
            &["report", "c", "--out", "r"],
            "`disburse status` lists the batches",
        ),
        (
            &[
                "resolve",
                "b",
                "R-1",
                "--failed",
                "--reason",
                "a",
                "--evidence",
                "b",
                "--yes",
                "--sandbox",
            ],
            "`disburse explain b --id ",
        ),
    ] {
        let said = desk.run(arguments).finished(2);
        let told = said
            .err
            .lines()
            .any(|line| line.starts_with("hint: ") && line.contains(hint));
        assert!(told, "{arguments:?}: {}", said.err);
    }
}

#[test]
fn a_batch_that_was_cancelled_leads_somewhere_however_it_is_loaded_again() {
    let desk = Desk::loaded();
    desk.run(&["cancel", "b", "--yes"]).finished(0);
    let same = ["load", "ok.csv", "--batch", "b", "--sandbox"];
    let told = "batch b was cancelled as a whole: nobody was paid, and a run of it pays nobody.";
    assert!(desk.run(&same).finished(0).err.contains(told));
    assert!(
        desk.run(&[&same[..], &["--amend"]].concat())
            .finished(0)
            .err
            .contains(told)
    );
    let said = desk.run(&PAY).finished(3);
    assert!(said.err.contains(told), "{}", said.err);
    assert!(
        said.err.ends_with(
            "do not pay it again. To pay it after all, load it under another batch name\n"
        ),
        "{}",
        said.err
    );
    // Under another name the rows can be paid.
    desk.run(&["load", "ok.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    desk.run(&["run", "c", "--sandbox", "--faults", "none"])
        .finished(0);
}
