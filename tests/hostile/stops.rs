//! What ends or pauses a run: credentials, redirects, want of float, a gateway that goes down, the breaker, Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::forms::{Body, Form};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup, until_while};
use super::oracle::{check, payments};
use super::script::{Conduct, Effect, Post, millis};

const REFUSED_ENTRY: &str = "{\"authStatusCode\":132,\"authStatusDescription\":\"locked\"}";

fn slow() -> Setup {
    Setup {
        rows: 60,
        rate: "100/s",
        ..Setup::default()
    }
}

fn state_count(office: &Office, state: &str) -> usize {
    office.call(&["report", BATCH, "--out", "report"]);
    payments(office)
        .values()
        .filter(|row| row.state == state)
        .count()
}

#[test]
fn credentials_refused_in_the_middle_stop_the_run_and_a_resume_completes() {
    let locked = Arc::new(AtomicBool::new(true));
    let seen = AtomicU32::new(0);
    let lock = Arc::clone(&locked);
    let gateway = Gateway::start(move |_: &Post<'_>| {
        if seen.fetch_add(1, Ordering::SeqCst) >= 20 && lock.load(Ordering::SeqCst) {
            Conduct {
                code: 104,
                ..Conduct::spoilt(Effect::Nothing, Form::Auth(REFUSED_ENTRY))
            }
        } else {
            Conduct::honest()
        }
    });
    let office = Office::open(&gateway, slow());
    let ended = office.pay();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    check("132", &gateway, &office, ended.code);
    let posts = gateway.ledger.posts();
    assert!(posts < 40, "{posts} posts, of which 20 were let in");
    locked.store(false, Ordering::SeqCst);
    assert_eq!(office.pay_to_the_end(3), 0);
    check("132, mended", &gateway, &office, Some(0));
}

#[test]
fn a_redirect_is_not_followed_and_stops_the_run() {
    for status in [301, 302, 303, 307, 308] {
        let gateway = Gateway::start(move |post: &Post<'_>| match post.nth {
            1 if post.reference.ends_with("07") => {
                Conduct::spoilt(Effect::EXECUTE, Form::Redirect(status))
            }
            _ => Conduct::honest(),
        });
        let office = Office::open(&gateway, Setup { rows: 12, ..slow() });
        let ended = office.pay();
        assert_eq!(ended.code, Some(5), "{status}: {ended:?}");
        check("a redirect", &gateway, &office, ended.code);
        assert_eq!(office.pay_to_the_end(2), 0);
        check("after a redirect", &gateway, &office, Some(0));
    }
}

#[test]
fn want_of_float_holds_one_lane_while_the_others_go_on() {
    let dry = Arc::new(AtomicBool::new(true));
    let drought = Arc::clone(&dry);
    let gateway = Gateway::start(move |post: &Post<'_>| {
        if post.service == "LANE_1"
            && post.reference > "ROW-00012"
            && drought.load(Ordering::SeqCst)
        {
            Conduct::refusal(230)
        } else {
            Conduct::honest()
        }
    });
    let office = Office::open(
        &gateway,
        Setup {
            services: 3,
            ..slow()
        },
    );
    for round in 0..2 {
        let ended = office.pay();
        assert_eq!(ended.code, Some(5), "{ended:?}");
        check("a dry lane", &gateway, &office, ended.code);
        let rows = payments(&office);
        let waiting: Vec<_> = rows.iter().filter(|(_, row)| row.state != "paid").collect();
        assert!(
            waiting.iter().all(|(_, row)| row.state == "ready"),
            "{waiting:?}"
        );
        assert_eq!(waiting.len(), 16, "round {round}: {waiting:?}");
        let status = office.call(&["status", BATCH, "--json"]);
        assert!(status.out.contains("LANE_1"), "{}", status.out);
    }
    assert!(
        gateway.ledger.posts() < 44 + 16,
        "a held lane is not tried again and again"
    );
    dry.store(false, Ordering::SeqCst);
    let resumed = office.call(&["resume-lane", BATCH, "LANE_1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(office.pay_to_the_end(2), 0);
    check("a lane resumed", &gateway, &office, Some(0));
}

#[test]
fn a_gateway_that_goes_down_and_comes_back_is_waited_for() {
    let gateway = Gateway::start(|post: &Post<'_>| Conduct {
        pause: millis(if post.id.ends_with(['A', 'B', 'C', 'D']) {
            150
        } else {
            0
        }),
        ..Conduct::honest()
    });
    let office = Office::open(
        &gateway,
        Setup {
            rate: "80/s",
            max_wait: "20s",
            ..slow()
        },
    );
    let mut run = office.start_pay();
    for posts in [15, 30, 45] {
        run.until("posts", || gateway.ledger.posts() >= posts);
        gateway.close();
        std::thread::sleep(millis(250));
        gateway.reopen();
    }
    let ended = run.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("down and up", &gateway, &office, ended.code);
}

#[test]
fn a_probe_that_meets_429_does_not_end_the_posting_for_good() {
    let seen = AtomicU32::new(0);
    let gateway = Gateway::start(move |_: &Post<'_>| {
        match seen.fetch_add(1, Ordering::SeqCst) {
            // Enough losses to open the circuit, then a gateway that is up again and asks for patience.
            0..20 => Conduct::spoilt(Effect::Nothing, Form::Http(502, Body::Html)),
            20..24 => Conduct::spoilt(Effect::Nothing, Form::Slow429("0")),
            _ => Conduct::honest(),
        }
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: 40,
            breaker_losses: 20,
            rate: "200/s",
            concurrency: 4,
            ..slow()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("429 to a probe", &gateway, &office, ended.code);
}

#[test]
fn an_interrupt_drains_and_leaves_no_intent_without_an_outcome() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct {
        pause: millis(200),
        ..Conduct::honest()
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: 80,
            rate: "60/s",
            ..slow()
        },
    );
    let mut run = office.start_pay();
    run.until("posts", || gateway.ledger.posts() >= 20);
    run.interrupt();
    let ended = run.wait();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    check("drained", &gateway, &office, ended.code);
    assert_eq!(state_count(&office, "posting"), 0);
    assert_eq!(
        state_count(&office, "in_doubt"),
        0,
        "every reply was waited for"
    );
    assert_eq!(
        gateway.ledger.posts() as usize,
        80 - state_count(&office, "ready")
    );
    assert_eq!(office.pay_to_the_end(2), 0);
    check("drained and resumed", &gateway, &office, Some(0));
    assert_eq!(gateway.ledger.posts(), 80);
}

#[test]
fn a_second_process_is_refused_and_told_who_runs() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct {
        pause: millis(50),
        ..Conduct::honest()
    });
    let office = Office::open(
        &gateway,
        Setup {
            rate: "40/s",
            callbacks: true,
            ..slow()
        },
    );
    let mut first = office.start_pay();
    first.until("posts", || gateway.ledger.posts() >= 5);
    let holder = format!("process {}", first.child.id());
    for second in [office.pay(), office.call(&["run", BATCH, "--yes"])] {
        assert_eq!(second.code, Some(4), "{second:?}");
        assert!(second.err.contains(&holder), "{second:?}");
    }
    let ended = first.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("two processes", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 60);
}

#[test]
fn a_gateway_that_never_was_there_is_named_and_nothing_is_sent() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct::honest());
    let office = Office::open(
        &gateway,
        Setup {
            max_wait: "2s",
            ..slow()
        },
    );
    gateway.close();
    let ended = office.pay();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.err.contains("cannot be reached") && ended.err.contains("nothing was sent"),
        "{ended:?}"
    );
    gateway.reopen();
    assert_eq!(office.pay_to_the_end(2), 0);
    check("up at last", &gateway, &office, Some(0));
    until_while("books closed", || gateway.ledger.posts() == 60, || true);
}

#[test]
fn a_report_in_the_middle_of_a_run_adds_up() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct {
        pause: millis(30),
        ..Conduct::honest()
    });
    let office = Office::open(
        &gateway,
        Setup {
            rate: "30/s",
            callbacks: true,
            ..slow()
        },
    );
    let mut run = office.start_pay();
    for posts in [5, 20, 35, 50] {
        run.until("posts", || gateway.ledger.posts() >= posts);
        let report = office.call(&["report", BATCH, "--out", "middle"]);
        assert_eq!(report.code, Some(0), "{report:?}");
        let text = std::fs::read_to_string(office.path("middle/payments.csv")).unwrap();
        assert_eq!(text.lines().count(), 61, "a header and every row once");
    }
    let ended = run.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("reported meanwhile", &gateway, &office, ended.code);
}
