//! The same payment in another spelling, or with an amount that its bill tells.

use disburse::domain::{BatchName, Instruction, Reference, ServiceCode};
use disburse::journal::{AlikeKind, BillCursor, LoadPlan, LoadRefusal, LoadRow, Loaded};
use disburse::lifecycle::Class;

use crate::support::*;

fn first_batch() -> LoadPlan {
    other_batch("payroll", 0)
}

fn named(n: u64, reference: &str) -> Instruction {
    Instruction {
        reference: Some(Reference::parse(reference).unwrap()),
        ..row(n)
    }
}

fn to_account(account: &str, reference: Option<&str>) -> Instruction {
    Instruction {
        reference: reference.map(|text| Reference::parse(text).unwrap()),
        account_number: account.into(),
        service: ServiceCode::parse("WATER").unwrap(),
        ..row(7)
    }
}

/// A row of `to_account` as the file of a biller has it: with an amount, or without.
fn billed(account: &str, reference: Option<&str>, amount: Option<i64>) -> LoadRow {
    let row = to_account(account, reference);
    match amount {
        Some(minor) => LoadRow::Valid(with_amount(row, minor)),
        None => LoadRow::Unpriced(row.with_money(kes())),
    }
}

fn file(rows: impl IntoIterator<Item = LoadRow>) -> Vec<LoadRow> {
    rows.into_iter().chain([LoadRow::EndOfFile]).collect()
}

fn repeated(loaded: &Loaded) -> u64 {
    match loaded {
        Loaded::Refused(LoadRefusal::BadRows {
            repeats: Some(repeats),
            ..
        }) => repeats.rows,
        Loaded::New(_) => 0,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_reference_in_another_spelling_is_the_same_debt_of_another_load() {
    let world = World::new();
    let known = ["INV-1", "0012", "Shop 7 A", "STRASSE/1"];
    let rows: Vec<_> = (1..).zip(known).map(|(n, text)| named(n, text)).collect();
    world.load_new(first_batch(), rows).await;
    // All of them of other people, and of other amounts.
    for (reference, refused) in [
        ("inv-1", 1),
        ("INV\u{2013}1", 1),
        ("ＩＮＶ-1", 1),
        ("INV - 1", 1),
        ("12", 1),
        ("00012", 1),
        ("shop  7 a", 1),
        ("straße/1", 1),
        ("INV-01", 0),
        ("INV1", 0),
        ("120", 0),
    ] {
        let again = LoadPlan {
            dry_run: true,
            ..other_batch("again", 1)
        };
        let loaded = world.load(again, vec![named(900, reference)]).await;
        assert_eq!(repeated(&loaded), refused, "{reference}: {loaded:?}");
        if let Loaded::Refused(LoadRefusal::BadRows { late, .. }) = loaded {
            assert!(late[0].message.contains("reads like"), "{late:?}");
        }
    }
    // Identifiers are made from references as they stand.
    let identifiers = world.identifiers();
    let other = World::new();
    other.load_new(first_batch(), vec![named(1, "inv-1")]).await;
    assert!(!identifiers.contains(&other.identifiers()[0]));
}

#[tokio::test]
async fn an_account_in_another_spelling_is_the_same_recipient() {
    let world = World::new();
    let known = file([billed("0012345678", None, Some(500))]);
    world.load_incoming(first_batch(), known).await;
    for (account, refused) in [
        ("12345678", 1),
        ("0012 345 678", 1),
        ("0012-345-678", 1),
        ("0012\u{2011}345678", 1),
        ("123456780", 0),
    ] {
        let again = LoadPlan {
            dry_run: true,
            ..other_batch("again", 1)
        };
        let row = file([billed(account, Some("NEW"), Some(500))]);
        let loaded = world.load_incoming(again, row).await;
        assert_eq!(repeated(&loaded), refused, "{account}: {loaded:?}");
    }
}

#[tokio::test]
async fn references_of_one_file_that_read_alike_are_shown() {
    let world = World::new();
    let rows = vec![
        named(1, "A1"),
        named(2, "a1"),
        named(3, "0012"),
        named(4, "12"),
        named(5, "B1"),
    ];
    let summary = world.load_new(first_batch(), rows).await;
    assert_eq!(summary.alike.len(), 1, "{:?}", summary.alike);
    let alike = &summary.alike[0];
    assert_eq!(alike.kind, AlikeKind::SameReference);
    assert_eq!(alike.lines, [3, 5]);
    let kept = world.journal.alike(batch()).await.unwrap();
    assert_eq!(kept, summary.alike);
}

#[tokio::test]
async fn a_row_that_waits_for_its_bill_is_any_amount_of_its_account() {
    // The references, whether the first row and the second one wait for their bills, and whether the second is refused.
    for (references, waits, refused) in [
        ((None, None), (true, false), 1),
        ((None, None), (false, true), 1),
        ((None, None), (true, true), 1),
        ((Some("A"), None), (true, false), 1),
        ((None, Some("B")), (false, true), 1),
        ((Some("A"), Some("B")), (true, false), 0),
        ((Some("A"), Some("B")), (false, true), 0),
    ] {
        let world = World::new();
        let amount = |waits: bool, minor| (!waits).then_some(minor);
        let first = billed("000123", references.0, amount(waits.0, 500));
        world.load_incoming(first_batch(), file([first])).await;
        let second = billed("123", references.1, amount(waits.1, 700));
        let loaded = world
            .load_incoming(other_batch("again", 1), file([second]))
            .await;
        let case = format!("{references:?} {waits:?}");
        assert_eq!(repeated(&loaded), refused, "{case}: {loaded:?}");
        if let Loaded::New(summary) = loaded {
            assert_eq!(summary.alike[0].kind, AlikeKind::OtherLoad, "{case}");
        }
        // Another account is another payment.
        let other = billed("000124", references.1.map(|_| "C"), amount(waits.1, 700));
        let loaded = world
            .load_incoming(other_batch("other", 1), file([other]))
            .await;
        assert_eq!(repeated(&loaded), 0, "{case}");
    }
}

#[tokio::test]
async fn the_amount_that_a_bill_has_told_is_the_one_that_counts() {
    for (minor, refused) in [(500, 1), (700, 0)] {
        let world = World::new();
        let known = file([billed("123", None, None)]);
        world.load_incoming(first_batch(), known).await;
        let row = world
            .journal
            .bills_to_ask(batch(), Vec::new(), BillCursor::ALL, 9);
        let seq = row.await.unwrap().0[0].seq;
        world.price(seq, 500).await.unwrap();
        let token = world.acquire(6).await.token;
        for claim in world.claim(token, 9, 7).await {
            world
                .record(vec![finding(claim.seq, reply(Class::Paid, 140))], 8)
                .await;
        }
        let again = file([billed("123", None, Some(minor))]);
        let loaded = world.load_incoming(other_batch("again", 1), again).await;
        assert_eq!(repeated(&loaded), refused, "{minor}: {loaded:?}");
    }
}

#[tokio::test]
async fn a_bill_is_not_taken_while_another_row_pays_its_account() {
    let world = World::new();
    // In one file: shown at the load, and refused at the bill.
    let known = file([
        billed("000123", Some("A"), None),
        billed("123", Some("B"), Some(500)),
    ]);
    let loaded = world.load_incoming(first_batch(), known).await;
    let Loaded::New(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!(summary.alike[0].kind, AlikeKind::SameBill);
    let rival = async |name: &str| {
        let name = BatchName::parse(name).unwrap();
        let page = world
            .journal
            .bills_to_ask(name, Vec::new(), BillCursor::ALL, 9);
        page.await.unwrap().0[0].rival.clone()
    };
    assert_eq!(
        rival("payroll")
            .await
            .map(|rival| rival.to_string())
            .as_deref(),
        Some("line 8")
    );
    let cancel = async |name: &str, row: &str| {
        let name = BatchName::parse(name).unwrap();
        let row = Some(row.into());
        world.journal.cancel(name, row, moment(9)).await.unwrap();
    };
    cancel("payroll", "B").await;
    assert_eq!(rival("payroll").await, None);
    // In another batch, as long as it may still be paid.
    let other = file([billed("00123", Some("C"), Some(900))]);
    world.load_incoming(other_batch("other", 1), other).await;
    assert_eq!(
        rival("payroll")
            .await
            .map(|rival| rival.to_string())
            .as_deref(),
        Some("line 8 of batch other")
    );
    cancel("other", "C").await;
    assert_eq!(rival("payroll").await, None);
}
