//! Deployments that differ: many payments a request, other forms on the wire, a listener of its own, outages.

use std::thread;
use std::time::Duration;

use crate::files::rows;
use crate::oracle::prove;
use crate::sandbox::Sandbox;
use crate::world::{Setup, World, free_port};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

#[test]
fn every_form_of_deployment_pays_each_row_once() {
    let forms = [
        "limits.packets_per_request = 7",
        "limits.packets_per_request = 20\nextra_data = \"string\"",
        "callback.settle_on = \"confirmed\"",
        "limits.concurrency = 1",
    ];
    thread::scope(|scope| {
        for (seed, more) in (111..).zip(forms) {
            scope.spawn(move || {
                let setup = Setup {
                    more,
                    ..Setup::with_callbacks()
                };
                let seeded = seed.to_string();
                let options = [
                    "--faults",
                    "hostile",
                    "--seed",
                    &seeded,
                    "--no-duplicate-check",
                ];
                let (world, sandbox) = World::with_sandbox(&setup, &options);
                let rows = rows(70, seed);
                world.write_rows("batch.csv", &rows);
                world.until_finished(&PAY);
                prove(&world, "b", &rows, &sandbox.ledger());
            });
        }
    });
}

#[test]
fn callbacks_may_be_taken_by_a_listener_beside_the_run() {
    let setup = Setup {
        // Only a callback settles anything.
        more: "resolution.status_query = false",
        ..Setup::with_callbacks()
    };
    let (world, sandbox) = World::with_sandbox(&setup, &[]);
    let rows = rows(60, 121);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    let mut listener = world.start(&["listen"]);
    listener.until("it listens", |listener| {
        listener.out().contains("listening")
    });
    world.expect(0, &[&PAY[..], &["--external-listener"]].concat());
    prove(&world, "b", &rows, &sandbox.ledger());
    assert!(!listener.is_over());
}

#[test]
fn a_gateway_that_is_killed_and_comes_back_is_no_reason_to_pay_twice() {
    let setup = Setup {
        more: "limits.breaker_losses = 5\nlimits.breaker_pause = \"300ms\"",
        ..Setup::with_callbacks()
    };
    let address = format!("127.0.0.1:{}", free_port());
    let world = World::new(&setup);
    let options = ["--faults", "realistic", "--no-duplicate-check"];
    let mut sandbox = Sandbox::start_at(&address, &world, "ledger", &options);
    let world = world.towards(&sandbox.base_url);
    let rows = rows(150, 122);
    world.write_rows("batch.csv", &rows);
    let mut run = world.start(&[&PAY[..], &["--rate", "60/s"]].concat());
    for posts in [20, 60, 100] {
        run.until("more is posted", |_| sandbox.ledger().posts >= posts);
        drop(sandbox);
        thread::sleep(Duration::from_millis(400));
        sandbox = Sandbox::start_at(&address, &world, "ledger", &options);
    }
    let done = run.wait();
    assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    prove(&world, "b", &rows, &sandbox.ledger());
}
