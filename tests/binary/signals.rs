//! Signals, and two runs at once.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::files::rows;
use crate::oracle::prove;
use crate::sandbox::Sandbox;
use crate::world::{Setup, World, eventually};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

#[test]
fn a_signal_drains_the_run_and_says_how_to_resume() {
    for signal in [Signal::TERM, Signal::INT] {
        let (world, sandbox) = World::with_sandbox(&Setup::with_callbacks(), &[]);
        let rows = rows(120, 81);
        world.write_rows("batch.csv", &rows);
        let mut run = world.start(&[&PAY[..], &["--rate", "40/s"]].concat());
        run.until("something is posted", |_| sandbox.ledger().posts >= 10);
        run.signal(signal);
        let done = run.wait();
        assert_eq!(done.code, Some(4), "{done:?}");
        done.says("To resume: the same command again");
        assert_eq!(world.count("b", "posting"), 0, "no intent is left open");
        let ready = world.count("b", "ready");
        assert!((20..=110).contains(&ready), "{ready} were not posted");
        assert_eq!(
            sandbox.ledger().posts,
            120 - ready,
            "posted is what the journal says"
        );
        world.expect(0, &PAY);
        prove(&world, "b", &rows, &sandbox.ledger());
    }
}

#[test]
fn a_second_signal_ends_the_run_at_once_and_the_next_run_finds_out() {
    let world = World::new(&Setup::default());
    world.write(
        "faults.toml",
        "slow_reply = 1.0\nslow_reply_ms = [6000, 6000]\n",
    );
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url);
    let rows = rows(20, 82);
    world.write_rows("batch.csv", &rows);
    let mut run = world.start(&PAY);
    run.until("all is posted", |_| sandbox.ledger().posts == 20);
    run.signal(Signal::TERM);
    run.until("the first is heard", |run| run.err().contains("To resume"));
    assert!(!run.is_over(), "replies are waited for");
    let second = Instant::now();
    run.signal(Signal::TERM);
    let done = run.wait();
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(second.elapsed() < Duration::from_secs(3));
    assert_eq!(world.count("b", "posting"), 20, "outcomes are unknown");
    world.expect(0, &PAY);
    prove(&world, "b", &rows, &sandbox.ledger());
    assert_eq!(sandbox.ledger().posts, 20, "asked about, not posted again");
}

#[test]
fn a_second_run_is_refused_and_names_the_holder() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let rows = rows(120, 83);
    world.write_rows("batch.csv", &rows);
    let mut run = world.start(&[&PAY[..], &["--rate", "40/s"]].concat());
    run.until("something is posted", |_| sandbox.ledger().posts >= 5);
    let holder = format!("process {}", run.id());
    for command in [&PAY[..], &["run", "b", "--yes"][..]] {
        world
            .expect(4, command)
            .says(&holder)
            .says("run of batch b");
    }
    // Looking is allowed meanwhile.
    eventually("a tenth is paid", || world.count("b", "paid") >= 12);
    world.expect(0, &["report", "b", "--out", "meanwhile"]);
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    prove(&world, "b", &rows, &sandbox.ledger());
}
