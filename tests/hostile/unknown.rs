//! Payments whose fate the gateway hides, denies or changes its mind about.

use super::forms::{Body, Form};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup};
use super::oracle::{check, payments};
use super::script::{Answer, Both, Conduct, Effect, Post, Push, Query, millis};

fn patient() -> Setup {
    Setup {
        rows: 12,
        give_up: "2s",
        max_wait: "4s",
        ..Setup::default()
    }
}

#[test]
fn an_acceptance_without_a_trace_is_never_posted_again_nor_called_an_end() {
    let gateway = Gateway::start(|post: &Post<'_>| match post.reference {
        "ROW-00005" => Conduct {
            effect: Effect::Nothing,
            ..Conduct::honest()
        },
        _ => Conduct::honest(),
    });
    let office = Office::open(&gateway, patient());
    for _ in 0..2 {
        let ended = office.pay();
        assert_eq!(ended.code, Some(4), "{ended:?}");
        check("139, then 143 for ever", &gateway, &office, ended.code);
    }
    assert_eq!(gateway.ledger.posts(), 12);
    assert_eq!(payments(&office)["ROW-00005"].state, "acknowledged");
}

#[test]
fn a_duplicate_on_the_first_post_settles_only_by_our_amount_and_number() {
    const OURS: &str = r#""amount":AMOUNT,"MSISDN":"NUMBER""#;
    const THEIRS: &str = r#""amount":7.77,"MSISDN":"NUMBER""#;
    // Row 3 was executed by an earlier journal of ours, rows 4 to 6 are somebody else's payments.
    let gateway = Gateway::start(Both(
        |post: &Post<'_>| match post.reference {
            "ROW-00003" => Conduct {
                effect: Effect::EXECUTE,
                ..Conduct::refusal(229)
            },
            // Its books have no execution of ours: that a person is to decide is what is expected.
            "ROW-00004" | "ROW-00005" | "ROW-00006" => Conduct {
                contradicted: true,
                ..Conduct::refusal(229)
            },
            _ => Conduct::honest(),
        },
        |query: &Query<'_>| {
            let honest = Answer::honest(query);
            // Of what was executed under these identifiers this gateway's books know nothing: it was not for us.
            match query.honest {
                143 if query.nth == 1 => Answer {
                    code: 140,
                    form: Form::Names(THEIRS),
                    ..honest
                },
                143 => Answer {
                    code: 140,
                    ..honest
                },
                _ => Answer {
                    form: Form::Names(OURS),
                    ..honest
                },
            }
        },
    ));
    let office = Office::open(&gateway, patient());
    let ended = office.pay();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    check("229 at first", &gateway, &office, ended.code);
    let rows = payments(&office);
    assert_eq!(rows["ROW-00003"].state, "paid");
    for row in ["ROW-00004", "ROW-00005", "ROW-00006"] {
        assert_eq!(rows[row].state, "conflict", "{row}");
        assert_eq!(rows[row].code, "229");
    }
    assert_eq!(gateway.ledger.posts(), 12);
    // A person ends it as none of ours, after the gateway was asked once more, and pays the row under another reference.
    let told = office.call(&["explain", BATCH, "ROW-00004"]).out;
    assert!(
        told.contains("the gateway had this identifier before our first post"),
        "{told}"
    );
    let why = ["--reason", "asked them", "--evidence", "ticket 9", "--yes"];
    for row in ["ROW-00004", "ROW-00005"] {
        let order = ["resolve", BATCH, row, "--failed"];
        let refused = office.call(&[&order[..], &why].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused
                .err
                .contains("is about an earlier payment with this identifier; it refused ours"),
            "{refused:?}"
        );
        assert!(
            refused.err.contains("load the row under another reference"),
            "{refused:?}"
        );
        let done = office.call(&[&order[..], &why, &["--although-accepted"]].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.out.contains("answers disagree -> failed"), "{done:?}");
    }
    let text = std::fs::read_to_string(office.path("batch.csv")).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    let row = lines.find(|line| line.starts_with("ROW-00004")).unwrap();
    let again = format!("{head}\n{}\n", row.replace("ROW-00004", "ROW-00004-B"));
    std::fs::write(office.path("again.csv"), again).unwrap();
    let load = ["load", "again.csv", "--batch", "again"];
    let loaded = office.call(&load);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    let ended = office.call(&["run", "again", "--yes", "--max-wait", "8s"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(gateway.ledger.posts(), 13);
}

#[test]
fn ten_duplicates_in_a_row_look_like_a_lost_journal() {
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| Conduct::refusal(229),
        |query: &Query<'_>| Answer {
            code: 140,
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rows: 60,
            rate: "20/s",
            concurrency: 1,
            ..patient()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("ten first posts in a row"), "{ended:?}");
    assert!(
        ended.err.contains("recover salaries --presume-posted"),
        "{ended:?}"
    );
    let posts = gateway.ledger.posts();
    assert!(posts < 20, "{posts} posts");
    assert!(
        payments_after_report(&office)
            .values()
            .all(|row| row.state != "paid")
    );
    // The next run posts nothing more, and a service that is added meanwhile is stopped with the others.
    let text = std::fs::read_to_string(office.path("batch.csv")).unwrap();
    let more = format!("{text}ADDED,LANE_9,254799000001,1.00,KES,more,ADDED\n");
    std::fs::write(office.path("batch.csv"), more).unwrap();
    let added = office.call(&["load", "batch.csv", "--batch", BATCH, "--amend"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    for _ in 0..2 {
        let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "1s"]);
        assert_eq!(ended.code, Some(5), "{ended:?}");
        assert_eq!(gateway.ledger.posts(), posts, "{ended:?}");
    }
    let opened = office.call(&["resume-lane", BATCH, "LANE_9"]);
    assert_eq!(opened.code, Some(0), "{opened:?}");
    office.call(&["run", BATCH, "--yes", "--max-wait", "1s"]);
    assert_eq!(gateway.ledger.posts(), posts + 1);
}

fn payments_after_report(
    office: &Office,
) -> std::collections::BTreeMap<String, super::oracle::Paid> {
    office.call(&["report", BATCH, "--out", "report"]);
    payments(office)
}

#[test]
fn a_status_that_flaps_is_neither_posted_again_nor_failed() {
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| {
            Conduct::spoilt(
                Effect::Execute {
                    visible: millis(0),
                    settled: millis(0),
                    code: 140,
                },
                Form::Reset,
            )
        },
        |query: &Query<'_>| Answer {
            code: match query.nth {
                1 => 139,
                2..=6 => 143,
                7 => 178,
                8 => 143,
                _ => 140,
            },
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            give_up: "20s",
            breaker_losses: 100,
            ..patient()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("flapping", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 12);
}

#[test]
fn a_single_not_found_between_silences_never_adds_up_to_two_before_the_quarantine() {
    // The payment becomes visible 500 ms after its post; every second answer is lost.
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| {
            Conduct::spoilt(
                Effect::Execute {
                    visible: millis(500),
                    settled: millis(0),
                    code: 140,
                },
                Form::Http(504, Body::Claims(231)),
            )
        },
        |query: &Query<'_>| Answer {
            form: if query.nth.is_multiple_of(2) {
                Form::Reset
            } else {
                Form::Plain
            },
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            give_up: "20s",
            breaker_losses: 100,
            ..patient()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("late visibility", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 12);
}

#[test]
fn a_deployment_that_never_answers_queries_leaves_the_lost_ones_open() {
    let gateway = Gateway::start(Both(
        |post: &Post<'_>| match post.reference {
            "ROW-00001" => Conduct::spoilt(Effect::EXECUTE, Form::Reset),
            "ROW-00002" => Conduct::spoilt(Effect::Nothing, Form::Http(500, Body::Html)),
            _ => Conduct {
                code: 140,
                ..Conduct::honest()
            },
        },
        |query: &Query<'_>| Answer {
            form: Form::Http(500, Body::Claims(143)),
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(&gateway, patient());
    for _ in 0..2 {
        let ended = office.pay();
        assert_eq!(ended.code, Some(4), "{ended:?}");
        check("no answers", &gateway, &office, ended.code);
    }
    assert_eq!(gateway.ledger.posts(), 12);
    // An operator who knows may decide; the report then tells the same.
    for (code, reference, outcome) in [
        (2, "ROW-00002", &["--failed"][..]),
        (0, "ROW-00001", &["--paid"]),
        (0, "ROW-00002", &["--failed", "--although-accepted"]),
    ] {
        let order = [
            "resolve",
            BATCH,
            reference,
            "--yes",
            "--reason",
            "asked by telephone",
            "--evidence",
            "ticket 7",
        ];
        let ended = office.call(&[&order[..], outcome].concat());
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    let ended = office.pay();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    check("decided", &gateway, &office, ended.code);
}

#[test]
fn a_payment_proven_paid_while_its_repeat_waits_to_leave_is_not_posted() {
    // One request at a time, 300 ms each: claims wait in line. Row 0 is lost, twice "not found", claimed again, and
    // its callback comes while it waits. The proof is on disk before the second post could leave.
    let gateway = Gateway::start(|post: &Post<'_>| match (post.reference, post.nth) {
        ("ROW-00000", 1) => Conduct {
            pause: millis(0),
            ..Conduct::spoilt(
                Effect::Execute {
                    visible: millis(2800),
                    settled: millis(0),
                    code: 140,
                },
                Form::Http(502, Body::Html),
            )
        }
        .pushing(&[(2800, Push::Code(140))]),
        _ => Conduct {
            pause: millis(300),
            ..Conduct::honest()
        },
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: 16,
            concurrency: 1,
            callbacks: true,
            give_up: "20s",
            ..patient()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("paid while it waited", &gateway, &office, ended.code);
}

#[test]
fn a_run_resumed_long_after_it_was_killed_still_ends_by_itself() {
    // As on a Monday after a Friday: longer than the asking goes on for, nothing of the killed posts had arrived.
    let gateway = Gateway::start(|post: &Post<'_>| match post.nth {
        1 => Conduct::spoilt(Effect::Nothing, Form::TooSlow),
        _ => Conduct::honest(),
    });
    let office = Office::open(
        &gateway,
        Setup {
            give_up: "2s",
            ..patient()
        },
    );
    let mut run = office.start_pay();
    run.until("posts", || gateway.ledger.posts() >= 12);
    run.child.kill().unwrap();
    run.wait();
    std::thread::sleep(millis(2100));
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("resumed late", &gateway, &office, ended.code);
}

#[test]
fn a_run_that_waits_too_short_for_what_is_unknown_says_what_is_long_enough() {
    let gateway = Gateway::start(|post: &Post<'_>| match post.nth {
        1 if post.reference == "ROW-00005" => Conduct::spoilt(Effect::Nothing, Form::Reset),
        _ => Conduct::honest(),
    });
    let setup = Setup {
        max_wait: "700ms",
        ..patient()
    };
    let office = Office::open(&gateway, setup);
    for _ in 0..4 {
        let ended = office.pay();
        assert_eq!(ended.code, Some(4), "{ended:?}");
        let hint = format!("to wait for long enough: disburse run {BATCH} --max-wait 2s");
        assert!(ended.err.contains(&hint), "{ended:?}");
        assert_eq!(payments(&office)["ROW-00005"].state, "in_doubt");
    }
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "2s"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("not found, and time for it", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 13);
}
