//! A batch and its account: another one at the same address knows nothing of its payments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::files::rows;
use crate::gateways::{Reply, Server};
use crate::world::{Setup, World};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];
const RUN: [&str; 3] = ["run", "b", "--yes"];

/// What every account of a gateway has: how often each identifier was executed, and who asked about anything.
#[derive(Default)]
struct Books {
    executed: BTreeMap<(String, String), u32>,
    asked_by: BTreeSet<String>,
    /// `stranger` has payments of its own under every identifier, of another amount.
    strangers_own: bool,
    posted_by: BTreeSet<String>,
}

/// A gateway without duplicate check over its accounts: `acme` (which is called `acme-ltd`, too) and `stranger`.
fn gateway(
    post: impl Fn(&str) -> Option<u32> + Send + Sync + 'static,
) -> (Server, Arc<Mutex<Books>>) {
    let books = Arc::new(Mutex::new(Books::default()));
    let kept = Arc::clone(&books);
    let server = Server::start(move |request: &Value, _| {
        let user = request["payload"]["credentials"]["username"].as_str();
        let user = user.unwrap_or_default().to_owned();
        let account = match user.as_str() {
            "acme" | "acme-ltd" => "acme",
            "stranger" => "stranger",
            _ => {
                return Reply::Json(
                    r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"no"},"results":[]}"#.into(),
                );
            }
        };
        let id = request["payload"]["packet"][0]["payerTransactionID"]
            .as_str()
            .unwrap();
        let key = (account.to_owned(), id.to_owned());
        let mut books = kept.lock().unwrap();
        let own = account == "stranger" && books.strangers_own;
        let amount = if own { r#","amount":"0.07""# } else { "" };
        let code = if request["function"] == "GATEWAY.postPayment" {
            books.posted_by.insert(user);
            *books.executed.entry(key).or_default() += 1;
            match post(id) {
                Some(code) => code,
                None => return Reply::HangUp,
            }
        } else {
            books.asked_by.insert(user);
            if own || books.executed.contains_key(&key) {
                140
            } else {
                143
            }
        };
        let number = if code == 143 { 0 } else { 7 };
        Reply::Json(format!(
            r#"{{"authStatus":{{"authStatusCode":131,"authStatusDescription":"ok"}},"results":[{{"statusCode":{code},"statusDescription":"","payerTransactionID":"{id}","gatewayTransactionID":{number}{amount}}}]}}"#
        ))
    });
    (server, books)
}

fn world(server: &Server) -> World {
    World::new(&Setup::default()).towards(&server.url())
}

#[track_caller]
fn assert_executed_once(books: &Mutex<Books>, payments: usize) {
    let books = books.lock().unwrap();
    let ids: BTreeSet<_> = books.executed.keys().map(|(_, id)| id).collect();
    assert_eq!(ids.len(), payments);
    assert_eq!(books.executed.len(), payments, "{:?}", books.executed);
    assert!(
        books.executed.values().all(|times| *times == 1),
        "{:?}",
        books.executed
    );
}

#[test]
fn another_account_at_the_same_address_is_asked_nothing_and_posts_nothing() {
    // Every post is executed, and its reply lost.
    let (server, books) = gateway(|_| None);
    let mut world = world(&server);
    let rows = rows(3, 120);
    world.write_rows("batch.csv", &rows);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.set("DISBURSE_USERNAME", "stranger");
    for command in [&RUN[..], &PAY[..]] {
        world
            .expect(2, command)
            .says("batch b belongs to account acme")
            .says("configured for stranger")
            .says("--account-moved");
    }
    // Nor does its word decide about a payment.
    let resolve = [
        "resolve",
        "b",
        "R00001",
        "--failed",
        "--reason",
        "x",
        "--evidence",
        "y",
        "--yes",
    ];
    world.expect(2, &resolve).says("belongs to account acme");
    {
        let books = books.lock().unwrap();
        assert!(!books.asked_by.contains("stranger"), "{:?}", books.asked_by);
        assert!(!books.posted_by.contains("stranger"));
    }
    world.set("DISBURSE_USERNAME", "acme");
    world.expect(0, &RUN);
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_mistyped_user_is_mended_without_a_word() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    world.write_rows("batch.csv", &rows(3, 121));
    world.set("DISBURSE_USERNAME", "amce");
    world.expect(5, &PAY);
    world.set("DISBURSE_USERNAME", "acme");
    world.expect(0, &PAY);
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn an_account_that_is_called_otherwise_now_shows_that_it_is_the_same() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    world.write_rows("batch.csv", &rows(3, 122));
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.set("DISBURSE_USERNAME", "acme-ltd");
    world.expect(2, &RUN).says("belongs to account acme");
    // A reason belongs to it.
    world.expect(2, &["run", "b", "--yes", "--account-moved"]);
    let blank = ["run", "b", "--yes", "--account-moved", "--reason", " "];
    world.expect(2, &blank).says("--reason is empty");
    let moved = ["run", "b", "--yes", "--account-moved", "--reason", "merger"];
    world.set("DISBURSE_USERNAME", "stranger");
    world
        .expect(2, &moved)
        .says("account stranger knows none of the 3 payments")
        .says("stays with account acme");
    world.set("DISBURSE_USERNAME", "acme-ltd");
    world
        .expect(0, &moved)
        .says("is moved from account acme to acme-ltd");
    world
        .expect(0, &moved)
        .says("--account-moved changes nothing");
    assert_executed_once(&books, 3);
    assert!(!books.lock().unwrap().posted_by.contains("stranger"));
    // Why it was moved stays on record.
    world
        .expect(0, &["explain", "b", "R00001"])
        .says("account-moved \"acme-ltd\": by")
        .says("reason \"merger\"");
    world.expect(0, &["report", "b", "--out", "r"]);
    assert!(
        world
            .read("r/report.html")
            .contains("account-moved acme-ltd")
    );
    world.expect(0, &["verify", "b"]);
}

#[test]
fn another_account_that_has_used_the_same_identifiers_is_not_the_same() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    world.write_rows("batch.csv", &rows(3, 124));
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    books.lock().unwrap().strangers_own = true;
    world.set("DISBURSE_USERNAME", "stranger");
    let moved = ["run", "b", "--yes", "--account-moved", "--reason", "merger"];
    world
        .expect(2, &moved)
        .says("account stranger knows none of the 3 payments")
        .says("stays with account acme");
    world.set("DISBURSE_USERNAME", "acme");
    world.expect(0, &RUN);
    assert_executed_once(&books, 3);
    assert!(!books.lock().unwrap().posted_by.contains("stranger"));
}

#[test]
fn where_the_gateway_has_shown_nothing_the_account_cannot_move() {
    let (server, books) = gateway(|_| None);
    let mut world = world(&server);
    world.write_rows("batch.csv", &rows(2, 123));
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.set("DISBURSE_USERNAME", "acme-ltd");
    let moved = ["run", "b", "--yes", "--account-moved", "--reason", "merger"];
    world
        .expect(2, &moved)
        .says("nothing can show that acme-ltd is the same account")
        .says("run it with the user name acme");
    assert_eq!(books.lock().unwrap().posted_by.len(), 1);
    world.set("DISBURSE_USERNAME", "acme");
    world.expect(0, &RUN);
    assert_executed_once(&books, 2);
}

/// The gateway has given the account another name, and nobody knows what became of the posts under the old one.
#[test]
fn where_every_post_was_lost_and_the_account_renamed_people_decide_and_the_batch_goes_on() {
    let (server, books) = gateway(|_| None);
    let mut world = World::new(&Setup {
        more: "resolution.give_up_after = \"2s\"",
        ..Setup::default()
    })
    .towards(&server.url());
    let rows = rows(3, 124);
    world.write_rows("batch.csv", &rows[..2]);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.set("DISBURSE_USERNAME", "acme-ltd");
    let moved = ["run", "b", "--yes", "--account-moved", "--reason", "merger"];
    world
        .expect(2, &moved)
        .says("disburse resolve b ID --paid, or --failed --although-accepted");
    let decide = |row: usize, how: &[&str]| {
        let mut order = vec!["resolve", "b", &rows[row].reference, "--yes"];
        order.extend(["--reason", "the bank's list", "--evidence", "line 3"]);
        order.extend(how);
        world.disburse(&order)
    };
    // One word is not enough, and nobody is asked.
    let first = decide(0, &["--failed"]);
    assert_eq!(first.code, Some(2), "{first:?}");
    first.says("the gateway cannot be asked");
    assert!(!books.lock().unwrap().asked_by.contains("acme-ltd"));
    for row in 0..2 {
        let decided = decide(row, &["--paid"]);
        assert_eq!(decided.code, Some(0), "{decided:?}");
    }
    // From now on the account is the one that is configured.
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    world.expect(0, &RUN);
    assert_eq!(world.status("b")["account"], "acme-ltd");
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}
