//! Batches whose gateway and account are both called otherwise, and whole batches that are withdrawn after a copy was put back.

use crate::accounts::{PAY, RUN, assert_executed_once, gateway, paid_after_a_copy, put_back};
use crate::files::rows;
use crate::world::{Setup, World};

const BOTH: [&str; 7] = [
    "run",
    "b",
    "--yes",
    "--account-moved",
    "--gateway-moved",
    "--reason",
    "another data centre, and another contract",
];

#[test]
fn a_gateway_with_another_address_and_another_name_for_the_account_shows_both_at_once() {
    let (old, books) = gateway(|_| Some(139));
    let (stranger, others) = gateway(|_| Some(139));
    let (new, moved) = gateway(|_| Some(139));
    let mut world = World::new(&Setup::default()).towards(&old.url());
    let rows = rows(4, 141);
    world.write_rows("batch.csv", &rows[..3]);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    moved.lock().unwrap().take_over(&books.lock().unwrap());
    // Each alone is refused because of the other, and says what goes on.
    world = world.towards(&new.url());
    world.set("DISBURSE_USERNAME", "acme-ltd");
    for alone in ["--account-moved", "--gateway-moved"] {
        let one = [&RUN[..], &[alone, "--reason", "x"]].concat();
        world
            .expect(2, &one)
            .says("disburse run b --gateway-moved --account-moved --reason TEXT");
    }
    // Another gateway, or another account of the new one, knows nothing of the batch.
    for (url, user) in [(stranger.url(), "acme-ltd"), (new.url(), "stranger")] {
        world = world.towards(&url);
        world.set("DISBURSE_USERNAME", user);
        world
            .expect(2, &BOTH)
            .says("knows none of the 3 payments")
            .says("stays with account acme of gateway");
    }
    assert_executed_once(&books, 3);
    world.set("DISBURSE_USERNAME", "acme-ltd");
    world
        .expect(2, &[&BOTH[..6], &[" "]].concat())
        .says("--reason is empty");
    world
        .expect(0, &BOTH)
        .says("the new address shows the new name the payment");
    world
        .expect(0, &BOTH)
        .says("--gateway-moved changes nothing");
    assert_executed_once(&moved, 4);
    assert!(others.lock().unwrap().asked_by.contains("acme-ltd"));
    assert_eq!((stranger.posts().len(), new.posts().len()), (0, 1));
    world.expect(0, &["verify", "b"]);
    // It belongs there now, and nowhere else.
    world
        .towards(&old.url())
        .expect(2, &RUN)
        .says("was started with gateway");
}

#[test]
fn a_reason_without_an_order_is_refused() {
    let (server, _) = gateway(|_| Some(139));
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(1, 142));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world
        .expect(2, &[&RUN[..], &["--reason", "x"]].concat())
        .says("--reason goes with --account-moved and --gateway-moved");
    assert!(server.posts().is_empty());
}

/// Some of the batch was posted after the copy was made, and all of it is withdrawn in the copy.
#[test]
fn a_whole_batch_that_may_have_been_posted_is_withdrawn_once_the_gateway_does_not_know_it() {
    let (server, books) = gateway(|_| Some(139));
    let world = World::new(&Setup::default()).towards(&server.url());
    let rows = rows(3, 143);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &["cancel", "b", &rows[1].reference]);
    world.expect(0, &["cancel", "b", &rows[2].reference]);
    world.expect(3, &RUN);
    assert_executed_once(&books, 1);
    put_back(&world, &[]);
    world
        .expect(2, &["cancel", "b"])
        .says("cancel 3 payments of batch b")
        .says("3 of them may have been posted by an earlier journal");
    world
        .expect(0, &["cancel", "b", "--yes"])
        .says("0 payments cancelled; 3 payments more may have been posted by an earlier journal")
        .says("disburse run b");
    world
        .expect(0, &["cancel", "b", "--yes"])
        .says("batch b has no payment to cancel");
    world.disburse(&RUN);
    assert_eq!(world.count("b", "paid"), 1);
    assert_eq!(world.count("b", "cancelled"), 2);
    assert_executed_once(&books, 1);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_person_who_named_the_wrong_account_corrects_it_and_everything_is_asked_again() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = World::new(&Setup::default()).towards(&server.url());
    paid_after_a_copy(&world, 3, 140);
    put_back(&world, &["disburse.db.mark", "disburse.db.lock"]);
    world.set("DISBURSE_USERNAME", "stranger");
    // It knows nothing of them: all are ready, and nothing is posted before the orders of people are there again.
    let as_stranger = [&RUN[..], &["--asked-as", "stranger"]].concat();
    let moved = ["--account-moved", "--reason", "so it was"];
    world
        .expect(2, &as_stranger)
        .says("is to be paid by account acme");
    world.expect(4, &[&as_stranger[..], &moved].concat());
    assert_eq!(world.count("b", "ready"), 3);
    world.set("DISBURSE_USERNAME", "acme");
    world.expect(2, &RUN).says("it was posted as stranger");
    let as_acme = [&RUN[..], &["--asked-as", "acme"]].concat();
    world
        .expect(2, &as_acme)
        .says("is to be paid by account stranger");
    world.expect(0, &[&as_acme[..], &moved].concat());
    assert_eq!(world.count("b", "paid"), 3);
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}

/// The sandbox remembers what it paid in a file beside the journal.
#[test]
fn a_rehearsal_that_is_moved_without_its_sandbox_says_what_is_missing() {
    let world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(2, 144));
    let pay = [&PAY[..], &["--sandbox", "--faults", "none"]].concat();
    world.expect(0, &pay);
    world.expect(0, &["backup", "copy.db"]);
    let there = ["run", "b", "--sandbox", "--journal", "copy.db"];
    world.expect(2, &there).says("whose name ends in .sandbox");
    std::fs::copy(
        world.path("disburse.db.sandbox"),
        world.path("copy.db.sandbox"),
    )
    .unwrap();
    world
        .expect(0, &there)
        .says("Only rehearsals (--sandbox) are posted");
}
