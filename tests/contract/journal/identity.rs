//! Identifiers are a pure function of originator, batch and row.

use std::collections::BTreeSet;

use disburse::domain::{BatchName, IdentifierForm, Originator};
use disburse::journal::{LoadPlan, Loaded};
use disburse::lifecycle::Class;

use crate::support::*;

fn mixed() -> Vec<disburse::domain::Instruction> {
    let mut all = rows(1..=5);
    all.extend((6..=9).map(|n| nameless(n, n + 1)));
    all
}

#[tokio::test]
async fn the_same_file_gives_the_same_identifiers_in_every_journal() {
    let (one, other) = (World::new(), World::new());
    one.load_new(plan(), mixed()).await;
    // Another day, another machine, a journal that held something before.
    let earlier = LoadPlan {
        batch: BatchName::parse("earlier").unwrap(),
        ..plan()
    };
    other.load_new(earlier, rows(100..=120)).await;
    let later = LoadPlan {
        now: at(86_400),
        source: "copy.csv".into(),
        ..plan()
    };
    other.load_new(later, mixed()).await;
    assert_eq!(one.identifiers(), other.identifiers());
    assert_eq!(
        one.identifiers().into_iter().collect::<BTreeSet<_>>().len(),
        9
    );
}

#[tokio::test]
async fn an_inserted_line_shifts_no_neighbours_identifier() {
    let (one, other) = (World::new(), World::new());
    one.load_new(plan(), mixed()).await;
    let mut more = mixed();
    more.insert(0, nameless(77, 2));
    more.insert(5, row(78));
    more.reverse();
    for (index, row) in more.iter_mut().enumerate() {
        row.line = index as u64 + 2;
    }
    other.load_new(plan(), more).await;
    let there: BTreeSet<_> = other.identifiers().into_iter().collect();
    for id in one.identifiers() {
        assert!(there.contains(&id));
    }
}

#[tokio::test]
async fn originator_and_batch_are_part_of_every_identifier() {
    let base = World::loaded(3).await.identifiers();
    let originator = LoadPlan {
        originator: Originator::parse("other").unwrap(),
        ..plan()
    };
    let name = LoadPlan {
        batch: BatchName::parse("payroll-2").unwrap(),
        ..plan()
    };
    let world = World::new();
    world.load_new(originator, rows(1..=3)).await;
    assert!(world.identifiers().iter().all(|id| !base.contains(id)));
    let world = World::new();
    world.load_new(name, rows(1..=3)).await;
    let reader = world.reader();
    let snapshot = reader
        .snapshot(&BatchName::parse("payroll-2").unwrap())
        .unwrap();
    let found = snapshot.find("EMP-1").unwrap();
    assert!(!base.contains(&found[0].payment.id));
}

/// Those of every generation.
fn all_identifiers(world: &World) -> Vec<String> {
    let c = world.sql();
    let mut statement = c.prepare("select identifier from identifier").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_batch_keeps_the_form_of_its_identifiers_whatever_the_dialect_says_later() {
    for form in ["{uuid}", "PAY-{base32:16}"] {
        let form = IdentifierForm::parse(form).unwrap();
        let in_form = || LoadPlan {
            form: form.clone(),
            ..plan()
        };
        let world = World::new();
        world.load_new(in_form(), mixed()).await;
        let first = world.identifiers();
        assert!(first.iter().all(|id| form.has(id.as_str())), "{first:?}");
        // Another journal derives the same.
        let other = World::new();
        other.load_new(in_form(), mixed()).await;
        assert_eq!(other.identifiers(), first);
        // The dialect has the document's form by now: the file is the same one, and what is added is written as the rest is.
        let again = world.load(plan(), mixed()).await;
        assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
        let more = LoadPlan {
            amend: true,
            ..plan()
        };
        let mut longer = mixed();
        longer.push(row(20));
        world.load_new(more, longer).await;
        let now = world.identifiers();
        assert_eq!(now.len(), first.len() + 1);
        assert!(now.iter().all(|id| form.has(id.as_str())), "{now:?}");
        // So are retries, and the chain vouches for all of it.
        all_end(&world, Class::Failed, 141).await;
        let retried = world.journal.retry(batch(), None, at(50)).await.unwrap();
        assert_eq!(retried, now.len() as u64);
        let all = all_identifiers(&world);
        assert_eq!(all.len(), 2 * now.len());
        assert!(all.iter().all(|id| form.has(id)), "{all:?}");
        let proof = world
            .reader()
            .snapshot(&batch())
            .unwrap()
            .prove(None)
            .unwrap();
        assert_eq!(proof.findings, Vec::<String>::new());
    }
}

#[tokio::test]
async fn another_form_in_the_row_of_a_batch_is_found() {
    let world = World::loaded(3).await;
    world
        .sql()
        .execute("update batch set identifier_form = '{uuid}'", [])
        .unwrap();
    let more = LoadPlan {
        amend: true,
        ..plan()
    };
    let (sender, receiver) = std::sync::mpsc::channel();
    let added = disburse::journal::LoadRow::Valid(row(9));
    sender
        .send(vec![added, disburse::journal::LoadRow::EndOfFile])
        .unwrap();
    let error = world.journal.load(more, receiver).await.unwrap_err();
    assert!(
        error.to_string().contains("a form of identifiers"),
        "{error}"
    );
    let proof = world
        .reader()
        .snapshot(&batch())
        .unwrap()
        .prove(None)
        .unwrap();
    let said = proof.findings.join(" ");
    assert!(
        said.contains("does not come from its batch and its row"),
        "{said}"
    );
}

#[tokio::test]
async fn equal_rows_are_numbered_by_their_occurrence() {
    let allow = || LoadPlan {
        allow_equal_rows: true,
        ..plan()
    };
    let world = World::new();
    let equal = |lines: &[u64]| lines.iter().map(|line| nameless(1, *line)).collect();
    world.load_new(allow(), equal(&[2, 3, 4])).await;
    let three = world.identifiers();
    assert_eq!(three.iter().collect::<BTreeSet<_>>().len(), 3);
    // The first is the one that a file without its twins has.
    let alone = World::new();
    alone.load_new(plan(), equal(&[2])).await;
    assert_eq!(alone.identifiers()[0], three[0]);
    // Rows between them do not count.
    let spread = World::new();
    let mut rows: Vec<_> = equal(&[2, 5, 9]);
    rows.insert(1, nameless(2, 3));
    rows.insert(3, row(7));
    spread.load_new(allow(), rows).await;
    let found = spread.identifiers();
    assert!(three.iter().all(|id| found.contains(id)));
    spread.assert_adds_up();
}

#[tokio::test]
async fn rows_that_differ_in_one_member_are_not_equal() {
    let base = nameless(1, 2);
    let mut variants = vec![base.clone()];
    let mut add = |change: fn(&mut disburse::domain::Instruction)| {
        let mut row = base.clone();
        row.line = variants.len() as u64 + 2;
        change(&mut row);
        variants.push(row);
    };
    add(|row| row.narration = "x".into());
    add(|row| row.customer_names = "x".into());
    add(|row| row.invoice_number = "x".into());
    add(|row| row.account_number = "x".into());
    add(|row| row.hub_id = "x".into());
    add(|row| row.payment_mode = "x".into());
    add(|row| row.extra = vec![("x".into(), String::new())]);
    add(|row| row.extra = vec![(String::new(), "x".into())]);
    add(|row| row.document = Some(document("x", "")));
    add(|row| *row = with_amount(row.clone(), 101));
    add(|row| *row = of_service(row.clone(), "OTHER"));
    let count = variants.len();
    let world = World::new();
    let summary = world.load_new(plan(), variants).await;
    assert_eq!(summary.total().count, count as u64);
}
