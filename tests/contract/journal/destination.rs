//! Where a batch is to go, and the order that it goes elsewhere.

use std::sync::Arc;

use disburse::domain::Instruction;
use disburse::journal::{Error, Home, LoadPlan, Redirection, RunTerms, Upload};
use disburse::ledger::pin::Destination;
use disburse::lifecycle::{Class, Event};

use crate::support::*;

#[tokio::test]
async fn a_batch_is_taken_by_the_gateway_and_the_account_alone_that_it_was_loaded_for() {
    let of = |gateway: &str, account: &str, profile: &str| RunTerms {
        home: Home {
            gateway: gateway.into(),
            account: account.into(),
            profile: profile.into(),
            ..home()
        },
        ..terms(1)
    };
    let meant = Destination {
        gateway: "gateway".into(),
        user: "acme".into(),
        profile: "default".into(),
    };
    for (gateway, account, profile, is_taken) in [
        ("gateway", "acme", "default", true),
        ("gateway", "acme", "renamed", true),
        ("gateway", "acme-ltd", "default", false),
        ("gateway", "stranger", "daughter", false),
        ("elsewhere", "acme", "default", false),
        ("elsewhere", "stranger", "daughter", false),
    ] {
        let world = World::new();
        let plan = LoadPlan {
            destination: Some(meant.clone()),
            ..plan()
        };
        world.load_new(plan, rows(1..=2)).await;
        let before = world.contents();
        let acquire = |terms| {
            world
                .journal
                .acquire(batch(), terms, Arc::clone(&world.policy))
        };
        let taken = acquire(of(gateway, account, profile)).await;
        match &taken {
            Ok(_) => {}
            Err(Error::OtherDestination { meant: told, .. }) => {
                assert_eq!(**told, meant);
                assert_eq!(world.contents(), before, "a refusal changes nothing");
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(taken.is_ok(), is_taken, "{gateway} {account} {profile}");
        world.assert_adds_up();
        let reader = world.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        assert!(snapshot.prove(None).unwrap().is_sound());
    }
}

/// What the gateway has let in to nothing was mistyped: the same profile mends it, and is held to what it says then.
#[tokio::test]
async fn a_user_name_that_the_gateway_refused_is_mended_by_its_profile_alone() {
    let of = |account: &str, profile: &str, secs| RunTerms {
        home: Home {
            account: account.into(),
            profile: profile.into(),
            ..home()
        },
        ..terms(secs)
    };
    let world = World::new();
    let plan = LoadPlan {
        destination: Some(of("amce", "default", 0).home.destination()),
        ..plan()
    };
    world.load_new(plan, rows(1..=2)).await;
    let acquire = |terms| {
        world
            .journal
            .acquire(batch(), terms, Arc::clone(&world.policy))
    };
    let refused = async |terms: RunTerms| {
        let at = terms.now;
        match acquire(terms).await {
            Err(Error::OtherDestination { .. }) => {}
            Err(error) => panic!("{at}: {error}"),
            Ok(_) => panic!("{at}: it is taken"),
        }
    };
    refused(of("acme", "default", 1)).await;
    let token = acquire(of("amce", "default", 2)).await.unwrap().token;
    refused(of("acme", "default", 3)).await;
    let seq = world.claim(token, 1, 3).await[0].seq;
    world
        .record(vec![finding(seq, Event::Unauthorised)], 4)
        .await;
    refused(of("acme", "daughter", 5)).await;
    acquire(of("acme", "default", 6)).await.unwrap();
    let told = world.journal.destination(batch()).await.unwrap().unwrap();
    assert_eq!(told.user, "acme");
    refused(of("amce", "daughter", 7)).await;
    acquire(of("acme", "renamed", 8)).await.unwrap();
}

fn at_home(gateway: &str, account: &str) -> Home {
    Home {
        gateway: gateway.into(),
        account: account.into(),
        profile: "daughter".into(),
        ..home()
    }
}

/// A batch that was loaded for `acme` at `gateway`.
async fn destined(rows: Vec<Instruction>) -> World {
    let world = World::new();
    let plan = LoadPlan {
        destination: Some(home().destination()),
        ..plan()
    };
    world.load_new(plan, rows).await;
    world
}

async fn redirect(
    world: &World,
    home: Home,
    (gateway, account): (bool, bool),
) -> Result<(Option<Destination>, u64), Error> {
    let order = Redirection {
        home,
        gateway,
        account,
        reason: "sold".into(),
    };
    world.journal.redirect(batch(), order, at(5)).await
}

async fn stands(world: &World) -> (String, String) {
    let place = world.journal.place(batch()).await.unwrap().unwrap();
    (place.gateway, place.user)
}

fn is_sound(world: &World) -> bool {
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    snapshot.prove(None).unwrap().is_sound()
}

/// Whether it was tied before or not, what was ordered is on record in one step, and the next run takes it.
#[tokio::test]
async fn a_batch_of_which_nothing_is_anywhere_goes_where_an_order_names_all_that_is_another_one() {
    for tied in [false, true] {
        for (gateway, account, named, moves) in [
            ("gateway", "stranger", (false, true), true),
            ("gateway", "stranger", (true, false), false),
            ("elsewhere", "acme", (true, false), true),
            ("elsewhere", "acme", (false, true), false),
            ("elsewhere", "stranger", (true, true), true),
            ("elsewhere", "stranger", (true, false), false),
            ("elsewhere", "stranger", (false, true), false),
        ] {
            let world = destined(rows(1..=2)).await;
            if tied {
                let token = world.acquire(1).await.token;
                let seq = world.claim(token, 1, 2).await[0].seq;
                world.record(vec![finding(seq, Event::Unsent)], 3).await;
            }
            let before = world.contents();
            let moved = redirect(&world, at_home(gateway, account), named).await;
            let case = format!("{tied} {gateway} {account} {named:?}");
            match moved {
                Ok((from, decided)) => {
                    assert_eq!(from.unwrap().user, "acme", "{case}");
                    assert_eq!(decided, 0);
                    assert_eq!(
                        stands(&world).await,
                        (gateway.into(), account.into()),
                        "{case}"
                    );
                    let terms = RunTerms {
                        home: at_home(gateway, account),
                        ..terms(6)
                    };
                    let taken = world
                        .journal
                        .acquire(batch(), terms, Arc::clone(&world.policy));
                    taken.await.unwrap();
                    let back = RunTerms {
                        ..crate::support::terms(7)
                    };
                    let taken = world
                        .journal
                        .acquire(batch(), back, Arc::clone(&world.policy));
                    assert!(taken.await.is_err(), "{case}");
                }
                Err(Error::OtherDestination { .. }) => {
                    assert_eq!(
                        world.contents(),
                        before,
                        "a refusal changes nothing: {case}"
                    );
                }
                Err(error) => panic!("{case}: {error}"),
            }
            assert_eq!(
                stands(&world).await.1 != "acme" || stands(&world).await.0 != "gateway",
                moves,
                "{case}"
            );
            world.assert_adds_up();
            assert!(is_sound(&world), "{case}");
        }
    }
}

#[tokio::test]
async fn a_batch_of_which_something_may_be_there_is_moved_by_no_word() {
    for event in [
        Event::Lost,
        reply(Class::Acknowledged, 139),
        reply(Class::Paid, 140),
    ] {
        let world = destined(rows(1..=2)).await;
        let token = world.acquire(1).await.token;
        let seq = world.claim(token, 1, 2).await[0].seq;
        world.record(vec![finding(seq, event)], 3).await;
        let before = world.contents();
        let moved = redirect(&world, at_home("elsewhere", "stranger"), (true, true)).await;
        let error = moved.unwrap_err();
        assert!(matches!(error, Error::OtherDestination { .. }), "{error}");
        assert_eq!(world.contents(), before, "a refusal changes nothing");
    }
}

/// The reference of a document is that of the file service that took it.
#[tokio::test]
async fn a_batch_whose_documents_were_uploaded_goes_nowhere_else() {
    let with_document = Instruction {
        document: Some(document("1.pdf", "/srv/pay")),
        ..row(1)
    };
    let world = destined(vec![with_document]).await;
    let due = world
        .journal
        .documents_due(batch(), disburse::domain::PaymentId::NONE, 1);
    let upload = Upload {
        at: at(1),
        digest: [7; 32],
        bytes: 12_345,
        reference: "DOC-1".into(),
        reply: "{}".into(),
    };
    let seq = due.await.unwrap()[0].seq;
    world.journal.record_upload(seq, upload).await.unwrap();
    let before = world.contents();
    let moved = redirect(&world, at_home("elsewhere", "acme"), (true, false)).await;
    let error = moved.unwrap_err();
    assert!(
        matches!(error, Error::DocumentsElsewhere { count: 1, .. }),
        "{error}"
    );
    assert_eq!(world.contents(), before, "a refusal changes nothing");
}
