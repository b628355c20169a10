//! Statements: whatever the bytes, they are read whole with every line in its bounds, or refused with a place and a hint.

use std::io::Cursor;

use crate::domain::Currency;
use crate::ledger::reconciliation::{Standing, StatementEntry};
use crate::statement::{COLUMNS, Format, Said, Summary, Terms, read};

/// Bytes of a shown text, at most.
const SHOWN_MAX: usize = 1_024;
const HINT_MAX: usize = 512;

/// A CSV, a camt or an MT940, as the beginning tells; of a CSV the first letters say how it is read.
pub fn statement(bytes: &[u8]) {
    let kes = Currency::from_code("KES");
    let plain = Terms {
        currency: kes,
        ..Terms::default()
    };
    hold(bytes, &plain);
    let other = Terms {
        currency: kes,
        format: Some(Format::Csv),
        decimal: Some(','),
        date_format: Some("%d/%m/%Y".to_owned()),
        paid_out: Some(true),
        charges: vec!["charge".to_owned()],
        booked: vec!["done".to_owned()],
        ..Terms::default()
    };
    hold(bytes, &other);
    // A key that is said in any way is read or refused, and never half of it.
    if let Ok(text) = std::str::from_utf8(bytes) {
        for (key, _) in Terms::KEYS {
            let mut terms = Terms::default();
            let said = match COLUMNS.contains(&key) {
                true => Said::Column(key.to_owned(), vec![text.to_owned()]),
                false => Said::Text(text.to_owned()),
            };
            if let Err(expected) = terms.say(key, said) {
                super::assert_shown(&expected, HINT_MAX);
                assert_eq!(terms, Terms::default(), "{key}");
            }
        }
    }
}

/// A camt.053 or camt.054.
pub fn camt(bytes: &[u8]) {
    hold(
        bytes,
        &Terms {
            format: Some(Format::Camt),
            ..Terms::default()
        },
    );
}

/// An MT940: opening balance, lines and closing balance of what is read add up.
pub fn mt940(bytes: &[u8]) {
    let terms = Terms {
        format: Some(Format::Mt940),
        ..Terms::default()
    };
    if let Some((summary, entries)) = hold(bytes, &terms) {
        let (Some(opening), Some(closing)) = (summary.opening, summary.closing) else {
            panic!("an MT940 has its balances");
        };
        let moved = entries
            .iter()
            .filter(|one| one.standing == Standing::Booked);
        let sum: i128 = moved.map(StatementEntry::signed).sum();
        assert_eq!(opening + sum, closing);
    }
}

/// Reads a statement, and holds it to its promises; `None`: it is refused.
fn hold(bytes: &[u8], terms: &Terms) -> Option<(Summary, Vec<StatementEntry>)> {
    let mut entries = Vec::new();
    let outcome = read(Cursor::new(bytes.to_vec()), terms, &mut |entry| {
        entries.push(entry);
        true
    });
    let summary = match outcome {
        Ok(summary) => summary,
        Err(error) => {
            super::assert_shown(&error.of_file("s"), SHOWN_MAX);
            super::assert_shown(&error.to_string(), SHOWN_MAX);
            super::assert_shown(error.hint(), HINT_MAX);
            assert!(error.of_file("s").starts_with("s:"), "{error}");
            assert!(!error.hint().is_empty(), "{error}");
            return None;
        }
    };
    assert_eq!(summary.entries, entries.len() as u64);
    assert_eq!(
        summary.balanced,
        summary.balanced && summary.closing.is_some()
    );
    for entry in &entries {
        assert!(entry.money.amount.minor() > 0);
        assert!(!entry.place.is_empty());
        super::assert_shown(&entry.place, 256);
        assert!(entry.names().iter().all(|name| name.len() <= 128));
        let period = summary.period.expect("a statement with lines has days");
        assert!(summary.period_is_named || period.covers(entry.day));
    }
    // Whoever reads it again reads the same.
    let mut again = Vec::new();
    let read_again = read(Cursor::new(bytes.to_vec()), terms, &mut |entry| {
        again.push(entry);
        true
    });
    assert!(read_again.is_ok_and(|other| other == summary) && again == entries);
    Some((summary, entries))
}
