//! How the cells of a file are written: what could be an amount, a phone number, or a part of a name.

use super::super::super::names::plain;
use super::super::decimal::{Decimal, Numbers};
use crate::domain::Currency;

/// Parts of a name, in the order in which they are said.
const NAMES: [(&str, u8); 9] = [
    ("firstname", 0),
    ("forename", 0),
    ("givenname", 0),
    ("middlename", 1),
    ("othernames", 1),
    ("othername", 1),
    ("lastname", 2),
    ("surname", 2),
    ("familyname", 2),
];

/// Signs of currencies that have no letters of their own in ISO 4217.
const SIGNS: [(&str, &str); 5] = [
    ("ksh", "KES"),
    ("kshs", "KES"),
    ("ush", "UGX"),
    ("ugshs", "UGX"),
    ("tsh", "TZS"),
];

/// Returns where a header stands among the parts of a name.
pub(super) fn part_of_name(header: &str) -> Option<u8> {
    let written = plain(header);
    let part = NAMES.iter().find(|(name, _)| *name == written);
    part.map(|(_, order)| *order)
}

pub(super) fn is_phone(cell: &str) -> bool {
    let digits = cell.chars().filter(char::is_ascii_digit).count();
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-');
    (9..=15).contains(&digits)
        && cell.chars().all(allowed)
        && cell.starts_with(['+', '0', '2', '7', '1'])
}

pub(super) fn is_amount(cell: &str) -> bool {
    cell.len() <= 20
        && FORMS
            .iter()
            .any(|form| Decimal::read(cell, form.numbers()).is_some())
}

/// A way to write numbers.
pub(super) struct Form(Option<char>, Option<char>);

impl Form {
    pub(super) fn numbers(&self) -> Numbers {
        Numbers {
            decimal: self.0,
            group: self.1,
        }
    }
}

/// The ways that are tried, the likeliest first.
pub(super) const FORMS: [Form; 6] = [
    Form(None, None),
    Form(Some('.'), Some(',')),
    Form(Some(','), Some('.')),
    Form(Some(','), Some(' ')),
    Form(Some('.'), Some(' ')),
    Form(Some(','), None),
];

/// Parts a header such as `Amount (KES)` into its name and the currency that stands in brackets behind it.
pub(super) fn without_currency(header: &str) -> Option<(&str, Currency)> {
    let (name, rest) = header.trim().split_once(['(', '['])?;
    let inside = rest.trim_end().strip_suffix([')', ']'])?.trim();
    let sign = plain(inside.trim_end_matches('.'));
    let code = SIGNS.iter().find(|(known, _)| *known == sign);
    let code = code.map_or_else(
        || inside.to_ascii_uppercase(),
        |(_, code)| (*code).to_owned(),
    );
    Some((name.trim(), Currency::from_code(&code)?))
}

/// Returns whether a header is that of the number of a person, who is paid again and again.
pub(super) fn names_people(header: &str) -> bool {
    let written = plain(header);
    [
        "emp",
        "staff",
        "payroll",
        "worker",
        "member",
        "beneficiary",
        "national",
        "person",
    ]
    .iter()
    .any(|word| written.starts_with(word))
}

/// Returns whether a reference has a month in it, such as `E-007-2026-12` or `E7/202612`.
pub(super) fn has_month(reference: &str) -> bool {
    let text = reference.as_bytes();
    let digits = |from: usize, count: usize| -> Option<u32> {
        let piece = reference.get(from..from + count)?;
        piece
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| piece.parse().ok())?
    };
    (0..text.len()).any(|at| {
        let starts = at == 0 || !text[at - 1].is_ascii_digit();
        let is_year = digits(at, 4).is_some_and(|year| (2000..2100).contains(&year));
        let month =
            at + 4 + usize::from(matches!(text.get(at + 4), Some(b'-' | b'/' | b'.' | b'_')));
        let ends = !text.get(month + 2).is_some_and(u8::is_ascii_digit);
        starts && is_year && ends && digits(month, 2).is_some_and(|month| (1..=12).contains(&month))
    })
}

/// Returns whether a header speaks of an account at a bank, or of a number that somebody has elsewhere, and not of a phone.
pub(super) fn is_account(header: &str) -> bool {
    let written = plain(header);
    ["a/c", "account", "acct", "iban", "accno"]
        .iter()
        .any(|word| written.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_with_a_month_in_it_is_told_from_one_without() {
        for (reference, expected) in [
            ("M-001-2026-11", true),
            ("E7/202612", true),
            ("2026-01-E7", true),
            ("2026.12", true),
            ("M-001", false),
            ("20261", false),
            ("120261201", false),
            ("2026-13", false),
            ("2026-110", false),
            ("E-2026", false),
            ("É2026-12", true),
            ("", false),
        ] {
            assert_eq!(has_month(reference), expected, "{reference}");
        }
    }

    #[test]
    fn a_currency_behind_a_name_is_told_from_it() {
        for (header, expected) in [
            ("Amount (KES)", Some(("Amount", "KES"))),
            ("Net Pay [ugx]", Some(("Net Pay", "UGX"))),
            ("Net Pay (KSh.)", Some(("Net Pay", "KES"))),
            ("Amount", None),
            ("Amount (net)", None),
            ("Amount (KES", None),
            ("Amount KES", None),
        ] {
            let found = without_currency(header);
            let found = found.map(|(name, currency)| (name, currency.code().to_owned()));
            let expected = expected.map(|(name, code)| (name, code.to_owned()));
            assert_eq!(found, expected, "{header}");
        }
    }
}
