//! What a spreadsheet has taken of a mended row, over all of its columns.

use std::collections::BTreeMap;

use super::lost_digits::{DIGITS, Lost, lost_digits};

/// The column of an amount, whose decimals a spreadsheet rounds.
const AMOUNT: &str = "amount";
/// What stands for all members of `extraData`.
const EXTRA: &str = "extra";

/// Returns whether an amount is the other one with fewer decimals, cut off or rounded.
#[must_use]
pub fn lost_decimals(was: &str, is: &str) -> Option<Lost> {
    const DECIMALS: usize = 6;
    let scaled = |text: &str| -> Option<u128> {
        let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let is_amount = is_plain(whole) && is_plain(fraction) && fraction.len() <= DECIMALS;
        is_amount.then(|| format!("{whole}{fraction:0<DECIMALS$}").parse().ok())?
    };
    let (was, is) = (scaled(was)?, scaled(is)?);
    let is_rounded = |decimals: u32| {
        let unit = 10_u128.pow(decimals);
        let down = was - was % unit;
        was != is && (is == down || is == down + unit && was % unit * 2 >= unit)
    };
    let is_lost = (1..=DECIMALS as u32).any(is_rounded);
    is_lost.then_some(Lost::Decimals)
}

/// Returns the cells with the members of `extra`, where they stand in one cell, each under its own name.
#[must_use]
pub fn with_members(mut cells: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let members = cells.get(EXTRA).and_then(|extra| {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(extra).ok()
    });
    for (name, value) in members.into_iter().flatten() {
        let text = match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        cells.remove(EXTRA);
        cells.insert(format!("{EXTRA}.{name}"), text);
    }
    cells
}

/// Returns the first column that lost something in a spreadsheet, by its name, or `extra` for any of its members, and how.
pub fn lost_in(
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
    is_lost: impl Fn(&str, Lost, &str) -> bool,
) -> Option<(&'static str, Lost)> {
    let members = was.keys().filter(|name| name.starts_with("extra."));
    let columns = DIGITS.into_iter().map(|name| (name, name));
    let columns = columns
        .chain([(AMOUNT, AMOUNT)])
        .chain(members.map(|name| (name.as_str(), EXTRA)));
    for (name, column) in columns {
        let (Some(was), Some(is)) = (was.get(name), is.get(name)) else {
            continue;
        };
        let lost = match column {
            AMOUNT => lost_decimals(was, is),
            _ => lost_digits(was, is),
        };
        if let Some(lost) = lost.filter(|lost| is_lost(name, *lost, is)) {
            return Some((column, lost));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_amount_is_told_from_another_one() {
        for (was, is, expected) in [
            ("112023.12", "112023.00", true),
            ("112023.12", "112023", true),
            ("112023.12", "112023.10", true),
            ("112023.16", "112023.20", true),
            ("99.50", "100.00", true),
            ("1.005", "1.01", true),
            ("112023.12", "112023.12", false),
            ("112023.10", "112023.1", false),
            ("112023.00", "112023.12", false),
            ("112023", "112000", false),
            ("112023.12", "112024.00", false),
            ("112023.12", "12.00", false),
            ("1,500.50", "1500.00", false),
            ("", "1", false),
            ("340282366920938463463374607431768211456.5", "1", false),
        ] {
            assert_eq!(lost_decimals(was, is).is_some(), expected, "{was} {is}");
        }
    }

    #[test]
    fn every_column_of_digits_is_looked_at() {
        let cells = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let own = pairs.iter();
            with_members(
                own.map(|(name, cell)| ((*name).to_owned(), (*cell).to_owned()))
                    .collect(),
            )
        };
        for (was, is, expected) in [
            (
                ("bank_code", "01"),
                ("bank_code", "1"),
                Some(("bank_code", Lost::LeadingZeros)),
            ),
            (
                ("hub_id", "0042"),
                ("hub_id", "42"),
                Some(("hub_id", Lost::LeadingZeros)),
            ),
            (
                ("invoice_number", "007"),
                ("invoice_number", "7"),
                Some(("invoice_number", Lost::LeadingZeros)),
            ),
            (
                ("extra.branch", "007"),
                ("extra.branch", "7"),
                Some(("extra", Lost::LeadingZeros)),
            ),
            (
                ("extra", r#"{"branch":"007"}"#),
                ("extra.branch", "7"),
                Some(("extra", Lost::LeadingZeros)),
            ),
            (
                ("amount", "10.25"),
                ("amount", "10.00"),
                Some(("amount", Lost::Decimals)),
            ),
            (
                ("extra", r#"{"branch":"007"}"#),
                ("extra.branch", "007"),
                None,
            ),
            (("bank_code", "01"), ("bank_code", "02"), None),
            (("narration", "007"), ("narration", "7"), None),
            (("bank_code", "01"), ("hub_id", "1"), None),
        ] {
            assert_eq!(
                lost_in(&cells(&[was]), &cells(&[is]), |_, _, _| true),
                expected,
                "{was:?} {is:?}"
            );
        }
        let (was, is) = (cells(&[("amount", "10.25")]), cells(&[("amount", "10.00")]));
        assert_eq!(lost_in(&was, &is, |column, _, _| column != "amount"), None);
    }
}
