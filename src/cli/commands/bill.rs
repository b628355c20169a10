//! `bill`: what one account owes.

use serde_json::json;

use super::lookup;
use super::operation;
use crate::cli::Error;
use crate::cli::arguments::BillArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::ServiceCode;
use crate::gateway::{BillAnswer, BillInquiry};

/// Nothing is due: an answer like any other.
const NO_BILL_DUE: i32 = 309;
/// A bill was found, of an amount that is not owed.
const BILL_FOUND: i32 = 308;

/// `disburse bill`.
pub(in crate::cli) async fn bill(
    session: &Session,
    arguments: BillArguments,
) -> Result<ExitStatus, Error> {
    let service = service("--service", &arguments.service)?;
    let account = account_number("ACCOUNT", &arguments.account)?.to_owned();
    let answer = operation::against(session, arguments.sandbox, async |settings| {
        let msisdn = match &arguments.msisdn {
            Some(text) => {
                let country = lookup::country(settings, None)?;
                Some(lookup::number(
                    "--msisdn",
                    text,
                    country,
                    ", the country_code of the profile",
                )?)
            }
            None => None,
        };
        let inquiry = BillInquiry {
            service: service.clone(),
            account_number: account.clone(),
            msisdn,
            id: None,
            country: None,
        };
        let mut answers = gateway::client(settings)?.bills(&[inquiry]).await?;
        answers
            .pop()
            .ok_or_else(|| Error::unexpected("no answer about the bill"))
    })
    .await?;
    if session.common.json {
        output::json(&to_json(&service, &account, &answer));
    }
    let said = |text: String| output::line_unless(session.common.json, &text);
    match answer {
        BillAnswer::Due(bill) => {
            let customer = match bill.customer_name.as_str() {
                "" => String::new(),
                name => format!(", customer {name}"),
            };
            let date = match bill.due_date.as_str() {
                "" => String::new(),
                date => format!(" by {date}"),
            };
            said(format!(
                "{service} {account}: {} {} due{date}{customer}",
                bill.due.currency,
                output::grouped(&bill.due.to_string())
            ));
            Ok(ExitStatus::Done)
        }
        BillAnswer::None { code, description } => {
            let words = match description.as_str() {
                "" => code.to_string(),
                description => format!("{code}: {description}"),
            };
            if matches!(code, NO_BILL_DUE | BILL_FOUND) {
                said(format!("{service} {account}: nothing is due ({words})"));
                return Ok(ExitStatus::Done);
            }
            Err(Error::refused(format!(
                "{service} {account}: the gateway knows no such account or invoice ({words}; section 7.2)"
            ))
            .hint("check the account number and --service"))
        }
        BillAnswer::Unknown(why) => Err(Error::unexpected(format!(
            "{service} {account}: the reply to GATEWAY.queryBill cannot be used (section 4.2): {why}"
        ))
        .hint("check --service; ask the gateway's operators whether they answer bill queries")),
    }
}

/// Reads a service code given as an argument.
pub(in crate::cli) fn service(argument: &str, text: &str) -> Result<ServiceCode, Error> {
    ServiceCode::parse(text).map_err(|error| {
        Error::refused(format!(
            "{argument} {text:?}: {error} (section 2.3, serviceCode); nothing was sent"
        ))
    })
}

/// Reads an account number given as an argument.
pub(in crate::cli) fn account_number<'a>(argument: &str, text: &'a str) -> Result<&'a str, Error> {
    const LENGTH_MAX: usize = 128;
    let account = text.trim();
    let problem = if account.is_empty() {
        "is empty"
    } else if account.chars().count() > LENGTH_MAX {
        "is longer than 128 characters"
    } else if account.chars().any(char::is_control) {
        "has control characters"
    } else {
        return Ok(account);
    };
    Err(Error::refused(format!(
        "{argument}: {problem} (section 2.3, accountNumber); nothing was sent"
    )))
}

fn to_json(service: &ServiceCode, account: &str, answer: &BillAnswer) -> serde_json::Value {
    let mut value = json!({"service_code": service.as_str(), "account_number": account});
    let more = match answer {
        BillAnswer::Due(bill) => json!({
            "answer": "due",
            "status_code": BILL_FOUND,
            "amount": bill.due.to_string(),
            "currency_code": bill.due.currency.code(),
            "due_date": bill.due_date,
            "customer_name": bill.customer_name,
        }),
        BillAnswer::None { code, description } => json!({
            "answer": "none",
            "status_code": code,
            "status_description": description,
        }),
        BillAnswer::Unknown(why) => json!({"answer": "unknown", "cause": why}),
    };
    if let (Some(value), serde_json::Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
    value
}
