//! Orders that are kept one by one.

use super::*;

fn order(number: u64, act: &str, digest: &str) -> Order {
    Order {
        number,
        at: Timestamp::from_millis(1_795_252_320_000),
        act: act.into(),
        batch: "b".into(),
        payments: 3,
        digest: digest.into(),
        user: "jane".into(),
    }
}

fn numbers(orders: &[Order]) -> Vec<u64> {
    orders.iter().map(|order| order.number).collect()
}

#[test]
fn an_order_is_missing_that_came_after_the_copy_or_that_another_journal_never_had() {
    let [cancel, retry, amend] = [("cancel", "1"), ("retry", "2"), ("load --amend", "3")];
    let of = |number, (act, digest)| order(number, act, digest);
    let all = vec![of(1, cancel), of(2, retry), of(3, amend)];
    let traces = |journal| Traces {
        mark: Mark::Read(Marked {
            journal,
            orders: 3,
            given: all.clone(),
            ..marked()
        }),
        ..Traces::NONE
    };
    let knows = |orders, given: Vec<Order>| Found {
        orders,
        given,
        ..found()
    };
    for (journal, found, expected) in [
        (OURS, knows(3, all.clone()), vec![]),
        (OURS, knows(1, vec![of(1, cancel)]), vec![2, 3]),
        // It was made by a release that kept only their number.
        (OURS, knows(2, vec![]), vec![3]),
        (OTHER, knows(0, vec![]), vec![1, 2, 3]),
        // What it has on record itself was ordered, whatever its number there.
        (OTHER, knows(1, vec![of(1, amend)]), vec![1, 2]),
    ] {
        let missing = missing_orders(&traces(journal), &found);
        assert_eq!(numbers(&missing), expected, "{found:?}");
    }
    for mark in [Mark::Missing, Mark::Unreadable] {
        let nothing = Traces {
            mark,
            ..Traces::NONE
        };
        assert!(missing_orders(&nothing, &found()).is_empty());
    }
}

#[test]
fn only_the_same_order_about_the_same_payments_is_given_again() {
    let lost = [
        order(4, "retry", "a"),
        order(5, "load --amend", "b"),
        order(6, "retry", "a"),
    ];
    let given = |given: &[Order]| numbers(&not_given(&lost, given));
    assert_eq!(given(&[]), [4, 5], "one is enough for two that are alike");
    assert_eq!(given(&[order(9, "retry", "a")]), [5]);
    assert_eq!(
        given(&[order(9, "retry", "b")]),
        [4, 5],
        "of other payments"
    );
    let both = [order(9, "retry", "a"), order(10, "load --amend", "b")];
    assert!(given(&both).is_empty());
    let elsewhere = Order {
        batch: "c".into(),
        ..order(9, "retry", "a")
    };
    assert_eq!(given(&[elsewhere]), [4, 5]);
}

#[test]
fn who_says_that_orders_were_given_again_says_how_many_were_not() {
    for (missing, without, taken) in [
        (0, None, true),
        (0, Some(0), true),
        (2, Some(2), true),
        (1, None, false),
        (2, Some(1), false),
        (0, Some(1), false),
    ] {
        assert_eq!(
            may_be_declared_given(missing, without),
            taken,
            "{missing} {without:?}"
        );
    }
}

#[test]
fn an_order_is_read_back_from_its_line_and_said_in_words() {
    let order = order(7, "load --allow-repeats", "0123456789abcdef");
    let line = order.to_line();
    let (name, value) = line.trim_end().split_once(' ').unwrap();
    assert_eq!((name, Order::read(value)), ("order", Some(order.clone())));
    assert_eq!(
        order.sentence(),
        "load --allow-repeats of 3 payments of batch b, on 2026-11-21 09:12 UTC by jane"
    );
    let whole = Order {
        payments: 0,
        ..order
    };
    assert!(
        whole
            .sentence()
            .starts_with("load --allow-repeats of batch b, on")
    );
    assert_eq!(Order::read("1 2 cancel b"), None);
}

#[test]
fn the_last_orders_are_kept() {
    let all: Vec<Order> = (1..=40)
        .map(|number| order(number, "cancel", "x"))
        .collect();
    let kept = kept_orders(&all[..20], &all[15..]);
    assert_eq!(kept, all[40 - ORDERS_MAX..]);
}

#[test]
fn a_batch_comes_back_that_was_posted_in_the_place_of_the_journal() {
    use crate::ledger::payer::{Back, Payer, Payers, back};
    let mut payers = Payers::NONE;
    for number in 0..20 {
        payers.take(&format!("b{number}"), &Payer::of("https://a", "acme"));
    }
    let mut told: Vec<String> = payers
        .batches()
        .map(|(batch, _)| batch.to_owned())
        .collect();
    told.extend(payers.unnamed());
    for (recovering, batch, expected) in [
        (true, "b19", Back::Certainly),
        // Its name is not kept any more.
        (true, "b0", Back::Certainly),
        (true, "c", Back::MayBe),
        (false, "b19", Back::No),
        (false, "c", Back::No),
    ] {
        assert_eq!(
            back(recovering, &told, batch),
            expected,
            "{batch} {recovering}"
        );
    }
}

#[test]
fn a_move_tells_whether_it_left_payments_behind() {
    for (act, payments, leaves) in [
        ("gateway-moved", 3, true),
        ("account-moved", 1, true),
        ("gateway-moved", 0, false),
        ("cancel", 3, false),
    ] {
        let given = Order {
            payments,
            ..order(1, act, "1")
        };
        assert_eq!(given.left_payments_behind(), leaves, "{act} {payments}");
        // It is the same order, whatever it left behind.
        assert!(given.is_like(&order(2, act, "1")), "{act}");
        let counts = given.sentence().contains("of 3 payments");
        assert_eq!(counts, act == "cancel", "{}", given.sentence());
        let line = given.to_line();
        let read = Order::read(line.trim_end().strip_prefix("order ").unwrap());
        assert_eq!(read, Some(given));
    }
}
