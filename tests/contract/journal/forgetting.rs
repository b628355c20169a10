//! Persons that are forgotten: nothing personal is left in the file, everything still verifies, and what comes again is recognised.

use std::time::Duration;

use disburse::domain::{BatchName, Instruction, Msisdn, Reference, ResponseDetails};
use disburse::journal::{
    Claim, Error, Finding, ForgetOrder, Forgotten, LoadPlan, LoadRefusal, LoadRow, Loaded,
    Location, Received, RepeatPlan, Unretried, WhyUnretried, compact,
};
use disburse::ledger::correction::Corrects;
use disburse::ledger::forgetting::{Kept, Recipient};
use disburse::ledger::repeats::{Terms, TermsByService};
use disburse::lifecycle::{Class, State};

use crate::support::*;

/// Rows are looked for as long as this: long enough that forgotten ones are among them.
const LONG: Duration = Duration::from_secs(1000 * DAY as u64);

pub fn order(recipient: Option<&str>) -> ForgetOrder {
    ForgetOrder {
        batch: batch(),
        recipient: recipient.map(Recipient::written),
        archive: None,
        reason: "a made-up request".to_owned(),
        window: Duration::from_secs(20 * DAY as u64),
    }
}

pub fn person(n: u64) -> Instruction {
    Instruction {
        narration: format!("Wages of Wanjiku{n}").into(),
        customer_names: format!("Wanjiku{n} Njoroge{n}").into(),
        invoice_number: format!("INVOICE-OF-{n}").into(),
        extra: vec![(
            "destinationAccountName".into(),
            format!("Holder{n} Otieno{n}"),
        )],
        ..row(n)
    }
}

fn texts_of(n: u64) -> Vec<String> {
    vec![
        format!("2547{n:08}"),
        format!("EMP-{n}"),
        format!("Wanjiku{n} "),
        format!("Njoroge{n}"),
        format!("INVOICE-OF-{n}"),
        format!("Holder{n} "),
        format!("Received by Wanjiku{n}"),
        format!("unread: Wanjiku{n}"),
    ]
}

/// Three payments that are paid; the gateway has said much of each.
pub async fn finished() -> World {
    let world = World::new();
    world
        .load_new(other_batch("payroll", 0), (1..=3).map(person).collect())
        .await;
    end(&world, Class::Paid, 140).await;
    world
}

pub async fn end(world: &World, class: Class, code: i32) {
    end_at(world, (class, code), 1).await;
}

pub async fn end_at(world: &World, (class, code): (Class, i32), moment: i64) {
    let token = world.acquire(moment).await.token;
    for (n, claim) in (1..).zip(world.claim(token, 100, moment + 1).await) {
        let said = ResponseDetails {
            receiver_narration: Some(format!("Received by Wanjiku{n}")),
            cause: format!("unread: Wanjiku{n}"),
            ..ResponseDetails::default()
        };
        let event = reply(class, code);
        let seq = claim.seq;
        let finding = Finding {
            seq,
            event,
            said,
            asked: None,
        };
        world.record(vec![finding], moment + 2).await;
    }
}

pub fn assert_sound(world: &World, forgotten: u64) {
    let reader = world.reader();
    let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
    assert!(proof.is_sound(), "{:?}", proof.findings);
    assert_eq!(proof.forgotten, forgotten);
}

/// The files of the journal, as bytes.
fn bytes(world: &World) -> Vec<u8> {
    let mut all = std::fs::read(&world.path).unwrap();
    for suffix in ["-wal", "-journal"] {
        let mut name = world.path.clone().into_os_string();
        name.push(suffix);
        all.extend(std::fs::read(name).unwrap_or_default());
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

#[tokio::test]
async fn nothing_personal_is_left_in_the_file_and_everything_still_verifies() {
    let world = finished().await;
    assert_sound(&world, 0);
    let before = world.payments();
    for n in 1..=3 {
        for text in texts_of(n) {
            assert!(holds(&bytes(&world), &text), "{text}");
        }
    }
    let head = |world: &World| {
        let reader = world.reader();
        reader.snapshot(&batch()).unwrap().head().unwrap()
    };
    let earlier = head(&world);
    let found = world.journal.forget(order(None), at(40 * DAY)).await;
    let all = Forgotten {
        payments: 3,
        rejected: 0,
    };
    assert_eq!(found.unwrap(), all);
    assert_sound(&world, 3);
    compact(&Location::from(&world.path)).unwrap();
    assert_sound(&world, 3);
    for n in 1..=3 {
        for text in texts_of(n) {
            assert!(!holds(&bytes(&world), &text), "{text}");
        }
    }
    // A head that was kept elsewhere is on the chain still.
    let reader = world.reader();
    let proof = reader
        .snapshot(&batch())
        .unwrap()
        .prove(Some(earlier.hash))
        .unwrap();
    assert!(proof.is_sound() && proof.earlier_head_at == Some(earlier.length));
    for (before, after) in before.iter().zip(world.payments()) {
        assert_eq!(before.payment.id, after.payment.id);
        assert_eq!(before.life, after.life);
        let (was, is) = (&before.payment.instruction, &after.payment.instruction);
        assert_eq!((was.money, &was.service), (is.money, &is.service));
        assert!(is.msisdn.is_forgotten());
    }
    world.assert_adds_up();
    // Said again, it finds nothing to do, and records nothing.
    let found = world.journal.forget(order(None), at(41 * DAY)).await;
    assert_eq!(found.unwrap(), Forgotten::default());
    assert_sound(&world, 3);
}

#[tokio::test]
async fn one_recipient_is_forgotten_and_the_others_stay() {
    let world = finished().await;
    let found = world
        .reader()
        .paid_in(&Recipient::written("+254 700000002"))
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rows.payments, 1);
    let forgotten = world
        .journal
        .forget(order(Some("254-700000002")), at(40 * DAY))
        .await;
    assert_eq!(forgotten.unwrap().payments, 1);
    compact(&Location::from(&world.path)).unwrap();
    assert_sound(&world, 1);
    assert!(
        world
            .reader()
            .paid_in(&Recipient::written("254700000002"))
            .unwrap()
            .is_empty()
    );
    let file = bytes(&world);
    for n in 1..=3 {
        for text in texts_of(n) {
            assert_eq!(holds(&file, &text), n != 2, "{text}");
        }
    }
}

#[tokio::test]
async fn persons_are_kept_while_something_may_rest_on_them() {
    let kept = async |world: &World, day: i64| match world
        .journal
        .forget(order(None), at(day * DAY))
        .await
    {
        Err(Error::Kept { why, .. }) => Some(why),
        Ok(_) => None,
        Err(other) => panic!("{other}"),
    };
    let world = World::new();
    world
        .load_new(other_batch("payroll", 0), (1..=3).map(person).collect())
        .await;
    let before = world.contents();
    assert_eq!(kept(&world, 40).await, Some(Kept::Unfinished(State::Ready)));
    assert_eq!(world.contents(), before);
    end(&world, Class::Paid, 140).await;
    let before = world.contents();
    assert!(matches!(kept(&world, 31).await, Some(Kept::Compared(_))));
    assert_eq!(world.contents(), before);
    // A late word contradicts the end of one of them.
    let id = world.identifiers()[0];
    let late = world.callback(note(id, Class::Failed, 110, 1), 9).await;
    assert!(matches!(late, Received::Stored(Some(_))), "{late:?}");
    assert_eq!(
        kept(&world, 40).await,
        Some(Kept::Unfinished(State::Conflict))
    );
}

/// What a load of these rows is told of repeats, and how many rows it shows as alike.
async fn told(world: &World, rows: Vec<Instruction>) -> (u64, bool) {
    let terms = Terms {
        window: LONG,
        ..Terms::default()
    };
    let plan = LoadPlan {
        dry_run: true,
        repeats: Some(RepeatPlan {
            terms: TermsByService {
                default: terms,
                ..TermsByService::default()
            },
            ..RepeatPlan::default()
        }),
        ..other_batch("again", 50)
    };
    match world.load(plan, rows).await {
        Loaded::Refused(LoadRefusal::BadRows {
            repeats: Some(repeats),
            ..
        }) => (repeats.rows, false),
        Loaded::New(summary) => (0, !summary.alike.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_comes_again_is_told_as_if_nobody_had_been_forgotten() {
    for (class, code) in [(Class::Paid, 140), (Class::Failed, 110)] {
        let (known, hidden) = (World::new(), World::new());
        for world in [&known, &hidden] {
            world
                .load_new(other_batch("payroll", 0), (1..=3).map(person).collect())
                .await;
            end(world, class, code).await;
        }
        let done = hidden.journal.forget(order(None), at(40 * DAY)).await;
        assert_eq!(done.unwrap().payments, 3);
        let named = |n: u64, reference: &str| Instruction {
            reference: Some(Reference::parse(reference).unwrap()),
            ..person(n)
        };
        let to = |row: Instruction, digits: &str| Instruction {
            msisdn: Msisdn::from_digits(digits).unwrap(),
            account_number: digits.into(),
            ..row
        };
        let table = [
            ("the same rows", vec![person(1), person(2), person(3)]),
            ("one of them", vec![person(2)]),
            ("without its reference", vec![nameless(2, 9)]),
            (
                "its reference in another spelling",
                vec![named(2, "emp - 2")],
            ),
            (
                "its reference, of another person",
                vec![to(named(2, "EMP-2"), "254711111111")],
            ),
            ("another reference", vec![named(2, "OTHER-2")]),
            ("another amount", vec![with_amount(person(2), 777)]),
            (
                "through another service",
                vec![of_service(person(2), "BANK")],
            ),
            (
                "nameless through another service",
                vec![of_service(nameless(2, 9), "BANK")],
            ),
            ("somebody else", vec![person(9)]),
            ("somebody else without a reference", vec![nameless(9, 2)]),
        ];
        for (what, rows) in table {
            let expected = told(&known, rows.clone()).await;
            assert_eq!(told(&hidden, rows).await, expected, "{what}, {class:?}");
        }
    }
}

#[tokio::test]
async fn the_same_file_is_known_and_nothing_is_added_beside_rows_that_nobody_can_compare() {
    let world = finished().await;
    world
        .journal
        .forget(order(None), at(40 * DAY))
        .await
        .unwrap();
    let again = LoadPlan {
        now: at(50 * DAY),
        ..plan()
    };
    let rows: Vec<_> = (1..=3).map(person).collect();
    assert!(matches!(
        world.load(again.clone(), rows).await,
        Loaded::AlreadyLoaded(_)
    ));
    let longer = LoadPlan {
        amend: true,
        ..again
    };
    // Whatever else is brought could not be held against rows that nobody can compare any more.
    for rows in [
        (1..=4).map(person).collect::<Vec<_>>(),
        vec![person(2)],
        (1..=3)
            .map(|n| Instruction {
                reference: Some(Reference::parse(&format!("NEW-{n}")).unwrap()),
                ..person(n)
            })
            .collect(),
    ] {
        let before = world.contents();
        let refused = world.load(longer.clone(), rows).await;
        assert!(
            matches!(refused, Loaded::Refused(LoadRefusal::Forgotten)),
            "{refused:?}"
        );
        assert_eq!(world.contents(), before);
    }
    assert_sound(&world, 3);
}

#[tokio::test]
async fn a_failure_whose_person_was_forgotten_is_not_paid_again() {
    let world = World::new();
    world
        .load_new(other_batch("payroll", 0), (1..=3).map(person).collect())
        .await;
    end(&world, Class::Failed, 110).await;
    let one = order(Some("254700000002"));
    world.journal.forget(one, at(40 * DAY)).await.unwrap();
    let unretried = world.journal.unretried(batch(), None, None).await.unwrap();
    assert_eq!(unretried.len(), 1);
    assert_eq!(unretried[0].why, WhyUnretried::Forgotten);
    let retried = world.journal.retry(batch(), None, at(41 * DAY)).await;
    assert_eq!(retried.unwrap(), 2);
    let token = world.acquire(41 * DAY + 1).await.token;
    let claims = world.claim(token, 10, 41 * DAY + 2).await;
    assert_eq!(claims.len(), 2);
    let hidden = |claim: &Claim| claim.payment.instruction.msisdn.is_forgotten();
    assert!(!claims.iter().any(hidden));
    assert_sound(&world, 1);
}

#[tokio::test]
async fn a_failure_that_was_corrected_verifies_when_both_are_forgotten() {
    let world = World::new();
    world
        .load_new(other_batch("payroll", 0), vec![person(1)])
        .await;
    end(&world, Class::Failed, 110).await;
    let id = world.identifiers()[0];
    let amend = LoadPlan {
        amend: true,
        now: at(1_000),
        ..plan()
    };
    let mended = Instruction {
        customer_names: "Another Name".into(),
        ..with_amount(person(1), 777)
    };
    let rows = vec![
        LoadRow::Corrects(Corrects::Failed(id.as_str().to_owned())),
        LoadRow::Valid(mended),
        LoadRow::EndOfFile,
    ];
    let loaded = world.load_incoming(amend, rows).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let token = world.acquire(1_001).await.token;
    let claims = world.claim(token, 10, 1_002).await;
    world
        .record(vec![finding(claims[0].seq, reply(Class::Paid, 140))], 1_003)
        .await;
    assert_sound(&world, 0);
    world
        .journal
        .forget(order(None), at(40 * DAY))
        .await
        .unwrap();
    assert_sound(&world, 2);
}

#[tokio::test]
async fn a_retry_is_held_against_a_name_that_was_forgotten() {
    // The failure has no reference; somebody of its name was paid the same amount under another number.
    for forgets in [false, true] {
        let world = World::new();
        let failed = Instruction {
            reference: None,
            ..person(1)
        };
        world
            .load_new(other_batch("payroll", 0), vec![failed])
            .await;
        end(&world, Class::Failed, 110).await;
        let paid = Instruction {
            customer_names: person(1).customer_names,
            extra: Vec::new(),
            ..with_amount(person(2), 100)
        };
        let other = BatchName::parse("other").unwrap();
        let plan = LoadPlan {
            repeats: None,
            ..other_batch("other", 1)
        };
        world.load_new(plan, vec![paid]).await;
        let token = world
            .journal
            .acquire(other.clone(), terms(DAY), world.policy.clone())
            .await
            .unwrap()
            .token;
        let claims = world.claim(token, 10, DAY).await;
        let event = reply(Class::Paid, 140);
        world.record(vec![finding(claims[0].seq, event)], DAY).await;
        if forgets {
            let order = ForgetOrder {
                batch: other,
                ..order(None)
            };
            world.journal.forget(order, at(40 * DAY)).await.unwrap();
        }
        let judged = Some((RepeatPlan::default(), at(41 * DAY)));
        let unretried = world
            .journal
            .unretried(batch(), None, judged)
            .await
            .unwrap();
        assert!(
            matches!(
                unretried[..],
                [Unretried {
                    why: WhyUnretried::PaidSince(..),
                    ..
                }]
            ),
            "{forgets}: {unretried:?}"
        );
    }
}

#[tokio::test]
async fn what_is_done_to_a_forgotten_row_by_hand_is_found() {
    let unguarded = |world: &World, sql: &str| {
        let c = world.sql();
        for table in ["instruction", "evidence"] {
            c.execute_batch(&format!("drop trigger {table}_is_never_changed"))
                .unwrap();
        }
        c.execute_batch(sql).unwrap();
    };
    for sql in [
        // Another amount, another recipient in its place, a salt that was thrown away, a leaf that was made up.
        "update instruction set amount = 5 where seq = 2",
        "update instruction set salt = null where seq = 2",
        "update instruction set salt = zeroblob(32) where seq = 2",
        "update instruction set salt = zeroblob(16) where seq = 2",
        "update evidence set salt = zeroblob(32) where evidence_id = (select max(evidence_id) from evidence where length(salt) = 32)",
        // What stands in the place of a person, too.
        "update instruction set account_number = 'forgotten-AAAA' where seq = 2",
        "update instruction set reference = 'EMP-OTHER' where seq = 2",
        "update instruction set customer_names = 'Evil Person' where seq = 2",
        "update instruction set narration = 'of somebody' where seq = 2",
        "update evidence set detail = '{}' where evidence_id = (select max(evidence_id) from evidence where length(salt) = 32)",
        "update evidence set code = 141 where evidence_id = (select max(evidence_id) from evidence where length(salt) = 32)",
    ] {
        let world = finished().await;
        world
            .journal
            .forget(order(None), at(40 * DAY))
            .await
            .unwrap();
        unguarded(&world, sql);
        let reader = world.reader();
        let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
        let beside_schema = |finding: &&String| !finding.starts_with("schema:");
        assert!(
            proof.findings.iter().any(|finding| beside_schema(&finding)),
            "{sql}"
        );
    }
}

#[tokio::test]
async fn nobody_is_forgotten_past_the_order() {
    let world = finished().await;
    let c = world.sql();
    for sql in [
        "update instruction set msisdn = '254799999999' where seq = 1",
        "update instruction set salt = zeroblob(32) where seq = 1",
        "update evidence set detail = null where detail is not null",
        "update instruction set salt = zeroblob(32), msisdn = '000000000000000', account_number = 'x', reference = 'y', narration = null,
             customer_names = null, invoice_number = null, extra = null, amount = 1 where seq = 1",
    ] {
        assert!(c.execute_batch(sql).is_err(), "{sql}");
    }
    // Where the guards let it through, the count of what was ordered does not fit.
    c.execute_batch(
        "update instruction set salt = zeroblob(32), msisdn = '000000000000000', account_number = 'x', reference = 'y', narration = null,
             customer_names = null, invoice_number = null, extra = null where seq = 1",
    )
    .unwrap();
    let reader = world.reader();
    let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
    assert!(
        proof
            .findings
            .iter()
            .any(|finding| finding.contains("were forgotten: 1 are there, the chain covers 0")),
        "{:?}",
        proof.findings
    );
}

#[tokio::test]
async fn a_retry_looks_for_its_debt_among_those_who_were_forgotten() {
    // EMP-1 fails here, and another batch pays it; that one is forgotten.
    for forgets in [false, true] {
        let world = World::new();
        world
            .load_new(other_batch("payroll", 0), vec![person(1)])
            .await;
        end(&world, Class::Failed, 110).await;
        let other = BatchName::parse("other").unwrap();
        let paid = LoadPlan {
            repeats: None,
            ..other_batch("other", 1)
        };
        world.load_new(paid, vec![person(1)]).await;
        let token = world
            .journal
            .acquire(other.clone(), terms(DAY), world.policy.clone())
            .await
            .unwrap()
            .token;
        let claims = world.claim(token, 10, DAY).await;
        assert_eq!(claims.len(), 1);
        let event = reply(Class::Paid, 140);
        world.record(vec![finding(claims[0].seq, event)], DAY).await;
        if forgets {
            let order = ForgetOrder {
                batch: other,
                ..order(None)
            };
            let done = world.journal.forget(order, at(40 * DAY)).await;
            assert_eq!(done.unwrap().payments, 1);
        }
        assert_eq!(told(&world, vec![person(1)]).await.0, 1, "{forgets}");
    }
}
