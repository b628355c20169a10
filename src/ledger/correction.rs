//! Rows of a file that correct a row which was set aside: which one they name, and whether a spreadsheet has taken digits of it.
//!
//! A rejected row is known by what stood in it and by its batch, so that it has the same name whenever its file is loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::set_aside::Withdrawal;
use crate::domain::{BatchName, PaymentId};

/// What a row of a file says that it corrects, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Corrects {
    /// A rejected row, by its name: the column `rejected_row`.
    Rejected(String),
    /// A failed payment, by its identifier: the column `replaces`.
    Failed(String),
}

impl Corrects {
    /// Returns the column that says so.
    #[must_use]
    pub fn column(&self) -> &'static str {
        match self {
            Self::Rejected(_) => "rejected_row",
            Self::Failed(_) => "replaces",
        }
    }

    /// Returns what is written there.
    #[must_use]
    pub fn written(&self) -> &str {
        match self {
            Self::Rejected(text) | Self::Failed(text) => text,
        }
    }
}

/// The name of a rejected row: `row-9f86d081884c7d65-of-payroll-2026-11`.
// It begins with a word, so that no spreadsheet takes it for a number, a date or a formula.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RejectedName {
    /// How the digest of what stands in it begins.
    pub digest: [u8; 8],
    /// Its batch.
    pub batch: BatchName,
}

impl RejectedName {
    /// Names a row by the digest of what stands in it. Rows with equal contents have equal names.
    #[must_use]
    pub fn of(batch: &BatchName, digest: &[u8; 32]) -> Self {
        let mut start = [0; 8];
        start.copy_from_slice(&digest[..8]);
        Self {
            digest: start,
            batch: batch.clone(),
        }
    }

    /// Reads a name; `None` when the text is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, batch) = text.strip_prefix("row-")?.split_once("-of-")?;
        let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if digits.len() != 16 || !digits.bytes().all(is_hex) {
            return None;
        }
        Some(Self {
            digest: u64::from_str_radix(digits, 16).ok()?.to_be_bytes(),
            batch: BatchName::parse(batch).ok()?,
        })
    }
}

impl fmt::Display for RejectedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = u64::from_be_bytes(self.digest);
        write!(f, "row-{digits:016x}-of-{}", self.batch)
    }
}

/// A rejected row with the name that a row of a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// The payment that its mended row became, or another row of this file that names it.
    pub taken_by: Option<PaymentId>,
    /// A person's decision that it is not paid.
    pub withdrawn: Option<Withdrawal>,
}

/// Why a row cannot correct what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The text is no name of a rejected row.
    NoName,
    /// It is the name of a row of another batch.
    OtherBatch(BatchName),
    /// The file is not added to a batch that is there.
    NotAdded,
    /// The batch has set no such row aside.
    Unknown,
    /// Every row of this name has its mended one already.
    Taken,
    /// A person has decided that it is not paid.
    Withdrawn(Withdrawal),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => f.write_str(
                "is not the name of a rejected row; take it from the corrections file as it stands there",
            ),
            Self::OtherBatch(batch) => write!(
                f,
                "names a rejected row of batch {batch}; add the file to that batch: --batch {batch} --amend"
            ),
            Self::NotAdded => f.write_str(
                "names a rejected row, and the file is not added to a batch; add --amend, with the name of the batch that rejected it",
            ),
            Self::Unknown => f.write_str(
                "names a row that this batch has not set aside; take the name from the corrections file of its last load",
            ),
            Self::Withdrawn(withdrawal) => write!(
                f,
                "is that of a rejected row which was {withdrawal}. It is not paid in this batch: remove this row. If it is to be paid after \
                 all, load it as a row of a new batch"
            ),
            Self::Taken => f.write_str(
                "names a rejected row that has its mended row already; remove this row, or, if it is a payment of its own, empty this cell",
            ),
        }
    }
}

/// Returns which of the rejected rows with the name that is written a row corrects. `became`: the payment that the row is
/// already, where an earlier load brought it.
///
/// # Errors
/// Why it corrects none.
pub fn corrected(
    name: Option<&RejectedName>,
    batch: &BatchName,
    is_added: bool,
    candidates: &[Candidate],
    became: Option<PaymentId>,
) -> Result<usize, Refusal> {
    let name = name.ok_or(Refusal::NoName)?;
    if name.batch != *batch {
        return Err(Refusal::OtherBatch(name.batch.clone()));
    }
    if !is_added {
        return Err(Refusal::NotAdded);
    }
    if candidates.is_empty() {
        return Err(Refusal::Unknown);
    }
    let place = |taken_by| {
        let is_there = |row: &Candidate| row.taken_by == taken_by && row.withdrawn.is_none();
        candidates.iter().position(is_there)
    };
    let withdrawn = || candidates.iter().find_map(|row| row.withdrawn.clone());
    became
        .and_then(|seq| place(Some(seq)))
        .or_else(|| place(None))
        .ok_or_else(|| withdrawn().map_or(Refusal::Taken, Refusal::Withdrawn))
}

/// Returns whether a column is among the errors of a rejected row, as they are kept: `msisdn: too short; amount: missing`.
#[must_use]
pub fn has_error(errors: &str, column: &str) -> bool {
    let is_of = |error: &str| {
        error
            .strip_prefix(column)
            .is_some_and(|rest| rest.starts_with(": "))
    };
    errors.split("; ").any(is_of)
}

/// Columns of which a spreadsheet takes digits, beside the members of `extra`.
pub const DIGITS: [&str; 7] = [
    "reference",
    "msisdn",
    "account_number",
    "bank_account_number",
    "invoice_number",
    "bank_code",
    "hub_id",
];

/// How a value lost digits on its way through a spreadsheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The zeros in front.
    LeadingZeros,
    /// Digits in front.
    Front,
    /// Digits at the end.
    End,
    /// The last digits became zeros: those beyond the fifteenth, or those that `2.54715E+11` does not show.
    Rounded,
    /// The decimals of an amount: `112023` is shown, and was `112023.12`.
    Decimals,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeadingZeros => "the zeros in front are gone",
            Self::Front => "digits in front are gone",
            Self::End => "digits at the end are gone",
            Self::Rounded => "the last digits became zeros",
            Self::Decimals => "its decimals were rounded",
        })
    }
}

/// Digits of a spreadsheet's number; what comes behind them is rounded.
const KEPT: usize = 15;

/// Returns how the digits of a rejected row were lost in the mended one; `None` when the value is the same, or another one.
#[must_use]
pub fn lost_digits(was: &str, is: &str) -> Option<Lost> {
    let (was, is) = (was.trim(), is.trim());
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if was == is || !all_digits(was) || !all_digits(is) {
        return None;
    }
    if is.len() < was.len() {
        let gone = was.len() - is.len();
        // One digit may stand at either end of many a number: what is left must be most of it.
        let is_most = is.len() * 2 > was.len();
        if was.ends_with(is) {
            let zeros = was[..gone].bytes().all(|b| b == b'0');
            return (zeros || is_most).then_some(if zeros {
                Lost::LeadingZeros
            } else {
                Lost::Front
            });
        }
        return (is_most && was.starts_with(is)).then_some(Lost::End);
    }
    let rounded = was.len() == is.len() && is_rounded(was, is);
    rounded.then_some(Lost::Rounded)
}

/// Returns whether what is lost in a column was lost in a spreadsheet, and mended by nobody. `had_error`: something was wrong with
/// the column in the rejected row.
// A person mends a number that had an error by taking digits away, or by giving a row a reference of its own; but nobody makes
// zeros of just those digits that no spreadsheet keeps.
#[must_use]
pub fn is_spoilt(column: &str, had_error: bool, lost: Lost, is: &str) -> bool {
    !had_error || column == "reference" && lost == Lost::Rounded && is.trim().len() > KEPT
}

/// Returns whether a number of as many digits is the other one rounded, with zeros at its end in the place of other digits.
fn is_rounded(was: &str, is: &str) -> bool {
    let zeros = is.len() - is.trim_end_matches('0').len();
    // Fewer zeros stand at the end of many a number, but for the digits that no spreadsheet keeps.
    let is_many = zeros >= 3 || is.len() > KEPT && zeros > 0;
    let place = u32::try_from(zeros)
        .ok()
        .and_then(|zeros| 10_u128.checked_pow(zeros));
    match (was.parse::<u128>(), is.parse::<u128>(), place) {
        (Ok(was), Ok(is), Some(place)) => is_many && was % place != 0 && was.abs_diff(is) < place,
        _ => false,
    }
}

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
    use crate::domain::Timestamp;
    use proptest::prelude::*;

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

    fn batch(name: &str) -> BatchName {
        BatchName::parse(name).unwrap()
    }

    proptest! {
        #[test]
        fn names_of_rejected_rows_survive_text(digest in any::<[u8; 32]>(), name in "[A-Za-z0-9._-]{1,64}") {
            let name = RejectedName::of(&batch(&name), &digest);
            prop_assert_eq!(RejectedName::parse(&name.to_string()), Some(name));
        }
    }

    #[test]
    fn other_texts_are_no_names() {
        for text in [
            "",
            "row-",
            "row-9f86d081884c7d65",
            "row-9f86d081884c7d65-of-",
            "row-9F86D081884C7D65-of-b",
            "row-9f86d081884c7d6-of-b",
            "row-+f86d081884c7d65-of-b",
            "9f86d081884c7d65-of-b",
            "row-9f86d081884c7d65-of-a b",
        ] {
            assert_eq!(RejectedName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_rejected_row_is_corrected_once() {
        let (own, name) = (batch("own"), RejectedName::of(&batch("own"), &[7; 32]));
        let open = Candidate::default;
        let taken = |seq| Candidate {
            taken_by: Some(PaymentId::new(seq)),
            withdrawn: None,
        };
        let withdrawal = Withdrawal {
            by_layout: false,
            at: Timestamp::from_millis(0),
            by: None,
            reason: "paid in cash".to_owned(),
        };
        let withdrawn = || Candidate {
            taken_by: None,
            withdrawn: Some(withdrawal.clone()),
        };
        let refused = || Err(Refusal::Withdrawn(withdrawal.clone()));
        type Case<'a> = (&'a [Candidate], Option<i64>, Result<usize, Refusal>);
        let table: [Case<'_>; 12] = [
            (&[], None, Err(Refusal::Unknown)),
            (&[open()], None, Ok(0)),
            (&[taken(4)], None, Err(Refusal::Taken)),
            // The same row again is the one that it was.
            (&[taken(4)], Some(4), Ok(0)),
            (&[taken(4)], Some(5), Err(Refusal::Taken)),
            // Equal rows are corrected one after the other.
            (&[taken(4), open()], None, Ok(1)),
            (&[taken(4), taken(5)], Some(5), Ok(1)),
            // A row that was added without the name may name it later.
            (&[open(), open()], Some(9), Ok(0)),
            // What a person withdrew is paid by no row; of equal rows the others are.
            (&[withdrawn()], None, refused()),
            (&[withdrawn()], Some(9), refused()),
            (&[taken(4), withdrawn()], None, refused()),
            (&[withdrawn(), open()], None, Ok(1)),
        ];
        for (candidates, became, expected) in table {
            let found = corrected(
                Some(&name),
                &own,
                true,
                candidates,
                became.map(PaymentId::new),
            );
            assert_eq!(found, expected, "{candidates:?} {became:?}");
        }
        let other = batch("other");
        assert_eq!(
            corrected(Some(&name), &other, true, &[open()], None),
            Err(Refusal::OtherBatch(own.clone()))
        );
        assert_eq!(
            corrected(Some(&name), &own, false, &[open()], None),
            Err(Refusal::NotAdded)
        );
        assert_eq!(
            corrected(None, &own, true, &[open()], None),
            Err(Refusal::NoName)
        );
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

    #[test]
    fn what_a_person_mended_is_not_spoilt() {
        for (column, had_error, lost, is, expected) in [
            ("reference", false, Lost::End, "12345", true),
            ("msisdn", false, Lost::Front, "712000001", true),
            ("msisdn", true, Lost::End, "254712000001", false),
            (
                "reference",
                true,
                Lost::Rounded,
                "1234567890123450000",
                true,
            ),
            ("reference", true, Lost::Rounded, "1234000", false),
            ("reference", true, Lost::End, "12345678901234567", false),
        ] {
            assert_eq!(
                is_spoilt(column, had_error, lost, is),
                expected,
                "{column} {is}"
            );
        }
        assert!(has_error("msisdn: short; reference: doubled", "reference"));
        assert!(!has_error(
            "reference_x: y; amount: reference: z",
            "reference"
        ));
    }

    #[test]
    fn digits_that_a_spreadsheet_took_are_noticed() {
        use Lost::{End, Front, LeadingZeros, Rounded};
        let table = [
            ("0099427588438", "99427588438", Some(LeadingZeros)),
            ("007", "7", Some(LeadingZeros)),
            ("254712000001", "712000001", Some(Front)),
            ("99427588438", "994275884", Some(End)),
            ("1234567890123456", "1234567890123450", Some(Rounded)),
            ("12345678901234567", "12345678901234600", Some(Rounded)),
            ("254715056716", "254715000000", Some(Rounded)),
            ("254715556716", "254716000000", Some(Rounded)),
            ("254715056716", "254715056700", None),
            ("254715000000", "254716000000", None),
            ("1234567890123456", "1234567890123999", None),
            ("99427588438", "99427588438", None),
            // What was too short becomes whole, and a wrong one another one.
            ("99427588438", "0099427588438", None),
            ("25471200000", "254712000001", None),
            ("99427588438", "11427588438", None),
            ("99427588438", "38", None),
            ("", "123", None),
            ("2.54712E+11", "254712000001", None),
        ];
        for (was, is, expected) in table {
            assert_eq!(lost_digits(was, is), expected, "{was} -> {is}");
        }
    }
}
