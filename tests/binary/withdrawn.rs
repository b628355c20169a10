//! Rejected rows that shall not be paid: a person withdraws them, and the batch ends with 0.

use crate::files::{csv, rows};
use crate::oracle::payments;
use crate::world::{Setup, World};

const WHY: [&str; 2] = ["--reason", "a duplicate of BAD2"];

fn cancel(names: &[&str], more: &[&str]) -> Vec<String> {
    let all = [&["cancel", "b", "--rejected"], names, &WHY, more].concat();
    all.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_batch_whose_rejected_rows_are_withdrawn_ends_with_0() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let mut text = csv(&rows(5, 57));
    text.push_str("BAD1,B2C_MPESA,25471234567,100.00,KES\nBAD2,B2C_MPESA,254712345678,1.005,KES\n");
    world.write("batch.csv", &text);
    let skip = ["--on-error", "skip", "--yes"];
    let load = [&["pay", "batch.csv", "--batch", "b"][..], &skip].concat();
    world
        .expect(3, &load)
        .says("finished, but not everybody is paid: 2 rejected")
        .says("disburse cancel b --rejected LINE --reason TEXT");
    let order = |names: &[&str], more: &[&str], code| {
        let words = cancel(names, more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        world.expect(code, &words)
    };
    // Without anybody to ask it takes --yes, and a reason.
    order(&["7"], &[], 2)
        .says("line 7 of batch.csv, BAD1")
        .says("this would withdraw 1 rejected row of batch b, KES 100.00 as far as")
        .says("nothing was changed");
    world
        .expect(2, &["cancel", "b", "--rejected", "7", "--yes"])
        .says("--reason");
    // The batch as a whole has nothing that waits: its rejected rows are named to be withdrawn.
    world
        .expect(0, &["cancel", "b", "--reason", "x", "--yes"])
        .says("batch b has no payment to cancel");
    assert_eq!(world.count("b", "rejected"), 2);
    order(&["7"], &["--yes"], 0)
        .says("1 rejected row withdrawn")
        .says("5 paid, 1 rejected, 1 rejected and withdrawn");
    order(&["BAD1"], &["--yes"], 2).says("BAD1 is withdrawn by ");
    let ended = world.expect(3, &["run", "b", "--yes"]);
    ended.says("not everybody is paid: 1 rejected, 1 rejected and withdrawn");
    order(&[], &["--yes"], 0).says("1 rejected row withdrawn");
    order(&[], &["--yes"], 0).says("no rejected row of batch b waits");

    world.expect(0, &["run", "b", "--yes"]);
    world.expect(0, &load);
    assert_eq!(sandbox.ledger().posts, 5);
    assert_eq!(world.count("b", "rejected"), 0);
    assert_eq!(world.count("b", "withdrawn"), 2);
    world.expect(0, &["report", "b", "--out", "r"]);
    let lines = payments(&world, "r");
    assert_eq!(lines.len(), 7);
    let withdrawn: Vec<_> = lines
        .iter()
        .filter(|line| line.get("state") == "withdrawn")
        .collect();
    assert_eq!(withdrawn.len(), 2);
    for line in withdrawn {
        let note = line.get("note");
        assert!(note.contains("withdrawn by "), "{note}");
        assert!(note.contains("“a duplicate of BAD2”"), "{note}");
    }
    assert!(
        !world.path("r/failed.csv").exists(),
        "nothing is to be mended"
    );
    let report: serde_json::Value = serde_json::from_str(&world.read("r/report.json")).unwrap();
    assert_eq!(report["adds_up"], true);
    assert_eq!(report["states"]["withdrawn"]["count"], 2);
    assert_eq!(report["states"]["rejected"]["count"], 0);
    assert_eq!(report["people"][3]["about"], "1 rejected row");
    assert_eq!(report["people"][3]["reason"], "a duplicate of BAD2");
    let page = world.read("r/report.html");
    assert!(page.contains("5 of 7 paid, 2 not paid (2 rejected and withdrawn): no action needed"));
    world
        .expect(0, &["explain", "BAD1"])
        .says("Rejected and withdrawn: this row never pays anybody")
        .says("  withdrawn by ")
        .says("“a duplicate of BAD2”");
    let explained = world.expect(0, &["explain", "BAD1", "--json"]);
    assert!(
        explained.out.contains("\"state\":\"withdrawn\""),
        "{explained:?}"
    );
    world.expect(0, &["verify", "b"]);

    // What was mended meanwhile is not added any more: whoever mends it is told who decided otherwise.
    let mended = world
        .read("batch.corrections.csv")
        .replace(",25471234567,", ",254712345670,")
        .replace("1.005", "1.01");
    world.write("mended.csv", &mended);
    world
        .expect(2, &["load", "mended.csv", "--batch", "b", "--amend"])
        .says("rejected_row: is that of a rejected row which was withdrawn by ");
}

#[test]
fn a_failed_payment_that_shall_not_be_paid_is_closed_and_nothing_is_left_to_do() {
    let world = World::new(&Setup::default());
    let rows = rows(4, 58);
    world.write("batch.csv", &csv(&rows));
    world.write("faults.toml", "refuse = 1.0\n");
    let bad = ["--yes", "--sandbox", "--faults", "faults.toml"];
    let pay = [&["pay", "batch.csv", "--batch", "b"][..], &bad].concat();
    world
        .expect(3, &pay)
        .says("to close a payment that must not be paid: disburse cancel b REFERENCE");
    assert_eq!(world.count("b", "failed"), 4);
    let failed: Vec<&str> = rows.iter().map(|row| row.reference.as_str()).collect();
    // A job says so with a word of its own.
    world
        .expect(2, &["cancel", "b", failed[0]])
        .says("nobody can retry or correct it then")
        .says("nothing was changed");
    for reference in &failed[..2] {
        world
            .expect(0, &["cancel", "b", reference, "--reason", "left", "--yes"])
            .says("1 payment cancelled");
    }
    world
        .expect(2, &["cancel", "b", failed[0], "--yes"])
        .says("it is cancelled already");
    world
        .expect(0, &["explain", "b", failed[0]])
        .says("Cancelled: batch b never pays it");
    assert_eq!(world.count("b", "cancelled"), 2);
    assert_eq!(world.count("b", "failed"), 2);
    world.expect(0, &["report", "b", "--out", "r"]);
    let file = world.read("r/failed.csv");
    assert!(!file.contains(failed[0]) && file.contains(failed[2]));
    // The others are paid again; of the closed ones nothing leaves.
    let good = ["run", "b", "--yes", "--sandbox", "--faults", "none"];
    world.expect(0, &["retry", "b", "--yes"]);
    world
        .expect(3, &good)
        .says("not everybody is paid: 2 cancelled");
    world.expect(3, &pay);
    world.expect(0, &["report", "b", "--out", "r"]);
    assert!(
        !world.path("r/failed.csv").exists(),
        "nothing is left to do"
    );
    assert!(
        world
            .read("r/report.html")
            .contains("2 cancelled): no action needed")
    );
    assert_eq!(world.status("b")["count"], 4);
    let ledger = crate::sandbox::ledger_beside_journal(&world);
    assert_eq!(ledger.executed_once, 2);
    world
        .expect(0, &["verify", "b"])
        .says("sound: everything fits");
}
