//! Journals that come back together with their marks, and what people had ordered before: nothing is paid twice, and nobody
//! is paid whom an order kept from being paid.

use std::fs;
use std::process::Command;

use crate::files::rows;
use crate::oracle::{nothing_twice, prove_outcome};
use crate::sandbox::Sandbox;
use crate::world::{Done, Setup, World};

const LOAD: [&str; 4] = ["load", "batch.csv", "--batch", "b"];
const RUN: [&str; 3] = ["run", "b", "--yes"];
/// Where nobody knows which account posted.
const NAMED: [&str; 5] = ["run", "b", "--yes", "--asked-as", "acme"];
const ASKED: &str = "before it is posted";
const DB: &str = "disburse.db";
const ALL: [&str; 3] = ["disburse.db", "disburse.db.mark", "disburse.db.lock"];

fn world(seed: u64, count: usize) -> (World, Sandbox, Vec<crate::files::Row>) {
    let setup = Setup {
        quarantine: "1s",
        request_timeout: "950ms",
        ..Setup::default()
    };
    let seeded = seed.to_string();
    let arguments = ["--no-duplicate-check", "--seed", &seeded];
    let (world, sandbox) = World::with_sandbox(&setup, &arguments);
    let rows = rows(count, seed);
    world.write_rows("batch.csv", &rows);
    (world, sandbox, rows)
}

/// `cp -p`, over whatever is there: the files keep what they were made as, and have the times of the copies.
fn copy(world: &World, names: &[&str], from: &str, to: &str) {
    for name in names {
        let of = |folder: &str| world.path(folder).join(name);
        let done = Command::new("cp")
            .arg("-p")
            .args([of(from), of(to)])
            .status();
        assert!(done.unwrap().success(), "{name}");
    }
}

/// Whether this file system tells when a file was changed by the clock of the machine.
fn tells_time(world: &World) -> bool {
    world.read("disburse.db.mark").contains("\nwritten ")
}

#[test]
fn an_older_journal_that_is_copied_over_with_its_mark_pays_nothing_twice() {
    let (world, sandbox, rows) = world(201, 12);
    world.expect(0, &LOAD);
    fs::create_dir(world.path("safe")).unwrap();
    copy(&world, &ALL, ".", "safe");
    world.expect(0, &RUN);
    // The lock file is left where it is, as nobody thinks of it.
    copy(&world, &ALL[..2], "safe", ".");
    world
        .expect(0, &["status", "b"])
        .says("a later run was here");
    world.expect(0, &RUN).says("a later run was here");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    if tells_time(&world) {
        copy(&world, &ALL, "safe", ".");
        world.expect(0, &["status", "b"]).says("was copied over");
        world.expect(2, &RUN).says("was copied over").says(ASKED);
        world.expect(0, &NAMED);
        prove_outcome(&world, "b", &rows, &sandbox.ledger());
    }
}

#[test]
fn an_older_journal_that_was_moved_away_and_comes_back_pays_nothing_twice() {
    for lock_too in [false, true] {
        let (world, sandbox, rows) = world(202, 12);
        world.expect(0, &LOAD);
        if lock_too && !tells_time(&world) {
            return;
        }
        let names = if lock_too { &ALL[..] } else { &ALL[..2] };
        let mv = |from: &str, to: &str| {
            for name in names {
                let path = |folder: &str| world.path(folder).join(name);
                fs::rename(path(from), path(to)).unwrap();
            }
        };
        fs::create_dir(world.path("away")).unwrap();
        mv(".", "away");
        // Without the lock file nothing tells that another journal was here.
        let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
        if lock_too {
            let paid = world.expect(0, &pay);
            assert!(!paid.err.contains(ASKED), "{paid:?}");
        } else {
            world.expect(2, &pay).says(ASKED);
            world.expect(4, &NAMED);
            world.no_order_is_missing(DB);
            world.expect(0, &RUN);
        }
        mv("away", ".");
        let what = match lock_too {
            true => "its mark was copied over, moved",
            false => "another journal was in use in this place before",
        };
        world.expect(2, &RUN).says(what).says(ASKED);
        world.expect(0, &NAMED);
        prove_outcome(&world, "b", &rows, &sandbox.ledger());
    }
}

/// Nobody can tell it from an older one that was put back with all that lay beside it.
#[test]
fn a_mark_whose_mode_was_changed_is_asked_about_and_one_that_was_read_is_not() {
    use std::os::unix::fs::PermissionsExt;
    let (world, sandbox, rows) = world(203, 6);
    world.expect(0, &LOAD);
    if !tells_time(&world) {
        return;
    }
    fs::read(world.path("disburse.db.mark")).unwrap();
    fs::set_permissions(world.path("disburse.db"), fs::Permissions::from_mode(0o600)).unwrap();
    world
        .expect(0, &["recover"])
        .says("nothing is known to be missing");
    // Longer than a mark may differ from its time.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let mark = world.path("disburse.db.mark");
    fs::set_permissions(mark, fs::Permissions::from_mode(0o600)).unwrap();
    world
        .expect(2, &RUN)
        .says("or given another name, owner or mode")
        .says(ASKED);
    world
        .expect(4, &NAMED)
        .says("asking about 6 payments first (less than a minute at 1000/s")
        .says("which orders (such as cancel, retry, resolve, a move to another account or gateway) were given since");
    world.no_order_is_missing(DB);
    world.expect(0, &RUN);
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    world.expect(0, &["recover", "--done", "--yes"]);
    world
        .expect(0, &["recover"])
        .says("nothing is known to be missing");
}

fn identifiers(world: &World, batch: &str) -> serde_json::Value {
    world.expect(0, &["report", batch, "--out", "r"]);
    serde_json::from_str(&world.read("r/report.json")).unwrap()
}

#[test]
fn whoever_was_withdrawn_after_the_copy_is_not_paid_out_of_it() {
    let (world, sandbox, rows) = world(204, 3);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    let withdrawn = rows[1].reference.as_str();
    world.expect(0, &["cancel", "b", withdrawn]);
    world.delete_journal();
    fs::copy(world.path("copy.db"), world.path(DB)).unwrap();

    let lost = "1 order by people (such as cancel, retry, a corrected file, a move to another account or gateway)";
    let status = world.expect(0, &["status", "b"]);
    status.says("1 order to be given again, disburse recover shows all of it");
    assert_eq!(status.err.matches("warning").count(), 1, "{status:?}");
    // Nobody has to say yes to questions.
    for run in [&["run", "b"][..], &RUN] {
        let held: Done = world.expect(4, run);
        held.says(lost)
            .says("3 payments")
            .says("--orders-given-again");
    }
    world.expect(4, &["pay", "batch.csv", "--batch", "b", "--yes"]);
    assert_eq!(sandbox.ledger().posts, 0, "nothing is posted");
    assert_eq!(world.count("b", "ready"), 3, "all were asked about");
    assert_eq!(world.status("b")["orders_lost"], 1);
    world
        .expect(2, &["recover", "--done", "--yes"])
        .says("this journal does not have 1 order by people")
        .says("disburse cancel");
    world
        .expect(2, &["recover", "--done", "--yes", "--reason", "x"])
        .says("--reason goes with");
    let listed = "not given again: cancel of 1 payment of batch b, on 20";
    world
        .expect(0, &["recover"])
        .says(lost)
        .says(listed)
        .says(&format!(": {withdrawn}, line 3"))
        .says("1. load every file that was loaded since the copy was made");
    let word = ["recover", "--orders-given-again", "--reason", "x", "--yes"];
    // Another order is not this one.
    world.expect(0, &["cancel", "b", &rows[0].reference]);
    world
        .expect(2, &word)
        .says("1 lost order is known that nobody has given again as it was")
        .says("cancel of 1 payment of batch b")
        .says("--without N");
    world.expect(2, &[&word[..], &["--without", "2"]].concat());

    world.expect(0, &["cancel", "b", withdrawn]);
    let shown = world.expect(0, &["recover"]);
    assert!(!shown.out.contains(listed), "{shown:?}");
    world.expect(4, &RUN).says("1 payment");
    let word = ["recover", "--orders-given-again"];
    world.expect(2, &word);
    world
        .expect(2, &[&word[..], &["--reason", " "]].concat())
        .says("--reason is empty");
    let word = [&word[..], &["--reason", "the ticket lists one"]].concat();
    world
        .expect(2, &word)
        .says("There is no terminal to ask at");
    let word = [&word[..], &["--yes"]].concat();
    world.expect(0, &word).says("1 lost order given again");
    world.expect(2, &word).says("there is nothing to confirm");
    world.expect(3, &RUN);
    assert_eq!(sandbox.ledger().executed_once, 1);
    nothing_twice(&sandbox.ledger());
    assert_eq!(world.count("b", "cancelled"), 2);
    world.expect(0, &["recover", "--done", "--yes"]);
    world
        .expect(0, &["explain", "b", withdrawn])
        .says("recover --orders-given-again")
        .says("the ticket lists one");
    let report = identifiers(&world, "b");
    let reasons = report["people"].as_array().unwrap();
    assert!(
        reasons
            .iter()
            .any(|act| act["reason"] == "the ticket lists one")
    );
    assert!(world.read("r/report.html").contains("the ticket lists one"));
    world
        .expect(0, &["verify", "b"])
        .says("sound: everything fits");
}

/// Ordered before the run that asks: there is no moment at which it would be posted.
#[test]
fn whoever_is_withdrawn_before_the_gateway_was_asked_is_paid_only_if_he_was_already() {
    let (world, sandbox, rows) = world(207, 3);
    let (paid, withdrawn) = (rows[0].reference.as_str(), rows[1].reference.as_str());
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    // The first one alone is paid before the disk is lost.
    for row in &rows[1..] {
        world.expect(0, &["cancel", "b", &row.reference]);
    }
    world.expect(3, &RUN);
    assert_eq!(sandbox.ledger().executed_once, 1);
    world.delete_journal();
    fs::copy(world.path("copy.db"), world.path(DB)).unwrap();

    for reference in [paid, withdrawn, withdrawn] {
        world
            .expect(0, &["cancel", "b", reference])
            .says("The next run asks the gateway");
    }
    assert_eq!(world.count("b", "cancelled"), 0);
    let word = ["recover", "--orders-given-again", "--reason"];
    let word = [&word[..], &["one is enough", "--yes"]].concat();
    world
        .expect(2, &word)
        .says("1 lost order is known that nobody has given again");
    let said = world.expect(0, &[&word[..], &["--without", "1"]].concat());
    said.says("2 lost orders; by your word, 1 of them was not given again as it was");
    assert!(!said.out.contains("orders given again"), "{said:?}");
    let run = world.disburse(&RUN);
    assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
    assert_eq!(world.count("b", "paid"), 2, "the first and the last one");
    assert_eq!(world.count("b", "cancelled"), 1);
    assert_eq!(sandbox.ledger().executed_once, 2);
    nothing_twice(&sandbox.ledger());
    world
        .expect(0, &["explain", "b", withdrawn])
        .says("Cancelled: batch b never pays it");
    world
        .expect(0, &["verify", "b"])
        .says("sound: everything fits");
}

/// The orders stay lost until somebody says so: another copy, put back later, does not forget them either.
#[test]
fn orders_that_are_lost_twice_are_still_lost() {
    let (world, sandbox, rows) = world(205, 3);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &["cancel", "b", &rows[0].reference]);
    world.expect(0, &["cancel", "b", &rows[1].reference]);
    for _ in 0..2 {
        world.delete_journal();
        fs::copy(world.path("copy.db"), world.path(DB)).unwrap();
        world.expect(4, &NAMED).says("2 orders by people");
    }
    // Nor does a journal that is made anew, while the mark of the old one is there.
    world.delete_journal();
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    world
        .expect(4, &pay)
        .says("is missing, and its mark beside it says that it was in use here")
        .says("2 orders by people");
    assert_eq!(sandbox.ledger().posts, 0);
}

#[test]
fn what_became_of_presumed_payments_is_told_apart() {
    let (world, sandbox, rows) = world(206, 6);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    let elsewhere = ["--journal", "elsewhere.db"];
    // Three of them were paid by an earlier journal.
    world.write_rows("half.csv", &rows[..3]);
    world.expect(
        0,
        &[&["load", "half.csv", "--batch", "b"][..], &elsewhere].concat(),
    );
    world.expect(0, &[&RUN[..], &elsewhere].concat());
    assert_eq!(sandbox.ledger().executed_once, 3);
    world.delete_journal();
    fs::copy(world.path("copy.db"), world.path(DB)).unwrap();
    let person = [
        "resolve",
        "b",
        &rows[5].reference,
        "--paid",
        "--yes",
        "--reason",
        "r",
        "--evidence",
        "e",
    ];
    world.expect(0, &person);
    let counts = || {
        let shown = world.expect(0, &["recover", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        let batch = &shown["batches"][0];
        [
            "presumed",
            "unasked",
            "not_found",
            "known",
            "posted",
            "decided",
        ]
        .map(|name| batch[name].as_u64().unwrap())
    };
    assert_eq!(counts(), [6, 5, 0, 0, 0, 1]);
    world.expect(0, &RUN);
    assert_eq!(counts(), [6, 0, 0, 3, 2, 1]);
    world.expect(0, &["recover"]).says("posted since");
    nothing_twice(&sandbox.ledger());
}

#[test]
fn files_beside_a_journal_lend_their_names_to_none() {
    let (world, _sandbox, _) = world(207, 2);
    world.expect(0, &LOAD);
    for suffix in ["-wal", "-shm", "-journal", ".mark", ".lock"] {
        let name = format!("other.db{suffix}");
        for command in [
            &["load", "batch.csv", "--batch", "b", "--journal", &name][..],
            &["status", "--journal", &name],
            &["backup", &name],
        ] {
            world
                .expect(2, command)
                .says(&format!("a name that ends in {suffix}"));
            assert!(!world.path(&name).exists(), "{name}");
        }
    }
    world
        .expect(2, &["backup", "no/such/copy.db"])
        .says("no/such: there is no such folder");
    world.expect(0, &["backup", "copy.db"]);
}

#[test]
fn a_journal_that_is_missing_where_it_was_in_use_is_said_to_be_missing() {
    let (world, sandbox, rows) = world(208, 3);
    world.expect(0, &LOAD);
    world.expect(0, &RUN);
    fs::rename(world.path(DB), world.path("elsewhere.db")).unwrap();
    for command in [&["status"][..], &RUN, &["cancel", "b"], &["backup", "c.db"]] {
        world
            .expect(2, command)
            .says("is missing, and its mark beside it says that it was in use here")
            .says("put it back with its -wal");
    }
    assert!(!world.path(DB).exists(), "nothing is made unasked");
    world
        .expect(0, &["pay", "batch.csv", "--batch", "b", "--yes"])
        .says("a new one is made")
        .says(ASKED);
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_payment_leaves_only_when_the_evidence_goes_on_from_the_head_that_was_told() {
    let (world, sandbox, rows) = world(209, 3);
    let loaded = world.expect(0, &[&LOAD[..], &["--json"]].concat());
    let loaded: serde_json::Value = serde_json::from_str(&loaded.out).unwrap();
    let head = loaded["evidence"]["head"].as_str().unwrap().to_owned();
    let pay =
        |head: &str| world.disburse(&["pay", "batch.csv", "--batch", "b", "--yes", "--head", head]);
    let refused = pay(&"0".repeat(64));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    refused.says("has no such head");
    assert_eq!(pay("short").code, Some(2));
    assert_eq!(sandbox.ledger().posts, 0);
    let paid = pay(&head);
    assert_eq!(paid.code, Some(0), "{paid:?}");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    let status = world.status("b");
    assert_eq!(status["account"], "acme");
    let gateway = status["gateway"].as_str().unwrap();
    assert!(gateway.starts_with(&sandbox.base_url), "{gateway}");
    let report = identifiers(&world, "b");
    assert_eq!(report["account"], "acme");
    assert!(
        world
            .read("r/report.html")
            .contains("<dt>Account</dt><dd>acme</dd>")
    );
}

/// A row that was added, or a repeat that was allowed, may pay what the copy knows as failed.
#[test]
fn rows_that_were_added_after_the_copy_are_orders_that_are_given_again() {
    let (world, sandbox, mut file) = world(210, 3);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    file.truncate(1);
    file[0].reference = "ADDED".into();
    file[0].msisdn = "254722000210".into();
    world.write_rows("more.csv", &file);
    let add = ["load", "more.csv", "--batch", "b", "--amend"];
    world.expect(0, &add);
    // The same file again adds nothing.
    world.expect(0, &add);
    world.delete_journal();
    fs::copy(world.path("copy.db"), world.path(DB)).unwrap();
    world
        .expect(4, &RUN)
        .says("1 order by people (such as cancel, retry, a corrected file, a move to another account or gateway)");
    assert_eq!(sandbox.ledger().posts, 0);
    let word = ["recover", "--orders-given-again", "--reason", "x", "--yes"];
    world
        .expect(2, &word)
        .says("load --amend of 1 payment of batch b");
    world.expect(0, &add);
    world.no_order_is_missing(DB);
    world.expect(0, &RUN);
    assert_eq!(sandbox.ledger().executed_once, 4);
}
