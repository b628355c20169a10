//! `float`: what is left to pay from.

use serde_json::json;

use super::bill;
use super::operation;
use crate::cli::Error;
use crate::cli::arguments::FloatArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::{ServiceCode, Totals};
use crate::gateway::FloatBalance;

/// `disburse float`.
pub(in crate::cli) async fn float(
    session: &Session,
    arguments: FloatArguments,
) -> Result<ExitStatus, Error> {
    let named: Result<Vec<ServiceCode>, Error> = arguments
        .services
        .iter()
        .map(|text| bill::service("SERVICE", text))
        .collect();
    let named = named?;
    let (services, balances) = operation::against(session, arguments.sandbox, async |settings| {
        let services = chosen(settings, named)?;
        let balances = gateway::client(settings)?.float(&services).await?;
        Ok((services, balances))
    })
    .await?;
    if session.common.json {
        let values: Vec<_> = services.iter().zip(&balances).map(to_json).collect();
        output::json(&json!(values));
    } else {
        let rows = services.iter().zip(&balances).map(row).collect();
        let header = ["service", "balance", "", "account"];
        output::print(&output::table(&header, rows, &[2]));
    }
    match balances.iter().flatten().count() {
        0 => Err(Error::refused(
            "the gateway gave no balance for any of these services (GATEWAY.queryFloatBalance is not in the interface \
            document)",
        )
        .hint("check the service codes; if the gateway has no such query, leave float.query = false")),
        _ => Ok(ExitStatus::Done),
    }
}

fn chosen(settings: &Settings, named: Vec<ServiceCode>) -> Result<Vec<ServiceCode>, Error> {
    if !named.is_empty() {
        return Ok(named);
    }
    let all: Vec<ServiceCode> = settings.services.keys().cloned().collect();
    if all.is_empty() {
        return Err(
            Error::refused("the configuration has no services; nothing was sent").hint(
                "name one: disburse float SERVICE; or add [services.SERVICE] to the configuration",
            ),
        );
    }
    Ok(all)
}

fn digits(balance: &FloatBalance) -> String {
    let mut totals = Totals::default();
    totals.add_minor(balance.currency, i128::from(balance.minor).abs());
    let digits = totals.decimals().remove(balance.currency.code());
    let sign = if balance.minor < 0 { "-" } else { "" };
    format!("{sign}{}", digits.unwrap_or_default())
}

fn row((service, balance): (&ServiceCode, &Option<FloatBalance>)) -> Vec<String> {
    let (currency, amount, account) = match balance {
        Some(balance) => (
            balance.currency.code().to_owned(),
            output::grouped(&digits(balance)),
            balance.account_name.clone(),
        ),
        None => ("not told".to_owned(), String::new(), String::new()),
    };
    vec![service.to_string(), currency, amount, account]
}

fn to_json((service, balance): (&ServiceCode, &Option<FloatBalance>)) -> serde_json::Value {
    let known = balance.as_ref();
    json!({
        "service_code": service.as_str(),
        "balance": known.map(digits),
        "currency_code": known.map(|balance| balance.currency.code()),
        "float_account_name": known.map(|balance| balance.account_name.as_str()),
    })
}
