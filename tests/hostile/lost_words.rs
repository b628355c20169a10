//! Words of the gateway that are lost with the log of the journal: a retry that they would have kept back.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use super::callbacks::body;
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup, until_while};
use super::script::{Answer, Both, Conduct, Post, Query};

/// A row fails, is retried, and is paid after all, as a callback says. The listener that heard it is killed, and its log goes.
#[test]
fn a_retry_does_not_leave_on_a_failure_that_was_taken_back_in_a_log_that_is_lost() {
    let first: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let (refused, asked) = (Arc::clone(&first), Arc::clone(&first));
    let gateway = Gateway::start(Both(
        move |post: &Post<'_>| {
            let mut refused = refused.lock().unwrap();
            let known = refused.entry(post.reference.to_owned());
            match known.or_insert_with(|| post.id.to_owned()) == post.id {
                true => Conduct::refusal(110),
                false => Conduct::honest(),
            }
        },
        // What it refused, it has paid, and says so to whoever asks.
        move |query: &Query<'_>| match asked.lock().unwrap().values().any(|id| id == query.id) {
            true => Answer {
                code: 140,
                ..Answer::honest(query)
            },
            false => Answer::honest(query),
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rows: 1,
            services: 1,
            callbacks: true,
            grace: "2s",
            ..Setup::default()
        },
    );
    assert_eq!(office.pay().code, Some(3));
    let (id, url) = {
        let books = gateway.ledger.books();
        let (id, deal) = books.deals.first_key_value().unwrap();
        (id.clone(), deal.callback_url.clone().unwrap())
    };
    assert_eq!(office.call(&["retry", BATCH, "--yes"]).code, Some(0));
    let listener = office.start(&["listen"]);
    let push = || gateway.push(&url, body((&id, ""), 140).to_string().into_bytes());
    until_while("the callback is taken", || push() == Some(200), || true);
    assert!(listener.kill(), "it was alive");
    assert!(office.path("disburse.db-wal").exists(), "it leaves its log");
    for name in ["disburse.db-wal", "disburse.db-shm"] {
        fs::remove_file(office.path(name)).unwrap();
    }
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "6s"]);
    assert!(
        ended
            .err
            .contains("evidence is missing that was recorded here"),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(gateway.ledger.posts(), 1, "the retry never left: {ended:?}");
    // Asked, the gateway says what was lost: a person decides.
    let decided = office.call(&[
        "resolve",
        BATCH,
        "--id",
        &id,
        "--paid",
        "--yes",
        "--reason",
        "r",
        "--evidence",
        "e",
    ]);
    assert_eq!(decided.code, Some(0), "{decided:?}");
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "6s"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(gateway.ledger.posts(), 1);
    let proof = office.call(&["verify", BATCH]);
    assert_eq!(proof.code, Some(0), "{proof:?}");
}
