//! The same people and amounts, paid through another service than before.

use std::time::Duration;

use disburse::domain::{BatchName, Instruction, ServiceCode};
use disburse::journal::{AlikeKind, LoadPlan, Loaded, RepeatPlan};
use disburse::ledger::repeats::{Terms, TermsByService};
use disburse::lifecycle::Class;

use crate::support::*;

/// Terms of a service whose references begin anew, beside the default ones.
fn restarting(service: &str) -> TermsByService {
    let terms = Terms {
        window: Duration::from_secs(60 * 60),
        references_restart: true,
    };
    TermsByService {
        services: [(ServiceCode::parse(service).unwrap(), terms)].into(),
        ..TermsByService::default()
    }
}

#[tokio::test]
async fn another_service_frees_no_reference_unless_both_say_that_references_begin_anew() {
    let world = World::new();
    world.load_new(plan(), rows(1..=3)).await;
    let token = world.acquire(1).await.token;
    for claim in world.claim(token, 100, 2).await {
        let paid = finding(claim.seq, reply(Class::Paid, 140));
        world.record(vec![paid], 3).await;
    }
    let moved: Vec<_> = (1..=3).map(|n| of_service(row(n), "OTHER")).collect();
    // The service of the new row, that of the one on record, and both.
    let mut both = restarting("OTHER");
    both.services.extend(restarting("B2C").services);
    for terms in both.services.values_mut() {
        terms.window = Terms::default().window;
    }
    for (terms, refused) in [
        (TermsByService::default(), true),
        (restarting("OTHER"), true),
        (restarting("B2C"), true),
        (both, false),
    ] {
        let plan = LoadPlan {
            dry_run: true,
            repeats: Some(RepeatPlan {
                terms: terms.clone(),
                ..RepeatPlan::default()
            }),
            ..other_batch("moved", 1)
        };
        let loaded = world.load(plan, moved.clone()).await;
        let Loaded::New(summary) = loaded else {
            assert!(refused, "{terms:?}: {loaded:?}");
            continue;
        };
        assert!(!refused, "{terms:?}");
        // What alone is left to tell is shown: the same people get the same amounts.
        assert_eq!(summary.alike[0].kind, AlikeKind::OtherService);
    }
}

#[tokio::test]
async fn the_same_people_through_another_service_are_shown_where_no_references_tell_them_apart() {
    type Case = (&'static str, fn(Instruction) -> Instruction, u64);
    let cases: [Case; 6] = [
        ("through another service", |row| of_service(row, "OTHER"), 3),
        ("the same payment is a repeat", |row| row, 0),
        (
            "another amount",
            |row| with_amount(of_service(row, "OTHER"), 7),
            0,
        ),
        (
            "with a reference against none",
            |mut other| {
                other.reference = row(other.line + 90).reference;
                of_service(other, "OTHER")
            },
            3,
        ),
        (
            "another recipient",
            |row| {
                let mut row = of_service(row, "OTHER");
                row.account_number = "0110".into();
                row
            },
            0,
        ),
        (
            "a service that nobody has used",
            |row| of_service(row, "NEW"),
            3,
        ),
    ];
    for (case, change, expected) in cases {
        let world = World::new();
        let first: Vec<_> = (1..=3).map(|n| nameless(n, n + 1)).collect();
        world.load_new(plan(), first.clone()).await;
        // A service that the journal knows, and that has nothing to do with it.
        let known = of_service(row(50), "OTHER");
        world.load_new(other_batch("known", 1), vec![known]).await;
        let again: Vec<_> = first.into_iter().map(change).collect();
        let loaded = world.load(other_batch("again", 1), again).await;
        let summary = match loaded {
            Loaded::New(summary) => summary,
            Loaded::Refused(_) => {
                assert_eq!(expected, 0, "{case}");
                continue;
            }
            other @ Loaded::AlreadyLoaded(_) => panic!("{case}: {other:?}"),
        };
        let shown: u64 = summary.alike.iter().map(|alike| alike.other.rows).sum();
        assert_eq!(shown, expected, "{case}: {:?}", summary.alike);
        if expected > 0 {
            assert_eq!(summary.alike[0].kind, AlikeKind::OtherService, "{case}");
            assert_eq!(summary.alike[0].lines, [2, 3, 4], "{case}");
        }
        let kept = world.journal.alike(BatchName::parse("again").unwrap());
        assert_eq!(kept.await.unwrap(), summary.alike, "{case}");
    }
}

#[tokio::test]
async fn rows_with_references_of_their_own_are_two_debts_through_two_services_and_shown() {
    let world = World::new();
    world.load_new(plan(), rows(1..=3)).await;
    let renamed: Vec<_> = (1..=3)
        .map(|n| {
            let mut other = of_service(row(n), "OTHER");
            other.reference = row(n + 90).reference;
            other
        })
        .collect();
    let summary = world.load_new(other_batch("again", 1), renamed).await;
    assert_eq!(summary.alike.len(), 1, "{:?}", summary.alike);
    assert_eq!(summary.alike[0].kind, AlikeKind::OtherService);
    assert_eq!(summary.alike[0].lines, [2, 3, 4]);
}
