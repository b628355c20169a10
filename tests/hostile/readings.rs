//! Codes get another meaning in the configuration once somebody has found out what they mean: what an earlier meaning had called failed, or
//! not executed, may have been paid.

use super::gateway::Gateway;
use super::office::{BATCH, Ended, Office, Setup, until_while};
use super::oracle::payments;
use super::script::{Answer, Both, Conduct, Effect, Post, Query, millis};

/// A gateway that executes every first post, and answers with a code that its people mean otherwise.
fn gateway(code: i32) -> Gateway {
    gateway_that_shows_after(0, code)
}

/// The same, which shows what it has executed after so many milliseconds.
fn gateway_that_shows_after(ms: u64, code: i32) -> Gateway {
    Gateway::start(Both(
        move |post: &Post<'_>| match post.nth {
            1 => Conduct {
                effect: Effect::Execute {
                    visible: millis(ms),
                    settled: millis(ms),
                    code: 140,
                },
                code,
                ..Conduct::honest()
            },
            _ => Conduct::honest(),
        },
        |query: &Query<'_>| Answer::honest(query),
    ))
}

/// An office of two rows of one lane, which have met that code.
fn office(gateway: &Gateway) -> Office {
    let setup = Setup {
        rows: 2,
        services: 1,
        max_wait: "4s",
        ..Setup::default()
    };
    Office::open(gateway, setup)
}

/// Says what the code means here.
fn means(office: &Office, words: &str) {
    let path = office.path("disburse.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{text}\n[post_codes]\n{words}\n")).unwrap();
}

#[track_caller]
fn ends(office: &Office, code: i32, arguments: &[&str]) -> Ended {
    let ended = office.call(arguments);
    assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
    ended
}

fn run(office: &Office, batch: &str) -> Ended {
    office.call(&["run", batch, "--yes", "--max-wait", "6s"])
}

#[track_caller]
fn each_was_paid_once(gateway: &Gateway, office: &Office) {
    assert_eq!(gateway.ledger.executions(), 2);
    assert_eq!(gateway.ledger.posts(), 2);
    ends(office, 0, &["report", BATCH, "--out", "report"]);
    for (reference, row) in payments(office) {
        assert_eq!(row.state, "paid", "{reference}");
    }
}

/// Runs the batch that was loaded with the same rows; each was executed once, by the first post of its own batch.
#[track_caller]
fn nothing_leaves_of_the_other_batch(gateway: &Gateway, office: &Office) -> Ended {
    let ended = run(office, "again");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert_eq!(gateway.ledger.executions(), 2);
    assert_eq!(gateway.ledger.posts(), 2);
    ended
}

/// 230 is the document's word for a float that did not suffice.
#[test]
fn what_was_kept_back_by_a_code_that_means_something_else_is_asked_about_first() {
    let gateway = gateway(230);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(5));
    means(&office, "230 = \"in_doubt\"");
    ends(&office, 0, &["resume-lane", BATCH, "LANE_0"]);
    let ended = run(&office, BATCH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    each_was_paid_once(&gateway, &office);
}

/// What is withdrawn by that word stays withdrawn, and a person is told that it was paid.
#[test]
fn what_was_cancelled_on_such_a_word_is_a_repeat_in_another_batch() {
    let gateway = gateway(230);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(5));
    ends(&office, 0, &["cancel", BATCH, "--yes"]);
    let load = ["load", "batch.csv", "--batch", "again"];
    means(&office, "230 = \"in_doubt\"");
    let ended = ends(&office, 2, &load);
    assert!(ended.err.contains("not certain to be unpaid"), "{ended:?}");
    assert_eq!(gateway.ledger.executions(), 2);
    // Its own batch asks about it.
    let ended = run(&office, BATCH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    each_was_paid_once(&gateway, &office);
    ends(&office, 2, &load);
}

/// 106 is the document's word for a refusal.
#[test]
fn what_failed_by_a_code_that_means_something_else_is_not_paid_again() {
    let gateway = gateway(106);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(3));
    means(&office, "106 = \"in_doubt\"");
    let ended = ends(&office, 2, &["load", "batch.csv", "--batch", "again"]);
    assert!(ended.err.contains("not certain to be unpaid"), "{ended:?}");
    office.call(&["retry", BATCH, "--yes"]);
    let ended = run(&office, BATCH);
    assert_eq!(gateway.ledger.executions(), 2, "{ended:?}");
    assert_eq!(gateway.ledger.posts(), 2);
}

/// What was loaded elsewhere while it was still called failed.
#[test]
fn what_stands_in_the_place_of_such_a_failure_does_not_leave() {
    let gateway = gateway(106);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(3));
    ends(&office, 0, &["load", "batch.csv", "--batch", "again"]);
    means(&office, "106 = \"in_doubt\"");
    let ended = nothing_leaves_of_the_other_batch(&gateway, &office);
    assert!(ended.err.contains("not certain to be unpaid"), "{ended:?}");
    // Once its own batch has asked, everybody knows that it was paid.
    run(&office, BATCH);
    nothing_leaves_of_the_other_batch(&gateway, &office);
}

/// One "not found" confirms no such failure while the gateway may not show the post yet.
#[test]
fn what_the_gateway_does_not_show_yet_confirms_no_failure() {
    let gateway = gateway_that_shows_after(1_000, 106);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(3));
    ends(&office, 0, &["load", "batch.csv", "--batch", "again"]);
    means(&office, "106 = \"in_doubt\"");
    // It asks at once, and for as long as it takes.
    run(&office, BATCH);
    nothing_leaves_of_the_other_batch(&gateway, &office);
}

/// Nor by a shorter quarantine than the run had that posted it.
#[test]
fn a_shorter_quarantine_confirms_no_failure_sooner() {
    let gateway = gateway_that_shows_after(3_000, 106);
    let office = office(&gateway);
    let path = office.path("disburse.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let short = "not_found_quarantine = \"1100ms\"";
    std::fs::write(&path, text.replace(short, "not_found_quarantine = \"1h\"")).unwrap();
    assert_eq!(office.pay().code, Some(3));
    std::fs::write(&path, text).unwrap();
    means(&office, "106 = \"in_doubt\"");
    let load = ["load", "batch.csv", "--batch", "again"];
    let begun = std::time::Instant::now();
    while begun.elapsed() < millis(2_500) {
        office.call(&["run", BATCH, "--yes", "--max-wait", "1s"]);
        ends(&office, 2, &load);
    }
    assert_eq!(gateway.ledger.posts(), 2);
}

/// Once the gateway has said by the present meaning that it does not have them, they are failures like others.
#[test]
fn what_is_confirmed_by_the_present_meaning_can_be_retried() {
    let gateway = Gateway::start(|post: &Post<'_>| match post.nth {
        1 if !post.executed => Conduct::refusal(199),
        _ => Conduct::honest(),
    });
    let office = office(&gateway);
    let path = office.path("disburse.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    means(&office, "199 = \"failed\"");
    assert_eq!(office.pay().code, Some(3));
    std::fs::write(&path, text).unwrap();
    let retry = ["retry", BATCH, "--yes"];
    let told = ends(&office, 2, &retry).err;
    assert!(
        told.contains("disburse run salaries asks the gateway"),
        "{told}"
    );
    until_while(
        "the gateway has denied them after the quarantine",
        || {
            run(&office, BATCH);
            office.call(&retry).code == Some(0)
        },
        || true,
    );
    let posts = gateway.ledger.posts();
    assert_eq!(posts, 2);
}

/// Whatever was withdrawn of a row, what it had failed with is asked about.
#[test]
fn a_failure_whose_retry_was_cancelled_is_asked_about_by_its_batch() {
    let gateway = gateway(106);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(3));
    ends(&office, 0, &["retry", BATCH, "--yes"]);
    ends(&office, 0, &["cancel", BATCH, "--yes"]);
    means(&office, "106 = \"in_doubt\"");
    let load = ["load", "batch.csv", "--batch", "again"];
    ends(&office, 2, &load);
    run(&office, BATCH);
    let told = office.call(&["explain", BATCH, "ROW-00000"]).out;
    assert!(told.contains("status reply: 140"), "{told}");
    ends(&office, 2, &load);
    assert_eq!(gateway.ledger.posts(), 2);
}

/// The meaning of a code may change more than once.
#[test]
fn what_was_cancelled_is_asked_about_each_time_that_a_meaning_changes() {
    let gateway = gateway(230);
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(5));
    ends(&office, 0, &["cancel", BATCH, "--yes"]);
    let load = ["load", "batch.csv", "--batch", "again"];
    for (words, other) in [
        ("230 = \"in_doubt\"", ""),
        ("230 = \"no_float\"", "555 = \"refused\""),
    ] {
        means(&office, &format!("{words}\n{other}"));
        ends(&office, 2, &load);
        let text = std::fs::read_to_string(office.path("disburse.toml")).unwrap();
        let (before, _) = text.split_once("\n[post_codes]").unwrap();
        std::fs::write(office.path("disburse.toml"), before).unwrap();
    }
    assert_eq!(gateway.ledger.posts(), 2);
}

/// A code that nobody has met changes nothing.
#[test]
fn a_code_that_was_added_asks_about_nothing_where_nothing_rests_on_codes() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct::honest());
    let office = office(&gateway);
    assert_eq!(office.pay().code, Some(0));
    let asked = || {
        let books = gateway.ledger.books();
        books.deals.values().map(|deal| deal.queries).sum::<u32>()
    };
    let before = asked();
    means(&office, "555 = \"refused\"");
    let ended = run(&office, BATCH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(asked(), before);
    each_was_paid_once(&gateway, &office);
}
