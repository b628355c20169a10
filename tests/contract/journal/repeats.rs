//! Rows that another load has already, or look as if.

use std::time::Duration;

use disburse::domain::{Actor, BatchName, PayerTransactionId, Reference, ServiceCode};
use disburse::journal::{AlikeKind, Halt, Home, Linked, LoadPlan, Loaded, RepeatPlan};
use disburse::ledger::Purpose;
use disburse::ledger::names::PaymentName;
use disburse::ledger::repeats::{Terms, TermsByService};
use disburse::lifecycle::Class;

use crate::support::*;

fn with_terms(plan: LoadPlan, terms: Terms) -> LoadPlan {
    let terms = TermsByService {
        default: terms,
        ..TermsByService::default()
    };
    LoadPlan {
        repeats: Some(RepeatPlan {
            terms,
            ..RepeatPlan::default()
        }),
        ..plan
    }
}

#[tokio::test]
async fn one_changed_amount_under_a_new_name_pays_nobody_again() {
    let world = World::loaded(200).await;
    all_end(&world, Class::Paid, 140).await;
    let before = world.contents();
    let mut again = rows(1..=200);
    again[7] = with_amount(again[7].clone(), 1);
    let found = repeats(world.load(other_batch("again", 1), again.clone()).await);
    assert_eq!(found.rows, 200);
    assert_eq!(found.loads.len(), 1);
    assert_eq!(found.loads[0].batch, "payroll");
    assert_eq!(found.loads[0].source, "payroll.csv");
    assert_eq!(found.loads[0].loaded_at, at(0));
    assert_eq!(world.contents(), before);
    // One person of another file alone.
    let mut few = rows(300..=302);
    few.push(row(5));
    let found = repeats(world.load(other_batch("few", 1), few).await);
    assert_eq!(found.rows, 1);
}

/// More than a server is asked for at once; most stand where they were loaded, some have ended.
#[tokio::test]
async fn each_of_many_rows_that_repeat_others_is_found() {
    let world = World::loaded(1_100).await;
    let mut again = rows(1..=1_100);
    again.extend(rows(2_000..=2_003));
    let found = repeats(world.load(other_batch("again", 1), again.clone()).await);
    assert_eq!((found.rows, found.rest), (1_100, 4));
    assert_eq!(found.changed, 0);
    let plan = LoadPlan {
        skip_bad_rows: true,
        ..other_batch("again", 1)
    };
    let Loaded::New(loaded) = world.load(plan, again).await else {
        panic!("it is refused");
    };
    let accepted: u64 = loaded.accepted.iter().map(|(.., sum)| sum.count).sum();
    assert_eq!((accepted, loaded.rejected.count), (4, 1_100));
}

#[tokio::test]
async fn the_window_decides_of_what_has_ended_and_of_nothing_else() {
    let longer = Terms {
        window: Duration::from_secs(35 * 24 * 60 * 60),
        ..Terms::default()
    };
    let none = Terms {
        window: Duration::ZERO,
        ..Terms::default()
    };
    for (paid, day, terms, refused) in [
        (true, 1, Terms::default(), true),
        (true, 19, Terms::default(), true),
        // Posted a moment after the load.
        (true, 20, Terms::default(), true),
        (true, 21, Terms::default(), false),
        (true, 28, Terms::default(), false),
        (true, 28, longer, true),
        (true, 0, none, false),
        (false, 28, Terms::default(), true),
        (false, 400, none, true),
    ] {
        let world = World::loaded(5).await;
        if paid {
            all_end(&world, Class::Paid, 140).await;
        }
        let plan = with_terms(other_batch("again", day), terms);
        let loaded = world.load(plan, rows(1..=5)).await;
        assert_eq!(
            matches!(loaded, Loaded::Refused(_)),
            refused,
            "paid {paid}, day {day}, {terms:?}: {loaded:?}"
        );
    }
}

#[tokio::test]
async fn what_was_posted_late_counts_from_its_post() {
    let world = World::loaded(2).await;
    // It waited for float.
    let token = world.acquire(25 * DAY).await.token;
    for claim in world.claim(token, 100, 25 * DAY + 1).await {
        let paid = vec![finding(claim.seq, reply(Class::Paid, 140))];
        world.record(paid, 25 * DAY + 2).await;
    }
    let loaded = world.load(other_batch("again", 30), rows(1..=2)).await;
    assert!(matches!(loaded, Loaded::Refused(_)), "{loaded:?}");
    world.load_new(other_batch("later", 46), rows(1..=2)).await;
}

#[tokio::test]
async fn a_service_may_have_a_window_of_its_own() {
    let world = World::loaded(3).await;
    all_end(&world, Class::Paid, 140).await;
    let mut plan = other_batch("again", 2);
    let daily = Terms {
        window: Duration::from_secs(60 * 60),
        ..Terms::default()
    };
    let service = ServiceCode::parse("B2C").unwrap();
    plan.repeats.as_mut().unwrap().terms.services = [(service, daily)].into();
    world.load_new(plan, rows(1..=3)).await;
}

#[tokio::test]
async fn what_was_cancelled_or_proven_failed_may_be_paid_elsewhere() {
    let world = World::loaded(5).await;
    all_end(&world, Class::Failed, 141).await;
    world.load_new(other_batch("again", 1), rows(1..=5)).await;
    let world = World::loaded(5).await;
    let cancelled = world.journal.cancel(batch(), None, moment(5)).await;
    assert_eq!(cancelled.unwrap(), 5);
    world.load_new(other_batch("again", 1), rows(1..=5)).await;
}

#[tokio::test]
async fn a_failure_that_was_taken_back_is_a_payment_that_may_be_made() {
    let world = World::loaded(2).await;
    all_end(&world, Class::Failed, 141).await;
    let id = world.identifiers()[0];
    world
        .callback(note(id, Class::Acknowledged, 139, 1), 60)
        .await;
    let found = repeats(world.load(other_batch("again", 1), rows(1..=2)).await);
    assert_eq!(found.rows, 1, "the other one is proven failed");
}

#[tokio::test]
async fn without_a_reference_recipient_amount_and_service_tell() {
    let world = World::new();
    let known = vec![nameless(1, 2), row(2)];
    world.load_new(plan(), known).await;
    let mut named = row(1);
    named.reference = Some(Reference::parse("NEW-1").unwrap());
    named.narration = "again".into();
    // With a reference against one without, the other way round, and both without.
    let table = [
        (named.clone(), true),
        (nameless(2, 2), true),
        (nameless(1, 2), true),
        (with_amount(nameless(1, 2), 7), false),
        (of_service(nameless(1, 2), "B2B"), false),
        (with_amount(named, 7), false),
    ];
    for (at, (row, refused)) in table.into_iter().enumerate() {
        let plan = LoadPlan {
            dry_run: true,
            ..other_batch("again", 1)
        };
        let loaded = world.load(plan, vec![row]).await;
        assert_eq!(
            matches!(loaded, Loaded::Refused(_)),
            refused,
            "{at}: {loaded:?}"
        );
    }
}

#[tokio::test]
async fn references_that_begin_anew_say_nothing_alone() {
    let world = World::loaded(3).await;
    all_end(&world, Class::Paid, 140).await;
    let restart = Terms {
        references_restart: true,
        ..Terms::default()
    };
    // Other people under the same references.
    let others: Vec<_> = (1..=3)
        .map(|n| {
            let mut other = row(n + 10);
            other.reference = row(n).reference;
            other
        })
        .collect();
    repeats(world.load(other_batch("next", 1), others.clone()).await);
    let plan = with_terms(other_batch("next", 1), restart);
    world.load_new(plan, others).await;
    // Yesterday's file.
    let plan = with_terms(other_batch("again", 1), restart);
    assert_eq!(repeats(world.load(plan, rows(1..=3)).await).rows, 3);
}

#[tokio::test]
async fn other_references_of_the_same_payment_are_shown_and_kept() {
    let world = World::loaded(3).await;
    let renamed: Vec<_> = (1..=3)
        .map(|n| {
            let mut other = row(n);
            other.reference = Some(Reference::parse(&format!("DEC-{n}")).unwrap());
            other
        })
        .collect();
    let summary = world.load_new(other_batch("december", 1), renamed).await;
    assert_eq!(summary.alike.len(), 1);
    let alike = &summary.alike[0];
    assert_eq!(alike.kind, AlikeKind::OtherLoad);
    assert_eq!(
        (alike.other.batch.as_str(), alike.other.rows),
        ("payroll", 3)
    );
    assert_eq!(alike.lines, [2, 3, 4]);
    let kept = world.journal.alike(BatchName::parse("december").unwrap());
    assert_eq!(kept.await.unwrap(), summary.alike);
}

#[tokio::test]
async fn equal_people_within_a_file_are_shown() {
    let world = World::new();
    let person = |line: u64, reference: &str, name: &str| {
        let mut person = row(1);
        person.line = line;
        person.reference = Some(Reference::parse(reference).unwrap());
        person.customer_names = name.into();
        person
    };
    let file = vec![
        person(2, "A", "Wanjiku Mwangi"),
        person(3, "B", "Otieno"),
        person(4, "C", "wanjiku mwangi "),
        person(5, "D", ""),
        person(6, "E", ""),
        with_amount(person(7, "F", "Otieno"), 9),
    ];
    let summary = world.load_new(other_batch("b", 0), file).await;
    assert_eq!(summary.alike.len(), 1, "{:?}", summary.alike);
    assert_eq!(summary.alike[0].kind, AlikeKind::SameFile);
    assert_eq!(summary.alike[0].lines, [4]);
}

#[tokio::test]
async fn repeats_are_set_aside_where_bad_rows_are_skipped() {
    let world = World::loaded(3).await;
    let plan = LoadPlan {
        skip_bad_rows: true,
        ..other_batch("again", 1)
    };
    let summary = world.load_new(plan, rows(2..=6)).await;
    assert_eq!((summary.total().count, summary.rejected.count), (3, 2));
    assert_eq!(summary.repeats.map(|found| found.rows), Some(2));
    let late: Vec<u64> = summary.late.iter().map(|error| error.line).collect();
    assert_eq!(late, [3, 4]);
    // Their identifiers are nobody's, and nothing is left of them to be found again.
    let loaded = world.load(other_batch("third", 1), rows(4..=4)).await;
    assert_eq!(repeats(loaded).loads[0].batch, "again");
    let c = world.sql();
    let count = |sql: &str| c.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("select count(*) from instruction"), 6);
    assert_eq!(count("select count(*) from identifier"), 6);
}

#[tokio::test]
async fn a_digest_allows_the_very_list_that_was_printed() {
    let mut world = World::loaded(3).await;
    let ana = Actor::new("ana", "desk-7", None);
    world.journal = world.journal.clone().acting_as(ana.clone());
    let allow = |name: &str, digest: &str| {
        let mut plan = other_batch(name, 1);
        plan.repeats.as_mut().unwrap().allowed = Some(digest.to_owned());
        plan
    };
    let two = repeats(world.load(other_batch("again", 1), rows(2..=4)).await);
    assert_eq!(two.rows, 2);
    // Another list: one row more, one less, another amount.
    let mut changed = rows(2..=4);
    changed[0] = with_amount(changed[0].clone(), 7);
    for other in [rows(1..=4), rows(3..=4), changed] {
        let found = repeats(world.load(allow("again", &two.digest), other).await);
        assert!(found.allowed_other);
        assert_ne!(found.digest, two.digest);
    }
    let summary = world
        .load_new(allow("again", &two.digest), rows(2..=4))
        .await;
    assert_eq!(summary.total().count, 3);
    assert_eq!(summary.alike[0].kind, AlikeKind::Allowed);
    assert_eq!(summary.alike[0].other.rows, 2);
    // It is on record who allowed it.
    let reader = world.reader();
    let again = BatchName::parse("again").unwrap();
    let acts = reader.snapshot(&again).unwrap().acts().unwrap();
    assert_eq!(acts[0].act, "load --allow-repeats");
    assert_eq!(acts[0].about.as_ref(), Some(&two.digest));
    assert_eq!(acts[0].by, ana);
    // A job that says the same for ever pays nobody a third time.
    let found = repeats(world.load(allow("third", &two.digest), rows(2..=4)).await);
    assert_eq!((found.rows, found.loads.len()), (3, 2));
}

#[tokio::test]
async fn rows_that_an_amendment_brings_again_are_no_repeats_and_those_it_adds_may_be() {
    let world = World::loaded(3).await;
    let amend = |rows: Option<RepeatPlan>| LoadPlan {
        amend: true,
        now: at(50),
        repeats: rows,
        ..plan()
    };
    let with = || amend(Some(RepeatPlan::default()));
    let summary = world.load_new(with(), rows(1..=5)).await;
    assert_eq!((summary.total().count, summary.unchanged), (2, 3));
    // The same person once more, without a reference.
    let mut file = rows(1..=5);
    file.push(nameless(2, 9));
    let found = repeats(world.load(with(), file.clone()).await);
    assert_eq!((found.rows, found.loads[0].batch.as_str()), (1, "payroll"));
}

#[tokio::test]
async fn a_rehearsal_repeats_nothing_and_is_repeated_by_nothing() {
    // As it was loaded; and as an earlier release ran it, which knew no rehearsals at the load.
    for purpose in [Purpose::Rehearsal, Purpose::Unknown] {
        let world = World::new();
        let rehearsal = LoadPlan { purpose, ..plan() };
        world.load_new(rehearsal, rows(1..=3)).await;
        let home = Home {
            gateway: "sandbox 7".into(),
            ..terms(1).home
        };
        world.journal.pin(batch(), home, at(1)).await.unwrap();
        world.load_new(other_batch("real", 1), rows(1..=3)).await;
    }
}

#[tokio::test]
async fn a_file_of_many_thousands_of_rows_is_found_again() {
    let world = World::new();
    let many = 60_000;
    world.load_new(plan(), rows(1..=many)).await;
    let mut again = rows(many - 9..=many + 40_000);
    again.push(nameless(17, 1));
    let found = repeats(world.load(other_batch("again", 1), again).await);
    assert_eq!(found.rows, 11);
}

#[tokio::test]
async fn a_row_does_not_leave_once_the_failure_that_it_replaces_proves_paid() {
    for word in [Class::Paid, Class::Failed] {
        let world = World::loaded(2).await;
        all_end(&world, Class::Failed, 141).await;
        let first = world.identifiers()[0];
        let again = other_batch("again", 1);
        let name = again.batch.clone();
        world.load_new(again, rows(1..=2)).await;
        // The gateway contradicts itself, or says the same once more.
        let code = if word == Class::Paid { 140 } else { 141 };
        world.callback(note(first, word, code, 1), DAY + 1).await;
        let policy = std::sync::Arc::clone(&world.policy);
        let acquired = world
            .journal
            .acquire(name.clone(), terms(DAY + 2), policy.clone())
            .await
            .unwrap();
        let claimed = world
            .journal
            .claim(acquired.token, 100, at(DAY + 3), policy.clone())
            .await;
        let (claims, _, halt) = claimed.unwrap();
        if word == Class::Failed {
            assert_eq!((claims.len(), halt), (2, None));
            continue;
        }
        assert!(claims.is_empty());
        let Some(Halt::PaidElsewhere(found)) = halt else {
            panic!("{halt:?}");
        };
        assert!(
            found.what.contains(first.as_str()) && found.what.contains("conflict"),
            "{found:?}"
        );
        // Withdrawn, it holds nobody up.
        let row = PaymentName::from("EMP-1");
        world
            .journal
            .cancel(name, Some(row), moment(DAY + 4))
            .await
            .unwrap();
        let claimed = world
            .journal
            .claim(acquired.token, 100, at(DAY + 5), policy)
            .await;
        let (claims, _, halt) = claimed.unwrap();
        assert_eq!((claims.len(), halt), (1, None));
    }
}

#[tokio::test]
async fn what_failed_and_what_was_loaded_in_its_place_are_told_of_each_other_and_shouted_when_both_are_paid()
 {
    let world = World::loaded(2).await;
    all_end(&world, Class::Failed, 141).await;
    let first = world.identifiers()[0];
    let again = other_batch("again", 1);
    let name = again.batch.clone();
    world.load_new(again, rows(1..=2)).await;
    let policy = std::sync::Arc::clone(&world.policy);
    let acquired = world
        .journal
        .acquire(name.clone(), terms(DAY + 1), policy.clone())
        .await
        .unwrap();
    let claimed = world
        .journal
        .claim(acquired.token, 100, at(DAY + 2), policy)
        .await;
    let (claims, _, halt) = claimed.unwrap();
    assert_eq!((claims.len(), halt), (2, None));
    let second = claims[0].payment.id;
    world
        .callback(note(second, Class::Paid, 140, 2), DAY + 3)
        .await;
    let reader = world.reader();
    let standing = |batch: &BatchName| reader.snapshot(batch).unwrap().standing().unwrap();
    let record = |batch: &BatchName, id: PayerTransactionId| {
        let snapshot = reader.snapshot(batch).unwrap();
        let found = snapshot.find(PaymentName::from(id.to_string().as_str()));
        let record = found.unwrap().remove(0);
        let before = snapshot.failed_before(record.seq).unwrap();
        (record, before)
    };
    let (old, before) = record(&batch(), first);
    assert!(before.is_empty());
    let told = |other: &Linked| (other.id, other.batch.clone(), other.state);
    assert_eq!(
        old.loaded_anew.iter().map(told).collect::<Vec<_>>(),
        [(second, "again".to_owned(), "paid")]
    );
    let (new, before) = record(&name, second);
    assert!(new.loaded_anew.is_empty());
    assert_eq!(
        before.iter().map(told).collect::<Vec<_>>(),
        [(first, batch().to_string(), "failed")]
    );
    assert_eq!(standing(&batch()).loaded_anew, [("again".to_owned(), 2)]);
    assert_eq!(standing(&name).loaded_anew, []);
    for of in [&batch(), &name] {
        assert_eq!(standing(of).paid_twice_count, 0);
    }
    world
        .callback(note(first, Class::Paid, 140, 3), DAY + 4)
        .await;
    for (of, ids) in [(batch(), [first, second]), (name, [second, first])] {
        let standing = standing(&of);
        assert_eq!(standing.paid_twice_count, 1, "{of}");
        let twice = &standing.paid_twice[0];
        assert_eq!((&twice.ids[..], twice.certain), (&ids[..], false));
        let sentence = twice.sentence();
        assert!(
            sentence.contains(&format!("{first} of batch {}", batch()))
                && sentence.contains(&format!("{second} of batch again")),
            "{sentence}"
        );
    }
}

#[tokio::test]
async fn what_is_paid_every_day_under_new_references_is_not_read_in_full_and_repeats_are_found_all_the_same()
 {
    let world = World::new();
    let many = 3_000;
    let mut known = rows(1..=many);
    // One of many has no reference.
    known[2_500].reference = None;
    world.load_new(plan(), known).await;
    let mut next = rows(1..=many);
    for row in &mut next {
        row.reference = Some(Reference::parse(&format!("DEC-{}", row.line)).unwrap());
    }
    next[2_900].reference = None;
    let found = repeats(world.load(other_batch("december", 1), next.clone()).await);
    assert_eq!(found.rows, 2);
    let alone = |row: &disburse::domain::Instruction| ![2_502, 2_902].contains(&row.line);
    next.retain(alone);
    let summary = world.load_new(other_batch("december", 1), next).await;
    let alike = &summary.alike[0];
    assert!((1_000..2_998).contains(&alike.other.rows), "{alike:?}");
}

#[tokio::test]
async fn what_was_withdrawn_after_a_post_is_looked_at_again_before_its_row_leaves_elsewhere() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    world
        .record(vec![finding(seq, reply(Class::NoFloat, 230))], 3)
        .await;
    let cancelled = world.journal.cancel(batch(), None, moment(5)).await;
    assert_eq!(cancelled.unwrap(), 1);
    let again = BatchName::parse("again").unwrap();
    world.load_new(other_batch("again", 1), rows(1..=1)).await;
    // The gateway has executed it after all.
    let id = world.identifiers()[0];
    world.callback(note(id, Class::Paid, 140, 1), 60).await;
    let policy = std::sync::Arc::clone(&world.policy);
    let acquired = world
        .journal
        .acquire(again, terms(DAY + 1), policy.clone())
        .await
        .unwrap();
    let claimed = world
        .journal
        .claim(acquired.token, 100, at(DAY + 2), policy)
        .await;
    let (claims, _, halt) = claimed.unwrap();
    assert!(claims.is_empty());
    assert!(matches!(halt, Some(Halt::PaidElsewhere(_))), "{halt:?}");
}

#[tokio::test]
async fn a_failure_that_may_have_been_missed_and_holds_a_row_back_is_asked_about_by_its_own_run() {
    let world = World::loaded(2).await;
    all_end(&world, Class::Failed, 141).await;
    let again = other_batch("again", 1);
    let name = again.batch.clone();
    world.load_new(again, rows(1..=1)).await;
    let (journal, now) = (&world.journal, at(DAY + 1));
    let presumed = journal.presume_posted(name.clone(), false, now).await;
    assert_eq!(presumed.unwrap().payments, 1);
    let confirmed = journal.confirm_payer(name.clone(), terms(DAY + 1).home, now);
    confirmed.await.unwrap();
    let given = journal.orders_given_again("seen".into(), None, now);
    given.await.unwrap();
    let acquire = async |secs| {
        let policy = std::sync::Arc::clone(&world.policy);
        let acquired = journal.acquire(name.clone(), terms(secs), policy).await;
        acquired.unwrap().token
    };
    let own = acquire(DAY + 2).await;
    let questions = journal.questions(own, 9, at(DAY + 2), at(DAY + 3)).await;
    let seq = questions.unwrap().0[0].seq;
    for later in [70, 140] {
        let not_found = finding(seq, answer(Class::NotFound, 143));
        world.record(vec![not_found], DAY + later).await;
    }
    journal.recovered(at(DAY + 143)).await.unwrap();
    let claim = async |token, secs| {
        let policy = std::sync::Arc::clone(&world.policy);
        let claimed = journal.claim(token, 100, at(secs), policy).await;
        claimed.unwrap()
    };
    let (claims, _, halt) = claim(own, DAY + 144).await;
    assert!(claims.is_empty(), "{claims:?}");
    let Some(Halt::PaidElsewhere(found)) = halt else {
        panic!("{halt:?}");
    };
    assert!(found.what.contains("may have missed"), "{found:?}");
    let asked = async |secs| {
        let token = world.acquire(secs).await.token;
        let questions = journal.questions(token, 9, at(secs), at(secs + 1)).await;
        questions.unwrap().0
    };
    let questions = asked(DAY + 145).await;
    let ids: Vec<_> = questions.iter().map(|question| question.id).collect();
    let first = world.find("EMP-1").payment.id;
    assert_eq!(ids, [first], "and not about the one that holds nobody back");
    let failed = finding(questions[0].seq, answer(Class::Failed, 141));
    world.record(vec![failed], DAY + 146).await;
    assert_eq!(world.standing().doubtful, 0);
    assert!(asked(DAY + 147).await.is_empty(), "nothing is left to ask");
    let own = acquire(DAY + 148).await;
    let (claims, _, halt) = claim(own, DAY + 149).await;
    assert_eq!((claims.len(), halt), (1, None));
    world.assert_adds_up();
}
