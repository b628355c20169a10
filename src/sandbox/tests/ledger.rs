//! The books by themselves: one row per case.

use std::sync::Arc;

use super::*;
use crate::domain::{Amount, Currency, Money, PaymentKind, Timestamp};
use crate::sandbox::books::documents::Document;
use crate::sandbox::books::event::{Event, Post};
use crate::sandbox::books::ledger::{Decision, Ledger};
use crate::sandbox::books::verdict::Standing;

fn post(id: &str, minor: i64) -> Post {
    Post {
        id: id.into(),
        service: "S".into(),
        kind: PaymentKind::MobileMoney,
        money: Money {
            amount: Amount::from_minor(minor).unwrap(),
            currency: Currency::from_code("KES").unwrap(),
        },
        msisdn: "254712345678".into(),
        account: "254712345678".into(),
        callback: None,
        digest: u64::try_from(minor).unwrap(),
    }
}

fn accepted(number: u64, id: &str, minor: i64) -> Event {
    Event::accepted(
        number,
        1,
        Timestamp::from_millis(5),
        Arc::new(post(id, minor)),
    )
}

/// An acceptance of another kind of payment.
fn transfer(id: &str, kind: PaymentKind) -> Event {
    let post = Post {
        kind,
        ..post(id, 100)
    };
    Event::accepted(1, 1, Timestamp::from_millis(5), Arc::new(post))
}

fn settled(number: u64, paid: bool) -> Event {
    Event::Settled {
        number,
        paid,
        callback: false,
    }
}

fn refused(id: &str, code: u16) -> Event {
    Event::Refused {
        id: id.into(),
        digest: 100,
        code,
        why: None,
    }
}

fn ignored(id: &str) -> Event {
    Event::Ignored {
        id: id.into(),
        digest: 100,
    }
}

/// A service with a float of 10.00.
fn ledger(duplicate_check: bool, shortage: Option<u64>) -> Ledger {
    let service = Service::parse("S", "KES", "0.01", "100.00", "10.00").unwrap();
    Ledger::new(
        &[service],
        duplicate_check,
        shortage.map(|after| ("S", after)),
    )
}

#[test]
fn what_events_make_of_an_identifier() {
    let late = Event::Deferred {
        key: 4,
        attempt: 1,
        post: Arc::new(post("P", 100)),
    };
    let late_accepted = Event::Accepted {
        number: 1,
        attempt: 1,
        at_ms: 5,
        post: Arc::new(post("P", 100)),
        deferred: Some(4),
    };
    // events; standing, executions, posts, balance
    let cases = [
        (vec![ignored("P")], (Standing::Unknown, 0, 1, "10.00")),
        (
            vec![refused("P", 110)],
            (Standing::Refused(110), 0, 1, "10.00"),
        ),
        (
            vec![refused("P", 110), refused("P", 111)],
            (Standing::Refused(111), 0, 2, "10.00"),
        ),
        (
            vec![accepted(1, "P", 100)],
            (Standing::Pending, 0, 1, "10.00"),
        ),
        (
            vec![refused("P", 230), accepted(1, "P", 100)],
            (Standing::Pending, 0, 2, "10.00"),
        ),
        (
            vec![accepted(1, "P", 100), settled(1, true)],
            (Standing::Paid, 1, 1, "9.00"),
        ),
        (
            vec![accepted(1, "P", 100), settled(1, false)],
            (Standing::Failed(141), 0, 1, "10.00"),
        ),
        (
            vec![transfer("P", PaymentKind::Rtgs)],
            (Standing::Delivered, 0, 1, "10.00"),
        ),
        (
            vec![transfer("P", PaymentKind::Rtgs), settled(1, true)],
            (Standing::Paid, 1, 1, "9.00"),
        ),
        (
            vec![transfer("P", PaymentKind::Rtgs), settled(1, false)],
            (Standing::Failed(180), 0, 1, "10.00"),
        ),
        (
            vec![transfer("P", PaymentKind::BillPrepaid), settled(1, false)],
            (Standing::Failed(180), 0, 1, "10.00"),
        ),
        (
            vec![
                refused("P", 110),
                Event::FloatAdded {
                    service: "S".into(),
                    minor: 50,
                },
            ],
            (Standing::Refused(110), 0, 1, "10.50"),
        ),
        (
            vec![accepted(1, "P", 100), settled(1, true), settled(1, true)],
            (Standing::Paid, 1, 1, "9.00"),
        ),
        (
            vec![accepted(1, "P", 100), settled(1, true), ignored("P")],
            (Standing::Paid, 1, 2, "9.00"),
        ),
        (
            vec![accepted(1, "P", 100), settled(1, true), refused("P", 110)],
            (Standing::Paid, 1, 2, "9.00"),
        ),
        (
            vec![
                accepted(1, "P", 100),
                settled(1, true),
                accepted(2, "P", 100),
                settled(2, true),
            ],
            (Standing::Paid, 2, 2, "8.00"),
        ),
        (
            vec![
                accepted(1, "P", 100),
                settled(1, true),
                accepted(2, "P", 100),
                settled(2, false),
            ],
            (Standing::Paid, 1, 2, "9.00"),
        ),
        (vec![late.clone()], (Standing::Unknown, 0, 1, "10.00")),
        (
            vec![late.clone(), Event::Lapsed { key: 4 }],
            (Standing::Unknown, 0, 1, "10.00"),
        ),
        (
            vec![late, late_accepted, settled(1, true)],
            (Standing::Paid, 1, 1, "9.00"),
        ),
    ];
    for (index, (events, expected)) in cases.into_iter().enumerate() {
        let mut ledger = ledger(true, None);
        for event in events {
            ledger.apply(event);
        }
        let row = ledger.executions().remove(0);
        let balance = ledger.floats().remove(0).balance;
        let found = (row.standing, row.executions, row.posts, balance.as_str());
        assert_eq!(found, expected, "case {index}");
    }
}

#[test]
fn decisions_follow_float_shortage_and_duplicates() {
    use Decision::{Accept, Duplicate, NoFloat};
    let short = |begins| NoFloat { begins };
    // duplicate check, shortage after, events, amount; decision
    let cases = [
        (true, None, vec![], 1000, Accept),
        (true, None, vec![], 1001, short(None)),
        (true, None, vec![refused("P", 110)], 100, Accept),
        (true, None, vec![accepted(1, "P", 100)], 100, Duplicate),
        (false, None, vec![accepted(1, "P", 100)], 100, Accept),
        (true, None, vec![accepted(1, "P", 100)], 5000, Duplicate),
        (true, None, vec![accepted(1, "Q", 600)], 500, short(None)),
        (
            true,
            None,
            vec![accepted(1, "Q", 600), settled(1, true)],
            500,
            short(None),
        ),
        (
            true,
            None,
            vec![accepted(1, "Q", 600), settled(1, false)],
            500,
            Accept,
        ),
        (true, Some(0), vec![], 100, short(Some(0))),
        (true, Some(1), vec![], 100, Accept),
        (
            true,
            Some(1),
            vec![accepted(1, "Q", 1)],
            100,
            short(Some(0)),
        ),
        (
            true,
            Some(0),
            vec![Event::ShortOfFloat { service: 0 }],
            100,
            short(None),
        ),
        (
            true,
            Some(0),
            vec![
                Event::ShortOfFloat { service: 0 },
                Event::FloatAdded {
                    service: "S".into(),
                    minor: 500,
                },
            ],
            1500,
            Accept,
        ),
        (
            true,
            Some(0),
            vec![
                Event::ShortOfFloat { service: 0 },
                Event::ToppedUp { service: 0 },
            ],
            2000,
            Accept,
        ),
    ];
    for (index, (check, after, events, minor, expected)) in cases.into_iter().enumerate() {
        let mut ledger = ledger(check, after);
        for event in events {
            ledger.apply(event);
        }
        assert_eq!(ledger.decide(&post("P", minor)), expected, "case {index}");
    }
}

#[test]
fn the_verdict_counts_every_identifier_once() {
    let mut ledger = ledger(false, None);
    for event in [
        accepted(1, "once", 100),
        settled(1, true),
        accepted(2, "twice", 100),
        accepted(3, "twice", 50),
        settled(2, true),
        settled(3, true),
        accepted(4, "failed", 100),
        settled(4, false),
        accepted(5, "pending", 100),
        refused("refused", 110),
        ignored("unheard"),
    ] {
        ledger.apply(event);
    }
    let verdict = ledger.verdict();
    assert_eq!(
        (
            verdict.executed_once,
            verdict.executed_more,
            verdict.never_executed,
            verdict.pending
        ),
        (1, 1, 3, 1)
    );
    assert_eq!((verdict.altered, verdict.posts), (1, 7));
    // Each execution with its own amount.
    assert_eq!(verdict.amounts.decimals()["KES"], "2.50");
}

#[test]
fn a_query_learns_the_code_of_the_standing() {
    for (standing, code) in [
        (Standing::Unknown, 143),
        (Standing::Refused(110), 110),
        (Standing::Refused(230), 143),
        (Standing::Pending, 139),
        (Standing::Paid, 140),
        (Standing::Delivered, 148),
        (Standing::Failed(141), 141),
        (Standing::Failed(180), 180),
    ] {
        assert_eq!(standing.code(), code);
    }
}

#[test]
fn events_survive_their_line_in_the_file() {
    let with_callback = Event::Deferred {
        key: 9,
        attempt: 2,
        post: Arc::new(Post {
            callback: Some("http://127.0.0.1/x".into()),
            digest: u64::MAX,
            ..post("P", 150_050)
        }),
    };
    for event in [
        ignored("P"),
        refused("P", 110),
        with_callback,
        Event::Lapsed { key: 9 },
        accepted(1, "P", 150_050),
        settled(1, true),
        Event::Called { id: "P".into() },
        Event::ShortOfFloat { service: 0 },
        Event::ToppedUp { service: 0 },
        Event::Refused {
            id: "P".into(),
            digest: 1,
            code: 174,
            why: Some("countryCode is missing".into()),
        },
        Event::FloatAdded {
            service: "S".into(),
            minor: 5,
        },
        Event::Uploaded {
            id: "P".into(),
            document: Document {
                reference: "DOC-1".into(),
                name: "invoice.pdf".into(),
                size: 9,
                sha256: "00".into(),
            },
        },
        transfer("P", PaymentKind::Rtgs),
        transfer("P", PaymentKind::BillPrepaid),
    ] {
        let line = serde_json::to_string(&event).unwrap();
        let read: Event = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }
}
