//! Lanes that are held for want of float.

use std::time::Duration;

use crate::files::rows;
use crate::oracle::prove;
use crate::sandbox::Sandbox;
use crate::world::{Setup, World, free_port};

fn shortage(topped_up_after_ms: u64) -> String {
    format!(
        "float_shortage = {{ service = \"B2C_MPESA\", after = 5, topped_up_after_ms = {topped_up_after_ms} }}\n"
    )
}

/// A gateway whose float is short for as long as a test takes, and a program that does not reopen a lane by itself.
fn short_of_float(address: &str) -> (World, Sandbox) {
    let setup = Setup {
        lane_retry_after: None,
        ..Setup::default()
    };
    let world = World::new(&setup);
    world.write("faults.toml", &shortage(600_000));
    let short = ["--faults", "faults.toml"];
    let sandbox = Sandbox::start_at(address, &world, "ledger", &short);
    let world = world.towards(&sandbox.base_url);
    (world, sandbox)
}

#[test]
fn a_lane_without_float_is_held_with_5_until_the_operator_reopens_it() {
    let address = format!("127.0.0.1:{}", free_port());
    let (world, sandbox) = short_of_float(&address);
    let rows = rows(60, 71);
    world.write_rows("batch.csv", &rows);
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    let done = world.expect(5, &pay);
    done.says("B2C_MPESA")
        .says("disburse resume-lane b B2C_MPESA");
    // Less than the lease of a question: the run ends when nothing is left to do.
    assert!(done.took < Duration::from_secs(15), "{:?}", done.took);
    let status = world.status("b");
    assert_eq!(status["held_lanes"], serde_json::json!(["B2C_MPESA"]));
    let others = rows.iter().filter(|row| row.service != "B2C_MPESA").count() as u64;
    assert!(others > 5);
    assert_eq!(
        world.count("b", "paid"),
        others + 5,
        "the other lanes go on"
    );
    // What waits is named with its amount, and can be withdrawn although a post of it was refused.
    done.says("not sent, and wait for the float of B2C_MPESA (230). When it is topped up: disburse resume-lane b B2C_MPESA")
        .says("To cancel what must not be paid any more: disburse cancel b REFERENCE");
    // A run alone leaves the lane as it is.
    let posts = sandbox.ledger().posts;
    world.expect(5, &pay);
    assert_eq!(sandbox.ledger().posts, posts);
    // The float is topped up, which the gateway does when it starts without the shortage.
    sandbox.stop();
    let sandbox = Sandbox::start_at(&address, &world, "ledger", &[]);
    world
        .expect(0, &["resume-lane", "b", "B2C_MPESA"])
        .says("open again");
    world.expect(0, &pay);
    prove(&world, "b", &rows, &sandbox.ledger());
    world
        .expect(0, &["resume-lane", "b", "B2C_MPESA"])
        .says("was not paused");
}

#[test]
fn a_lane_reopens_by_itself_where_that_is_configured() {
    let setup = Setup::default();
    let world = World::new(&setup);
    world.write("faults.toml", &shortage(900));
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url);
    let rows = rows(60, 72);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &["pay", "batch.csv", "--batch", "b", "--yes"]);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn what_the_float_refused_can_be_withdrawn_and_no_later_run_pays_it() {
    let address = format!("127.0.0.1:{}", free_port());
    let (world, sandbox) = short_of_float(&address);
    let mut rows = rows(20, 73);
    for row in &mut rows {
        row.service = "B2C_MPESA";
    }
    world.write_rows("batch.csv", &rows);
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    world.expect(5, &pay);
    let refused = rows
        .iter()
        .find(|row| {
            let told = world.expect(0, &["explain", "b", &row.reference]).out;
            told.contains("reply: 230")
        })
        .expect("a post was refused for want of float");
    world
        .expect(0, &["cancel", "b", &refused.reference])
        .says("1 payment cancelled");
    world.expect(0, &["cancel", "b", "--yes"]);
    assert_eq!(world.count("b", "cancelled"), 15);
    assert_eq!(world.count("b", "ready"), 0);
    sandbox.stop();
    let sandbox = Sandbox::start_at(&address, &world, "ledger", &[]);
    world.expect(0, &["resume-lane", "b", "B2C_MPESA"]);
    world.expect(3, &pay).says("15 cancelled");
    assert_eq!(sandbox.ledger().executed_once, 5);
    world.expect(0, &["verify", "b"]);
}
