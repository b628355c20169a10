//! What a person declares of a file.

use crate::cli::Error;
use crate::cli::config::Settings;
use crate::domain::{Amount, Currency};

/// Reads a declared total: `1500.00` in the profile's currency, or `KES 1500.00`.
pub(in crate::cli) fn declared_total(
    text: &str,
    settings: &Settings,
) -> Result<(Currency, Amount), Error> {
    let refused = |why: String| {
        Error::refused(format!("--expect-total {text}: {why}"))
            .hint("write currency and total, as in --expect-total \"KES 412955.45\"")
    };
    let (currency, digits) = match text.split_once(' ') {
        Some((code, digits)) => {
            let currency = Currency::from_code(code)
                .ok_or_else(|| refused(format!("{code} is no currency of ISO 4217")))?;
            (currency, digits.trim())
        }
        None => {
            let only = settings.profile.currency_code.or_else(|| {
                let mut all = settings.services.values().map(|service| service.currency);
                let first = all.next()?;
                all.all(|other| other == first).then_some(first)
            });
            let why = "name the currency too, as in \"KES 1500.00\"";
            (only.ok_or_else(|| refused(why.into()))?, text)
        }
    };
    let amount = Amount::parse(&digits.replace(',', ""), currency)
        .map_err(|error| refused(error.to_string()))?;
    Ok((currency, amount))
}
