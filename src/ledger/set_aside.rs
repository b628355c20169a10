//! Rejected rows that shall not be paid: which of them a person means, and who said so.
//!
//! A row is withdrawn for good. What is added later under its name, or under its reference, would pay what somebody has decided
//! not to pay, so it is refused with that decision; to pay it after all takes a batch of its own.

use std::fmt;

use crate::domain::{Actor, PayerTransactionId, Timestamp};

/// A person's decision that a rejected row is not paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// When.
    pub at: Timestamp,
    /// Who; `None` where the parts of the program did it by themselves.
    pub by: Option<Actor>,
    /// Why.
    pub reason: String,
    /// Whether the layout of its file has said so, by which the row is no payment at all.
    pub by_layout: bool,
}

impl fmt::Display for Withdrawal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told(f, &self.at.to_string())
    }
}

impl Withdrawal {
    /// Says who withdrew the row, when and why; `at`: the time, as the reader has it.
    #[must_use]
    pub fn text(&self, at: &str) -> String {
        struct Told<'a>(&'a Withdrawal, &'a str);
        impl fmt::Display for Told<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.told(f, self.1)
            }
        }
        Told(self, at).to_string()
    }

    fn told(&self, f: &mut fmt::Formatter<'_>, at: &str) -> fmt::Result {
        if self.by_layout {
            return write!(f, "skipped by the layout, {at}: “{}”", self.reason);
        }
        f.write_str("withdrawn")?;
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        write!(f, ", {at}: “{}”", self.reason)
    }
}

/// What became of a rejected row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// Nothing yet: it may be mended, or withdrawn.
    Open,
    /// Its mended row has taken its place.
    Mended(PayerTransactionId),
    /// It is not paid.
    Withdrawn(Withdrawal),
}

/// Why a text names no rejected row that could be withdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// It names none.
    Nothing,
    /// It is the line or the reference of more than one.
    Several,
    /// The row is paid by its mended one.
    Mended(PayerTransactionId),
    /// The row is withdrawn already.
    Withdrawn(Withdrawal),
}

/// Returns which of the rejected rows that a text names are withdrawn, by their places in `found`.
///
/// `is_whole_name`: the text is the name of a rejected row, which rows with equal contents share. A line or a reference must be
/// that of one row, whatever became of the others: nobody knows which one is meant.
///
/// # Errors
/// Why none is.
pub fn meant(is_whole_name: bool, found: &[Became]) -> Result<Vec<usize>, Unclear> {
    if found.len() > 1 && !is_whole_name {
        return Err(Unclear::Several);
    }
    let open: Vec<usize> = (0..found.len())
        .filter(|at| found[*at] == Became::Open)
        .collect();
    match (open.is_empty(), found.first()) {
        (false, _) => Ok(open),
        (true, None) => Err(Unclear::Nothing),
        (true, Some(Became::Withdrawn(withdrawal))) => Err(Unclear::Withdrawn(withdrawal.clone())),
        (true, Some(Became::Mended(id))) => Err(Unclear::Mended(*id)),
        (true, Some(Became::Open)) => Ok(open),
    }
}

/// A row as it is compared with one that was withdrawn: see [`crate::ledger::likeness`].
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its reference.
    pub reference: Option<&'a str>,
    /// Who receives: the account, or the number; empty where it could not be read.
    pub account: &'a str,
}

/// Returns whether a row of a new file may be one that a person withdrew from another load before it was ever valid: it has the
/// same reference, or, where no two references tell them apart, the same recipient. `restart`: references begin anew, and say
/// nothing without the recipient.
///
/// Its amount says nothing: what made the row invalid may have been the amount.
#[must_use]
pub fn may_be_withdrawn(row: &Named<'_>, withdrawn: &Named<'_>, restart: bool) -> bool {
    let same_account = !row.account.is_empty() && row.account == withdrawn.account;
    match (row.reference, withdrawn.reference) {
        (Some(row), Some(withdrawn)) => row == withdrawn && (same_account || !restart),
        _ => same_account,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_by_its_reference_or_else_by_its_recipient() {
        let named = |reference, account| Named { reference, account };
        let withdrawn = named(Some("emp-3"), "254700000003");
        let nameless = named(None, "254700000003");
        let table = [
            (named(Some("emp-3"), "254700000003"), withdrawn, false, true),
            (named(Some("emp-3"), "254711111111"), withdrawn, false, true),
            (named(Some("emp-3"), "254711111111"), withdrawn, true, false),
            (named(Some("emp-3"), "254700000003"), withdrawn, true, true),
            (
                named(Some("emp-4"), "254700000003"),
                withdrawn,
                false,
                false,
            ),
            (named(None, "254700000003"), withdrawn, false, true),
            (named(Some("emp-4"), "254700000003"), nameless, false, true),
            (named(None, "254711111111"), nameless, false, false),
            (named(None, ""), named(None, ""), false, false),
        ];
        for (row, withdrawn, restart, expected) in table {
            let found = may_be_withdrawn(&row, &withdrawn, restart);
            assert_eq!(found, expected, "{row:?} {withdrawn:?} {restart}");
        }
    }

    #[test]
    fn one_row_is_meant_or_none() {
        let open = || Became::Open;
        let id = PayerTransactionId::parse("00000000000000000000000001").unwrap();
        let mended = || Became::Mended(id);
        let withdrawal = Withdrawal {
            by_layout: false,
            at: Timestamp::from_millis(0),
            by: None,
            reason: "paid in cash".to_owned(),
        };
        let withdrawn = || Became::Withdrawn(withdrawal.clone());
        type Case = (&'static str, bool, Vec<Became>, Result<Vec<usize>, Unclear>);
        let table: [Case; 10] = [
            ("nothing has the name", false, vec![], Err(Unclear::Nothing)),
            ("one row", false, vec![open()], Ok(vec![0])),
            (
                "the line of two files",
                false,
                vec![open(), open()],
                Err(Unclear::Several),
            ),
            (
                "the other one is mended: which one is meant is not known",
                false,
                vec![mended(), open()],
                Err(Unclear::Several),
            ),
            ("equal rows", true, vec![open(), open()], Ok(vec![0, 1])),
            (
                "those of them that are open",
                true,
                vec![mended(), open(), withdrawn()],
                Ok(vec![1]),
            ),
            ("mended", false, vec![mended()], Err(Unclear::Mended(id))),
            (
                "withdrawn before",
                false,
                vec![withdrawn()],
                Err(Unclear::Withdrawn(withdrawal.clone())),
            ),
            (
                "all withdrawn before",
                true,
                vec![withdrawn(), withdrawn()],
                Err(Unclear::Withdrawn(withdrawal.clone())),
            ),
            (
                "no row has the whole name",
                true,
                vec![],
                Err(Unclear::Nothing),
            ),
        ];
        for (name, is_whole_name, found, expected) in table {
            assert_eq!(meant(is_whole_name, &found), expected, "{name}");
        }
    }

    #[test]
    fn a_withdrawal_says_who_when_and_why() {
        let mut withdrawal = Withdrawal {
            by_layout: false,
            at: Timestamp::from_millis(1_795_845_600_000),
            by: Some(Actor::new("ana", "desk-7", None)),
            reason: "paid in cash".to_owned(),
        };
        assert_eq!(
            withdrawal.text("2026-11-28 09:00:00 EAT"),
            "withdrawn by ana on desk-7, 2026-11-28 09:00:00 EAT: “paid in cash”"
        );
        withdrawal.by = None;
        assert_eq!(
            withdrawal.to_string(),
            "withdrawn, 2026-11-28T06:00:00.000Z: “paid in cash”"
        );
    }
}
