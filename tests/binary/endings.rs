//! How runs end, with which exit code, and what the same command does once more.

use std::fs;
use std::time::Duration;

use crate::files::{csv, rows};
use crate::gateways::{Reply, Server};
use crate::oracle::{payments, prove};
use crate::sandbox::Sandbox;
use crate::world::{Setup, World, free_port};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

#[test]
fn a_batch_that_is_paid_ends_with_0_and_paying_it_again_changes_nothing() {
    let (world, sandbox) = World::with_sandbox(&Setup::with_callbacks(), &[]);
    let rows = rows(60, 51);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &PAY).says("paid");
    let report = fs::read(world.path("reports/b/report.json")).unwrap();
    let posts = sandbox.ledger().posts;
    world.expect(0, &PAY).says("loaded before; the run goes on");
    world.expect(0, &["run", "b", "--yes"]);
    assert_eq!(sandbox.ledger().posts, posts, "nothing is posted again");
    assert!(
        report == fs::read(world.path("reports/b/report.json")).unwrap(),
        "the report is the same to the byte"
    );
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_batch_with_failures_ends_with_3_each_time() {
    let world = World::new(&Setup::default());
    let rows = rows(40, 52);
    world.write_rows("batch.csv", &rows);
    world.write("faults.toml", "reject = 0.3\nrefuse = 0.2\n");
    let pay = [&PAY[..], &["--sandbox", "--faults", "faults.toml"]].concat();
    world.expect(3, &pay);
    let failed = world.count("b", "failed");
    assert!(failed > 0 && failed < 40, "{failed} of 40 failed");
    world.expect(3, &pay);
    assert_eq!(world.count("b", "failed"), failed);
}

#[test]
fn no_wait_ends_with_4_once_everything_is_posted_and_run_takes_it_up() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let rows = rows(60, 53);
    world.write_rows("batch.csv", &rows);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    assert_eq!(world.count("b", "ready"), 0, "everything is posted");
    assert_eq!(sandbox.ledger().posts, 60);
    world.expect(0, &["run", "b", "--yes"]);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn an_unreachable_gateway_ends_with_4_and_the_same_command_pays_once_it_is_there() {
    let address = format!("127.0.0.1:{}", free_port());
    let world = World::new(&Setup::default()).towards(&format!("http://{address}"));
    let rows = rows(60, 54);
    world.write_rows("batch.csv", &rows);
    let done = world.expect(4, &PAY);
    done.says("cannot be reached").says("nothing was sent");
    assert!(done.took < Duration::from_secs(25), "{:?}", done.took);
    assert_eq!(world.count("b", "ready"), 60);
    let sandbox = Sandbox::start_at(&address, &world, "ledger", &[]);
    world.expect(0, &PAY);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn refused_credentials_end_with_5_after_the_first_reply() {
    let server = Server::start(|_, _| {
        Reply::Json(
            r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"no"},"results":[]}"#
                .into(),
        )
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(60, 55));
    let done = world.expect(5, &[&PAY[..], &["--concurrency", "1"]].concat());
    done.says("the gateway stopped the run");
    assert_eq!(server.posts().len(), 1, "an account may lock by repetition");
    assert_eq!(world.count("b", "ready"), 60, "nothing was executed");
}

#[test]
fn losses_in_a_row_open_the_circuit_and_end_with_5() {
    let server = Server::start(|_, _| Reply::HangUp);
    let setup = Setup {
        more: "limits.breaker_losses = 3\nlimits.breaker_pause = \"30s\"",
        ..Setup::default()
    };
    let world = World::new(&setup).towards(&server.url());
    world.write_rows("batch.csv", &rows(60, 56));
    let options = ["--concurrency", "1", "--max-wait", "1s"];
    let done = world.expect(5, &[&PAY[..], &options].concat());
    done.says("one post after another was lost");
    assert_eq!(server.posts().len(), 3, "the fourth waits for the pause");
    assert_eq!(world.count("b", "in_doubt"), 3);
    assert_eq!(world.count("b", "ready"), 57);
}

#[test]
fn bad_rows_refuse_the_file_with_2_or_are_set_aside_and_reported() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let good = rows(20, 57);
    let mut text = csv(&good);
    text.push_str("BAD1,B2C_MPESA,25471234567,100.00,KES\nBAD2,B2C_MPESA,254712345678,1.005,KES\n");
    world.write("batch.csv", &text);
    world
        .expect(2, &PAY)
        .says("batch.csv:22: msisdn:")
        .says("batch.csv:23: amount:")
        .says("nothing was loaded");
    assert_eq!(sandbox.ledger().posts, 0);
    world.expect(3, &[&PAY[..], &["--on-error", "skip"]].concat());
    assert_eq!(sandbox.ledger().executed_once, 20);
    let lines = payments(&world, "reports/b");
    assert_eq!(lines.len(), 22, "rejected rows are in the report as well");
    let rejected: Vec<_> = lines
        .iter()
        .filter(|line| line.get("state") == "rejected")
        .map(|line| (line.get("line"), line.get("reference")))
        .collect();
    assert_eq!(rejected, [("22", "BAD1"), ("23", "BAD2")]);
    assert!(lines[20].get("note").contains("msisdn"), "{:?}", lines[20]);
    let report: serde_json::Value =
        serde_json::from_str(&world.read("reports/b/report.json")).unwrap();
    assert_eq!(report["adds_up"], true);
    assert_eq!(report["states"]["rejected"]["count"], 2);
    assert_eq!(report["states"]["paid"]["count"], 20);
    assert_eq!(report["count"], 22);
    // The same command for a nightly job: no second payment, the same code.
    world.expect(3, &[&PAY[..], &["--on-error", "skip"]].concat());
    assert_eq!(sandbox.ledger().posts, 20);
}
