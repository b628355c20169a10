//! Orders ask the person at the terminal, and need their word elsewhere.

use crate::desk::{BINARY, Desk};

const HINT: &str = "hint: add --yes to do it without a question";

#[test]
fn an_order_about_a_whole_batch_without_anybody_to_ask_needs_a_yes() {
    let desk = Desk::loaded();
    let error = "error: this would cancel 3 payments of batch b, KES 600.50: under this batch name they can never be paid; nothing was changed";
    desk.refuses(&["cancel", "b"], 2, &[error, HINT]);
    desk.run(&["cancel", "b", "R-1"]).finished(0);
    let left = "error: this would cancel 2 payments of batch b, KES 500.50: under this batch name they can never be paid; nothing was changed";
    desk.refuses(&["cancel", "b"], 2, &[left, HINT]);
    desk.run(&["cancel", "b", "--yes"]).finished(0);
    desk.run(&["cancel", "b"]).finished(0);
}

#[test]
fn at_a_terminal_the_person_answers() {
    for (answer, state, code) in [("y", "cancelled", 0), ("n", "ready", 2), ("", "ready", 2)] {
        let desk = Desk::loaded();
        let said = desk.shell(&format!(
            "command -v script >/dev/null || {{ echo none; exit 0; }}; export TERM=xterm; echo '{answer}' | script -qec 'timeout --foreground 50 {BINARY} cancel b; echo code $?' /dev/null"
        ));
        if said.out.starts_with("none") {
            return;
        }
        assert!(
            said.out
                .contains("This would cancel 3 payments of batch b, KES 600.50: under this batch name they can never be paid."),
            "{said:?}"
        );
        assert!(said.out.contains("Do it? [y/N]"), "{said:?}");
        assert!(said.out.contains(&format!("code {code}")), "{said:?}");
        let status = desk.run(&["status", "b", "--json"]).json();
        assert_eq!(status["states"][state]["count"], 3, "{answer:?}");
    }
}

#[test]
fn a_rehearsed_payment_is_asked_about_in_the_sandbox_that_it_was_run_against() {
    let desk = Desk::waiting();
    let states = || desk.run(&["status", "b", "--json"]).json()["states"].clone();
    assert_eq!(states()["acknowledged"]["count"], 3);
    let why = ["--reason", "a", "--evidence", "b", "--yes"];
    let resolve = |more: &[&str]| desk.run(&[&["resolve", "b", "R-1"][..], &why, more].concat());
    let said = resolve(&["--failed"]).finished(2);
    assert!(said.err.contains("hint: add --sandbox"), "{}", said.err);
    let said = resolve(&["--failed", "--sandbox"]).finished(2);
    assert!(
        said.err.contains("it is not recorded as failed"),
        "{}",
        said.err
    );
    assert_eq!(states()["failed"]["count"], 0);
    // On a busy machine the sandbox has settled it meanwhile, and said so.
    if states()["paid"]["count"] == 0 {
        let said = resolve(&["--paid"]).finished(0);
        assert!(said.out.contains("-> paid"), "{}", said.out);
        assert!(
            said.out.contains(", KES ") && said.out.contains(" to "),
            "{}",
            said.out
        );
    }
}

#[test]
fn a_payment_that_was_never_posted_is_not_decided() {
    let desk = Desk::loaded();
    let order = "resolve b R-1 --paid --reason x --evidence y --sandbox --yes";
    let said = desk.run(&order.split(' ').collect::<Vec<_>>()).finished(2);
    assert!(
        said.err.contains("it was never sent: cancel it instead"),
        "{}",
        said.err
    );
    desk.run(&["cancel", "b", "R-1"]).finished(0);
}
