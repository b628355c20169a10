//! Each fault seen from outside, and the plan by itself.

use std::time::Instant;

use super::*;
use crate::sandbox::faults::plan::{Draw, Plan};

#[tokio::test]
async fn a_fault_before_execution_leaves_nothing_behind() {
    for fault in [Fault::ErrorBefore, Fault::DropBefore, Fault::Throttle] {
        let bench = Bench::start(always(fault)).await;
        let reply = bench.post(&packet("P")).await;
        match fault {
            Fault::ErrorBefore => assert!(reply.unwrap().status >= 500),
            Fault::Throttle => assert_eq!(reply.unwrap().status, 429),
            _ => assert!(reply.is_err()),
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(bench.query("P").await.code(), 143, "{fault:?}");
        let verdict = bench.sandbox.verdict();
        assert_eq!((verdict.posts, verdict.never_executed), (1, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn a_fault_after_execution_hides_it_but_does_not_undo_it() {
    for fault in [
        Fault::ErrorAfter,
        Fault::DropAfter,
        Fault::TruncatedReply,
        Fault::MissingEntry,
        Fault::ForeignEntry,
        Fault::GarbageReply,
    ] {
        let bench = Bench::start(always(fault)).await;
        let reply = bench.post(&packet("P")).await;
        match fault {
            Fault::ErrorAfter => assert!(reply.unwrap().status >= 500),
            Fault::MissingEntry => assert_eq!(reply.unwrap().json()["results"], json!([])),
            Fault::ForeignEntry => {
                let entry = reply.unwrap().json()["results"][0].clone();
                assert_ne!(entry["payerTransactionID"], "P");
            }
            Fault::GarbageReply => {
                let reply = reply.unwrap();
                assert_eq!(reply.status, 200);
                assert!(reply.text.starts_with("<!DOCTYPE html>"));
            }
            _ => assert!(reply.is_err(), "{fault:?}"),
        }
        assert_eq!(bench.settled("P").await.code(), 140, "{fault:?}");
        assert_eq!(bench.executions("P"), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn server_errors_come_with_a_page_with_nothing_and_with_json() {
    let bench = Bench::start(always(Fault::ErrorBefore)).await;
    let mut forms = std::collections::BTreeSet::new();
    for index in 0..40 {
        let reply = bench.post(&packet(&format!("P{index}"))).await.unwrap();
        forms.insert(reply.text.chars().next());
    }
    assert_eq!(forms, [None, Some('<'), Some('{')].into());
}

#[tokio::test]
async fn a_throttled_post_is_told_when_to_come_back() {
    let bench = Bench::start(always(Fault::Throttle)).await;
    let url = format!("{}/v1/global-api/payments", bench.sandbox.base_url());
    let body = envelope("GATEWAY.postPayment", &format!("[{}]", packet("P")));
    let reply = bench.client.post(url).body(body).send().await.unwrap();
    assert_eq!(reply.headers()["retry-after"], "1");
}

#[tokio::test]
async fn a_slow_reply_is_slow_and_sound() {
    let mut options = always(Fault::SlowReply);
    options.faults.slow_reply_ms = 300..=400;
    let bench = Bench::start(options).await;
    let begun = Instant::now();
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 139);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(bench.executions("P"), 1);
}

#[tokio::test]
async fn a_late_post_is_unknown_first_and_executed_in_the_end() {
    let mut options = always(Fault::LateExecution);
    options.faults.late_execution_ms = 200..=250;
    let bench = Bench::start(options).await;
    assert_eq!(bench.post(&packet("P")).await.unwrap().status, 504);
    assert_eq!(bench.query("P").await.code(), 143);
    // The second one waits as well, and finds the identifier taken.
    assert_eq!(bench.post(&packet("P")).await.unwrap().status, 504);
    bench
        .until("it executes", |sandbox| {
            sandbox.verdict().executed_once == 1
        })
        .await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(bench.executions("P"), 1);
    assert_eq!(bench.sandbox.executions()[0].posts, 2);
}

#[tokio::test]
async fn a_rejected_payment_is_acknowledged_and_never_executed() {
    let bench = Bench::start(always(Fault::Reject)).await;
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 139);
    assert_eq!(bench.settled("P").await.code(), 141);
    assert_eq!(bench.executions("P"), 0);
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 229);
    let float = &bench.ledger(true).await["services"]["B2C_MPESA"];
    assert_eq!(float["reserved"], "0.00");
    assert_eq!(float["float"], "50000000000.00");
}

#[tokio::test]
async fn a_refused_post_has_one_of_the_refusal_codes() {
    let bench = Bench::start(always(Fault::Refuse)).await;
    let code = bench.post(&packet("P")).await.unwrap().code();
    assert!([106, 110, 120].contains(&code));
    assert_eq!(bench.query("P").await.code(), code);
    assert_eq!(bench.executions("P"), 0);
}

#[tokio::test]
async fn a_query_may_fail_or_deny_once() {
    let bench = Bench::start(always(Fault::QueryError)).await;
    bench.post(&packet("P")).await.unwrap();
    assert!(bench.query("P").await.status >= 500);

    let bench = Bench::start(always(Fault::QueryLiesNotFound)).await;
    bench.post(&packet("P")).await.unwrap();
    assert_eq!(bench.query("P").await.code(), 143);
    assert_ne!(bench.query("P").await.code(), 143);

    let mut options = always(Fault::QueryLiesNotFound);
    options.faults.query_lies_within_ms = 30;
    let bench = Bench::start(options).await;
    bench.post(&packet("P")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(bench.query("P").await.code(), 140);
}

#[tokio::test]
async fn a_float_shortage_begins_after_its_count_and_ends_by_itself() {
    let bench = Bench::start(quick_with(Faults::none().short("B2C_MPESA", 2, 300))).await;
    let mut codes = Vec::new();
    for index in 0..4 {
        codes.push(
            bench
                .post(&packet(&format!("P{index}")))
                .await
                .unwrap()
                .code(),
        );
    }
    assert_eq!(codes, [139, 139, 230, 230]);
    let other = packet("Q").replace("B2C_MPESA", "B2C_AIRTEL");
    assert_eq!(bench.post(&other).await.unwrap().code(), 139);
    bench
        .until("topped up", |sandbox| !sandbox.floats()[0].short)
        .await;
    assert_eq!(bench.post(&packet("P3")).await.unwrap().code(), 139);
    assert_eq!(bench.post(&packet("P4")).await.unwrap().code(), 139);
}

/// Posts in the given order; returns what became of each identifier.
async fn outcomes(seed: u64, order: impl Iterator<Item = u32>) -> Vec<(String, String)> {
    let mut faults = Faults::hostile();
    faults.float_shortage = None;
    faults.slow_reply_ms = 1..=5;
    faults.late_execution_ms = 10..=20;
    let bench = Bench::start(Options {
        seed,
        ..quick_with(faults)
    })
    .await;
    for index in order {
        let _ = bench.post(&packet(&format!("P{index}"))).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let rows = bench.sandbox.executions().into_iter();
    rows.map(|row| (row.id.to_string(), format!("{:?}", row.standing)))
        .collect()
}

#[tokio::test]
async fn the_same_seed_gives_the_same_run_in_any_order() {
    let first = outcomes(7, 0..120).await;
    assert_eq!(first, outcomes(7, (0..120).rev()).await);
    assert_ne!(first, outcomes(8, 0..120).await);
}

/// Brings one payment to its end as a careful client does: in doubt it asks, and posts again only after "not found"
/// three times in a row.
async fn patiently(bench: &Bench, id: &str) -> i64 {
    let mut not_found = 3;
    for _ in 0..400 {
        if not_found >= 3 {
            let _ = bench.post(&packet(id)).await;
            not_found = 0;
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
        let reply = bench.query(id).await;
        match (reply.status, reply.status == 200 && reply.code() == 143) {
            (200, true) => not_found += 1,
            (200, false) if reply.code() != 139 => return reply.code(),
            _ => {}
        }
    }
    panic!("{id} comes to no end");
}

#[tokio::test]
async fn hostile_as_it_is_a_careful_client_brings_every_payment_to_one_end() {
    let mut faults = Faults::hostile().short("B2C_MPESA", 50, 200);
    faults.slow_reply_ms = 5..=20;
    faults.late_execution_ms = 10..=20;
    let options = quick_with(faults);
    let bench = Arc::new(Bench::start(options).await);
    let mut clients = tokio::task::JoinSet::new();
    for index in 0..200 {
        let bench = bench.clone();
        clients.spawn(async move { patiently(&bench, &format!("P{index}")).await });
    }
    let codes = clients.join_all().await;
    let paid = codes.iter().filter(|code| **code == 140).count() as u64;
    let verdict = bench.sandbox.verdict();
    assert_eq!((verdict.executed_once, verdict.executed_more), (paid, 0));
    assert_eq!(verdict.never_executed, 200 - paid);
    assert_eq!((verdict.pending, verdict.altered), (0, 0));
    assert!(paid > 150 && verdict.posts > 200, "{verdict:?}");
}

#[test]
fn faults_happen_as_often_as_they_are_said_to() {
    let plan = Plan::new(3, Faults::realistic());
    let ids: Vec<_> = (0..40_000).map(|index| format!("ID{index}")).collect();
    let share = |fault: Fault| {
        let drawn = |id: &String| {
            [
                plan.reply(id, 1),
                plan.outcome(id, 1),
                plan.callback(id, 1),
                plan.query(id, 1),
            ]
        };
        let count = ids.iter().filter(|id| drawn(id).contains(&Some(fault)));
        count.count() as f64 / ids.len() as f64
    };
    for (fault, name) in Fault::ALL {
        let expected = plan.faults.chance(fault);
        let found = share(fault);
        assert!(
            (found - expected).abs() < 0.004,
            "{name}: {found} of {expected}"
        );
    }
}

#[test]
fn the_table_of_names_follows_the_faults() {
    for (index, (fault, _)) in Fault::ALL.iter().enumerate() {
        assert_eq!(*fault as usize, index);
    }
}

#[test]
fn draws_depend_on_seed_identifier_attempt_and_purpose() {
    let plan = Plan::new(1, Faults::none());
    let base = plan.bits(Draw::Settle, "A", 1);
    assert_eq!(
        base,
        Plan::new(1, Faults::hostile()).bits(Draw::Settle, "A", 1)
    );
    for other in [
        Plan::new(2, Faults::none()).bits(Draw::Settle, "A", 1),
        plan.bits(Draw::Settle, "B", 1),
        plan.bits(Draw::Settle, "A", 2),
        plan.bits(Draw::SlowReply, "A", 1),
    ] {
        assert_ne!(base, other);
    }
    for attempt in 0..1000 {
        let range = 7..=9;
        assert!(range.contains(&plan.within(&range, Draw::Settle, "A", attempt)));
    }
}

#[test]
fn fault_files_are_read_or_refused_with_the_nearest_name() {
    let text = "error_before = 0.25\nreject = 1\nslow_reply_ms = [5, 6]\nquery_lies_within_ms = 9\n\
        [float_shortage]\nservice = \"S\"\nafter = 3\ntopped_up_after_ms = 40\n";
    let mut expected = Faults::none()
        .with(Fault::ErrorBefore, 0.25)
        .with(Fault::Reject, 1.0)
        .short("S", 3, 40);
    expected.slow_reply_ms = 5..=6;
    expected.query_lies_within_ms = 9;
    assert_eq!(Faults::from_toml(text).unwrap(), expected);
    for (text, part) in [
        ("eror_before = 0.1", "nearest name is \"error_before\""),
        ("slow_reply = \"often\"", "slow_reply must be from 0 to 1"),
        ("drop_after = 1.5", "drop_after must be from 0 to 1"),
        ("drop_after = nan", "drop_after must be from 0 to 1"),
        (
            "drop_after = 0.7\ndrop_before = 0.7",
            "not add up to more than 1",
        ),
        ("slow_reply_ms = 5", "two numbers of milliseconds"),
        ("slow_reply_ms = [6, 5]", "ends before it begins"),
        ("slow_reply_ms = [6, 5000000]", "at most 600000"),
        (
            "[float_shortage]\nservise = \"S\"",
            "nearest name is \"service\"",
        ),
        (
            "[float_shortage]\nservice = \"S\"",
            "after must be a number of payments",
        ),
        ("drop_after = ", "fault plan"),
    ] {
        let error = Faults::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for preset in ["none", "realistic", "hostile"] {
        assert!(Faults::load(preset).unwrap().check().is_ok());
    }
    assert!(Faults::load("no-such-file.toml").is_err());
}
