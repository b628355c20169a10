//! `account`: whether one account exists.

use serde_json::json;

use super::bill;
use super::operation;
use crate::cli::Error;
use crate::cli::arguments::AccountArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::gateway::AccountAnswer;

/// `disburse account`.
pub(in crate::cli) async fn account(
    session: &Session,
    arguments: AccountArguments,
) -> Result<ExitStatus, Error> {
    let service = bill::service("--service", &arguments.service)?;
    let number = bill::account_number("NUMBER", &arguments.number)?;
    let answer = operation::against(session, arguments.sandbox, async |settings| {
        Ok(gateway::client(settings)?.account(&service, number).await?)
    })
    .await?;
    let (word, code, customer, description) = match &answer {
        AccountAnswer::Valid {
            customer_name,
            description,
        } => ("valid", 307, customer_name.as_str(), description),
        AccountAnswer::Invalid { description } => ("invalid", 306, "", description),
        AccountAnswer::Unavailable { description } => ("unavailable", 301, "", description),
    };
    if session.common.json {
        output::json(&json!({
            "service_code": service.as_str(),
            "account_number": number,
            "answer": word,
            "status_code": code,
            "status_description": description,
            "customer_name": customer,
        }));
    }
    let words = match description.as_str() {
        "" => code.to_string(),
        description => format!("{code}: {description}"),
    };
    match answer {
        AccountAnswer::Valid { .. } => {
            let customer = match customer {
                "" => String::new(),
                name => format!(", customer {name}"),
            };
            output::line_unless(
                session.common.json,
                &format!("{service} {number}: valid ({words}){customer}"),
            );
            Ok(ExitStatus::Done)
        }
        AccountAnswer::Invalid { .. } => Err(Error::refused(format!(
            "{service} {number}: no such account ({words})"
        ))
        .hint("check the account number and --service")),
        AccountAnswer::Unavailable { .. } => Err(Error::unavailable(format!(
            "{service} {number}: the account cannot be checked at present ({words})"
        ))
        .hint("ask again later")),
    }
}
