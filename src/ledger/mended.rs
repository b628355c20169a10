//! Rows that are added to a batch which has rejected some, and say not what they correct: which of them are mended ones.
//!
//! A person who mends the whole file instead of the corrections brings rows that no column names. Taken for new ones they would
//! stand beside the rejected ones, which then wait for ever to be mended, and could be paid once more when they are.

use std::collections::BTreeMap;

use super::likeness::of_reference;
use super::lost_digits::lost_digits;
use crate::domain::PaymentId;

/// A rejected row that nothing has taken the place of, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenRow {
    /// Its line.
    pub line: u64,
    /// Its reference; empty where it had none.
    pub reference: String,
    /// Something is wrong with its reference: the mended row has another one.
    pub reference_is_wrong: bool,
    /// Whom it pays: the phone number and the account.
    pub recipient: [String; 2],
}

impl OpenRow {
    /// Returns whether its mended row has the same reference.
    fn keeps_reference(&self) -> bool {
        !self.reference.is_empty() && !self.reference_is_wrong
    }
}

/// A row that is added.
#[derive(Clone, Copy, Debug)]
pub struct NewRow<'a> {
    /// Its line.
    pub line: u64,
    /// Its reference.
    pub reference: Option<&'a str>,
    /// Whom it pays: the phone number and the account.
    pub recipient: [&'a str; 2],
}

/// What a row that is added is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A row of its own.
    Own,
    /// The mended row of the rejected one at this place.
    Mends(usize),
    /// It may be the mended row of the one at this place, or a row of its own.
    Unclear(usize),
}

/// The rejected rows of a batch.
#[derive(Debug, Default)]
pub struct OpenRows {
    rows: Vec<OpenRow>,
    by_reference: BTreeMap<String, Vec<usize>>,
    by_line: BTreeMap<u64, Vec<usize>>,
    by_recipient: BTreeMap<String, Vec<usize>>,
    /// The first one whose mended row may have any reference, or none.
    first_nameless: Option<usize>,
}

/// Digits at the end of a number that are the same in its local form and in the whole one.
const LOCAL_DIGITS: usize = 9;

/// Returns a number as it is compared: without what a person may write of it in another way.
fn plain(number: &str) -> Option<String> {
    let digits: Vec<char> = number.chars().filter(|c| c.is_alphanumeric()).collect();
    let from = digits.len().saturating_sub(LOCAL_DIGITS);
    (!digits.is_empty()).then(|| digits[from..].iter().collect())
}

impl OpenRows {
    /// Takes in the rejected rows.
    #[must_use]
    pub fn of(rows: Vec<OpenRow>) -> Self {
        let mut open = Self::default();
        for (at, row) in rows.iter().enumerate() {
            if !row.reference.is_empty() {
                let same = open.by_reference.entry(of_reference(&row.reference));
                same.or_default().push(at);
            }
            open.by_line.entry(row.line).or_default().push(at);
            for number in row.recipient.iter().filter_map(|number| plain(number)) {
                open.by_recipient.entry(number).or_default().push(at);
            }
            if !row.keeps_reference() {
                open.first_nameless.get_or_insert(at);
            }
        }
        open.rows = rows;
        open
    }

    /// Says what a row is that is added.
    // The same reference proves it where one rejected row has it, or one on the same line. A row with a reference of its own is
    // another payment than a rejected one with another. What has none, or had a wrong one, is told by nothing that a person may
    // not have mended.
    #[must_use]
    pub fn meant(&self, row: &NewRow<'_>) -> Meant {
        planted_instead!(ledger::meant_row());
        if let Some(reference) = row.reference
            && let Some(alike) = self.by_reference.get(&of_reference(reference))
        {
            let same = |at: &&usize| self.rows[**at].reference == reference;
            let same: Vec<usize> = alike.iter().filter(same).copied().collect();
            let on_line = same.iter().filter(|at| self.rows[**at].line == row.line);
            return match (alike.as_slice(), on_line.collect::<Vec<_>>().as_slice()) {
                ([one], _) if same == [*one] => Meant::Mends(*one),
                (_, [one]) => Meant::Mends(**one),
                _ => Meant::Unclear(alike[0]),
            };
        }
        let may_be = |at: &&usize| {
            let rejected = &self.rows[**at];
            // What a spreadsheet made of its reference is none of its own.
            let is_spoilt = |reference| lost_digits(&rejected.reference, reference).is_some();
            !rejected.keeps_reference() || row.reference.is_none_or(is_spoilt)
        };
        let on_line = self.by_line.get(&row.line);
        let numbers = row.recipient.iter().filter_map(|number| plain(number));
        let mut like = on_line.into_iter().flatten().copied().collect::<Vec<_>>();
        for number in numbers {
            like.extend(self.by_recipient.get(&number).into_iter().flatten());
        }
        let nameless = self.first_nameless.filter(|_| row.reference.is_none());
        match like.iter().find(may_be).copied().or(nameless) {
            Some(at) => Meant::Unclear(at),
            None => Meant::Own,
        }
    }
}

/// What a mended row becomes that has no reference, and so is known by its content alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nameless {
    /// The payment that took the place of its rejected row before.
    There(PaymentId),
    /// A payment of its own.
    Own,
    /// Nobody has said whether it is the payment that another row of the batch is, or one beside it.
    Doubtful,
}

/// Says what it becomes. `took_its_place`: the payments with its content by which rejected rows of the name that it says were
/// replaced, and that no row above it is; `is_equal`: another row of the batch has its content; `equal_rows_allowed`: whoever loads
/// it has said that equal rows are payments of their own.
// A typing error makes a debt of somebody look like somebody else's. Taken for the payment of that one, it would be paid by nobody.
#[must_use]
pub fn nameless(
    took_its_place: &[PaymentId],
    is_equal: bool,
    equal_rows_allowed: bool,
) -> Nameless {
    match (took_its_place, is_equal && !equal_rows_allowed) {
        ([payment, ..], _) => Nameless::There(*payment),
        ([], true) => Nameless::Doubtful,
        ([], false) => Nameless::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded_bugs::SeededBug;

    #[test]
    fn a_mended_row_is_never_the_payment_of_another_row() {
        let there = |payment| Nameless::There(PaymentId::new(payment));
        type Case<'a> = ((&'a [i64], bool, bool), Nameless);
        let table: [Case<'_>; 7] = [
            ((&[], false, false), Nameless::Own),
            ((&[], false, true), Nameless::Own),
            ((&[], true, false), Nameless::Doubtful),
            ((&[], true, true), Nameless::Own),
            // The same corrections once more.
            ((&[7], true, false), there(7)),
            ((&[7], true, true), there(7)),
            ((&[8, 9], true, true), there(8)),
        ];
        for ((taken, is_equal, allowed), expected) in table {
            let took: Vec<PaymentId> = taken.iter().copied().map(PaymentId::new).collect();
            assert_eq!(
                nameless(&took, is_equal, allowed),
                expected,
                "{taken:?} {is_equal} {allowed}"
            );
        }
    }

    fn open(line: u64, reference: &str, msisdn: &str) -> OpenRow {
        OpenRow {
            line,
            reference: reference.into(),
            reference_is_wrong: false,
            recipient: [msisdn.into(), String::new()],
        }
    }

    fn wrong(line: u64, reference: &str, msisdn: &str) -> OpenRow {
        OpenRow {
            reference_is_wrong: true,
            ..open(line, reference, msisdn)
        }
    }

    #[test]
    fn a_mended_row_is_known_by_its_reference_and_otherwise_never_taken_for_a_new_one() {
        use Meant::{Mends, Own, Unclear};
        let named = [open(3, "E-3", "25471"), open(5, "E-5", "0712345675")];
        let doubled = [open(3, "E-3", "1"), open(5, "E-3", "2")];
        let nameless = [open(5, "", "25471"), open(7, "", "254712345677")];
        let wrong_one = [wrong(5, "E-1", "254712345675")];
        // The rejected rows; line, reference and number of the new one.
        type Case<'a> = (&'a [OpenRow], (u64, Option<&'a str>, &'a str), Meant);
        let long = [open(5, "1234567890123456789", "25471")];
        let table: [Case<'_>; 20] = [
            (&[], (3, Some("E-3"), "254712345673"), Own),
            (&named, (3, Some("E-3"), "254712345673"), Mends(0)),
            (&named, (9, Some("E-5"), "254712345673"), Mends(1)),
            (&named, (3, Some("E-9"), "0712345675"), Own),
            (&named, (9, Some("e-3"), "254712345673"), Unclear(0)),
            (&named, (5, None, "254700000000"), Unclear(1)),
            (&named, (9, None, "254712345675"), Unclear(1)),
            (&named, (9, None, "254700000000"), Own),
            (&doubled, (5, Some("E-3"), "254712345673"), Mends(1)),
            (&doubled, (9, Some("E-3"), "254712345673"), Unclear(0)),
            (&nameless, (5, None, "254712345675"), Unclear(0)),
            (&nameless, (9, None, "254700000000"), Unclear(0)),
            (&nameless, (5, Some("E-5"), "254700000000"), Unclear(0)),
            (&nameless, (9, Some("E-5"), "+254 712-345677"), Unclear(1)),
            (&nameless, (9, Some("E-5"), "254700000000"), Own),
            (&wrong_one, (5, Some("E-5"), "254700000000"), Unclear(0)),
            (
                &long,
                (5, Some("1234567890123450000"), "254700000000"),
                Unclear(0),
            ),
            (
                &long,
                (5, Some("1234567890123456789"), "254700000000"),
                Mends(0),
            ),
            (&long, (5, Some("1234567890123456700"), "1"), Unclear(0)),
            // What was left out as a repeat, and is allowed now.
            (&wrong_one, (8, Some("E-1"), "254700000000"), Mends(0)),
        ];
        let judged = |(open, (line, reference, msisdn), _): &Case<'_>| {
            OpenRows::of(open.to_vec()).meant(&NewRow {
                line: *line,
                reference: *reference,
                recipient: [msisdn, ""],
            })
        };
        for case in &table {
            assert_eq!(judged(case), case.2, "{case:?}");
        }
        let _awake = SeededBug::MendedStandsBeside.wake();
        assert!(table.iter().any(|case| judged(case) != case.2));
    }
}
