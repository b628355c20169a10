//! The same tests over journals on PostgreSQL servers: those that need neither the journal's file nor a clock of their own, as a journal
//! that is shared tells the time itself. `on_servers.txt` lists them.
//!
//! `CONTRACT_SERVERS=all cargo test --test contract on_servers` takes each kind of server that there is, and not the installed one alone.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Kind, Server, shared};

/// In this variable stands the kind of server on which [`crate::support::World`] makes its journals.
const JOURNAL_ON: &str = "CONTRACT_JOURNAL";

const TESTS: &str = include_str!("on_servers.txt");

/// Tests that run at once: more are not faster, as the server does most of the work.
const THREADS: &str = "3";

/// They take two minutes on two processors.
const ENDED_WITHIN: Duration = Duration::from_secs(900);

/// Returns the server on which journals are made; `None`: they are files.
pub fn chosen() -> Option<&'static Server> {
    let name = std::env::var(JOURNAL_ON).ok()?;
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| format!("{kind:?}") == name);
    let kind = kind.unwrap_or_else(|| panic!("no kind of server: {name}"));
    Some(shared(kind).unwrap_or_else(|| panic!("no server: {name}")))
}

#[test]
fn what_holds_of_a_file_holds_on_a_server() {
    let kinds = match std::env::var("CONTRACT_SERVERS").as_deref() {
        Ok("all") => &Kind::ALL[..],
        _ => &Kind::ALL[..1],
    };
    for kind in kinds.iter().filter(|kind| shared(**kind).is_some()) {
        let (is_done, said) = carry_out(*kind);
        assert!(is_done, "{kind:?}: {said}");
        let passed = format!("{} passed; 0 failed; 0 ignored", TESTS.lines().count());
        assert!(said.contains(&passed), "{kind:?}: {said}");
    }
}

/// Runs the tests on a kind of server; returns whether they passed, and what was printed.
fn carry_out(kind: Kind) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let printed = folder.path().join("printed");
    let output = File::create(&printed).unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--test-threads", THREADS])
        .args(TESTS.lines())
        .env(JOURNAL_ON, format!("{kind:?}"))
        .stdin(Stdio::null())
        .stderr(output.try_clone().unwrap())
        .stdout(output)
        .spawn()
        .unwrap();
    let deadline = Instant::now() + ENDED_WITHIN;
    let is_done = loop {
        match again.try_wait().unwrap() {
            Some(status) => break status.success(),
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
            // The tests that hang are named in what was printed.
            None => {
                again.kill().unwrap();
                again.wait().unwrap();
                break false;
            }
        }
    };
    (is_done, std::fs::read_to_string(printed).unwrap())
}
