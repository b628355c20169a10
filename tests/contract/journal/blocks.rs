//! A load of many blocks: what passes by is what is stored, and what is proved.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;

use disburse::domain::{BatchName, Instruction, LaneId, Originator, Payment, PaymentId};
use disburse::journal::{LoadPlan, LoadRefusal, LoadRow, Loaded};
use disburse::lifecycle::State;

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
    row.narration = text(3, "Salary").into();
    row.customer_names = text(4, "Wanjiku Kamau").into();
    row.invoice_number = text(5, "INV").into();
    row.payment_mode = text(7, "cash").into();
    row.hub_id = text(11, "hub").into();
    row.account_number = match n % 6 {
        0 => row.msisdn.as_str().into(),
        1 => format!("0110-{n}").into(),
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
            given.account_number = given.msisdn.as_str().into();
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

/// Rows of two services, some with a document, some of which wait for their bill: in the second block, but not in the others.
fn of_blocks(numbers: std::ops::RangeInclusive<u64>) -> Vec<LoadRow> {
    numbers
        .map(|n| match (n % 50, n) {
            (7, 1_001..=2_000) => LoadRow::Unpriced(unpriced(n)),
            _ => {
                let mut row = motley(n);
                row.document = row.document.filter(|_| n.is_multiple_of(200));
                LoadRow::Valid(row)
            }
        })
        .chain([LoadRow::EndOfFile])
        .collect()
}

/// Claims in shares until nothing is left. The payments of a service come in the order of loading.
async fn claim_all(world: &World, secs: i64, share: usize) -> BTreeMap<PaymentId, Payment> {
    let token = world.acquire(secs).await.token;
    let mut claimed = BTreeMap::new();
    let mut last: BTreeMap<LaneId, PaymentId> = BTreeMap::new();
    for turn in 0.. {
        // Somebody else writes now and then: what was compared is compared again.
        if turn % 3 == 2 {
            let touch = "insert into meta (key, value) values ('touched', 1); delete from meta where key = 'touched'";
            world.sql().execute_batch(touch).unwrap();
        }
        let claims = world.claim(token, share, secs).await;
        if claims.is_empty() {
            break;
        }
        for claim in claims {
            let before = last.insert(claim.lane, claim.seq);
            assert!(before.is_none_or(|before| before < claim.seq), "{claim:?}");
            let twice = claimed.insert(claim.seq, claim.payment.as_ref().clone());
            assert_eq!(twice, None);
        }
    }
    claimed
}

#[tokio::test]
async fn what_is_claimed_of_many_blocks_is_each_payment_once_and_as_it_is_stored() {
    for share in [70, 999, 1_000, 5_000] {
        let world = World::new();
        let loaded = world.load_incoming(plan(), of_blocks(1..=3_400)).await;
        assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
        for reference in ["EMP-1", "EMP-17", "EMP-999", "EMP-2001", "EMP-3399"] {
            let withdrawn = world
                .journal
                .cancel(batch(), Some(reference.into()), moment(1));
            assert_eq!(withdrawn.await.unwrap(), 1, "{reference}");
        }
        // Another batch lies between the two parts of this one.
        let others = LoadPlan {
            batch: BatchName::parse("others").unwrap(),
            ..plan()
        };
        let between = world.load(others, (9_000..9_300).map(row).collect()).await;
        assert!(matches!(between, Loaded::New(_)), "{between:?}");
        let more = LoadPlan {
            amend: true,
            ..plan()
        };
        let amended = world.load_incoming(more, of_blocks(1..=4_900)).await;
        assert!(matches!(amended, Loaded::New(_)), "{amended:?}");

        let expected: BTreeMap<PaymentId, Payment> = world
            .payments()
            .into_iter()
            .filter(|record| record.life.state == State::Ready)
            .filter(|record| record.payment.instruction.document.is_none())
            .map(|record| (record.seq, record.payment))
            .collect();
        assert!(expected.len() > 4_800, "{}", expected.len());
        let claimed = claim_all(&world, 2, share).await;
        assert!(
            claimed == expected,
            "{} of {}",
            claimed.len(),
            expected.len()
        );
        assert_sound(&world);
    }
}
