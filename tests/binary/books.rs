//! What a batch is in the books: what was paid, and nothing else, once debited and once credited.

use std::collections::BTreeMap;

use crate::files::{Row, minor, rows};
use crate::world::{Setup, World};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

fn paid(faults: &str) -> (World, Vec<Row>, u64) {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", faults]);
    let rows = rows(40, 181);
    world.write_rows("batch.csv", &rows);
    world.until_finished(&PAY);
    let once = sandbox.ledger().executed_once;
    (world, rows, once)
}

fn with_accounts(world: &World) {
    let text = world.read("disburse.toml");
    let table = "[accounting]\ndebit = \"0510\"\ncredit = \"1015\"\nfees = \"6600\"\ncolumns = [\"Konto=account\", \"debit\", \"credit\", \"entry\", \"reference\"]\n";
    world.write("disburse.toml", &format!("{text}\n{table}"));
}

#[test]
fn every_paid_payment_is_debited_and_credited_once_and_nothing_else_is() {
    let (world, rows, executed) = paid("realistic");
    world
        .expect(2, &["report", "b", "--accounting", "books.csv"])
        .says("[accounting]");
    with_accounts(&world);
    world.expect(0, &["report", "b", "--accounting", "books.csv"]);
    let text = world.read("books.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Konto,debit,credit,entry,reference"));
    let amounts: BTreeMap<&str, i64> = rows
        .iter()
        .map(|row| (row.reference.as_str(), row.minor))
        .collect();
    let mut entries: BTreeMap<String, Vec<(String, i64)>> = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let (debit, credit) = (cells[1], cells[2]);
        let signed = match (debit, credit) {
            (amount, "") => minor(amount),
            ("", amount) => -minor(amount),
            other => panic!("{other:?}"),
        };
        assert_eq!(signed.abs(), amounts[cells[4]], "{line}");
        let entry = entries.entry(cells[3].to_owned()).or_default();
        entry.push((cells[0].to_owned(), signed));
    }
    assert_eq!(entries.len() as u64, executed);
    for (entry, lines) in &entries {
        assert_eq!(lines.len(), 2, "{entry}");
        // No zero in front is lost.
        assert_eq!(lines[0].0, "'0510");
        assert_eq!(lines[1].0, "1015");
        assert_eq!(lines[0].1 + lines[1].1, 0, "{entry}");
    }
    // The same file again; another one is not overwritten.
    world.expect(0, &["report", "b", "--accounting", "books.csv"]);
    assert_eq!(world.read("books.csv"), text);
    world
        .expect(2, &["report", "b", "--accounting", "batch.csv"])
        .says("is not overwritten");
    // Nor is ours, once somebody has written in it.
    let mended = format!("{text},,,,,\n");
    world.write("books.csv", &mended);
    world
        .expect(2, &["report", "b", "--accounting", "books.csv"])
        .says("is not overwritten");
    assert_eq!(world.read("books.csv"), mended);
}

/// Weeks, and then the month: what the first of two statements has told of charges is booked, and the other one named.
#[test]
fn charges_that_two_statements_show_are_booked_once() {
    let (world, _, _) = paid("none");
    with_accounts(&world);
    let today = jiff::Timestamp::now()
        .in_tz("Africa/Nairobi")
        .unwrap()
        .date();
    let before = today.yesterday().unwrap();
    for (name, from, fee) in [("week.csv", today, "2.00"), ("month.csv", before, "3.00")] {
        let lines = format!("{from},5.00,rent,1.00\n{today},6.00,rent,{fee}\n");
        world.write(name, &format!("date,amount,reference,fee\n{lines}"));
        let flags = ["--currency", "KES", "--paid-out"];
        world.expect(3, &[&["reconcile", "b", name], &flags[..]].concat());
    }
    let said = world.expect(0, &["report", "b", "--accounting", "books.csv"]);
    said.says("charges of KES 3.00");
    said.says("charges of the statement month.csv are not in this file, because week.csv shows some of its days");
    let fees = world.read("books.csv");
    let fees = fees.lines().filter(|line| line.starts_with("6600,"));
    assert_eq!(fees.count(), 1);
}

#[test]
fn a_notification_tells_what_reconciliation_reads_back() {
    let (world, _, executed) = paid("none");
    world.expect(0, &["report", "b", "--camt054", "paid.xml"]);
    let xml = world.read("paid.xml");
    assert_eq!(xml.matches("<Ntry>").count() as u64, executed);
    let again = world.expect(0, &["reconcile", "b", "paid.xml"]);
    again.says("paid on both");
    world
        .expect(2, &["report", "b", "--camt054", "batch.csv"])
        .says("is not overwritten");
}

#[test]
fn a_rehearsal_has_nothing_to_book() {
    let world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(2, 182));
    world.disburse(&[
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
    ]);
    with_accounts(&world);
    for flag in ["--accounting", "--camt054"] {
        world
            .expect(2, &["report", "b", flag, "x"])
            .says("no money moved");
    }
}
