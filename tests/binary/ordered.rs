//! Where nothing tells that the journal has missed something, a person says so: from then on it is held as where it is noticed.
//! And what is on record of it is neither talked away nor edited away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use serde_json::Value;

use crate::accounts::put_back;
use crate::files::{Row, rows};
use crate::gateways::{Reply, Server};
use crate::world::{Setup, World};

const RUN: [&str; 3] = ["run", "a", "--yes"];
const NAMED: [&str; 5] = ["run", "a", "--yes", "--asked-as", "acme"];
const LOAD: [&str; 4] = ["load", "a.csv", "--batch", "a"];
const PRESUMED: [&str; 5] = ["load", "a.csv", "--batch", "a", "--presume-posted"];
const RETRY: [&str; 3] = ["retry", "a", "--yes"];
const GIVEN_AGAIN: [&str; 5] = ["recover", "--orders-given-again", "--reason", "x", "--yes"];
const WAITS: &str = "waits until you confirm with `disburse recover --done` that all batches";

/// What a gateway executed, and what it says of each identifier.
#[derive(Default)]
struct Books {
    executions: u32,
    said: BTreeMap<String, u32>,
}

/// A gateway that executes whatever it is sent, however often, and rejects the first `rejects` posts.
fn gateway(rejects: u32) -> (Server, Arc<Mutex<Books>>) {
    let books = Arc::new(Mutex::new(Books::default()));
    let (kept, left) = (Arc::clone(&books), Mutex::new(rejects));
    let server = Server::start(move |request: &Value, _| {
        let id = &request["payload"]["packet"][0]["payerTransactionID"];
        let id = id.as_str().unwrap().to_owned();
        let mut books = kept.lock().unwrap();
        let code = match request["function"] == "GATEWAY.postPayment" {
            true => {
                let mut left = left.lock().unwrap();
                let (code, outcome) = match *left {
                    0 => (139, 140),
                    _ => (141, 141),
                };
                *left = left.saturating_sub(1);
                books.executions += u32::from(outcome == 140);
                books.said.insert(id.clone(), outcome);
                code
            }
            false => books.said.get(&id).copied().unwrap_or(143),
        };
        let number = if code == 143 { 0 } else { 7 };
        Reply::Json(format!(
            r#"{{"authStatus":{{"authStatusCode":131,"authStatusDescription":"ok"}},"results":[{{"statusCode":{code},"statusDescription":"","payerTransactionID":"{id}","gatewayTransactionID":{number}}}]}}"#
        ))
    });
    (server, books)
}

fn world(seed: u64, count: usize, rejects: u32) -> (World, Arc<Mutex<Books>>, Server, Vec<Row>) {
    let (server, books) = gateway(rejects);
    let world = World::new(&Setup::default()).towards(&server.url());
    let rows = rows(count, seed);
    world.write_rows("a.csv", &rows);
    (world, books, server, rows)
}

/// The journal, and all that lies beside it.
fn lose_everything(world: &World) {
    world.delete_journal();
    for name in ["disburse.db.mark", "disburse.db.lock"] {
        std::fs::remove_file(world.path(name)).unwrap();
    }
}

fn executions(books: &Mutex<Books>) -> u32 {
    books.lock().unwrap().executions
}

/// Nobody was paid a second time, and the journal says how it came to that.
fn assert_executed_once(world: &World, books: &Mutex<Books>) {
    assert_eq!(executions(books), 1);
    world.expect(0, &["verify", "a"]).says("sound");
}

fn edit(world: &World, sql: &str) {
    let c = Connection::open(world.path("disburse.db")).unwrap();
    c.execute_batch(&format!(
        "attach 'file:{}' as aside; {sql}",
        world.path("aside.db").display()
    ))
    .unwrap();
}

/// The hints are followed to the letter.
fn nobody_is_paid_by_what_is_said_next(world: &World, books: &Mutex<Books>) {
    let ended = world.disburse(&NAMED);
    assert!(matches!(ended.code, Some(3 | 4)), "{ended:?}");
    ended.says("--orders-given-again");
    assert!(!ended.err.contains("disburse retry"), "{ended:?}");
    world.disburse(&RETRY);
    assert_eq!(world.disburse(&NAMED).code, Some(4));
    assert_eq!(executions(books), 1);
    world.no_order_is_missing("disburse.db");
    let waits = world.expect(4, &RUN);
    waits.says(WAITS);
    assert_eq!(executions(books), 1);
    let shown = world.expect(0, &["recover"]);
    shown.says("it was ordered that a batch is presumed posted");
    assert!(
        !shown.out.contains("nothing is known to be missing"),
        "{shown:?}"
    );
    world.expect(0, &["verify", "a"]).says("sound");
}

#[test]
fn what_was_corrected_by_a_journal_that_is_gone_is_not_paid_anew_by_hints() {
    let (world, books, _server, rows) = world(301, 1, 1);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    // Loaded as another batch, with the right number.
    let mut right = rows;
    right[0].msisdn = "254722000301".into();
    world.write_rows("right.csv", &right);
    world.expect(0, &["load", "right.csv", "--batch", "right"]);
    world.expect(0, &["run", "right", "--yes"]);
    lose_everything(&world);
    world
        .expect(0, &PRESUMED)
        .says("this begins a recovery")
        .says("in this order: (1) load every other file that this journal may lack");
    nobody_is_paid_by_what_is_said_next(&world, &books);
}

#[test]
fn what_was_loaded_anew_by_a_journal_that_is_gone_is_not_paid_anew_by_hints() {
    let (world, books, _server, _) = world(302, 1, 1);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    world.expect(0, &["load", "a.csv", "--batch", "c"]);
    world.expect(0, &["run", "c", "--yes"]);
    lose_everything(&world);
    // The batch is loaded first, and the word comes with the same file once more.
    world.expect(0, &LOAD);
    world
        .expect(0, &PRESUMED)
        .says("1 payment presumed posted")
        .says("this begins a recovery");
    nobody_is_paid_by_what_is_said_next(&world, &books);
}

/// A machine that is set back, with all that lies beside the journal: here, what it has lost was done from another place.
#[test]
fn what_has_ended_is_not_paid_anew_once_a_person_says_that_something_was_missed() {
    let (world, books, _server, _) = world(303, 1, 1);
    let beside = ["--journal", "beside.db"];
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    let anew = ["load", "a.csv", "--batch", "c"];
    world.expect(0, &[&anew[..], &beside].concat());
    world.expect(0, &[&["run", "c", "--yes"][..], &beside].concat());
    world
        .expect(0, &["recover", "a", "--presume-posted"])
        .says("0 payments presumed posted")
        .says("this begins a recovery");
    nobody_is_paid_by_what_is_said_next(&world, &books);
}

#[test]
fn whoever_was_withdrawn_in_a_journal_that_is_gone_is_not_paid_by_a_batch_that_is_presumed_posted()
{
    let (world, books, _server, rows) = world(304, 2, 0);
    let withdrawn = rows[0].reference.as_str();
    world.expect(0, &LOAD);
    world.expect(0, &["cancel", "a", withdrawn]);
    world.expect(3, &RUN);
    assert_eq!(executions(&books), 1);
    lose_everything(&world);
    let pay = ["pay", "a.csv", "--batch", "a", "--presume-posted"];
    let pay = [&pay[..], &["--asked-as", "acme", "--yes"]].concat();
    for _ in 0..2 {
        world.expect(4, &pay).says("--orders-given-again");
        assert_eq!(executions(&books), 1);
    }
    world.expect(0, &["cancel", "a", withdrawn]);
    world.no_order_is_missing("disburse.db");
    world.expect(3, &pay);
    assert_eq!(executions(&books), 1);
    assert_eq!(world.count("a", "cancelled"), 1);
    world.expect(0, &["recover", "--done", "--yes"]);
    world.expect(0, &["verify", "a"]).says("sound");
}

/// What one batch may have missed, the others of its journal may have missed as well.
#[test]
fn other_batches_are_asked_about_as_well_and_rehearsals_begin_nothing() {
    let (world, books, _server, _) = world(305, 2, 0);
    world.expect(0, &LOAD);
    let rehearsal = ["load", "a.csv", "--batch", "r", "--presume-posted"];
    world.expect(0, &[&rehearsal[..], &["--sandbox"]].concat());
    world
        .expect(0, &["recover"])
        .says("nothing is known to be missing");
    assert_eq!(world.count("a", "ready"), 2);
    world.write_rows("other.csv", &rows(3, 306));
    let other = ["load", "other.csv", "--batch", "o", "--presume-posted"];
    let refused = world.disburse(&[&other[..], &["--expect-count", "9"]].concat());
    assert_ne!(refused.code, Some(0), "{refused:?}");
    world
        .expect(0, &["recover"])
        .says("nothing is known to be missing");
    world.expect(0, &other).says("this begins a recovery");
    assert_eq!(world.count("a", "in_doubt"), 2);
    world
        .expect(2, &RUN)
        .says("nothing says which account posted it");
    world.expect(4, &NAMED);
    assert_eq!(executions(&books), 0);
    world.no_order_is_missing("disburse.db");
    world.expect(0, &RUN);
    assert_eq!(executions(&books), 2);
}

#[test]
fn a_word_that_nothing_ran_is_refused_where_the_mark_knows_better() {
    let (world, books, _server, _) = world(307, 2, 0);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &RUN);
    put_back(&world, &[]);
    let word = ["recover", "--nothing-ran-since", "--reason", "I think so"];
    for of_all in [true, false] {
        let mut word = word.to_vec();
        if !of_all {
            word.insert(1, "a");
        }
        let refused = world.expect(2, &[&word[..], &["--yes"]].concat());
        refused
            .says("the mark and lock file of this journal contradict that: a run with the number 1 was begun here")
            .says("the evidence of batch a had")
            .says("run each batch that `disburse recover` lists");
        let (code, shown) = world.at_terminal(&word, "nothing ran since");
        assert_eq!(code, Some(2), "{shown}");
    }
    assert_eq!(world.count("a", "in_doubt"), 2);
    let shown = world.expect(0, &["recover"]);
    shown.says("what the mark and the lock file showed then: a run with the number 1");
    assert!(!shown.err.contains("--nothing-ran-since"), "{shown:?}");
    world.disburse(&RUN);
    assert_eq!(executions(&books), 2);
}

/// A retry of a corrected row that is lost would be the second payment.
#[test]
fn a_run_names_no_retry_while_orders_are_lost() {
    let (world, books, _server, rows) = world(308, 1, 1);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    world.expect(0, &["report", "a", "--out", "r"]);
    world.expect(0, &["backup", "copy.db"]);
    let right = world
        .read("r/failed.csv")
        .replace(&rows[0].msisdn, "254722000308");
    world.write("failed.csv", &right);
    world.expect(0, &["load", "failed.csv", "--batch", "a", "--amend"]);
    world.expect(0, &RUN);
    assert_eq!(executions(&books), 1);
    put_back(&world, &[]);
    let run = world.expect(3, &RUN);
    run.says("1 order by people")
        .says("do not pay them again yet, unless an order that is lost");
    assert!(!run.err.contains("disburse retry"), "{run:?}");
}

/// The gateway knows the retry by its own identifier alone: a mended row in its place would be the second payment.
#[test]
fn a_row_is_not_mended_in_place_of_a_retry_that_is_lost() {
    let (world, books, _server, rows) = world(310, 1, 1);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    world.expect(0, &["report", "a", "--out", "r"]);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &RETRY);
    world.expect(0, &RUN);
    assert_eq!(executions(&books), 1);
    put_back(&world, &[]);
    let mended = world
        .read("r/failed.csv")
        .replace(&rows[0].msisdn, "254722000310");
    world.write("failed.csv", &mended);
    world
        .expect(2, &["load", "failed.csv", "--batch", "a", "--amend"])
        .says("retry of 1 payment of batch a")
        .says("Nothing was loaded")
        .says("give that order again first");
    world
        .expect(2, &GIVEN_AGAIN)
        .says("Give a listed retry again as a retry, and do not mend or load its row instead");
    // The hint is followed: the gateway is asked about the retry, and nobody is paid a second time.
    world.expect(0, &RETRY);
    world.expect(0, &RUN);
    world.expect(0, &GIVEN_AGAIN);
    world.expect(0, &["recover", "--done", "--yes"]);
    world.expect(0, &RUN);
    assert_executed_once(&world, &books);
}

/// The gateway knows the retry of a corrected row by the identifier of that: a retry of the row as it was would be the second payment.
#[test]
fn a_lost_retry_of_a_corrected_row_is_given_again_after_the_correction() {
    let (world, books, _server, rows) = world(315, 1, 2);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    world.expect(0, &["report", "a", "--out", "r"]);
    world.expect(0, &["backup", "copy.db"]);
    let mended = world
        .read("r/failed.csv")
        .replace(&rows[0].msisdn, "254722000315");
    world.write("failed.csv", &mended);
    let correct = ["load", "failed.csv", "--batch", "a", "--amend"];
    world.expect(0, &correct);
    world.expect(3, &RUN);
    world.expect(0, &RETRY);
    world.expect(0, &RUN);
    assert_eq!(executions(&books), 1);
    put_back(&world, &[]);

    world.disburse(&RUN);
    world
        .expect(2, &RETRY)
        .says("correct of 1 payment of batch a")
        .says("Nothing was loaded or ordered")
        .says("load the corrected file as it was then");
    world.expect(0, &correct);
    world.disburse(&RUN);
    world.expect(0, &RETRY);
    world.disburse(&RUN);
    world.expect(0, &GIVEN_AGAIN);
    world.expect(0, &["recover", "--done", "--yes"]);
    world.expect(0, &RUN);
    assert_executed_once(&world, &books);
}

/// Each of two failures of one debt may be paid, as far as the copy knows, and neither hinders the retry of the other one that is lost.
#[test]
fn a_lost_retry_is_given_again_although_its_row_has_failed_in_another_batch_too() {
    for (seed, was_paid) in [(313, true), (314, false)] {
        let (world, books, _server, _) = world(seed, 1, 2);
        world.expect(0, &LOAD);
        world.expect(3, &RUN);
        world.expect(0, &["load", "a.csv", "--batch", "other"]);
        world.expect(3, &["run", "other", "--yes"]);
        world.expect(0, &["backup", "copy.db"]);
        world.expect(0, &RETRY);
        if was_paid {
            world.expect(0, &RUN);
        }
        assert_eq!(executions(&books), u32::from(was_paid));
        put_back(&world, &[]);

        let run_both = || {
            world.disburse(&RUN);
            world.disburse(&["run", "other", "--yes"]);
        };
        run_both();
        world.expect(0, &RETRY);
        run_both();
        world.expect(0, &GIVEN_AGAIN);
        run_both();
        world.expect(0, &["recover", "--done", "--yes"]);
        run_both();
        world.expect(0, &RUN);
        assert_eq!(executions(&books), 1, "{was_paid}");
        world
            .expect(2, &["retry", "other", "--yes"])
            .says("loaded again into batch a");
        world.expect(0, &["verify", "a"]).says("sound");
    }
}

/// A retry of the same row in another batch waits where a lost retry has paid: it is cancelled, and the lost one is asked about.
#[test]
fn a_lost_retry_comes_back_although_its_row_is_retried_in_another_batch_meanwhile() {
    let (world, books, _server, rows) = world(312, 1, 2);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    world.expect(0, &["load", "a.csv", "--batch", "other"]);
    world.expect(3, &["run", "other", "--yes"]);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &RETRY);
    world.expect(0, &RUN);
    assert_eq!(executions(&books), 1);
    put_back(&world, &[]);

    world.expect(3, &RUN);
    world.expect(3, &["run", "other", "--yes"]);
    world.expect(0, &["retry", "other", "--yes"]);
    world
        .expect(2, &RETRY)
        .says("1 failure was loaded again into batch other")
        .says("one of them may have paid this row: load it nowhere else")
        .says("disburse cancel BATCH REFERENCE");
    let cancel = ["cancel", "other", &rows[0].reference, "--reason", "x"];
    world.expect(0, &[&cancel[..], &["--yes"]].concat());
    world.expect(3, &["run", "other", "--yes"]);
    world.expect(0, &RETRY);
    world.expect(0, &RUN);
    world.expect(0, &GIVEN_AGAIN);
    world.disburse(&["run", "other", "--yes"]);
    world.expect(0, &["recover", "--done", "--yes"]);
    world.disburse(&["run", "other", "--yes"]);
    world.expect(0, &RUN);
    assert_executed_once(&world, &books);
}

#[test]
fn what_is_on_record_of_a_recovery_is_not_edited_away() {
    let (world, books, _server, rows) = world(309, 2, 1);
    world.expect(0, &LOAD);
    world.expect(3, &RUN);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &RETRY);
    world.disburse(&RUN);
    let paid = executions(&books);
    put_back(&world, &[]);
    world.disburse(&RUN);
    world.write_rows("new.csv", &rows[..1]);
    let edits = [
        (
            "update recovery set done_at = 1",
            "update recovery set done_at = null",
        ),
        (
            "update recovery set orders_lost = 0",
            "update recovery set orders_lost = 1",
        ),
        (
            "update recovery set orders_reason = 'none'",
            "update recovery set orders_reason = null",
        ),
        (
            "update recovery set newest_seq = newest_seq + 9",
            "update recovery set newest_seq = newest_seq - 9",
        ),
        (
            "create table aside.kept as select * from lost_order; delete from lost_order",
            "insert into lost_order select * from aside.kept; drop table aside.kept",
        ),
        (
            "create table aside.kept as select * from payer; delete from payer",
            "insert into payer select * from aside.kept; drop table aside.kept",
        ),
        (
            "create table aside.kept as select * from recovery; delete from recovery",
            "insert into recovery select * from aside.kept; drop table aside.kept",
        ),
    ];
    let changed = "the journal was changed from outside";
    for (edited, back) in edits {
        edit(&world, edited);
        world
            .expect(1, &RUN)
            .says("the journal of batch a was changed from outside")
            .says("what is on record of a recovery");
        world.expect(1, &RETRY).says(changed);
        let load = world.disburse(&["load", "new.csv", "--batch", "n"]);
        assert_eq!(load.code, Some(1), "{load:?}");
        load.says(changed);
        for order in [
            &["recover"][..],
            &["recover", "--done", "--yes"],
            &["recover", "--orders-given-again", "--reason", "x", "--yes"],
            &["recover", "a", "--presume-posted"],
        ] {
            world.expect(1, order).says(changed);
        }
        let found = world.disburse(&["verify", "a"]);
        assert_ne!(found.code, Some(0), "{found:?}");
        found.says("what is on record of a recovery");
        edit(&world, back);
        assert_eq!(executions(&books), paid, "{edited}");
    }
    world.expect(0, &["recover"]);
    world.expect(0, &["verify", "a"]).says("sound");
    // One that is made up is found as well.
    edit(
        &world,
        "insert into recovery (begun_at, cause, newest_seq, newest_evidence, done_at) values (1, 2, 0, 99999, 2)",
    );
    world
        .expect(1, &RUN)
        .says("what is on record of a recovery");
}
