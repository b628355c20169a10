//! How fast payments leave, measured where they arrive.

use std::time::{Duration, Instant};

use crate::files::rows;
use crate::gateways::{Server, healthy};
use crate::oracle::prove;
use crate::world::{Setup, World};

const RATE: usize = 100;
/// Requests that are held up on a busy machine arrive in a bunch; a rate that is doubled arrives as a hundred more.
const JITTER: usize = 40;
const PAY: [&str; 8] = [
    "pay",
    "batch.csv",
    "--batch",
    "b",
    "--yes",
    "--rate",
    "100/s",
    "--quiet",
];

#[track_caller]
fn no_second_holds_more_than_the_rate(posts: &[(Instant, String)]) {
    for (index, (first, _)) in posts.iter().enumerate() {
        let within = posts[index..]
            .iter()
            .take_while(|(at, _)| *at < *first + Duration::from_secs(1))
            .count();
        assert!(
            within <= RATE + JITTER,
            "{within} arrived within a second, from the {index}th on"
        );
    }
}

#[test]
fn three_hundred_payments_at_a_hundred_a_second_take_three_seconds() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(300, 91));
    world.expect(0, &PAY);
    let posts = server.posts();
    assert_eq!(posts.len(), 300);
    let took = posts[299].0 - posts[0].0;
    assert!(
        took > Duration::from_millis(2_800) && took < Duration::from_millis(4_500),
        "{took:?}"
    );
    no_second_holds_more_than_the_rate(&posts);
}

#[test]
fn a_restart_does_not_double_the_rate() {
    let server = Server::start(healthy);
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(400, 92));
    for wanted in [60, 150, 230] {
        let mut run = world.start(&PAY);
        run.until("more is posted", |_| server.posts().len() >= wanted);
        drop(run);
    }
    world.expect(0, &PAY);
    no_second_holds_more_than_the_rate(&server.posts());
    let mut identifiers: Vec<_> = server.posts().into_iter().map(|(_, id)| id).collect();
    assert_eq!(identifiers.len(), 400, "each payment is posted once");
    identifiers.sort();
    identifiers.dedup();
    assert_eq!(identifiers.len(), 400, "each payment is posted once");
}

#[test]
fn batches_share_the_rate_of_their_account() {
    let server = Server::start(healthy);
    let mut world = World::new(&Setup::default()).towards(&server.url());
    let names = ["b", "c", "d"];
    for (seed, name) in (94..).zip(names) {
        world.write_rows(&format!("{name}.csv"), &rows(200, seed));
    }
    let pay = |name: &str| {
        PAY.map(|word| match word {
            "batch.csv" => format!("{name}.csv"),
            "b" => name.to_owned(),
            word => word.to_owned(),
        })
    };
    // Each of the first two is cut off when it has posted nearly as much as a second allows.
    for (wanted, name) in [(95, names[0]), (190, names[1])] {
        let arguments = pay(name);
        let mut run = world.start(&arguments.each_ref().map(String::as_str));
        run.until("nearly a second's worth is posted", |_| {
            server.posts().len() >= wanted
        });
        drop(run);
    }
    world.expect(0, &pay(names[2]).each_ref().map(String::as_str));
    no_second_holds_more_than_the_rate(&server.posts());
    // Another account has a rate of its own, and nothing to wait for.
    world.set("DISBURSE_USERNAME", "other");
    world.write_rows("e.csv", &rows(1, 97));
    let posted = server.posts().len();
    world.expect(0, &pay("e").each_ref().map(String::as_str));
    assert_eq!(server.posts().len(), posted + 1);
}

#[test]
fn payments_that_share_a_request_leave_as_fast_as_they_may() {
    let setup = Setup {
        more: "limits.packets_per_request = 50",
        ..Setup::default()
    };
    // The sandbox answers for every packet of a request.
    let (world, sandbox) = World::with_sandbox(&setup, &[]);
    let rows = rows(200, 93);
    world.write_rows("batch.csv", &rows);
    let done = world.expect(
        0,
        &[
            "pay",
            "batch.csv",
            "--batch",
            "b",
            "--yes",
            "--rate",
            "50/s",
        ],
    );
    assert!(
        done.took > Duration::from_millis(2_900) && done.took < Duration::from_secs(12),
        "four requests of fifty, a second apart: {:?}",
        done.took
    );
    prove(&world, "b", &rows, &sandbox.ledger());
}
