//! The fold alone.

use proptest::prelude::*;

use super::batch::{header, mixed, money, paid};
use crate::domain::{Money, Totals};
use crate::report::{Difference, Entry, Reconciliation, StateName};

fn fold(entries: &[Entry<'_>]) -> Reconciliation {
    fold_with(entries, entries)
}

/// Folds `found` against the control totals of `loaded`.
fn fold_with(loaded: &[Entry<'_>], found: &[Entry<'_>]) -> Reconciliation {
    let mut reconciliation = Reconciliation::new(&header(loaded));
    for entry in found {
        reconciliation.add(entry);
    }
    reconciliation
}

#[test]
fn every_state_is_one_bucket() {
    let reconciliation = fold(&mixed());
    for state in StateName::ALL {
        assert_eq!(reconciliation.state(state).count, 1, "{state}");
    }
    assert_eq!(reconciliation.total().count, 13);
    assert_eq!(
        reconciliation.state(StateName::Skipped).amounts,
        Totals::default(),
        "whatever stands in its cells, it is no payment"
    );
    assert_eq!(reconciliation.open().count, 6);
    assert!(reconciliation.adds_up() && !reconciliation.finished());
    assert!(fold(&[paid(1)]).finished());
}

#[test]
fn a_row_without_an_amount_counts_in_its_lane_until_it_is_withdrawn() {
    let mut row = Entry {
        money: None,
        currency_text: "KES",
        state: StateName::Unpriced,
        id: "00000000000000000000000012",
        ..paid(2)
    };
    let waiting = fold(&[row, paid(3)]);
    assert!(waiting.adds_up() && !waiting.finished());
    assert_eq!(waiting.control().count, 2);
    assert!(!fold_with(&[row, paid(3)], &[paid(3)]).adds_up());
    row.state = StateName::Cancelled;
    let withdrawn = fold(&[row, paid(3)]);
    assert!(withdrawn.adds_up() && withdrawn.finished());
}

#[test]
fn whatever_does_not_add_up_is_named() {
    let id = "00000000000000000000000012";
    let loaded = vec![paid(2), Entry { id, ..paid(3) }];
    let kes = money(1, "KES").currency;
    let cases: Vec<(&str, Vec<Entry<'_>>, Vec<&str>)> = vec![
        ("all there", loaded.clone(), vec![]),
        (
            "one missing",
            vec![paid(2)],
            vec![
                "B2C_MPESA KES: loaded 2 payments for 85,001.00, accounted for 1 payment with 42,500.50",
            ],
        ),
        (
            "one twice, another missing",
            vec![paid(2), paid(2)],
            vec!["1 payment listed more than once"],
        ),
        (
            "a cent more",
            vec![
                paid(2),
                Entry {
                    id,
                    money: Some(money(4_250_051, "KES")),
                    ..paid(3)
                },
            ],
            vec![
                "B2C_MPESA KES: loaded 2 payments for 85,001.00, accounted for 2 payments with 85,001.01",
            ],
        ),
        (
            "another service, same amount",
            vec![
                paid(2),
                Entry {
                    id,
                    service_code: "B2C_AIRTEL",
                    ..paid(3)
                },
            ],
            vec![
                "B2C_AIRTEL KES: loaded 0 payments for 0.00, accounted for 1 payment with 42,500.50",
                "B2C_MPESA KES: loaded 2 payments for 85,001.00, accounted for 1 payment with 42,500.50",
            ],
        ),
        (
            "a valid row became rejected",
            vec![
                paid(2),
                Entry {
                    id,
                    state: StateName::Rejected,
                    ..paid(3)
                },
            ],
            vec![
                "B2C_MPESA KES: loaded 2 payments for 85,001.00, accounted for 1 payment with 42,500.50",
                "rejected lines: 0 when loaded, 1 accounted for",
            ],
        ),
        (
            "an amount is gone",
            vec![
                paid(2),
                Entry {
                    id,
                    money: None,
                    ..paid(3)
                },
            ],
            vec![
                "B2C_MPESA KES: loaded 2 payments for 85,001.00, accounted for 1 payment with 42,500.50",
                "1 payment loaded as valid, but without an amount",
            ],
        ),
    ];
    for (case, found, expected) in cases {
        let reconciliation = fold_with(&loaded, &found);
        let differences = reconciliation.differences();
        let said: Vec<_> = differences.iter().map(Difference::to_string).collect();
        assert_eq!(said, expected, "{case}");
        assert_eq!(reconciliation.adds_up(), expected.is_empty(), "{case}");
        // Shown or not, nothing that was found is left out of the sums.
        assert_eq!(reconciliation.total().count, found.len() as u64, "{case}");
        let known = found.iter().filter_map(|entry| entry.money);
        let minor: i128 = known.map(|money| i128::from(money.amount.minor())).sum();
        assert_eq!(reconciliation.total().amounts.minor(kes), minor, "{case}");
    }
}

#[test]
fn exceptions_come_by_urgency_then_code() {
    let failed = |code| Entry {
        state: StateName::Failed,
        status_code: Some(code),
        ..paid(1)
    };
    let mut entries = mixed();
    entries.extend([failed(231), failed(110)]);
    let reconciliation = fold(&entries);
    let found: Vec<_> = reconciliation
        .exceptions()
        .map(|(state, code, group)| (state.as_str(), code, group.count))
        .collect();
    let expected = [
        ("conflict", None, 1),
        ("in_doubt", None, 1),
        ("failed", Some(110), 2),
        ("failed", Some(231), 1),
        ("rejected", None, 1),
        ("delivered", Some(148), 1),
        ("acknowledged", None, 1),
        ("posting", None, 1),
        ("ready", None, 1),
        ("unpriced", None, 1),
        ("cancelled", None, 1),
        ("withdrawn", None, 1),
        ("skipped", None, 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_the_fold_keeps_is_bounded() {
    let names: Vec<_> = (0..3_000).map(|n| format!("S{n}")).collect();
    let entries: Vec<_> = names
        .iter()
        .zip(0..)
        .map(|(service_code, code)| Entry {
            service_code,
            id: "",
            state: StateName::Failed,
            status_code: Some(code),
            ..paid(1)
        })
        .collect();
    let reconciliation = fold_with(&[], &entries);
    assert_eq!(reconciliation.state(StateName::Failed).count, 3_000);
    assert_eq!(reconciliation.lanes().count(), 1_001);
    assert!(reconciliation.exceptions().count() <= 501);
    let grouped: u64 = reconciliation
        .exceptions()
        .map(|(_, _, group)| group.count)
        .sum();
    assert_eq!(grouped, 3_000);
}

prop_compose! {
    fn any_entry()(
        service_code in prop::sample::select(vec!["B2C_MPESA", "BANK_KE", "RTGS"]),
        code in prop::sample::select(vec!["KES", "UGX", "BHD"]),
        minor in 1_i64..,
        state in prop::sample::select(StateName::ALL.to_vec()),
        status_code in prop::option::of(100_i64..240),
    ) -> (&'static str, Money, StateName, Option<i64>) {
        (service_code, money(minor, code), state, status_code)
    }
}

proptest! {
    #[test]
    fn any_stream_of_entries_adds_up(rows in prop::collection::vec(any_entry(), 0..60)) {
        let ids: Vec<_> = (0..rows.len()).map(|n| format!("{n:026}")).collect();
        let entries: Vec<_> = rows.iter().zip(&ids).map(|(row, id)| Entry {
            id,
            service_code: row.0,
            money: Some(row.1),
            state: row.2,
            status_code: row.3,
            ..Entry::default()
        }).collect();
        let reconciliation = fold(&entries);
        prop_assert_eq!(reconciliation.differences(), vec![]);

        // The states partition the entries, and together with the rejected lines the control totals cover them.
        let mut amounts = Totals::default();
        let payments = entries.iter().filter(|entry| entry.state != StateName::Skipped);
        payments.filter_map(|entry| entry.money).for_each(|money| amounts.add(money));
        prop_assert_eq!(reconciliation.total().count, entries.len() as u64);
        prop_assert_eq!(&reconciliation.total().amounts, &amounts);
        let mut control = reconciliation.control();
        prop_assert_eq!(control.count + reconciliation.rejected_control(), entries.len() as u64);
        control.add_all(&reconciliation.set_aside());
        for (currency, minor) in amounts.iter() {
            prop_assert_eq!(control.amounts.minor(currency), minor);
        }

        // Leaving any one of them out is noticed.
        if let Some((_, rest)) = entries.split_first() {
            prop_assert!(!fold_with(&entries, rest).adds_up());
        }
        let excepted: u64 = reconciliation.exceptions().map(|(_, _, group)| group.count).sum();
        prop_assert_eq!(excepted + reconciliation.state(StateName::Paid).count, entries.len() as u64);
    }
}
