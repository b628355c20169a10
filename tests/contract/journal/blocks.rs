//! A load of many blocks: what passes by is what is stored, and what is proved.

use std::sync::mpsc::channel;

use disburse::domain::{Instruction, Originator};
use disburse::journal::{LoadPlan, LoadRefusal, LoadRow, Loaded};

use crate::proof::assert_sound;
use crate::support::*;

/// Rows that have what their neighbours lack.
fn motley(n: u64) -> Instruction {
    let text = |every: u64, text: &str| match n % every {
        0 => format!("{text} {n}"),
        1 => text.to_owned(),
        _ => String::new(),
    };
    let mut row = row(n);
    row.narration = text(3, "Salary");
    row.customer_names = text(4, "Wanjiku Kamau");
    row.invoice_number = text(5, "INV");
    row.payment_mode = text(7, "cash");
    row.hub_id = text(11, "hub");
    row.account_number = match n % 6 {
        0 => row.msisdn.as_str().to_owned(),
        1 => format!("0110-{n}"),
        _ => "0110-22".into(),
    };
    row.extra = match n % 5 {
        0 => vec![("bankCode".into(), n.to_string())],
        1 => vec![("bankCode".into(), "01".into())],
        _ => Vec::new(),
    };
    row.document = n
        .is_multiple_of(4)
        .then(|| document("doc.pdf", if n.is_multiple_of(8) { "/srv" } else { "" }));
    if n.is_multiple_of(13) {
        row.reference = None;
    }
    match n % 3 {
        0 => of_service(row, "B2B"),
        _ => row,
    }
}

#[tokio::test]
async fn every_row_is_stored_as_it_passed_and_the_blocks_prove_it() {
    let world = World::new();
    let given: Vec<Instruction> = (1..=2_345).map(motley).collect();
    let mut file: Vec<LoadRow> = Vec::new();
    for row in &given {
        if row.line.is_multiple_of(100) {
            file.push(LoadRow::Unpriced(unpriced(100_000 + row.line)));
        }
        file.push(LoadRow::Valid(row.clone()));
    }
    file.push(LoadRow::EndOfFile);
    let loaded = world.load_incoming(plan(), file).await;
    let Loaded::New(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!((summary.total().count, summary.unpriced), (2_368, 23));
    let stored: Vec<Instruction> = world
        .payments()
        .into_iter()
        .map(|record| record.payment.instruction)
        .collect();
    for (given, stored) in given.iter().zip(&stored) {
        // A row without an account of its own is paid to its number.
        let mut given = given.clone();
        if given.account_number.is_empty() {
            given.account_number = given.msisdn.as_str().to_owned();
        }
        assert_eq!(stored, &given);
    }
    assert_eq!(stored.len(), given.len());
    world.assert_adds_up();
    assert_sound(&world);
}

async fn recall(world: &World, plan: LoadPlan, rows: Vec<LoadRow>) -> Option<Loaded> {
    let (sender, receiver) = channel();
    for block in rows.chunks(2) {
        sender.send(block.to_vec()).unwrap();
    }
    drop(sender);
    world.journal.recall(plan, receiver).await.unwrap()
}

fn whole(rows: Vec<Instruction>) -> Vec<LoadRow> {
    let mut file: Vec<LoadRow> = rows.into_iter().map(LoadRow::Valid).collect();
    file.push(LoadRow::EndOfFile);
    file
}

#[tokio::test]
async fn a_file_is_recalled_as_a_load_would_tell_it() {
    let world = World::new();
    assert!(!world.journal.has_batch(batch()).await.unwrap());
    assert_eq!(recall(&world, plan(), whole(rows(1..=6))).await, None);
    let skipping = || LoadPlan {
        skip_bad_rows: true,
        ..plan()
    };
    let mut file = whole(rows(1..=6));
    file.insert(2, LoadRow::Invalid(bad(50, 500)));
    file.insert(4, LoadRow::Unpriced(unpriced(9)));
    let loaded = world.load_incoming(skipping(), file.clone()).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    assert!(world.journal.has_batch(batch()).await.unwrap());
    let before = world.contents();

    let told = world.load_incoming(skipping(), file.clone()).await;
    assert!(matches!(told, Loaded::AlreadyLoaded(_)), "{told:?}");
    assert_eq!(recall(&world, skipping(), file.clone()).await, Some(told));

    let declared = LoadPlan {
        expect_count: Some(3),
        ..skipping()
    };
    let told = world.load_incoming(declared.clone(), file.clone()).await;
    assert!(matches!(told, Loaded::Refused(LoadRefusal::Count { .. })));
    assert_eq!(recall(&world, declared, file.clone()).await, Some(told));

    let mut torn = file.clone();
    torn.pop();
    let unreadable = Loaded::Refused(LoadRefusal::Unreadable);
    assert_eq!(recall(&world, skipping(), torn).await, Some(unreadable));

    let stranger = LoadPlan {
        originator: Originator::parse("else").unwrap(),
        ..skipping()
    };
    let refused = LoadRefusal::OtherOriginator("acme".into());
    let told = recall(&world, stranger, file).await;
    assert_eq!(told, Some(Loaded::Refused(refused)));

    // What is not the same is a load's to judge.
    assert_eq!(recall(&world, plan(), whole(rows(1..=5))).await, None);
    assert_eq!(world.contents(), before);
}
