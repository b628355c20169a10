//! Journals that come to another place, and what that place knows if they never wholly came: nobody is paid there as if nothing had been paid.

use std::fs;

use crate::accounts::{PAY, RUN, assert_executed_once, gateway, put_back};
use crate::files::rows;
use crate::world::{Setup, World};

const COPY: [&str; 5] = ["journal", "copy", "disburse.db", "new.db", "--yes"];
const KNOWS_NOTHING: &str = "it does not know what other journals have paid";

/// Everybody is paid, by a journal that is to go elsewhere.
fn paid(seed: u64) -> (World, impl Fn(&World)) {
    let (server, books) = gateway(|_| Some(139));
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(3, seed));
    world.expect(0, &PAY);
    (world, move |_: &World| {
        // It answers for as long as somebody may ask.
        let _ = &server;
        assert_executed_once(&books, 3);
    })
}

#[test]
fn a_move_that_was_cut_off_at_any_point_leaves_no_place_to_pay_from() {
    if !cfg!(debug_assertions) {
        return;
    }
    let (mut world, prove) = paid(151);
    let elsewhere = [&PAY[..], &["--journal", "new.db"]].concat();
    for point in ["in-migration", "before-arrival"] {
        world.set("TORTURE_KILL_AT", format!("{point}:1"));
        assert_eq!(world.disburse(&COPY).code, None, "{point}");
        world.unset("TORTURE_KILL_AT");
        assert!(!world.path("new.db").exists(), "{point}");
        world
            .expect(2, &["status", "--journal", "new.db"])
            .says("new.db: no such file");
    }
    // It has its name, and nothing else yet.
    world.set("TORTURE_KILL_AT", "before-rows-arrive:1");
    assert_eq!(world.disburse(&COPY).code, None);
    world.unset("TORTURE_KILL_AT");
    world
        .expect(2, &elsewhere)
        .says("a journal was being moved to this place, and not all of it has arrived");
    prove(&world);
    world.expect(0, &COPY).says("1 batch, 3 payments");
    world.expect(0, &elsewhere);
    prove(&world);
    let left = fs::read_dir(world.path(".")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.contains(".loading-")).collect();
    assert!(left.len() <= 4, "{left:?}");
}

#[test]
fn an_empty_file_is_no_journal_and_a_first_load_is_told_what_its_journal_cannot_know() {
    let (world, prove) = paid(152);
    let elsewhere = [&PAY[..], &["--journal", "new.db"]].concat();
    fs::write(world.path("new.db"), b"").unwrap();
    world
        .expect(2, &elsewhere)
        .says("journal new.db: is an empty file, and no journal; nothing was loaded")
        .says("if one was being moved here, repeat that move");
    assert_eq!(fs::read(world.path("new.db")).unwrap(), b"");
    prove(&world);
    fs::remove_file(world.path("new.db")).unwrap();
    let load = ["load", "batch.csv", "--journal", "new.db", "--batch"];
    let load = |batch| [&load[..], &[batch]].concat();
    world.expect(0, &load("b")).says(KNOWS_NOTHING);
    world.expect(0, &["cancel", "b", "--journal", "new.db", "--yes"]);
    // A journal of an earlier build may have its tables, and no batch.
    rusqlite::Connection::open(world.path("new.db"))
        .and_then(|journal| journal.query_row("select count(*) from batch", [], |row| row.get(0)))
        .map(|batches: i64| assert_eq!(batches, 1))
        .unwrap();
    let later = world.disburse(&load("c"));
    assert!(!later.err.contains(KNOWS_NOTHING), "{later:?}");
    prove(&world);
}

/// Who loses the mark keeps the lock file, which names the account and the gateway as well.
#[test]
fn what_the_lock_file_tells_of_who_posted_counts_without_the_mark() {
    let (old, books) = gateway(|_| Some(139));
    let (new, others) = gateway(|_| Some(139));
    let mut world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(3, 153));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["backup", "copy.db"]);
    world = world.towards(&old.url());
    world.expect(0, &RUN);
    put_back(&world, &["disburse.db.mark"]);
    world = world.towards(&new.url());
    for named in [&[][..], &["--asked-as", "acme"]] {
        world
            .expect(2, &[&RUN[..], named].concat())
            .says("it was posted as acme at")
            .says(&old.url());
    }
    world = world.towards(&old.url());
    // Which orders are lost it does not tell: nothing would be posted before somebody says so.
    world.disburse(&RUN);
    assert_eq!(world.count("b", "paid"), 3);
    let confirm = [
        "recover",
        "--orders-given-again",
        "--reason",
        "none",
        "--yes",
    ];
    world.expect(0, &confirm);
    world.disburse(&RUN);
    assert_executed_once(&books, 3);
    assert_eq!(others.lock().unwrap().executed_by("acme"), 0);
}

/// Of an account with that name at the gateway that is configured, nobody knows whether it is the one that is meant.
#[test]
fn a_name_alone_is_not_enough_where_another_batch_went_to_another_gateway() {
    let (old, books) = gateway(|_| Some(139));
    let (new, others) = gateway(|_| Some(139));
    let mut world = World::new(&Setup::default()).towards(&old.url());
    world.write_rows("other.csv", &rows(3, 154));
    world.expect(0, &["pay", "other.csv", "--batch", "other", "--yes"]);
    world = world.towards(&new.url());
    world.write_rows("batch.csv", &rows(2, 155));
    let load = ["load", "batch.csv", "--batch", "b", "--presume-posted"];
    world.expect(0, &load);
    let named = [&RUN[..], &["--asked-as", "acme"]].concat();
    world
        .expect(2, &named)
        .says("--asked-as names an account, and not which gateway")
        .says(&old.url());
    let url = new.url();
    let whole = [&named[..], &["--asked-at", &url]].concat();
    world.disburse(&whole);
    assert_eq!(world.count("b", "ready"), 2);
    assert_executed_once(&books, 3);
    assert_eq!(others.lock().unwrap().executed_by("acme"), 0);
}

/// A copy, or a new journal, does not know for how long the lost run waited: the mark does.
#[test]
fn a_journal_that_lost_a_run_waits_no_less_than_that_did() {
    let (server, books) = gateway(|_| None);
    books.lock().unwrap().hides_lost = true;
    let mut world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(2, 126));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["backup", "copy.db"]);
    world.set("DISBURSE_NOT_FOUND_QUARANTINE", "1h");
    world.expect(4, &[&RUN[..], &["--no-wait"]].concat());
    world.unset("DISBURSE_NOT_FOUND_QUARANTINE");
    let refused = "resolution.not_found_quarantine = 3600s";
    world.expect(2, &RUN).says(refused);
    put_back(&world, &[]);
    for _ in 0..2 {
        world.expect(2, &RUN).says(refused);
    }
    world.delete_journal();
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(2, &RUN).says(refused);
    world.set("DISBURSE_NOT_FOUND_QUARANTINE", "1h");
    let done = world.disburse(&[&RUN[..], &["--max-wait", "2s"]].concat());
    assert_eq!(done.code, Some(4), "{done:?}");
    assert_eq!(books.lock().unwrap().executed_by("hidden"), 2);
    assert_executed_once(&books, 2);
}
