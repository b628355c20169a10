//! Whether the floats last for what is still to be posted.

use std::collections::BTreeMap;

use crate::domain::{Currency, ServiceCode, Tally};
use crate::gateway::{FloatBalance, Gateway, OperationError};
use crate::journal::{Standing, StandingRow};
use crate::lifecycle::State;

/// What one service is still to post in one currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The service.
    pub service: ServiceCode,
    /// The currency.
    pub currency: Currency,
    /// Payments that are ready, and their sum.
    pub ready: Tally,
    /// The float account, or why its balance is unknown.
    pub account: Result<Account, String>,
}

/// A float account, and what all the services of a batch that draw on it leave of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// `floatAccountName`; empty when the gateway names none.
    pub name: String,
    /// Its balance in minor units; it may be negative.
    pub balance: i64,
    /// What is missing for every service that draws on it, in minor units; 0 when it lasts.
    pub short_by: i128,
}

/// What a run needs and what there is, one entry per service and currency, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The entries.
    pub needs: Vec<Need>,
}

impl Forecast {
    /// Returns whether some float is known not to last.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.needs
            .iter()
            .any(|need| need.account.as_ref().is_ok_and(|a| a.short_by > 0))
    }
}

/// Asks the balance of every service that has payments to post. Rows whose time has not come, `not_due`, draw on no float yet.
///
/// A balance that cannot be had is an entry of its own: the gateway itself refuses what its float does not cover (230),
/// so that nothing is lost by not knowing.
///
/// # Errors
/// [`OperationError::Credentials`]: the gateway does not let us in, and asking on may lock the account.
pub async fn forecast<G: Gateway>(
    gateway: &G,
    standing: &Standing,
    not_due: &[StandingRow],
) -> Result<Forecast, OperationError> {
    let mut ready: BTreeMap<ServiceCode, BTreeMap<Currency, Tally>> = BTreeMap::new();
    for row in &standing.rows {
        // What is in doubt has probably been drawn from the float already.
        if row.state != State::Ready {
            continue;
        }
        let is_same =
            |later: &&StandingRow| (&later.service, later.currency) == (&row.service, row.currency);
        let mut tally = row.tally.clone();
        for later in not_due.iter().filter(is_same) {
            tally.remove_all(&later.tally);
        }
        if tally.count > 0 {
            ready
                .entry(row.service.clone())
                .or_default()
                .entry(row.currency)
                .or_default()
                .add_all(&tally);
        }
    }
    let mut needs = Vec::new();
    for (service, tallies) in ready {
        let answer = match gateway.balance(&service).await {
            Err(error @ OperationError::Credentials { .. }) => return Err(error),
            answer => answer,
        };
        for (currency, ready) in tallies {
            needs.push(Need {
                service: service.clone(),
                currency,
                ready,
                account: account(&answer, currency),
            });
        }
    }
    let mut forecast = Forecast { needs };
    forecast.compare();
    Ok(forecast)
}

fn account(
    answer: &Result<Option<FloatBalance>, OperationError>,
    currency: Currency,
) -> Result<Account, String> {
    match answer {
        Ok(None) => Err("the gateway tells nothing usable about it".to_owned()),
        Ok(Some(balance)) if balance.currency == currency => Ok(Account {
            name: balance.account_name.clone(),
            balance: balance.minor,
            short_by: 0,
        }),
        Ok(Some(balance)) => Err(format!("the float is in {}", balance.currency)),
        Err(error) => Err(error.to_string()),
    }
}

impl Forecast {
    /// Compares what is needed with what there is. Services that draw on one account share it.
    fn compare(&mut self) {
        let mut drawn: BTreeMap<(String, Currency), i128> = BTreeMap::new();
        for need in &self.needs {
            if let Some(key) = need.key() {
                *drawn.entry(key).or_default() += need.ready.amounts.minor(need.currency);
            }
        }
        for need in &mut self.needs {
            let all = need.key().and_then(|key| drawn.get(&key).copied());
            if let (Some(all), Ok(account)) = (all, &mut need.account) {
                account.short_by = (all - i128::from(account.balance)).max(0);
            }
        }
    }
}

impl Need {
    /// Returns what tells the account from others. Without a name, a service has an account of its own.
    fn key(&self) -> Option<(String, Currency)> {
        let account = self.account.as_ref().ok()?;
        let name = if account.name.is_empty() {
            format!("service {}", self.service)
        } else {
            format!("account {}", account.name)
        };
        Some((name, self.currency))
    }
}
