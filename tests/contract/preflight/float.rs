//! Whether the floats last.

use disburse::domain::{Currency, NOT_BEFORE, ServiceCode};
use disburse::gateway::{FloatBalance, Gateway, Inquiry, OperationError, Outgoing, Reply};
use disburse::lifecycle::{Class, State};
use disburse::preflight::{Forecast, forecast};

use crate::support::*;

/// A gateway that tells balances and nothing else.
struct Balances<F>(F);

impl<F> Gateway for Balances<F>
where
    F: Fn(&str) -> Result<Option<(&'static str, &'static str, i64)>, OperationError>
        + Send
        + Sync
        + 'static,
{
    async fn post(&self, _: &[Outgoing]) -> Reply {
        panic!("a forecast posts nothing")
    }

    async fn query(&self, _: &[Inquiry]) -> Reply {
        panic!("a forecast asks about no payment")
    }

    async fn balance(&self, service: &ServiceCode) -> Result<Option<FloatBalance>, OperationError> {
        let found = (self.0)(service.as_str())?;
        Ok(found.map(|(name, currency, minor)| FloatBalance {
            service: service.clone(),
            account_name: name.into(),
            currency: Currency::from_code(currency).unwrap(),
            minor,
        }))
    }
}

/// B2C has 100 + 200 + 300 cents to post, RTGS 400.
async fn four() -> World {
    let world = World::new();
    let mut rows = rows(1..=4);
    rows[3] = of_service(rows[3].clone(), "RTGS");
    world.load_new(plan(), rows).await;
    world
}

/// Service, needed, and what is short, or why that is unknown.
fn told(forecast: &Forecast) -> Vec<(&str, i128, Result<i128, &str>)> {
    forecast
        .needs
        .iter()
        .map(|need| {
            let short = need.account.as_ref().map(|account| account.short_by);
            (
                need.service.as_str(),
                need.ready.amounts.minor(need.currency),
                short.map_err(String::as_str),
            )
        })
        .collect()
}

#[tokio::test]
async fn each_service_is_compared_with_its_float() {
    let world = four().await;
    let cases: [(i64, i64, i128, i128); 4] = [
        (600, 400, 0, 0),
        (599, 400, 1, 0),
        (10_000, -5, 0, 405),
        (0, 0, 600, 400),
    ];
    for (b2c, rtgs, short_b2c, short_rtgs) in cases {
        let gateway = Balances(move |service: &str| match service {
            "B2C" => Ok(Some(("Mobile", "KES", b2c))),
            _ => Ok(Some(("Bank", "KES", rtgs))),
        });
        let forecast = forecast(&gateway, &world.standing(), &[]).await.unwrap();
        assert_eq!(
            told(&forecast),
            [("B2C", 600, Ok(short_b2c)), ("RTGS", 400, Ok(short_rtgs))]
        );
        assert_eq!(forecast.is_short(), short_b2c + short_rtgs > 0);
    }
}

#[tokio::test]
async fn services_that_draw_on_one_account_share_it() {
    let world = four().await;
    let shared = Balances(|_: &str| Ok(Some(("Main", "KES", 700))));
    let forecast_of_shared = forecast(&shared, &world.standing(), &[]).await.unwrap();
    assert_eq!(
        told(&forecast_of_shared),
        [("B2C", 600, Ok(300)), ("RTGS", 400, Ok(300))]
    );
    // Without names, nothing says that it is one.
    let nameless = Balances(|_: &str| Ok(Some(("", "KES", 700))));
    let forecast = forecast(&nameless, &world.standing(), &[]).await.unwrap();
    assert!(!forecast.is_short(), "{forecast:?}");
}

#[tokio::test]
async fn a_balance_that_cannot_be_had_is_told_and_stops_nobody() {
    let world = four().await;
    let gateway = Balances(|service: &str| match service {
        "B2C" => Err(OperationError::Unavailable("HTTP 503".into())),
        _ => Ok(None),
    });
    let unknown = forecast(&gateway, &world.standing(), &[]).await.unwrap();
    assert_eq!(
        told(&unknown),
        [
            ("B2C", 600, Err("HTTP 503")),
            (
                "RTGS",
                400,
                Err("the gateway tells nothing usable about it")
            ),
        ]
    );
    assert!(!unknown.is_short());
    let other = Balances(|_: &str| Ok(Some(("Main", "UGX", 1))));
    let other = forecast(&other, &world.standing(), &[]).await.unwrap();
    assert_eq!(told(&other)[0].2, Err("the float is in UGX"));
    // Who is not let in does not ask on.
    let locked = Balances(|service: &str| {
        assert_eq!(service, "B2C", "asked on");
        Err(OperationError::Credentials {
            section: "5",
            what: "132".into(),
        })
    });
    assert!(forecast(&locked, &world.standing(), &[]).await.is_err());
}

#[tokio::test]
async fn what_is_posted_already_needs_no_float() {
    let world = four().await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 10, 1).await;
    let findings = claims
        .iter()
        .map(|claim| finding(claim.seq, reply(Class::Acknowledged, 139)));
    world.record(findings.collect(), 2).await;
    assert_eq!(world.count(State::Acknowledged), 4);
    let gateway = Balances(|_: &str| panic!("nobody is to be asked"));
    let forecast = forecast(&gateway, &world.standing(), &[]).await.unwrap();
    assert_eq!(forecast, Forecast::default());
}

#[tokio::test]
async fn what_is_not_due_needs_no_float_today() {
    let world = World::new();
    let mut rows = rows(1..=4);
    rows[3] = of_service(rows[3].clone(), "RTGS");
    for row in &mut rows[2..] {
        let time = at(100).to_string();
        row.extra.push((NOT_BEFORE.to_owned(), time));
    }
    world.load_new(plan(), rows).await;
    let batch = plan().batch;
    for (now, counted, needed) in [
        (99, 2, vec![("B2C", 300, Ok(0))]),
        (100, 0, vec![("B2C", 600, Ok(0)), ("RTGS", 400, Ok(0))]),
    ] {
        let (scheduled, not_due) = world.journal.not_due(batch.clone(), at(now)).await.unwrap();
        assert_eq!(scheduled.count, counted);
        let gateway = Balances(|_: &str| Ok(Some(("", "KES", 600))));
        let forecast = forecast(&gateway, &world.standing(), &not_due)
            .await
            .unwrap();
        assert_eq!(told(&forecast), needed);
    }
}
