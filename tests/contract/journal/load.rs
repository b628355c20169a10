//! A load is all or nothing.

use disburse::domain::{Amount, Currency, Reference, Tally};
use disburse::journal::{LoadPlan, LoadRefusal, LoadRow, Loaded, ReportRow};
use disburse::lifecycle::{Class, State};

use crate::support::*;

#[tokio::test]
async fn a_load_puts_every_row_in_the_journal_ready_to_be_posted() {
    let world = World::new();
    let summary = world.load_new(plan(), rows(1..=5)).await;
    assert_eq!(summary.total().count, 5);
    assert_eq!(summary.total().amounts.minor(kes()), 1500);
    assert_eq!(summary.rejected, Tally::default());
    assert!(summary.late.is_empty() && summary.unchanged == 0);
    let payments = world.payments();
    assert_eq!(payments.len(), 5);
    for (record, row) in payments.iter().zip(rows(1..=5)) {
        assert_eq!(
            record.payment.instruction, row,
            "it is kept as it was given"
        );
        assert_eq!(record.payment.received_at, at(0));
        assert_eq!(record.payment.generation, 0);
        assert_eq!(record.life, disburse::lifecycle::PaymentState::NEW);
    }
    world.assert_adds_up();
}

#[tokio::test]
async fn every_member_of_an_instruction_survives_the_journal() {
    let world = World::new();
    let full = disburse::domain::Instruction {
        account_number: "0110-22".into(),
        narration: "Novembre \u{1f4b8}, \"quoted\"".into(),
        customer_names: "Ann O'Neil".into(),
        invoice_number: "INV;1".into(),
        payment_mode: "cash".into(),
        hub_id: "7".into(),
        extra: vec![
            ("bankCode".into(), "01".into()),
            ("a b".into(), "\n".into()),
        ],
        document: Some(document("doc-1", "/srv/pay")),
        ..row(1)
    };
    world.load_new(plan(), vec![full.clone()]).await;
    assert_eq!(world.payments()[0].payment.instruction, full);
}

type Case = (
    &'static str,
    LoadPlan,
    Vec<LoadRow>,
    fn(&LoadRefusal) -> bool,
);

fn good(rows: Vec<disburse::domain::Instruction>) -> Vec<LoadRow> {
    let mut incoming: Vec<LoadRow> = rows.into_iter().map(LoadRow::Valid).collect();
    incoming.push(LoadRow::EndOfFile);
    incoming
}

fn refusals() -> Vec<Case> {
    let mut with_bad = good(rows(1..=3));
    with_bad.insert(1, LoadRow::Invalid(bad(9, 100)));
    let mut unended = good(rows(1..=3));
    unended.pop();
    let mut twice = rows(1..=3);
    twice[2].reference = twice[0].reference.clone();
    let total = |minor| LoadPlan {
        expect_total: Some((kes(), Amount::from_minor(minor).unwrap())),
        ..plan()
    };
    let other_currency = LoadPlan {
        expect_total: Some((
            Currency::from_code("UGX").unwrap(),
            Amount::from_minor(600).unwrap(),
        )),
        ..plan()
    };
    let count = |n| LoadPlan {
        expect_count: Some(n),
        ..plan()
    };
    vec![
        (
            "bad row",
            plan(),
            with_bad,
            |refusal| matches!(refusal, LoadRefusal::BadRows { rejected: 1, late, .. } if late.is_empty()),
        ),
        ("reference twice", plan(), good(twice), |refusal| {
            matches!(refusal, LoadRefusal::BadRows { rejected: 0, late, .. }
                if late.len() == 1 && late[0].line == 4 && late[0].column == "reference"
                    && late[0].message.contains("line 2"))
        }),
        (
            "equal rows",
            plan(),
            good(vec![nameless(1, 2), nameless(1, 3)]),
            |refusal| {
                matches!(refusal, LoadRefusal::BadRows { rejected: 0, late, .. }
                    if late.len() == 1 && late[0].line == 3 && late[0].message.contains("line 2"))
            },
        ),
        ("end mark missing", plan(), unended, |refusal| {
            *refusal == LoadRefusal::Unreadable
        }),
        ("nothing sent at all", plan(), Vec::new(), |refusal| {
            *refusal == LoadRefusal::Unreadable
        }),
        ("no rows", plan(), vec![LoadRow::EndOfFile], |refusal| {
            *refusal == LoadRefusal::NoRows
        }),
        ("declared count", count(4), good(rows(1..=3)), |refusal| {
            *refusal
                == LoadRefusal::Count {
                    expected: 4,
                    found: 3,
                }
        }),
        (
            "declared total",
            total(601),
            good(rows(1..=3)),
            |refusal| matches!(refusal, LoadRefusal::Total { expected, .. } if expected == "KES 6.01"),
        ),
        (
            "declared total of another currency",
            other_currency,
            good(rows(1..=3)),
            |refusal| matches!(refusal, LoadRefusal::Total { .. }),
        ),
    ]
}

#[tokio::test]
async fn a_load_that_is_refused_leaves_the_journal_as_it_was() {
    for (name, plan, incoming, expected) in refusals() {
        for with_a_batch_before in [false, true] {
            let world = World::new();
            if with_a_batch_before {
                let other = LoadPlan {
                    batch: disburse::domain::BatchName::parse("earlier").unwrap(),
                    ..crate::support::plan()
                };
                world.load_new(other, rows(50..=52)).await;
            }
            let before = world.contents();
            let loaded = world.load_incoming(plan.clone(), incoming.clone()).await;
            let Loaded::Refused(refusal) = loaded else {
                panic!("{name}: {loaded:?}");
            };
            assert!(expected(&refusal), "{name}: {refusal:?}");
            assert_eq!(world.contents(), before, "{name}");
        }
    }
}

#[tokio::test]
async fn a_dry_run_says_what_a_load_would_and_changes_nothing() {
    let world = World::new();
    let before = world.contents();
    let dry = LoadPlan {
        dry_run: true,
        ..plan()
    };
    let said = world.load(dry, rows(1..=4)).await;
    assert_eq!(world.contents(), before);
    let done = world.load(plan(), rows(1..=4)).await;
    assert_eq!(said, done, "and the load after it is not disturbed");
}

#[tokio::test]
async fn declared_totals_that_are_right_are_accepted() {
    let world = World::new();
    let declared = LoadPlan {
        expect_count: Some(3),
        expect_total: Some((kes(), Amount::from_minor(600).unwrap())),
        ..plan()
    };
    world.load_new(declared, rows(1..=3)).await;
}

#[tokio::test]
async fn skipped_rows_are_journalled_as_rejected_and_the_totals_add_up() {
    let world = World::new();
    let skip = LoadPlan {
        skip_bad_rows: true,
        // Declared totals are about the file, so that rejected rows count.
        expect_count: Some(7),
        ..plan()
    };
    let mut named = rows(1..=3);
    named[2].reference = Some(Reference::parse("EMP-1").unwrap());
    let equal = [nameless(8, 20), nameless(8, 21)];
    named.extend(equal);
    let unreadable = disburse::journal::RejectedRow {
        money: None,
        ..bad(30, 1)
    };
    let loaded = world
        .load_mixed(skip, named, vec![bad(10, 700), unreadable])
        .await;
    let Loaded::New(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!(summary.total().count, 3);
    assert_eq!(summary.rejected.count, 4);
    assert_eq!(
        summary.rejected.amounts.minor(kes()),
        700 + 300 + 800,
        "the amounts that could be read"
    );
    let late: Vec<u64> = summary.late.iter().map(|late| late.line).collect();
    assert_eq!(late.len(), 2);
    assert!(late.contains(&4) && late.contains(&21), "{late:?}");
    let standing = world.standing();
    assert_eq!(standing.of(State::Ready).count, 3);
    assert_eq!(standing.rejected, summary.rejected);
    let lines: Vec<u64> = world
        .report_rows()
        .iter()
        .map(|row| match row {
            ReportRow::Payment(record) => record.payment.instruction.line,
            ReportRow::Unpriced(record) => record.row.line,
            ReportRow::Rejected(row) | ReportRow::Withdrawn(row, _) => row.line,
        })
        .collect();
    assert_eq!(lines, [2, 3, 4, 10, 20, 21, 30], "in the order of the file");
    world.assert_adds_up();
}

#[tokio::test]
async fn a_file_with_bad_rows_alone_is_kept_when_they_are_skipped() {
    let world = World::new();
    let skip = LoadPlan {
        skip_bad_rows: true,
        ..plan()
    };
    let loaded = world.load_mixed(skip, Vec::new(), vec![bad(2, 100)]).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    assert_eq!(world.standing().rejected.count, 1);
    assert!(world.standing().is_finished(), "nothing is left to do");
    world.assert_adds_up();
}

#[tokio::test]
async fn presumed_posted_payments_are_asked_about_before_anything_is_posted() {
    let world = World::new();
    let presume = LoadPlan {
        presume_posted: true,
        ..plan()
    };
    world.load_new(presume, rows(1..=3)).await;
    assert_eq!(world.count(State::InDoubt), 3);
    world.confirm_payer(1).await;
    let token = world.acquire(1).await.token;
    assert!(world.claim(token, 10, 2).await.is_empty());
    let (questions, _) = world
        .journal
        .questions(token, 10, at(2), at(100))
        .await
        .unwrap();
    assert_eq!(questions.len(), 3, "at once: the post is long past");
    // Only "not found" twice, a quarantine after the start, makes them ready.
    let not_found = answer(disburse::lifecycle::Class::NotFound, 143);
    for (secs, state) in [
        (30, State::InDoubt),
        (70, State::InDoubt),
        (80, State::Ready),
    ] {
        let findings = questions
            .iter()
            .map(|question| finding(question.seq, not_found))
            .collect();
        world.record(findings, secs).await;
        assert_eq!(world.count(state), 3, "after {secs} s");
    }
    crate::fold::assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    world.assert_adds_up();
}

#[tokio::test]
async fn the_retry_of_a_payment_presumed_posted_is_presumed_posted_too() {
    let world = World::new();
    let presume = LoadPlan {
        presume_posted: true,
        ..plan()
    };
    world.load_new(presume, rows(1..=1)).await;
    world.confirm_payer(1).await;
    let token = world.acquire(1).await.token;
    let first = world.payments().remove(0);
    world
        .record(vec![finding(first.seq, answer(Class::Failed, 141))], 2)
        .await;
    for generation in 1..=2 {
        let retried = world.journal.retry(batch(), None, at(3)).await;
        assert_eq!(retried.unwrap(), 1);
        // The journal that was lost may have posted it under this very identifier.
        let again = world.payments().remove(0);
        assert_eq!(again.payment.generation, generation);
        assert_eq!(again.life.state, State::InDoubt);
        assert!(again.life.is_exposed());
        assert!(world.claim(token, 10, 4).await.is_empty());
        world.assert_adds_up();
        world
            .record(vec![finding(again.seq, answer(Class::Failed, 141))], 5)
            .await;
    }
}
