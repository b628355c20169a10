//! Which cells of a row say something else than those of the row that it corrects: the same number, amount or time may be written
//! in several ways.

use std::collections::{BTreeMap, BTreeSet};

/// A column that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedColumn {
    /// Its name.
    pub column: String,
    /// What stood there.
    pub was: String,
    /// What stands there now.
    pub is: String,
}

/// Columns whose empty cells the configuration fills.
const DEFAULTED: [&str; 3] = ["service_code", "currency_code", "country_code"];

/// Returns the columns that differ between a row and the one that corrects it, but for those that had an error, which is
/// what was to be mended. `had_error`: by the name of the column.
#[must_use]
pub fn changed_columns(
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
    had_error: impl Fn(&str) -> bool,
) -> Vec<ChangedColumn> {
    let columns: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let cell = |cells: &BTreeMap<String, String>, column: &String| {
        cells.get(column).map_or("", |cell| cell.trim()).to_owned()
    };
    columns
        .into_iter()
        .map(|column| ChangedColumn {
            column: column.clone(),
            was: cell(was, column),
            is: cell(is, column),
        })
        .filter(|changed| !had_error(&changed.column) && is_another(changed))
        .collect()
}

/// Returns whether a cell says something else, and not the same in another way.
fn is_another(changed: &ChangedColumn) -> bool {
    let (was, is) = (changed.was.as_str(), changed.is.as_str());
    let column = changed.column.as_str();
    if was == is || was.is_empty() && DEFAULTED.contains(&column) {
        return false;
    }
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    match column {
        "amount" => amount_of(was) != amount_of(is),
        // What says the phone number once more says nothing; it is compared in its own column.
        "account_number" if is.is_empty() => false,
        "msisdn" => !is_same_number(was, is),
        "not_before" => !is_same_time(was, is),
        // Nobody is paid by it.
        "origin" => false,
        _ => words(was) != words(is),
    }
}

fn amount_of(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != ',')
        .collect();
    match plain.contains('.') {
        true => plain.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => plain,
    }
}

/// Digits that a local form of a phone number has, behind its zero.
const LOCAL_DIGITS: usize = 9;

/// Returns whether a phone number is the same one, which may have been written with blanks and a plus, or in its local form.
fn is_same_number(was: &str, is: &str) -> bool {
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let is_number = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_digit() || "+ -()".contains(c))
    };
    let (ours, theirs) = (digits(was), digits(is));
    let local = ours.strip_prefix('0').unwrap_or(&ours);
    is_number(was)
        && is_number(is)
        && (ours == theirs || local.len() == LOCAL_DIGITS && theirs.ends_with(local))
}

/// Returns whether a time is the one that is kept for what was written: a day is kept as its beginning, and a time with its offset.
fn is_same_time(was: &str, is: &str) -> bool {
    let is_time = was.contains('T');
    let rest = is.strip_prefix(was).filter(|_| !was.is_empty());
    rest.is_some_and(|rest| {
        rest.is_empty()
            || is_time && rest.starts_with(['+', '-'])
            || !is_time && rest.starts_with("T00:00:00")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_the_same_as_its_beginning_and_no_other_time() {
        let kept = "2026-12-01T00:00:00+03:00";
        for (was, is, expected) in [
            ("2026-12-01", kept, true),
            ("2026-12-01T00:00:00", kept, true),
            (kept, kept, true),
            ("2026-12-02", kept, false),
            ("2026-12-01", "2026-12-01T08:00:00+03:00", false),
            ("", kept, false),
            ("2026-12", kept, false),
        ] {
            let changed = ChangedColumn {
                column: "not_before".to_owned(),
                was: was.to_owned(),
                is: is.to_owned(),
            };
            assert_eq!(!is_another(&changed), expected, "{was}");
        }
    }

    #[test]
    fn a_phone_number_may_be_written_in_several_ways() {
        for (was, is, same) in [
            ("+254 712-345 678", "254712345678", true),
            ("0712345678", "254712345678", true),
            ("712345678", "254712345678", true),
            ("0712345679", "254712345678", false),
            ("712345", "254712345678", false),
            ("254712345678x", "254712345678", false),
        ] {
            assert_eq!(is_same_number(was, is), same, "{was} {is}");
        }
    }

    #[test]
    fn a_column_that_was_changed_beside_what_was_wrong_is_told() {
        let cells = |text: &str| -> BTreeMap<String, String> {
            let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
            pairs
                .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
                .collect()
        };
        for (was, is, expected) in [
            (
                "msisdn=25471;amount=50",
                "msisdn=254712345678;amount=50.00",
                "",
            ),
            (
                "msisdn=25471;amount=50",
                "msisdn=254712345678;amount=500.00",
                "amount",
            ),
            ("amount=1,500.5", "amount=1500.50", ""),
            ("amount=1500", "amount=150.0", "amount"),
            (
                "narration=a  b;customer_names=Ann",
                "narration=a b;customer_names=Ben",
                "customer_names",
            ),
            // The same number in another form, and what follows from it.
            ("account_number=254712345678", "", ""),
            (
                "account_number=12345678901",
                "account_number=92345678901",
                "account_number",
            ),
            // What the configuration fills in was nobody's mistake.
            (
                "currency_code=;country_code=",
                "currency_code=KES;country_code=KE",
                "",
            ),
            ("currency_code=KES", "currency_code=UGX", "currency_code"),
            ("extra.floor=3", "", "extra.floor"),
            ("", "invoice_number=7", "invoice_number"),
        ] {
            let changed = changed_columns(&cells(was), &cells(is), |column| column == "msisdn");
            let columns: Vec<&str> = changed.iter().map(|one| one.column.as_str()).collect();
            assert_eq!(columns.join(","), expected, "{was} -> {is}");
        }
    }
}
