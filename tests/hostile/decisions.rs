//! An operator says that a payment failed, and the gateway has its own word on that.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use serde_json::Value;

use super::forms::{Body, Form};
use super::gateway::Gateway;
use super::office::{BATCH, Ended, Office, Setup, until_while};
use super::oracle::payments;
use super::script::{Answer, Both, Conduct, Effect, Post, Query, millis};
use super::tongue::OTHERS;

const SILENT: i32 = 0;
const NOT_FOUND: i32 = 143;

/// A gateway that loses the reply to every post, and says of every payment what the test wants it to say.
struct Mouth {
    says: Arc<AtomicI32>,
    pause: Arc<AtomicU64>,
    gateway: Gateway,
}

impl Mouth {
    fn open(effect: Effect) -> Self {
        Self::open_in("document", effect)
    }

    fn open_in(dialect: &'static str, effect: Effect) -> Self {
        let (says, pause) = (
            Arc::new(AtomicI32::new(SILENT)),
            Arc::new(AtomicU64::new(0)),
        );
        let (word, wait) = (Arc::clone(&says), Arc::clone(&pause));
        let script = Both(
            move |_: &Post<'_>| Conduct::spoilt(effect, Form::Http(500, Body::Html)),
            move |_: &Query<'_>| {
                let code = word.load(Ordering::SeqCst);
                Answer {
                    code,
                    form: match code {
                        SILENT => Form::Http(500, Body::Html),
                        _ => Form::Plain,
                    },
                    pause: millis(wait.load(Ordering::SeqCst)),
                }
            },
        );
        let gateway = Gateway::start_in(dialect, script);
        Self {
            says,
            pause,
            gateway,
        }
    }

    fn says(&self, code: i32) {
        self.says.store(code, Ordering::SeqCst);
    }

    /// An office whose one payment is in doubt.
    fn office(&self, give_up: &'static str) -> Office {
        let setup = Setup {
            rows: 1,
            services: 1,
            give_up,
            max_wait: "500ms",
            ..Setup::default()
        };
        let office = Office::open(&self.gateway, setup);
        let ended = office.pay();
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert_eq!(state(&office), "in_doubt");
        office
    }
}

fn failed(office: &Office, more: &[&str]) -> Ended {
    let order = ["resolve", BATCH, "ROW-00000", "--failed"];
    let why = ["--reason", "never came", "--evidence", "ticket 7"];
    office.call(&[&order[..], &why, more].concat())
}

fn state(office: &Office) -> String {
    let said = office.call(&["explain", BATCH, "ROW-00000", "--json"]);
    let said: Value = serde_json::from_str(&said.out).unwrap();
    said[0]["state"].as_str().unwrap().to_owned()
}

#[track_caller]
fn refuses(ended: &Ended, words: &str) {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains(words), "{ended:?}");
    assert!(
        ended.err.contains("\nhint: "),
        "it says what to do: {ended:?}"
    );
}

/// What the gateway keeps from being recorded is told of many rows, without asking about a thousand for nothing; and none of the file is
/// recorded.
#[test]
fn a_file_of_decisions_that_the_gateway_contradicts_is_told_of_twenty_rows() {
    let script = Both(
        |_: &Post<'_>| Conduct::honest(),
        |_: &Query<'_>| Answer {
            code: 139,
            form: Form::Plain,
            pause: millis(0),
        },
    );
    let gateway = Gateway::start(script);
    let setup = Setup {
        rows: 25,
        max_wait: "500ms",
        ..Setup::default()
    };
    let office = Office::open(&gateway, setup);
    let ended = office.pay();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let rows = (0..25).map(|row| match row {
        0 => "ROW-00000;paid;seen;slip 1\n".to_owned(),
        row => format!("ROW-{row:05};failed;never came;ticket {row}\n"),
    });
    let text = format!(
        "reference;decision;reason;evidence\n{}",
        rows.collect::<String>()
    );
    std::fs::write(office.path("d.csv"), text).unwrap();
    let ended = office.call(&["resolve", BATCH, "--from", "d.csv", "--yes"]);
    refuses(
        &ended,
        "20 rows are refused, and those below were not looked at",
    );
    assert_eq!(ended.err.matches("error: ").count(), 21, "{ended:?}");
    assert!(ended.err.contains("d.csv:21: payment"), "{ended:?}");
    assert_eq!(state(&office), "acknowledged");
    assert_eq!(gateway.ledger.executions(), 25);
}

#[test]
fn what_the_gateway_says_is_paid_is_not_recorded_as_failed() {
    is_paid_by_the_gateways_word("document");
}

#[test]
fn what_the_gateway_says_is_paid_is_not_recorded_as_failed_in_any_dialect() {
    OTHERS.into_iter().for_each(is_paid_by_the_gateways_word);
}

fn is_paid_by_the_gateways_word(dialect: &'static str) {
    let mouth = Mouth::open_in(dialect, Effect::EXECUTE);
    let office = mouth.office("100ms");
    mouth.says(140);
    let ended = failed(&office, &["--yes", "--although-accepted"]);
    refuses(&ended, "the gateway says that it is paid (140");
    assert_eq!(state(&office), "paid", "by that very answer");
    let retried = office.call(&["retry", BATCH, "--yes"]);
    assert!(
        retried.out.contains("has no failed payment to retry"),
        "{retried:?}"
    );
    assert_eq!(mouth.gateway.ledger.executions(), 1);
}

#[test]
fn what_the_gateway_has_is_not_failed_before_its_time_nor_without_a_second_word() {
    needs_a_second_word("document", &[(139, "acknowledged"), (SILENT, "in_doubt")]);
}

#[test]
fn what_the_gateway_has_is_not_failed_without_a_second_word_in_any_dialect() {
    for dialect in OTHERS {
        needs_a_second_word(dialect, &[(139, "acknowledged")]);
    }
    // Its words for "not found" are no proof: they are silence.
    needs_a_second_word("beep", &[(NOT_FOUND, "in_doubt")]);
}

fn needs_a_second_word(dialect: &'static str, words: &[(i32, &str)]) {
    for (code, state_now) in words.iter().copied() {
        let mouth = Mouth::open_in(dialect, Effect::EXECUTE);
        let office = mouth.office("3s");
        mouth.says(code);
        let second = ["--yes", "--although-accepted"];
        refuses(&failed(&office, &second), "it is not recorded as failed");
        assert_eq!(state(&office), state_now);
        // Its time is up when the same order asks for the second word.
        until_while(
            "its time is up",
            || {
                failed(&office, &["--yes"])
                    .err
                    .contains("will never be paid, add --although-accepted")
            },
            || true,
        );
        assert_eq!(state(&office), state_now);
        let ended = failed(&office, &["--although-accepted"]);
        refuses(
            &ended,
            "this would record payment ROW-00000, KES 100.00 to ",
        );
        assert_eq!(state(&office), state_now);
        let ended = failed(&office, &second);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(state(&office), "failed");
        let told = office.call(&["explain", BATCH, "ROW-00000"]).out;
        assert!(told.contains("although_accepted \"true\""), "{told}");
        assert_eq!(mouth.gateway.ledger.posts(), 1);
    }
}

#[test]
fn what_the_gateway_calls_failed_needs_no_decision_and_what_it_does_not_know_may_fail() {
    let mouth = Mouth::open(Effect::Nothing);
    let office = mouth.office("1h");
    mouth.says(141);
    let ended = failed(&office, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("no decision was needed"), "{ended:?}");
    fails_where_it_is_not_known("document");
}

#[test]
fn what_the_gateway_does_not_know_may_fail_in_dialects_that_say_so() {
    fails_where_it_is_not_known("paths");
    fails_where_it_is_not_known("signed");
}

fn fails_where_it_is_not_known(dialect: &'static str) {
    let mouth = Mouth::open_in(dialect, Effect::Nothing);
    let office = mouth.office("1h");
    mouth.says(NOT_FOUND);
    // Within the quarantine it proves nothing.
    until_while(
        "the quarantine ends",
        || {
            let ended = failed(&office, &[]);
            refuses(&ended, "");
            ended.err.contains("this would record")
        },
        || true,
    );
    // Each question is evidence: the second "not found" alone would let a run post it again.
    let ended = failed(&office, &["--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(state(&office), "failed");
}

/// Whoever posted it may have known that the gateway shows a payment no sooner.
#[test]
fn a_quarantine_that_was_made_shorter_proves_nothing_of_what_is_in_doubt() {
    let mouth = Mouth::open(Effect::EXECUTE);
    let office = mouth.office("1h");
    let text = std::fs::read_to_string(office.path("disburse.toml")).unwrap();
    let waits = |long: &str| {
        let key = "not_found_quarantine = ";
        let longer = text.replace(&format!("{key}\"1100ms\""), &format!("{key}\"{long}\""));
        std::fs::write(office.path("disburse.toml"), longer).unwrap();
    };
    waits("1h");
    assert_eq!(office.pay().code, Some(4));
    mouth.says(NOT_FOUND);
    waits("1100ms");
    for _ in 0..2 {
        let ended = office.pay();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        for words in [
            "payments of the batch (1) are in doubt that a run had with resolution.not_found_quarantine = 3600s",
            "this run has 1.1s",
            "Set 3600s at least",
        ] {
            assert!(ended.err.contains(words), "{words}: {ended:?}");
        }
        // Its own quarantine is over, and "not found" is said twice.
        std::thread::sleep(millis(1200));
        refuses(&failed(&office, &["--yes"]), "which proves nothing before");
        assert_eq!(state(&office), "in_doubt");
    }
    waits("61m");
    assert_eq!(office.pay().code, Some(4));
    assert_eq!(mouth.gateway.ledger.posts(), 1);
}

#[test]
fn what_is_learned_while_the_gateway_is_asked_makes_the_decision_void() {
    let mouth = Mouth::open(Effect::EXECUTE);
    let office = mouth.office("100ms");
    mouth.says(NOT_FOUND);
    mouth.pause.store(800, Ordering::SeqCst);
    let asking = || {
        let books = mouth.gateway.ledger.books();
        books.deals.values().map(|deal| deal.queries).sum::<u32>()
    };
    let before = asking();
    let order = [
        "resolve",
        BATCH,
        "ROW-00000",
        "--yes",
        "--reason",
        "a",
        "--evidence",
        "b",
    ];
    let mut first = office.start(&[&order[..], &["--failed", "--although-accepted"]].concat());
    first.until("the gateway is asked", || asking() > before);
    let other = office.call(&[&order[..], &["--paid"]].concat());
    assert_eq!(other.code, Some(0), "{other:?}");
    refuses(
        &first.wait(),
        "something new was learned about it while the question was open",
    );
    assert_eq!(state(&office), "paid");
}

/// Five payments in doubt, of which a statement has shown 0 once, 1 twice, 2 with another line beside it, 3 out and back, 4 not at all.
fn shown_while_open(mouth: &Mouth) -> Office {
    let setup = Setup {
        rows: 5,
        max_wait: "3s",
        ..Setup::default()
    };
    let office = Office::open(&mouth.gateway, setup);
    assert_eq!(office.pay().code, Some(4));
    let known = payments(&office);
    let report = std::fs::read_to_string(office.path("report/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let at: jiff::Timestamp = report["created_at"].as_str().unwrap().parse().unwrap();
    let day = at.in_tz("Africa/Nairobi").unwrap().date();
    let line = |row: usize, amount: &str| {
        let id = &known[&format!("ROW-0000{row}")].id;
        format!("{day},{amount},{id}\n")
    };
    let amount = |row: usize| known[&format!("ROW-0000{row}")].amount.as_str();
    let statement = [
        "date,amount,reference\n".to_owned(),
        line(0, amount(0)),
        line(1, amount(1)),
        line(1, amount(1)),
        line(2, amount(2)),
        line(2, "1.00"),
        line(3, amount(3)),
        line(3, &format!("-{}", amount(3))),
    ]
    .concat();
    let other = format!("date,amount,reference\n{day},7.00,SOMETHING-ELSE\n");
    // The second one does not show them, which says nothing.
    for (name, text) in [("s.csv", &statement), ("t.csv", &other)] {
        std::fs::write(office.path(name), text).unwrap();
        let reconcile = ["reconcile", BATCH, name, "--currency", "KES", "--paid-out"];
        assert_eq!(office.call(&reconcile).code, Some(3));
    }
    office
}

fn states(office: &Office) -> [String; 5] {
    let rows = payments(office);
    [0, 1, 2, 3, 4].map(|row| rows[&format!("ROW-0000{row}")].state.clone())
}

/// The gateway's word comes second here; where it comes first, the reconciliation finds what is wrong.
#[test]
fn what_a_statement_showed_paid_while_it_was_open_is_no_failure_that_is_paid_again() {
    let mouth = Mouth::open(Effect::EXECUTE);
    let office = shown_while_open(&mouth);
    mouth.says(141);
    let ended = office.pay();
    let (held, open) = ("conflict", "failed");
    assert_eq!(states(&office), [held, held, held, open, open], "{ended:?}");
    let told = office.call(&["explain", BATCH, "ROW-00000"]);
    assert!(
        told.out.contains("s.csv") && told.out.contains("line 2"),
        "{told:?}"
    );
    // A person's word alone does not make a failure of it either.
    let decided = failed(&office, &["--yes"]);
    refuses(&decided, "a statement said before that it is paid");
    let told = office.call(&["retry", BATCH, "--yes"]);
    assert!(
        told.out.contains("2 failed payments are to be paid again"),
        "{told:?}"
    );
    assert_eq!(office.call(&["verify", BATCH]).code, Some(0));
}

#[test]
fn what_a_statement_showed_paid_while_it_was_open_is_not_posted_again_when_it_is_not_found() {
    let mouth = Mouth::open(Effect::EXECUTE);
    let office = shown_while_open(&mouth);
    mouth.says(NOT_FOUND);
    let posts = || {
        let books = mouth.gateway.ledger.books();
        let of = |row: usize| {
            let reference = format!("ROW-0000{row}");
            let deals = books.deals.values();
            let own = deals.filter(|deal| deal.reference == reference);
            own.map(|deal| deal.posts).sum::<u32>()
        };
        [0, 1, 2, 3, 4].map(of)
    };
    let is_held = || states(&office)[..3].iter().all(|state| state == "conflict");
    until_while(
        "what is not found beyond doubt is posted again, where no statement has shown it",
        || {
            office.pay();
            is_held() && posts()[4] > 1
        },
        || true,
    );
    let posts = posts();
    assert_eq!(posts[..3], [1, 1, 1], "{posts:?}");
    assert!(posts[3] > 1, "{posts:?}");
    assert_eq!(office.call(&["verify", BATCH]).code, Some(0));
}
