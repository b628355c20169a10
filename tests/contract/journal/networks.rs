//! What is known of the networks of numbers.

use std::collections::BTreeSet;

use disburse::domain::{Country, Instruction, Msisdn, PaymentId, ServiceCode};
use disburse::journal::{Network, Number};

use crate::support::*;

fn number(digits: &str) -> Number {
    Number {
        country: Country::from_code("KE").unwrap(),
        msisdn: Msisdn::from_digits(digits).unwrap(),
    }
}

fn network(digits: &str, secs: i64, carrier: Option<&str>) -> Network {
    Network {
        number: number(digits),
        at: at(secs),
        carrier: carrier.map(str::to_owned),
        time_zone: carrier.map(|_| "Africa/Nairobi".to_owned()),
    }
}

const FIRST: &str = "254700000001";
const SECOND: &str = "254700000002";

#[tokio::test]
async fn what_was_learned_counts_for_as_long_as_it_is_asked_to() {
    let world = World::new();
    let journal = &world.journal;
    let known = |since| journal.networks(vec![number(FIRST), number(SECOND)], at(since));
    assert_eq!(known(0).await.unwrap(), [None, None]);
    let learned = vec![
        network(FIRST, 10, Some("Safaricom")),
        network(SECOND, 20, None),
    ];
    journal.record_networks(learned.clone()).await.unwrap();
    let all: Vec<_> = learned.iter().cloned().map(Some).collect();
    assert_eq!(known(9).await.unwrap(), all);
    assert_eq!(known(10).await.unwrap(), [None, all[1].clone()]);
    let ported = network(FIRST, 30, Some("Airtel"));
    journal.record_networks(vec![ported.clone()]).await.unwrap();
    assert_eq!(known(9).await.unwrap(), [Some(ported), all[1].clone()]);
}

#[tokio::test]
async fn a_number_is_noted_once_however_many_rows_pay_it() {
    let world = World::new();
    let airtime = ServiceCode::parse("AIRTIME").unwrap();
    let gift = |n, account: &str| Instruction {
        service: airtime.clone(),
        account_number: account.into(),
        ..row(n)
    };
    let rows = vec![
        row(1),
        with_amount(
            Instruction {
                reference: None,
                ..row(1)
            },
            7_700,
        ),
        // A gift: whoever gets it has the network that counts.
        gift(2, "254700000009"),
        // An account that is no phone number leaves the customer's.
        gift(3, "WALLET-7"),
        // Not among the services whose account counts.
        Instruction {
            account_number: "254700000008".into(),
            ..row(4)
        },
    ];
    world.load_new(plan(), rows).await;
    let to_account: BTreeSet<_> = [airtime].into();
    let noted = world.journal.note_numbers(batch(), to_account.clone());
    assert_eq!(noted.await.unwrap(), 4);
    let expected = [
        "254700000001",
        "254700000003",
        "254700000004",
        "254700000009",
    ]
    .map(number);
    let all = world.journal.numbers(None, 10).await.unwrap();
    assert_eq!(all, expected);
    let page = world.journal.numbers(Some(expected[0]), 2).await.unwrap();
    assert_eq!(page, expected[1..3]);
    // Noted is not known.
    let known = world
        .journal
        .networks(vec![expected[0]], at(-1_000_000))
        .await;
    assert_eq!(known.unwrap(), [None]);
    let learned = vec![network("254700000009", 1, Some("Airtel"))];
    world.journal.record_networks(learned).await.unwrap();
    let rows = world
        .journal
        .row_networks(batch(), to_account, PaymentId::NONE, 10)
        .await
        .unwrap();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.line, row.column, row.carrier.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (2, "msisdn", None),
            (2, "msisdn", None),
            (3, "account_number", Some("Airtel")),
            (4, "msisdn", None),
            (5, "msisdn", None),
        ]
    );
}
