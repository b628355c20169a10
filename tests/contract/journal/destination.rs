//! Where a batch is to go, and the order that it goes elsewhere.

use std::sync::Arc;

use disburse::domain::Instruction;
use disburse::journal::{Claim, WaitsFor};
use disburse::journal::{Error, Home, LoadPlan, Redirection, RunTerms, Upload};
use disburse::ledger::decisions::Heard;
use disburse::ledger::moves::Move;
use disburse::ledger::pin::Destination;
use disburse::lifecycle::{Class, Event};

use super::generations::Row;
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

fn terms_of(account: &str, profile: &str, secs: i64) -> RunTerms {
    RunTerms {
        home: Home {
            account: account.into(),
            profile: profile.into(),
            ..home()
        },
        ..terms(secs)
    }
}

async fn acquire(world: &World, terms: RunTerms) -> Result<disburse::journal::RunToken, Error> {
    let policy = Arc::clone(&world.policy);
    let taken = world.journal.acquire(batch(), terms, policy).await;
    taken.map(|taken| taken.token)
}

async fn is_refused(world: &World, terms: RunTerms) -> bool {
    let before = world.contents();
    let refused = match acquire(world, terms).await {
        Err(Error::OtherDestination { .. }) => true,
        Err(error) => panic!("{error}"),
        Ok(_) => false,
    };
    assert!(
        !refused || world.contents() == before,
        "a refusal changes nothing"
    );
    refused
}

/// Whoever loaded it named no account, or had no key: what it is posted with first counts from then on.
#[tokio::test]
async fn a_batch_is_held_to_the_account_that_it_begins_with() {
    for loaded_for in [None, Some("acme")] {
        let world = World::new();
        let destination = loaded_for.map(|user| terms_of(user, "default", 0).home.destination());
        let plan = LoadPlan {
            destination,
            ..plan()
        };
        world.load_new(plan, rows(1..=2)).await;
        if loaded_for.is_some() {
            // The same user name with a key, in another profile, is somebody else.
            assert!(is_refused(&world, terms_of("acme#0a1b2c3d", "daughter", 1)).await);
        }
        let token = acquire(&world, terms_of("acme#0a1b2c3d", "default", 2)).await;
        let seq = world.claim(token.unwrap(), 1, 3).await[0].seq;
        let refusal = reply(Class::Refused, 110);
        world.record(vec![finding(seq, refusal)], 4).await;
        let told = world.journal.destination(batch()).await.unwrap().unwrap();
        assert_eq!(told.user, "acme#0a1b2c3d");
        for (account, profile) in [
            ("acme#ffffffff", "default"),
            ("acme#ffffffff", "daughter"),
            ("acme", "default"),
            ("stranger", "daughter"),
        ] {
            assert!(
                is_refused(&world, terms_of(account, profile, 5)).await,
                "{loaded_for:?} {account} {profile}"
            );
        }
        assert!(!is_refused(&world, terms_of("acme#0a1b2c3d", "renamed", 6)).await);
        assert!(is_sound(&world));
    }
}

/// What was posted without a key was posted by whoever that is; a key that comes later may be anybody's.
#[tokio::test]
async fn a_key_that_is_shown_once_a_batch_has_gone_somewhere_is_another_account() {
    let world = destined(rows(1..=2)).await;
    let token = acquire(&world, terms_of("acme", "default", 1)).await;
    let seq = world.claim(token.unwrap(), 1, 2).await[0].seq;
    world
        .record(vec![finding(seq, reply(Class::Refused, 110))], 3)
        .await;
    let with_key = terms_of("acme#0a1b2c3d", "default", 4);
    assert!(is_refused(&world, with_key.clone()).await);
    let moved = redirect(&world, with_key.home.clone(), (false, true)).await;
    assert_eq!(moved.unwrap().0.unwrap().user, "acme");
    assert!(!is_refused(&world, with_key).await);
    assert!(is_refused(&world, terms_of("acme", "default", 6)).await);
}

/// A place that had no float may pay later, under an identifier that the other place would have as well.
#[tokio::test]
async fn what_waits_for_float_is_cancelled_before_its_batch_is_sent_elsewhere() {
    let world = destined(rows(1..=3)).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    world
        .record(vec![finding(seq, reply(Class::NoFloat, 230))], 3)
        .await;
    let stranger = || at_home("gateway", "stranger");
    let before = world.contents();
    let error = redirect(&world, stranger(), (false, true))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::AwaitedElsewhere { count: 1, .. }),
        "{error}"
    );
    assert_eq!(world.contents(), before, "a refusal changes nothing");
    let waits = world
        .payments()
        .into_iter()
        .find(|record| record.payment.id == world.identifiers()[0]);
    let id = waits.unwrap().payment.id.to_string();
    let cancelled = world.journal.cancel(batch(), Some(id.into()), moment(4));
    assert_eq!(cancelled.await.unwrap(), 1);
    redirect(&world, stranger(), (false, true)).await.unwrap();
    assert!(is_sound(&world));
}

/// What the place before has told of, however late, shows nothing of the one that the batch was sent to.
#[tokio::test]
async fn a_payment_that_ended_before_a_batch_was_moved_is_no_witness_for_the_way_back() {
    let world = destined(rows(1..=2)).await;
    let token = world.acquire(1).await.token;
    let first = world.claim(token, 1, 2).await[0].clone();
    world
        .record(vec![finding(first.seq, reply(Class::Refused, 110))], 3)
        .await;
    let stranger = || at_home("gateway", "stranger");
    redirect(&world, stranger(), (false, true)).await.unwrap();
    let terms = RunTerms {
        home: stranger(),
        ..terms(6)
    };
    let token = acquire(&world, terms).await.unwrap();
    let second = world.claim(token, 1, 7).await[0].clone();
    world
        .record(vec![finding(second.seq, Event::Lost)], 8)
        .await;
    let paid = note(first.payment.id, Class::Paid, 140, 9);
    world.callback(paid, 9).await;
    let witnesses = async || world.journal.witnesses(batch(), 9).await.unwrap();
    assert!(witnesses().await.is_empty());
    let needs = world.journal.account_move(batch(), home()).await.unwrap();
    assert_eq!(needs, ("stranger".to_owned(), Move::Impossible));
    // What this place has shown to have can.
    world
        .record(
            vec![finding(second.seq, answer(Class::Acknowledged, 139))],
            10,
        )
        .await;
    let shown: Vec<_> = witnesses().await.iter().map(|shown| shown.seq).collect();
    assert_eq!(shown, [second.seq]);
}

/// What was let in once is no name that was mistyped, whatever is said last.
#[tokio::test]
async fn a_user_name_is_mended_only_where_the_gateway_let_it_in_to_nothing() {
    let not_let_in = Event::Unauthorised;
    for (said, is_mended) in [
        (vec![not_let_in], true),
        (vec![Event::Unsent, not_let_in], true),
        (vec![not_let_in, Event::Unsent], true),
        (vec![Event::Unsent], false),
        (vec![reply(Class::Refused, 110), not_let_in], false),
        (vec![not_let_in, reply(Class::Refused, 110)], false),
        (vec![reply(Class::NoFloat, 230), not_let_in], false),
    ] {
        let world = destined(rows(1..=3)).await;
        let token = acquire(&world, terms_of("acme", "default", 1)).await;
        let token = token.unwrap();
        for event in &said {
            let claim: Claim = world.claim(token, 1, 2).await.remove(0);
            world.record(vec![finding(claim.seq, *event)], 3).await;
            world
                .journal
                .resume_lane(batch(), "B2C".into(), at(4))
                .await
                .ok();
        }
        let found = !is_refused(&world, terms_of("acme-ltd", "default", 9)).await;
        assert_eq!(found, is_mended, "{said:?}");
    }
}

/// The place that a batch was sent to knows nothing of what had ended before: neither its "not found" nor its "failed" lets a retry leave.
#[tokio::test]
async fn a_retry_of_what_was_posted_before_a_batch_was_moved_waits_for_a_word_that_is_given_since()
{
    for (retried_first, insists) in [(true, false), (true, true), (false, false)] {
        let world = destined(rows(1..=1)).await;
        let first = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        let seq = world.claim(token, 1, 2).await[0].seq;
        world.record(vec![finding(seq, Event::Lost)], 3).await;
        let row = Row { world, first };
        let call_failed = async |row: &Row| row.fails_expressly(Some(Heard::Nothing), true).await;
        call_failed(&row).await.unwrap();
        let retry = async |row: &Row| {
            let retried = row.world.journal.retry(batch(), None, at(200_001));
            assert_eq!(retried.await.unwrap(), 1);
        };
        if retried_first {
            retry(&row).await;
        }
        if insists {
            call_failed(&row).await.unwrap();
        }
        let daughter = |secs| RunTerms {
            home: at_home("gateway", "stranger"),
            ..terms(secs)
        };
        let order = Redirection {
            home: daughter(0).home,
            gateway: false,
            account: true,
            reason: "sold".into(),
        };
        let moved = row.world.journal.redirect(batch(), order, at(200_002));
        assert_eq!(moved.await.unwrap().1, 1, "what was posted before is told");
        if !retried_first {
            retry(&row).await;
        }
        let leaves = async |secs| {
            let token = acquire(&row.world, daughter(secs)).await.unwrap();
            row.world.claim(token, 9, secs).await.len()
        };
        for (class, code) in [(Class::NotFound, 143), (Class::Failed, 141)] {
            assert_eq!(leaves(200_010).await, 0);
            let waits = Some(WaitsFor::Elsewhere(first));
            assert_eq!(row.newest().waits_for, waits);
            assert_eq!(row.world.standing().waiting_count, 1);
            let token = acquire(&row.world, daughter(200_011)).await.unwrap();
            let asked = row
                .world
                .journal
                .questions(token, 9, at(200_011), at(200_100));
            assert!(
                asked.await.unwrap().0.is_empty(),
                "nobody is asked who cannot know"
            );
            row.hear(seq, answer(class, code), 200_012).await;
        }
        assert_eq!(leaves(200_020).await, 0, "{retried_first}");
        call_failed(&row).await.unwrap();
        assert_eq!(leaves(200_030).await, 1, "{retried_first}");
        assert!(is_sound(&row.world));
    }
}
