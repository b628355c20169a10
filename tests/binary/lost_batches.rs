//! Batches that a copy of the journal has lost, and gateways that cannot be asked.

use crate::accounts::{PAY, RUN, assert_executed_once, gateway, put_back};
use crate::files::rows;
use crate::world::{Setup, World};

/// What had failed when the copy was made may have been paid since by a batch that the copy does not have.
#[test]
fn what_a_lost_batch_may_have_paid_is_paid_anew_by_nobody() {
    let refused = std::sync::atomic::AtomicBool::new(false);
    let (server, books) = gateway(move |_| {
        let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        Some(if first { 110 } else { 139 })
    });
    let setup = Setup {
        references_restart: false,
        ..Setup::default()
    };
    let world = World::new(&setup).towards(&server.url());
    let mut rows = rows(1, 131);
    world.write_rows("batch.csv", &rows);
    world.expect(3, &PAY);
    world.expect(0, &["report", "b", "--out", "r"]);
    world.expect(0, &["backup", "copy.db"]);
    let was = std::mem::replace(&mut rows[0].msisdn, "254722000131".into());
    world.write_rows("other.csv", &rows);
    world.expect(0, &["load", "other.csv", "--batch", "c"]);
    world.expect(0, &["run", "c", "--yes"]);
    assert_executed_once(&books, 1);
    put_back(&world, &[]);

    let lost = "lacks all or part of batch c, posted from its place";
    world
        .expect(2, &["retry", "b", "--yes"])
        .says(lost)
        .says("each under its batch name")
        .says("--allow-repeats DIGEST");
    let corrected = world.read("r/failed.csv").replace(&was, "254722000132");
    world.write("failed.csv", &corrected);
    world
        .expect(2, &["load", "failed.csv", "--batch", "b", "--amend"])
        .says(lost);
    world
        .expect(3, &RUN)
        .says("do not pay them again yet: this journal")
        .says("batch c, posted from its place");
    world
        .expect(0, &["recover"])
        .says("not loaded again yet, or not whole: batch c");
    world
        .expect(0, &["status"])
        .says("1 batch to be loaded again");
    // As the gateway has not said again that the row failed, a person allows it: it comes back under the identifier that it had.
    let again = ["load", "other.csv", "--batch", "c"];
    let refused = world.expect(2, &again);
    refused
        .says("the journal that this one replaces has posted this batch")
        .says("this journal may have missed what became of it since it ended");
    assert!(!refused.err.contains("--on-error skip"), "{refused:?}");
    world
        .expect(2, &["load", "other.csv", "--batch", "another"])
        .says("the journal that this one replaces may have posted this batch");
    let (_, digest) = refused.err.split_once("--allow-repeats ").unwrap();
    let digest: String = digest.chars().take_while(char::is_ascii_hexdigit).collect();
    world.expect(0, &[&again[..], &["--allow-repeats", &digest]].concat());
    world
        .expect(2, &["retry", "b", "--yes"])
        .says("loaded again into batch c");
    world.disburse(&["run", "c", "--yes"]);
    world.disburse(&RUN);
    assert_executed_once(&books, 1);
    world.expect(0, &["verify", "c"]);
}

const NAMED: [&str; 5] = ["run", "b", "--yes", "--asked-as", "acme"];
const NO_ORDERS: [&str; 5] = [
    "recover",
    "--orders-given-again",
    "--reason",
    "none were given",
    "--yes",
];
const DONE: [&str; 3] = ["recover", "--done", "--yes"];
const ONE_WAITS: &str =
    "1 payment waits until you confirm with `disburse recover --done` that all batches";

/// One row failed, and the copy was made. `paid`: batch c has paid its row since. The disk is lost, with all that lay beside the journal.
fn lost_with_the_disk(
    seed: u64,
    paid: bool,
) -> (
    World,
    std::sync::Arc<std::sync::Mutex<crate::accounts::Books>>,
    crate::gateways::Server,
) {
    let refused = std::sync::atomic::AtomicBool::new(false);
    let (server, books) = gateway(move |_| {
        let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        Some(if first { 110 } else { 139 })
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(1, seed));
    world.expect(3, &PAY);
    world.expect(0, &["backup", "copy.db"]);
    if paid {
        world.expect(0, &["load", "batch.csv", "--batch", "c"]);
        world.expect(0, &["run", "c", "--yes"]);
        assert_executed_once(&books, 1);
    }
    put_back(&world, &["disburse.db.mark", "disburse.db.lock"]);
    (world, books, server)
}

fn allowed(world: &World, load: &[&str]) {
    let refused = world.expect(2, load);
    let (_, digest) = refused.err.split_once("--allow-repeats ").unwrap();
    let digest: String = digest.chars().take_while(char::is_ascii_hexdigit).collect();
    world.expect(0, &[load, &["--allow-repeats", &digest]].concat());
}

/// Nothing tells that a batch was loaded since: the retry is asked about, and waits for the word that none is missing.
#[test]
fn a_retry_of_what_a_lost_batch_may_have_paid_waits_until_the_recovery_is_done() {
    let (world, books, _server) = lost_with_the_disk(134, true);
    world.expect(0, &["retry", "b", "--yes"]);
    world.expect(4, &NAMED);
    world.expect(0, &NO_ORDERS);
    for _ in 0..2 {
        world
            .expect(4, &RUN)
            .says(ONE_WAITS)
            .says("whole and under its batch name");
    }
    assert_executed_once(&books, 1);
    let status = world.status("b");
    assert_eq!(status["finished"], false);
    assert_eq!(status["waiting_count"], 1, "{status}");
    world.expect(0, &["status", "b"]).says(ONE_WAITS);
    world
        .expect(0, &["explain", "b", &rows(1, 134)[0].reference])
        .says("waits until you confirm with `disburse recover --done`");
    world.expect(0, &["verify", "b"]);
    // The file of the lost batch is found, and is the same debt as the retry.
    allowed(&world, &["load", "batch.csv", "--batch", "c"]);
    world.expect(0, &["run", "c", "--yes", "--asked-as", "acme"]);
    world.expect(0, &DONE);
    let stopped = world.expect(4, &RUN);
    stopped
        .says("is of the same debt as")
        .says("of batch c")
        .says("and now is paid");
    assert_executed_once(&books, 1);
    world.expect(0, &["cancel", "b", "--yes"]);
    world.expect(3, &RUN);
    assert_executed_once(&books, 1);
    for batch in ["b", "c"] {
        world.expect(0, &["verify", batch]);
    }
}

/// Where no batch was lost, the word lets it leave.
#[test]
fn what_waited_for_the_end_of_a_recovery_is_posted_after_it() {
    let (world, books, _server) = lost_with_the_disk(135, false);
    world.expect(0, &["retry", "b", "--yes"]);
    world.expect(4, &NAMED);
    world.expect(0, &NO_ORDERS);
    world.expect(4, &RUN).says(ONE_WAITS);
    world.expect(0, &DONE);
    world.expect(0, &RUN);
    assert_executed_once(&books, 1);
    assert_eq!(world.count("b", "paid"), 1);
    world.expect(0, &["verify", "b"]);
}

/// A row that had failed is loaded into another batch than the lost one: its own identifier tells nothing.
#[test]
fn a_failed_row_that_is_loaded_anew_waits_until_the_recovery_is_done() {
    let (world, books, _server) = lost_with_the_disk(136, true);
    world.disburse(&NAMED);
    world.expect(0, &NO_ORDERS);
    let again = ["load", "batch.csv", "--batch", "other"];
    if world.disburse(&again).code != Some(0) {
        allowed(&world, &again);
    }
    let run = ["run", "other", "--yes", "--asked-as", "acme"];
    world.expect(4, &run).says(ONE_WAITS);
    world.expect(0, &["verify", "other"]);
    // The lost batch comes back: it is of the same debt.
    allowed(&world, &["load", "batch.csv", "--batch", "c"]);
    world.expect(0, &["run", "c", "--yes", "--asked-as", "acme"]);
    world.expect(0, &DONE);
    world.expect(0, &["verify", "other"]);
    world.expect(4, &run).says("of the same debt as");
    assert_executed_once(&books, 1);
}

/// Nothing tells that it had paid what is left out of it, but the word from which account it may have been posted.
#[test]
fn a_batch_that_came_back_in_part_is_no_reason_to_end_a_recovery_with_yes() {
    let (world, books, _server) = lost_with_the_disk(138, true);
    world.expect(0, &["retry", "b", "--yes"]);
    world.expect(4, &NAMED);
    world.expect(0, &NO_ORDERS);
    let mut file = rows(2, 139);
    file[0] = rows(1, 138).remove(0);
    world.write_rows("more.csv", &file);
    let in_part = ["load", "more.csv", "--batch", "c", "--on-error", "skip"];
    world.disburse(&in_part);
    assert_eq!(world.count("c", "rejected"), 1);
    world.disburse(&["run", "c", "--yes", "--asked-as", "acme"]);
    world
        .expect(2, &DONE)
        .says("does not have batch c, posted from its place, or not all of it")
        .says("--yes is not enough");
    world.expect(4, &RUN).says(ONE_WAITS);
    // What it had paid before, and the row that is new in it.
    assert_executed_once(&books, 2);
}

/// What a retry that is lost has paid is asked about, however late it is ordered again.
#[test]
fn a_retry_that_is_ordered_after_the_recovery_is_asked_about_first() {
    let refused = std::sync::atomic::AtomicBool::new(false);
    let (server, books) = gateway(move |_| {
        let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        Some(if first { 110 } else { 139 })
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(1, 137));
    world.expect(3, &PAY);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &["retry", "b", "--yes"]);
    world.expect(0, &RUN);
    put_back(&world, &["disburse.db.mark", "disburse.db.lock"]);
    world.disburse(&NAMED);
    world.expect(0, &NO_ORDERS);
    world.expect(0, &DONE);
    world.expect(0, &["retry", "b", "--yes"]);
    assert_eq!(world.count("b", "in_doubt"), 1);
    world.expect(0, &NAMED);
    assert_executed_once(&books, 1);
    assert_eq!(world.count("b", "paid"), 1);
}

/// Where a repeat is set aside that the lost batch has paid, the batch is not all there.
#[test]
fn a_lost_batch_that_comes_back_without_its_repeats_frees_no_retry() {
    let refused = std::sync::atomic::AtomicBool::new(false);
    let (server, books) = gateway(move |_| {
        let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        Some(if first { 110 } else { 139 })
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    let rows = rows(2, 133);
    world.write_rows("batch.csv", &rows[..1]);
    world.expect(3, &PAY);
    world.expect(0, &["backup", "copy.db"]);
    world.write_rows("other.csv", &rows);
    world.expect(0, &["load", "other.csv", "--batch", "c"]);
    world.expect(0, &["run", "c", "--yes"]);
    assert_executed_once(&books, 2);
    put_back(&world, &[]);
    world.expect(3, &RUN);
    world.disburse(&["load", "other.csv", "--batch", "c", "--on-error", "skip"]);
    assert_eq!(world.count("c", "rejected"), 1);
    world.disburse(&["run", "c", "--yes"]);
    world
        .expect(2, &["retry", "b", "--yes"])
        .says("lacks all or part of batch c, posted from its place");
    world
        .expect(2, &["recover", "--done", "--yes"])
        .says("does not have batch c")
        .says("--yes is not enough");
    world.disburse(&RUN);
    assert_executed_once(&books, 2);
}

#[test]
fn a_gateway_without_a_status_query_is_asked_by_no_run() {
    let (server, books) = gateway(|_| Some(139));
    let setup = Setup {
        more: "resolution.status_query = false",
        ..Setup::default()
    };
    let world = World::new(&setup).towards(&server.url());
    world.write_rows("batch.csv", &rows(2, 132));
    world.expect(4, &PAY);
    world.expect(4, &RUN);
    assert!(books.lock().unwrap().asked_by.is_empty());
    assert_eq!(world.count("b", "acknowledged"), 2);
}
