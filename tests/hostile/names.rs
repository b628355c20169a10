//! A gateway that speaks of other payments under our identifiers: other amounts, currencies and numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::callbacks::body;
use super::forms::Form;
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup, until_while};
use super::oracle::{check, payments};
use super::script::{Answer, Both, Conduct, Effect, Post, Push, Query, millis};

const OURS: &str =
    r#""amount":AMOUNT,"MSISDN":"NUMBER","accountNumber":"2547****","currencyCode":"kes""#;

fn status(office: &Office) -> Value {
    let status = office.call(&["status", BATCH, "--json"]);
    serde_json::from_str(&status.out).unwrap()
}

#[test]
fn words_about_another_payment_settle_nothing_and_are_shown() {
    const LIES: [&str; 4] = [
        r#""amount":1.00"#,
        r#""amount":AMOUNT,"currencyCode":"UGX""#,
        r#""MSISDN":"254799999999""#,
        r#""accountNumber":"0799999999","amount":"AMOUNT""#,
    ];
    for lie in LIES {
        // The reply to the post says "failed", the first status reply too; both are about somebody else.
        let gateway = Gateway::start(Both(
            move |_: &Post<'_>| Conduct {
                effect: Effect::EXECUTE,
                form: Form::Names(lie),
                ..Conduct::refusal(141)
            },
            move |query: &Query<'_>| match query.nth {
                1 => Answer {
                    code: 141,
                    form: Form::Names(lie),
                    ..Answer::honest(query)
                },
                _ => Answer {
                    form: Form::Names(OURS),
                    ..Answer::honest(query)
                },
            },
        ));
        let office = Office::open(
            &gateway,
            Setup {
                rows: 4,
                ..Setup::default()
            },
        );
        let ended = office.pay();
        assert_eq!(ended.code, Some(0), "{lie}: {ended:?}");
        check(lie, &gateway, &office, ended.code);
        assert_eq!(gateway.ledger.posts(), 4);
        assert_eq!(status(&office)["named_otherwise"], 4, "{lie}");
        assert!(
            ended
                .err
                .contains("4 payments for which the gateway named another"),
            "{ended:?}"
        );
        let id = payments(&office)["ROW-00000"].id.clone();
        let told = office.call(&["explain", BATCH, &id]).out;
        assert!(told.contains("reply about another payment"), "{told}");
        assert!(
            told.contains("! not believed: 141, it names the "),
            "{told}"
        );
        assert!(!told.contains("799999999"), "no number is shown: {told}");
    }
}

#[test]
fn ten_replies_in_a_row_about_other_amounts_stop_the_posts() {
    // A gateway that counts in cents, or seems to.
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| Conduct {
            form: Form::Names(r#""amount":"AMOUNT00","MSISDN":"2547****0000""#),
            ..Conduct::honest()
        },
        |query: &Query<'_>| Answer {
            form: Form::Names(r#""amount":"0.07""#),
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rows: 60,
            rate: "20/s",
            concurrency: 1,
            ..Setup::default()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("ten replies in a row"), "{ended:?}");
    assert!(ended.err.contains("ours is KES"), "{ended:?}");
    let posts = gateway.ledger.posts();
    assert!(posts < 20, "{posts} posts");
    check("in cents", &gateway, &office, ended.code);
    assert!(payments(&office).values().all(|row| row.state != "paid"));
    // The next run posts nothing more: it asks, and says why, until a person has opened the lanes again.
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "1s"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert_eq!(gateway.ledger.posts(), posts, "{ended:?}");
    let told = "because ten replies in a row named another amount, currency or number";
    let status = office.call(&["status", BATCH]).out;
    assert!(status.contains(told), "{status}");
    let lanes = status.lines().filter(|line| line.contains("resume-lane"));
    for lane in lanes {
        let command = format!("resume-lane {BATCH} ");
        let (_, behind) = lane.split_once(&command).unwrap();
        let (service, _) = behind.split_once(',').unwrap();
        let opened = office.call(&["resume-lane", BATCH, service]);
        assert_eq!(opened.code, Some(0), "{opened:?}");
    }
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "1s"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(gateway.ledger.posts() > posts, "{ended:?}");
}

#[test]
fn posts_that_were_stopped_go_on_once_an_answer_names_what_is_ours() {
    let honest = Arc::new(AtomicBool::new(false));
    let is_honest = Arc::clone(&honest);
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| Conduct {
            form: Form::Names(r#""amount":"0.07""#),
            ..Conduct::honest()
        },
        move |query: &Query<'_>| Answer {
            form: match is_honest.load(Ordering::SeqCst) {
                true => Form::Names(r#""amount":AMOUNT,"MSISDN":"NUMBER""#),
                false => Form::Names(r#""amount":"0.07""#),
            },
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rows: 30,
            rate: "20/s",
            concurrency: 1,
            ..Setup::default()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let posts = gateway.ledger.posts();
    honest.store(true, Ordering::SeqCst);
    let ended = office.call(&["run", BATCH, "--yes", "--max-wait", "8s"]);
    assert!(gateway.ledger.posts() > posts, "{ended:?}");
    check("in cents for a while", &gateway, &office, ended.code);
}

#[test]
fn callbacks_about_another_payment_are_kept_and_ask() {
    let gateway = Gateway::start(|post: &Post<'_>| {
        let later = Effect::Execute {
            visible: millis(0),
            settled: millis(60_000),
            code: 140,
        };
        let lie = match post.reference {
            "ROW-00001" => Push::OtherAmount(140),
            "ROW-00002" => Push::OtherCurrency(140),
            _ => Push::OtherNumber(140),
        };
        Conduct::spoilt(later, Form::Plain).pushing(&[(100, lie), (900, Push::Code(140))])
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: 4,
            callbacks: true,
            grace: "20s",
            ..Setup::default()
        },
    );
    let mut run = office.start_pay();
    let asked = || {
        let books = gateway.ledger.books();
        books.deals.len() == 4 && books.deals.values().all(|deal| deal.queries > 0)
    };
    run.until("asked at once", asked);
    let ended = run.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("callbacks", &gateway, &office, ended.code);
    assert_eq!(status(&office)["named_otherwise"], 4);
}

#[test]
fn bodies_that_nobody_can_read_take_no_room_of_the_one_that_counts() {
    let gateway = Gateway::start(|_: &Post<'_>| {
        let later = Effect::Execute {
            visible: millis(0),
            settled: millis(60_000),
            code: 140,
        };
        Conduct::spoilt(later, Form::Plain)
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: 1,
            callbacks: true,
            grace: "20s",
            max_wait: "1s",
            ..Setup::default()
        },
    );
    assert_eq!(office.pay().code, Some(4));
    let (id, url) = {
        let books = gateway.ledger.books();
        let (id, deal) = books.deals.first_key_value().unwrap();
        (id.clone(), deal.callback_url.clone().unwrap())
    };
    let listener = office.start(&["listen"]);
    let secret = r#"{"payload":{"credentials":{"password":"swordfish-never-shown"},"packet":["#;
    until_while(
        "listening",
        || gateway.push(&url, secret.into()) == Some(200),
        || true,
    );
    for number in 0..200 {
        let status = gateway.push(&url, format!("\u{1b}[31mjunk {number}").into_bytes());
        assert_eq!(status, Some(200), "acknowledged, kept or not");
    }
    let last = body((&id, ""), 140).to_string().into_bytes();
    assert_eq!(gateway.push(&url, last), Some(200));
    listener.interrupt();
    listener.wait();
    gateway
        .ledger
        .books()
        .deals
        .get_mut(&id)
        .unwrap()
        .settled_at = Some(std::time::Instant::now());
    check("junk", &gateway, &office, None);
    assert_eq!(payments(&office)["ROW-00000"].state, "paid");
    let told = office.call(&["explain", BATCH, &id, "--reveal"]).out;
    assert!(told.contains("junk 6"), "{told}");
    assert!(!told.contains("junk 7"), "{told}");
    assert!(told.contains("not a callback"), "{told}");
    assert!(!told.contains('\u{1b}'));
    let hidden = office.call(&["explain", BATCH, &id]).out;
    assert!(!hidden.contains("junk"), "{hidden}");
}
