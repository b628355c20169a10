//! `lookup`: the network of one number.

use serde_json::json;

use super::operation;
use crate::cli::Error;
use crate::cli::arguments::LookupArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::{Country, Msisdn, MsisdnError};
use crate::gateway::{LookupInquiry, NetworkOf};

/// `disburse lookup`.
pub(in crate::cli) async fn lookup(
    session: &Session,
    arguments: LookupArguments,
) -> Result<ExitStatus, Error> {
    let (inquiry, network) = operation::against(session, arguments.sandbox, async |settings| {
        let inquiry = inquiry(settings, &arguments)?;
        let network = gateway::lookups(settings)?.lookup(&inquiry).await?;
        Ok((inquiry, network))
    })
    .await?;
    let NetworkOf { carrier, time_zone } = network;
    if session.common.json {
        output::json(&json!({
            "number": inquiry.number.as_str(),
            "country_code": inquiry.country.code(),
            "carrier": carrier,
            "time_zone": time_zone,
        }));
        return Ok(ExitStatus::Done);
    }
    let zone = match time_zone.as_str() {
        "" => String::new(),
        zone => format!(", time zone {zone}"),
    };
    output::line(&format!("{}: carrier {carrier}{zone}", inquiry.number));
    Ok(ExitStatus::Done)
}

fn inquiry(settings: &Settings, arguments: &LookupArguments) -> Result<LookupInquiry, Error> {
    let country = country(settings, arguments.country.as_deref())?;
    Ok(LookupInquiry {
        country,
        number: number(
            "NUMBER",
            &arguments.number,
            country,
            ", --country names another",
        )?,
    })
}

/// Reads a country from a flag, else from the profile.
pub(in crate::cli) fn country(settings: &Settings, flag: Option<&str>) -> Result<Country, Error> {
    match flag {
        Some(code) => Country::from_code(code).ok_or_else(|| {
            Error::refused(format!(
                "--country {code}: expected an ISO country code of two letters, such as KE (section 2.6); nothing was sent"
            ))
        }),
        None => Ok(*settings.need("country_code", settings.profile.country_code.as_ref())?),
    }
}

/// Reads a phone number given as an argument; `other` says how another country is named, where it can be.
pub(in crate::cli) fn number(
    argument: &str,
    text: &str,
    country: Country,
    other: &str,
) -> Result<Msisdn, Error> {
    Msisdn::parse(text, country).map_err(|error| {
        let problem = match error {
            // There is no row here to contradict it.
            MsisdnError::OtherCountry { found, country } => {
                format!("is a number of {found}, not of {country}")
            }
            error => error.to_string(),
        };
        Error::refused(format!("{argument}: {problem} (section 2.3); nothing was sent")).hint(format!(
            "write the number with its country code, digits only; it is read as one of {country}{other}"
        ))
    })
}
