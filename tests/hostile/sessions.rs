//! Runs that share a journal, of which one stood still for too long: it says what became of it.

use super::fixture::{Kind, Server, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup};
use super::oracle::check;
use super::script::Mixed;

/// Makes a journal on the server, with a batch that takes its time.
fn loaded(server: &Server, gateway: &Gateway) -> Office {
    let setup = Setup {
        rows: 150,
        rate: "12/s",
        breaker_losses: 60,
        ..Setup::default()
    };
    let mut office = Office::open(gateway, setup);
    let journal = server.address(&server.database());
    office.journal = Some(journal.clone());
    for words in [
        &["journal", "init", &journal][..],
        &["load", "batch.csv", "--batch", BATCH],
    ] {
        let ended = office.call(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
    }
    office
}

#[test]
fn a_run_whose_session_another_host_closed_says_so_and_can_be_started_again() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(730));
    let office = loaded(server, &gateway);
    let run = ["run", BATCH, "--yes", "--max-wait", "30s", "--runner"];
    let mut still = office.start(&[&run[..], &["still"]].concat());
    still.until("it posts", || gateway.ledger.posts() > 5);
    let other = office.start(&[&run[..], &["other"]].concat());
    still.signal(rustix::process::Signal::STOP);
    let ended = other.wait();
    assert!(matches!(ended.code, Some(0 | 3 | 4)), "{ended:?}");
    still.signal(rustix::process::Signal::CONT);
    let closed = still.wait();
    assert_eq!(closed.code, Some(4), "{closed:?}");
    for said in [
        "another host has closed the session of this run, because its lease ran out",
        "nothing is lost",
        "start the run again",
    ] {
        assert!(closed.err.contains(said), "{said}: {closed:?}");
    }
    let again = office.call(&[&run[..], &["still"]].concat());
    check("started again", &gateway, &office, again.code);
}

#[test]
fn a_recovery_that_is_ordered_ends_the_runs_that_are_at_work() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(731));
    let office = loaded(server, &gateway);
    let mut run = office.start(&["run", BATCH, "--yes", "--max-wait", "30s"]);
    run.until("it posts", || gateway.ledger.posts() > 5);
    let elsewhere = office.path("elsewhere");
    let settings = [("XDG_STATE_HOME", elsewhere.to_str().unwrap())];
    let order = ["recover", BATCH, "--presume-posted", "--yes"];
    let ordered = office.start_with(&order, &settings).wait();
    assert_eq!(ordered.code, Some(0), "{ordered:?}");
    let ended = run.wait();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.err.contains("somebody has ordered a recovery"),
        "{ended:?}"
    );
    // What had its slot when the order was given may still have left; whoever asks again leaves nothing.
    let posts = gateway.ledger.posts();
    assert!(posts < 100, "{posts} posts: it went on");
    let again = office.call(&["run", BATCH, "--yes", "--max-wait", "10s"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    assert!(again.err.contains("payments of"), "{again:?}");
    assert_eq!(gateway.ledger.posts(), posts);
}
