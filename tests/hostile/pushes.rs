//! Callbacks: early, twice, contradicting, about others, with wrong addresses, after the run, and acknowledged before a kill.

use std::collections::BTreeMap;
use std::thread::sleep;

use super::callbacks::body;
use super::forms::{Body, Form};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup, until_while};
use super::oracle::{check, payments};
use super::script::{Answer, Both, Conduct, Effect, Post, Push, Query, dice, millis};

fn listening() -> Setup {
    Setup {
        rows: 24,
        callbacks: true,
        grace: "2s",
        ..Setup::default()
    }
}

const LATER: Effect = Effect::Execute {
    visible: millis_const(0),
    settled: millis_const(60_000),
    code: 140,
};

const fn millis_const(ms: u64) -> std::time::Duration {
    std::time::Duration::from_millis(ms)
}

fn row(post: &Post<'_>) -> usize {
    post.reference.rsplit('-').next().unwrap().parse().unwrap()
}

/// Nothing but callbacks tells: the status query never answers.
fn callbacks_only(query: &Query<'_>) -> Answer {
    Answer {
        form: Form::Http(503, Body::Claims(141)),
        ..Answer::honest(query)
    }
}

#[test]
fn every_kind_of_callback_settles_or_is_set_aside() {
    let noise: [&[(u64, Push)]; 12] = [
        // Before the reply to its own post.
        &[(0, Push::Code(140))],
        &[
            (0, Push::Code(140)),
            (0, Push::Code(140)),
            (300, Push::Code(140)),
        ],
        &[(100, Push::Code(140)), (250, Push::Code(139))],
        &[(0, Push::Foreign(141)), (200, Push::TextCode(140))],
        &[(0, Push::WrongToken(141)), (200, Push::InArray(140))],
        &[(0, Push::OtherAmount(141)), (200, Push::Code(183))],
        &[
            (0, Push::Garbage),
            (0, Push::Empty),
            (50, Push::HalfABody),
            (200, Push::Code(217)),
        ],
        &[(0, Push::Huge), (200, Push::Code(140))],
        &[(0, Push::DoubledKeys(141)), (200, Push::Code(140))],
        &[
            (0, Push::OtherFunction(141)),
            (0, Push::InArrayOfTwo(141)),
            (200, Push::Code(140)),
        ],
        // Words that settle nothing in a callback.
        &[
            (0, Push::Code(143)),
            (50, Push::Code(229)),
            (80, Push::Code(104)),
            (200, Push::Code(140)),
        ],
        &[
            (0, Push::Code(0)),
            (0, Push::Code(999)),
            (50, Push::Code(148)),
            (200, Push::Code(140)),
        ],
    ];
    let gateway = Gateway::start(Both(
        move |post: &Post<'_>| {
            Conduct {
                pause: millis(40),
                ..Conduct::spoilt(
                    LATER,
                    if row(post) < 12 {
                        Form::Plain
                    } else {
                        Form::Reset
                    },
                )
            }
            .pushing(noise[row(post) % 12])
        },
        callbacks_only,
    ));
    let office = Office::open(
        &gateway,
        Setup {
            breaker_losses: 100,
            ..listening()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check("callbacks", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 24);
}

#[test]
fn contradicting_callbacks_end_in_a_conflict_and_overwrite_nothing() {
    let gateway = Gateway::start(|post: &Post<'_>| {
        let pushes: &[(u64, Push)] = match row(post) {
            3 => &[(50, Push::Code(140)), (250, Push::Code(141))],
            4 => &[(50, Push::Code(141)), (250, Push::Code(140))],
            5 => &[
                (50, Push::Code(140)),
                (250, Push::Code(141)),
                (400, Push::Code(140)),
            ],
            // So that the run is still there to hear all of them.
            6 => &[(1200, Push::Code(140))],
            _ => &[(50, Push::Code(140))],
        };
        Conduct {
            contradicted: (3..=5).contains(&row(post)),
            ..Conduct::spoilt(LATER, Form::Plain)
        }
        .pushing(pushes)
    });
    let office = Office::open(&gateway, listening());
    let ended = office.pay();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    check("contradictions", &gateway, &office, ended.code);
    let rows = payments(&office);
    for reference in ["ROW-00003", "ROW-00004", "ROW-00005"] {
        assert_eq!(rows[reference].state, "conflict", "{reference}");
    }
}

#[test]
fn what_a_callback_called_paid_fails_by_a_second_word_alone_whatever_the_gateway_says_now() {
    let both = [(50, Push::Code(140)), (250, Push::Code(141))];
    // So that the run is still there to hear both.
    let late = [(1200, Push::Code(140))];
    let gateway = Gateway::start(Both(
        move |post: &Post<'_>| {
            Conduct {
                contradicted: row(post) == 0,
                ..Conduct::spoilt(LATER, Form::Plain)
            }
            .pushing(if row(post) == 0 { &both } else { &late })
        },
        |query: &Query<'_>| Answer {
            code: 141,
            ..Answer::honest(query)
        },
    ));
    let setup = Setup {
        rows: 2,
        ..listening()
    };
    let office = Office::open(&gateway, setup);
    let ended = office.pay();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(payments(&office)["ROW-00000"].state, "conflict");
    let why = ["--reason", "a", "--evidence", "b", "--yes"];
    let order = ["resolve", BATCH, "ROW-00000", "--failed"];
    let refused = office.call(&[&order[..], &why].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("said before that it is paid"),
        "{refused:?}"
    );
    let done = office.call(&[&order[..], &why, &["--although-accepted"]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("answers disagree -> failed"), "{done:?}");
}

#[test]
fn an_acknowledged_callback_survives_any_kill() {
    for seed in 300..303_u64 {
        let gateway = Gateway::start(Both(
            move |post: &Post<'_>| {
                let mut rng = dice(seed, post.id, "push", post.nth);
                let form = if rng.bool() {
                    Form::Plain
                } else {
                    Form::Closed
                };
                Conduct::spoilt(LATER, form).pushing(&[(rng.u64(0..1500), Push::Code(140))])
            },
            callbacks_only,
        ));
        let office = Office::open(
            &gateway,
            Setup {
                rate: "60/s",
                breaker_losses: 1000,
                max_wait: "2s",
                ..listening()
            },
        );
        let mut rng = dice(seed, "kills", "", 0);
        for _ in 0..4 {
            office.kill_after_posts(&gateway, rng.u32(1..8), rng.u64(..300));
        }
        // What was acknowledged so far is on disk, whatever is still open.
        check(&format!("seed {seed}, killed"), &gateway, &office, None);
        let ended = office.pay();
        let name = format!("seed {seed}: {ended:?}");
        check(&name, &gateway, &office, ended.code);
    }
}

#[test]
fn callbacks_after_the_run_are_taken_by_a_listener_or_by_the_next_run() {
    let gateway = Gateway::start(Both(
        |_: &Post<'_>| Conduct::spoilt(LATER, Form::Plain),
        |query: &Query<'_>| Answer {
            code: 139,
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rows: 6,
            max_wait: "1s",
            ..listening()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    check("posted", &gateway, &office, ended.code);
    let addresses: BTreeMap<String, (String, String)> = gateway
        .ledger
        .books()
        .deals
        .iter()
        .map(|(id, deal)| {
            (
                deal.reference.clone(),
                (id.clone(), deal.callback_url.clone().unwrap()),
            )
        })
        .collect();
    let push = |reference: &str, code: i32| {
        let (id, url) = &addresses[reference];
        gateway.push(url, body((id, ""), code).to_string().into_bytes())
    };
    // Between runs.
    let listener = office.start(&["listen"]);
    until_while("listening", || push("ROW-00000", 140) == Some(200), || true);
    assert_eq!(push("ROW-00001", 140), Some(200));
    assert_eq!(push("ROW-00002", 140), Some(200));
    assert_eq!(
        push("ROW-00002", 141),
        Some(200),
        "a contradiction is evidence"
    );
    assert_eq!(
        push("ROW-00000", 140),
        Some(200),
        "a repeat is acknowledged"
    );
    listener.interrupt();
    let listened = listener.wait();
    assert_eq!(listened.code, Some(0), "{listened:?}");
    gateway
        .ledger
        .books()
        .deals
        .get_mut(&addresses["ROW-00002"].0)
        .unwrap()
        .contradicted = true;
    check("listened", &gateway, &office, Some(4));
    assert_eq!(payments(&office)["ROW-00002"].state, "conflict");
    // During the next run.
    let run = office.start(&["run", BATCH, "--yes", "--max-wait", "8s"]);
    until_while("heard", || push("ROW-00003", 140) == Some(200), || true);
    assert_eq!(push("ROW-00004", 183), Some(200));
    assert_eq!(push("ROW-00005", 217), Some(200));
    let ended = run.wait();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    check("all heard", &gateway, &office, ended.code);
    assert_eq!(gateway.ledger.posts(), 6);
}

#[test]
fn with_confirmation_a_forged_or_hasty_callback_settles_nothing() {
    // Callbacks say paid of a payment that the status query says has failed, and the other way round.
    let gateway = Gateway::start(|post: &Post<'_>| match row(post) % 2 {
        0 => Conduct::spoilt(
            Effect::Fail {
                settled: millis(600),
                code: 141,
            },
            Form::Plain,
        )
        .pushing(&[(50, Push::Code(140))]),
        _ => Conduct::spoilt(
            Effect::Execute {
                visible: millis(0),
                settled: millis(600),
                code: 140,
            },
            Form::Plain,
        )
        .pushing(&[(50, Push::Code(141))]),
    });
    let office = Office::open(
        &gateway,
        Setup {
            confirmed: true,
            ..listening()
        },
    );
    let ended = office.pay();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    check("confirmed", &gateway, &office, ended.code);
    let paid = payments(&office)
        .values()
        .filter(|row| row.state == "paid")
        .count();
    assert_eq!(paid, 12);
}

#[test]
fn a_taken_port_refuses_the_run_before_anything_is_sent() {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct::honest());
    let office = Office::open(&gateway, listening());
    let listener = {
        let text = std::fs::read_to_string(office.path("disburse.toml")).unwrap();
        let port = text
            .split("listen = \"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned();
        std::net::TcpListener::bind(port).unwrap()
    };
    let ended = office.pay();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    sleep(millis(50));
    assert_eq!(gateway.ledger.posts(), 0);
    drop(listener);
    assert_eq!(office.pay().code, Some(0));
    check("port freed", &gateway, &office, Some(0));
}
