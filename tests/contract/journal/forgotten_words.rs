//! What is said late about payments whose persons were forgotten.

use disburse::domain::{Member, PayerTransactionId};
use disburse::journal::{Finding, Heard, Received};
use disburse::lifecycle::{Class, State};

use super::forgetting::{assert_sound, end, end_at, finished, order, person};
use crate::support::*;

#[tokio::test]
async fn a_late_word_about_somebody_who_was_forgotten_is_heard() {
    let world = finished().await;
    let id = world.identifiers()[1];
    world
        .journal
        .forget(order(None), at(40 * DAY))
        .await
        .unwrap();
    let mut late = note(id, Class::Failed, 110, 7);
    late.said = naming(&[(Member::Msisdn, "254700000002")]);
    let late = world.callback(late, 41 * DAY).await;
    assert!(matches!(late, Received::Stored(Some(_))), "{late:?}");
    assert_eq!(world.count(State::Conflict), 1);
    assert_sound(&world, 3);
}

/// What is said of the newest evidence of a payment.
fn newest_note(world: &World, id: PayerTransactionId) -> String {
    let c = rusqlite::Connection::open(&world.path).unwrap();
    let note: Option<String> = c
        .query_row(
            "select e.anomaly from evidence e join identifier d using (seq) where d.identifier = ?1
             order by e.evidence_id desc limit 1",
            [id.as_str()],
            |row| row.get(0),
        )
        .unwrap();
    note.unwrap_or_default()
}

#[tokio::test]
async fn a_word_that_names_a_number_which_nobody_can_compare_is_told_as_such() {
    for (case, class, number, state, heard, is_told) in [
        (
            "his number",
            Class::Paid,
            "0700000002",
            State::Paid,
            Heard::Ours,
            false,
        ),
        (
            "another, and the same end",
            Class::Paid,
            "254700000009",
            State::Paid,
            Heard::Unnamed,
            true,
        ),
        (
            "hidden in part, and another end",
            Class::Failed,
            "2547****0002",
            State::Conflict,
            Heard::Unnamed,
            true,
        ),
        (
            "another, and another end",
            Class::Failed,
            "254700000009",
            State::Conflict,
            Heard::Unnamed,
            true,
        ),
    ] {
        let world = finished().await;
        let id = world.identifiers()[1];
        let forgotten = world.journal.forget(order(None), at(40 * DAY)).await;
        forgotten.unwrap();
        let mut late = note(id, class, 140, 7);
        late.said = naming(&[(Member::Msisdn, number)]);
        let Received::Stored(Some(moved)) = world.callback(late, 41 * DAY).await else {
            panic!("{case}: it was not stored");
        };
        assert_eq!((moved.life.state, moved.heard), (state, heard), "{case}");
        let told = newest_note(&world, id);
        assert_eq!(told.contains("was not compared"), is_told, "{case}: {told}");
        assert_sound(&world, 3);
    }
}

#[tokio::test]
async fn no_word_about_somebody_else_says_that_money_of_a_forgotten_payment_moved_twice() {
    for (number, is_believed) in [
        ("254700000001", true),
        ("254700000009", false),
        ("2547****0001", false),
    ] {
        let world = World::new();
        world
            .load_new(other_batch("payroll", 0), vec![person(1)])
            .await;
        end(&world, Class::Failed, 110).await;
        let id = world.identifiers()[0];
        let retried = world.journal.retry(batch(), None, at(4)).await;
        assert_eq!(retried.unwrap(), 1);
        end_at(&world, (Class::Paid, 140), 5).await;
        let forgotten = world.journal.forget(order(None), at(40 * DAY)).await;
        assert_eq!(forgotten.unwrap().payments, 2);
        let mut late = note(id, Class::Paid, 140, 7);
        late.said = naming(&[(Member::Msisdn, number)]);
        let late = world.callback(late, 41 * DAY).await;
        assert!(
            matches!(late, Received::Stored(Some(_))),
            "{number}: {late:?}"
        );
        let reader = world.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        let twice = snapshot.standing().unwrap().paid_twice_count;
        assert_eq!(twice, u64::from(is_believed), "{number}");
        let told = newest_note(&world, id);
        let is_told = told.contains("not believed: 140, it names a number that was not compared");
        assert_eq!(is_told, !is_believed, "{number}: {told}");
        assert!(snapshot.prove(None).unwrap().is_sound());
    }
    // Where nothing else is paid, it is not forgotten either: the gateway is asked what it has.
    let world = World::new();
    world
        .load_new(other_batch("payroll", 0), vec![person(1)])
        .await;
    end(&world, Class::Failed, 110).await;
    let forgotten = world.journal.forget(order(None), at(40 * DAY)).await;
    forgotten.unwrap();
    let mut late = note(world.identifiers()[0], Class::Paid, 140, 7);
    late.said = naming(&[(Member::Msisdn, "254700000009")]);
    world.callback(late, 41 * DAY).await;
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    assert_eq!(world.count(State::Failed), 1);
    assert_eq!(snapshot.inquiries().unwrap(), 1);
}

#[tokio::test]
async fn an_answer_about_somebody_else_frees_no_payment_of_a_forgotten_debt() {
    // Ours, of somebody else, hidden in part, and ours beside an account of somebody else.
    type Case<'c> = (&'c [(Member, &'c str)], bool);
    let cases: [Case<'_>; 4] = [
        (&[(Member::Msisdn, "254700000001")], true),
        (&[(Member::Msisdn, "254700000009")], false),
        (&[(Member::Msisdn, "2547****0001")], false),
        (
            &[
                (Member::Msisdn, "254700000001"),
                (Member::Account, "254700000009"),
            ],
            false,
        ),
    ];
    for (named, is_believed) in cases {
        let world = World::new();
        world
            .load_new(other_batch("payroll", 0), vec![person(1)])
            .await;
        end(&world, Class::Failed, 110).await;
        let id = world.identifiers()[0];
        let seq = disburse::domain::PaymentId::new(1);
        let forgotten = world.journal.forget(order(None), at(40 * DAY)).await;
        forgotten.unwrap();
        // The gateway takes its word back, and then says it again, about whom it names.
        let taken_back = note(id, Class::Acknowledged, 139, 7);
        world.callback(taken_back, 41 * DAY).await;
        let reader = world.reader();
        assert_eq!(reader.snapshot(&batch()).unwrap().inquiries().unwrap(), 1);
        let again = Finding {
            said: naming(named),
            ..finding(seq, answer(Class::Failed, 110))
        };
        world.record(vec![again], 42 * DAY).await;
        let snapshot = reader.snapshot(&batch()).unwrap();
        let still_asked = snapshot.inquiries().unwrap() == 1;
        assert_eq!(still_asked, !is_believed, "{named:?}");
        assert_eq!(world.count(State::Failed), 1);
        assert!(snapshot.prove(None).unwrap().is_sound());
    }
}
