//! Every distinct number is looked up once, and what is learned is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use disburse::domain::{Instruction, ServiceCode};
use disburse::engine::Clock;
use disburse::gateway::{LookupInquiry, NetworkOf, OperationError};
use disburse::preflight::{LookupReport, Lookups, NetworkLookup, WrongNetwork};
use tokio_util::sync::CancellationToken;

use super::manner;
use crate::support::*;

type Script = dyn Fn(&str, usize) -> Result<&'static str, OperationError> + Send + Sync;

/// A lookup; the script says what it answers about a number when so many were asked before.
struct Service {
    script: Box<Script>,
    asked: Mutex<Vec<String>>,
}

impl Service {
    fn new(
        script: impl Fn(&str, usize) -> Result<&'static str, OperationError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            asked: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl NetworkLookup for Service {
    async fn lookup(&self, inquiry: &LookupInquiry) -> Result<NetworkOf, OperationError> {
        let before = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(inquiry.number.as_str().to_owned());
            asked.len() - 1
        };
        let carrier = (self.script)(inquiry.number.as_str(), before)?;
        Ok(NetworkOf {
            carrier: carrier.into(),
            time_zone: "Africa/Nairobi".into(),
        })
    }
}

async fn lookups(
    rows: Vec<Instruction>,
    cache: &World,
    service: &Arc<Service>,
) -> (World, Lookups<Service>) {
    let world = World::new();
    world.load_new(plan(), rows).await;
    let lookups = Lookups {
        rows: world.journal.clone(),
        batch: batch(),
        to_account: BTreeSet::new(),
        cache: Some(cache.journal.clone()),
        max_age: Duration::from_secs(3600),
        service: Arc::clone(service),
        manner: manner(8, &CancellationToken::new()),
        clock: Clock::start(),
    };
    (world, lookups)
}

async fn wrong(lookups: &Lookups<Service>, carriers: &[&str]) -> Vec<WrongNetwork> {
    let carriers = carriers.iter().map(|name| (*name).to_owned()).collect();
    let services: BTreeMap<_, Vec<String>> =
        [(ServiceCode::parse("B2C").unwrap(), carriers)].into();
    let mut found = Vec::new();
    let compared = lookups.compare(&services, |wrong| found.push(wrong)).await;
    compared.unwrap();
    found
}

#[tokio::test]
async fn every_distinct_number_is_looked_up_once_and_never_again() {
    let cache = World::new();
    let service = Service::new(|_, _| Ok("Safaricom"));
    let mut twice = rows(1..=200);
    twice.extend((1..=200).map(|n| with_amount(nameless(n, 300 + n), 5)));
    let (_world, first) = lookups(twice.clone(), &cache, &service).await;
    let report = first.carry_out(|_| {}).await.unwrap();
    let expected = LookupReport {
        numbers: 200,
        looked_up: 200,
        known: 0,
        stopped: None,
    };
    assert_eq!(report, expected);
    let asked: BTreeSet<String> = service.asked.lock().unwrap().iter().cloned().collect();
    assert_eq!((service.asked(), asked.len()), (200, 200));
    assert!(
        wrong(&first, &["safaricom "]).await.is_empty(),
        "case and space do not count"
    );
    assert!(
        wrong(&first, &[]).await.is_empty(),
        "no carriers, no comparison"
    );
    assert_eq!(wrong(&first, &["Airtel", "Telkom"]).await.len(), 400);
    // The same file another day: everything is known.
    let (_world, second) = lookups(twice, &cache, &service).await;
    let report = second.carry_out(|_| {}).await.unwrap();
    assert_eq!((report.looked_up, report.known), (0, 200));
    assert_eq!(service.asked(), 200);
    assert_eq!(
        wrong(&second, &["Airtel"]).await.len(),
        400,
        "the cache suffices to compare"
    );
}

#[tokio::test]
async fn what_is_too_old_is_looked_up_anew() {
    let cache = World::new();
    let service = Service::new(|_, _| Ok("Safaricom"));
    for asked in [3, 6] {
        let (_world, lookups) = lookups(rows(1..=3), &cache, &service).await;
        let lookups = Lookups {
            max_age: Duration::ZERO,
            ..lookups
        };
        lookups.carry_out(|_| {}).await.unwrap();
        assert_eq!(service.asked(), asked);
    }
}

#[tokio::test]
async fn a_number_that_is_none_is_an_error_of_its_row_and_known_as_such() {
    let cache = World::new();
    let service = Service::new(|number, _| match number {
        "254700000002" => Err(OperationError::NotANumber("400".into())),
        _ => Ok("Safaricom"),
    });
    for _ in 0..2 {
        let (_world, lookups) = lookups(rows(1..=3), &cache, &service).await;
        let report = lookups.carry_out(|_| {}).await.unwrap();
        assert_eq!(report.stopped, None);
        let wrong = wrong(&lookups, &["Safaricom"]).await;
        assert_eq!(wrong.len(), 1);
        assert_eq!((wrong[0].row.line, wrong[0].row.column), (3, "msisdn"));
        assert_eq!((&wrong[0].row.carrier, wrong[0].carriers.len()), (&None, 0));
        assert_eq!(service.asked(), 3);
    }
}

#[tokio::test]
async fn a_lookup_that_fails_half_way_keeps_what_it_has_learned() {
    let cache = World::new();
    let gone = || OperationError::Unavailable("timed out".into());
    let service = Service::new(move |_, before| {
        if before < 100 {
            Ok("Safaricom")
        } else {
            Err(gone())
        }
    });
    let (_world, first) = lookups(rows(1..=300), &cache, &service).await;
    let report = first.carry_out(|_| {}).await.unwrap();
    assert_eq!(report.stopped, Some(Some(gone())));
    assert_eq!(report.looked_up, 100);
    // Three tries of each that was under way.
    assert!(service.asked() <= 100 + 8 * 3, "{}", service.asked());
    let service = Service::new(|_, _| Ok("Safaricom"));
    let (_world, second) = lookups(rows(1..=300), &cache, &service).await;
    let report = second.carry_out(|_| {}).await.unwrap();
    assert_eq!((report.looked_up, report.known), (200, 100));
}

#[tokio::test]
async fn a_signal_ends_the_lookups() {
    let cache = World::new();
    let drain = CancellationToken::new();
    let signal = drain.clone();
    let service = Service::new(move |_, before| {
        if before == 9 {
            signal.cancel();
        }
        Ok("Safaricom")
    });
    let (_world, lookups) = lookups(rows(1..=300), &cache, &service).await;
    let lookups = Lookups {
        manner: manner(1, &drain),
        ..lookups
    };
    let report = lookups.carry_out(|_| {}).await.unwrap();
    assert_eq!((report.looked_up, report.stopped), (10, Some(None)));
}
