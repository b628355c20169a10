//! A batch and its account: another one at the same address knows nothing of its payments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::files::rows;
use crate::gateways::{Reply, Server};
use crate::world::{Setup, World};

pub const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];
pub const RUN: [&str; 3] = ["run", "b", "--yes"];

/// What every account of a gateway has: how often each identifier was executed, and who asked about anything.
#[derive(Default)]
pub struct Books {
    executed: BTreeMap<(String, String), u32>,
    pub asked_by: BTreeSet<String>,
    /// `stranger` has payments of its own under every identifier, of another amount.
    strangers_own: bool,
    posted_by: BTreeSet<String>,
    /// It carries out what it is asked to, and answers nothing.
    pub is_dark: bool,
    /// The password of `acme` has run out.
    pub is_shut: bool,
    /// What it says of whatever it does not have, instead of that.
    pub claims: u32,
    /// Further than those of other gateways its own numbers begin.
    pub numbers_from: u32,
    /// It names none.
    pub is_nameless: bool,
    /// What it does not reply to is carried out, and is not found under its identifier.
    pub hides_lost: bool,
}

impl Books {
    /// The user names that posted something.
    pub fn posted_by(&self) -> BTreeSet<String> {
        self.posted_by.clone()
    }

    /// How many payments an account has executed.
    pub fn executed_by(&self, account: &str) -> usize {
        self.executed.keys().filter(|(by, _)| by == account).count()
    }

    /// The gateway has another address: what it has executed is known there.
    pub fn take_over(&mut self, old: &Self) {
        self.executed = old.executed.clone();
    }

    /// Loses what was executed under an identifier.
    pub fn forget(&mut self, id: &str) {
        self.executed.retain(|(_, known), _| known != id);
    }
}

/// A gateway without duplicate check over its accounts: `acme` (which is called `acme-ltd`, too) and `stranger`.
pub fn gateway(
    post: impl Fn(&str) -> Option<u32> + Send + Sync + 'static,
) -> (Server, Arc<Mutex<Books>>) {
    let books = Arc::new(Mutex::new(Books::default()));
    let kept = Arc::clone(&books);
    let server = Server::start(move |request: &Value, _| {
        let user = request["payload"]["credentials"]["username"].as_str();
        let user = user.unwrap_or_default().to_owned();
        let is_shut = kept.lock().unwrap().is_shut;
        let account = match user.as_str() {
            "acme" | "acme-ltd" if !is_shut => "acme",
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
            let told = post(id);
            let is_hidden = told.is_none() && books.hides_lost;
            let by = if is_hidden { "hidden" } else { account };
            if told != Some(110) {
                *books
                    .executed
                    .entry((by.to_owned(), id.to_owned()))
                    .or_default() += 1;
            }
            match told {
                Some(code) => code,
                None => return Reply::HangUp,
            }
        } else {
            books.asked_by.insert(user);
            if own || books.executed.contains_key(&key) {
                140
            } else if books.claims > 0 {
                books.claims
            } else {
                143
            }
        };
        if books.is_dark {
            return Reply::HangUp;
        }
        let number = match code {
            _ if books.is_nameless => String::new(),
            143 => r#","gatewayTransactionID":0"#.to_owned(),
            _ => format!(r#","gatewayTransactionID":{}"#, 7 + books.numbers_from),
        };
        Reply::Json(format!(
            r#"{{"authStatus":{{"authStatusCode":131,"authStatusDescription":"ok"}},"results":[{{"statusCode":{code},"statusDescription":"","payerTransactionID":"{id}"{number}{amount}}}]}}"#
        ))
    });
    (server, books)
}

fn world(server: &Server) -> World {
    World::new(&Setup::default()).towards(&server.url())
}

#[track_caller]
pub fn assert_executed_once(books: &Mutex<Books>, payments: usize) {
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

/// A gateway may go by the token that payments carry, and not by the name in their bodies.
#[test]
fn whoever_a_token_is_given_to_is_a_part_of_the_account() {
    let setup = Setup {
        more: "payment_bearer = true\n",
        ..Setup::default()
    };
    let (mut world, sandbox) = World::with_sandbox(&setup, &[]);
    world.write_rows("batch.csv", &rows(2, 121));
    world.expect(0, &PAY);
    let refused = |world: &World| {
        world
            .expect(2, &RUN)
            .says("batch b belongs to account acme#");
    };
    for (name, value) in [
        ("DISBURSE_CLIENT_ID", "others"),
        ("DISBURSE_PAYMENT_BEARER", "false"),
    ] {
        world.set(name, value);
        refused(&world);
        world.unset(name);
    }
    // The same server under another name may give tokens of somebody else.
    let elsewhere = sandbox.base_url.replace("127.0.0.1", "localhost");
    let mut other = world.command(&RUN);
    other.env("DISBURSE_AUTH_URL", elsewhere);
    let done = world.start_as(other).wait();
    assert_eq!(done.code, Some(2), "{done:?}");
    done.says("batch b belongs to account acme#");
    world.expect(0, &RUN);
    assert_eq!(sandbox.ledger().executed_once, 2);
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
        .says("the place that is configured has something else under the identifier")
        .says("so it is another one: batch b stays with account acme");
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
        .says("nothing can prove that acme-ltd is the same account")
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
    first.says("the gateway cannot be asked").says(
        "repeat this command with the user name and the address of that account in the configuration",
    );
    assert!(!books.lock().unwrap().asked_by.contains("acme-ltd"));
    for row in 0..2 {
        let decided = decide(row, &["--paid"]);
        assert_eq!(decided.code, Some(0), "{decided:?}");
    }
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    world.expect(2, &RUN).says("disburse run b --account-moved");
    // From now on the account is the one that is configured.
    world
        .expect(0, &moved)
        .says("nothing that this journal has posted of it is open there")
        .says("2 payments of batch b were posted before, and ended since");
    assert_eq!(world.status("b")["account"], "acme-ltd");
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}

/// Loads a batch, copies the journal, and pays the batch as `acme`.
pub fn paid_after_a_copy(world: &World, count: usize, seed: u64) {
    world.write_rows("batch.csv", &rows(count, seed));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &RUN);
}

pub fn put_back(world: &World, without: &[&str]) {
    world.delete_journal();
    for name in without {
        std::fs::remove_file(world.path(name)).unwrap();
    }
    std::fs::copy(world.path("copy.db"), world.path("disburse.db")).unwrap();
}

#[test]
fn an_older_journal_asks_nobody_but_the_account_that_the_mark_names() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    paid_after_a_copy(&world, 3, 125);
    put_back(&world, &[]);
    world.set("DISBURSE_USERNAME", "stranger");
    for command in [&RUN[..], &PAY[..]] {
        world
            .expect(2, command)
            .says("this run would ask about it as stranger")
            .says("it was posted as acme at");
    }
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
    world.expect(2, &resolve).says("posted as acme at");
    // Nor is a batch that was loaded after the copy asked about from there.
    world.write_rows("later.csv", &rows(2, 225));
    world.expect(0, &["load", "later.csv", "--batch", "later"]);
    world
        .expect(2, &["run", "later", "--yes"])
        .says("it was posted as acme at");
    assert!(!books.lock().unwrap().asked_by.contains("stranger"));
    // The same name at another gateway.
    let (elsewhere, others) = gateway(|_| Some(139));
    let mut there = world.towards(&elsewhere.url());
    there.set("DISBURSE_USERNAME", "acme");
    there
        .expect(2, &RUN)
        .says(&format!("as acme at {}", elsewhere.url()));
    assert!(others.lock().unwrap().asked_by.is_empty());
    let world = there.towards(&server.url());
    world.expect(0, &RUN);
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn the_lock_file_names_the_account_where_journal_and_mark_are_put_back() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    world.write_rows("batch.csv", &rows(2, 126));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    let names = ["disburse.db", "disburse.db.mark"];
    for name in names {
        std::fs::copy(world.path(name), world.path(&format!("safe-{name}"))).unwrap();
    }
    world.expect(0, &RUN);
    for name in names {
        std::fs::copy(world.path(&format!("safe-{name}")), world.path(name)).unwrap();
    }
    world.set("DISBURSE_USERNAME", "stranger");
    world.expect(2, &RUN).says("it was posted as acme at");
    // Nobody's word counts against it.
    world
        .expect(2, &[&RUN[..], &["--asked-as", "stranger"]].concat())
        .says("it was posted as acme at")
        .says("choose the profile with the user name acme");
    assert!(!books.lock().unwrap().asked_by.contains("stranger"));
    world.set("DISBURSE_USERNAME", "acme");
    world.expect(0, &RUN);
    assert_executed_once(&books, 2);
}

#[test]
fn where_the_disk_is_lost_a_person_names_the_account_and_says_that_no_order_is_missing() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    paid_after_a_copy(&world, 3, 127);
    put_back(&world, &["disburse.db.mark", "disburse.db.lock"]);
    world.set("DISBURSE_USERNAME", "stranger");
    world
        .expect(2, &RUN)
        .says("nothing says which account posted it")
        .says("disburse run b --asked-as USER");
    // A name in a script does not follow the configuration.
    let named = ["run", "b", "--yes", "--asked-as", "acme"];
    world
        .expect(2, &named)
        .says("--asked-as names account acme, and the one that is configured is stranger");
    world.set("DISBURSE_USERNAME", "acme");
    world
        .expect(2, &RUN)
        .says("nothing says which account posted it");
    // All of it was paid: nothing is left to post.
    world
        .expect(0, &named)
        .says("the gateway is asked about it as acme")
        .says("which orders (such as cancel, retry, resolve, a move to another account or gateway) were given since");
    assert_executed_once(&books, 3);
    assert!(!books.lock().unwrap().asked_by.contains("stranger"));
    // The gateway has shown it to be so: nobody is asked again.
    world.expect(0, &RUN);
    // What was loaded since waits for both words.
    world.write_rows("later.csv", &rows(2, 227));
    world.expect(0, &["load", "later.csv", "--batch", "later"]);
    world
        .expect(2, &["run", "later", "--yes"])
        .says("nothing says which account posted it");
    let later = ["run", "later", "--yes", "--asked-as", "acme"];
    world
        .expect(4, &later)
        .says("2 payments")
        .says("--orders-given-again");
    assert_executed_once(&books, 3);
    world
        .expect(2, &["recover", "--done", "--yes"])
        .says("nobody has confirmed that there were none");
    let word = [
        "recover",
        "--orders-given-again",
        "--reason",
        "nobody ordered anything since",
        "--yes",
    ];
    world.expect(0, &word).says("runs post again");
    world.expect(2, &word).says("there is nothing to confirm");
    world.expect(0, &["run", "later", "--yes"]);
    assert_executed_once(&books, 5);
    world.expect(0, &["recover", "--done", "--yes"]);
    for batch in ["b", "later"] {
        world.expect(0, &["verify", batch]);
    }
    let row = rows(3, 127)[0].reference.clone();
    world
        .expect(0, &["explain", "b", &row])
        .says("asked-as \"acme\": by")
        .says("nobody ordered anything since");
}

#[test]
fn what_another_journal_posted_is_asked_about_from_the_account_that_a_person_names() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server);
    world.write_rows("batch.csv", &rows(2, 128));
    world.expect(0, &PAY);
    let anew = [
        "load",
        "batch.csv",
        "--batch",
        "b",
        "--presume-posted",
        "--journal",
        "new.db",
    ];
    world.expect(0, &anew);
    let run =
        |more: &[&'static str]| [&["run", "b", "--yes", "--journal", "new.db"][..], more].concat();
    world.set("DISBURSE_USERNAME", "stranger");
    world
        .expect(2, &run(&[]))
        .says("nothing says which account posted it");
    world.set("DISBURSE_USERNAME", "acme");
    world
        .expect(2, &run(&[]))
        .says("nothing says which account posted it");
    world.expect(0, &run(&["--asked-as", "acme"]));
    assert_executed_once(&books, 2);
    // Given back to asking by hand, in the journal that has posted nothing of it.
    world.write_rows("other.csv", &rows(2, 129));
    world.expect(0, &["load", "other.csv", "--batch", "o"]);
    world.expect(0, &["recover", "o", "--presume-posted"]);
    world
        .expect(2, &["run", "o", "--yes"])
        .says("nothing says which account posted it");
    world.expect(4, &["run", "o", "--yes", "--asked-as", "acme"]);
    assert_executed_once(&books, 2);
    world.no_order_is_missing("disburse.db");
    world.expect(0, &["run", "o", "--yes"]);
    assert_executed_once(&books, 4);
}

/// What had failed when the copy was made may have been paid since, under the next identifier of its row.
#[test]
fn what_had_failed_before_the_copy_is_neither_retried_nor_loaded_anew_unasked() {
    for with_mark in [true, false] {
        let refused = std::sync::atomic::AtomicBool::new(false);
        let (server, books) = gateway(move |_| {
            let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
            Some(if first { 110 } else { 139 })
        });
        let world = world(&server);
        let rows = rows(1, 130);
        world.write_rows("batch.csv", &rows);
        world.expect(3, &PAY);
        world.expect(0, &["backup", "copy.db"]);
        world.expect(0, &["retry", "b", "--yes"]);
        world.expect(0, &RUN);
        assert_executed_once(&books, 1);
        let beside = ["disburse.db.mark", "disburse.db.lock"];
        put_back(&world, if with_mark { &[] } else { &beside });
        world
            .expect(2, &["load", "batch.csv", "--batch", "c"])
            .says(&rows[0].reference);
        let lost = match with_mark {
            true => "1 order by people",
            false => {
                "which orders (such as cancel, retry, resolve, a move to another account or gateway) were given since"
            }
        };
        let left = match with_mark {
            true => "1 order to be given again",
            false => "nobody has confirmed which orders were given since",
        };
        world.expect(0, &["status"]).says(left);
        world.expect(0, &["retry", "b", "--yes"]);
        let named = ["run", "b", "--yes", "--asked-as", "acme"];
        world.expect(0, &named).says(lost);
        assert_executed_once(&books, 1);
        assert_eq!(world.count("b", "paid"), 1);
        // A retry that is paid is not asked about as one that waits.
        world
            .expect(2, &["cancel", "b", &rows[0].reference])
            .says("is paid");
        world.expect(0, &["verify", "b"]);
    }
}

const GATEWAY_MOVED: [&str; 6] = [
    "run",
    "b",
    "--yes",
    "--gateway-moved",
    "--reason",
    "new data centre",
];

#[test]
fn a_gateway_that_has_another_address_shows_that_it_is_the_same() {
    let (old, books) = gateway(|_| Some(139));
    let (stranger, others) = gateway(|_| Some(139));
    let (new, moved) = gateway(|_| Some(139));
    let world = world(&old);
    let rows = rows(4, 128);
    world.write_rows("batch.csv", &rows[..3]);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    // Another gateway knows nothing of the batch.
    let world = world.towards(&stranger.url());
    world.expect(2, &RUN).says("--gateway-moved");
    world
        .expect(2, &GATEWAY_MOVED)
        .says("knows none of the 3 payments")
        .says("stays with gateway");
    assert!(others.lock().unwrap().posted_by.is_empty());
    // The new address has the books of the old one.
    moved.lock().unwrap().take_over(&books.lock().unwrap());
    let world = world.towards(&new.url());
    let blank = [&GATEWAY_MOVED[..5], &[" "]].concat();
    world.expect(2, &blank).says("--reason is empty");
    world
        .expect(0, &GATEWAY_MOVED)
        .says("is moved from gateway")
        .says("the new address knows payment");
    world
        .expect(0, &GATEWAY_MOVED)
        .says("--gateway-moved changes nothing");
    assert_executed_once(&moved, 4);
    assert_eq!(new.posts().len(), 1);
    world
        .expect(0, &["explain", "b", "R00001"])
        .says("reason \"new data centre\"");
    world.expect(0, &["verify", "b"]);
    // It belongs there now, and nowhere else.
    let world = world.towards(&old.url());
    world.expect(2, &RUN).says("was started with gateway");
}

#[test]
fn where_every_post_was_lost_and_the_gateway_moved_people_decide_and_the_batch_goes_on() {
    let (old, _) = gateway(|_| None);
    let (new, books) = gateway(|_| Some(139));
    let world = world(&old);
    let rows = rows(3, 129);
    world.write_rows("batch.csv", &rows[..2]);
    world.expect(4, &[&PAY[..], &["--no-wait"]].concat());
    let world = world.towards(&new.url());
    world
        .expect(2, &GATEWAY_MOVED)
        .says("nothing can prove that")
        .says("disburse resolve b ID --paid, or --failed --although-accepted");
    for row in &rows[..2] {
        let order = [
            "resolve",
            "b",
            &row.reference,
            "--yes",
            "--paid",
            "--reason",
            "the bank's list",
            "--evidence",
            "line 3",
        ];
        world.expect(0, &order);
    }
    assert!(books.lock().unwrap().asked_by.is_empty());
    world.write_rows("more.csv", &rows);
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    // Plainly run, it stays where it is: a person says that the gateway is the same.
    world.expect(2, &RUN).says("--gateway-moved");
    world
        .expect(0, &GATEWAY_MOVED)
        .says("nothing that this journal has posted of it is open there");
    assert_executed_once(&books, 1);
    world.expect(0, &["verify", "b"]);
}
