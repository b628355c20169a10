//! Rows of a file that correct a row which was set aside: which one they name.
//!
//! A rejected row is known by what stood in it and by its batch, so that it has the same name whenever its file is loaded.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use proptest::prelude::*;

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
    fn errors_are_told_by_the_names_of_their_columns() {
        assert!(has_error("msisdn: short; reference: doubled", "reference"));
        assert!(!has_error(
            "reference_x: y; amount: reference: z",
            "reference"
        ));
    }
}
