//! A journal that was changed between load and run, and a head that was kept elsewhere.

use rusqlite::Connection;
use serde_json::Value;

use crate::files::rows;
use crate::gateways::{Server, healthy};
use crate::world::{Setup, World};

const RUN: [&str; 3] = ["run", "b", "--yes"];

fn sql(world: &World, sql: &str) {
    let c = Connection::open(world.path("disburse.db")).unwrap();
    c.execute_batch("drop trigger if exists instruction_is_never_changed")
        .unwrap();
    c.execute_batch(sql).unwrap();
}

#[test]
fn an_amount_that_was_raised_after_the_load_is_not_posted() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(5, 140));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    sql(
        &world,
        "update instruction set amount = amount * 10 where seq = 3",
    );
    world
        .expect(1, &RUN)
        .says("the journal of batch b was changed from outside")
        .says("lines 2 to 6 of batch.csv")
        .says("not as it was loaded")
        .says("disburse verify");
    assert_eq!(server.posts().len(), 0);
    sql(
        &world,
        "update instruction set amount = amount / 10 where seq = 3",
    );
    world.expect(0, &RUN);
    // One of those that were paid is to be paid again.
    sql(
        &world,
        "update life set state = 0, due_at = 0, code = null, settled_at = null where seq = 2;
         insert into tally select batch_id, service_id, currency, 0, 1, amount from instruction where seq = 2
         on conflict do update set count = 1, amount = excluded.amount",
    );
    world.expect(1, &RUN).says("adds up to paid");
    assert_eq!(server.posts().len(), 5);
}

#[test]
fn a_payment_that_was_edited_to_have_failed_is_not_retried() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(3, 142));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &RUN);
    sql(
        &world,
        "update life set state = 6, code = 110 where seq = 2",
    );
    world
        .expect(1, &["retry", "b", "--yes"])
        .says("stored as failed, but its evidence adds up to paid")
        .says("Nothing was ordered")
        .says("disburse verify");
    sql(
        &world,
        "update life set state = 5, code = 140 where seq = 2",
    );
    world.expect(0, &["retry", "b", "--yes"]);
    assert_eq!(server.posts().len(), 3);
}

#[test]
fn a_run_demands_the_head_that_the_load_printed() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    let all = rows(5, 141);
    world.write_rows("batch.csv", &all[..3]);
    world.write_rows("late.csv", &all[3..]);
    let load = world.expect(0, &["load", "batch.csv", "--batch", "b", "--json"]);
    let loaded: Value = serde_json::from_str(&load.out).unwrap();
    let head = loaded["evidence"]["head"].as_str().unwrap().to_owned();
    world
        .expect(0, &["load", "batch.csv", "--batch", "b"])
        .says(&format!("head {head}"));
    let run = |head: &str| world.disburse(&[&RUN[..], &["--head", head]].concat());
    let other = format!("{}{}", &head[1..], &head[..1]);
    let done = run(&other);
    assert_eq!(done.code, Some(2), "{done:?}");
    done.says("has no such head").says("nothing was sent");
    assert_eq!(run("zz").code, Some(2));
    // What the evidence does not cover is found as well.
    sql(
        &world,
        "update instruction set amount = amount + 1 where seq = 1",
    );
    let done = run(&head);
    assert_eq!(done.code, Some(2), "{done:?}");
    done.says("differs from what was recorded")
        .says("nothing was sent");
    sql(
        &world,
        "update instruction set amount = amount - 1 where seq = 1",
    );
    assert_eq!(server.posts().len(), 0);
    let done = run(&head);
    assert_eq!(done.code, Some(0), "{done:?}");
    // An earlier head of the same chain will do.
    world.expect(0, &["load", "late.csv", "--batch", "b", "--amend"]);
    let done = run(&head);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(server.posts().len(), 5);
}

#[test]
fn a_batch_that_is_edited_to_belong_elsewhere_is_neither_run_nor_forgotten() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(2, 142));
    world.expect(0, &["load", "batch.csv", "--batch", "r", "--sandbox"]);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    let batch = |what: &str, name: &str| {
        sql(
            &world,
            &format!("update batch set {what} where name = '{name}'"),
        );
    };
    let refused = |code: i32, command: &[&str], what: &str| {
        world
            .expect(code, command)
            .says("was changed from outside")
            .says(what)
            .says("disburse verify");
    };
    // A rehearsal is no payment, whoever says so in the file.
    batch("rehearsal = 0", "r");
    refused(
        1,
        &["run", "r", "--yes"],
        "whether the batch is a rehearsal",
    );
    batch("rehearsal = 1", "r");
    assert_eq!(server.posts().len(), 0);
    world.expect(0, &RUN);
    assert_eq!(server.posts().len(), 2);
    // Nor is what was paid a rehearsal, which nothing would repeat.
    batch("rehearsal = 1", "b");
    let again = ["load", "batch.csv", "--batch", "again"];
    refused(1, &again, "whether the batch is a rehearsal");
    batch("rehearsal = 0", "b");
    for (edit, back, what) in [
        ("account = 'other'", "account = 'acme'", "the account"),
        ("account = null", "account = 'acme'", "the account"),
        (
            "gateway = gateway || 'x'",
            "gateway = rtrim(gateway, 'x')",
            "the gateway",
        ),
        (
            "wire = wire || 'x'",
            "wire = rtrim(wire, 'x')",
            "the gateway",
        ),
    ] {
        batch(edit, "b");
        refused(1, &RUN, what);
        batch(back, "b");
    }
    world.expect(0, &RUN);
    assert_eq!(server.posts().len(), 2);
}

#[test]
fn a_payment_that_was_edited_never_to_be_due_is_named_and_paid() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(3, 143));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    // Its life begins, and it waits for its turn for ever.
    let c = Connection::open(world.path("disburse.db")).unwrap();
    c.execute_batch(
        "insert into life (seq, batch_id, service_id, state, due_at)
             select seq, batch_id, service_id, 0, 9223372036854775807 from instruction where seq = 1;
         update lane set fresh_from = 2",
    )
    .unwrap();
    drop(c);
    world
        .expect(1, &["verify", "b"])
        .says("due at a time that no wait can reach");
    world.expect(0, &RUN);
    assert_eq!(server.posts().len(), 3);
    world.expect(0, &["verify", "b"]);
}
