//! Float balances, asked for on the payment path (`GATEWAY.queryFloatBalance`).

use super::http::HttpGateway;
use crate::dialect::Operation;
use crate::domain::{Currency, ServiceCode};
use crate::gateway::operations::{FloatBalance, OperationError};
use crate::gateway::scrub::Scrub;
use crate::gateway::wire::decimal::minor_units;
use crate::gateway::wire::{FloatEntry, FloatReply, Status, Unreadable, read_float};

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
        self.offered(Operation::Float)?;
        let mut balances = Vec::with_capacity(services.len());
        for service in services {
            let entries = self.operate(|| self.requests.float(service), read).await?;
            balances.push(balance(service, &entries));
        }
        Ok(balances)
    }
}

/// Reads the balances.
pub(in crate::gateway) fn read(
    body: &[u8],
    scrub: &Scrub,
) -> Result<(Option<Status>, Vec<FloatEntry>), Unreadable> {
    let FloatReply { auth, entries } = read_float(body, scrub)?;
    Ok((auth, entries))
}

/// Returns the balance of a service, when the entries that may be its own agree.
pub(in crate::gateway) fn balance(
    service: &ServiceCode,
    entries: &[FloatEntry],
) -> Option<FloatBalance> {
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
