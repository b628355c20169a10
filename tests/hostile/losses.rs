//! The journal is lost half way, and the rate limit over a kill.

use std::fs;
use std::time::{Duration, Instant};

use super::forms::Form;
use super::gateway::Gateway;
use super::office::{Office, Setup};
use super::oracle::check;
use super::script::{Answer, Both, Conduct, Effect, Mixed, Post, Query, millis};

fn lose_the_journal(office: &Office) {
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let _ = fs::remove_file(office.path(&format!("disburse.db{suffix}")));
    }
    office.attempts_lost.set(true);
}

fn half_way(gateway: &Gateway, office: &Office) {
    let mut run = office.start_pay();
    run.until("half of it posted", || gateway.ledger.posts() >= 18);
    run.child.kill().unwrap();
    run.wait();
    lose_the_journal(office);
}

// The date of a post is that of its load, and was lost with the journal; everything else must be the same.
fn forgive_dates(gateway: &Gateway) {
    let same = |offence: &String| {
        let mut texts = offence.lines().skip(1).map(|line| {
            let (before, after) = line
                .trim()
                .split_once("\"datePaymentReceived\":\"")
                .unwrap();
            format!("{before}{}", &after[19..])
        });
        offence.starts_with("other bytes") && texts.next() == texts.next()
    };
    gateway
        .ledger
        .books()
        .offences
        .retain(|offence| !same(offence));
}

#[test]
fn a_lost_journal_pays_nothing_twice_when_the_rows_are_presumed_posted() {
    for duplicate_check in [false, true] {
        let gateway = Gateway::start(Mixed {
            duplicate_check,
            ..Mixed::new(900)
        });
        let office = Office::open(
            &gateway,
            Setup {
                rate: "40/s",
                ..Setup::default()
            },
        );
        half_way(&gateway, &office);
        let mut code = office
            .start_pay_with(&["--presume-posted"])
            .wait()
            .code
            .unwrap();
        if code > 3 {
            code = office.pay_to_the_end(6);
        }
        forgive_dates(&gateway);
        check(
            &format!("presumed posted, 229: {duplicate_check}"),
            &gateway,
            &office,
            Some(code),
        );
    }
}

#[test]
fn a_lost_journal_pays_nothing_twice_when_the_gateway_knows_duplicates() {
    // It names amounts and numbers: what an earlier journal posted is known to be ours.
    let gateway = Gateway::start(Both(
        |post: &Post<'_>| match (post.executed, post.reference.ends_with(['3', '6'])) {
            (true, _) => Conduct::refusal(229),
            (false, true) => Conduct::spoilt(Effect::EXECUTE, Form::Reset),
            (false, false) => Conduct::honest(),
        },
        |query: &Query<'_>| Answer {
            form: Form::Names(r#""amount":AMOUNT,"MSISDN":"NUMBER""#),
            ..Answer::honest(query)
        },
    ));
    let office = Office::open(
        &gateway,
        Setup {
            rate: "40/s",
            ..Setup::default()
        },
    );
    half_way(&gateway, &office);
    let code = office.pay_to_the_end(6);
    forgive_dates(&gateway);
    check("229 after a loss", &gateway, &office, Some(code));
    assert_eq!(code, 0);
    assert_eq!(gateway.ledger.executions(), 40);
}

/// The most arrivals in any window of a second.
fn busiest_second(gateway: &Gateway) -> usize {
    let mut arrivals: Vec<Instant> = gateway.ledger.books().arrivals.clone();
    arrivals.sort();
    (0..arrivals.len())
        .map(|first| {
            arrivals[first..]
                .iter()
                .take_while(|at| at.duration_since(arrivals[first]) < Duration::from_secs(1))
                .count()
        })
        .max()
        .unwrap_or(0)
}

#[test]
fn no_second_holds_more_than_the_rate_not_even_over_a_kill() {
    std::thread::scope(|scope| {
        for packets in [1, 10] {
            scope.spawn(move || keeps_the_rate(packets));
        }
    });
}

fn keeps_the_rate(packets: usize) {
    let gateway = Gateway::start(|_: &Post<'_>| Conduct {
        pause: millis(20),
        ..Conduct::honest()
    });
    let office = Office::open(
        &gateway,
        Setup {
            rows: 170,
            rate: "40/s",
            packets,
            ..Setup::default()
        },
    );
    for posts in [45, 90] {
        let mut run = office.start_pay();
        run.until("posts", || gateway.ledger.posts() >= posts);
        run.child.kill().unwrap();
        run.wait();
    }
    let started = Instant::now();
    assert_eq!(office.pay_to_the_end(3), 0);
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    check("rate", &gateway, &office, Some(0));
    // A request more than the rate: what left just outside the second may arrive just inside, on a machine that is busy. A
    // restart that did not know of the posts before it would double the rate.
    let busiest = busiest_second(&gateway);
    assert!(
        busiest <= 40 + packets,
        "{busiest} payments arrived within a second, {packets} in a request"
    );
    assert!(
        busiest >= 30,
        "only {busiest} payments in the busiest second"
    );
}
