//! `probe --pay`: one payment is posted twice on purpose, to see whether the gateway refuses the second post.

use serde_json::Value;

use crate::files::rows;
use crate::sandbox::{Sandbox, ledger_beside_journal};
use crate::world::{Done, Setup, World, eventually};

const ONE: &str =
    "reference,service_code,msisdn,amount,narration\nPROBE-1,B2C_MPESA,254712345678,10.00,probe\n";
const PROBE: [&str; 9] = [
    "probe",
    "--pay",
    "one.csv",
    "--recipient",
    "0712345678",
    "--amount",
    "10",
    "--max-wait",
    "20s",
];
const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

fn json(world: &World, arguments: &[&str]) -> (i32, Value) {
    let done = world.disburse(&[arguments, &["--json"]].concat());
    let value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"));
    (done.code.unwrap(), value)
}

#[test]
fn a_gateway_that_refuses_a_duplicate_is_seen_once_and_told_when_a_batch_starts() {
    let (world, sandbox) = World::with_sandbox(&Setup::with_callbacks(), &["--faults", "none"]);
    world.write("one.csv", ONE);
    let done = world.expect(0, &PROBE);
    done.says("refused its identifier when it was posted a second time (229");
    let ledger = sandbox.ledger();
    assert_eq!(
        (ledger.executed_once, ledger.executed_more, ledger.posts),
        (1, 0, 2)
    );
    // Never a third time, whatever is typed.
    // Nobody is asked to confirm what does not happen.
    world
        .expect(3, &["probe", "--pay", "one.csv"])
        .says("is not posted a third time");
    assert_eq!(sandbox.ledger().posts, 2);
    let rows = rows(5, 171);
    world.write_rows("batch.csv", &rows);
    world
        .expect(0, &PAY)
        .says("check for duplicates: this gateway refuses an identifier that it has (seen ");
    let (_, told) = json(&world, &PROBE);
    let batch = told["duplicates"]["batch"].as_str().unwrap();
    world.expect(0, &["verify", batch]);
    // What was seen of one account says nothing of another one.
    let profile = world.read("disburse.toml").replace("\"acme\"", "\"other\"");
    world.write("disburse.toml", &profile);
    world.write_rows("batch.csv", &crate::files::rows(3, 172));
    let paid = world.disburse(&["pay", "batch.csv", "--batch", "c", "--yes"]);
    assert!(!paid.err.contains("check for duplicates"), "{paid:?}");
}

#[test]
fn a_gateway_without_a_check_is_named_as_such_and_what_is_posted_after_it_is_paid_once() {
    let options = ["--faults", "none", "--no-duplicate-check"];
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &options);
    world.write("one.csv", ONE);
    let (code, told) = json(&world, &PROBE);
    assert_eq!(code, 5, "{told}");
    assert_eq!(told["duplicates"]["check"], "accepts", "{told}");
    eventually("the second one is executed, too", || {
        sandbox.ledger().executed_more == 1
    });
    world.expect(3, &PROBE).says("not posted a third time");
    assert_eq!(sandbox.ledger().posts, 2);
    let rows = rows(5, 173);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &PAY).says("this gateway has NONE");
    assert_eq!(sandbox.ledger().executed_once, 5);
}

#[test]
fn nothing_leaves_until_recipient_and_amount_are_typed_as_the_file_has_them() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    world.write("one.csv", ONE);
    let typed = |recipient, amount| {
        let words = [
            "probe",
            "--pay",
            "one.csv",
            "--recipient",
            recipient,
            "--amount",
            amount,
        ];
        world.expect(2, &words)
    };
    typed("254712345679", "10.00").says("not the recipient of the file; nothing was sent");
    typed("254712345678", "20.00").says("not the amount of the file; nothing was sent");
    let unattended = world.expect(2, &["probe", "--pay", "one.csv"]);
    unattended.says("would pay KES 10.00 and may pay it twice");
    let (code, shown) = world.at_terminal(&["probe", "--pay", "one.csv"], "254712345678\nyes");
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("KES 20.00 leaves in all"), "{shown}");
    world.write(
        "two.csv",
        &format!("{ONE}PROBE-2,B2C_MPESA,254712345679,10.00,probe\n"),
    );
    let two = [
        "probe",
        "--pay",
        "two.csv",
        "--recipient",
        "254712345678",
        "--amount",
        "10",
    ];
    let refused = world.disburse(&two);
    assert!(matches!(refused.code, Some(1 | 2)), "{refused:?}");
    assert_eq!(sandbox.ledger().posts, 0);
    let (code, shown) = world.at_terminal(
        &["probe", "--pay", "one.csv", "--max-wait", "20s"],
        "254 712 345 678\nKES 10.00",
    );
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(sandbox.ledger().executed_once, 1);
}

#[test]
fn a_payment_that_is_not_paid_is_not_posted_twice() {
    let world = World::new(&Setup::default());
    world.write("faults.toml", "reject = 1.0\n");
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url);
    world.write("one.csv", ONE);
    // It has an end, and no repeat of the command changes it.
    for _ in 0..2 {
        let (code, told) = json(&world, &PROBE);
        assert_eq!(code, 3, "{told}");
        assert_eq!(told["duplicates"]["check"], Value::Null);
        assert_eq!(sandbox.ledger().posts, 1);
    }
}

#[test]
fn a_probe_that_is_killed_behind_its_second_post_does_not_post_a_third_time() {
    let (mut world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    world.write("one.csv", ONE);
    world.set("TORTURE_KILL_AT", "after-second-post:1");
    let killed = world.disburse(&PROBE);
    assert_eq!(killed.code, None, "{killed:?}");
    assert_eq!(sandbox.ledger().posts, 2);
    world.unset("TORTURE_KILL_AT");
    world.expect(3, &PROBE).says("not posted a third time");
    assert_eq!(sandbox.ledger().posts, 2);
    let rows = rows(2, 174);
    world.write_rows("batch.csv", &rows);
    // Nobody knows what was answered: that is no proof.
    world
        .expect(0, &PAY)
        .says("check for duplicates: not known; the last probe was unclear");
    let batch = world.disburse(&["status"]).out;
    let probed = batch
        .split_whitespace()
        .find(|word| word.starts_with("probe-"))
        .unwrap()
        .to_owned();
    world
        .expect(0, &["status", &probed])
        .says("no answer arrived, and the amount may have left twice");
}

#[test]
fn a_rehearsal_asks_nobody_and_proves_the_way() {
    let world = World::new(&Setup::default());
    world.write("one.csv", ONE);
    let (code, told) = json(&world, &["probe", "--pay", "one.csv", "--sandbox"]);
    assert_eq!(
        (code, &told["duplicates"]["check"]),
        (0, &"refuses".into()),
        "{told}"
    );
    let ledger = ledger_beside_journal(&world);
    assert_eq!((ledger.executed_once, ledger.posts), (1, 2));
}

/// Every post is lost before anything is executed.
const LOSING: &str = "error_before = 1.0\n";

#[test]
fn words_for_not_found_let_a_lost_post_leave_again_once_the_check_for_duplicates_is_proven() {
    let setup = Setup {
        more: "dialect = \"beep\"",
        ..Setup::default()
    };
    let world = World::new(&setup);
    world.write("faults.toml", LOSING);
    let losing = ["--dialect", "beep", "--faults", "faults.toml"];
    let sandbox = Sandbox::start(&world, "ledger", &losing);
    let url = sandbox.base_url.clone();
    let world = world.towards(&url);
    let rows = rows(3, 175);
    world.write_rows("batch.csv", &rows);
    let wait = ["--max-wait", "4s"];
    world.expect(4, &[&PAY[..], &wait].concat());
    assert_eq!(sandbox.ledger().executed_once, 0);
    sandbox.stop();
    // It keeps its books and its address, and loses nothing any more.
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let sandbox = Sandbox::start_at(
        address,
        &world,
        "ledger",
        &["--dialect", "beep", "--faults", "none"],
    );
    // "Transaction not found" is a code for whatever went wrong: a person decides.
    world.expect(4, &["run", "b", "--yes", "--max-wait", "6s"]);
    assert_eq!(sandbox.ledger().executed_once, 0);
    world.write("one.csv", ONE);
    let probed: Done = world.disburse(&PROBE);
    assert_eq!(probed.code, Some(0), "{probed:?}");
    world.until_finished(&["run", "b", "--yes", "--max-wait", "30s"]);
    let ledger = sandbox.ledger();
    // The probe's own payment is among them.
    assert_eq!((ledger.executed_once, ledger.executed_more), (4, 0));
    assert_eq!(world.count("b", "paid"), 3);
}
