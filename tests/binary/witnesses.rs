//! What shows that a gateway with another address is the same one, and what of a batch stays open all the same.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::accounts::{Books, PAY, assert_executed_once, gateway, paid_after_a_copy, put_back};
use crate::files::{Row, rows};
use crate::gateways::Server;
use crate::world::{Setup, World};

const MOVED: [&str; 6] = [
    "run",
    "b",
    "--yes",
    "--gateway-moved",
    "--reason",
    "new data centre",
];

/// A batch whose first rows have been posted to a gateway, and its last one not yet.
fn begun(rows: &[Row]) -> (World, Arc<Mutex<Books>>, Vec<String>) {
    let (old, books) = gateway(|_| Some(139));
    let world = World::new(&Setup::default()).towards(&old.url());
    world.write_rows("batch.csv", &rows[..3]);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.write_rows("more.csv", rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    let ids = old.posts().into_iter().map(|(_, id)| id).collect();
    (world, books, ids)
}

/// Another gateway, which has what the old one has executed.
fn another(old: &Mutex<Books>) -> (Server, Arc<Mutex<Books>>) {
    let (new, books) = gateway(|_| Some(139));
    books.lock().unwrap().take_over(&old.lock().unwrap());
    (new, books)
}

#[track_caller]
fn is_refused(world: World, new: &Server, why: &str) {
    world
        .towards(&new.url())
        .expect(2, &MOVED)
        .says(why)
        .says("batch b stays with gateway");
    assert!(new.posts().is_empty());
}

#[test]
fn a_test_system_on_which_the_batch_was_rehearsed_is_not_the_gateway_that_moved() {
    let (world, old, _) = begun(&rows(4, 181));
    let (new, books) = another(&old);
    // It has the same identifiers, and numbers of its own.
    books.lock().unwrap().numbers_from = 1_000;
    is_refused(world, &new, "has something else under the identifier");
}

#[test]
fn a_gateway_that_claims_to_have_whatever_it_is_asked_about_shows_nothing() {
    // That it has accepted it, or that it has failed.
    for (seed, code) in [(182, 139), (187, 141)] {
        let (world, old, _) = begun(&rows(4, seed));
        let (new, books) = another(&old);
        books.lock().unwrap().claims = code;
        is_refused(
            world,
            &new,
            "tells what became of a payment that nobody has made",
        );
    }
}

#[test]
fn a_gateway_that_does_not_name_its_number_of_a_payment_shows_nothing() {
    let (world, old, _) = begun(&rows(4, 188));
    let (new, books) = another(&old);
    books.lock().unwrap().is_nameless = true;
    is_refused(world, &new, "knows none of the 3 payments");
}

/// A batch of which one row is paid and two are open, with a copy of its journal; then those are paid, and the copy is put back.
fn paid_since(rows: &[Row]) -> (World, Server, Arc<Mutex<Books>>) {
    let (old, books) = gateway(|_| Some(139));
    let world = World::new(&Setup::default()).towards(&old.url());
    world.write_rows("batch.csv", &rows[..1]);
    world.expect(0, &PAY);
    world.write_rows("more.csv", rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    world.expect(0, &["backup", "copy.db"]);
    (world, old, books)
}

/// The new place does not have yet what an earlier journal has posted to the old one.
#[test]
fn what_an_earlier_journal_may_have_posted_to_the_old_place_is_not_posted_in_the_new_one() {
    let (world, old, books) = paid_since(&rows(3, 189));
    world.expect(0, &["run", "b", "--yes"]);
    put_back(&world, &[]);
    let (new, moved) = another(&books);
    for (_, id) in &old.posts()[1..] {
        moved.lock().unwrap().forget(id);
    }
    let world = world.towards(&new.url());
    let asked = [&MOVED[..], &["--max-wait", "6s"]].concat();
    world
        .expect(4, &asked)
        .says("the new address knows payment");
    world.expect(4, &["run", "b", "--yes", "--max-wait", "6s"]);
    assert!(new.posts().is_empty());
}

/// The move itself is among the orders that are lost, and what was posted after it is at the new place alone.
#[test]
fn what_was_posted_after_a_move_that_is_lost_is_asked_about_once_that_is_ordered_again() {
    let (world, old, books) = paid_since(&rows(3, 190));
    let (new, moved) = another(&books);
    let there = world.towards(&new.url());
    there.expect(0, &MOVED);
    assert_eq!(new.posts().len(), 2);
    put_back(&there, &[]);
    // The old place does not have it, and says so.
    let world = there.towards(&old.url());
    world.expect(4, &["run", "b", "--yes", "--max-wait", "9s"]);
    let there = world.towards(&new.url());
    there
        .expect(0, &MOVED)
        .says("asking about 2 payments first");
    assert_executed_once(&moved, 3);
    assert_eq!((old.posts().len(), new.posts().len()), (1, 2));
}

#[test]
fn a_place_that_lacks_a_payment_of_those_it_is_asked_about_may_have_it_later() {
    let (world, old, posted) = begun(&rows(4, 183));
    let (new, books) = another(&old);
    books.lock().unwrap().forget(&posted[1]);
    is_refused(world, &new, "repeat this command later");
}

/// The reply to the last post is lost, and the new place does not have that payment yet.
#[test]
fn what_the_new_place_does_not_have_of_what_was_posted_to_the_old_one_is_not_posted_again() {
    let posts = Arc::new(AtomicU32::new(0));
    let (old, books) = gateway(move |_| (posts.fetch_add(1, Ordering::Relaxed) < 2).then_some(139));
    let world = World::new(&Setup {
        more: "resolution.give_up_after = \"2s\"\nlimits.concurrency = 1",
        ..Setup::default()
    })
    .towards(&old.url());
    let rows = rows(4, 184);
    world.write_rows("batch.csv", &rows[..3]);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    let (new, moved) = another(&books);
    let (_, lost) = old.posts().pop().unwrap();
    moved.lock().unwrap().forget(&lost);
    let world = world.towards(&new.url());
    world
        .expect(4, &MOVED)
        .says("the new address knows payment");
    // The row that was never posted is paid there; the lost one waits for a person.
    assert_eq!(new.posts().len(), 1);
    assert_executed_once(&moved, 3);
    world
        .expect(0, &["explain", "b", "--id", &lost])
        .says("it was posted before its batch was moved, so that it is not known in the new place proves nothing");
    resolve_paid(&world, &lost);
    world.expect(0, &["run", "b", "--yes"]);
    assert_eq!(new.posts().len(), 1);
    world.expect(0, &["verify", "b"]);
}

/// The disk is lost: a name alone may be that of an account of another gateway.
#[test]
fn whoever_names_an_account_says_at_which_gateway_where_there_are_several() {
    let (server, books) = gateway(|_| Some(139));
    let world = World::new(&Setup {
        more: "[profiles.other]\nbase_url = \"https://other.example\"",
        ..Setup::default()
    })
    .towards(&server.url());
    paid_after_a_copy(&world, 3, 186);
    put_back(&world, &["disburse.db.mark", "disburse.db.lock"]);
    let named = ["run", "b", "--yes", "--asked-as", "acme"];
    world
        .expect(2, &named)
        .says("--asked-as names an account, and not which gateway")
        .says("there is https://other.example, too; nothing was sent")
        .says("add --asked-at http");
    let at = |url: &str| {
        let more = ["--asked-at".to_owned(), url.to_owned()];
        named
            .map(str::to_owned)
            .into_iter()
            .chain(more)
            .collect::<Vec<_>>()
    };
    let run = |code, order: &[String]| {
        let order: Vec<&str> = order.iter().map(String::as_str).collect();
        world.expect(code, &order)
    };
    run(2, &at("https://other.example"))
        .says("--asked-at names https://other.example, and the gateway that is configured is http");
    run(0, &at(&server.url())).says("the gateway is asked about it as acme");
    assert_executed_once(&books, 3);
}

/// It was sent elsewhere before anything of it was posted: what was posted since is there, or nowhere.
#[test]
fn what_is_not_found_where_a_batch_was_sent_with_nothing_open_is_posted_there() {
    let (old, _) = gateway(|_| Some(139));
    let (new, books) = gateway(|_| Some(139));
    let rows = rows(3, 191);
    let world = World::new(&Setup::default()).towards(&old.url());
    world.write_rows("batch.csv", &rows[..2]);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["backup", "copy.db"]);
    let there = world.towards(&new.url());
    there.expect(0, &MOVED);
    put_back(&there, &[]);
    let world = there.towards(&old.url());
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    let there = world.towards(&new.url());
    there.expect(4, &[&MOVED[..], &["--max-wait", "9s"]].concat());
    there.expect(
        0,
        &[
            "recover",
            "--orders-given-again",
            "--reason",
            "the move",
            "--yes",
        ],
    );
    there.expect(0, &["run", "b", "--yes"]);
    assert_executed_once(&books, 3);
    assert!(old.posts().is_empty());
}

/// The old place has not found it, a moment before the batch was moved: it was said of another place than the one where it would be posted.
#[test]
fn what_the_old_place_did_not_find_is_asked_about_in_the_new_one_before_it_is_posted_there() {
    let posts = Arc::new(AtomicU32::new(0));
    let (old, books) = gateway(move |_| match posts.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Some(139),
        2 => None,
        _ => Some(230),
    });
    books.lock().unwrap().hides_lost = true;
    let world = World::new(&Setup {
        more: "resolution.give_up_after = \"4s\"\nlimits.concurrency = 1",
        lane_retry_after: None,
        ..Setup::default()
    })
    .towards(&old.url());
    // All of one service, which the last one pauses.
    let mut of_one: Vec<Row> = rows(40, 192);
    of_one.retain(|row| row.service == "B2C_MPESA");
    world.write_rows("batch.csv", &of_one[..4]);
    world.expect(5, &PAY).says("(230)");
    world
        .expect(0, &["status", "b"])
        .says("not sent yet      2")
        .says("paid              2");
    let waits = old.posts()[3].1.clone();
    let (new, moved) = another(&books);
    moved.lock().unwrap().forget(&waits);
    let world = world.towards(&new.url());
    world.expect(5, &MOVED);
    world.expect(0, &["resume-lane", "b", "B2C_MPESA"]);
    world.expect(4, &["run", "b", "--yes", "--max-wait", "9s"]);
    let posted: Vec<String> = new.posts().into_iter().map(|(_, id)| id).collect();
    assert_eq!(posted, [waits]);
    assert_executed_once(&moved, 4);
}

/// Nothing was posted when the copy was made. Then three were paid, one was lost, and the batch was moved: all of that is not in the copy.
#[test]
fn what_was_left_behind_by_a_move_that_is_lost_is_not_posted_in_the_new_place() {
    let posts = Arc::new(AtomicU32::new(0));
    let (old, books) = gateway(move |_| (posts.fetch_add(1, Ordering::Relaxed) < 3).then_some(139));
    let world = World::new(&Setup {
        more: "resolution.give_up_after = \"2s\"\nlimits.concurrency = 1",
        ..Setup::default()
    })
    .towards(&old.url());
    paid_in_part_after_a_copy(&world);
    let lost = old.posts()[3].1.clone();
    let (new, moved) = another(&books);
    moved.lock().unwrap().forget(&lost);
    let there = world.towards(&new.url());
    there.expect(4, &MOVED);
    let finish = |world: &World| {
        let given = [
            "recover",
            "--orders-given-again",
            "--reason",
            "the move",
            "--yes",
        ];
        world.expect(0, &given);
        world.expect(4, &["run", "b", "--yes", "--max-wait", "6s"]);
        world
            .expect(0, &["status", "b"])
            .says("1 payment was posted before the batch was moved, or may have been");
        assert!(new.posts().is_empty());
    };
    // The copy has the batch where it was: the move is ordered again.
    put_back(&there, &[]);
    there
        .expect(2, &["run", "b", "--yes"])
        .says("run b --gateway-moved");
    there.expect(4, &[&MOVED[..], &["--max-wait", "6s"]].concat());
    finish(&there);
    // Without a copy it is loaded for the new place: that gives the order again.
    there.delete_journal();
    there.expect(0, &["load", "batch.csv", "--batch", "b"]);
    there.expect(4, &["run", "b", "--yes", "--max-wait", "6s"]);
    finish(&there);
    resolve_paid(&there, &lost);
    there.expect(0, &["run", "b", "--yes"]);
    assert_executed_once(&books, 4);
    assert!(new.posts().is_empty());
}

/// Records a person's word, by the list of the old gateway.
fn resolve_paid(world: &World, id: &str) {
    let resolve = [
        "resolve",
        "b",
        "--id",
        id,
        "--paid",
        "--reason",
        "the list of the old gateway",
        "--evidence",
        "its line",
        "--yes",
    ];
    world.expect(0, &resolve);
}

fn paid_in_part_after_a_copy(world: &World) {
    world.write_rows("batch.csv", &rows(4, 193));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(4, &["run", "b", "--yes", "--no-wait"]);
}
