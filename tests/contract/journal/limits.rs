//! Limits at the claim: over all batches and runs, whoever else writes, and whatever becomes of what was claimed.

use std::sync::Arc;
use std::time::Duration;

use disburse::domain::{Amount, BatchName, Currency, Instruction, WireZone};
use disburse::journal::{Claim, Home, LoadRefusal, Loaded, RunTerms, RunToken};
use disburse::ledger::HeldFor;
use disburse::ledger::limits::names::digest_of;
use disburse::ledger::limits::{Ceilings, Limits, NameList, OfService, Reason, StopRule};
use disburse::lifecycle::{Class, Event, State};

use crate::proof::assert_sound;
use crate::support::*;

fn ceiling(minor: i64) -> Ceilings {
    Ceilings::from([(kes(), Amount::from_minor(minor).unwrap())])
}

fn none() -> Limits {
    Limits::none(WireZone::utc())
}

fn recipient_day(minor: i64) -> Limits {
    Limits {
        recipient_day: ceiling(minor),
        ..none()
    }
}

/// Row `n`, of so many shillings, to recipient 1.
fn to_one(n: u64, shillings: i64) -> Instruction {
    let row = Instruction {
        msisdn: row(1).msisdn,
        account_number: row(1).account_number,
        ..row(n)
    };
    with_amount(row, shillings * 100)
}

async fn acquire(world: &World, name: &BatchName, limits: Limits, secs: i64) -> RunToken {
    let terms = RunTerms {
        limits: Some(Arc::new(limits)),
        ..terms(secs)
    };
    let policy = Arc::clone(&world.policy);
    let acquired = world.journal.acquire(name.clone(), terms, policy).await;
    acquired.unwrap().token
}

async fn begin(world: &World, limits: Limits, secs: i64) -> RunToken {
    acquire(world, &batch(), limits, secs).await
}

fn named(claims: &[Claim]) -> Vec<String> {
    let reference = |claim: &Claim| {
        let reference = claim.payment.instruction.reference.as_ref();
        reference.unwrap().to_string()
    };
    claims.iter().map(reference).collect()
}

fn limited(world: &World) -> Vec<(Reason, u64)> {
    let reader = world.reader();
    let rows = reader.snapshot(&batch()).unwrap().limited().unwrap();
    rows.iter()
        .map(|row| (row.reason, row.tally.count))
        .collect()
}

async fn ends(world: &World, claims: &[Claim], class: Class, code: i32, secs: i64) {
    let findings = claims
        .iter()
        .map(|claim| finding(claim.seq, reply(class, code)));
    world.record(findings.collect(), secs).await;
}

#[tokio::test]
async fn what_is_over_the_ceiling_of_a_day_waits_and_the_others_go_on() {
    let world = World::new();
    let rows = vec![
        to_one(1, 60),
        to_one(2, 60),
        row(3),
        to_one(4, 40),
        to_one(5, 1),
    ];
    world.load_new(plan(), rows).await;
    let token = begin(&world, recipient_day(10_000), 1).await;
    let claims = world.claim(token, 10, 2).await;
    assert_eq!(named(&claims), ["EMP-1", "EMP-3", "EMP-4"]);
    assert_eq!(limited(&world), [(Reason::RecipientDay, 2)]);
    let due = world.journal.due(token, at(3)).await.unwrap();
    assert_eq!((due.post, due.limited), (None, Some(at(DAY))));
    assert_eq!(named(&world.claim(token, 10, 3).await), [""; 0]);
    ends(&world, &claims, Class::Paid, 0, 4).await;
    // The next run of the same day finds the same; that of the next day has room again.
    let token = begin(&world, recipient_day(10_000), DAY - 1).await;
    assert_eq!(named(&world.claim(token, 10, DAY - 1).await), [""; 0]);
    let claims = world.claim(token, 10, DAY).await;
    assert_eq!(named(&claims), ["EMP-2", "EMP-5"]);
    assert_eq!(limited(&world), []);
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn what_waits_for_a_limit_is_judged_anew_by_the_next_run_whether_the_last_one_goes_on_or_not()
{
    let world = World::new();
    let rows = (1..=3).map(|n| to_one(n, 60)).collect();
    world.load_new(plan(), rows).await;
    let first = begin(&world, recipient_day(10_000), 1).await;
    assert_eq!(named(&world.claim(first, 10, 2).await), ["EMP-1"]);
    assert_eq!(limited(&world), [(Reason::RecipientDay, 2)]);
    // The journal is a file, and the first one has lost it; or on a server, and both are at work.
    let second = begin(&world, recipient_day(10_000), 3).await;
    assert_eq!(named(&world.claim(second, 10, 4).await), [""; 0]);
    assert_eq!(limited(&world), [(Reason::RecipientDay, 2)]);
    let due = world.journal.due(second, at(5)).await.unwrap();
    assert!(due.post.is_none() && due.limited.is_some(), "{due:?}");
    let third = begin(&world, recipient_day(15_000), 6).await;
    assert_eq!(named(&world.claim(third, 10, 7).await), ["EMP-2"]);
    assert_eq!(limited(&world), [(Reason::RecipientDay, 1)]);
}

#[tokio::test]
async fn a_recipient_is_one_through_all_batches_and_services_and_in_every_spelling() {
    let world = World::new();
    world.load_new(plan(), vec![to_one(1, 60)]).await;
    let other = other_batch("other", 0);
    let account = Instruction {
        account_number: "+2547-0000 0001".into(),
        ..to_one(3, 50)
    };
    let rows = vec![
        of_service(to_one(2, 50), "AIRTIME"),
        of_service(account, "BANK"),
        to_one(4, 40),
    ];
    let name = other.batch.clone();
    world.load_new(other, rows).await;
    let limits = recipient_day(10_000);
    let first = begin(&world, limits.clone(), 1).await;
    assert_eq!(named(&world.claim(first, 10, 2).await), ["EMP-1"]);
    let second = acquire(&world, &name, limits, 3).await;
    assert_eq!(named(&world.claim(second, 10, 4).await), ["EMP-4"]);
}

#[tokio::test]
async fn a_failure_is_given_back_and_a_doubt_is_not() {
    let world = World::new();
    world
        .load_new(plan(), (1..=4).map(|n| to_one(n, 60)).collect())
        .await;
    let limits = || recipient_day(10_000);
    let token = begin(&world, limits(), 1).await;
    let claims = world.claim(token, 10, 2).await;
    assert_eq!(named(&claims), ["EMP-1"]);
    world
        .record(vec![finding(claims[0].seq, Event::Lost)], 3)
        .await;
    let token = begin(&world, limits(), 4).await;
    assert_eq!(named(&world.claim(token, 10, 5).await), [""; 0]);
    // It proves failed: there is room for another one.
    world
        .record(vec![finding(claims[0].seq, answer(Class::Failed, 141))], 6)
        .await;
    let token = begin(&world, limits(), 7).await;
    assert_eq!(named(&world.claim(token, 10, 8).await), ["EMP-2"]);
    // The failure is taken back, and counts again: even when the second one fails, no third one leaves.
    world
        .record(vec![finding(claims[0].seq, answer(Class::Paid, 0))], 9)
        .await;
    let token = begin(&world, limits(), 10).await;
    assert_eq!(named(&world.claim(token, 10, 11).await), [""; 0]);
    world.assert_adds_up();
}

#[tokio::test]
async fn what_was_not_sent_counts_on_the_day_on_which_it_leaves() {
    let world = World::new();
    world
        .load_new(plan(), vec![to_one(1, 60), to_one(2, 60)])
        .await;
    let limits = || recipient_day(10_000);
    let token = begin(&world, limits(), 1).await;
    let claims = world.claim(token, 10, 2).await;
    world
        .record(vec![finding(claims[0].seq, Event::Unsent)], 3)
        .await;
    let token = begin(&world, limits(), DAY).await;
    let again = world.claim(token, 10, DAY + 1).await;
    assert_eq!(again.len(), 1, "one of the two, on either day");
    ends(&world, &again, Class::Paid, 0, DAY + 2).await;
    let token = begin(&world, limits(), DAY + 3).await;
    assert_eq!(world.claim(token, 10, DAY + 4).await.len(), 0);
}

#[tokio::test]
async fn what_was_paid_before_there_was_a_ceiling_counts() {
    let world = World::new();
    world.load_new(plan(), vec![to_one(1, 60), row(2)]).await;
    all_end(&world, Class::Paid, 0).await;
    let sums = |world: &World| -> i64 {
        let c = world.sql();
        c.query_row("select count(*) from used", [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(sums(&world), 0, "nothing is counted for nobody");
    let other = other_batch("other", 0);
    let name = other.batch.clone();
    world
        .load_new(other, vec![to_one(3, 50), to_one(4, 40)])
        .await;
    let token = acquire(&world, &name, recipient_day(10_000), 4).await;
    assert_eq!(named(&world.claim(token, 10, 5).await), ["EMP-4"]);
    // In another zone the days are others, and all is counted anew.
    let limits = Limits {
        zone: WireZone::from_name("Asia/Tokyo").unwrap(),
        ..recipient_day(10_000)
    };
    let token = acquire(&world, &name, limits, 6).await;
    assert_eq!(named(&world.claim(token, 10, 7).await), [""; 0]);
    // Thrown away, it is counted again to the same.
    let rows = |world: &World| -> Vec<(i64, i64, i64)> {
        let c = world.sql();
        let mut all = c
            .prepare("select seq, day, counts from counted order by seq")
            .unwrap();
        let rows = all
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        rows.map(Result::unwrap).collect()
    };
    let before = rows(&world);
    assert_eq!(before.len(), 3);
    world
        .sql()
        .execute_batch(
            "delete from counted; delete from used; delete from meta where key = 'counted_up_to'",
        )
        .unwrap();
    assert_eq!(named(&world.claim(token, 10, 8).await), [""; 0]);
    assert_eq!(rows(&world), before);
}

#[tokio::test]
async fn a_ceiling_that_was_tightened_holds_at_once_and_a_list_too() {
    let world = World::new();
    world.load_new(plan(), rows(1..=3)).await;
    let deny = Limits {
        payment: ceiling(250),
        deny: Some(Arc::new(NameList::of(vec![digest_of(
            row(1).msisdn.as_str(),
        )]))),
        ..none()
    };
    let token = begin(&world, deny, 1).await;
    assert_eq!(named(&world.claim(token, 10, 2).await), ["EMP-2"]);
    assert_eq!(limited(&world), [(Reason::Denied, 1), (Reason::Payment, 1)]);
    let due = world.journal.due(token, at(3)).await.unwrap();
    assert_eq!(due.post, None, "nothing to come back for");
    // Loosened, they leave.
    let token = begin(&world, none(), 4).await;
    assert_eq!(named(&world.claim(token, 10, 5).await), ["EMP-1", "EMP-3"]);
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn no_more_is_under_way_than_may_be_and_it_goes_on_when_something_ends() {
    let world = World::new();
    world
        .load_new(
            plan(),
            (1..=5).map(|n| with_amount(row(n), 4_000)).collect(),
        )
        .await;
    let limits = || Limits {
        exposure: ceiling(10_000),
        ..none()
    };
    let token = begin(&world, limits(), 1).await;
    let claims = world.claim(token, 10, 2).await;
    assert_eq!(named(&claims), ["EMP-1", "EMP-2"]);
    let due = world.journal.due(token, at(3)).await.unwrap();
    assert_eq!((due.post, due.exposed), (None, true));
    assert_eq!(world.claim(token, 10, 3).await.len(), 0);
    // In doubt is under way as well.
    world
        .record(vec![finding(claims[0].seq, Event::Lost)], 4)
        .await;
    assert_eq!(world.claim(token, 10, 5).await.len(), 0);
    ends(&world, &claims[1..], Class::Paid, 0, 6).await;
    let due = world.journal.due(token, at(6)).await.unwrap();
    assert!(due.post.is_some() && !due.exposed);
    assert_eq!(named(&world.claim(token, 10, 7).await), ["EMP-3"]);
    // Another batch of the account has no room either.
    let other = other_batch("other", 0);
    let name = other.batch.clone();
    world
        .load_new(other, vec![with_amount(row(9), 3_000)])
        .await;
    let reader = world.reader();
    // It has no account yet: only whoever knows the one of its first run sees what is under way there.
    let told = |home: Option<&Home>, ceiling: i64| {
        let snapshot = reader.snapshot(&name).unwrap();
        let used = snapshot.exposure(home).unwrap();
        let exposed = snapshot.exposed(&self::ceiling(ceiling), &used, 1).unwrap();
        let exposed = exposed.iter().map(|(_, money)| money.amount.minor());
        (used.minor(kes()), exposed.collect::<Vec<_>>())
    };
    let elsewhere = Home {
        account: "another".into(),
        ..home()
    };
    for (home, used, ceiling, exposed) in [
        (None, 0, 10_000, vec![]),
        (Some(&home()), 8_000, 10_000, vec![3_000]),
        (Some(&home()), 8_000, 11_000, vec![]),
        (Some(&elsewhere), 0, 10_000, vec![]),
    ] {
        assert_eq!(told(home, ceiling), (used, exposed), "{home:?}");
    }
    let token = acquire(&world, &name, limits(), 8).await;
    assert_eq!(world.claim(token, 10, 9).await.len(), 0);
    assert!(world.journal.due(token, at(9)).await.unwrap().exposed);
    world.assert_adds_up();
}

#[tokio::test]
async fn a_service_and_a_batch_are_paid_up_to_their_ceilings() {
    let world = World::new();
    let ugx = |n| {
        let mut row = row(n);
        row.money.currency = Currency::from_code("UGX").unwrap();
        row
    };
    let rows = vec![row(10), of_service(row(11), "AIRTIME"), row(12), ugx(200)];
    world.load_new(plan(), rows).await;
    let limits = Limits {
        each_service: OfService {
            day: ceiling(1_500),
            month: Ceilings::new(),
        },
        batch: ceiling(2_150),
        ..none()
    };
    let token = begin(&world, limits.clone(), 1).await;
    let mut found = named(&world.claim(token, 10, 2).await);
    found.sort();
    // The other currency has no ceiling.
    assert_eq!(found, ["EMP-10", "EMP-11", "EMP-200"]);
    assert_eq!(limited(&world), [(Reason::Batch, 1)]);
    let without = Limits {
        batch: Ceilings::new(),
        ..limits
    };
    let token = begin(&world, without, 3).await;
    assert_eq!(world.claim(token, 10, 4).await.len(), 0);
    assert_eq!(limited(&world), [(Reason::ServiceDay, 1)]);
}

#[tokio::test]
async fn rows_that_take_their_batch_over_its_ceiling_are_refused_as_a_whole() {
    let world = World::new();
    let plan = |minor| disburse::journal::LoadPlan {
        batch_ceilings: ceiling(minor),
        ..plan()
    };
    let over = |loaded| match loaded {
        Loaded::Refused(LoadRefusal::OverCeiling { total, ceiling }) => {
            (total.amount.minor(), ceiling.amount.minor())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(over(world.load(plan(599), rows(1..=3)).await), (600, 599));
    world.load_new(plan(600), rows(1..=3)).await;
    let amend = |minor| disburse::journal::LoadPlan {
        amend: true,
        now: at(5),
        ..plan(minor)
    };
    assert_eq!(
        over(world.load(amend(999), rows(4..=4)).await),
        (1_000, 999)
    );
    world.load_new(amend(1_000), rows(4..=4)).await;
    assert_eq!(world.count(State::Ready), 4);
}

#[tokio::test]
async fn new_recipients_wait_after_their_load_unless_they_were_paid_before() {
    let world = World::new();
    world.load_new(plan(), rows(1..=1)).await;
    all_end(&world, Class::Paid, 0).await;
    let other = other_batch("other", 0);
    let name = other.batch.clone();
    world.load_new(other, vec![to_one(5, 7), row(2)]).await;
    let limits = || Limits {
        new_recipient_wait: Some(Duration::from_secs(3_600)),
        ..none()
    };
    let token = acquire(&world, &name, limits(), 4).await;
    assert_eq!(named(&world.claim(token, 10, 5).await), ["EMP-5"]);
    assert_eq!(named(&world.claim(token, 10, 3_599).await), [""; 0]);
    assert_eq!(named(&world.claim(token, 10, 3_600).await), ["EMP-2"]);
}

#[tokio::test]
async fn a_service_that_fails_too_often_is_held_until_a_person_opens_it() {
    let world = World::new();
    world.load_new(plan(), rows(1..=20)).await;
    let limits = || Limits {
        stop: Some(StopRule {
            above: 5_000,
            after: 4,
        }),
        ..none()
    };
    let token = begin(&world, limits(), 1).await;
    let claims = world.claim(token, 4, 2).await;
    ends(&world, &claims[..3], Class::Failed, 141, 3).await;
    assert_eq!(
        world.claim(token, 1, 4).await.len(),
        1,
        "three say nothing yet"
    );
    ends(&world, &claims[3..], Class::Paid, 0, 5).await;
    assert_eq!(world.claim(token, 4, 6).await.len(), 0);
    assert_eq!(world.standing().held[0].held_for, HeldFor::Failures);
    // Another run does not open it; a person does, and counts anew.
    let token = begin(&world, limits(), 7).await;
    assert_eq!(world.claim(token, 4, 8).await.len(), 0);
    let opened = world
        .journal
        .resume_lane(batch(), "B2C".into(), at(9))
        .await;
    assert!(opened.unwrap().is_some());
    let claims = world.claim(token, 4, 10).await;
    assert_eq!(claims.len(), 4);
    ends(&world, &claims, Class::Failed, 141, 11).await;
    assert_eq!(world.claim(token, 4, 12).await.len(), 0);
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn whoever_edits_what_counts_towards_a_ceiling_is_found() {
    let edits = [
        "update used set amount = 1 where name like 'r%'",
        "delete from used",
        "update counted set counts = 0",
        "update counted set amount = 1",
        "update counted set day = day - 40",
        "update counted set recipient = 'nobody'",
        "delete from counted",
        "update meta set value = 'Mars' where key = 'counted_zone'",
    ];
    for edit in edits {
        let world = World::new();
        world
            .load_new(plan(), vec![to_one(1, 60), to_one(2, 60)])
            .await;
        let token = begin(&world, recipient_day(10_000), 1).await;
        let claims = world.claim(token, 10, 2).await;
        ends(&world, &claims, Class::Paid, 0, 3).await;
        assert_eq!(world.claim(token, 10, 4).await.len(), 0);
        assert_sound(&world);
        assert_eq!(world.sql().execute_batch(edit), Ok(()), "{edit}");
        let reader = world.reader();
        let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
        assert!(proof.findings_count > 0, "{edit}");
    }
}

#[tokio::test]
async fn a_retry_counts_for_itself_and_a_clock_that_was_set_back_makes_no_room() {
    let world = World::new();
    world
        .load_new(plan(), (1..=3).map(|n| to_one(n, 60)).collect())
        .await;
    let limits = || recipient_day(13_000);
    let token = begin(&world, limits(), 2 * DAY).await;
    let claims = world.claim(token, 10, 2 * DAY + 1).await;
    assert_eq!(named(&claims), ["EMP-1", "EMP-2"]);
    ends(&world, &claims[..1], Class::Failed, 141, 2 * DAY + 2).await;
    ends(&world, &claims[1..], Class::Paid, 0, 2 * DAY + 2).await;
    let retried = world.journal.retry(batch(), None, at(2 * DAY + 3)).await;
    assert_eq!(retried.unwrap(), 1);
    // One of the retry and the third row has room, whichever comes first; again and again it is no more.
    let token = begin(&world, limits(), 2 * DAY + 4).await;
    let claims = world.claim(token, 10, 2 * DAY + 5).await;
    assert_eq!(claims.len(), 1);
    ends(&world, &claims, Class::Paid, 0, 2 * DAY + 6).await;
    // Set back within the day, and forth again.
    for secs in [2 * DAY, 2 * DAY + 10, 3 * DAY - 1] {
        let token = begin(&world, limits(), secs).await;
        assert_eq!(world.claim(token, 10, secs).await.len(), 0, "{secs}");
    }
    let token = begin(&world, limits(), 3 * DAY).await;
    assert_eq!(world.claim(token, 10, 3 * DAY).await.len(), 1);
    world.assert_adds_up();
    assert_sound(&world);
}
