//! Runs that share a journal, of which one stood still for too long: it says what became of it.

use super::fixture::{Kind, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup};
use super::oracle::check;
use super::script::Mixed;

#[test]
fn a_run_whose_session_another_host_closed_says_so_and_can_be_started_again() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(730));
    let setup = Setup {
        rows: 150,
        rate: "12/s",
        breaker_losses: 60,
        ..Setup::default()
    };
    let mut office = Office::open(&gateway, setup);
    let journal = server.address(&server.database());
    office.journal = Some(journal.clone());
    let made = office.call(&["journal", "init", &journal]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let loaded = office.call(&["load", "batch.csv", "--batch", BATCH]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
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
