//! The rules that rows are checked by, as the configuration has them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::open::open;
use crate::cli::Error;
use crate::cli::config::Settings;
use crate::dialect::OWN_EXTRA;
use crate::domain::{BANK_MEMBERS, Country, Msisdn, ServiceCode};
use crate::intake::{BankDirectory, Documents, Rules, ServiceRule, WireRules};

/// The rules of the configuration, as intake takes them, for a file that lies in `folder`.
pub(in crate::cli) fn of(settings: &Settings, folder: &Path) -> Result<Rules, Error> {
    Ok(Rules {
        services: settings
            .services
            .iter()
            .map(|(code, service)| {
                let rule = ServiceRule {
                    kind: service.kind,
                    currency: Some(service.currency),
                    min: service.min,
                    max: service.max,
                    account_format: service.account_format.clone(),
                    takes_landlines: service.takes_landlines,
                };
                (code.clone(), rule)
            })
            .collect::<BTreeMap<ServiceCode, ServiceRule>>(),
        default_service: settings.profile.service_code.clone(),
        default_currency: settings.profile.currency_code,
        default_country: settings.profile.country_code,
        document_thresholds: settings.document_thresholds.clone(),
        documents: Some(documents(folder, settings)?),
        banks: banks(settings)?,
        columns: settings.columns.clone(),
        bank_msisdn: bank_msisdn(settings)?,
        zone: settings.profile.time_zone.clone(),
        wire: wire(settings),
        limits: settings.payment_limits()?,
        presumes_posted: false,
    })
}

/// The number that goes with payments to banks.
fn bank_msisdn(settings: &Settings) -> Result<Option<Msisdn>, Error> {
    let Some(text) = &settings.profile.bank_msisdn else {
        return Ok(None);
    };
    let country = settings.need("country_code", settings.profile.country_code.as_ref())?;
    match Msisdn::parse(text, *country) {
        Ok(number) => Ok(Some(number)),
        Err(error) => Err(Error::refused(format!("bank_msisdn: {error}")).hint(
            "write a number of the profile's country_code, such as that of the payroll office",
        )),
    }
}

/// Returns the country of all rows where neither the envelope nor the packet names that of a row.
pub(in crate::cli) fn only_country(settings: &Settings) -> Option<Country> {
    let dialect = &settings.dialect.dialect;
    let is_told = dialect.country_of_row || dialect.writes("countryCode");
    (!is_told)
        .then_some(settings.profile.country_code)
        .flatten()
}

/// What the dialect of the gateway asks of rows.
fn wire(settings: &Settings) -> WireRules {
    let dialect = &settings.dialect.dialect;
    let theirs = OWN_EXTRA.map(|ours| (ours, dialect.names.theirs(ours)));
    let renamed = theirs.iter().filter(|(ours, theirs)| ours != theirs);
    WireRules {
        decimals: dialect.decimals.clone(),
        extra_types: dialect.extra_types.clone(),
        only_country: only_country(settings),
        left_out: dialect.left_out.clone(),
        own_members: renamed.map(|(_, theirs)| theirs.to_lowercase()).collect(),
        optional_bank_members: BANK_MEMBERS
            .iter()
            .map(|(_, member)| *member)
            .filter(|member| !dialect.required_bank_members.contains(*member))
            .map(str::to_owned)
            .collect(),
    }
}

/// Where the documents that rows name lie: a later run, from another folder, must find them too.
fn documents(folder: &Path, settings: &Settings) -> Result<Documents, Error> {
    let refused = |why: String| Error::refused(format!("{}: {why}", folder.display()));
    let whole = folder
        .canonicalize()
        .map_err(|error| refused(error.to_string()))?;
    let folder = whole
        .to_str()
        .ok_or_else(|| refused("the name of this folder is not UTF-8".to_owned()))?;
    Ok(Documents {
        folder: folder.to_owned(),
        bytes_max: u64::from(settings.profile.document_bytes_max.get()),
    })
}

/// Reads the bank directory, where there is one.
fn banks(settings: &Settings) -> Result<Option<Arc<BankDirectory>>, Error> {
    let Some(path) = &settings.profile.bank_directory else {
        return Ok(None);
    };
    let name = path.display();
    let banks = BankDirectory::read(open(path)?).map_err(|error| match error.line {
        Some(line) => Error::refused(format!("{name}:{line}: {error}")),
        None => Error::refused(format!("{name}: {error}")),
    });
    let hint = "bank_directory names this file: CSV with the columns bank_code and bank_name";
    Ok(Some(Arc::new(banks.map_err(|error| error.hint(hint))?)))
}
