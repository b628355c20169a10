//! Retries of what the gateway pays after all, against its own word.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::callbacks::{body, send};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup, until_while};
use super::script::{Answer, Both, Conduct, Effect, Post, Query, millis};

/// Refuses the first identifier of every row; what its retry meets is said.
fn refuses_first(retry: fn() -> Conduct) -> impl Fn(&Post<'_>) -> Conduct + Send + Sync {
    let first: Mutex<BTreeMap<String, String>> = Mutex::default();
    move |post: &Post<'_>| {
        let mut first = first.lock().unwrap();
        let known = first.entry(post.reference.to_owned());
        match known.or_insert_with(|| post.id.to_owned()) == post.id {
            true => Conduct::refusal(110),
            false => retry(),
        }
    }
}

/// The identifiers of a row, the first one before its retry, with the address of its callbacks.
fn addresses(gateway: &Gateway, reference: &str, row: &Value) -> (String, String) {
    let books = gateway.ledger.books();
    let id = row["payer_transaction_id"].as_str().unwrap().to_owned();
    let deal = &books.deals[&id];
    assert_eq!(deal.reference, reference);
    (id, deal.callback_url.clone().unwrap())
}

fn report(office: &Office) -> Value {
    let written = office.call(&["report", BATCH, "--out", "report"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    serde_json::from_slice(&fs::read(office.path("report/report.json")).unwrap()).unwrap()
}

fn says_paid(of: &(String, String)) -> bool {
    says(of, 140)
}

fn says((id, url): &(String, String), code: i32) -> bool {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let body = body((id, ""), code).to_string();
    runtime.block_on(send(url, &[], body.as_bytes())) == Some(200)
}

fn office(gateway: &Gateway, rows: usize) -> Office {
    let setup = Setup {
        rows,
        services: 1,
        concurrency: 1,
        callbacks: true,
        grace: "2s",
        ..Setup::default()
    };
    Office::open(gateway, setup)
}

#[test]
fn a_retry_that_waits_behind_slow_replies_stays_where_the_first_one_is_paid_meanwhile() {
    const ROWS: usize = 6;
    let gateway = Gateway::start(refuses_first(|| Conduct {
        pause: millis(600),
        ..Conduct::honest()
    }));
    let office = office(&gateway, ROWS);
    assert_eq!(office.pay().code, Some(3));
    let rows = report(&office);
    let last = addresses(&gateway, "ROW-00005", &rows["payments"][ROWS - 1]);
    let retried = office.call(&["retry", BATCH, "--yes"]);
    assert_eq!(retried.code, Some(0), "{retried:?}");
    // All retries are claimed together; the last one stands behind five slow replies when its predecessor's "paid" comes.
    let mut run = office.start(&["run", BATCH, "--yes", "--max-wait", "8s"]);
    run.until("a retry leaves", || {
        gateway.ledger.posts() > u32::try_from(ROWS).unwrap()
    });
    until_while("it is heard", || says_paid(&last), || true);
    let ended = run.wait();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let books = gateway.ledger.books();
    let identifiers = books.deals.values().filter(|deal| deal.posts > 0);
    let of_last = identifiers.filter(|deal| deal.reference == "ROW-00005");
    assert_eq!(of_last.count(), 1, "its retry never left");
    assert_eq!(books.arrivals.len(), 2 * ROWS - 1);
    drop(books);
    // It waits for a person, and every report says so.
    let rows = report(&office);
    assert_eq!(rows["states"]["paid"]["count"], 5);
    let note = rows["payments"][ROWS - 1]["note"].as_str().unwrap();
    assert!(note.contains("waits until it is decided"), "{note}");
    let proof = office.call(&["verify", BATCH]);
    assert_eq!(proof.code, Some(0), "{proof:?}");
    // Decided paid, nothing of the row is left to pay, and nobody is told to load it again.
    let order = [
        "resolve",
        BATCH,
        "--id",
        &last.0,
        "--paid",
        "--reason",
        "x",
        "--evidence",
        "y",
        "--yes",
    ];
    let decided = office.call(&order);
    assert_eq!(decided.code, Some(0), "{decided:?}");
    let told = office.call(&["explain", BATCH, "ROW-00005"]);
    assert!(
        told.out
            .contains("Nothing is left to pay: an earlier payment of the same row is paid"),
        "{told:?}"
    );
}

#[test]
fn a_row_that_the_gateway_pays_twice_against_its_word_is_shouted() {
    let gateway = Gateway::start(refuses_first(|| Conduct {
        effect: Effect::Execute {
            visible: millis(0),
            settled: millis(1500),
            code: 140,
        },
        ..Conduct::honest()
    }));
    let office = office(&gateway, 1);
    assert_eq!(office.pay().code, Some(3));
    let first = addresses(&gateway, "ROW-00000", &report(&office)["payments"][0]);
    assert_eq!(office.call(&["retry", BATCH, "--yes"]).code, Some(0));
    let mut run = office.start(&["run", BATCH, "--yes", "--max-wait", "8s"]);
    run.until("the retry leaves", || gateway.ledger.posts() == 2);
    until_while("it is heard", || says_paid(&first), || true);
    let ended = run.wait();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let document = report(&office);
    let twice = &document["paid_twice"][0];
    let ids = twice["payer_transaction_ids"].as_array().unwrap();
    assert_eq!((ids.len(), ids[0].as_str()), (2, Some(first.0.as_str())));
    assert_eq!(twice["amount"], "100.00");
    assert_eq!(document["paid_twice_count"], 1);
    assert_eq!(
        document["states"]["paid"]["count"], 1,
        "the row counts once"
    );
    let page = fs::read_to_string(office.path("report/report.html")).unwrap();
    let status = office.call(&["status", BATCH]);
    for text in [&ended.err, &status.out, &page] {
        assert!(text.to_lowercase().contains("paid twice"), "{text}");
        assert!(
            text.contains(&first.0) && text.contains("ROW-00000"),
            "{text}"
        );
        assert!(text.contains(ids[1].as_str().unwrap()), "{text}");
    }
    let proof = office.call(&["verify", BATCH]);
    assert_eq!(proof.code, Some(0), "{proof:?}");
}

/// A gateway that has refused the one payment of the batch, says 139 of it in a callback once its retry is ordered, and answers
/// every question with what the test wants it to answer.
fn takes_its_word_back(
    give_up: &'static str,
) -> (Gateway, Office, (String, String), Arc<AtomicI32>) {
    let code = Arc::new(AtomicI32::new(139));
    let answers = Arc::clone(&code);
    let gateway = Gateway::start(Both(
        refuses_first(Conduct::honest),
        move |query: &Query<'_>| Answer {
            code: match query.honest {
                143 => answers.load(Ordering::SeqCst),
                honest => honest,
            },
            ..Answer::honest(query)
        },
    ));
    let setup = Setup {
        rows: 1,
        services: 1,
        callbacks: true,
        give_up,
        max_wait: "2s",
        ..Setup::default()
    };
    let office = Office::open(&gateway, setup);
    assert_eq!(office.pay().code, Some(3));
    let first = addresses(&gateway, "ROW-00000", &report(&office)["payments"][0]);
    assert_eq!(office.call(&["retry", BATCH, "--yes"]).code, Some(0));
    let mut listener = office.start(&["listen"]);
    listener.until("it is heard", || says(&first, 139));
    listener.interrupt();
    assert_eq!(listener.wait().code, Some(0));
    (gateway, office, first, code)
}

#[test]
fn a_failure_that_the_gateway_takes_back_holds_its_retry_until_it_says_failed_again() {
    let (gateway, office, first, answers) = takes_its_word_back("30s");
    // It goes on saying that it has it, and then that it never had.
    for code in [139, 148, 143, 104] {
        answers.store(code, Ordering::SeqCst);
        let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "1s"]);
        assert_eq!(ended.code, Some(4), "{code}: {ended:?}");
        assert!(ended.err.contains(&first.0), "{code}: {ended:?}");
        assert_eq!(gateway.ledger.posts(), 1, "{code}");
    }
    let status = office.call(&["status", BATCH]);
    assert!(status.out.contains(&first.0), "{status:?}");
    let told = office.call(&["explain", BATCH, "ROW-00000"]).out;
    assert!(
        told.contains("the gateway said failed, and something else since then"),
        "{told}"
    );
    answers.store(110, Ordering::SeqCst);
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "8s"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(gateway.ledger.posts(), 2);
    let proof = office.call(&["verify", BATCH]);
    assert_eq!(proof.code, Some(0), "{proof:?}");
}

#[test]
fn a_person_ends_what_the_gateway_never_says_again() {
    let why = ["--reason", "asked them", "--evidence", "ticket 9", "--yes"];
    for (end, posts, state) in [("--paid", 1, "paid"), ("--failed", 2, "paid")] {
        let (gateway, office, first, _) = takes_its_word_back("1s");
        let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "2s"]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.err.contains("--although-accepted"), "{ended:?}");
        let resolve = |more: &[&str]| {
            let order = ["resolve", BATCH, "--id", &first.0, end];
            office.call(&[&order[..], &why, more].concat())
        };
        if end == "--failed" {
            let refused = resolve(&[]);
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(
                refused
                    .err
                    .contains("will never be paid, add --although-accepted"),
                "{refused:?}"
            );
        }
        let done = resolve(if end == "--failed" {
            &["--although-accepted"]
        } else {
            &[]
        });
        assert_eq!(done.code, Some(0), "{done:?}");
        let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "8s"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(gateway.ledger.posts(), posts, "{end}");
        assert_eq!(report(&office)["states"][state]["count"], 1);
        let proof = office.call(&["verify", BATCH]);
        assert_eq!(proof.code, Some(0), "{proof:?}");
    }
}

#[test]
fn a_retry_is_withdrawn_after_a_question_that_says_what_it_means() {
    let gateway = Gateway::start(refuses_first(Conduct::honest));
    let office = office(&gateway, 2);
    assert_eq!(office.pay().code, Some(3));
    assert_eq!(office.call(&["retry", BATCH, "--yes"]).code, Some(0));
    let asked = office.call(&["cancel", BATCH, "ROW-00000"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(
        asked
            .err
            .contains("a retry: nobody can retry its row again"),
        "{asked:?}"
    );
    let asked = office.call(&["cancel", BATCH]);
    assert!(asked.err.contains("2 of them retries"), "{asked:?}");
    let done = office.call(&["cancel", BATCH, "ROW-00000", "--yes"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let retried = office.call(&["retry", BATCH, "--yes"]);
    assert!(
        retried.out.contains("has no failed payment to retry"),
        "{retried:?}"
    );
    assert_eq!(office.pay().code, Some(3));
    assert_eq!(gateway.ledger.posts(), 3, "it was never posted again");
}
