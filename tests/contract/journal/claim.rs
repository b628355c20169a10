//! Taking a batch, and the intents of its run.

use std::collections::BTreeSet;
use std::sync::Arc;

use disburse::domain::{BatchName, BootTime, PaymentId, Timestamp};
use disburse::journal::{Error, Home, Kind, LoadPlan, Location, RunTerms};
use disburse::ledger::pace::Last;
use disburse::lifecycle::{Class, Event, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

#[tokio::test]
async fn the_first_run_pins_the_gateway_and_the_bytes_of_its_posts() {
    let world = World::loaded(1).await;
    let acquire = |terms: RunTerms| {
        world
            .journal
            .acquire(batch(), terms, Arc::clone(&world.policy))
    };
    world.acquire(1).await;
    // Where nothing may have left, the form of the requests binds nobody.
    let of_another_form = RunTerms {
        home: Home {
            wire: "other".into(),
            ..home()
        },
        ..terms(1)
    };
    acquire(of_another_form).await.unwrap();
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    let token = world.acquire(1).await.token;
    assert_eq!(world.claim(token, 1, 1).await.len(), 1);
    let before = world.contents();
    let other = RunTerms {
        home: Home {
            gateway: "elsewhere".into(),
            ..home()
        },
        ..terms(2)
    };
    let error = acquire(other).await.unwrap_err();
    assert!(
        matches!(&error, Error::OtherGateway { pinned, configured, .. } if pinned == "gateway" && configured == "elsewhere"),
        "{error}"
    );
    let other = RunTerms {
        home: Home {
            wire: "other".into(),
            ..home()
        },
        ..terms(2)
    };
    let error = acquire(other).await.unwrap_err();
    assert!(matches!(error, Error::OtherWire { .. }), "{error}");
    assert_eq!(error.kind(), Kind::Refused);
    assert_eq!(world.contents(), before, "a refusal changes nothing");
    world.acquire(3).await;
    let unknown = BatchName::parse("unknown").unwrap();
    let error = world
        .journal
        .acquire(unknown, terms(4), Arc::clone(&world.policy))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::UnknownBatch { .. }), "{error}");
}

#[tokio::test]
async fn an_account_is_kept_once_a_post_was_accepted_or_lost() {
    let of = |account: &str, secs| RunTerms {
        home: Home {
            account: account.into(),
            ..home()
        },
        ..terms(secs)
    };
    let on_record = |world: &World| {
        let reader = world.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        assert!(snapshot.prove(None).unwrap().is_sound());
        snapshot.record().unwrap().account
    };
    /// What becomes of another user name.
    #[derive(Debug, PartialEq)]
    enum Name {
        IsTaken,
        TakesAnOrder,
        TakesAProof,
    }
    use Name::{IsTaken, TakesAProof, TakesAnOrder};
    for (events, expected) in [
        // An intent without an outcome may have arrived as well.
        (&[][..], TakesAProof),
        (&[Event::Unauthorised], IsTaken),
        (&[Event::Unsent], TakesAnOrder),
        (&[reply(Class::NoFloat, 230)], TakesAnOrder),
        (&[reply(Class::Refused, 110)], TakesAnOrder),
        (&[Event::Lost], TakesAProof),
        (&[reply(Class::Acknowledged, 139)], TakesAProof),
        (&[reply(Class::Duplicate, 229)], TakesAProof),
        (&[reply(Class::Paid, 140)], TakesAProof),
        // Whatever became of it then.
        (&[Event::Lost, answer(Class::Failed, 141)], TakesAProof),
    ] {
        let world = World::loaded(2).await;
        assert_eq!(on_record(&world), None);
        let acquire = |terms| {
            world
                .journal
                .acquire(batch(), terms, Arc::clone(&world.policy))
        };
        let token = acquire(of("amce", 1)).await.unwrap().token;
        assert_eq!(on_record(&world).as_deref(), Some("amce"));
        let seq = world.claim(token, 1, 2).await[0].seq;
        for event in events {
            world.record(vec![finding(seq, *event)], 3).await;
        }
        let before = world.contents();
        let found = match acquire(of("acme", 4)).await {
            Ok(_) => IsTaken,
            Err(Error::OtherAccount { pinned, .. }) => {
                assert_eq!(pinned, "amce");
                TakesAProof
            }
            Err(Error::OtherDestination { meant, .. }) => {
                assert_eq!(meant.user, "amce");
                TakesAnOrder
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(found, expected, "{events:?}");
        match found {
            IsTaken => assert_eq!(on_record(&world).as_deref(), Some("acme")),
            _ => assert_eq!(world.contents(), before, "a refusal changes nothing"),
        }
    }
}

#[tokio::test]
async fn the_rate_of_an_account_is_kept_over_all_batches() {
    let world = World::loaded(2).await;
    let [other, of_another] = ["other", "of-another"].map(|name| BatchName::parse(name).unwrap());
    for (batch, rows) in [(&other, rows(3..=4)), (&of_another, rows(5..=6))] {
        let batch = batch.clone();
        world.load_new(LoadPlan { batch, ..plan() }, rows).await;
    }
    let acquire = |batch: &BatchName, account: &str| {
        let terms = RunTerms {
            home: Home {
                account: account.into(),
                ..home()
            },
            ..terms(1)
        };
        world
            .journal
            .acquire(batch.clone(), terms, Arc::clone(&world.policy))
    };
    let first = acquire(&batch(), "acme").await.unwrap();
    assert_eq!(first.last_post, Last::Never);
    world.claim(first.token, 1, 2).await;
    // It may be posting still, for all that is known.
    let second = acquire(&other, "acme").await.unwrap();
    assert_eq!(second.last_post, Last::Unknown);
    let (posts, questions) = (BootTime::from_parts(1, 50), BootTime::from_parts(1, 60));
    world
        .journal
        .rest(second.token, posts, questions)
        .await
        .unwrap();
    let third = acquire(&batch(), "acme").await.unwrap();
    assert_eq!(third.last_post, Last::Since(posts));
    assert_eq!(third.last_question, Last::Never, "nobody has asked yet");
    // Another account has a rate of its own.
    let elsewhere = acquire(&of_another, "acme-2").await.unwrap();
    assert_eq!(elsewhere.last_post, Last::Never);
}

#[tokio::test]
async fn a_new_run_fences_the_one_before_it() {
    let world = World::loaded(4).await;
    let old = world.acquire(1).await.token;
    let new = world.acquire(2).await.token;
    let claimed = world.claim(new, 1, 3).await;
    assert_eq!(claimed.len(), 1);
    // What is left of the old run must not make the new one's payment ready again while its post is on the wire.
    let second = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    let unsent = vec![finding(claimed[0].seq, Event::Unsent)];
    let error = second
        .record(Some(old), unsent, moment(4), Arc::clone(&world.policy))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Fenced), "{error}");
    let second = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    let error = second
        .claim(old, 1, at(4), Arc::clone(&world.policy))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Fenced), "{error}");
    let second = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    let error = second.questions(old, 1, at(4), at(9)).await.unwrap_err();
    assert!(matches!(error, Error::Fenced), "{error}");
    // It looks at the journal every second: that is how long it goes on.
    let second = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    let error = second.due(old, at(4)).await.unwrap_err();
    assert!(matches!(error, Error::Fenced), "{error}");
    // Nor does it hold or open a lane of the new one.
    let lane = claimed[0].lane;
    let second = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    let held = second.hold_lane(old, lane, "float".into(), at(4)).await;
    assert!(matches!(held, Err(Error::Fenced)), "{held:?}");
    let second = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    let opened = second.reopen_lane(old, lane).await;
    assert!(matches!(opened, Err(Error::Fenced)), "{opened:?}");
    assert_eq!(world.count(State::Posting), 1);
    assert_eq!(world.claim(new, 9, 5).await.len(), 3, "the new run goes on");
}

#[tokio::test]
async fn intents_without_an_outcome_are_in_doubt_after_a_restart() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 3, 2).await;
    world
        .record(
            vec![finding(claims[0].seq, reply(Class::Acknowledged, 139))],
            3,
        )
        .await;
    let again = world.acquire(100).await;
    assert_eq!(again.abandoned, 2);
    assert_eq!(again.last_claim_at, Some(at(2)));
    assert_eq!(world.count(State::InDoubt), 2);
    assert_eq!(world.count(State::Posting), 0);
    assert_eq!(world.count(State::Ready), 1);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    // Not asked about at once: the last post may have left just now.
    let (questions, due) = world
        .journal
        .questions(again.token, 9, at(101), at(200))
        .await
        .unwrap();
    assert!(questions.is_empty());
    assert_eq!(due.ask, Some(at(110)));
}

#[tokio::test]
async fn a_restart_begins_the_quarantine_anew_and_leaves_evidence_of_it() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    world.record(vec![finding(seq, Event::Lost)], 3).await;
    let not_found = || vec![finding(seq, answer(Class::NotFound, 143))];
    world.record(not_found(), 70).await;
    // One more would make it ready, had there been no restart.
    world.acquire(71).await;
    world.record(not_found(), 75).await;
    world.record(not_found(), 130).await;
    assert_eq!(world.count(State::InDoubt), 1, "the quarantine ends at 131");
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    world.record(not_found(), 132).await;
    world.record(not_found(), 142).await;
    assert_eq!(world.count(State::Ready), 1);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_wait_that_rests_on_a_clock_that_jumped_is_cut_short() {
    let world = World::loaded(2).await;
    let year = 365 * 86_400;
    let token = world.acquire(year).await.token;
    let claims = world.claim(token, 2, year).await;
    world
        .record(
            vec![
                finding(claims[0].seq, Event::Lost),
                finding(claims[1].seq, Event::Unsent),
            ],
            year,
        )
        .await;
    // The clock was set right meanwhile.
    let token = world.acquire(10).await.token;
    let due = world.journal.due(token, at(10)).await.unwrap();
    assert_eq!(due.ask, Some(at(20)));
    assert!(due.post.is_some_and(|post| post <= at(10)), "{due:?}");
}

#[tokio::test]
async fn a_claim_records_the_intent_with_its_evidence_before_it_returns() {
    let world = World::loaded(3).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 2, 7).await;
    assert_eq!(claims.len(), 2);
    // Another connection sees it: it has been committed.
    for claim in &claims {
        let record = world.find(claim.payment.id.as_str());
        assert_eq!(record.payment, *claim.payment);
        assert_eq!(record.life.state, State::Posting);
        assert_eq!(record.life.attempts, 1);
        assert_eq!(record.life.posted_at, Some(at(7)));
        let reader = world.reader();
        let trail = reader.snapshot(&batch()).unwrap().trail(claim.seq).unwrap();
        assert_eq!(trail.len(), 1);
        assert_eq!((trail[0].event, trail[0].at), (Some(Event::Claimed), at(7)));
    }
    world.assert_adds_up();
}

#[tokio::test]
async fn no_payment_is_claimed_twice_however_many_ask_at_once() {
    let world = World::loaded(200).await;
    let token = world.acquire(1).await.token;
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let (journal, policy) = (world.journal.clone(), Arc::clone(&world.policy));
            tokio::spawn(async move { journal.claim(token, 7, at(2), policy).await.unwrap().0 })
        })
        .collect();
    let mut seen = BTreeSet::new();
    for task in tasks {
        for claim in task.await.unwrap() {
            assert!(seen.insert(claim.seq), "claimed twice");
        }
    }
    assert_eq!(seen.len(), 200);
    assert!(world.claim(token, 10, 3).await.is_empty());
    world.assert_adds_up();
}

#[tokio::test]
async fn a_claim_takes_only_what_is_due_and_says_what_is_due_next() {
    let world = World::loaded(3).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 1, 2).await;
    world
        .record(vec![finding(claims[0].seq, Event::Unsent)], 2)
        .await;
    let policy = || Arc::clone(&world.policy);
    let (claims, due, _) = world
        .journal
        .claim(token, 9, at(2), policy())
        .await
        .unwrap();
    assert_eq!(claims.len(), 2, "the unsent one waits for its backoff");
    assert_eq!(due.post, Some(at(3)));
    let (claims, due, _) = world
        .journal
        .claim(token, 9, at(3), policy())
        .await
        .unwrap();
    assert_eq!(claims.len(), 1);
    assert_eq!(due.post, None);
    assert_eq!(world.find("EMP-1").life.attempts, 2);
}

#[tokio::test]
async fn the_limit_of_a_claim_holds_and_every_lane_gets_its_share() {
    let world = World::new();
    let lanes = ["A", "B", "C"];
    let rows = (1..=30).map(|n| of_service(row(n), lanes[(n as usize - 1) / 10]));
    world.load_new(plan(), rows.collect()).await;
    let token = world.acquire(1).await.token;
    for (limit, secs) in [(1, 2), (2, 3), (9, 4), (0, 5)] {
        assert_eq!(world.claim(token, limit, secs).await.len(), limit);
    }
    let services: Vec<String> = world
        .payments()
        .iter()
        .filter(|record| record.life.posted_at == Some(at(4)))
        .map(|record| record.payment.instruction.service.to_string())
        .collect();
    for lane in lanes {
        let share = services.iter().filter(|service| *service == lane).count();
        assert_eq!(share, 3, "{services:?}");
    }
    // What a lane leaves, the others take.
    let rest = world.claim(token, 30, 6).await;
    assert_eq!(rest.len(), 18);
    world.assert_adds_up();
}

#[tokio::test]
async fn a_held_lane_is_not_claimed_from_until_it_opens() {
    let world = World::new();
    let rows = (1..=6).map(|n| of_service(row(n), if n % 2 == 0 { "A" } else { "B" }));
    world.load_new(plan(), rows.collect()).await;
    let token = world.acquire(1).await.token;
    let first = world.claim(token, 2, 2).await;
    let dry = &first[0];
    world
        .record(vec![finding(dry.seq, reply(Class::NoFloat, 230))], 3)
        .await;
    let hold = |secs| {
        world
            .journal
            .hold_lane(token, dry.lane, "float".into(), at(secs))
    };
    hold(3).await.unwrap();
    hold(4).await.unwrap();
    let held = world.standing().held;
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].id, dry.lane);
    assert_eq!(held[0].service, dry.payment.instruction.service);
    let claims = world.claim(token, 9, 5).await;
    assert!(claims.iter().all(|claim| claim.lane != dry.lane));
    assert_eq!(claims.len(), 2);
    let due = world.journal.due(token, at(10)).await.unwrap();
    assert_eq!(due.post, None, "nothing of an open lane is ready");
    // A new run finds it held; the operator opens it.
    let acquired = world.acquire(10).await;
    assert_eq!(acquired.held, held);
    let service = held[0].service.to_string();
    let open = || world.journal.resume_lane(batch(), service.clone(), at(11));
    assert_eq!(open().await.unwrap().as_ref(), Some(&held[0]));
    assert_eq!(open().await.unwrap(), None);
    assert_eq!(world.claim(acquired.token, 9, 11).await.len(), 3);
    // The run itself opens one by its number.
    let token = acquired.token;
    world
        .journal
        .hold_lane(token, dry.lane, "float".into(), at(12))
        .await
        .unwrap();
    world.journal.reopen_lane(token, dry.lane).await.unwrap();
    assert!(world.standing().held.is_empty());
    world.assert_adds_up();
}

#[tokio::test]
async fn lanes_are_held_per_batch() {
    let world = World::loaded(1).await;
    let other = BatchName::parse("other").unwrap();
    let plan = LoadPlan {
        batch: other.clone(),
        ..plan()
    };
    world.load_new(plan, rows(5..=6)).await;
    let token = world.acquire(1).await.token;
    let lane = world.claim(token, 1, 2).await[0].lane;
    world
        .journal
        .hold_lane(token, lane, "float".into(), at(3))
        .await
        .unwrap();
    let acquired = world
        .journal
        .acquire(other, terms(4), Arc::clone(&world.policy))
        .await
        .unwrap();
    assert!(acquired.held.is_empty());
    assert_eq!(world.claim(acquired.token, 9, 5).await.len(), 2);
}

#[tokio::test]
async fn a_question_is_leased_so_that_it_is_not_asked_twice_at_once() {
    let world = World::loaded(3).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 3, 2).await;
    let mut lost: Vec<_> = claims
        .iter()
        .map(|claim| finding(claim.seq, Event::Lost))
        .collect();
    lost[0].said.gateway_transaction_id =
        Some(disburse::domain::GatewayTransactionId::parse("90071992547409931").unwrap());
    world.record(lost, 2).await;
    let ask = |limit, secs, lease| world.journal.questions(token, limit, at(secs), at(lease));
    let (early, due) = ask(9, 11, 100).await.unwrap();
    assert!(early.is_empty());
    assert!(due.ask.is_some_and(|ask| ask > at(11) && ask <= at(12)));
    let (first, due) = ask(2, 12, 100).await.unwrap();
    assert_eq!(first.len(), 2);
    assert!(due.ask.is_some_and(|ask| ask <= at(12)), "one is left");
    let (second, due) = ask(9, 12, 100).await.unwrap();
    assert_eq!(second.len(), 1);
    assert_eq!(due.ask, Some(at(100)), "the leases");
    let all: BTreeSet<PaymentId> = first.iter().chain(&second).map(|q| q.seq).collect();
    assert_eq!(all.len(), 3);
    let known: Vec<_> = first
        .iter()
        .chain(&second)
        .filter_map(|question| question.gateway_transaction_id.as_deref())
        .collect();
    assert_eq!(known, ["90071992547409931"]);
    // Nobody answered: when the lease is over they are asked about again.
    assert_eq!(ask(9, 99, 300).await.unwrap().0.len(), 0);
    assert_eq!(ask(9, 100, 300).await.unwrap().0.len(), 3);
}

#[tokio::test]
async fn a_batch_that_is_finished_has_nothing_due() {
    let world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 2, 2).await;
    let paid = claims
        .iter()
        .map(|claim| finding(claim.seq, reply(Class::Paid, 140)));
    world.record(paid.collect(), 3).await;
    assert!(world.standing().is_finished());
    let due = world.journal.due(token, at(10)).await.unwrap();
    assert_eq!((due.post, due.ask), (None::<Timestamp>, None));
}

#[tokio::test]
async fn no_lane_claims_again_what_another_one_has_left_no_room_for() {
    let world = World::new();
    let rows = vec![
        row(1),
        of_service(row(2), "AIRTIME"),
        of_service(row(3), "BANK"),
    ];
    world.load_new(plan(), rows).await;
    let token = world.acquire(1).await.token;
    let claimed = world.claim(token, 10, 1).await;
    assert_eq!(claimed.len(), 3);
    let unsent = claimed
        .iter()
        .map(|claim| finding(claim.seq, Event::Unsent));
    world.record(unsent.collect(), 2).await;
    // One at a time: whichever lane comes first has it, and all have had theirs in the end.
    let mut again = BTreeSet::new();
    for secs in 3..6 {
        let claims = world.claim(token, 1, secs).await;
        assert_eq!(claims.len(), 1);
        again.insert(claims[0].seq);
    }
    assert_eq!(again.len(), 3);
    assert!(world.claim(token, 1, 6).await.is_empty());
}
