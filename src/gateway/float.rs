//! Float balances, asked for on the payment path (`GATEWAY.queryFloatBalance`).

use super::decimal::minor_units;
use super::http::HttpGateway;
use super::text::without;
use super::wire::{FloatEntry, FloatReply, Status, Unreadable, read_float};
use super::{FloatBalance, OperationError};
use crate::domain::{Currency, ServiceCode};

impl HttpGateway {
    /// Asks for the balance of each service's float, one request per service: a reply need not name its service.
    ///
    /// `None` stands for a service about whose float the gateway tells nothing usable.
    ///
    /// # Errors
    /// The first request that brought no answer; the services after it are not asked about.
    pub async fn float(
        &self,
        services: &[ServiceCode],
    ) -> Result<Vec<Option<FloatBalance>>, OperationError> {
        let mut balances = Vec::with_capacity(services.len());
        for service in services {
            let entries = self
                .operate(self.requests.float(service), |body| {
                    read(body, self.password())
                })
                .await?;
            balances.push(balance(service, &entries));
        }
        Ok(balances)
    }
}

/// Reads the balances. What they quote of the password is hidden.
pub(super) fn read(
    body: &[u8],
    password: &str,
) -> Result<(Option<Status>, Vec<FloatEntry>), Unreadable> {
    let FloatReply { auth, mut entries } = read_float(body)?;
    for entry in &mut entries {
        entry.account_name = without(&entry.account_name, password);
    }
    Ok((auth, entries))
}

/// Returns the balance of a service, when the entries that may be its own agree.
pub(super) fn balance(service: &ServiceCode, entries: &[FloatEntry]) -> Option<FloatBalance> {
    let mut own = entries.iter().filter(|entry| {
        entry
            .service
            .as_deref()
            .is_none_or(|s| s == service.as_str())
    });
    let first = own.next()?;
    // Two balances that differ are none.
    if own.any(|other| other != first) {
        return None;
    }
    let code = first.currency.as_deref()?;
    let currency = Currency::from_code(&code.to_ascii_uppercase())?;
    Some(FloatBalance {
        service: service.clone(),
        account_name: first.account_name.clone(),
        currency,
        minor: minor_units(first.balance.as_deref()?, currency)?,
    })
}
