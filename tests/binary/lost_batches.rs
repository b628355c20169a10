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

    let lost = "does not have batch c, posted from its place";
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
        .says("None of them is paid again while this journal")
        .says("batch c, posted from its place");
    // As the gateway has not said again that the row failed, a person allows it: it comes back under the identifier that it had.
    let again = ["load", "other.csv", "--batch", "c"];
    let refused = world.expect(2, &again);
    let (_, digest) = refused.err.split_once("--allow-repeats ").unwrap();
    let digest: String = digest.chars().take_while(char::is_ascii_hexdigit).collect();
    world.expect(0, &[&again[..], &["--allow-repeats", &digest]].concat());
    world
        .expect(2, &["retry", "b", "--yes"])
        .says("loaded anew into batch c");
    world.disburse(&["run", "c", "--yes"]);
    world.disburse(&RUN);
    assert_executed_once(&books, 1);
    world.expect(0, &["verify", "c"]);
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
        .says("batch c, posted from its place, or not all of it");
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
